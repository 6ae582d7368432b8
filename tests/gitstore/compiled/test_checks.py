"""Incremental checks: checking only the changed rules gives the same verdict as checking everything."""

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from content.records.problem import Problem, errors
from content.records.record import Page, Record, Redirect
from content.records.vocabulary import Kind, RedirectType
from gitstore.compiled.segments.changes import changes_between
from gitstore.compiled.segments.snapshot import Snapshot
from gitstore.compiled.validation.checks import check_change, check_many, check_snapshot, check_together
from gitstore.yamlfiles.dump import new_file
from tests.gitstore.fixtures import page, redirect
from tests.gitstore.folders import Folder, folder_of, matcher_of_release
from tests.rounds import rounds

_SOURCES = ["/a", "/b", "/c", "/a?q", "h.example/a", "h.example/b"]
_TARGETS = ["/a", "/b", "/c", "/end", "/a?q", "https://h.example/a", "https://h.example/b", "https://x.example/a"]
_HOST_PATTERNS = [r"^x\.example/a", r"^[hx]\.example/b$", r"^([a-z])\.example/c$", r"^x\.example/d$"]
_PATTERNS = ["^/a$", "^/b", "^/[abc]$"]
exact = st.builds(redirect, st.sampled_from(_SOURCES), st.sampled_from(_TARGETS))
patterns = st.builds(
    lambda source, target: redirect(source, target, type=RedirectType.REGEX),
    st.sampled_from(_PATTERNS),
    st.sampled_from([*_TARGETS, "/$1", "https://$1.example/a"]),
) | st.builds(
    lambda source, target: redirect(source, target, type=RedirectType.REGEX_HOST),
    st.sampled_from(_HOST_PATTERNS),
    st.sampled_from(["https://x.example/b", "https://x.example/d", "https://h.example/a", "https://$1.example/a"]),
)
pages = st.sampled_from(["/a", "/c", "/p", "h.example/a"]).map(page)
records = st.lists(
    st.one_of(exact, exact, patterns, pages), max_size=6, unique_by=lambda record: (type(record), record.identity)
)


def _snapshot(of: list[Record]) -> Snapshot:
    redirects = [record for record in of if isinstance(record, Redirect)]
    return folder_of(redirects, [record for record in of if isinstance(record, Page)]).snapshot


def _host_loop(*, after: bool) -> list[Record]:
    """Return rules that form a loop only once the project is known to serve the host that they name."""
    rules: list[Record] = [redirect("/a", "https://h.example/b"), redirect("/b", "https://h.example/a")]
    return [*rules, redirect("h.example/c")] if after else rules


def _shielded_loop(*, after: bool) -> list[Record]:
    """Return rules that form a loop only once an exact rule no longer shields a pattern."""
    pattern = redirect("^/a$", "/b", type=RedirectType.REGEX)
    rules: list[Record] = [pattern, redirect("/b", "/a")]
    return rules if after else [*rules, redirect("/a", "/end")]


def _unserved_loop(*, after: bool) -> list[Record]:
    """Return rules that form a loop on a host that only patterns name, once the loop has a rule without a host."""
    steps = [(r"^x\.example/a$", "https://x.example/d"), (r"^x\.example/d$", "https://x.example/b")]
    rules: list[Record] = [redirect(source, target, type=RedirectType.REGEX_HOST) for source, target in steps]
    return [*rules, redirect("/b", "/a")] if after else rules


@settings(max_examples=rounds(100, 600), deadline=None)
@given(records, st.lists(st.one_of(exact, exact, patterns, pages), max_size=2), st.sets(st.integers(0, 5), max_size=2))
@example(
    [redirect("/a", "/c"), redirect("/b", "https://h.example/a"), redirect("h.example/b")],
    [redirect("/a", "/b")],
    set(),
)
@example(_host_loop(after=False), [redirect("h.example/c")], set())
@example(_shielded_loop(after=False), [], {2})
@example(_unserved_loop(after=False), _unserved_loop(after=True)[-1:], set())
def test_verdict_on_a_change_is_the_verdict_on_the_whole(
    before: list[Record], put: list[Record], removed: set[int]
) -> None:
    """Guard: all rules are walked where chains from elsewhere can pass through a change.

    Otherwise an invalid version would be published, and could not be served once its compiled file is removed.
    """
    assume(not errors(check_snapshot(old := _snapshot(before))))
    kept = {(type(record), record.identity): record for at, record in enumerate(before) if at not in removed}
    new = _snapshot(list({**kept, **{(type(record), record.identity): record for record in put}}.values()))
    changes = [change for kind in Kind for change in changes_between(old, new)[kind]]
    whole = errors(check_snapshot(new))
    assert bool(errors(check_change(old, new, matcher_of_release(new), changes))) == bool(whole), whole


_two_files = st.tuples(*[st.lists(st.sampled_from(["/a", "/b", "/c", "/d"]), max_size=3)] * 2)


@settings(deadline=None)
@given(_two_files, _two_files)
@example((["/a"], ["/b"]), (["/a"], ["/a"]))
@example((["/a"], ["/b"]), (["/b"], ["/a"]))
@example((["/a", "/b"], []), (["/a"], ["/b", "/b"]))
def test_duplicates_that_a_change_makes_are_all_found(old: tuple[list[str], ...], new: tuple[list[str], ...]) -> None:
    """A duplicate is reported for any pair of files; a rule that moves is not a duplicate."""
    assume(len({*old[0], *old[1]}) == len(old[0]) + len(old[1]))
    before, after = _files(old), _files(new)
    changes = [change for kind in Kind for change in changes_between(before, after)[kind]]
    found, whole = check_change(before, after, matcher_of_release(after), changes), check_snapshot(after)
    assert _duplicates(found) == _duplicates(whole)


def _files(sources: tuple[list[str], ...]) -> Snapshot:
    names = ("redirects.yaml", "redirects/b.yaml")
    held = ([redirect(source, "/end") for source in each] for each in sources)
    return Folder({name: new_file(Kind.REDIRECTS, each) for name, each in zip(names, held, strict=True)}).snapshot


def _duplicates(problems: list[Problem]) -> set[Problem]:
    return {problem for problem in problems if problem.code == "duplicate_source"}


@given(st.lists(st.one_of(exact, exact, patterns, pages), max_size=8))
def test_a_check_file_by_file_finds_the_problems_of_a_check_in_memory(of: list[Record]) -> None:
    """Both find the same, with duplicates too, in a project of more than one file."""
    redirects = [record for record in of if isinstance(record, Redirect)]
    files = {f"redirects/0000{at}.yaml": new_file(Kind.REDIRECTS, redirects[at::2], "flow") for at in range(2)}
    listed = new_file(Kind.PAGES, [record for record in of if isinstance(record, Page)], "flow")
    snapshot = Folder({**files, "pages.yaml": listed}).snapshot
    (_, together), (_, many) = check_together(snapshot), check_many(snapshot)
    assert many == together
