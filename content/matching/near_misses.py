"""Near misses: rules that answer a URL spelled in another way, for a URL that no rule answers.

Each spelling is looked up like a request, so the cost follows their number, at most some 50, and not the number of rules.
"""

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from itertools import chain
from typing import NamedTuple

from content.matching.canonical import canonical_path
from content.matching.match import Match
from content.matching.matcher import Matcher
from content.matching.request import Request
from content.records.vocabulary import Kind

MOST_NEAR_MISSES = 3
_MOST_HOSTS = 16  # of a project that has more, no one knows which host was meant
_MOST_PARAMETERS = 8
_PATH_LIMIT = 2048  # characters; a longer path is not spelled in other ways
_SHOWN = 100  # characters of a spelling in a reason
_BEFORE = 20  # of them before the difference

_RESERVED = "!$&'()*+,;=:@/[]"  # characters that a path holds both as they are and encoded, with two meanings
_ENCODED_RESERVED = re.compile("|".join(f"%{ord(character):02X}" for character in _RESERVED))
_PLAIN_RESERVED = re.compile(f"[{re.escape(_RESERVED.replace('/', ''))}]")
_ENCODED_TWICE = re.compile("%25([0-9A-Fa-f]{2})")
_ENCODED_LETTERS = re.compile("(?:%[89A-F][0-9A-F])+")
_SLASHES = re.compile("/{2,}")
_WORD = re.compile("[^/_.~-]+")


class NearMiss(NamedTuple):
    """A rule that does not answer a URL, with a request that it answers, and `reason`, a clause for people.

    `at` is the state in which it answers; empty for the state that was asked.
    """

    match: Match
    request: Request
    reason: str
    at: str = ""


def find_near_misses(
    matcher: Matcher, request: Request, most: int = MOST_NEAR_MISSES, kinds: Collection[Kind] = tuple(Kind)
) -> list[NearMiss]:
    """Return the rules of these kinds that answer the request in another spelling, at most `most`; none if a rule answers it as it is."""
    if matcher.match(request):
        return []
    likely, unlikely = _spellings(request, matcher.hosts), _combination(request)
    return _find(matcher, request, likely, most, kinds) or _find(matcher, request, unlikely, most, kinds)


def _find(
    matcher: Matcher, asked: Request, spellings: Iterable[tuple[Request, str]], most: int, kinds: Collection[Kind]
) -> list[NearMiss]:
    found: dict[tuple[bool, str], NearMiss] = {}
    tried = {asked}
    for request, reason in spellings:
        if len(found) == most:
            break
        if request not in tried:
            tried.add(request)
            match = matcher.match(request)
            if match and match.kind in kinds and _is_near(asked, request, match):
                found.setdefault((match.page is None, match.rule.record.identity), NearMiss(match, request, reason))
    return list(found.values())


def _is_near(asked: Request, request: Request, match: Match) -> bool:
    """Return False for a regex of another host: many match every path there."""
    is_regex = match.redirect is not None and not match.redirect.record.type.is_exact
    return not is_regex or _bare(request.host) == _bare(asked.host)


def _bare(host: str | None) -> str:
    return (host or "").removeprefix("www.")


def _spellings(request: Request, hosts: Collection[str]) -> Iterator[tuple[Request, str]]:
    """Yield the request in other spellings, each with the reason of its rule; the likeliest first."""
    host, path, query = request
    if len(path) <= _PATH_LIMIT:
        for other, reason in chain(_slashes(path), _cases(path), _encodings(path)):
            yield request._replace(path=other), reason
    for text in _queries(query):
        reason = f"the query string {_excerpt(f'?{text}', f'?{query}')}" if text else "an empty query string"
        yield request._replace(query=text), f"it matches with {reason}"
    for name in _hosts(host, hosts):
        yield request._replace(host=name), f"it matches on the host {name}"


