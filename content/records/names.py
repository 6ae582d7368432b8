"""The validation of names that come from outside: namespaces, projects, drafts and agents.

A valid name is safe in a path, a ref and a log line.
"""

import re

NAME_PATTERN = r"[A-Za-z0-9_-]{1,50}"
AGENT_NAME_PATTERN = r"[A-Za-z0-9_-]{1,100}"
DEFAULT_DRAFT = "main"

_NAME = re.compile(NAME_PATTERN)
_AGENT_NAME = re.compile(AGENT_NAME_PATTERN)


def is_name(text: str) -> bool:
    """Return whether the text is a valid name of a namespace, a project or a draft."""
    return _NAME.fullmatch(text) is not None


def is_agent_name(text: str) -> bool:
    """Return whether the text is a valid agent name: letters, digits, underscores and hyphens only."""
    return _AGENT_NAME.fullmatch(text) is not None
