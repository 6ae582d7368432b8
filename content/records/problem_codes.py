"""The codes of the checks of content, each with its severity and meaning."""

from collections import Counter
from collections.abc import Iterable

from content.records.problem import Problem, Severity

_ERROR, _WARNING = Severity.ERROR, Severity.WARNING

CODES: dict[str, tuple[Severity, str]] = {
    "control_character": (_ERROR, "a control character, or text that is not Unicode, in source, path, target or a tag"),
    "missing_slash": (_ERROR, "a BASIC source or path that does not begin with a slash"),
    "has_scheme": (_ERROR, "a scheme in a source or path of a host type, which holds host and path only"),
    "bad_host": (_ERROR, "a host that is missing or malformed, in source, path or target"),
    "missing_path": (_ERROR, "a BASIC_HOST source or path that has no path after the host"),
    "bad_regex": (_ERROR, "a regular expression that RE2 refuses, or that is empty or too long"),
    "regex_too_costly": (_ERROR, "a new regular expression whose program is larger than a rule may have"),
    "regex_budget": (_ERROR, "regular expressions that together cost more than a project, or one call, may have"),
    "unknown_group": (_ERROR, "a target that refers to a group that the regular expression does not have"),
    "bad_target": (_ERROR, "a target that is neither a path nor an absolute URL"),
    "bad_scheme": (_ERROR, "a target whose scheme is not http or https"),
    "missing_scheme": (_ERROR, "a target of a host type without scheme and full domain"),
    "target_character": (_ERROR, "a space or a backslash in a target"),
    "user_info": (_ERROR, "a user name or password in a target"),
    "duplicate_source": (_ERROR, "a source that two redirects have"),
    "duplicate_path": (_ERROR, "a path that two pages have"),
    "redirect_loop": (_ERROR, "a redirect that leads back to itself, or on and on"),
    "page_unreachable": (_ERROR, "a page that a redirect hides; a warning where their sources differ"),
    "test_failed": (_ERROR, "an expectation of tests.yaml that the rules do not meet"),
    "chain": (_WARNING, "a redirect whose target is redirected again"),
    "shadowed": (_WARNING, "a rule that an earlier one hides, because their sources are equal in canonical form"),
    "regex_unreachable": (_WARNING, "a regular expression that can never answer"),
    "regex_raw_character": (_WARNING, "a space or non-ASCII character in a regular expression"),
    "regex_encoding": (
        _WARNING,
        "an encoded character in a regular expression that no path in canonical form contains",
    ),
    "regex_unanchored": (_WARNING, "a regular expression that does not begin with ^"),
    "regex_matches_target": (_WARNING, "a regular expression that can match what it redirects to"),
    "group_before_digit": (_WARNING, "a reference such as $1 that is followed by a digit"),
    "open_redirect": (_WARNING, "a target whose host a visitor can choose or lengthen"),
    "uppercase_host": (_WARNING, "upper case in a host, which is compared in lower case"),
    "port_ignored": (_WARNING, "a port in a source or path; hosts are compared without it"),
    "query_in_source": (
        _WARNING,
        "a source or path with a query string: an exact one has to equal it, a regex never sees it",
    ),
    "fragment_in_source": (_WARNING, "a source or path with a fragment, which is never sent"),
    "xml_malformed": (_WARNING, "a page of the kind XML whose content is not well-formed"),
}


def problem(code: str, message: str, pointer: str = "") -> Problem:
    """Return a problem with the severity of its code."""
    return Problem(code, message, pointer=pointer, severity=CODES[code][0])


# The problems of rules that can never answer a request.
NEVER_ANSWER = frozenset({"shadowed", "regex_unreachable", "page_unreachable", "fragment_in_source"})


def count_never_answering(problems: Iterable[Problem]) -> int:
    """Count the rules that can never answer; one with two such problems counts once."""
    by_place: dict[tuple[str, int], Counter[str]] = {}
    for each in problems:
        if each.code in NEVER_ANSWER:
            by_place.setdefault((each.file, each.line), Counter())[each.code] += 1
    return sum(max(counts.values()) for counts in by_place.values())
