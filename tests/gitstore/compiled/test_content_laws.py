"""Operations on some pages leave every other page's content unchanged: held to an oracle over random projects."""

import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import pytest

from content.changes.replacement import Replacement
from content.records.record import identity_id
from content.records.vocabulary import Kind
from gitstore.drafts.bulk.replacement_plan import ReplaceRequest
from gitstore.drafts.drafts import DraftName
from gitstore.drafts.editing.edits import Delete, Edit
from gitstore.drafts.reverting import RevertRequest
from gitstore.errors import Conflicts, NothingToChange, NothingToPublish
from gitstore.merge.choices import Choice
from gitstore.merge.resolving import ResolveRequest
from tests.gitstore.fixtures import ADA, BOB, SPACE, Place, page, put
from tests.rounds import rounds
from tests.seeds import first_seed

PROJECTS = rounds(8, 24)
STEPS = 12
PATHS = ("/a", "/b", "/c", "/d")
TEXTS = ("one", "two", "three", "four")
FILES = ("pages.yaml", "pages/more.yaml")
BODIES = ("s.txt", "pages/s.txt", "pages/s.txt")
# Content by path.
Contents = dict[str, str]


def random_files(chance: random.Random, project: str) -> dict[str, str | None]:
    """Return the files of a project whose pages have their contents inline, in separate files or in shared ones."""
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
    """A project and the expected contents of its pages: published, and in the draft `main`, which began at `base`."""

    def __init__(self, place: Place, project: str, chance: random.Random) -> None:
        self.place, self.project, self.chance = place, project, chance
        self.main, self.other = DraftName(project, "main"), DraftName(project, "other")
        self.reported = [project]
        for _ in range(2):
            self._push("release")
        self.released = self.base = self.draft = self.read("published")
        if chance.random() < 0.5:
            self._push(f"draft/{project}/main")
            self.draft = self.read("draft")

    def _push(self, to: str) -> None:
        wanted = random_files(self.chance, self.project)
        there = self.place.clone() / self.project
        bodies = {f"{self.project}/{body}" for body in BODIES if (there / body).exists()}
        self.place.push({**dict.fromkeys(bodies - wanted.keys()), **wanted}, to=to)

    def read(self, at: str) -> Contents:
        """Return the contents of the pages in a state; fail on any problem."""
        snapshot = self.place.store.revisions.snapshot(SPACE, self.project, at)
        assert list(snapshot.problems) == [], (at, self.reported)
        return {placed.record.path: placed.record.content for placed in snapshot.pages()}

    def check(self) -> None:
        """Compare both states with the expected contents."""
        assert (self.read("published"), self.read("draft")) == (self.released, self.draft), "\n".join(self.reported)

    @property
    def changed(self) -> list[str]:
        """The pages that the draft changes."""
        return sorted(path for path in {*self.base, *self.draft} if self.base.get(path) != self.draft.get(path))

    def step(self) -> None:
        """Do a random operation."""
        writing = (self.write, self.write, self.rename, self.remove, self.revert, self.revert, self.replace)
        publishing = (self.publish_some, self.publish_some, self.publish, self.reopen, self.publish_other, self.resolve)
        chosen: Callable[[], None] = self.chance.choice((*writing, *publishing))
        self.reported.append(chosen.__name__)
        with suppress(NothingToChange, NothingToPublish):
            chosen()

    def some(self, paths: list[str]) -> list[str]:
        """Return one or more of the paths; empty if there are none."""
        found = self.chance.sample(paths, self.chance.randint(1, len(paths))) if paths else []
        self.reported[-1] += f" {found}"
        return found

    def edit(self, *edits: Edit) -> None:
        """Apply edits to the draft."""
        self.place.save(*edits, draft=self.main)

    def write(self) -> None:
        """Write the text of a page, which may be new."""
        path, text = self.chance.choice(PATHS), self.chance.choice(TEXTS)
        self.reported[-1] += f" {path} {text}"
        self.edit(put(page(path, text)))
        self.draft = {**self.draft, path: text}

    def rename(self) -> None:
        """Rename a page and, perhaps, change its text."""
        free = [path for path in (*PATHS, "/x") if path not in self.draft]
        if self.draft and free:
            old, new = self.chance.choice(sorted(self.draft)), self.chance.choice(free)
            text = self.chance.choice([self.draft[old], *TEXTS])
            self.reported[-1] += f" {old} {new} {text}"
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
            self.place.store.drafts.revert(SPACE, RevertRequest(self.main, _ids(chosen), BOB))
            self.draft = _with(self.draft, self.base, chosen)
            self._follow()

    def replace(self) -> None:
        """Append a character to each `o` of some pages."""
        if chosen := self.some(sorted(self.draft)):
            order = ReplaceRequest(self.main, Replacement("o", "o-"), frozenset({"content"}), (Kind.PAGES,))
            order = ReplaceRequest(order.name, order.change, order.fields, order.kinds, ids=_ids(chosen))
            self.place.store.drafts.replace(SPACE, order, ADA)
            self.draft = {**self.draft, **{path: self.draft[path].replace("o", "o-") for path in chosen}}

    def publish_some(self) -> None:
        """Publish some changes; the draft continues from there."""
        if chosen := self.some(self.changed):
            with suppress(Conflicts):
                self.place.publish(draft=self.main, ids=_ids(chosen))
                self._merge_release_in(_with(self.released, self.draft, chosen), chosen)

    def publish(self) -> None:
        """Publish everything."""
        if self.changed:
            with suppress(Conflicts):
                self.place.publish(draft=self.main)
                self.released = self.base = self.draft = _with(self.released, self.draft, self.changed)

    def reopen(self) -> None:
        """Reset the draft to an earlier publish."""
        number = self.chance.randint(2, self.place.state(self.project)[1])
        self.reported[-1] += f" {number}"
        head = self.place.store.drafts.report(SPACE, self.main).state.head
        self.place.store.drafts.reopen(SPACE, self.main, str(number), ADA, head=head or "")
        self.draft, self.base = self.read(str(number)), self.released

    def publish_other(self) -> None:
        """Publish a change from another draft."""
        path, text = self.chance.choice(PATHS), self.chance.choice(TEXTS)
        self.reported[-1] += f" {path} {text}"
        self.place.publish(put(page(path, text)), draft=self.other)
        self.released = {**self.released, path: text}
        self._follow()

    def resolve(self) -> None:
        """Resolve every conflict with the draft's value."""
        conflicts = self.place.store.drafts.report(SPACE, self.main).conflicts
        if conflicts:
            takes = [_keep(each) for each in conflicts]
            self.place.store.drafts.resolve(SPACE, ResolveRequest(self.main, takes, BOB))
            self._merge_release_in(self.released)

    def _follow(self) -> None:
        """Reset the expected draft to the published state if the draft has ended."""
        if not self.place.store.drafts.report(SPACE, self.main).state.head:
            self.base = self.draft = self.released

    def _merge_release_in(self, released: Contents, published: Sequence[str] = ()) -> None:
        """Rebase the expected draft on the published state; if the two conflict, on its base with the published changes."""
        self.released = released
        state = self.place.store.drafts.report(SPACE, self.main).state
        if state.base == state.release:
            self.draft, self.base = _with(self.released, self.draft, self.changed), self.released
        else:
            self.base = _with(self.base, self.draft, list(published))


def _ids(paths: list[str]) -> frozenset[str]:
    return frozenset(map(identity_id, paths))


def _keep(conflict: Mapping[str, Any]) -> Choice:
    return Choice(conflict["kind"], conflict.get("id") or conflict["file"], conflict["field"], "draft")


def _with(these: Contents, others: Contents, paths: list[str]) -> Contents:
    """Return the contents with some pages taken from the others."""
    kept = {path: text for path, text in these.items() if path not in paths}
    return {**kept, **{path: others[path] for path in paths if path in others}}


@pytest.mark.parametrize("seed", range(first_seed(), first_seed() + PROJECTS))
def test_every_page_says_what_was_asked_for_and_no_other_page_changes(empty: Place, seed: int) -> None:
    """The operations are edits, reverts, replacements, publishes, old versions and resolved conflicts."""
    chance = random.Random(seed)  # noqa: S311 - test data
    model = Model(empty.begin("shop"), "shop", chance)
    for _ in range(STEPS):
        model.step()
        model.check()
