"""Resolving conflicts of a draft with release: one by one or all together, and permanently."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from content.records.vocabulary import Kind, RedirectStatus
from gitstore.drafts.drafts import DraftName, read_draft
from gitstore.drafts.editing.edits import Delete, Edit
from gitstore.errors import Conflicts, Invalid, NotFound, StaleDraft
from gitstore.git.repository import open_repository
from gitstore.merge.choices import Choice
from gitstore.merge.resolving import ResolveRequest, ResolveResult
from tests.gitstore.fixtures import ADA, BOB, MAIN, SHOP, SPACE, Place, create_place, git, page, put, redirect, yaml
from tests.rounds import rounds

OTHER = DraftName(SHOP, "other")
Conflict = Mapping[str, Any]


@pytest.fixture
def shop(place: Place) -> Place:
    """Return a project with a few rules."""
    place.push({"shop/redirects.yaml": yaml([(f"/{letter}", "/base") for letter in "abcd"])})
    return place


def choice(conflict: Conflict, take: str, value: Any = None) -> Choice:
    return Choice(conflict["kind"], conflict.get("id") or conflict["file"], conflict["field"], take, value)


def resolve(place: Place, *choices: Choice, head: str = "") -> ResolveResult:
    return place.store.drafts.resolve(SPACE, ResolveRequest(MAIN, choices, BOB, head))


def conflicts(place: Place) -> Sequence[Conflict]:
    return place.store.drafts.report(SPACE, MAIN).conflicts


def head(place: Place) -> str:
    with open_repository(place.repo) as repository:
        return read_draft(repository, MAIN).head or ""


def disagree(place: Place, letters: str) -> None:
    """Change the targets of these rules on both sides."""
    place.save(*(put(redirect(f"/{letter}", "/draft")) for letter in letters))
    place.publish(*(put(redirect(f"/{letter}", "/release")) for letter in letters), draft=OTHER)


def test_all_at_once_merges_release_into_the_draft(shop: Place) -> None:
    """The merge is a commit with two parents, so that neither these conflicts nor their base come back."""
    disagree(shop, "abc")
    before = head(shop)
    a, b, c = conflicts(shop)
    done = resolve(shop, choice(a, "draft"), choice(b, "release"), choice(c, "value", "/third"), head=before)
    assert (done.settled, list(done.conflicts), done.head) == (3, [], head(shop))
    assert shop.git("log", "-1", "--format=%P %an", "draft/shop/main") == f"{before} {shop.tip} Bob"
    shop.publish()
    assert shop.targets() == {"/a": "/draft", "/b": "/release", "/c": "/third", "/d": "/base"}


@pytest.mark.parametrize("value", ["/third", "/base", "/draft", "/release"])
def test_conflicts_are_resolved_one_by_one(shop: Place, value: str) -> None:
    """The value may be the one that both had before: a decision is not the same as no change."""
    disagree(shop, "abc")
    a, b, c = conflicts(shop)
    assert list(resolve(shop, choice(b, "value", value)).conflicts) == [a, c] == list(conflicts(shop))
    assert list(resolve(shop, choice(c, "draft")).conflicts) == [a]
    with pytest.raises(Conflicts):
        shop.publish()
    assert list(resolve(shop, choice(a, "release")).conflicts) == []
    shop.publish()
    assert shop.targets() == {"/a": "/release", "/b": value, "/c": "/draft", "/d": "/base"}


def test_only_what_release_changes_again_is_a_new_conflict(shop: Place) -> None:
    """A decision holds as long as release has the value on which it was based."""
    disagree(shop, "abc")
    a, b, _ = conflicts(shop)
    resolve(shop, choice(a, "draft"), choice(b, "value", "/third"))
    shop.publish(put(redirect("/b", "/newer")), put(redirect("/d", "/else")), draft=OTHER)
    again = conflicts(shop)
    assert [(each["source"], each["release"], each["draft"]) for each in again] == [
        ("/b", "/newer", "/third"),
        ("/c", "/release", "/draft"),
    ]
    resolve(shop, *(choice(each, "draft") for each in again))
    shop.publish()
    assert shop.targets() == {"/a": "/draft", "/b": "/third", "/c": "/draft", "/d": "/else"}


def test_an_edit_after_a_decision_is_kept(shop: Place) -> None:
    disagree(shop, "ab")
    a, b = conflicts(shop)
    resolve(shop, choice(a, "draft"))
    shop.save(put(redirect("/a", "/later")))
    assert list(conflicts(shop)) == [b]
    resolve(shop, choice(b, "release"))
    shop.publish()
    assert shop.targets()["/a"] == "/later"


@pytest.mark.parametrize(
    ("take", "value", "expected"),
    [
        ("draft", None, None),
        ("release", None, ("/release", "FOUND")),
        ("value", None, None),
        ("value", {"target": "/third", "status": 301}, ("/third", "MOVED_PERMANENT")),
        ("value", {"target": "/base", "status": 302}, ("/base", "FOUND")),
    ],
)
def test_a_rule_that_the_draft_removed_and_release_changed(
    shop: Place, take: str, value: Any, expected: tuple[str, str] | None
) -> None:
    disagree(shop, "b")
    shop.save(Delete(Kind.REDIRECTS, redirect("/a").id))
    shop.publish(put(redirect("/a", "/release")), draft=OTHER)
    removed = next(each for each in conflicts(shop) if each["field"] == "")
    body = {"type": "BASIC", "source": "/a", **value} if value else None
    (left,) = resolve(shop, choice(removed, take, body)).conflicts
    shop.publish(put(redirect("/d", "/else")), draft=OTHER)
    assert list(conflicts(shop)) == [left]
    resolve(shop, choice(left, "draft"))
    shop.publish()
    rules = {item["source"]: (item["target"], item["status"]) for item in shop.items()}
    assert (rules.get("/a"), rules["/d"], list(rules)[-3:]) == (expected, ("/else", "FOUND"), ["/b", "/c", "/d"])


@pytest.mark.parametrize(("take", "expected"), [("draft", "/draft"), ("release", None), ("value", "/base")])
def test_a_rule_that_release_removed_and_the_draft_changed(shop: Place, take: str, expected: str | None) -> None:
    disagree(shop, "b")
    shop.save(put(redirect("/a", "/draft")))
    shop.publish(Delete(Kind.REDIRECTS, redirect("/a").id), draft=OTHER)
    removed = next(each for each in conflicts(shop) if each["field"] == "")
    body = {"type": "BASIC", "source": "/a", "target": "/base", "status": 302}
    (left,) = resolve(shop, choice(removed, take, body)).conflicts
    resolve(shop, choice(left, "release"))
    if expected is None:  # both sides are then equal, so the draft ends
        assert head(shop) == ""
    else:
        shop.publish()
    assert shop.targets().get("/a") == expected


def test_the_same_source_added_on_both_sides_field_by_field(shop: Place) -> None:
    shop.save(put(redirect("/new", "/draft", note="mine"), file="redirects/mine.yaml"))
    permanent = RedirectStatus.MOVED_PERMANENT
    shop.publish(put(redirect("/new", "/release", status=permanent), file="redirects/theirs.yaml"), draft=OTHER)
    by_field = {each["field"]: each for each in conflicts(shop)}
    assert set(by_field) == {"target", "status", "file"}
    resolve(shop, choice(by_field["target"], "draft"), choice(by_field["status"], "release"))
    assert [each["field"] for each in conflicts(shop)] == ["file"]
    resolve(shop, choice(by_field["file"], "value", "redirects/ours.yaml"))
    shop.publish()
    assert shop.items()[-1] == {"type": "BASIC", "source": "/new", "target": "/draft", "status": "MOVED_PERMANENT"}
    assert "note: mine" in shop.file("shop/redirects/ours.yaml")


@pytest.mark.parametrize(
    ("take", "value", "expected"),
    [("draft", None, "Mine"), ("release", None, "Theirs"), ("value", "project: {title: Ours}\n", "Ours")],
)
def test_settings_that_both_sides_changed(shop: Place, take: str, value: Any, expected: str) -> None:
    disagree(shop, "a")
    shop.push({"shop/project.yaml": "project: {title: Theirs}\n"})
    mine = {"shop/project.yaml": "project: {title: Mine}\n"}
    own = shop.root / "own"
    shop.git("worktree", "add", "--quiet", str(own), "draft/shop/main")
    (own / "shop/project.yaml").write_text(mine["shop/project.yaml"])
    git(own, "commit", "--quiet", "--all", "--message", "Mine")
    settings_of, rule = conflicts(shop)
    assert settings_of["kind"] == "file"
    (left,) = resolve(shop, choice(settings_of, take, value)).conflicts
    assert left == rule
    resolve(shop, choice(rule, "draft"))
    shop.publish()
    assert shop.store.releases.project(SPACE, SHOP).release.settings.title == expected


@pytest.mark.parametrize(("take", "expected"), [("draft", "mine\n"), ("release", "theirs\n"), ("value", "ours\n")])
def test_contents_of_pages_in_files(place: Place, take: str, expected: str) -> None:
    """The conflict is resolved as the field `content` of its page; the file has the chosen text."""
    pages = "".join(f"  - {{type: BASIC, path: /{name}, contentType: TEXT_PLAIN, file: {name}.txt}}\n" for name in "ab")
    place.push({"shop/pages.yaml": "pages:\n" + pages, **{f"shop/{name}.txt": name for name in "ab"}})
    place.save(put(page("/a", "mine\n")), put(page("/b", "mine\n")))
    place.publish(put(page("/a", "theirs\n")), put(page("/b", "theirs\n")), draft=OTHER)
    a, b = conflicts(place)
    assert list(resolve(place, choice(a, take, "ours\n")).conflicts) == [b]
    resolve(place, choice(b, "draft"))
    place.publish()
    assert [item["content"] for item in place.items(kind=Kind.PAGES)] == [expected, "mine\n"]
    assert place.file("shop/a.txt") == expected


def test_a_page_whose_content_moved_to_another_file_keeps_what_was_written_in_it(place: Place) -> None:
    """Guard: contents follow their pages. Release names another file while the draft writes to the old one."""
    rule = "pages:\n  - {{type: BASIC, path: /a, contentType: TEXT_PLAIN, file: {}}}\n"
    place.push({"shop/pages.yaml": rule.format("a.txt"), "shop/a.txt": "old\n"})
    place.save(put(page("/a", "mine\n")))
    place.push({"shop/pages.yaml": rule.format("b.txt"), "shop/b.txt": "old\n", "shop/a.txt": None})
    place.publish()
    assert [item["content"] for item in place.items(kind=Kind.PAGES)] == ["mine\n"]
    assert place.file("shop/b.txt") == "mine\n"


WRONG: list[tuple[str, Any, str]] = [
    ("target", 7, "/choices/0/value"),
    ("target", "", "/choices/0/value"),
    ("target", "no path", "/choices/0/value"),
    ("target", None, "/choices/0/value"),
    ("target", "/ok\n", "/choices/0/value"),
]


@pytest.mark.parametrize(("field", "value", "pointer"), WRONG)
def test_a_value_that_the_field_cannot_hold_resolves_nothing(shop: Place, field: str, value: Any, pointer: str) -> None:
    disagree(shop, "ab")
    before, (a, b) = head(shop), conflicts(shop)
    assert a["field"] == field
    with pytest.raises(Invalid) as caught:
        resolve(shop, choice(a, "value", value), choice(b, "draft"))
    assert {problem.pointer for problem in caught.value.problems} == {pointer}
    assert (head(shop), list(conflicts(shop))) == (before, [a, b])


def test_only_a_conflict_can_be_resolved(shop: Place) -> None:
    """A choice fails for another rule, another field, a second time, another head, or a missing draft."""
    disagree(shop, "ab")
    a, b = conflicts(shop)
    for wrong in (choice(a, "draft")._replace(field="status"), choice(a, "draft")._replace(id=redirect("/c").id)):
        with pytest.raises(NotFound, match=wrong.id):
            resolve(shop, choice(b, "draft"), wrong)
    with pytest.raises(Invalid, match="two choices"):
        resolve(shop, choice(a, "draft"), choice(a, "release"))
    with pytest.raises(StaleDraft):
        resolve(shop, choice(a, "draft"), head=shop.tip)
    resolve(shop, choice(a, "draft"))
    with pytest.raises(NotFound):
        resolve(shop, choice(a, "draft"))
    shop.store.drafts.discard(SPACE, MAIN)
    with pytest.raises(NotFound, match="no draft"):
        resolve(shop, choice(b, "draft"))


def test_a_decision_is_not_published_with_other_changes(shop: Place) -> None:
    """Guard: a publish of some ids includes the decisions on these alone."""
    disagree(shop, "ab")
    a, _ = conflicts(shop)
    resolve(shop, choice(a, "value", "/third"))
    shop.save(put(redirect("/d", "/else")))
    shop.publish(ids=frozenset({redirect("/d").id}))
    assert shop.targets() == {"/a": "/release", "/b": "/release", "/c": "/base", "/d": "/else"}
    assert [each["source"] for each in conflicts(shop)] == ["/b"]
    shop.publish(ids=frozenset({redirect("/a").id}))
    assert shop.targets()["/a"] == "/third"


TARGETS = ["/base", "/x", "/y", "/z"]


@st.composite
def side(draw: st.DrawFn) -> list[Edit]:
    """Draw the edits of one side: to the four rules, and to one that both may add."""
    made: list[Edit] = []
    for letter in "abcde":
        what = draw(st.sampled_from(["nothing", "put", "put", "delete"]))
        status = draw(st.sampled_from([RedirectStatus.FOUND, RedirectStatus.MOVED_PERMANENT]))
        note = draw(st.sampled_from(["", "why"]))
        file = draw(st.sampled_from(["", "", "redirects/m.yaml", "redirects/n.yaml"]))
        if what == "put":
            made.append(
                put(redirect(f"/{letter}", draw(st.sampled_from(TARGETS)), status=status, note=note), file=file)
            )
        elif what == "delete" and letter != "e":
            made.append(Delete(Kind.REDIRECTS, redirect(f"/{letter}").id))
    return made


def fields_of(place: Place, at: str) -> dict[str, dict[str, Any]]:
    """Return every rule of a state with all its fields and its file."""
    snapshot = place.store.revisions.snapshot(SPACE, SHOP, at)
    return {
        placed.record.identity: {"note": "", **placed.record.fields(), "file": placed.file}
        for placed in snapshot.placed(Kind.REDIRECTS)
    }


@settings(max_examples=rounds(8, 30), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(side(), side(), st.integers(0, 2**32))
def test_after_resolving_everything_the_publish_holds_each_choice_and_nothing_is_lost(
    tmp_path_factory: pytest.TempPathFactory, mine: list[Edit], theirs: list[Edit], seed: int
) -> None:
    """The conflicts are resolved in any order and any grouping."""
    chance = random.Random(seed)  # noqa: S311 - test data
    place = create_place(tmp_path_factory.mktemp("law") / "data").begin(SHOP)
    place.push({"shop/redirects.yaml": yaml([(f"/{letter}", "/base") for letter in "abcd"])})
    base = fields_of(place, "published")
    place.save(*mine, put(redirect("/only-mine")))
    place.publish(*theirs, put(redirect("/only-theirs")), draft=OTHER)
    draft, release = fields_of(place, "draft"), fields_of(place, "published")
    expected = naive(base, release, draft)
    found_conflicts = list(conflicts(place))
    chance.shuffle(found_conflicts)
    while found_conflicts:
        size = chance.randint(1, len(found_conflicts))
        group, found_conflicts = found_conflicts[:size], found_conflicts[size:]
        done = resolve(place, *(decided(each, chance, expected) for each in group))
        assert {(each["id"], each["field"]) for each in done.conflicts} == {
            (each["id"], each["field"]) for each in found_conflicts
        }
    place.publish()
    assert fields_of(place, "published") == {key: rule for key, rule in expected.items() if rule}


def naive(base: Any, release: Any, draft: Any) -> dict[str, Any]:
    """Merge by the textbook, value by value, with release's value in a conflict; None for a removed rule."""
    merged: dict[str, Any] = {}
    for key in {*base, *release, *draft}:
        b, r, d = (side.get(key) for side in (base, release, draft))
        if r is None or d is None:
            merged[key] = d if r == b else r
        else:
            merged[key] = {name: d[name] if r[name] == (b or {}).get(name, "") else r[name] for name in r}
    return merged