def _combination(request: Request) -> Iterator[tuple[Request, str]]:
    """Yield the request with two differences: its case, and the slash at its end."""
    if len(request.path) <= _PATH_LIMIT:
        other, reason = _other_end(canonical_path(_readable(request.path).lower()))
        yield request._replace(path=other), f"it matches in lower case and {reason}"


def _slashes(path: str) -> Iterator[tuple[str, str]]:
    other, reason = _other_end(path)
    yield other, f"it matches {reason}"
    yield _SLASHES.sub("/", path), "it matches with single slashes"


def _other_end(path: str) -> tuple[str, str]:
    if path.endswith("/"):
        return path.rstrip("/") or "/", "without the slash at the end"
    return f"{path}/", "with a slash at the end"


def _cases(path: str) -> Iterator[tuple[str, str]]:
    text = _readable(path)
    yield canonical_path(text.lower()), "it matches in lower case"
    for capitalized in (_WORD.sub(_capitalize, text), text.upper()):
        yield canonical_path(capitalized), "it matches with capital letters"


def _capitalize(word: re.Match[str]) -> str:
    return word[0][0].upper() + word[0][1:]


def _encodings(path: str) -> Iterator[tuple[str, str]]:
    text = _readable(path)
    for form in ("NFC", "NFD", "NFKC"):
        yield (
            canonical_path(unicodedata.normalize(form, text)),
            f"it matches with its characters in the Unicode form {form}",
        )
    latin = _ENCODED_LETTERS.sub(lambda found: _octets(found[0]).decode("latin-1"), path)
    yield canonical_path(latin), "it matches with its characters in UTF-8, not in Latin-1"
    for other in (
        _ENCODED_RESERVED.sub(lambda found: _octets(found[0]).decode(), path),
        _PLAIN_RESERVED.sub(lambda found: f"%{ord(found[0]):02X}", path),
        path.replace("+", "%20"),
        path.replace("%20", "+"),
        _ENCODED_TWICE.sub(r"%\1", path),
        path.replace("%", "%25"),
    ):
        spelled = canonical_path(other)
        yield spelled, f"it matches with another percent-encoding, {_excerpt(spelled, path)}"


def _excerpt(spelled: str, asked: str) -> str:
    """Return a spelling, of a long one the part where it begins to differ from what was asked."""
    if len(spelled) <= _SHOWN:
        return spelled
    shared = min(len(spelled), len(asked))
    same = next((place for place in range(shared) if spelled[place] != asked[place]), shared)
    start = max(0, min(same - _BEFORE, len(spelled) - _SHOWN))
    end = start + _SHOWN
    return f"{'…' if start else ''}{spelled[start:end]}{'…' if end < len(spelled) else ''}"


def _readable(path: str) -> str:
    """Return a path with its letters beyond ASCII as they are; reserved characters stay encoded."""
    return _ENCODED_LETTERS.sub(_decode_letters, path)


def _decode_letters(found: re.Match[str]) -> str:
    try:
        return _octets(found[0]).decode()
    except UnicodeDecodeError:
        return found[0]


def _octets(escapes: str) -> bytes:
    return bytes.fromhex(escapes.replace("%", ""))


def _queries(query: str | None) -> Iterator[str]:
    """Yield other query strings: empty, in another order, and with parameters left out."""
    if query is None:
        yield ""
        return
    parameters = query.split("&")
    if len(parameters) > _MOST_PARAMETERS:
        return
    for order in (sorted(parameters), parameters[::-1]):
        yield "&".join(order)
    for place in range(len(parameters)):
        yield "&".join(parameters[:place] + parameters[place + 1 :])
    yield from parameters


def _hosts(host: str | None, hosts: Collection[str]) -> Iterator[str]:
    if host is not None:
        yield host.removeprefix("www.") if host.startswith("www.") else f"www.{host}"
    if len(hosts) <= _MOST_HOSTS:
        yield from sorted(hosts)
