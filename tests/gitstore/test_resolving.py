"""Settling conflicts of a draft with release: one by one or all together, and never to come back."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from content.vocabulary import Kind, RedirectStatus
from gitstore.choices import Choice
from gitstore.drafts import DraftName, read_draft
from gitstore.edits import Delete, Edit
from gitstore.errors import Conflicts, Invalid, NotFound, StaleDraft
from gitstore.repository import view
from gitstore.resolving import Resolved, ResolveOrder
from tests.gitstore.places import ADA, BOB, MAIN, SHOP, SPACE, Place, found, git, page, put, redirect, yaml

OTHER = DraftName(SHOP, "other")
Conflict = Mapping[str, Any]


@pytest.fixture
def shop(place: Place) -> Place:
    """A project with a few rules."""
    place.push({"shop/redirects.yaml": yaml([(f"/{letter}", "/base") for letter in "abcd"])})
    return place


def choice(conflict: Conflict, take: str, value: Any = None) -> Choice:
    return Choice(conflict["kind"], conflict.get("id") or conflict["file"], conflict["field"], take, value)


def settle(place: Place, *choices: Choice, head: str = "") -> Resolved:
    return place.store.resolve(SPACE, ResolveOrder(MAIN, choices, BOB, head))


def conflicts(place: Place) -> Sequence[Conflict]:
    return place.store.report(SPACE, MAIN).conflicts


def head(place: Place) -> str:
    with view(place.repo) as repository:
        return read_draft(repository, MAIN).head or ""


def disagree(place: Place, letters: str) -> None:
    """Both sides change the targets of these rules."""
    place.save(*(put(redirect(f"/{letter}", "/draft")) for letter in letters))
    place.publish(*(put(redirect(f"/{letter}", "/release")) for letter in letters), draft=OTHER)


def test_all_at_once_merges_release_into_the_draft(shop: Place) -> None:
    """By a commit with two parents, so that neither these conflicts nor their base come back."""
    disagree(shop, "abc")
    before = head(shop)
    a, b, c = conflicts(shop)
    done = settle(shop, choice(a, "draft"), choice(b, "release"), choice(c, "value", "/third"), head=before)
    assert (done.settled, list(done.conflicts), done.head) == (3, [], head(shop))
    assert shop.git("log", "-1", "--format=%P %an", "draft/shop/main") == f"{before} {shop.tip} Bob"
    shop.publish()
    assert shop.targets() == {"/a": "/draft", "/b": "/release", "/c": "/third", "/d": "/base"}


@pytest.mark.parametrize("value", ["/third", "/base", "/draft", "/release"])
def test_one_by_one_what_is_settled_is_no_conflict_any_more(shop: Place, value: str) -> None:
    """Also where the value is the one that both had before: a decision is not the same as no change."""
    disagree(shop, "abc")
    a, b, c = conflicts(shop)
    assert list(settle(shop, choice(b, "value", value)).conflicts) == [a, c] == list(conflicts(shop))
    assert list(settle(shop, choice(c, "draft")).conflicts) == [a]
    with pytest.raises(Conflicts):
        shop.publish()
    assert list(settle(shop, choice(a, "release")).conflicts) == []
    shop.publish()
    assert shop.targets() == {"/a": "/release", "/b": value, "/c": "/draft", "/d": "/base"}


def test_only_what_release_changes_again_is_a_new_conflict(shop: Place) -> None:
    """A decision holds while release has the value that it was made on."""
    disagree(shop, "abc")
    a, b, _ = conflicts(shop)
    settle(shop, choice(a, "draft"), choice(b, "value", "/third"))
    shop.publish(put(redirect("/b", "/newer")), put(redirect("/d", "/else")), draft=OTHER)
    again = conflicts(shop)
    assert [(each["source"], each["release"], each["draft"]) for each in again] == [
        ("/b", "/newer", "/third"),
        ("/c", "/release", "/draft"),
    ]
    settle(shop, *(choice(each, "draft") for each in again))
    shop.publish()
    assert shop.targets() == {"/a": "/draft", "/b": "/third", "/c": "/draft", "/d": "/else"}


def test_an_edit_after_a_decision_stands(shop: Place) -> None:
    disagree(shop, "ab")
    a, b = conflicts(shop)
    settle(shop, choice(a, "draft"))
    shop.save(put(redirect("/a", "/later")))
    assert list(conflicts(shop)) == [b]
    settle(shop, choice(b, "release"))
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
    (left,) = settle(shop, choice(removed, take, body)).conflicts
    shop.publish(put(redirect("/d", "/else")), draft=OTHER)
    assert list(conflicts(shop)) == [left]
    settle(shop, choice(left, "draft"))
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
    (left,) = settle(shop, choice(removed, take, body)).conflicts
    settle(shop, choice(left, "release"))
    if expected is None:  # both sides are then alike, so the draft is at its end
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
    settle(shop, choice(by_field["target"], "draft"), choice(by_field["status"], "release"))
    assert [each["field"] for each in conflicts(shop)] == ["file"]
    settle(shop, choice(by_field["file"], "value", "redirects/ours.yaml"))
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
    (left,) = settle(shop, choice(settings_of, take, value)).conflicts
    assert left == rule
    settle(shop, choice(rule, "draft"))
    shop.publish()
    assert shop.store.project(SPACE, SHOP).release.settings.title == expected


@pytest.mark.parametrize(("take", "expected"), [("draft", "mine\n"), ("release", "theirs\n"), ("value", "ours\n")])
def test_contents_of_pages_that_stand_in_files(place: Place, take: str, expected: str) -> None:
    """Settled as the field `content` of their page; the file holds what was chosen."""
    pages = "".join(f"  - {{type: BASIC, path: /{name}, contentType: TEXT_PLAIN, file: {name}.txt}}\n" for name in "ab")
    place.push({"shop/pages.yaml": "pages:\n" + pages, **{f"shop/{name}.txt": name for name in "ab"}})
    place.save(put(page("/a", "mine\n")), put(page("/b", "mine\n")))
    place.publish(put(page("/a", "theirs\n")), put(page("/b", "theirs\n")), draft=OTHER)
    a, b = conflicts(place)
    assert list(settle(place, choice(a, take, "ours\n")).conflicts) == [b]
    settle(place, choice(b, "draft"))
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
def test_a_value_that_the_field_cannot_hold_settles_nothing(shop: Place, field: str, value: Any, pointer: str) -> None:
    disagree(shop, "ab")
    before, (a, b) = head(shop), conflicts(shop)
    assert a["field"] == field
    with pytest.raises(Invalid) as caught:
        settle(shop, choice(a, "value", value), choice(b, "draft"))
    assert {problem.pointer for problem in caught.value.problems} == {pointer}
    assert (head(shop), list(conflicts(shop))) == (before, [a, b])


def test_what_is_no_conflict_cannot_be_settled(shop: Place) -> None:
    """By another rule, another field, a second time, on another head, or without a draft at all."""
    disagree(shop, "ab")
    a, b = conflicts(shop)
    for wrong in (choice(a, "draft")._replace(field="status"), choice(a, "draft")._replace(id=redirect("/c").id)):
        with pytest.raises(NotFound, match=wrong.id):
            settle(shop, choice(b, "draft"), wrong)
    with pytest.raises(Invalid, match="twice"):
        settle(shop, choice(a, "draft"), choice(a, "release"))
    with pytest.raises(StaleDraft):
        settle(shop, choice(a, "draft"), head=shop.tip)
    settle(shop, choice(a, "draft"))
    with pytest.raises(NotFound):
        settle(shop, choice(a, "draft"))
    shop.store.discard(SPACE, MAIN)
    with pytest.raises(NotFound, match="no draft"):
        settle(shop, choice(b, "draft"))


def test_a_decision_is_not_published_with_other_changes(shop: Place) -> None:
    """Guard: a publish of some ids honours what was decided on these alone."""
    disagree(shop, "ab")
    a, _ = conflicts(shop)
    settle(shop, choice(a, "value", "/third"))
    shop.save(put(redirect("/d", "/else")))
    shop.publish(ids=frozenset({redirect("/d").id}))
    assert shop.targets() == {"/a": "/release", "/b": "/release", "/c": "/base", "/d": "/else"}
    assert [each["source"] for each in conflicts(shop)] == ["/b"]
    shop.publish(ids=frozenset({redirect("/a").id}))
    assert shop.targets()["/a"] == "/third"


TARGETS = ["/base", "/x", "/y", "/z"]


@st.composite
def side(draw: st.DrawFn) -> list[Edit]:
    """What one side does to the four rules, and to one that both may add."""
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
    """Every rule of a state with all its fields and its file."""
    snapshot = place.store.snapshot(SPACE, SHOP, at)
    return {
        placed.record.identity: {"note": "", **placed.record.fields(), "file": placed.file}
        for placed in snapshot.placed(Kind.REDIRECTS)
    }


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(side(), side(), st.integers(0, 2**32))
def test_after_settling_everything_the_publish_holds_what_was_chosen_and_nothing_is_lost(
    tmp_path_factory: pytest.TempPathFactory, mine: list[Edit], theirs: list[Edit], seed: int
) -> None:
    """In any order and any grouping."""
    chance = random.Random(seed)  # noqa: S311 - test data
    place = found(tmp_path_factory.mktemp("law") / "data").begin(SHOP)
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
        done = settle(place, *(decided(each, chance, expected) for each in group))
        assert {(each["id"], each["field"]) for each in done.conflicts} == {
            (each["id"], each["field"]) for each in found_conflicts
        }
    place.publish()
    assert fields_of(place, "published") == {key: rule for key, rule in expected.items() if rule}


def naive(base: Any, release: Any, draft: Any) -> dict[str, Any]:
    """The textbook merge, value by value, with release's value in a conflict; None for a rule that is gone."""
    merged: dict[str, Any] = {}
    for key in {*base, *release, *draft}:
        b, r, d = (side.get(key) for side in (base, release, draft))
        if r is None or d is None:
            merged[key] = d if r == b else r
        else:
            merged[key] = {name: d[name] if r[name] == (b or {}).get(name, "") else r[name] for name in r}
    return merged


def decided(conflict: Conflict, chance: random.Random, expected: dict[str, Any]) -> Choice:
    """A choice for a conflict, noted in what is expected."""
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


def test_who_settled_is_told_by_the_commit(shop: Place) -> None:
    disagree(shop, "ab")
    a, _ = conflicts(shop)
    settle(shop, choice(a, "draft"))
    told = shop.git("log", "-1", "--format=%an%n%B", "draft/shop/main")
    assert told.startswith("Bob\nSettle 1 conflict; 1 conflict left\n")
    assert f"Settled: redirect {a['id']} target " in told
    assert ADA.name not in told
