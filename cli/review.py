"""`waypost review`: what is said of a draft, and by whom."""

from collections.abc import Collection, Mapping, Sequence

import click

import schemas
from api import wire
from api.errors import invalid
from api.identity.service import Services
from api.reviewing import Said, Thread
from api.state.moment import dump_time
from api.state.reviews import Action, DraftKey, Origin, Remark, Topic
from api.topics import KINDS, topic_identities
from cli.exits import WrongUse
from cli.named_draft import must_be_begun
from cli.output import print_json, print_lines, print_notes
from cli.services import opened_services, state_options
from cli.setup import draft_option, json_option, namespace_argument, open_store, operator, project_argument
from content.record import identity_id
from gitstore.authorship import UnderReview
from gitstore.drafts import DraftName
from gitstore.errors import NotFound
from gitstore.store import Store


@click.command("review")
@namespace_argument
@project_argument
@click.option("--request", is_flag=True, help="Ask for a review.")
@click.option("--approve", is_flag=True, help="Approve the draft as it is now.")
@click.option("--reject", is_flag=True, help="Reject the draft as it is now.")
@click.option("--comment", metavar="TEXT", help="Say something of it.")
@click.option("--source", metavar="SOURCE", help="With --comment: on the redirect with this source.")
@click.option("--path", metavar="PATH", help="With --comment: on the page with this path.")
@click.option("--note", default="", metavar="TEXT", help="Why, with --request, --approve or --reject.")
@click.option("--as", "username", metavar="USERNAME", help="Which user says it; needed to say anything.")
@click.option("--head", default="", metavar="SHA", help="Only if the draft stands at this commit.")
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
    """Review a draft, or show what was said of it.

    An approval is of the draft as it is now: any later edit voids it. Where the project says `review: required`, it has
    to be by another user than those who wrote the draft or asked for the review.
    """
    asked = {
        Action.REQUEST: request,
        Action.APPROVE: approve,
        Action.REJECT: reject,
        Action.COMMENT: comment is not None,
    }
    action = _one([each for each, is_asked in asked.items() if is_asked])
    if comment is not None and note:
        raise WrongUse("A comment is its own note: leave --note out, or --comment.")
    if note and not action:
        raise WrongUse("--note says why with --request, --approve or --reject; to say something of its own: --comment.")
    topic = _topic(source, path, is_comment=comment is not None)
    store, name = open_store(data), DraftName(project, draft)
    under_review = store.under_review(namespace, name)
    key = DraftKey(namespace, *name)
    with opened_services(data, database) as services:
        if action:
            said = _said(action, head or _head(under_review, name), note if comment is None else comment, topic)
            _must_be_there(store, namespace, name, topic)
            _say(services, key, under_review, said, username)
        thread = services.reviews().thread(key, under_review)
    if not thread.remarks:
        must_be_begun(store, namespace, name)
    topics = {remark.topic for remark in thread.remarks if remark.topic}
    _print(thread, under_review, topic_identities(store, namespace, name, topics), as_json=as_json)


def _one(actions: Sequence[Action]) -> Action | None:
    if len(actions) > 1:
        raise WrongUse(f"Say one thing at a time: --{actions[0]} or --{actions[1]}.")
    return actions[0] if actions else None


def _head(draft: UnderReview, name: DraftName) -> str:
    if draft.head is None:
        raise NotFound(f"The project {name.project} has no draft {name.draft}; there is nothing to review.")
    return draft.head


def _topic(source: str | None, path: str | None, *, is_comment: bool) -> Topic | None:
    if source is None and path is None:
        return None
    if not is_comment or (source is not None and path is not None):
        raise WrongUse(
            "Give --source or --path, not both, and only with --comment: what is said else is of the whole draft."
        )
    return Topic("redirect", identity_id(source)) if source is not None else Topic("page", identity_id(path or ""))


def _must_be_there(store: Store, namespace: str, name: DraftName, topic: Topic | None) -> None:
    if topic and not store.in_draft(namespace, name, KINDS[topic.kind], topic.id):
        raise NotFound(f"There is no such {topic.kind} in the draft {name.draft}; nothing was recorded.")


def _said(action: Action, head: str, note: str, topic: Topic | None) -> Said:
    """What is said, held to the shape that it has by HTTP."""
    problems = schemas.check("review-action", {"action": action.value, "head": head, "note": note})
    if problems:
        raise invalid("That cannot be said so; the problems tell why.", problems)
    return Said(action, head, note, topic, origin=Origin(operator=operator().name))


def _say(services: Services, key: DraftKey, draft: UnderReview, said: Said, username: str | None) -> None:
    if not username:
        raise WrongUse(f"Tell who says it: add --as USERNAME, a user who may {said.action} drafts of {key.project}.")
    services.reviews().say(services.accounts.principal(username), key, draft, said)
    print_notes(f"Recorded for {username}: {said.action} of {key.draft} at {said.head}.")


def _print(thread: Thread, draft: UnderReview, identities: Mapping[tuple[str, str], str], *, as_json: bool) -> None:
    review = wire.review(thread.review)
    if as_json:
        items = [wire.remark(remark, draft.head, identities) for remark in thread.remarks]
        print_json({"head": draft.head, "review": review, "items": items})
        return
    lapsed = {opinion.remark.id for opinion in thread.review.opinions if opinion.lapsed}
    shown = ((remark, _standing(remark, draft, lapsed)) for remark in thread.remarks)
    print_lines(*(line for remark, standing in shown for line in _lines(remark, standing, identities)))
    need = (
        "The project publishes only what is approved." if thread.review.required else "The project needs no approval."
    )
    print_notes(f"Review: {thread.review.standing}. {need}")


def _standing(remark: Remark, draft: UnderReview, lapsed: Collection[int]) -> str:
    """What has become of it since: later edits, or the reviewer's grant is gone."""
    if remark.head != draft.head:
        return ", before later edits"
    return ", and may not review any more" if remark.id in lapsed else ""


def _lines(remark: Remark, standing: str, identities: Mapping[tuple[str, str], str]) -> list[str]:
    """Who said what when, and of which commit; what they wrote is indented below."""
    person, topic = remark.person, remark.topic
    on = f" on {topic.kind} {identities.get(topic, topic.id)}" if topic else ""
    first = f"{dump_time(remark.at)}  {remark.action}{on}  {person.display_name} ({person.name})  {remark.head[:10]}{standing}"
    return [first, *(f"    {line}" for line in remark.note.splitlines())]
