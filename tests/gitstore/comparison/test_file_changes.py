"""Changes of a draft besides the rules: reported file by file, and never a way around the policy."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from content.cache import LruCache
from gitstore.comparison import file_changes as file_changes_module
from gitstore.comparison.change_lines import file_lines
from gitstore.comparison.file_changes import find_equal_rules
from gitstore.compiled.segments.segment import Segment, compile_segment
from gitstore.compiled.segments.snapshot import CompiledFile
from gitstore.drafts.drafts import DraftName
from gitstore.errors import NotAllowed
from gitstore.git.objects import blob_id
from gitstore.git.repository import Author
from gitstore.layout import BlobId, CommitId
from gitstore.publish.approval import Verdict
from tests.gitstore.fixtures import MAIN, SHOP, SPACE, Place, create_place, put, redirect, yaml

KIM = Author("Kim", "kim@shop.example")
STRICT = "project:\n  title: Shop\n  policy: {review: required}\n"
LOOSE = "project:\n  title: Shop\n  policy: {review: optional, lint: strict}\n"
POLICY = {"review": {"old": "required", "new": "optional"}, "lint": {"old": "normal", "new": "strict"}}


@pytest.fixture
def shop(tmp_path: Path) -> Place:
    """Return a project that requires reviews, with tests, and a page whose content is a file."""
    place = create_place(tmp_path / "data").begin(SHOP)
    page = "pages:\n- {type: BASIC, path: /p, contentType: TEXT_PLAIN, file: pages/p.txt}\n"
    files = {"shop/project.yaml": STRICT, "shop/tests.yaml": "tests: []\n", "shop/pages.yaml": page}
    place.push({**files, "shop/pages/p.txt": "old\n", "shop/redirects.yaml": yaml([("/a", "/b")])})
    return place


def loosen(place: Place, **files: str | None) -> CommitId:
    """Push a draft that removes the policy next to a harmless rule; return its head."""
    rules = yaml([("/a", "/b"), ("/c", "/d")])
    own = {"shop/project.yaml": LOOSE, "shop/tests.yaml": None, "shop/redirects.yaml": rules}
    place.push({**own, **files}, to=MAIN.ref.removeprefix("refs/heads/"))
    return CommitId(place.git("rev-parse", MAIN.ref))


def reported(place: Place, old: str = "base", new: str = "draft") -> list[dict[str, object]]:
    return [each.wire() for each in place.store.revisions.difference(SPACE, SHOP, old, new).files]


def test_files_without_rules_are_reported_with_the_settings_that_differ(shop: Place) -> None:
    loosen(shop, **{"shop/pages/p.txt": "new\n", "shop/notes.txt": "x\n"})
    wanted = [
        {"file": "shop/notes.txt", "change": "added"},
        {"file": "shop/project.yaml", "change": "changed", "settings": POLICY},
        {"file": "shop/tests.yaml", "change": "removed"},
    ]
    assert reported(shop) == wanted
    assert [each.wire() for each in shop.store.drafts.report(SPACE, MAIN).files] == wanted
    assert [each.wire() for each in shop.store.drafts.review_view(SPACE, MAIN, (), 0, 1).files] == wanted
    assert reported(shop, "draft", "published")[0] == {"file": "shop/notes.txt", "change": "removed"}


def test_the_content_of_a_page_is_reported_by_the_page_alone(shop: Place) -> None:
    shop.push({"shop/pages/p.txt": "new\n"}, to="draft/shop/main")
    assert reported(shop) == []


def test_settings_that_cannot_be_read_are_not_guessed(shop: Place) -> None:
    shop.push({"shop/project.yaml": "project: [\n"}, to="draft/shop/main")
    assert reported(shop) == [{"file": "shop/project.yaml", "change": "changed"}]


TESTS = "tests:\n- {url: /a, status: 301, location: /b}\n- {url: /gone, status: 404}\n- {url: /same, status: 404}\n"


def test_tests_are_reported_one_by_one(shop: Place) -> None:
    """Another order is no difference."""
    shop.push({"shop/tests.yaml": TESTS})
    shop.push(
        {
            "shop/tests.yaml": "tests:\n- {url: /same, status: 404}\n- {url: /a, status: 302}\n- {url: /n, status: 404}\n"
        },
        to="draft/shop/main",
    )
    changed = {"url": "/a", "change": "changed", "old": {"status": 301, "location": "/b"}}
    none = {"status": 404, "location": None}
    items = [
        {**changed, "new": {"status": 302, "location": None}},
        {"url": "/n", "change": "added", "old": None, "new": none},
        {"url": "/gone", "change": "removed", "old": none, "new": None},
    ]
    tests = {"added": 1, "changed": 1, "removed": 1, "items": items}
    wanted = {"file": "shop/tests.yaml", "change": "changed", "tests": tests}
    assert reported(shop) == [wanted]
    assert [each.wire() for each in shop.store.drafts.report(SPACE, MAIN).files] == [wanted]


def test_tests_of_one_url_and_removed_files_are_compared(shop: Place) -> None:
    two = "tests:\n- {url: /a, status: 301}\n- {url: /a, status: 301, location: /b}\n"
    shop.push({"shop/tests.yaml": two})
    file = "- file shop/tests.yaml"
    cases: list[tuple[str | None, list[str]]] = [
        (f"# Why\n{two}", ["~ file shop/tests.yaml"]),
        ("tests: [{}]\n", ["~ file shop/tests.yaml"]),
        (None, [file, "    - test /a: 301", "    - test /a: 301 /b"]),
    ]
    for number, (text, lines) in enumerate(cases):
        draft = DraftName(SHOP, f"draft-{number}")
        shop.push({"shop/tests.yaml": text}, to=draft.ref.removeprefix("refs/heads/"))
        assert list(file_lines(shop.store.drafts.report(SPACE, draft).files)) == lines


def test_a_publish_lists_its_files(shop: Place) -> None:
    """The changes are in the history, and in the default message of a publish."""
    shop.push({"shop/project.yaml": STRICT.replace("Shop", "Store")}, to="draft/shop/main")
    shop.publish(override="Agreed")
    publish, _, files = shop.store.publishes.read(SPACE, SHOP, str(shop.state()[1]))
    assert publish.message == "Publish shop: project.yaml changed"
    assert [each.wire()["settings"] for each in files] == [{"title": {"old": "Shop", "new": "Store"}}]
    loosen(shop)
    shop.publish(override="Agreed", may_change_policy=True)
    message = shop.store.publishes.history(SPACE, SHOP, 0, 1)[0][0].message
    assert message == "Publish shop: 1 redirect added, project.yaml changed, tests.yaml removed"


def test_an_approval_does_not_publish_another_policy(shop: Place) -> None:
    """An override alone does not either: the caller's permission is checked first, and enforced under the lock."""
    head, before = loosen(shop), shop.state()
    approved = (Verdict(head, KIM, approves=True),)
    for order in ({"verdicts": approved}, {"override": "Now"}):
        with pytest.raises(NotAllowed, match="review: required to optional, lint: normal to strict") as caught:
            shop.publish(**order)
        assert "project:override" in str(caught.value)
    assert (shop.state(), shop.git("rev-parse", MAIN.ref)) == (before, head)
    shop.publish(verdicts=approved, may_change_policy=True)
    assert shop.store.releases.project(SPACE, SHOP).release.settings.review == "optional"


