"""`waypost match`: what a URL is answered with, and why."""

from collections.abc import Iterator

import click

from api import wire
from cli.exits import ProblemsFound
from cli.named_draft import must_be_begun
from cli.output import print_json, print_lines
from cli.setup import data_option, json_option, namespace_argument, open_store, project_argument
from content.match import Answer, Chain, Match
from content.request import parse_request
from gitstore.drafts import DraftName
from gitstore.states import DRAFT, PUBLISHED


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
@click.option("--draft", default="main", show_default=True, metavar="NAME", help="The draft that --at draft means.")
@json_option
@data_option
def command(namespace: str, project: str, url: str, at: str, draft: str, *, as_json: bool, data: str | None) -> None:
    """Say what a URL is answered with, and why.

    Prints the rule of PROJECT, its file and line, what else matches and why it lost, and where it leads. URL is a path such as /old?a=b, or begins with http:// or https:// where the host matters. Exits with 1 where
    nothing matches.
    """
    try:
        request = parse_request(url)
    except ValueError as ex:
        raise click.BadParameter(str(ex), param_hint="URL") from ex
    store = open_store(data)
    if at == DRAFT:
        must_be_begun(store, namespace, DraftName(project, draft))
    matcher = store.matcher(namespace, project, at, draft)
    answer, chain = matcher.answer(request), matcher.follow(request)
    if as_json:
        print_json(wire.answer(url, answer, chain))
    else:
        print_lines(*_lines(answer, chain))
    if answer.winner is None:
        raise ProblemsFound


def _lines(answer: Answer, chain: Chain) -> Iterator[str]:
    if answer.winner is None:
        yield "nothing matches"
        return
    yield _line(answer.winner)
    yield from (f"  not {_line(candidate.match)}: {candidate.why}" for candidate in answer.candidates)
    yield from (f"  then {_line(hop.match)}" for hop in chain.hops[1:])
    if chain.endless:
        yield "  and round again, for ever" if chain.loops else "  and on, further than clients follow"


def _line(match: Match) -> str:
    rule = match.rule
    leads = f"{match.status} {match.location}" if match.redirect else f"{match.status} page"
    return f"{leads}  {rule.record.type} {rule.record.identity}  {rule.file}:{rule.line}"
