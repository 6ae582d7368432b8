"""Rules for the benchmarks: always the same ones, with the length and variety of those of real sites."""

from collections.abc import Sequence
from itertools import cycle, islice

from content.formats.tsv import write_rows
from content.records.record import Redirect
from content.records.vocabulary import RedirectStatus, RedirectType

MANY = 100_000
FEW = 1_000
PATTERNS = 10_000
PER_FILE = 500

_STATUSES = tuple(RedirectStatus)
_WORDS = (
    "annual",
    "report",
    "pricing",
    "guide",
    "release",
    "notes",
    "legacy",
    "archive",
    "product",
    "download",
    "team",
)
_HOSTS = tuple(f"{name}.shop.example" for name in ("www", "blog", "help", "press", "docs", "old", "jobs", "status"))
_SHARE_WITH_HOST = 5  # in a mixed project, one in five of the exact rules names a host, and one in ten of the patterns


def _slug(number: int) -> str:
    return "-".join(_WORDS[(number * step) % len(_WORDS)] for step in (1, 3, 7))


def _status(number: int) -> RedirectStatus:
    return _STATUSES[number % len(_STATUSES)]


def path_rule(number: int) -> Redirect:
    """Return an exact rule for a path."""
    source = f"/section-{number % 89:02d}/{_slug(number)}-{number:06d}"
    target = f"https://www.shop.example/new/{number:06d}/{_slug(number + 1)}"
    return Redirect(RedirectType.BASIC, source, target, _status(number))


def host_rule(number: int) -> Redirect:
    """Return an exact rule for a host and a path."""
    rule = path_rule(number)
    return Redirect(RedirectType.BASIC_HOST, _HOSTS[number % len(_HOSTS)] + rule.source, rule.target, rule.status)


def exact_rules(count: int) -> list[Redirect]:
    """Return exact rules for paths."""
    return [path_rule(number) for number in range(count)]


def mixed_rules(exact: int, patterns: int) -> list[Redirect]:
    """Return exact rules with and without a host, and patterns with and without one."""
    rules = [host_rule(number) if number % _SHARE_WITH_HOST == 0 else path_rule(number) for number in range(exact)]
    return [*rules, *(pattern_rule(number) for number in range(patterns))]


def pattern_rule(number: int) -> Redirect:
    """Return a rule with a pattern, of one of ten shapes."""
    type_, source, target = _SHAPES[number % len(_SHAPES)]
    return Redirect(type_, source.format(n=number), target.format(n=number), _status(number))


def pattern_url(number: int) -> str:
    """Return a URL that `pattern_rule` of the number answers."""
    return _URLS[number % len(_URLS)].format(n=number)


_PATH, _WITH_HOST = RedirectType.REGEX, RedirectType.REGEX_HOST
_SHAPES = (
    (_WITH_HOST, r"^team-{n}\.shop\.example/(.*)$", "https://teams.shop.example/{n}/$1"),
    (_PATH, r"^/forum/thread-{n}-([a-z0-9-]+)\.html$", "/community/{n}/$1"),
    (_PATH, r"^/(en|de|fr|es)/release-{n}/?$", "/$1/releases/{n}"),
    (_PATH, r"^/user/{n}/(profile|settings)$", "/account/{n}/$1"),
    (_PATH, r"^/catalogue/{n}/([0-9]+)/(.*)$", "/goods/{n}/$1/$2"),
    (_PATH, r"^/gallery/{n}(/.*)?$", "/pictures/{n}$1"),
    (_PATH, r"^/api/v[12]/item{n}(?:/([a-z]+))?$", "/api/v3/items/{n}/$1"),
    (_PATH, r"^/tag/[a-z]+-{n}/page/([0-9]+)$", "/topics/{n}?page=$1"),
    (_PATH, r"^/press/20[0-9][0-9]/{n}-.+$", "/news/{n}"),
    (_PATH, r"^/print/(.+)/{n}\.pdf$", "/$1/{n}"),
)
_URLS = (
    "https://team-{n}.shop.example/about/us",
    "https://www.shop.example/forum/thread-{n}-how-to-return-goods.html",
    "https://www.shop.example/de/release-{n}/",
    "https://www.shop.example/user/{n}/settings",
    "https://www.shop.example/catalogue/{n}/42/blue-shoes",
    "https://www.shop.example/gallery/{n}/summer/7",
    "https://www.shop.example/api/v1/item{n}/stock",
    "https://www.shop.example/tag/shoes-{n}/page/3",
    "https://www.shop.example/press/2019/{n}-we-are-hiring",
    "https://www.shop.example/print/manuals/washing/{n}.pdf",
)


def exact_url(rule: Redirect) -> str:
    """Return a URL that an exact rule answers."""
    return f"https://{rule.source}" if rule.type.has_host else f"https://www.shop.example{rule.source}"


def unknown_url(number: int) -> str:
    """Return a URL that no rule answers, but that resembles the sources of some rules."""
    return f"https://www.shop.example/section-{number % 89:02d}/{_slug(number)}-{number:06d}-unknown"


def sample_evenly(rules: Sequence[Redirect], count: int) -> list[Redirect]:
    """So many of the rules, from everywhere in the list, in no order that a cache would like."""
    stride = max(1, len(rules) * 618 // 1000) | 1
    return list(islice((rules[place * stride % len(rules)] for place in cycle(range(len(rules)))), count))


def table(rules: Sequence[Redirect]) -> bytes:
    """Return the rules as a file for the import."""
    return b"".join(write_rows(rules))
