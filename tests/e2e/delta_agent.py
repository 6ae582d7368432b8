"""The agent of the how-to page: holds a project's lists, and follows it by changes."""

from typing import Any

from tests.docs.blocks import blocks
from tests.service import ROOT


def read_agent() -> Any:
    """Return the class of the how-to page's agent."""
    text = (ROOT / "docs" / "how-to" / "add-an-agent.md").read_text("utf-8")
    (snippet,) = (block.text for block in blocks(text) if block.file == "agent.py")
    names: dict[str, Any] = {}
    exec(snippet, names)  # noqa: S102 - a document of the project, which readers run too
    return names["Agent"]
