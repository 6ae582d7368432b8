"""Text of users in Markdown, as GitHub, GitLab, Gitea and Forgejo render it: shown literally, always as code.

Hosts look for mentions, issue numbers and commits in the rendered text, so that a character reference does not hide
them: `&#64;team` is a mention. They do not look into code.
"""

import re

from content.records.printable import escape_unprintable

_MARKUP = re.compile(r"[^A-Za-z0-9 /.]")


def as_code(text: str) -> str:
    """Format a text as code in a paragraph or table cell, so that it is shown literally."""
    shown = escape_unprintable(text)
    if shown and "`" not in shown and "|" not in shown and shown.strip() == shown:
        return f"`{shown}`"
    # A | ends the cell even between backticks, so such text is written with character references.
    # https://github.github.com/gfm/#tables-extension-
    return f"<code>{_MARKUP.sub(lambda sign: f'&#{ord(sign[0])};', shown)}</code>"


def as_html_code(text: str) -> str:
    """Format a text as code where Markdown is not read, such as in a `<summary>`."""
    return f"<code>{_MARKUP.sub(lambda sign: f'&#{ord(sign[0])};', escape_unprintable(text))}</code>"
