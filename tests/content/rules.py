"""Factories and generators for rules that the tests of matching and checks share."""

from hypothesis import strategies as st

from content.matching.matcher import Matcher, RuleBook
from content.records.problem import Problem
from content.records.record import Page, Placed, Record, Redirect
from content.records.vocabulary import ContentType, PageType, RedirectStatus, RedirectType

FILE = "shop/redirects.yaml"


def redirect(kind: str, source: str, target: str, status: str = "MOVED_PERMANENT") -> Redirect:
    return Redirect(RedirectType(kind), source, target, RedirectStatus(status))


def page(kind: str, path: str, content: str = "hello") -> Page:
    return Page(PageType(kind), path, content, ContentType.TEXT_PLAIN)


def placed_redirects(*redirects: Redirect) -> list[Placed[Redirect]]:
    return [Placed(record, FILE, 10 + index, index) for index, record in enumerate(redirects)]


def placed_pages(*pages: Page) -> list[Placed[Page]]:
    return [Placed(record, "shop/pages.yaml", 10 + index, index) for index, record in enumerate(pages)]


def matcher(*records: Record) -> Matcher:
    redirects = [record for record in records if isinstance(record, Redirect)]
    pages = [record for record in records if isinstance(record, Page)]
    return Matcher(RuleBook(placed_redirects(*redirects), placed_pages(*pages)))


def codes(problems: list[Problem]) -> list[str]:
    """Return the codes of problems, sorted for comparison."""
    return sorted(problem.code for problem in problems)


HOSTS = ("a.example", "b.example")
paths = st.lists(st.sampled_from(["/", "a", "b", "é", "%2F", "%41", "A", ".", "%"]), max_size=5).map(
    lambda parts: "/" + "".join(parts)
)
queries = st.sampled_from(["", "", "?", "?a=1", "?b"])
_pieces = st.sampled_from(["a", "b", "/", ".", "a?", "b*", "(a)", "(b)?", "(a|b)", "[ab]", "(.*)", "[^/]+", r"\."])
regexes = st.builds(
    lambda start, pieces, end: start + "".join(pieces) + end,
    st.sampled_from(["^", "^/", "", "(?:^/)"]),
    st.lists(_pieces, min_size=1, max_size=4),
    st.sampled_from(["", "$"]),
)
_targets = st.sampled_from(["/t", "/t/$1", "https://c.example/$2", "https://c.example$1", "/a", "/b$1"])


@st.composite
def redirects(draw: st.DrawFn) -> Redirect:
    """Draw redirects of every type over an alphabet so small that they often meet."""
    kind = draw(st.sampled_from(RedirectType))
    source = draw(paths) + draw(queries) if kind.is_exact else draw(regexes)
    if kind.has_host:
        host = draw(st.sampled_from(HOSTS))
        source = host + source if kind.is_exact else "^" + host.replace(".", r"\.") + source.removeprefix("^")
    return Redirect(kind, source, draw(_targets), draw(st.sampled_from(RedirectStatus)))


@st.composite
def pages(draw: st.DrawFn) -> Page:
    """Draw pages over the same alphabet."""
    kind = draw(st.sampled_from(PageType))
    host = draw(st.sampled_from(HOSTS)) if kind.has_host else ""
    return Page(kind, host + draw(paths), "hello", ContentType.XML)
