"""Problems of one record: each rule of the contract, and each trick that a source or target can hide."""

from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from content.checks.record_rules import record_problems
from content.records.problem import Severity, errors
from content.records.problem_codes import CODES
from content.records.record import Page, Record
from content.records.vocabulary import ContentType, PageType, RedirectType
from tests.content.rules import codes, page, pages, redirect, redirects

CONTROLS = [chr(number) for number in (*range(0x20), *range(0x7F, 0xA0))]


@pytest.mark.parametrize(
    "record",
    [
        redirect("BASIC", "/a", "/b"),
        redirect("BASIC", "/", "https://site.example"),
        redirect("BASIC", "/a", "http://site.example:8080/b?c=d#e"),
        redirect("BASIC", "/a", "HTTPS://Site.Example./b"),
        redirect("BASIC", "/a", "https://b\u00fccher.example/\u00fc"),
        redirect("BASIC", "/JavaScript_\u53c2\u8003", "/Events#Inline_\u2014_don't"),
        redirect("BASIC", "/Firefox 11 for developers", "/DebugOnly<T>"),
        redirect("BASIC", "/cmek-ops-*.html", "/a$1$10"),
        redirect("BASIC", "//a//b", "/a//b"),
        redirect("BASIC", "/%zz", "/100%"),
        redirect("BASIC", "/a\\b", "/a"),
        redirect("BASIC_HOST", "site.example/", "https://www.site.example/"),
        redirect("BASIC_HOST", "b\u00fccher.example/a", "http://192.0.2.1/"),
        redirect("BASIC_HOST", "web.example/save/http://other.example/", "https://a.example/b"),
        redirect("REGEX", r"^(.*)\.html$", "$1"),
        redirect("REGEX", r"^/blog/(\d{4})/(.*)$", "/archive/$1/$2?from=$1"),
        redirect("REGEX", r"^/a(/.*)?$", "https://www.site.example$1"),
        redirect("REGEX", r"^/docs/%D0%BE/[^/]+/?$", "/"),
        redirect("REGEX_HOST", r"^(?:www\.)?site\.example/(.*)$", "https://new.example/$1"),
        redirect("REGEX_HOST", r"^web\.example/save/https?://(.*)$", "https://new.example/?u=$1"),
        page("BASIC", "/robots.txt"),
        page("BASIC_HOST", "site.example/robots.txt"),
        page("BASIC", "/caf\u00e9.txt"),
    ],
)
def test_a_proper_record_has_no_problems(record: Record) -> None:
    assert record_problems(record) == []


