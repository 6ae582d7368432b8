"""`waypost proposal`: request a review, approve, reject and comment, as a user."""

import click

import schemas
from api.db.namespaces.reviews import Action, DraftKey, Origin
from api.errors import Forbidden, invalid
from api.reviews import review_json
from api.reviews.reviewing import REVIEW_GRANTS, ReviewStatement
from cli.console.exits import InvalidUsage
from cli.console.leaked_tokens import refuse_words
from cli.console.output import print_json, print_notes
from cli.console.services import open_existing_services, state_options
from cli.console.setup import json_option, namespace_argument, open_store, operator
from cli.release.found_proposal import find_proposal, proposal_argument
from gitstore.errors import StaleProposal


def _command(action: Action, about: str) -> click.Command:
    """Return the command of one action; a comment has a text as its argument."""

    def run(  # noqa: PLR0913 - one parameter an option
        namespace: str,
        proposal: str,
        *,
        text: str = "",
        note: str = "",
        project: str | None,
        head: str,
        username: str,
        as_json: bool,
        data: str | None,
        database: str | None,
    ) -> None:
        _record(
            action,
            (namespace, proposal),
            text or note,
            project=project,
            head=head,
            username=username,
            data=data,
            database=database,
            as_json=as_json,
        )

    run.__doc__ = about
    for add in (
        state_options,
        json_option,
        click.option("--as", "username", metavar="USERNAME", required=True, help="Act as this user."),
        click.option("--head", default="", metavar="SHA", help="Only if the proposal is at this commit."),
        click.option("--project", metavar="PROJECT", help="Only in this project; by default in all that the user may."),
        click.argument("text")
        if action is Action.COMMENT
        else click.option("--note", default="", metavar="TEXT", help="The reason."),
        proposal_argument,
        namespace_argument,
    ):
        run = add(run)
    return click.command(action.value)(run)


def _record(  # noqa: PLR0913 - what a remark consists of
    action: Action,
    place: tuple[str, str],
    note: str,
    *,
    project: str | None,
    head: str,
    username: str,
    data: str | None,
    database: str | None,
    as_json: bool,
) -> None:
    refuse_words(data, database, note=note)
    store, (namespace, word) = open_store(data), place
    found = find_proposal(store, namespace, word)
    [report] = store.proposals.reports(namespace, [found])
    if head and head != found.head:
        raise StaleProposal(f"The proposal {found.id} is at {found.head}, not at {head[:40]}; nothing was recorded.")
    problems = schemas.check("review-action", {"action": action.value, "head": found.head or "", "note": note})
    if problems:
        raise invalid("Invalid remark; nothing was recorded.", problems)
    subjects = {
        DraftKey(namespace, each.name, found.review_name): each.review_subject
        for each in report.projects
        if project in {None, each.name}
    }
    if not subjects:
        raise InvalidUsage(f"The proposal {found.branch} does not change {project or 'a project'}.")
    with open_existing_services(data, database) as services:
        principal = services.accounts.principal(username)
        accepted = REVIEW_GRANTS if action in {Action.REQUEST, Action.COMMENT} else REVIEW_GRANTS[:1]
        able = {
            key: subject
            for key, subject in subjects.items()
            if any(principal.can(*each, key.namespace, key.project) for each in accepted)
        }
        if not able:
            needed = " or ".join(":".join(each) for each in accepted)
            where = ", ".join(key.project for key in subjects)
            raise Forbidden(f"The user {username} may not {action} this proposal: that needs {needed} in {where}.")
        statement = ReviewStatement(action, found.head or "", note, None, Origin(operator=operator().name))
        reviews = services.reviews().record_together(principal, able, statement)
    if as_json:
        shown = {key.project: review_json.review(each) for key, each in reviews.items()}
        print_json({"head": found.head, "reviews": shown})
    states = ", ".join(f"{key.project}: {each.status}" for key, each in reviews.items())
    print_notes(f"Recorded for {username}: {action} of {found.branch} at {found.head}. Review: {states}.")


COMMANDS = (
    _command(Action.REQUEST, "Ask for a review of a proposal."),
    _command(Action.APPROVE, "Approve a proposal as it is now."),
    _command(Action.REJECT, "Reject a proposal as it is now, in each project that it changes."),
    _command(Action.COMMENT, "Comment on a proposal."),
)
