"""Text of users in Markdown, as GitHub, GitLab, Gitea and Forgejo render it: shown literally, always as code.

Hosts look for mentions, issue numbers and commits in the rendered text, so that a character reference does not hide
them: `&#64;team` is a mention. They do not look into code.
"""

import re

from content.records.printable import escape_unprintable

_MARKUP = re.compile(r"[^A-Za-z0-9 /.]")
_BACKTICKS = re.compile("`+")
_LEAST_FENCE = 3


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


def as_code_block(text: str) -> str:
    """Format lines of text as a block of code.

    The block is indented by a space, which is not shown: no line of the text begins a line of the Markdown. GitLab looks for
    quick actions such as `/merge` there, and a fence of three backticks would end its search for code earlier than the
    block: https://docs.gitlab.com/user/project/quick_actions/
    """
    fence = "`" * max([_LEAST_FENCE, *(len(run) + 1 for run in _BACKTICKS.findall(text))])
    lines = [fence + "text", *map(escape_unprintable, text.split("\n")), fence]
    return "\n".join(f" {line}" for line in lines)
