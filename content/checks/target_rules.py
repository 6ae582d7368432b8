"""Checks of a redirect's target by itself."""

import re

from content.matching.canonical import canonical_host
from content.matching.pattern_shape import group_begins_with_slash
from content.matching.template import Template, split_template
from content.matching.url import WEB_SCHEMES, Url, split_url
from content.records.problem import Problem
from content.records.problem_codes import problem
from content.records.record import Redirect

_REFERENCE = re.compile(r"\$([1-9])")
_POINTER = "/target"


def target_problems(record: Redirect, groups: int | None) -> list[Problem]:
    """Return the problems of the target; `groups` is the number of groups of a regex source, None without one."""
    target, is_exact = record.target, record.type.is_exact
    url = split_url(target) if is_exact else split_template(target)
    found = _character_problems(target)
    found += _shape_problems(url, has_host=record.type.has_host, is_exact=is_exact)
    if not is_exact:
        found += _reference_problems(target, groups)
        found += _open_redirect_problems(record, url)
    return found


def _character_problems(target: str) -> list[Problem]:
    found = [each for each in ((" ", "a space", "%20"), ("\\", "a backslash", "%5C")) if each[0] in target]
    if not found:
        return []
    names, codes = (" or ".join(each[1] for each in found), ", ".join(each[2] for each in found))
    message = f"a target cannot hold {names}; percent-encode it ({codes})"
    return [problem("target_character", message, _POINTER)]


def _shape_problems(url: Url, *, has_host: bool, is_exact: bool) -> list[Problem]:
    if url.scheme and url.scheme not in WEB_SCHEMES:
        return [problem("bad_scheme", f"a target's scheme is http or https, not {url.scheme[:40]}", _POINTER)]
    if url.scheme:
        return _authority_problems(url.authority, is_exact=is_exact)
    if has_host:
        message = "the target of a host type needs a scheme and a full domain, such as https://www.example.com/path"
        return [problem("missing_scheme", message, _POINTER)]
    if url.is_path or (not is_exact and _REFERENCE.match(url.rest)):
        return []
    return [problem("bad_target", 'a target begins with one "/", or with http:// or https:// and a host', _POINTER)]


def _authority_problems(authority: str | None, *, is_exact: bool) -> list[Problem]:
    if authority is None:
        return [problem("bad_target", 'a target needs "//" and a host after http: or https:', _POINTER)]
    if "@" in authority:
        return [problem("user_info", "a target cannot hold a user name or password before its host", _POINTER)]
    try:
        # a capture may be a part of a host or a port: a digit is valid in both
        canonical_host(authority if is_exact else _REFERENCE.sub("1", authority))
    except ValueError as ex:
        return [problem("bad_host", f"the host of the target is invalid: {ex}", _POINTER)]
    return []


def _reference_problems(target: str, groups: int | None) -> list[Problem]:
    found = []
    highest = Template.parse(target).highest_group
    if groups is not None and highest > groups:
        message = f"${highest} has no group: the regular expression captures {groups}"
        found.append(problem("unknown_group", message, _POINTER))
    if digits := re.search(r"\$([1-9])([0-9])", target):
        message = f"{digits[0]} is read as ${digits[1]} followed by {digits[2]}"
        found.append(problem("group_before_digit", message, _POINTER))
    return found


def _open_redirect_problems(record: Redirect, url: Url) -> list[Problem]:
    message = ""
    if url.authority is not None and _REFERENCE.search(url.authority):
        message = (
            "a capture in the host lets a visitor choose the host, or put a user name before it that looks like a host; "
            "write the host in full"
        )
    elif (reference := _REFERENCE.match(url.rest)) and not _keeps_host(record, int(reference[1])):
        place, caught = (
            ("follows the host directly", '".evil.example" or "@evil.example"')
            if url.authority
            else ("begins the target", '"//evil.example"')
        )
        message = (
            f'{reference[0]} {place}: with a capture such as {caught}, the target is another host; put "/" before it'
        )
    return [problem("open_redirect", message, _POINTER)] if message else []


def _keeps_host(record: Redirect, group: int) -> bool:
    opens_at_start = group == 1 and record.source.startswith("^(") and not record.source.startswith("^(?")
    return (opens_at_start and not record.type.has_host) or group_begins_with_slash(record.source, group)
