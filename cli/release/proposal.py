"""`waypost proposal`: review the branches that people push, and merge them into release."""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from api.http.response import json_views
from api.reviews.review import ReviewStatus
from cli.console.conflict_lines import conflict_lines
from cli.console.exits import InvalidUsage, ProblemsFound
from cli.console.match_lines import match_lines
from cli.console.output import count_noun, print_json, print_lines, print_notes, print_rows
from cli.console.services import open_existing_services, state_options
from cli.console.setup import data_option, json_option, namespace_argument, open_store
from cli.release import proposal_actions, proposal_reviews
from cli.release.found_proposal import find_proposal, proposal_argument, read_threads, reports_as_json, stale_before
from cli.release.remark_lines import remark_lines
from content.changes.diff import count
from content.matching.near_misses import find_near_misses
from content.matching.request import parse_request
from content.records.printable import escape_unprintable
from content.records.problem import Severity
from content.records.vocabulary import Kind
from gitstore.comparison.change_lines import file_lines, text_lines
from gitstore.comparison.descriptions import change_text
from gitstore.comparison.impact_view import view_impact
from gitstore.drafts.revisions import BASE
from gitstore.layout import PROPOSAL_PREFIX
from gitstore.proposals.proposal import Proposal
from gitstore.pushes.answer import impact_lines
from gitstore.store.store import Store


@click.group("proposal")
def command() -> None:
    """Review pushed branches, and merge them into release.

    A proposal is any branch other than release and the drafts. PROPOSAL is its id, or the name of the branch.
    """


for _action in (*proposal_actions.COMMANDS, *proposal_reviews.COMMANDS):
    command.add_command(_action)


@command.command("list")
@namespace_argument
@click.option("--project", metavar="PROJECT", help="Only those that change this project.")
@json_option
@state_options
def list_(namespace: str, *, project: str | None, as_json: bool, data: str | None, database: str | None) -> None:
    """List the proposals, the newest first."""
    store = open_store(data)
    found = [each for each in store.proposals.all(namespace) if project is None or project in each.projects]
    reports = store.proposals.reports(namespace, found)
    with open_existing_services(data, database) as services:
        shown = reports_as_json(services.reviews(), store, namespace, reports, stale_before(data), is_detail=False)
    if as_json:
        print_json(shown)
        return
    print_rows(("ID", "BRANCH", "STATE", "REVIEW", "PROJECTS", "AUTHOR", "UPDATED", "TITLE"), map(_row, shown))


def _row(shown: Mapping[str, Any]) -> Sequence[object]:
    states = dict.fromkeys(_review_word(each["review"]) for each in shown["projects"])
    projects = ",".join(each["name"] for each in shown["projects"])
    fields = (shown["author"] or "-", shown["updatedAt"], shown["title"])
    return (shown["id"], shown["branch"], shown["state"], ",".join(states) or "-", projects or "-", *fields)


def _review_word(review: Mapping[str, Any] | None) -> str:
    """Return the state of a review; `required` where the project requires one and nothing happened yet."""
    if review is None:
        return "unknown"
    return "required" if review["required"] and review["state"] == ReviewStatus.NONE else str(review["state"])


@command.command("show")
@namespace_argument
@proposal_argument
@json_option
@state_options
def show(namespace: str, proposal: str, *, as_json: bool, data: str | None, database: str | None) -> None:
    """Show a proposal.

    It has the state, the changes, problems, conflicts and review in each project, and the remarks on it.
    """
    store = open_store(data)
    reports = store.proposals.reports(namespace, [find_proposal(store, namespace, proposal)])
    with open_existing_services(data, database) as services:
        [shown] = reports_as_json(services.reviews(), store, namespace, reports, stale_before(data), is_detail=True)
        threads = read_threads(services.reviews(), namespace, reports[0])
    if as_json:
        print_json(shown)
        return
    print_lines(*_lines(shown), *remark_lines(threads, reports[0]))
    conflicts = [*shown["conflicts"], *(each for project in shown["projects"] for each in project["conflicts"])]
    print_notes(*(line for each in conflicts for line in conflict_lines(each, "branch")))
    print_notes(*(problem.text() for project in reports[0].projects for problem in project.problems))
    print_notes(f"State: {shown['state']}.{' ' if shown['fault'] else ''}{shown['fault']}")


def _lines(shown: Mapping[str, Any]) -> list[str]:
    first = [f"{shown['title']}", f"{shown['branch']}  {shown['id']}  {shown['head']}  {shown['author'] or '-'}"]
    if source := shown["upstream"]:
        pull = f" (pull request {source['pullRequest']})" if source["pullRequest"] else ""
        first.append(f"follows {escape_unprintable(source['branch'])}{pull} of the upstream, at {source['commit']}")
    for project in shown["projects"]:
        review = _review_word(project["review"])
        first.append(f"{project['name']}: {_count_text(project['changes'])}; review: {review}")
        first += [f"    {each['file']} {each['change']}" for each in project["files"]]
    return [*first, *(f"{each['file']} {each['change']}" for each in shown["files"])]


