"""`waypost match`: show how a URL resolves, and why."""

from collections.abc import Iterator

import click

from api.http.response import json_views
from cli.console.exits import ProblemsFound
from cli.console.named_draft import require_draft
from cli.console.output import print_json, print_lines
from cli.console.setup import data_option, json_option, namespace_argument, open_store, project_argument
from content.matching.match import Chain, Match, MatchResult
from content.matching.request import parse_request
from gitstore.drafts.drafts import DraftName
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
    help="published, draft, a version (publish number or SHA), or a branch.",
)
@click.option("--draft", default="main", show_default=True, metavar="NAME", help="The draft that --at draft refers to.")
@json_option
@data_option
def command(namespace: str, project: str, url: str, at: str, draft: str, *, as_json: bool, data: str | None) -> None:
    """Show how a URL resolves, and why.

    Prints the matching rule of PROJECT with its file and line, the other candidates and why they lost, and the redirect
    chain. URL is a path such as /old?a=b or //a, or starts with http:// or https:// if the host matters. Exits with 1 if
    nothing matches.
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
    if as_json:
        print_json(json_views.answer(url, answer, chain))
    else:
        print_lines(*_lines(answer, chain))
    if answer.winner is None:
        raise ProblemsFound


def _lines(answer: MatchResult, chain: Chain) -> Iterator[str]:
    if answer.winner is None:
        yield "nothing matches"
        return
    yield _line(answer.winner)
    yield from (f"  not {_line(candidate.match)}: {candidate.reason}" for candidate in answer.candidates)
    yield from (f"  then {_line(hop.match)}" for hop in chain.hops[1:])
    if chain.is_endless:
        yield "  then an endless loop" if chain.is_loop else "  then more hops than clients follow"


def _line(match: Match) -> str:
    rule = match.rule
    leads = f"{match.status} {match.location}" if match.redirect else f"{match.status} page"
    return f"{leads}  {rule.record.type} {rule.record.identity}  {rule.file}:{rule.line}"
