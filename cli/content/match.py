"""`waypost match`: show how a URL resolves, and why."""

import click

from api.http.response import json_views
from cli.console.exits import ProblemsFound
from cli.console.match_lines import match_lines
from cli.console.named_draft import require_draft
from cli.console.output import print_json, print_lines
from cli.console.setup import data_option, json_option, namespace_argument, open_store, project_argument
from content.matching.request import parse_request
from gitstore.drafts.drafts import DraftName
from gitstore.drafts.other_state import find_near
from gitstore.drafts.revisions import DRAFT, PUBLISHED


@click.command("match")
@namespace_argument
@project_argument
@click.argument("url")
@click.option(
    "--at",
    default=PUBLISHED,
    show_default=True,
    metavar="STATE",
    help="published, draft, a version (publish number or SHA), proposal/ID, or a branch.",
)
@click.option("--draft", default="main", show_default=True, metavar="NAME", help="The draft that --at draft refers to.")
@json_option
@data_option
def command(namespace: str, project: str, url: str, at: str, draft: str, *, as_json: bool, data: str | None) -> None:
    """Show how a URL resolves, and why.

    Prints the matching rule of PROJECT with its file and line, the other candidates and why they lost, and the redirect
    chain; if nothing matches, the rules that nearly match. URL is a path such as /old?a=b or //a, or starts with http:// or
    https:// if the host matters. Exits with 1 if nothing matches.
    """
    try:
        request = parse_request(url)
    except ValueError as ex:
        raise click.BadParameter(str(ex), param_hint="URL") from ex
    store = open_store(data)
    if at == DRAFT:
        require_draft(store, namespace, DraftName(project, draft))
    matcher = store.revisions.matcher(namespace, project, at, draft)
    answer, chain = matcher.answer(request), matcher.follow(request)
    near = None
    if answer.winner is None:
        near = find_near(matcher, store.revisions.other_state(namespace, project, at, draft), request)
    if as_json:
        print_json(json_views.answer(url, answer, chain, near))
    else:
        print_lines(*match_lines(answer, chain, near or ()))
    if answer.winner is None:
        raise ProblemsFound
