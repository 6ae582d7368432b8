"""Checks of a source or path by itself."""

import re

from content.matching.canonical import canonical_host, canonical_path, percent_encode, split_host
from content.matching.pattern import facts_of
from content.matching.pattern_shape import is_anchored, literal_prefix, matches_question_mark
from content.records.problem import Problem
from content.records.problem_codes import problem

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*://")
_REGEX_SCHEME = re.compile(r":(?:/|\\/){2}")
_UPPERCASE = re.compile(r"[A-Z]")
_RAW = re.compile(r"[^!-~]")
_ENCODED = re.compile(r"%[0-9A-Fa-f]{2}")
_CHARACTER_CLASS = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]")
_IGNORES_CASE = re.compile(r"\(\?[A-Za-z]*i")


def exact_source_problems(text: str, pointer: str, *, has_host: bool) -> list[Problem]:
    """Return the problems of an exact source or page path; `pointer` is `/source` or `/path`."""
    if not has_host:
        found = [] if text.startswith("/") else [_missing_slash(pointer)]
    else:
        found = _host_problems(text, pointer)
    return found + _unsent_part_problems(text, pointer)


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
        found.append(problem("port_ignored", "hosts are compared without the port; remove it", pointer))
    return found


def _unsent_part_problems(text: str, pointer: str) -> list[Problem]:
    if "#" in text:
        message = 'this never matches: clients do not send the "#" and the text after it; write a "#" in a path as %23'
        return [problem("fragment_in_source", message, pointer)]
    if "?" in text:
        message = 'this matches only requests with exactly this query string; write a "?" in a path as %3F'
        return [problem("query_in_source", message, pointer)]
    return []


def regex_source_problems(source: str, *, has_host: bool) -> tuple[int | None, list[Problem]]:
    """Return the number of the pattern's groups (None where RE2 refuses it) and its problems."""
    facts = facts_of(source)
    if facts.fault:
        return None, [problem("bad_regex", facts.fault, "/source")]
    checks = [
        _check_anchor(source),
        _check_raw_character(source, has_host=has_host),
        _check_encoding(source),
        _check_question_mark(source),
        _check_start(source, has_host=has_host),
    ]
    if has_host:
        checks.append(_check_scheme(source))
    return facts.groups, [found for found in checks if found]


def _check_scheme(source: str) -> Problem | None:
    found = _REGEX_SCHEME.search(source)
    if found is None or "/" in source[: found.start()]:
        return None
    return problem(
        "has_scheme", "a REGEX_HOST source is compared with host and path only; remove the scheme", "/source"
    )


def _check_anchor(source: str) -> Problem | None:
    if is_anchored(source):
        return None
    return problem("regex_unanchored", "without ^ at the start this matches anywhere in the text", "/source")


def _check_raw_character(source: str, *, has_host: bool) -> Problem | None:
    found = _RAW.search(source)
    if found is None:
        return None
    if has_host and "/" not in source[: found.start()]:
        message = f'hosts are compared with international names as A-labels, never with "{found[0]}"; write xn--…'
    else:
        encoded = percent_encode(found[0])
        message = f'paths are compared percent-encoded, with {encoded} in place of "{found[0]}"; write {encoded}'
    return problem("regex_raw_character", message, "/source")


def _check_encoding(source: str) -> Problem | None:
    """Return a problem for an encoded character that no canonical path contains."""
    if "%" not in source:
        return None
    ignores_case = _IGNORES_CASE.search(source) is not None
    for found in _ENCODED.findall(_CHARACTER_CLASS.sub("", source)):
        canonical = canonical_path(found)
        if canonical != found and not (ignores_case and canonical.lower() == found.lower()):
            wanted = canonical.replace(".", r"\.")
            message = f"paths are compared in canonical form, with {canonical} in place of {found}; write {wanted}"
            return problem("regex_encoding", message, "/source")
    return None


def _check_question_mark(source: str) -> Problem | None:
    if not matches_question_mark(source):
        return None
    return problem(
        "query_in_source", 'a regex is compared without the query string, so its "?" never matches', "/source"
    )


def _check_start(source: str, *, has_host: bool) -> Problem | None:
    prefix = literal_prefix(source)
    if prefix is None or not prefix.literal:
        return None
    if has_host and _UPPERCASE.search(split_host(prefix.literal)[0]):
        return problem("uppercase_host", "this never matches: hosts are compared in lower case", "/source")
    if prefix.literal.startswith("/") is not has_host:
        return None
    message = 'begins with a host, without "/"' if has_host else 'begins with "/"'
    return problem("regex_unreachable", f"this never matches: the compared text {message}", "/source")
