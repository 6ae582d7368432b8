"""What changes do beyond the rules that they name."""

from content.diff import diff
from content.impact import Impact, State, find_impact
from content.record import Page, Record, Redirect
from content.vocabulary import Kind
from tests.content.rules import matcher, page, placed_pages, placed_redirects, redirect


def impact(before: list[Record], after: list[Record]) -> Impact:
    old, new = (
        {record.identity: record for record in side if isinstance(record, Redirect)} for side in (before, after)
    )
    changes = diff(Kind.REDIRECTS, old, new)
    pages = ({record.identity: record for record in side if isinstance(record, Page)} for side in (before, after))
    return find_impact(state(before), state(after), [*changes, *diff(Kind.PAGES, *pages)])


def state(records: list[Record]) -> State:
    redirects = [record for record in records if isinstance(record, Redirect)]
    pages = [record for record in records if isinstance(record, Page)]
    return State(matcher(*records), placed_redirects(*redirects), placed_pages(*pages))


def named(found: Impact) -> tuple[list[tuple[str, str]], list[tuple[str, str]], list[str]]:
    """Code and rule of what appears and goes, and the answers in words."""
    appears, goes = (
        [(each.problem.code, each.rule.record.identity) for each in side] for side in (found.appears, found.goes)
    )
    return appears, goes, [each.text for each in found.answers]


A = redirect("BASIC", "/a", "/b")
B = redirect("BASIC", "/b", "/c")


def test_a_chain_appears_with_its_second_rule_and_goes_with_it() -> None:
    assert named(impact([A], [A, B])) == ([("chain", "/a")], [], ["/b: nothing -> 301 /c"])
    assert named(impact([A, B], [A])) == ([], [("chain", "/a")], ["/b: 301 /c -> nothing"])


def test_a_loop_takes_the_place_of_a_chain() -> None:
    appears, goes, answers = named(impact([A, B], [A, redirect("BASIC", "/b", "/a")]))
    assert appears == [("redirect_loop", "/a"), ("redirect_loop", "/b")]
    assert (goes, answers) == ([("chain", "/a")], ["/b: 301 /c -> 301 /a"])


def test_what_was_there_before_is_not_told_again() -> None:
    """Nor where another line or sentence tells of it."""
    more = redirect("BASIC", "/0", "/x")
    assert named(impact([A, B], [more, A, redirect("BASIC", "/b", "/d")])) == (
        [],
        [],
        ["/b: 301 /c -> 301 /d", "/0: nothing -> 301 /x"][::-1],
    )


def test_a_rule_that_hides_a_page_or_a_regex() -> None:
    regex, all_of_it = redirect("REGEX", "^/shop/old$", "/x"), redirect("BASIC", "/shop/old", "/y")
    appears, _, answers = named(impact([regex], [regex, all_of_it]))
    assert (appears, answers) == ([("regex_unreachable", "^/shop/old$")], ["/shop/old: 301 /x -> 301 /y"])
    appears, _, answers = named(impact([page("BASIC", "/a")], [page("BASIC", "/a"), A]))
    assert (appears, answers) == ([("page_unreachable", "/a")], ["/a: 200 page -> 301 /b"])


def test_a_page_that_a_redirect_hides_tells_of_both_kinds() -> None:
    """So whoever may not read one of them is not told."""
    found = impact([page("BASIC", "/a")], [page("BASIC", "/a"), A])
    assert [each.kinds for each in found.appears] == [frozenset(Kind)]
    assert [each.kinds for each in found.answers] == [frozenset(Kind)]


def test_a_regex_is_asked_for_the_texts_that_it_names() -> None:
    before, after = redirect("REGEX", "^/x/?$", "/b"), redirect("REGEX", "^/x/?$", "/c")
    assert named(impact([before], [after]))[2] == ["/x: 301 /b -> 301 /c", "/x/: 301 /b -> 301 /c"]


def test_a_note_changes_no_answer() -> None:
    noted = Redirect(A.type, A.source, A.target, A.status, "why")
    assert named(impact([A], [noted])) == ([], [], [])
