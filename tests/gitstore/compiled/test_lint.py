"""Lints: after any change they find exactly what a check of the whole state finds, and check only what it touches."""

from array import array
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st

from content.checks.set_rules import SetCheck
from content.records.problem import Problem
from content.records.problem_codes import count_never_answering
from content.records.record import Placed, Redirect
from content.records.vocabulary import RedirectStatus, RedirectType
from gitstore.compiled.segments.snapshot import Snapshot
from gitstore.compiled.validation import lint_cache, never_answering
from gitstore.compiled.validation.checks import check_snapshot
from gitstore.compiled.validation.lint import Lint, find_all, lint_snapshot
from gitstore.compiled.validation.lint_cache import LintCache, dump_lint, load_lint
from gitstore.compiled.validation.never_answering import count_after_change
from gitstore.compiled.validation.snapshot_rules import SnapshotRules
from tests.gitstore.rule_states import page_lists, redirect_lists, snapshot, some_page, some_redirect, state


@given(st.data())
def test_a_lint_after_any_changes_is_the_check_of_the_whole_state(data: st.DataObject) -> None:
    redirects, pages = data.draw(redirect_lists), data.draw(page_lists)
    filler = [Redirect(RedirectType.BASIC, f"/f/{n}", f"/to/{n}", RedirectStatus.FOUND) for n in range(60)]
    before = None
    for _ in range(3):
        now = state([*filler, *redirects], pages, data.draw(st.integers(0, len(redirects))) and 30)
        found = lint_snapshot(now, before)
        assert [finding.problem for finding in found.findings] == check_snapshot(now)
        before = load_lint(dump_lint(found))
        assert before == found
        assert _known_of(found) == _known_of(lint_snapshot(now))
        for _ in range(data.draw(st.integers(0, 2))):
            at = data.draw(st.integers(0, len(redirects)))
            redirects[at : at + data.draw(st.integers(0, 1))] = data.draw(st.lists(some_redirect(), max_size=1))
        pages[:1] = data.draw(st.lists(some_page(), max_size=1))


def _known_of(lint: Lint) -> list[object]:
    """Return what a lint knows for the next one."""
    parts = [(*rules.rows(0, len(rules.ids)),) for rules in lint.lists.values()]
    return [*parts, *({*zip(rules.owners, rules.looked_up, strict=True)} for rules in lint.lists.values())]


@given(st.data())
def test_a_count_after_any_changes_is_that_of_the_whole_state_or_none(data: st.DataObject) -> None:
    redirects, pages = data.draw(redirect_lists), data.draw(page_lists)
    filler = [Redirect(RedirectType.BASIC, f"/f/{n}", f"/to/{n}", RedirectStatus.FOUND) for n in range(60)]
    split = data.draw(st.integers(0, len(redirects)))
    before = lint_snapshot(state([*filler, *redirects], pages, 30 + split))
    for _ in range(2):
        at = data.draw(st.integers(0, len(redirects)))
        redirects[at : at + data.draw(st.integers(0, 1))] = data.draw(st.lists(some_redirect(), max_size=2))
    if data.draw(st.booleans()):
        redirects = data.draw(st.permutations(redirects))
    pages[:1] = data.draw(st.lists(some_page(), max_size=1))
    assume(len({each.source for each in redirects}) == len(redirects))
    assume(len({each.path for each in pages}) == len(pages))
    now = state([*filler, *redirects], pages, 30 + data.draw(st.sampled_from([split, 0])))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(never_answering, "RULES_PER_NEAR_LINT", 2)
        found = count_after_change(before, now, SnapshotRules(now))
    event(f"counted: {found is not None}")
    assert found in {None, count_never_answering(check_snapshot(now))}


HIDDEN = [("/h", "/to/h"), ("/%68", "/to/h"), ("/i", "/to/i"), ("/%69", "/to/i")]