def test_selected_rules_leave_the_policy_in_the_draft(shop: Place) -> None:
    head = loosen(shop)
    chosen = frozenset({redirect("/c").id})
    shop.publish(ids=chosen, verdicts=(Verdict(head, KIM, approves=True),))
    assert shop.store.releases.project(SPACE, SHOP).release.settings.review == "required"
    assert {"file": "shop/project.yaml", "change": "changed", "settings": POLICY} in reported(shop)


def test_a_policy_that_release_has_by_now_is_not_a_change(shop: Place) -> None:
    """The changes of the merge are counted, not those of the draft."""
    loosen(shop)
    shop.store.projects.change(SPACE, SHOP, {"review": "optional", "lint": "strict"}, KIM)
    shop.push({"shop/project.yaml": LOOSE})
    shop.publish()
    assert shop.targets() == {"/a": "/b", "/c": "/d"}


def test_a_draft_that_began_before_the_project_is_compared_with_nothing(tmp_path: Path) -> None:
    place = create_place(tmp_path / "data")
    place.push({"shop/project.yaml": STRICT, "shop/redirects.yaml": yaml([("/c", "/d")])}, to="draft/shop/main")
    place.begin(SHOP)
    changes, files, _ = place.store.revisions.difference(SPACE, SHOP, "base", "draft", MAIN.draft)
    assert [each.identity for of_kind in changes.values() for each in of_kind] == ["/c"]
    assert [(each.file, each.change) for each in files] == [("shop/project.yaml", "added")]


