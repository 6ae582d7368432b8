"""`waypost comment`: the changes as one comment on a pull request, which later runs update."""

import os
import re
from typing import IO

import click

from cli.console.exits import InvalidUsage
from cli.console.output import print_notes

_MARKER = re.compile(r"<!-- waypost-diff: [^\s>]+ -->")
_MOST_CHARACTERS = 65_536  # of a comment on GitHub


@click.command("comment")
@click.argument("file", type=click.File("rb"), default="-")
@click.option(
    "--author", default="", metavar="LOGIN", help="The account of the token, if the host does not name it to the token."
)
def command(file: IO[bytes], author: str) -> None:
    """Comment on the pull request of this CI job.

    The comment is the output of `waypost diff --format markdown`; one of an earlier run is replaced.

    FILE has the comment; without it, it is read from standard input. A comment of an earlier run on the same folder is
    updated. The host and the pull request are those of the job's environment, in GitHub, Gitea, Forgejo or GitLab. The
    token is GITHUB_TOKEN, or WAYPOST_COMMENT_TOKEN, which GitLab needs.
    """
    from cli.content.compare.host_comments import CommentClient, find_pull_request  # noqa: PLC0415 - loads an HTTP client

    text = file.read().decode(errors="replace")
    marker = _MARKER.match(text)
    if marker is None:
        raise InvalidUsage(
            "The text is not a comment of waypost diff: its first line is no marker <!-- waypost-diff: … -->."
        )
    if len(text) > _MOST_CHARACTERS:
        raise InvalidUsage(f"The text has {len(text):,} characters; a comment has at most {_MOST_CHARACTERS:,}.")
    pull_request = find_pull_request(os.environ)
    if pull_request is None:
        print_notes("This job is not for a pull request, so there is nothing to comment on.")
        return
    done = CommentClient(pull_request, author).put(text, marker[0])
    print_notes(f"The comment on {pull_request.name} is {done}.")