def decided(conflict: Conflict, chance: random.Random, expected: dict[str, Any]) -> Choice:
    """Return a choice for a conflict, and record it in `expected`."""
    key, field, take = conflict["source"], conflict["field"], chance.choice(["draft", "release", "value"])
    if take != "value":
        value = conflict[take]
        expected[key] = value and {"note": "", **value} if field == "" else {**expected[key], field: value or ""}
        return choice(conflict, take)
    if field == "":
        rule = {"type": "BASIC", "source": key, "target": chance.choice(TARGETS), "status": "FOUND"}
        value = chance.choice([None, rule])
        file = (conflict["release"] or conflict["draft"])["file"]
        expected[key] = value and {"note": "", **value, "file": file}
    else:
        value = chance.choice(
            {
                "target": TARGETS,
                "status": ["FOUND", "PERMANENT_REDIRECT"],
                "note": ["", "because"],
                "file": ["shop/redirects.yaml", "shop/redirects/o.yaml"],
            }[field]
        )
        expected[key] = {**expected[key], field: value}
    return choice(conflict, "value", value)


def test_the_commit_names_the_resolver(shop: Place) -> None:
    disagree(shop, "ab")
    a, _ = conflicts(shop)
    resolve(shop, choice(a, "draft"))
    reported = shop.git("log", "-1", "--format=%an%n%B", "draft/shop/main")
    assert reported.startswith("Bob\nResolve 1 conflict; 1 conflict left\n")
    assert f"Settled: redirect {a['id']} target " in reported
    assert ADA.name not in reported