@pytest.mark.parametrize(
    ("changed", "count"),
    [
        ({0: ("/other", "/to/h")}, 1),  # it hid the next one
        ({1: ("/other", "/to/h")}, 1),
        ({8: ("/%6%38", "/x")}, 2),
        ({8: ("/j", "/x"), 9: ("/%6A", "/x")}, 3),
        ({8: ("/s/9", "/x"), 9: ("/s/8", "/x")}, 2),  # in another order
    ],
)
def test_a_count_after_a_few_changes_checks_only_what_they_touch(
    changed: dict[int, tuple[str, str]], count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [*HIDDEN, *((f"/s/{n}", f"/to/{n}") for n in range(4, 1_000))]
    rules = [Redirect(RedirectType.BASIC, *row, RedirectStatus.FOUND) for row in rows]
    before = lint_snapshot(state(rules, [], 500))
    now = [Redirect(RedirectType.BASIC, *changed.get(n, row), RedirectStatus.FOUND) for n, row in enumerate(rows)]
    after = state([Redirect(RedirectType.BASIC, "/first", "/to", RedirectStatus.FOUND), *now], [], 501)
    checked: list[str] = []
    check = SetCheck.redirect_problems

    def noted(self: SetCheck, placed: Placed[Redirect]) -> list[Problem]:
        checked.append(placed.record.source)
        return check(self, placed)

    with monkeypatch.context() as patch:
        patch.setattr(SetCheck, "redirect_problems", noted)
        assert count_after_change(before, after, SnapshotRules(after)) == count
    assert count_never_answering(check_snapshot(after)) == count
    assert len(checked) <= 2 + 4 * len(changed)


def test_rules_that_moved_count_at_their_new_places() -> None:
    """In two rows of the lint before, the hidden rule was where the pattern is now; two problems of a row are of one rule."""
    rules = [Redirect(RedirectType.BASIC, f"/s/{n}", f"/to/{n}", RedirectStatus.FOUND) for n in range(1_000)]
    never = Redirect(RedirectType.REGEX, "^a", "/to", RedirectStatus.FOUND)
    hidden = [Redirect(RedirectType.BASIC, source, "/to", RedirectStatus.FOUND) for source in ("/h", "/%68")]
    before = lint_snapshot(state([never, *hidden, *rules], [], 500))
    places = {finding.problem.code: finding.problem.line for finding in before.findings}
    assert places["shadowed"] == places["regex_unreachable"] + 2
    new = [Redirect(RedirectType.BASIC, f"/new/{n}", "/to", RedirectStatus.FOUND) for n in range(2)]
    after = state([*new, never, *hidden, *rules], [], 502)
    assert count_after_change(before, after, SnapshotRules(after)) == count_never_answering(check_snapshot(after)) == 2


def test_patterns_in_another_order_are_linted_again() -> None:
    """Of two patterns of equal length, the first one answers."""
    rules = [Redirect(RedirectType.BASIC, f"/s/{n}", f"/to/{n}", RedirectStatus.FOUND) for n in range(1_000)]
    patterns = [Redirect(RedirectType.REGEX, source, "/to", RedirectStatus.FOUND) for source in ("^/a.*", "^/a/b")]
    before = lint_snapshot(state([*patterns, *rules], [], 500))
    after = state([*patterns[::-1], *rules], [], 500)
    assert count_never_answering(finding.problem for finding in before.findings) == 1
    assert count_never_answering(check_snapshot(after)) == 0
    assert count_after_change(before, after, SnapshotRules(after)) is None


def test_many_look_ups_give_the_same_as_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(never_answering, "RULES_PER_NEAR_LINT", 2)
    rows = [*HIDDEN, *((f"/s/{n}", "/s/2") for n in range(40)), *((f"/u/{n}", "/end") for n in range(400))]
    rules = [Redirect(RedirectType.BASIC, *row, RedirectStatus.FOUND) for row in rows]
    before = lint_snapshot(state(rules, [], 30))
    rules[6] = replace(rules[6], target="/elsewhere")  # all forty lead there
    after = state(rules, [], 30)
    assert count_after_change(before, after, SnapshotRules(after)) == count_never_answering(check_snapshot(after)) == 2


def test_after_many_changes_there_is_a_new_lint() -> None:
    rules = [Redirect(RedirectType.BASIC, f"/s/{n}", f"/to/{n}", RedirectStatus.FOUND) for n in range(1_000)]
    before, counts = lint_snapshot(state(rules, [], 500)), dict[int, int | None]()
    for changed in (5, 6):  # each is one rule before, and one after
        new = [replace(each, target="/new") for each in rules[:changed]]
        after = state([*new, *rules[changed:]], [], 500)
        counts[changed] = count_after_change(before, after, SnapshotRules(after))
    assert counts == {5: 0, 6: None}


def test_a_number_is_found_only_as_a_whole() -> None:
    assert list(find_all(array("Q", [256, 1, 7, 1]).tobytes(), 1)) == [1, 3]


@pytest.mark.parametrize(
    ("changed", "split"),
    [
        (Redirect(RedirectType.REGEX, "^/x", "/y", RedirectStatus.FOUND), 500),  # a pattern may answer anywhere
        (Redirect(RedirectType.BASIC_HOST, "new.example/x", "https://h.example/", RedirectStatus.FOUND), 500),
        (Redirect(RedirectType.BASIC, "/x", "/y", RedirectStatus.FOUND), 0),  # another number of files
    ],
)
def test_there_is_no_count_where_the_whole_state_has_to_be_linted(changed: Redirect, split: int) -> None:
    rules = [Redirect(RedirectType.BASIC, f"/s/{n}", f"/to/{n}", RedirectStatus.FOUND) for n in range(1_000)]
    before = lint_snapshot(state(rules, [], 500))
    after = state([*rules[:400], changed, *rules[401:]], [], split)
    assert count_after_change(before, after, SnapshotRules(after)) is None


@pytest.mark.parametrize(
    ("changed", "checked"),
    [
        ((10, "/s/10", "/elsewhere"), {"/s/10"}),  # nothing leads to it
        ((20, "/s/20", "/elsewhere"), {"/s/20", "/s/21", "/s/22"}),  # the chain that leads through it
        ((None, "/to/5", "/new"), {"/to/5", "/s/5"}),  # it lengthens a chain
    ],
)
def test_only_the_rules_that_a_change_touches_are_checked(
    changed: tuple[int | None, str, str], checked: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = [Redirect(RedirectType.BASIC, f"/s/{n}", f"/to/{n}", RedirectStatus.FOUND) for n in range(200)]
    for number in (21, 22):
        rules[number] = Redirect(RedirectType.BASIC, f"/s/{number}", f"/s/{number - 1}", RedirectStatus.FOUND)
    before = lint_snapshot(state(rules, []))
    at, source, target = changed
    new = Redirect(RedirectType.BASIC, source, target, RedirectStatus.FOUND)
    after = [*rules, new] if at is None else [*rules[:at], new, *rules[at + 1 :]]
    seen: list[str] = []
    check = SetCheck.redirect_problems

    def noted(self: SetCheck, placed: Placed[Redirect]) -> list[Problem]:
        seen.append(placed.record.source)
        return check(self, placed)

    monkeypatch.setattr(SetCheck, "redirect_problems", noted)
    found = lint_snapshot(state(after, []), before)
    assert set(seen) == checked
    assert [finding.problem for finding in found.findings] == check_snapshot(state(after, []))


def lint(folder: Path, state: Snapshot) -> Sequence[Problem]:
    """Return the problems of a state from a new cache in a folder."""
    return LintCache(folder).lint(state.project, state.tree, lambda: state).problems()


def test_a_lint_is_cached_for_every_process_and_a_damaged_file_only_costs_time(tmp_path: Path) -> None:
    here = snapshot("t" * 40, redirects=b"redirects:\n  - {type: BASIC, source: /a, target: /a, status: FOUND}\n")
    found = lint(tmp_path, here)
    assert [problem.code for problem in found] == ["redirect_loop"]
    (file,) = tmp_path.iterdir()
    stamp = file.stat().st_mtime_ns
    assert lint(tmp_path, here) == found
    assert file.stat().st_mtime_ns == stamp
    file.write_bytes(file.read_bytes()[:-9] + b"xxxxxxxxx")
    assert lint(tmp_path, here) == found
    assert file.stat().st_mtime_ns != stamp


def test_the_cache_keeps_the_newest_lints_and_needs_no_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(40):
        lint(tmp_path, snapshot(f"{number:040}", redirects=b"redirects: []\n"))
    kept = {path.name.partition(".")[0] for path in tmp_path.iterdir()}
    assert len(kept) == 32
    assert f"{39:040}" in kept
    monkeypatch.setattr(lint_cache, "_MOST_BYTES", 10)
    lint(tmp_path, snapshot(f"{40:040}", redirects=b"redirects: []\n"))
    assert sorted(path.name.partition(".")[0] for path in tmp_path.iterdir()) == [f"{n:040}" for n in range(37, 41)]
    blocked = tmp_path / "file"
    blocked.write_bytes(b"")
    assert lint(blocked / "lint", snapshot("t" * 40, redirects=b"redirects: []\n")) == []
