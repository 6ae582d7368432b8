"""Whatever is done to some pages, every other page's content is what it was: held to an oracle over random projects."""

import os
import random
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import pytest

from content.record import identity_id
from content.replacement import Replacement
from content.vocabulary import Kind
from gitstore.choices import Choice
from gitstore.drafts import DraftName
from gitstore.edits import Delete, Edit
from gitstore.errors import Conflicts, NothingToChange, NothingToPublish
from gitstore.replacement_plan import ReplaceOrder
from gitstore.resolving import ResolveOrder
from gitstore.reverting import RevertOrder
from tests.exploring import first_seed
from tests.gitstore.places import ADA, BOB, SPACE, Place, page, put

PROJECTS = int(os.environ.get("WAYPOST_TEST_CONTENTS", "24"))
STEPS = 12
PATHS = ("/a", "/b", "/c", "/d")
TEXTS = ("one", "two", "three", "four")
FILES = ("pages.yaml", "pages/more.yaml")
BODIES = ("s.txt", "pages/s.txt", "pages/s.txt")
Contents = dict[str, str]
"""Content by path."""


def by_hand(chance: random.Random, project: str) -> dict[str, str | None]:
    """The files of a project whose pages have their contents inline, in files of their own or in shared ones."""
    lists = dict.fromkeys(FILES, "")
    bodies: dict[str, str] = {}
    for path in chance.sample(PATHS, chance.randint(2, len(PATHS))):
        file, body, text = chance.choice(FILES), chance.choice(BODIES), chance.choice(TEXTS)
        held = f"content: {text}"
        if chance.random() < 0.75 and (file == "pages.yaml" or body.startswith("pages/")):
            bodies.setdefault(body, text)
            held = f"file: {body if file == 'pages.yaml' else body.removeprefix('pages/')}"
        lists[file] += f"  - {{type: BASIC, path: {path}, contentType: TEXT_PLAIN, {held}}}\n"
    written = {file: f"pages:\n{rules}" if rules else "pages: []\n" for file, rules in lists.items()}
    return {f"{project}/{path}": text for path, text in {**written, **bodies}.items()}


