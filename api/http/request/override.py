"""The reason of an override in a request: it is in the audit trail, so it must say something."""

from api.errors import invalid
from content.records.problem import Problem
from gitstore.publish.approval import read_reason


def read_override(text: str) -> str:
    """Return the reason of an override; raises 422 for a text without a letter or digit."""
    reason = read_reason(text)
    if not reason:
        message = "The override's reason has no letter or digit; nothing was published. Give the reason."
        raise invalid(message, [Problem("too_short", message, pointer="/override")])
    return reason
