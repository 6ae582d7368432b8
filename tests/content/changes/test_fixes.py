"""Safe fixes: every request gets the answer of before or a later one of its chain, and a second run finds nothing."""

from collections.abc import Sequence
from urllib.parse import urljoin, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from content.changes.fixes import FixedRules, FixKind, fix_rules
from content.checks.expectations import Expectation, failed_expectations
from content.matching.match import Match
from content.matching.matcher import Matcher
from content.matching.request import Request, parse_request
from content.records.record import Page, Record, Redirect
from content.records.vocabulary import Kind, RedirectStatus, RedirectType
from tests.content.rules import (
    matcher,
    page,
    pages,
    paths,
    placed_pages,
    placed_redirects,
    queries,
    redirect,
    redirects,
)

_HOSTS = ("a.example", "b.example", "c.example")
_short = st.sampled_from(["/a", "/b", "/c", "/%41", "/A", "/é", "/%c3%a9", "/a?b"])
_targets = st.one_of(
    _short,
    st.builds(lambda host, path: f"https://{host}{path}", st.sampled_from([*_HOSTS, "A.example", "C.Example"]), _short),
    st.sampled_from(["/a#f", "/a b", "/$1", "https://b.example"]),
)


@st.composite
def linked(draw: st.DrawFn) -> Redirect:
    """Draw redirects that often lead to each other, with hosts and codes in several spellings."""
    kind = draw(
        st.sampled_from(
            [*[RedirectType.BASIC] * 3, RedirectType.BASIC_HOST, RedirectType.REGEX, RedirectType.REGEX_HOST]
        )
    )
    host = draw(st.sampled_from(["a.example", "A.Example", "b.example"]))
    path = draw(_short)
    source = {
        RedirectType.BASIC: path,
        RedirectType.BASIC_HOST: host + path,
        RedirectType.REGEX: f"^{path.replace('?', '.')}",
        RedirectType.REGEX_HOST: draw(st.sampled_from([r"^a\.example/c", "^[^/]+/b$"])),
    }[kind]
    note = draw(st.sampled_from(["", "", "n"]))
    return Redirect(kind, source, draw(_targets), draw(st.sampled_from(RedirectStatus)), note)


rules = st.lists(st.one_of(linked(), linked(), linked(), redirects(), pages()), max_size=9)
requests = st.builds(
    lambda host, path, query: parse_request(f"{f'https://{host}' if host else ''}{path}{query}"),
    st.sampled_from([None, *_HOSTS, "other.example"]),
    st.one_of(_short.map(lambda path: path.partition("?")[0]), paths.filter(lambda path: not path.startswith("//"))),
    queries,
)


def fixed(records: Sequence[Record], tests: Sequence[Expectation] = ()) -> FixedRules:
    listed = [record for record in records if isinstance(record, Redirect)]
    return fix_rules(
        placed_redirects(*listed), placed_pages(*(record for record in records if isinstance(record, Page))), tests
    )


def left(found: FixedRules) -> list[Record]:
    return [record for kind in Kind for record in found.records[kind] if record]


def _url(request: Request, locations: Sequence[str]) -> tuple[str, str]:
    """Return the URL where a browser ends that follows these Locations, with its host in lower case."""
    url = f"https://{request.host or 'unknown.invalid'}{request.path}"
    for location in locations:
        url = urljoin(url, location)
    parts = urlsplit(url)
    return parts.netloc.lower(), parts._replace(scheme="", netloc="").geturl() or "/"


@given(rules, st.lists(requests, max_size=8))
def test_every_request_gets_its_answer_of_before_or_a_later_one_of_its_chain(
    records: list[Record], asked: list[Request]
) -> None:
    before, after = matcher(*records), matcher(*left(fixed(records)))
    for request in asked:
        old, new = before.match(request), after.match(request)
        assert (old is None) == (new is None)
        if old and new:
            assert (old.status, bool(old.page)) == (new.status, bool(new.page))
            if old.redirect:
                assert _url(request, [new.location]) in _allowed(before, request, old)


