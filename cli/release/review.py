"""`waypost review`: review a draft, and show its reviews."""

from collections.abc import Collection, Mapping, Sequence

import click

import schemas
from api.app.services import Services
from api.db.namespaces.reviews import Action, DraftKey, Origin, Remark, Topic
from api.db.timestamps import dump_time
from api.errors import invalid
from api.reviews import review_json
from api.reviews.review_json import KINDS, topic_identities
from api.reviews.reviewing import ReviewStatement, ReviewThread
from cli.console.exits import InvalidUsage
from cli.console.leaked_tokens import refuse_words
from cli.console.named_draft import require_draft
from cli.console.output import print_json, print_lines, print_notes
from cli.console.services import open_existing_services, state_options
from cli.console.setup import draft_option, json_option, namespace_argument, open_store, operator, project_argument
from content.records.record import identity_id
from gitstore.drafts.drafts import DraftName
from gitstore.errors import NotFound
from gitstore.publish.authorship import ReviewSubject
from gitstore.store.store import Store


@click.command("review")
@namespace_argument
@project_argument
@click.option("--request", is_flag=True, help="Ask for a review.")
@click.option("--approve", is_flag=True, help="Approve the draft as it is now.")
@click.option("--reject", is_flag=True, help="Reject the draft as it is now.")
@click.option("--comment", metavar="TEXT", help="Comment on the draft.")
@click.option("--source", metavar="SOURCE", help="With --comment: the redirect with this source.")
@click.option("--path", metavar="PATH", help="With --comment: the page with this path.")
@click.option("--note", default="", metavar="TEXT", help="The reason, with --request, --approve or --reject.")
@click.option("--as", "username", metavar="USERNAME", help="Act as this user; required with any action.")
@click.option("--head", default="", metavar="SHA", help="Only if the draft is at this commit.")
@draft_option
@json_option
@state_options
def command(  # noqa: PLR0913 - one parameter an option
    namespace: str,
    project: str,
    *,
    request: bool,
    approve: bool,
    reject: bool,
    comment: str | None,
    source: str | None,
    path: str | None,
    note: str,
    username: str | None,
    head: str,
    draft: str,
    as_json: bool,
    data: str | None,
    database: str | None,
) -> None:
    """Review a draft, or show its reviews.

    An approval covers the draft as it is now; any later edit voids it. If the project has `review: required`, the
    approval must come from a user who neither wrote the draft nor requested the review.
    """
    requested = {
        Action.REQUEST: request,
        Action.APPROVE: approve,
        Action.REJECT: reject,
        Action.COMMENT: comment is not None,
    }
    action = _single_action([each for each, is_asked in requested.items() if is_asked])
    if comment is not None and note:
        raise InvalidUsage("Give --note or --comment, not both.")
    if note and not action:
        raise InvalidUsage("--note needs --request, --approve or --reject. For a remark alone, use --comment.")
    topic = _topic(source, path, is_comment=comment is not None)
    refuse_words(data, database, note=note, comment=comment)
    store, name = open_store(data), DraftName(project, draft)
    under_review = store.drafts.review_subject(namespace, name)
    key = DraftKey(namespace, *name)
    with open_existing_services(data, database) as services:
        if action:
            remark_input = _build_remark(
                action, head or _head(under_review, name), note if comment is None else comment, topic
            )
            _require_rule(store, namespace, name, topic)
            _record(services, key, under_review, remark_input, username)
        thread = services.reviews().thread(key, under_review)
    if not thread.remarks:
        require_draft(store, namespace, name)
    topics = {remark.topic for remark in thread.remarks if remark.topic}
    _print(thread, under_review, topic_identities(store, namespace, name, topics), as_json=as_json)


def _single_action(actions: Sequence[Action]) -> Action | None:
    if len(actions) > 1:
        raise InvalidUsage(f"Give one action, not both --{actions[0]} and --{actions[1]}.")
    return actions[0] if actions else None


def _head(draft: ReviewSubject, name: DraftName) -> str:
    if draft.head is None:
        raise NotFound(f"The project {name.project} has no draft {name.draft} to review.")
    return draft.head


def _topic(source: str | None, path: str | None, *, is_comment: bool) -> Topic | None:
    if source is None and path is None:
        return None
    if not is_comment or (source is not None and path is not None):
        raise InvalidUsage(
            "Give --source or --path, not both, and only with --comment; other actions are on the whole draft."
        )
    return Topic("redirect", identity_id(source)) if source is not None else Topic("page", identity_id(path or ""))


def _require_rule(store: Store, namespace: str, name: DraftName, topic: Topic | None) -> None:
    if topic and not store.drafts.has_record(namespace, name, KINDS[topic.kind], topic.id):
        raise NotFound(f"The draft {name.draft} has no such {topic.kind}; nothing was recorded.")


def _build_remark(action: Action, head: str, note: str, topic: Topic | None) -> ReviewStatement:
    """Build the statement, validated as over HTTP."""
    problems = schemas.check("review-action", {"action": action.value, "head": head, "note": note})
    if problems:
        raise invalid("Invalid remark; nothing was recorded.", problems)
    return ReviewStatement(action, head, note, topic, origin=Origin(operator=operator().name))


def _record(
    services: Services, key: DraftKey, draft: ReviewSubject, remark_input: ReviewStatement, username: str | None
) -> None:
    if not username:
        raise InvalidUsage(
            f"No user is given; add --as USERNAME, a user who may {remark_input.action} drafts of {key.project}."
        )
    services.reviews().record_statement(services.accounts.principal(username), key, draft, remark_input)
    print_notes(f"Recorded for {username}: {remark_input.action} of {key.draft} at {remark_input.head}.")


def _print(
    thread: ReviewThread, draft: ReviewSubject, identities: Mapping[tuple[str, str], str], *, as_json: bool
) -> None:
    review = review_json.review(thread.review)
    if as_json:
        items = [review_json.remark(remark, draft.head, identities) for remark in thread.remarks]
        print_json({"head": draft.head, "review": review, "items": items})
        return
    lapsed = {opinion.remark.id for opinion in thread.review.opinions if opinion.lapsed}
    shown = ((remark, _remark_status(remark, draft, lapsed)) for remark in thread.remarks)
    print_lines(*(line for remark, status in shown for line in _lines(remark, status, identities)))
    need = "The project requires an approval." if thread.review.required else "The project requires no approval."
    print_notes(f"Review: {thread.review.status}. {need}")


def _remark_status(remark: Remark, draft: ReviewSubject, lapsed: Collection[int]) -> str:
    """Return the remark's status: outdated by later edits, or lapsed since its author may no longer review."""
    if remark.head != draft.head:
        return ", before later edits"
    return ", no longer allowed to review" if remark.id in lapsed else ""


def _lines(remark: Remark, status: str, identities: Mapping[tuple[str, str], str]) -> list[str]:
    """Format a remark: time, action, topic, user and commit in a line, then its text, indented."""
    person, topic = remark.person, remark.topic
    on = f" on {topic.kind} {identities.get(topic, topic.id)}" if topic else ""
    first = f"{dump_time(remark.at)}  {remark.action}{on}  {person.display_name} ({person.name})  {remark.head[:10]}{status}"
    return [first, *(f"    {line}" for line in remark.note.splitlines())]