def _count_text(changes: Mapping[str, Mapping[str, int]] | None) -> str:
    if changes is None:
        return "cannot be read"
    counts = ", ".join(
        f"{number} {kind.removesuffix('s') if number == 1 else kind} {change}"
        for kind, numbers in changes.items()
        for change, number in numbers.items()
        if number
    )
    return counts or "no rule changed"


@command.command("diff")
@namespace_argument
@proposal_argument
@click.option("--project", metavar="PROJECT", help="Only this project.")
@json_option
@data_option
def diff(namespace: str, proposal: str, *, project: str | None, as_json: bool, data: str | None) -> None:
    """Show the changes of a proposal, rule by rule, and their impact.

    They are those since it left release, in each project.
    """
    store = open_store(data)
    found = find_proposal(store, namespace, proposal)
    shown = {}
    for name in _chosen(found, project):
        changes, files, impact = store.revisions.difference(namespace, name, BASE, _state(found), finds_impact=True)
        totals = {kind: count(of_kind) for kind, of_kind in changes.items()}
        whole = {"files": json_views.files(files), "changes": json_views.changes(changes)}
        shown[name] = {
            "counts": json_views.counts(totals),
            **whole,
            "impact": json_views.impact(view_impact(impact, list(Kind))),
        }
        if not as_json:
            print_notes(f"{name}: {change_text(totals, files)}")
            print_lines(*file_lines(files), *text_lines([each for kind in Kind for each in changes[kind]]))
            print_lines(*map(escape_unprintable, impact_lines(impact)))
    if as_json:
        print_json(shown)


@command.command("test")
@namespace_argument
@proposal_argument
@click.option("--url", "urls", multiple=True, metavar="URL", help="Show how this URL resolves (repeatable).")
@click.option("--project", metavar="PROJECT", help="Only this project.")
@json_option
@data_option
def test(
    namespace: str, proposal: str, *, urls: tuple[str, ...], project: str | None, as_json: bool, data: str | None
) -> None:
    """Run the checks and tests of a proposal, or resolve URLs.

    Exits with 1 if there is an error, or if a URL has no match in any project.
    """
    store = open_store(data)
    found = find_proposal(store, namespace, proposal)
    names = _chosen(found, project)
    is_clean = (
        _resolve(store, namespace, found, names, urls, as_json=as_json)
        if urls
        else _check(store, namespace, found, names, as_json=as_json)
    )
    if not is_clean:
        raise ProblemsFound


def _check(store: Store, namespace: str, found: Proposal, names: Sequence[str], *, as_json: bool) -> bool:
    problems = [each for name in names for each in store.revisions.lint(namespace, name, _state(found))]
    if as_json:
        print_json([problem.wire() for problem in problems])
    else:
        print_lines(*(problem.text() for problem in problems))
    errors = sum(problem.severity is Severity.ERROR for problem in problems)
    counts = f"{count_noun(errors, 'error')}, {count_noun(len(problems) - errors, 'warning')}"
    print_notes(f"{', '.join(names) or 'No project'}: {counts}.")
    return not errors


def _resolve(
    store: Store, namespace: str, found: Proposal, names: Sequence[str], urls: Sequence[str], *, as_json: bool
) -> bool:
    answers, is_found = [], dict.fromkeys(urls, False)
    for name in names:
        matcher = store.revisions.matcher(namespace, name, _state(found))
        for url in urls:
            try:
                request = parse_request(url)
            except ValueError as ex:
                raise click.BadParameter(str(ex), param_hint="--url") from ex
            answer, chain = matcher.answer(request), matcher.follow(request)
            is_found[url] = is_found[url] or answer.winner is not None
            near = None if answer.winner else find_near_misses(matcher, request)
            answers.append({"project": name, **json_views.answer(url, answer, chain, near)})
            if not as_json:
                print_lines(f"{name} {url}", *(f"  {line}" for line in match_lines(answer, chain, near or ())))
    if as_json:
        print_json(answers)
    return all(is_found.values())


def _chosen(found: Proposal, project: str | None) -> Sequence[str]:
    if project is None:
        return found.projects
    if project not in found.projects:
        raise InvalidUsage(f"The proposal {found.branch} does not change the project {project}.")
    return (project,)


def _state(found: Proposal) -> str:
    return f"{PROPOSAL_PREFIX}{found.id}"
