"""Lints: after any change they find exactly what a check of the whole state finds, and check only what it touches."""

from array import array
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha1
from pathlib import Path

import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st

from content.checks.set_rules import SetCheck
from content.records.problem import Problem
from content.records.problem_codes import count_never_answering
from content.records.record import Page, Placed, Record, Redirect
from content.records.vocabulary import ContentType, Kind, PageType, RedirectStatus, RedirectType
from gitstore.compiled.segments.segment_store import SegmentStore
from gitstore.compiled.segments.snapshot import File, Snapshot, take_snapshot
from gitstore.compiled.validation import never_answering
from gitstore.compiled.validation.checks import check_snapshot
from gitstore.compiled.validation.lint import lint_snapshot
from gitstore.compiled.validation.lint_cache import LintCache, dump_lint, load_lint
from gitstore.compiled.validation.never_answering import count_after_change
from gitstore.compiled.validation.snapshot_rules import SnapshotRules
from gitstore.git.repository import FILE_MODE
from gitstore.layout import BlobId, TreeId
from gitstore.yamlfiles.dump import new_file

SEGMENTS = SegmentStore(None)
_PATHS = ["/a", "/%61", "/b", "/b?q", "/c", "/d", "/é", "/%C3%A9", "/x/1", "/x/2"]
_HOSTS = ["", "h.example", "other.example"]
_TARGETS = [*_PATHS[:6], "/x/1", "/end", "https://h.example/a", "https://h.example/b", "https://out.example/a"]
_PATTERNS = ["^/x/(.*)$", "^/x/1$", "^/(b|c)$", "^/a", "^/x.*", "^/x/1", "("]
_HOST_PATTERNS = [r"^h\.example/x", r"^h\.example/(.*)$"]
_statuses = st.sampled_from([RedirectStatus.FOUND, RedirectStatus.PERMANENT_REDIRECT])


@st.composite
def _redirects(draw: st.DrawFn) -> Redirect:
    kind = draw(st.sampled_from([*[RedirectType.BASIC] * 4, *RedirectType]))
    if kind.is_exact:
        host = draw(st.sampled_from(_HOSTS[1:])) if kind.has_host else ""
        source = host + draw(st.sampled_from(_PATHS))
    else:
        source = draw(st.sampled_from(_HOST_PATTERNS if kind.has_host else _PATTERNS))
    targets = [target for target in _TARGETS if target.startswith("https:")] if kind.has_host else _TARGETS
    return Redirect(kind, source, draw(st.sampled_from(targets)), draw(_statuses))


@st.composite
def _pages(draw: st.DrawFn) -> Page:
    host = draw(st.sampled_from(_HOSTS))
    path = host + draw(st.sampled_from(_PATHS))
    return Page(PageType.BASIC_HOST if host else PageType.BASIC, path, "text", ContentType.TEXT_PLAIN)


class Blobs(dict[BlobId, bytes]):
    """Files in memory."""

    def blob(self, blob_id: BlobId) -> bytes:
        """Return the content of a file."""
        return self[blob_id]


def snapshot(tree: str = "", /, **files: bytes) -> Snapshot:
    """Return the snapshot of a project with these files, and a test that fails."""
    named = {f"{name.replace('_', '/')}.yaml": data for name, data in files.items()}
    named |= {"project.yaml": b"project: {}\n", "tests.yaml": b"tests:\n  - {url: /a, status: 404}\n"}
    blobs = Blobs({BlobId(sha1(data, usedforsecurity=False).hexdigest()): data for data in named.values()})
    ids = {data: blob for blob, data in blobs.items()}
    listed = [File(path, FILE_MODE, ids[data]) for path, data in named.items()]
    return take_snapshot("shop", TreeId(tree), listed, blobs, SEGMENTS)


def state(redirects: list[Redirect], pages: list[Page], split: int = 0) -> Snapshot:
    """Return the snapshot of these records, in two files of redirects and one of pages."""
    lists: dict[str, tuple[Kind, list[Record]]] = {
        "redirects_1": (Kind.REDIRECTS, [*redirects[:split]]),
        "redirects_2": (Kind.REDIRECTS, [*redirects[split:]]),
        "pages": (Kind.PAGES, [*pages]),
    }
    return snapshot(**{name: new_file(kind, records, "flow") for name, (kind, records) in lists.items() if records})


_lists = st.lists(_redirects(), min_size=1, max_size=12, unique_by=lambda each: each.source)
_page_lists = st.lists(_pages(), max_size=4, unique_by=lambda each: each.path)


@given(st.data())
def test_a_lint_after_any_changes_is_the_check_of_the_whole_state(data: st.DataObject) -> None:
    redirects, pages = data.draw(_lists), data.draw(_page_lists)
    filler = [Redirect(RedirectType.BASIC, f"/f/{n}", f"/to/{n}", RedirectStatus.FOUND) for n in range(60)]
    before = None
    for _ in range(3):
        now = state([*filler, *redirects], pages, data.draw(st.integers(0, len(redirects))) and 30)
        found = lint_snapshot(now, before)
        assert [finding.problem for finding in found.findings] == check_snapshot(now)
        before = load_lint(dump_lint(found))
        assert before == found
        for _ in range(data.draw(st.integers(0, 2))):
            at = data.draw(st.integers(0, len(redirects)))
            redirects[at : at + data.draw(st.integers(0, 1))] = data.draw(st.lists(_redirects(), max_size=1))
        pages[:1] = data.draw(st.lists(_pages(), max_size=1))


@given(st.data())
def test_a_count_after_any_changes_is_that_of_the_whole_state_or_none(data: st.DataObject) -> None:
    redirects, pages = data.draw(_lists), data.draw(_page_lists)
    filler = [Redirect(RedirectType.BASIC, f"/f/{n}", f"/to/{n}", RedirectStatus.FOUND) for n in range(60)]
    split = data.draw(st.integers(0, len(redirects)))
    before = lint_snapshot(state([*filler, *redirects], pages, 30 + split))
    for _ in range(2):
        at = data.draw(st.integers(0, len(redirects)))
        redirects[at : at + data.draw(st.integers(0, 1))] = data.draw(st.lists(_redirects(), max_size=2))
    if data.draw(st.booleans()):
        redirects = data.draw(st.permutations(redirects))
    pages[:1] = data.draw(st.lists(_pages(), max_size=1))
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
    assert list(never_answering._find_all(array("Q", [256, 1, 7, 1]).tobytes(), 1)) == [1, 3]


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
    return LintCache(folder).lint(state.project, state.tree, lambda: state)


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


def test_the_cache_keeps_the_newest_lints_and_needs_no_disk(tmp_path: Path) -> None:
    for number in range(40):
        lint(tmp_path, snapshot(f"{number:040}", redirects=b"redirects: []\n"))
    kept = {path.name.partition(".")[0] for path in tmp_path.iterdir()}
    assert len(kept) == 32
    assert f"{39:040}" in kept
    blocked = tmp_path / "file"
    blocked.write_bytes(b"")
    assert lint(blocked / "lint", snapshot("t" * 40, redirects=b"redirects: []\n")) == []