class Model:
    """A project beside what its pages should say: served, and in the draft `main`, which began at `base`."""

    def __init__(self, place: Place, project: str, chance: random.Random) -> None:
        self.place, self.project, self.chance = place, project, chance
        self.main, self.other = DraftName(project, "main"), DraftName(project, "other")
        self.told = [project]
        for _ in range(2):
            self._push("release")
        self.released = self.base = self.draft = self.read("published")
        if chance.random() < 0.5:
            self._push(f"draft/{project}/main")
            self.draft = self.read("draft")

    def _push(self, to: str) -> None:
        wanted = by_hand(self.chance, self.project)
        there = self.place.clone() / self.project
        bodies = {f"{self.project}/{body}" for body in BODIES if (there / body).exists()}
        self.place.push({**dict.fromkeys(bodies - wanted.keys()), **wanted}, to=to)

    def read(self, at: str) -> Contents:
        """What the pages say in a state, in which nothing may be wrong."""
        snapshot = self.place.store.snapshot(SPACE, self.project, at)
        assert list(snapshot.problems) == [], (at, self.told)
        return {placed.record.path: placed.record.content for placed in snapshot.pages()}

    def check(self) -> None:
        """Both states say what they should."""
        assert (self.read("published"), self.read("draft")) == (self.released, self.draft), "\n".join(self.told)

    @property
    def changed(self) -> list[str]:
        """The pages that the draft changes."""
        return sorted(path for path in {*self.base, *self.draft} if self.base.get(path) != self.draft.get(path))

    def step(self) -> None:
        """Do something at random."""
        writing = (self.write, self.write, self.rename, self.remove, self.revert, self.revert, self.replace)
        publishing = (self.publish_some, self.publish_some, self.publish, self.reopen, self.beside, self.settle)
        chosen: Callable[[], None] = self.chance.choice((*writing, *publishing))
        self.told.append(chosen.__name__)
        with suppress(NothingToChange, NothingToPublish):
            chosen()

    def some(self, paths: list[str]) -> list[str]:
        """One path, or some of them, where there are any."""
        found = self.chance.sample(paths, self.chance.randint(1, len(paths))) if paths else []
        self.told[-1] += f" {found}"
        return found

    def edit(self, *edits: Edit) -> None:
        """Make edits in the draft."""
        self.place.save(*edits, draft=self.main)

    def write(self) -> None:
        """Give a page, which may be new, a text."""
        path, text = self.chance.choice(PATHS), self.chance.choice(TEXTS)
        self.told[-1] += f" {path} {text}"
        self.edit(put(page(path, text)))
        self.draft = {**self.draft, path: text}

    def rename(self) -> None:
        """Give a page another path and, perhaps, another text."""
        free = [path for path in (*PATHS, "/x") if path not in self.draft]
        if self.draft and free:
            old, new = self.chance.choice(sorted(self.draft)), self.chance.choice(free)
            text = self.chance.choice([self.draft[old], *TEXTS])
            self.told[-1] += f" {old} {new} {text}"
            self.edit(put(page(new, text), replaces=page(old).id))
            self.draft = {**{path: held for path, held in self.draft.items() if path != old}, new: text}

    def remove(self) -> None:
        """Remove pages."""
        gone = self.some(sorted(self.draft))
        self.edit(*(Delete(Kind.PAGES, page(path).id) for path in gone))
        self.draft = {path: text for path, text in self.draft.items() if path not in gone}

    def revert(self) -> None:
        """Discard some changes."""
        if chosen := self.some(self.changed):
            self.place.store.revert(SPACE, RevertOrder(self.main, _ids(chosen), BOB))
            self.draft = _with(self.draft, self.base, chosen)
            self._follow()

    def replace(self) -> None:
        """Write more behind each `o` of some pages."""
        if chosen := self.some(sorted(self.draft)):
            order = ReplaceOrder(self.main, Replacement("o", "o-"), frozenset({"content"}), (Kind.PAGES,))
            order = ReplaceOrder(order.name, order.replacement, order.fields, order.kinds, ids=_ids(chosen))
            self.place.store.replace_all(SPACE, order, ADA)
            self.draft = {**self.draft, **{path: self.draft[path].replace("o", "o-") for path in chosen}}

    def publish_some(self) -> None:
        """Publish some changes; the draft goes on from there."""
        if chosen := self.some(self.changed):
            with suppress(Conflicts):
                self.place.publish(draft=self.main, ids=_ids(chosen))
                self._take_in(_with(self.released, self.draft, chosen))

    def publish(self) -> None:
        """Publish everything."""
        if self.changed:
            with suppress(Conflicts):
                self.place.publish(draft=self.main)
                self.released = self.base = self.draft = _with(self.released, self.draft, self.changed)

    def reopen(self) -> None:
        """Make the draft what an earlier publish was."""
        number = self.chance.randint(2, self.place.state(self.project)[1])
        self.told[-1] += f" {number}"
        head = self.place.store.report(SPACE, self.main).state.head
        self.place.store.reopen(SPACE, self.main, str(number), ADA, head=head or "")
        self.draft, self.base = self.read(str(number)), self.released

    def beside(self) -> None:
        """Publish a change that the draft does not know."""
        path, text = self.chance.choice(PATHS), self.chance.choice(TEXTS)
        self.told[-1] += f" {path} {text}"
        self.place.publish(put(page(path, text)), draft=self.other)
        self.released = {**self.released, path: text}
        self._follow()

    def settle(self) -> None:
        """Settle every conflict as the draft has it."""
        conflicts = self.place.store.report(SPACE, self.main).conflicts
        if conflicts:
            takes = [_keep(each) for each in conflicts]
            self.place.store.resolve(SPACE, ResolveOrder(self.main, takes, BOB))
            self._take_in(self.released)

    def _follow(self) -> None:
        """Without a draft, it is what is released."""
        if not self.place.store.report(SPACE, self.main).state.head:
            self.base = self.draft = self.released

    def _take_in(self, released: Contents) -> None:
        """The draft goes on from what is released, unless that conflicts with it."""
        self.released = released
        state = self.place.store.report(SPACE, self.main).state
        if state.base == state.release:
            self.draft, self.base = _with(self.released, self.draft, self.changed), self.released


def _ids(paths: list[str]) -> frozenset[str]:
    return frozenset(map(identity_id, paths))


def _keep(conflict: Mapping[str, Any]) -> Choice:
    return Choice(conflict["kind"], conflict.get("id") or conflict["file"], conflict["field"], "draft")


def _with(these: Contents, others: Contents, paths: list[str]) -> Contents:
    """The same with some pages as in the others."""
    kept = {path: text for path, text in these.items() if path not in paths}
    return {**kept, **{path: others[path] for path in paths if path in others}}


@pytest.mark.parametrize("seed", range(first_seed(), first_seed() + PROJECTS))
def test_every_page_says_what_was_asked_for_and_no_other_page_changes(empty: Place, seed: int) -> None:
    """Through edits, reverts, replacements, publishes of all or some, old versions and settled conflicts."""
    chance = random.Random(seed)  # noqa: S311 - test data
    model = Model(empty.begin("shop"), "shop", chance)
    for _ in range(STEPS):
        model.step()
        model.check()
