"""Reviewing drafts: who may say what, and what stands after it. All of it blocks: call it in threads.

Where a draft stands in Git is handed in as it was read; whatever is recorded is of that head, and stands only while
the draft does not move on.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from api import logs
from api.errors import Forbidden
from api.identity.principal import Principal, PrincipalKind
from api.review import Review, behind, involved_in, latest_verdicts, review_of
from api.reviewers import VERDICT, lapsed_reviewers
from api.state import audit
from api.state.audit import Actor, Entry, Event, token_makers
from api.state.database import Connection, Database
from api.state.errors import StateBroken, StateBusy
from api.state.moment import Clock, utc_now
from api.state.reviews import Action, DraftKey, Origin, Person, Remark, Topic, add_remark, find_remarks
from gitstore.approval import Verdict
from gitstore.authorship import UnderReview
from gitstore.errors import StaleDraft
from gitstore.repository import Author

VOICES = (VERDICT, ("redirect", "write"), ("page", "write"), ("project", "write"))
"""Who may ask for a review and comment: one of these (resource, action) grants is enough. The first gives verdicts."""


_log = logs.logger("reviews")

_LONGEST_ID = 18
"""Digits; a commit that somebody pushed may name any author."""


class Said(NamedTuple):
    """What a caller says of a draft, and where it came from."""

    action: Action
    head: str
    note: str = ""
    topic: Topic | None = None
    origin: Origin = Origin()


class Override(NamedTuple):
    """Who publishes a draft without its approval, why, and at which head; `origin` is where it came from, if it is known."""

    actor: Actor
    draft: DraftKey
    reason: str
    head: str | None
    origin: Origin = Origin()


class Thread(NamedTuple):
    """All that was said of the commits of a draft, in that order, and where its review stands after it."""

    review: Review
    remarks: Sequence[Remark]


@dataclass(frozen=True, slots=True)
class Reviews:
    """The reviews of all drafts; pickled, they arrive in another process with a database of that process's own."""

    database: Database
    clock: Clock = utc_now

    def say(self, actor: Principal, key: DraftKey, draft: UnderReview, said: Said) -> Review:
        """Record what a caller says of a draft, and give where its review stands now.

        Raises Forbidden (`own_change` for a verdict on one's own change where the project wants a second person's), and
        StaleDraft where the draft is not at the head that it is said of.
        """
        _may(actor, key, said.action)
        _stands_at(draft, key, said.head)
        person = Person(actor.kind.value, actor.id, actor.name, actor.display_name, actor.email)
        remark = Remark(self.clock(), key, said.head, said.action, person, said.note, said.topic)
        with self.database.writing() as connection:
            _must_be_anothers(connection, draft, remark)
            add_remark(connection, remark, said.origin)
            return self._read(connection, key, draft).review

    def thread(self, key: DraftKey, draft: UnderReview) -> Thread:
        """All that was said of a draft."""
        with self.database.reading() as connection:
            return self._read(connection, key, draft)

    def glance(self, key: DraftKey, draft: UnderReview) -> Review | None:
        """Where the review of a draft stands; None while the database is away, for the draft is there all the same."""
        try:
            return self.thread(key, draft).review
        except (StateBusy, StateBroken) as ex:
            _log.warning("reviews_not_read", exc_info=ex)
            return None

    def verdicts(self, key: DraftKey, draft: UnderReview) -> tuple[Verdict, ...]:
        """The verdicts on a draft's head, for a publish to be held to: it asks for them under the repository's lock.

        While the database is away there are none, so that what needs no approval can be published; raises for the rest.
        """
        review = self.thread(key, draft).review if draft.is_required else self.glance(key, draft)
        return tuple(
            Verdict(
                draft.head,
                Author(opinion.remark.person.display_name, opinion.remark.person.email),
                opinion.approves,
                opinion.independent,
                opinion.lapsed,
            )
            for opinion in (review.opinions if review else ())
            if draft.head
        )

    def ask_override(self, override: Override) -> None:
        """Put into the audit trail, before it is tried, that somebody publishes without an approval."""
        self._record(override, Event.OVERRIDE_ASKED, {})

    def note_override(self, override: Override, version: str, number: int) -> None:
        """Put into the audit trail what was published without an approval."""
        self._record(override, Event.APPROVAL_OVERRIDDEN, {"version": version, "publishNumber": number})

    def _read(self, connection: Connection, key: DraftKey, draft: UnderReview) -> Thread:
        remarks = find_remarks(connection, key, draft.commits)
        reviewers = {each.person for each in latest_verdicts(draft, remarks)}
        lapsed = lapsed_reviewers(connection, key, reviewers, self.clock())
        return Thread(review_of(draft, remarks, _makers(connection, _addresses(draft, remarks)), lapsed), remarks)

    def _record(self, override: Override, event: Event, became: dict[str, object]) -> None:
        actor, key, reason, head, origin = override
        detail = {"reason": reason, "head": head, **became} | ({"operator": origin.operator} if origin.operator else {})
        entry = Entry(self.clock(), event, actor, key.draft, detail, key.namespace, key.project, origin.address)
        with self.database.writing() as connection:
            audit.record(connection, entry)


def _addresses(draft: UnderReview, remarks: Sequence[Remark]) -> set[str]:
    return {author.email for author in draft.authors} | {remark.person.email for remark in remarks}


def _makers(connection: Connection, addresses: Collection[str]) -> dict[str, list[str]]:
    """The addresses of those who made or rotated a token, by the token's own."""
    found = (_number(address) for address in addresses)
    made = token_makers(connection, [number for number in found if number is not None])
    return {
        _address(PrincipalKind.TOKEN, token): [_address(PrincipalKind.USER, maker) for maker in makers]
        for token, makers in made.items()
    }


def _address(kind: PrincipalKind, number: int) -> str:
    return Principal(kind, number, "", "", ()).email


def _number(address: str) -> int | None:
    """The id of the API token that an address is of, if it is one's."""
    digits = address.removeprefix("token-").partition("@")[0]
    known = digits.isascii() and digits.isdecimal() and len(digits) <= _LONGEST_ID
    return int(digits) if known and address == _address(PrincipalKind.TOKEN, int(digits)) else None


def _may(actor: Principal, key: DraftKey, action: Action) -> None:
    wanted = VOICES if action in {Action.REQUEST, Action.COMMENT} else VOICES[:1]
    if not any(actor.may(*each, key.namespace, key.project) for each in wanted):
        raise Forbidden(f"To {action} a draft needs {' or '.join(':'.join(each) for each in wanted)}.")


def _stands_at(draft: UnderReview, key: DraftKey, head: str) -> None:
    if head != draft.head:
        where = f"stands at {draft.head}" if draft.head else "is not there"
        raise StaleDraft(f"The draft {key.draft} {where}, and you mean {head}. Look at it again, then decide.")


def _must_be_anothers(connection: Connection, draft: UnderReview, remark: Remark) -> None:
    """Nobody judges what they wrote, or asked to be judged, where the project wants a second person."""
    if not draft.is_required or remark.action not in {Action.APPROVE, Action.REJECT}:
        return
    remarks = find_remarks(connection, remark.draft, draft.commits)
    makers = _makers(connection, _addresses(draft, remarks) | {remark.person.email})
    if not involved_in(draft, remarks, makers).isdisjoint(behind(remark.person.email, makers)):
        raise Forbidden(
            "You wrote a part of this draft or asked for its review, yourself or by an API token of yours, "
            "and this project wants somebody else to judge it.",
            "own_change",
        )
