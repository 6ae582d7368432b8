"""Changes laid over rules: requests get what they would get from rules that were built with the changes."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from content.matching.changed_rules import ChangedRules
from content.matching.match import MatchResult
from content.matching.matcher import Matcher
from content.matching.request import parse_request
from content.records.record import Page, Placed, Record, Redirect
from tests.content.rules import matcher, page, pages, paths, queries, redirect, redirects

records = st.one_of(redirects(), pages())
urls = st.builds(
    lambda host, path, query: host + path + query, st.sampled_from(["", "https://a.example"]), paths, queries
)


def key(record: Record) -> tuple[bool, str]:
    """Return what makes two records one: their kind, and their source or path."""
    return isinstance(record, Redirect), record.identity


def unique(found: Sequence[Record]) -> list[Record]:
    return list({key(record): record for record in found}.values())


@given(before=st.lists(records, max_size=8), edits=st.lists(st.tuples(st.booleans(), records), max_size=6), url=urls)
def test_changed_rules_answer_as_rules_built_anew(
    before: list[Record], edits: list[tuple[bool, Record]], url: str
) -> None:
    before = unique(before)
    expected: dict[tuple[bool, str], Record] = {key(record): record for record in before}
    rules = ChangedRules(matcher(*before).source)
    for is_put, record in edits:
        if is_put:
            rules.put(Placed(record))
            expected[key(record)] = record
        elif key(record) in expected:
            rules.remove(record)
            del expected[key(record)]
    request = parse_request(url)
    found, wanted = Matcher(rules).answer(request), matcher(*expected.values()).answer(request)
    assert _rules(found) == _rules(wanted)


def _rules(result: MatchResult) -> list[Record]:
    """Return the record that answers and those that lost, in their order."""
    matches = [result.winner, *(each.match for each in result.candidates)]
    placed = [each.redirect or each.page for each in matches if each]
    return [each.record for each in placed if each]


def test_without_a_changed_regex_the_compiled_ones_are_used() -> None:
    source = matcher(redirect("REGEX", "^/a$", "/b"), redirect("BASIC", "/c", "/d")).source
    rules = ChangedRules(source)
    rules.put(Placed(redirect("BASIC", "/c", "/e")))
    assert rules.patterns() is source.patterns()
    rules.remove(redirect("REGEX", "^/a$", "/b"))
    assert list(rules.patterns()) == []


def test_a_removed_page_and_a_new_host_are_known() -> None:
    rules = ChangedRules(matcher(page("BASIC", "/robots.txt")).source)
    rules.remove(page("BASIC", "/robots.txt"))
    rules.put(Placed(redirect("BASIC_HOST", "new.example/a", "/b")))
    assert rules.pages_at("/robots.txt") == []
    assert "new.example" in rules.hosts()
    assert isinstance(rules.redirect(rules.redirects_at("new.example/a")[0]).record, Redirect)
    rules.put(Placed(page("BASIC", "/humans.txt")))
    assert isinstance(rules.page(rules.pages_at("/humans.txt")[0]).record, Page)
