"""The risks of a change for visitors, the highest first."""

from enum import StrEnum

from content.changes.diff import Change, ChangeType
from content.changes.impact import ChangedResponse, Effect, RuleResponse
from content.matching.url import split_url
from content.records.problem import Severity
from content.records.problem_codes import NEVER_ANSWER
from content.records.record import Redirect

_PERMANENT = frozenset({301, 308})


class Risk(StrEnum):
    """A risk in words; the order is that of the dangers."""

    ERROR = "error"
    LOST = "no answer any more"
    HOST = "leads to another host"
    NEW_HOST = "answers now, from another host"
    NEVER = "never answers"
    PATTERN = "regular expression"
    PERMANENT = "permanent now"
    CHAIN = "chain"
    CHANGED = "another answer"
    ADDED = "answers now"


def response_risk(response: ChangedResponse) -> Risk:
    """Return the risk of another answer. Browsers keep a permanent redirect, so it cannot be taken back."""
    before, after = response.before, response.after
    if after is None:
        return Risk.LOST
    leaves = _host(after) not in {None, response.request.host}
    if before is None:
        return Risk.NEW_HOST if leaves else Risk.ADDED
    if leaves and _host(after) != _host(before):
        return Risk.HOST
    if after.status in _PERMANENT and before.status not in _PERMANENT:
        return Risk.PERMANENT
    return Risk.CHANGED


def effect_risk(effect: Effect) -> Risk:
    """Return the risk of a problem that a rule has among the others."""
    if effect.problem.severity is Severity.ERROR:
        return Risk.ERROR
    return Risk.NEVER if effect.problem.code in NEVER_ANSWER else Risk.CHAIN


def is_pattern_risk(change: Change) -> bool:
    """Tell whether a change is of a regular expression that answered before: its requests are not all known."""
    old, new = change.old, change.new
    if change.change is ChangeType.ADDED or not isinstance(old, Redirect):
        return False
    if isinstance(new, Redirect) and (old.type, old.target, old.status) == (new.type, new.target, new.status):
        return False
    return not old.type.is_exact


def _host(response: RuleResponse) -> str | None:
    authority = split_url(response.location or "").authority
    return authority.lower() if authority else None
