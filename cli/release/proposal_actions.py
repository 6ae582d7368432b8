"""`waypost proposal`: create, update, merge and delete."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import click

from api.app.services import Services
from api.auth.permissions.principal import OPERATOR, Principal
from api.db.audit import Actor, AuditEvent
from api.db.namespaces.reviews import DraftKey, Origin
from api.errors import Forbidden
from api.http.guard.proposal_access import merge_scopes, require_choices, write_scope
from api.http.response import proposal_views
from api.reviews.reviewing import Override
from cli.console.audit_notes import note_done, open_and_note_done
from cli.console.authoring import as_option, author_of
from cli.console.exits import InvalidUsage
from cli.console.leaked_tokens import refuse_words
from cli.console.output import count_noun, print_json, print_lines, print_notes
from cli.console.progress import show_status
from cli.console.services import open_existing_services, open_services_of, state_options
from cli.console.setup import (
    confirm,
    data_option,
    draft_option,
    json_option,
    namespace_argument,
    open_store,
    operator,
    project_argument,
    yes_option,
)
from cli.release.found_proposal import find_proposal, proposal_argument
from cli.release.publishing import actor_of
from gitstore.comparison.descriptions import count_text
from gitstore.drafts.drafts import DraftName
from gitstore.errors import Conflicts, NotFound
from gitstore.git.repository import Author
from gitstore.layout import BRANCH_PREFIX, proposal_id
from gitstore.merge.choices import Choice, key_of
from gitstore.proposals.branches import UpdateRequest
from gitstore.proposals.proposal import Proposal, require_intact
from gitstore.proposals.publishing import BESIDE, MergeRequest, MergeResult
from gitstore.proposals.report import ProposalReport
from gitstore.publish.approval import read_reason
from gitstore.pushes.push import Scope
from gitstore.store.store import Store

_Permit = Callable[[Sequence[Choice]], tuple[Scope, Actor | None]]

head_option = click.option("--head", default="", metavar="SHA", help="Only if the proposal is at this commit.")


@click.command("create")
@namespace_argument
@project_argument
@click.argument("branch")
@draft_option
@click.option("--head", default="", metavar="SHA", help="Only if the draft is at this commit.")
@data_option
def create(namespace: str, project: str, branch: str, *, draft: str, head: str, data: str | None) -> None:
    """Make a proposal from a draft: the branch BRANCH at its head. The draft stays.

    Prints the id of the proposal.
    """
    made = open_store(data).proposals.create(namespace, branch, DraftName(project, draft), head)
    print_lines(made.id)
    print_notes(f"Made the branch {made.branch} from the draft {draft} of {project}, at {made.head}.")


@click.command("update")
@namespace_argument
@proposal_argument
@click.option(
    "--take", type=click.Choice(["branch", "release"]), help="Resolve all conflicts: take the values of this side."
)
@head_option
@as_option
@state_options
def update(
    namespace: str,
    proposal: str,
    *,
    take: str | None,
    head: str,
    username: str | None,
    data: str | None,
    database: str | None,
) -> None:
    """Merge release into the branch of a proposal, by rule.

    Prints the new head. Exits with 1, and changes nothing, if there are conflicts and no `--take`.
    """
    store = open_store(data)
    found, author = find_proposal(store, namespace, proposal), author_of(username, data, database)
    permit = partial(_write_scope, namespace, found, username, data, database)
    if take:
        updated, count = _resolve(store, namespace, found, author, head, take, permit)
    else:
        updated, count = store.proposals.update(namespace, UpdateRequest(found.id, author, permit(())[0], head)), 0
    print_lines(require_intact(updated)[1])
    resolved = f"; {count_noun(count, 'conflict')} resolved" if count else ""
    print_notes(f"Merged release into {found.branch}{resolved}.")


def _resolve(
    store: Store, namespace: str, found: Proposal, author: Author, head: str, side: str, permit: _Permit
) -> tuple[Proposal, int]:
    """Update with a choice of the side for each conflict; return the proposal then, and their number.

    Some conflicts only come up when others are resolved, so the choices grow until none comes up.
    """
    [report] = store.proposals.reports(namespace, [found])
    choices = [_choice(each, side) for each in _conflicts(report)]
    seen = head or found.head or "", found.release
    while True:
        scope, _ = permit(choices)
        try:
            updated = store.proposals.update(namespace, UpdateRequest(found.id, author, scope, *seen, tuple(choices)))
        except Conflicts as ex:
            further = [each for each in (_choice(each, side) for each in ex.conflicts) if each not in choices]
            if not further:
                raise
            choices += further
        else:
            return updated, len(choices)


def _conflicts(report: ProposalReport) -> Iterator[Mapping[str, Any]]:
    yield from report.conflicts
    for project in report.projects:
        yield from project.conflicts


def _choice(conflict: Mapping[str, Any], side: str) -> Choice:
    taken = "draft" if side == "branch" else side
    return Choice(*key_of(conflict), taken, project=conflict.get("project", ""))


@click.command("delete")
@namespace_argument
@proposal_argument
@head_option
@yes_option
@as_option
@state_options
def delete(
    namespace: str,
    proposal: str,
    *,
    head: str,
    yes: bool,
    username: str | None,
    data: str | None,
    database: str | None,
) -> None:
    """Remove the branch of a proposal."""
    store = open_store(data)
    found = find_proposal(store, namespace, proposal)
    scope, actor = _write_scope(namespace, found, username, data, database)
    confirm(f"Remove the branch {found.branch} of {namespace}, at {found.head}?", yes=yes)
    store.proposals.delete(namespace, found.id, scope, head or found.head or "")
    opening, removed = partial(open_services_of, data, database), {"branch": found.branch, "head": found.head}
    open_and_note_done(opening, AuditEvent.PROPOSAL_DELETED, namespace, "", "", actor=actor, removed=removed)
    print_notes(f"Removed the branch {found.branch}, which was at {found.head}.")


@click.command("merge")
@namespace_argument
@proposal_argument
@click.option("--message", "-m", default="", metavar="TEXT", help="The reason; by default that of the newest commit.")
@head_option
@click.option("--override", default=None, metavar="REASON", help="Merge without the approvals that projects require.")
@json_option
@as_option
@state_options
def merge(  # noqa: PLR0913 - one parameter an option
    namespace: str,
    proposal: str,
    *,
    message: str,
    head: str,
    override: str | None,
    as_json: bool,
    username: str | None,
    data: str | None,
    database: str | None,
) -> None:
    """Publish all projects of a proposal, as one commit.

    Prints the new version, and removes the branch. Exits with 1, and publishes nothing, if one of the projects is invalid, conflicts with release,
    or lacks the approval that it requires.
    """
    reason = read_reason(override or "")
    if override is not None and not reason:
        raise InvalidUsage("The REASON of --override has no letter or digit; nothing was published. Give the reason.")
    refuse_words(data, database, message=message, override=override)
    store, author = open_store(data), author_of(username, data, database)
    found, known = _find_or_repeat(store, namespace, proposal, head)
    projects = found.projects if found else tuple(store.releases.namespace(namespace).projects)
    with open_existing_services(data, database) as services, show_status(f"Merging {proposal}"):
        publisher = services.accounts.principal(username) if username else OPERATOR
        request = MergeRequest(known, author, merge_scopes(publisher, namespace, projects), head, message, reason)
        merged = _merge(services, store, namespace, found, request, publisher)
        note_done(services, AuditEvent.MERGE_REQUESTED, namespace, merged.commit, actor=actor_of(publisher))
    if as_json:
        print_json(proposal_views.merged(merged))
    else:
        print_lines(merged.commit)
    print_notes(*_notes(merged))


def _find_or_repeat(store: Store, namespace: str, word: str, head: str) -> tuple[Proposal | None, str]:
    """Return the proposal and its id; a proposal that is gone, only its id, for a repeated merge of its head."""
    try:
        found = find_proposal(store, namespace, word)
    except NotFound:
        if not head:
            raise
        is_id = len(word) == 16 and not set(word) - set("0123456789abcdef")  # noqa: PLR2004 - digits of an id
        return None, word if is_id else proposal_id(f"{BRANCH_PREFIX}{word}")
    return found, found.id


def _merge(
    services: Services,
    store: Store,
    namespace: str,
    found: Proposal | None,
    request: MergeRequest,
    publisher: Principal,
) -> MergeResult:
    """Merge with the verdicts, read while the lock is held; records an override before and after."""
    reviews, name = services.reviews(), f"proposal/{request.id}"
    verdicts = partial(reviews.project_verdicts, namespace, name)
    if found is None or not request.override:
        return store.proposals.merge(namespace, request, verdicts)
    missing = [project for project in found.projects if not request.scopes.override.covers(project)]
    if missing:
        raise Forbidden(f"The user {publisher.name} does not hold project:override in {', '.join(missing)}.")
    for project in found.projects or BESIDE:
        reviews.ask_override(_override(publisher, namespace, project, found, request))
    merged = store.proposals.merge(namespace, request, verdicts)
    for project, number in merged.numbers.items():
        reviews.note_override(_override(publisher, namespace, project, found, request), merged.commit, number)
    return merged


def _override(publisher: Principal, namespace: str, project: str, found: Proposal, request: MergeRequest) -> Override:
    """Build the override for the audit trail, which records the operator too."""
    key, name = DraftKey(namespace, project, found.review_name), operator().name[:100]
    origin = Origin() if publisher == OPERATOR else Origin(operator=name)
    return Override(actor_of(publisher), key, request.override, found.head, origin)


def _notes(merged: MergeResult) -> Sequence[str]:
    if not merged.projects:
        return ("Published files beside the projects; no project has a new version.",)
    return [
        f"Publish {each.number} of {project}: {count_text(each.counts)}."
        for project, each in sorted(merged.projects.items())
    ]


def _write_scope(
    namespace: str,
    found: Proposal,
    username: str | None,
    data: str | None,
    database: str | None,
    choices: Sequence[Choice] = (),
) -> tuple[Scope, Actor | None]:
    """Return the scope of a user, and the user as actor; of the operator, everything and None.

    Raises Forbidden for a user who may not write what is chosen.
    """
    if username is None:
        return Scope(everywhere=True), None
    with open_existing_services(data, database) as services:
        user = services.accounts.principal(username)
        require_choices(user, namespace, choices)
        return write_scope(user, namespace, found.projects), user.actor()


COMMANDS = (create, update, merge, delete)