@pytest.mark.parametrize(
    ("record", "expected", "pointer"),
    [
        (redirect("BASIC", "a", "/b"), "missing_slash", "/source"),
        (redirect("BASIC", "", "/b"), "missing_slash", "/source"),
        (redirect("BASIC", "https://site.example/a", "/b"), "missing_slash", "/source"),
        (redirect("BASIC_HOST", "https://site.example/a", "https://b.example/"), "has_scheme", "/source"),
        (redirect("BASIC_HOST", "HTTP://site.example/a", "https://b.example/"), "has_scheme", "/source"),
        (redirect("REGEX_HOST", r"^https?://site\.example/a", "https://b.example/"), "has_scheme", "/source"),
        (redirect("REGEX_HOST", r"^(?:https:\/\/)?site\.example/a", "https://b.example/"), "has_scheme", "/source"),
        (redirect("BASIC_HOST", "site.example", "https://b.example/"), "missing_path", "/source"),
        (redirect("BASIC_HOST", "/a", "https://b.example/"), "bad_host", "/source"),
        (redirect("BASIC_HOST", "a b/c", "https://b.example/"), "bad_host", "/source"),
        (redirect("BASIC_HOST", "user@site.example/c", "https://b.example/"), "bad_host", "/source"),
        (redirect("BASIC_HOST", "site.example:99999/c", "https://b.example/"), "bad_host", "/source"),
        (redirect("REGEX", "", "/b"), "bad_regex", "/source"),
        (redirect("REGEX", "^/(?!a)", "/b"), "bad_regex", "/source"),
        (redirect("REGEX", "^/" + "a" * 2048, "/b"), "bad_regex", "/source"),
        (redirect("REGEX", "^/(a)", "/$2"), "unknown_group", "/target"),
        (redirect("REGEX", "^/a", "/$1"), "unknown_group", "/target"),
        (redirect("BASIC_HOST", "site.example/a", "/b"), "missing_scheme", "/target"),
        (redirect("REGEX_HOST", "^site.example/(.*)", "$1"), "missing_scheme", "/target"),
        (redirect("BASIC_HOST", "site.example/a", "b.example/c"), "missing_scheme", "/target"),
        (redirect("BASIC", "/a", "//evil.example"), "bad_target", "/target"),
        (redirect("BASIC", "/a", "///evil.example"), "bad_target", "/target"),
        (redirect("REGEX", "^/a", "//evil.example"), "bad_target", "/target"),
        (redirect("BASIC", "/a", "b"), "bad_target", "/target"),
        (redirect("BASIC", "/a", ""), "bad_target", "/target"),
        (redirect("BASIC", "/a", "?b"), "bad_target", "/target"),
        (redirect("BASIC", "/a", "$1"), "bad_target", "/target"),
        (redirect("REGEX", "^/a", "$b"), "bad_target", "/target"),
        (redirect("BASIC", "/a", "http:/evil.example"), "bad_target", "/target"),
        (redirect("BASIC", "/a", "https:evil.example"), "bad_target", "/target"),
        (redirect("BASIC", "/a", "javascript:alert(1)"), "bad_scheme", "/target"),
        (redirect("BASIC", "/a", "JavaScript://site.example/%0Aalert(1)"), "bad_scheme", "/target"),
        (redirect("BASIC", "/a", "data:text/html,x"), "bad_scheme", "/target"),
        (redirect("BASIC", "/a", "file:///etc/passwd"), "bad_scheme", "/target"),
        (redirect("BASIC", "/a", "https://good.example@evil.example/"), "user_info", "/target"),
        (redirect("BASIC", "/a", "https://user:secret@evil.example/"), "user_info", "/target"),
        (redirect("REGEX", "^/(.*)", "https://$1@evil.example/"), "user_info", "/target"),
        (redirect("BASIC", "/a", "https://"), "bad_host", "/target"),
        (redirect("BASIC", "/a", "https:///b"), "bad_host", "/target"),
        (redirect("BASIC", "/a", "https://?b"), "bad_host", "/target"),
        (redirect("BASIC", "/a", "https://site.example:65536/"), "bad_host", "/target"),
        (redirect("BASIC", "/a", "https://$1/"), "bad_host", "/target"),
        (redirect("BASIC", "/a", "https://%65vil.example/"), "bad_host", "/target"),
        (redirect("BASIC", "/a", "/b c"), "target_character", "/target"),
        (redirect("BASIC", "/a", "/\\evil.example"), "target_character", "/target"),
        (page("BASIC", "robots.txt"), "missing_slash", "/path"),
        (page("BASIC_HOST", "https://site.example/a"), "has_scheme", "/path"),
        (page("BASIC_HOST", "site.example"), "missing_path", "/path"),
        (page("BASIC_HOST", "/robots.txt"), "bad_host", "/path"),
    ],
)
def test_an_error_is_named_at_its_field(record: Record, expected: str, pointer: str) -> None:
    problems = errors(record_problems(record))
    assert [(problem.code, problem.pointer) for problem in problems] == [(expected, pointer)]


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (redirect("BASIC_HOST", "Site.Example/a", "https://b.example/"), ["uppercase_host"]),
        (redirect("REGEX_HOST", r"^Site\.example/a", "https://b.example/"), ["uppercase_host"]),
        (redirect("BASIC_HOST", "site.example:80/a", "https://b.example/"), ["port_ignored"]),
        (redirect("BASIC_HOST", "[::1]/a", "https://b.example/"), []),
        (redirect("BASIC", "/a?b", "/c"), ["query_in_source"]),
        (redirect("BASIC", "/a?b#c", "/c"), ["fragment_in_source"]),
        (page("BASIC", "/a?b"), ["query_in_source"]),
        (page("BASIC_HOST", "Site.example/a"), ["uppercase_host"]),
        (redirect("REGEX", "/a", "/b"), ["regex_unanchored"]),
        (redirect("REGEX_HOST", r"site\.example/", "https://b.example/"), ["regex_unanchored"]),
        (redirect("REGEX", "^a", "/b"), ["regex_unreachable"]),
        (redirect("REGEX", r"^site\.example/a", "/b"), ["regex_unreachable"]),
        (redirect("REGEX_HOST", "^/a", "https://b.example/"), ["regex_unreachable"]),
        (redirect("REGEX", "^/Trademark policy/?$", "/b"), ["regex_raw_character"]),
        (redirect("REGEX", "^/\u043e/?$", "/b"), ["regex_raw_character"]),
        (redirect("REGEX_HOST", "^b\u00fccher\\.example/", "https://b.example/"), ["regex_raw_character"]),
        (redirect("REGEX", "^/gr%c3%B6", "/b"), ["regex_encoding"]),
        (redirect("REGEX", "^/a%2Db", "/b"), ["regex_encoding"]),
        (redirect("REGEX", "^/[a]%2e", "/b"), ["regex_encoding"]),
        (redirect("REGEX", "(?i)^/a%2Db", "/b"), ["regex_encoding"]),
        (redirect("REGEX", "^/gr%C3%B6%2F", "/b"), []),
        (redirect("REGEX", "(?i)^/gr%c3%b6", "/b"), []),
        (redirect("REGEX", r"^/[%c3]/[]%2D]/[^\]%2D]", "/b"), []),
        (redirect("REGEX", "^/100%/%zz", "/b"), []),
        (redirect("REGEX", r"^/index\.php\?id=(\d+)$", "/p/$1"), ["query_in_source"]),
        (redirect("REGEX_HOST", r"^h\.e/a[?]b", "https://x.e/"), ["query_in_source"]),
        (redirect("REGEX", r"^/a[^?]b?\\?$", "/b"), []),
        (redirect("REGEX", "^/(a)", "/$10"), ["group_before_digit"]),
        (redirect("REGEX", "^/(.*)$", "https://$1"), ["open_redirect"]),
        (redirect("REGEX", "^/(.*)$", "https://$1/x"), ["open_redirect"]),
        (redirect("REGEX", "^/(.*)$", "https://$1.site.example/x"), ["open_redirect"]),
        (redirect("REGEX", "^/a(.*)$", "https://site.example$1"), ["open_redirect"]),
        (redirect("REGEX_HOST", "^(.*)$", "https://site.example$1"), ["open_redirect"]),
        (redirect("REGEX", "^/(.*)$", "$1"), ["open_redirect"]),
        (redirect("REGEX", "^(?:/a)(.*)$", "$1"), ["open_redirect"]),
        (redirect("REGEX", "^/(.*)$", "/$1"), []),
        (redirect("REGEX", "^/(.*)$", "https://site.example/$1"), []),
        (redirect("REGEX", "^/(.*)$", "https://site.example?u=$1"), []),
    ],
)
def test_what_is_doubtful_is_a_warning(record: Record, expected: list[str]) -> None:
    problems = record_problems(record)
    assert codes(problems) == expected
    assert errors(problems) == []


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (
            "https://site.example$1",
            '$1 follows the host directly: with a capture such as ".evil.example" or "@evil.example"',
        ),
        ("https://site.example:80$1", '"@evil.example", the target is another host; put "/" before it'),
        ("https://$1.site.example/", "or put a user name before it that looks like a host; write the host in full"),
        ("$1", '$1 begins the target: with a capture such as "//evil.example"'),
    ],
)
def test_an_open_redirect_is_reported_with_an_example_request(target: str, words: str) -> None:
    (problem,) = record_problems(redirect("REGEX", "^/a(.*)$", target))
    assert words in problem.message