def test_a_publish_by_others_is_not_a_change_of_the_draft(shop: Place) -> None:
    shop.push({"shop/tests.yaml": "# mine\ntests: []\n"}, to="draft/shop/main")
    shop.publish(put(redirect("/since")), draft=DraftName(SHOP, "other"), override="Agreed")
    assert reported(shop) == [{"file": "shop/tests.yaml", "change": "changed"}]
    assert shop.store.revisions.diff(SPACE, SHOP, "base", "draft") == {"redirects": [], "pages": []}


TWO = yaml([("/a", "/b"), ("/c", "/d")])


def text_of(place: Place, **files: str | None) -> list[dict[str, object]]:
    """Return the file changes reported for a draft with these files, with two rules on release."""
    place.push({"shop/redirects.yaml": TWO})
    place.push({f"shop/{path.replace('__', '/')}.yaml": text for path, text in files.items()}, to="draft/shop/main")
    report = [each.wire() for each in place.store.drafts.report(SPACE, MAIN).files]
    assert (
        reported(place)
        == [each.wire() for each in place.store.drafts.review_view(SPACE, MAIN, (), 0, 1).files]
        == report
    )
    return report


def test_a_file_in_which_only_comments_differ_is_reported_as_such(shop: Place) -> None:
    """The report of the draft, the message of its publish and the history have the change."""
    wanted = [{"file": "shop/redirects.yaml", "change": "changed", "only": "text"}]
    assert text_of(shop, redirects=f"# Since spring\n{TWO}") == wanted
    published = shop.publish(override="Agreed")
    publish, _, files = shop.store.publishes.read(SPACE, SHOP, str(published.number))
    assert publish.message == "Publish shop: redirects.yaml changed (comments or layout only)"
    assert [each.wire() for each in files] == wanted
    assert publish.files == (0, 1, 0)


def test_rules_in_another_order_are_reported(shop: Place) -> None:
    """Among patterns of one length the first one wins, so the order is more than layout."""
    wanted = [{"file": "shop/redirects.yaml", "change": "changed", "only": "order"}]
    assert text_of(shop, redirects=yaml([("/c", "/d"), ("/a", "/b")])) == wanted


def test_rules_in_another_file_are_reported(shop: Place) -> None:
    assert text_of(shop, redirects=None, redirects__all=TWO) == [
        {"file": "shop/redirects.yaml", "change": "removed", "only": "order"},
        {"file": "shop/redirects/all.yaml", "change": "added", "only": "order"},
    ]


def test_a_new_file_without_a_rule_is_reported(shop: Place) -> None:
    assert text_of(shop, redirects__none="# Nothing yet\nredirects: []\n") == [
        {"file": "shop/redirects/none.yaml", "change": "added", "only": "text"}
    ]


