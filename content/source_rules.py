"""What can be wrong with a source or path by itself."""

import re

from content.canonical import canonical_host, split_host
from content.pattern import Pattern, PatternRefused, compile_pattern
from content.pattern_shape import asks_for_question_mark, is_anchored, literal_head
from content.problem import Problem
from content.problem_codes import problem

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*://")
_REGEX_SCHEME = re.compile(r":(?:/|\\/){2}")
_UPPERCASE = re.compile(r"[A-Z]")
_RAW = re.compile(r"[^!-~]")


def exact_source_problems(text: str, pointer: str, *, has_host: bool) -> list[Problem]:
    """What is wrong with an exact source or page path; `pointer` is `/source` or `/path`."""
    if not has_host:
        found = [] if text.startswith("/") else [_missing_slash(pointer)]
    else:
        found = _host_problems(text, pointer)
    return found + _never_sent(text, pointer)


def _missing_slash(pointer: str) -> Problem:
    return problem("missing_slash", f'a BASIC {pointer[1:]} begins with "/"; with a host it is BASIC_HOST', pointer)


def _host_problems(text: str, pointer: str) -> list[Problem]:
    name = pointer[1:]
    if found := _SCHEME.match(text):
        return [problem("has_scheme", f"a BASIC_HOST {name} is host and path only; remove {found[0]}", pointer)]
    host, path = split_host(text)
    if not path:
        return [problem("missing_path", f'a BASIC_HOST {name} needs a path after the host, at least "/"', pointer)]
    try:
        canonical_host(host)
    except ValueError as ex:
        return [problem("bad_host", f"a BASIC_HOST {name} begins with a host: {ex}", pointer)]
    return _host_warnings(host, pointer)


def _host_warnings(host: str, pointer: str) -> list[Problem]:
    found = []
    if _UPPERCASE.search(host):
        found.append(problem("uppercase_host", f"hosts are compared in lower case; write {host.lower()}", pointer))
    if ":" in host.rpartition("]")[2]:
        found.append(problem("port_ignored", "the port plays no part when hosts are compared; remove it", pointer))
    return found


def _never_sent(text: str, pointer: str) -> list[Problem]:
    if "#" in text:
        message = 'this never matches: what follows "#" stays in the browser; a "#" in a path is written %23'
        return [problem("fragment_in_source", message, pointer)]
    if "?" in text:
        message = 'with a query string the whole query has to be equal; a "?" in a path is written %3F'
        return [problem("query_in_source", message, pointer)]
    return []


def regex_source_problems(source: str, *, has_host: bool) -> tuple[Pattern | None, list[Problem]]:
    """The compiled pattern (None where RE2 refuses it), and what is wrong with it."""
    try:
        pattern = compile_pattern(source)
    except PatternRefused as ex:
        return None, [problem("bad_regex", str(ex), "/source")]
    checks = [
        _unanchored(source),
        _raw_character(source),
        _question_mark(source),
        _wrong_start(source, has_host=has_host),
    ]
    if has_host:
        checks.append(_regex_scheme(source))
    return pattern, [found for found in checks if found]


def _regex_scheme(source: str) -> Problem | None:
    found = _REGEX_SCHEME.search(source)
    if found is None or "/" in source[: found.start()]:
        return None
    return problem(
        "has_scheme", "a REGEX_HOST source is compared with host and path only; remove the scheme", "/source"
    )


def _unanchored(source: str) -> Problem | None:
    if is_anchored(source):
        return None
    return problem("regex_unanchored", "without ^ at its start this matches anywhere in the text", "/source")


def _raw_character(source: str) -> Problem | None:
    found = _RAW.search(source)
    if found is None:
        return None
    encoded = "".join(f"%{byte:02X}" for byte in found[0].encode())
    message = f'a path holds {encoded} in place of "{found[0]}" when it is compared; write {encoded}'
    return problem("regex_raw_character", message, "/source")


def _question_mark(source: str) -> Problem | None:
    if not asks_for_question_mark(source):
        return None
    return problem(
        "query_in_source", 'a regex is compared without the query string, so a "?" is never there', "/source"
    )


def _wrong_start(source: str, *, has_host: bool) -> Problem | None:
    head = literal_head(source)
    if head is None or not head.literal:
        return None
    if has_host and _UPPERCASE.search(split_host(head.literal)[0]):
        return problem("uppercase_host", "this never matches: hosts are compared in lower case", "/source")
    if head.literal.startswith("/") is not has_host:
        return None
    message = 'begins with a host, without "/"' if has_host else 'begins with "/"'
    return problem("regex_unreachable", f"this never matches: what it is compared with {message}", "/source")