@pytest.mark.parametrize("character", [*CONTROLS, "\ud800"])
@pytest.mark.parametrize("kind", RedirectType)
def test_no_control_character_is_accepted_anywhere(kind: RedirectType, character: str) -> None:
    host = "site.example" if kind.has_host else ""
    clean = redirect(kind, f"^{host}/ab" if not kind.is_exact else f"{host}/ab", "https://b.example/cd")
    for position in range(len(clean.source) + 1):
        source = clean.source[:position] + character + clean.source[position:]
        assert codes(errors(record_problems(replace(clean, source=source)))) == ["control_character"]
    for position in range(len(clean.target) + 1):
        target = clean.target[:position] + character + clean.target[position:]
        assert codes(errors(record_problems(replace(clean, target=target)))) == ["control_character"]
    assert codes(record_problems(page("BASIC", f"/a{character}"))) == ["control_character"]


def test_all_problems_of_a_record_are_reported_at_once() -> None:
    record = redirect("REGEX_HOST", "site.example/(", "/b c")
    assert codes(record_problems(record)) == ["bad_regex", "missing_scheme", "target_character"]


@given(redirects() | pages())
def test_generated_records_are_refused_for_their_references_only(record: Record) -> None:
    assert {problem.code for problem in errors(record_problems(record))} <= {
        "unknown_group",
        "missing_scheme",
        "bad_host",
    }