def test_a_file_with_a_rule_that_differs_is_reported_by_the_rule_alone(shop: Place) -> None:
    """The rule is changed, added, removed, or moved to another file and changed there."""
    base = shop.push({"shop/redirects.yaml": TWO})
    cases: list[dict[str, str | None]] = [
        {"redirects": f"# Note\n{yaml([('/a', '/b'), ('/c', '/other')])}"},
        {"redirects": f"# Note\n{yaml([('/a', '/b'), ('/c', '/d'), ('/e', '/f')])}"},
        {"redirects": f"# Note\n{yaml([('/a', '/b')])}"},
        {"redirects": None, "redirects/all": yaml([("/a", "/b"), ("/c", "/other")])},
    ]
    for number, files in enumerate(cases):
        draft = DraftName(SHOP, f"draft-{number}")
        shop.push({f"shop/{path}.yaml": text for path, text in files.items()}, to=draft.ref.removeprefix("refs/heads/"))
        assert shop.store.drafts.report(SPACE, draft).files == [], files
    assert base == shop.tip


def test_files_that_differ_are_counted_whatever_is_in_them(shop: Place) -> None:
    """Each publish in a window of the history has the counts of C git; also the first one and a removal."""
    shop.push(
        {"shop/pages/p.txt": "new\n", "shop/tests.yaml": None, "shop/redirects/deep/x.yaml": yaml([("/x", "/y")])}
    )
    shop.store.projects.delete(SPACE, SHOP, KIM, may_change_policy=True)
    shop.begin(SHOP)
    publishes, total = shop.store.publishes.history(SPACE, SHOP, 0, 100)
    assert total == 5
    for publish in publishes:
        lines = shop.git(
            "show", "--first-parent", "--no-renames", "--name-status", "--format=", publish.version, "--", "shop"
        ).splitlines()
        assert publish.files == tuple(sum(line[0] == sign for line in lines) for sign in "AMD"), lines
    assert [each.files for each, _ in shop.store.publishes.after(SPACE, SHOP, 0, 9)] == [
        p.files for p in publishes[::-1]
    ]


_Rules = tuple[tuple[str, str], ...]
_RULES = st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("xy")), max_size=4).map(tuple)
_STATES = st.dictionaries(st.sampled_from("123"), _RULES)


@given(_STATES, _STATES)
def test_a_file_differs_by_its_order_or_text_alone_where_no_rule_of_it_differs(
    old: dict[str, _Rules], new: dict[str, _Rules]
) -> None:
    """The plain definition: each rule that a file has on either side is in both states, the last one of a source alike."""
    for path in [path for path in old if old[path] == new.get(path)]:
        del old[path], new[path]
    before, after = (dict(rule for path in sorted(side) for rule in side[path]) for side in (old, new))
    wanted = {}
    for path in sorted(old.keys() | new.keys()):
        sources = [[source for source, _ in side.get(path, ())] for side in (old, new)]
        if sources[0] == sources[1]:
            if not sources[0] or old.get(path) == new.get(path):
                wanted[path] = "text"
        elif all(before.get(each) == after.get(each) for each in sources[0] + sources[1]):
            wanted[path] = "order"
    sides = ({path: _compiled(path, side[path]) for path in sorted(side)} for side in (old, new))
    assert dict(find_equal_rules(*sides)) == wanted


def _compiled(path: str, rules: _Rules) -> CompiledFile:
    data = yaml((f"/{source}", f"/{target}") for source, target in rules).encode()
    return CompiledFile(path, blob_id(data), compile_segment(data))


def test_only_a_pair_of_files_that_is_new_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = list[Segment]()

    def are_equal(old: Segment, new: Segment) -> bool:
        compared.append(new)
        return old.records == new.records

    monkeypatch.setattr(file_changes_module, "_are_equal", are_equal)
    monkeypatch.setattr(file_changes_module, "_equal", LruCache[tuple[BlobId, BlobId], bool](9))
    old = {path: _compiled(path, ((path, "x"),)) for path in "123"}
    new = {path: _compiled(path, ((path, "y"),)) for path in "123"}
    assert not dict(find_equal_rules(old, new))
    edited = _compiled("2", (("2", "z"),))
    assert not dict(find_equal_rules(old, {**new, "2": edited}))
    assert compared == [each.segment for each in (*new.values(), edited)]