def _allowed(before: Matcher, request: Request, old: Match) -> list[tuple[str, str]]:
    chain = before.follow(request, 20)
    ends = [hop.match.location for hop in chain.hops if hop.match.redirect]
    return [_url(request, [old.location]), *(_url(request, ends[: at + 1]) for at in range(len(ends)))]


@given(rules)
def test_a_second_run_fixes_nothing(records: list[Record]) -> None:
    once = fixed(records)
    twice = fixed(left(once))
    assert twice.counts.total() == 0
    assert left(twice) == left(once)


@given(rules)
def test_a_kept_rule_is_there_for_each_dropped_one(records: list[Record]) -> None:
    found = fixed(records)
    dropped = {(kind, at) for kind in Kind for at, record in enumerate(found.records[kind]) if record is None}
    assert dropped == set(found.kept)
    for (kind, _), kept in found.kept.items():
        assert found.records[kind][kept] is not None


def chain(*statuses: str) -> list[Redirect]:
    """Return a chain /0, /1, …, with these statuses."""
    return [redirect("BASIC", f"/{at}", f"/{at + 1}", status) for at, status in enumerate(statuses)]


@pytest.mark.parametrize(
    ("statuses", "targets"),
    [
        (("MOVED_PERMANENT",) * 3, ["/3", "/3", "/3"]),
        (("FOUND", "MOVED_PERMANENT"), ["/2", "/2"]),
        (("MOVED_PERMANENT", "FOUND"), ["/1", "/2"]),
        (("PERMANENT_REDIRECT", "MOVED_PERMANENT"), ["/1", "/2"]),
        (("TEMPORARY_REDIRECT", "PERMANENT_REDIRECT"), ["/2", "/2"]),
    ],
)
def test_a_chain_is_flattened_unless_a_status_would_promise_too_much(statuses: list[str], targets: list[str]) -> None:
    found = fixed(chain(*statuses))
    assert [each.target for each in left(found) if isinstance(each, Redirect)] == targets
    assert found.counts[FixKind.CHAIN] == sum(target != f"/{at + 1}" for at, target in enumerate(targets))


def test_the_end_of_a_chain_through_another_host_names_that_host() -> None:
    records = [
        redirect("BASIC", "/a", "https://x.example/b"),
        redirect("BASIC_HOST", "x.example/b", "https://y.example/c"),
        redirect("BASIC_HOST", "y.example/c", "https://y.example/d"),
        redirect("BASIC", "/d", "/e"),
    ]
    assert [each.target for each in left(fixed(records)) if isinstance(each, Redirect)] == [
        "https://y.example/e"
    ] * 3 + ["/e"]


def test_a_chain_with_other_ends_on_other_hosts_is_left() -> None:
    records = [*chain("FOUND", "FOUND"), redirect("BASIC_HOST", "x.example/1", "https://x.example/own", "FOUND")]
    assert not fixed(records).counts
    patterns = [
        *chain("FOUND", "FOUND"),
        redirect("REGEX_HOST", r"^[a-z]+\.example/1$", "https://x.example/own", "FOUND"),
    ]
    assert not fixed(patterns).counts
    encoded = [
        redirect("BASIC", "/a", "/%c3%a9", "FOUND"),
        redirect("BASIC", "/é", "/end", "FOUND"),
        redirect("BASIC_HOST", "x.example/%C3%A9", "https://x.example/own", "FOUND"),
    ]
    assert not fixed(encoded).counts
    for path, count in (("/2", 1), ("/other", 1)):
        one_host = [
            *chain("FOUND", "FOUND"),
            redirect("REGEX_HOST", rf"^m\.example{path}$", "https://x.example/own", "FOUND"),
        ]
        assert fixed(one_host).counts[FixKind.CHAIN] == count


def test_loops_fragments_and_captures_are_left() -> None:
    loop = [redirect("BASIC", "/a", "/b"), redirect("BASIC", "/b", "/c"), redirect("BASIC", "/c", "/b")]
    assert not fixed(loop).counts
    assert not fixed([redirect("BASIC", "/a", "/b#part"), redirect("BASIC", "/b", "/c")]).counts
    assert not fixed([redirect("REGEX", "^/x/(.*)$", "/a/$1"), redirect("BASIC", "/a/", "/c")]).counts