@given(st.sampled_from(RedirectType), st.text(max_size=30), st.text(max_size=30))
def test_any_text_gets_a_bounded_verdict_with_known_codes(kind: RedirectType, source: str, target: str) -> None:
    for problem in record_problems(redirect(kind, source, target)):
        assert problem.severity is CODES[problem.code][0]
        assert problem.pointer in ("/source", "/target")
        assert 0 < len(problem.message) < 400


@given(st.text("/ab.%~$é", max_size=6), st.text("/ab.:%~$#é", max_size=6))
def test_the_quick_look_at_plain_records_agrees_with_the_full_one(source: str, target: str) -> None:
    """A plain page or redirect, by the quick check, has no problems in the full checks either."""
    quick = record_problems(redirect("BASIC", source, target))
    slow = record_problems(redirect("BASIC", source + "\u00e9", target))
    assert codes(quick) == codes(slow) or (not source and codes(slow) != [])


@given(
    st.sampled_from(["BASIC", "BASIC_HOST"]),
    st.text("ab1.-_A:@[é", max_size=6),
    st.text("/ab.%~?#", max_size=4),
    st.sampled_from(["", "/", "http://", "https://", "ftp://"]),
    st.text("ab1.-_A:/?#@[%$ \\", max_size=8),
)
@example("BASIC_HOST", "a.b", "/", "https://", "a/")
@example("BASIC_HOST", "a.b", "/", "https://", "a" * 254)
@example("BASIC_HOST", "a." * 126 + "aa", "/", "https://", "a")
@example("BASIC", "", "/", "https://", "a..b")
@example("BASIC", "", "/", "https://", "a/\n")
def test_the_quick_look_sees_hosts_as_the_full_one_does(
    kind: str, host: str, path: str, scheme: str, rest: str
) -> None:
    """The character added to the source is valid, but forces the full check."""
    source = f"{host}/{path}" if kind == "BASIC_HOST" else f"/{path}"
    quick = record_problems(redirect(kind, source, scheme + rest))
    assert codes(quick) == codes(record_problems(redirect(kind, source + "\u00e9", scheme + rest)))


def test_warnings_and_errors_are_as_the_table_says() -> None:
    warned = record_problems(redirect("REGEX", "a(b)", "/$12"))
    assert {problem.severity for problem in warned} == {Severity.WARNING}


@pytest.mark.parametrize(
    ("type_", "source", "wanted"),
    [
        ("REGEX", "^/gr%c3%B6", "write %C3"),
        ("REGEX", "^/a%2e", r"write \."),
        ("REGEX", "^/\u00e4", "write %C3%A4"),
        ("REGEX_HOST", "^b\u00fccher\\.example/", "write xn--"),
    ],
)
def test_a_warning_of_an_expression_says_what_to_write(type_: str, source: str, wanted: str) -> None:
    [found] = record_problems(redirect(type_, source, "https://b.example/"))
    assert wanted in found.message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("<?xml version='1.0' encoding='latin-1'?>\n<urlset>\u00e9\u0416</urlset>", None),
        ("<urlset>\n  <url/>\n</urlset", "not well-formed XML: unclosed token (line 3 of the content)"),
        ("hello", "not well-formed XML: syntax error (line 1 of the content)"),
        ("<!DOCTYPE a SYSTEM 'file:///etc/hostname'><a/>", None),
        ("<!DOCTYPE a [<!ENTITY b 'bb'><!ENTITY c '&b;&b;&b;'>]><a>&c;", None),
        ("<!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/hostname'>]><a>&b;", None),
        ("\ud800", None),
    ],
)
def test_an_xml_page_that_is_not_well_formed_has_a_warning_with_its_line(content: str, message: str | None) -> None:
    """One with entities of its own is not checked; nothing is expanded or fetched."""
    found = record_problems(Page(PageType.BASIC, "/sitemap.xml", content, ContentType.XML))
    assert [(each.code, each.message, each.severity) for each in found] == (
        [("xml_malformed", message, Severity.WARNING)] if message else []
    )
    assert record_problems(page("BASIC", "/sitemap.txt", content)) == []