def test_a_rule_with_an_error_is_left_for_its_author() -> None:
    faulty = [redirect("REGEX", "^/a$", "b"), redirect("BASIC", "/b", "/c")]
    assert not fixed(faulty).counts
    assert fixed([redirect("REGEX", "^/a$", "/b"), faulty[1]]).counts[FixKind.CHAIN] == 1


def test_a_rule_whose_location_a_test_names_is_left() -> None:
    records, test = chain("FOUND", "FOUND"), Expectation("/0", 302, "/1")
    assert not fixed(records, [test]).counts
    found = fixed(records, [Expectation("/0", 302)])
    assert found.counts[FixKind.CHAIN] == 1
    assert not failed_expectations(matcher(*left(found)), [Expectation("/0", 302)])


def test_rules_beside_unread_ones_are_not_flattened() -> None:
    assert not fix_rules(placed_redirects(*chain("FOUND", "FOUND")), (), is_whole=False).counts


@pytest.mark.parametrize(
    ("kind", "source", "target", "wanted", "counts"),
    [
        (
            "BASIC_HOST",
            "WWW.Example.com/a",
            "https://b.example/A",
            ("www.example.com/a", "https://b.example/A"),
            "host",
        ),
        ("BASIC", "/a", "https://B.Example/Path?Q=A", ("/a", "https://b.example/Path?Q=A"), "host"),
        ("BASIC", "/caf%c3%a9", "/b", ("/caf%C3%A9", "/b"), "encoding"),
        ("BASIC", "/%7Euser%2Da", "/b", ("/~user-a", "/b"), "encoding"),
        ("BASIC", "/100%", "/b", ("/100%25", "/b"), "encoding"),
        ("BASIC", "/a", "/b c\\d", ("/a", "/b%20c%5Cd"), "encoding"),
        ("BASIC_HOST", "A.example/%2d", "https://b.example/", ("a.example/-", "https://b.example/"), "host encoding"),
    ],
)
def test_hosts_and_codes_are_corrected(
    kind: str, source: str, target: str, wanted: tuple[str, str], counts: str
) -> None:
    found = fixed([redirect(kind, source, target)])
    (record,) = left(found)
    assert isinstance(record, Redirect)
    assert (record.source, record.target) == wanted
    assert sorted(kind for kind, count in found.counts.items() if count) == sorted(counts.split())


@pytest.mark.parametrize("source", ["/größe", "/a%2Fb", "/a#b"])
def test_what_people_can_read_or_mean_is_left(source: str) -> None:
    records = [redirect("BASIC", source, "https://müller.example/ä"), redirect("REGEX", "^/%c3 ", "/A")]
    assert not fixed(records).counts.total()


def test_only_exact_duplicates_are_dropped() -> None:
    first, same, other = (redirect("BASIC", "/a", target) for target in ("/b", "/b", "/c"))
    noted = Redirect(first.type, first.source, first.target, first.status, "why")
    found = fixed([first, other, same, noted, page("BASIC", "/p"), page("BASIC", "/p"), page("BASIC", "/p", "else")])
    assert left(found) == [first, other, noted, page("BASIC", "/p"), page("BASIC", "/p", "else")]
    assert found.kept == {(Kind.REDIRECTS, 2): 0, (Kind.PAGES, 1): 0}


def test_a_correction_never_makes_a_hidden_rule_a_duplicate_with_another_target() -> None:
    records = [redirect("BASIC", "/A", "/x"), redirect("BASIC", "/%41", "/y"), redirect("BASIC", "/%41", "/x")]
    assert left(fixed(records)) == records[:1] + records[1:2]


def test_a_correction_never_hides_that_two_rules_have_one_source() -> None:
    records = [redirect("BASIC", "/%41", "/x"), redirect("BASIC", "/%41", "/y")]
    assert left(fixed(records)) == records
    same = [redirect("BASIC", "/%41", "https://A.example/"), redirect("BASIC", "/%41", "https://a.example/")]
    assert left(fixed(same)) == [redirect("BASIC", "/A", "https://a.example/")]
