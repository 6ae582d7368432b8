"""Reviews of drafts: remarks, their permission checks, and overrides. All calls block: run them in threads.

Callers pass the draft as read from Git; a remark applies to that head, and a verdict counts only until the head moves.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from api import logs
from api.auth.permissions.principal import Principal, PrincipalKind
from api.db import audit
from api.db.audit import OPERATOR_NAME, Actor, AuditEntry, AuditEvent, find_token_owners
from api.db.audit_accounts import Account, load_account
from api.db.database import Connection, Database
from api.db.errors import StateBroken, StateBusy
from api.db.namespaces.pushed_commits import add_pushed, find_pushers
from api.db.namespaces.reviews import (
    Action,
    DraftKey,
    Origin,
    Person,
    Remark,
    Topic,
    add_remark,
    find_last_remarks,
    find_last_steps,
    find_remarks,
)
from api.db.namespaces.upstreams import find_upstream
from api.db.timestamps import Clock, utc_now
from api.errors import Forbidden
from api.reviews.review import (
    Review,
    find_involved,
    latest_verdicts,
    select_thread,
    summarize_review,
    with_token_owners,
)
from api.reviews.reviewers import VERDICT_GRANT, find_caller, find_owners, lapsed_reviewers, person_of
from gitstore.drafts.drafts import stale_head
from gitstore.errors import StaleDraft, StoreError
from gitstore.git.repository import Author
from gitstore.layout import PROPOSAL_PREFIX, CommitId
from gitstore.publish.approval import Verdict
from gitstore.publish.authorship import ReviewSubject
from gitstore.pushes.push import PushedHead

# A review request or a comment needs one of these (resource, action) grants. A verdict needs the first.
REVIEW_GRANTS = (VERDICT_GRANT, ("redirect", "write"), ("page", "write"), ("project", "write"))

# The (resource, action) grant of those whose turn it is after a request or an approval.
_NEXT_GRANTS = {Action.REQUEST: VERDICT_GRANT, Action.APPROVE: ("project", "publish")}

_MOST_REMARKS = 100  # of a proposal that is gone

_log = logs.logger("reviews")


class ReviewStatement(NamedTuple):
    """A caller's statement on a draft, with its origin."""

    action: Action
    head: str
    note: str = ""
    topic: Topic | None = None
    origin: Origin = Origin()


class Override(NamedTuple):
    """A publish of a draft without its approval: actor, reason and head; `origin` if it is known.

    The project of the draft is empty where only files beside the projects change.
    """

    actor: Actor
    draft: DraftKey
    reason: str
    head: str | None
    origin: Origin = Origin()


class ReviewThread(NamedTuple):
    """The remarks on the commits of a draft, oldest first, and the resulting review."""

    review: Review
    remarks: Sequence[Remark]


@dataclass(frozen=True, slots=True)
class Reviews:
    """The reviews of all drafts; unpickled in another process, they use that process's database."""

    database: Database
    clock: Clock = utc_now

    def record_statement(
        self, actor: Principal, key: DraftKey, draft: ReviewSubject, statement: ReviewStatement
    ) -> Review:
        """Record a caller's statement on a draft, and return its review.

        Raises Forbidden (if the project requires a second person, `own_change` for a verdict on the caller's change, and
        `unknown_pusher` for commits of the upstream's branches), and StaleDraft if the draft is not at the head of the statement.
        """
        _check_grant(actor, key, statement.action)
        _check_head(draft, key, statement.head)
        remark = Remark(
            self.clock(), key, statement.head, statement.action, person_of(actor), statement.note, statement.topic
        )
        with self.database.writing() as connection:
            _check_independent(connection, draft, remark)
            add_remark(connection, remark, statement.origin)
            return self._read(connection, key, draft, actor).review

    def record_together(
        self, actor: Principal, subjects: Mapping[DraftKey, ReviewSubject], statement: ReviewStatement
    ) -> dict[DraftKey, Review]:
        """Record a caller's statement on a proposal in several projects, all or none; return its reviews.

        Raises as `record_statement` does.
        """
        person, at = person_of(actor), self.clock()
        with self.database.writing() as connection:
            for key, subject in subjects.items():
                _check_grant(actor, key, statement.action)
                _check_head(subject, key, statement.head)
                remark = Remark(at, key, statement.head, statement.action, person, statement.note, statement.topic)
                _check_independent(connection, subject, remark)
                add_remark(connection, remark, statement.origin)
            return {key: self._read(connection, key, subject, actor).review for key, subject in subjects.items()}

    def add_push(
        self,
        connection: Connection,
        actor: Principal,
        namespace: str,
        heads: Sequence[PushedHead],
        brought: Collection[CommitId],
    ) -> None:
        """Add who pushes new heads of branches that are reviewed, and the commits that come with them.

        The authors of the commits may be other people, or none that the service knows: the pusher cannot approve either.
        """
        person, now = person_of(actor), self.clock()
        add_pushed(connection, namespace, person.email, brought, now)
        for name, projects, head in heads:
            for key in (DraftKey(namespace, project, name) for project in projects):
                known = find_remarks(connection, namespace, key.project, [head])
                if not any(_is_push(each, key, person) for each in known):
                    add_remark(connection, Remark(now, key, head, Action.PUSH, person))

    def has_grants(self, actor: Principal) -> bool:
        """Tell whether a user or API token is still active, and has all its grants."""
        with self.database.reading() as connection:
            found = find_caller(connection, actor, self.clock())
            return found is not None and set(actor.grants) <= set(found.grants)

    def threads(
        self, subjects: Mapping[DraftKey, ReviewSubject], caller: Principal | None = None
    ) -> dict[DraftKey, ReviewThread]:
        """Return the remarks and the review of each of several subjects, with what the caller may do."""
        with self.database.reading() as connection:
            return {key: self._read(connection, key, subject, caller) for key, subject in subjects.items()}

    def find_reviews(
        self, subjects: Mapping[DraftKey, ReviewSubject], caller: Principal | None = None
    ) -> dict[DraftKey, Review | None]:
        """Return the reviews of several subjects; None for all while the database is unavailable."""
        try:
            return {key: thread.review for key, thread in self.threads(subjects, caller).items()}
        except (StateBusy, StateBroken) as ex:
            _log.warning("reviews_not_read", exc_info=ex)
            return dict.fromkeys(subjects)

    def find_waiting(self, heads: Mapping[DraftKey, str | None], caller: Principal) -> frozenset[DraftKey]:
        """Return the drafts whose review, or publish after an approval, waits for the caller, as their last remarks show.

        It reads no commits, so it knows neither who wrote a draft nor who owns what it changes. Returns none while the database is
        unavailable.
        """
        able = {
            action: {key for key in heads if caller.can(*grant, *key[:2])} for action, grant in _NEXT_GRANTS.items()
        }
        try:
            with self.database.reading() as connection:
                steps = find_last_steps(connection, frozenset().union(*able.values()))
        except (StateBusy, StateBroken) as ex:
            _log.warning("reviews_not_read", exc_info=ex)
            return frozenset()
        return frozenset(
            key
            for key, step in steps.items()
            if key in able.get(step.action, ())
            and (step.head == heads[key] if step.action is Action.APPROVE else step.person.email != caller.email)
        )

    def thread(self, key: DraftKey, draft: ReviewSubject, caller: Principal | None = None) -> ReviewThread:
        """Return the remarks on a draft, and its review, with what the caller may do."""
        with self.database.reading() as connection:
            return self._read(connection, key, draft, caller)

    def remarks_on(self, namespace: str, project: str, commits: Collection[str]) -> list[Remark]:
        """Return the remarks on these commits in a project, oldest first: the conversation that led to a publish."""
        with self.database.reading() as connection:
            return find_remarks(connection, namespace, project, commits)

    def last_remarks(self, namespace: str, name: str) -> list[Remark]:
        """Return the newest remarks on a proposal that may be gone, newest first; none while the database is unavailable."""
        try:
            with self.database.reading() as connection:
                return find_last_remarks(connection, namespace, name, _MOST_REMARKS)
        except (StateBusy, StateBroken) as ex:
            _log.warning("reviews_not_read", exc_info=ex)
            return []

    def find_review(self, key: DraftKey, draft: ReviewSubject, caller: Principal | None = None) -> Review | None:
        """Return the review of a draft; None while the database is unavailable, since the draft itself can be read."""
        try:
            return self.thread(key, draft, caller).review
        except (StateBusy, StateBroken) as ex:
            _log.warning("reviews_not_read", exc_info=ex)
            return None

    def verdicts(self, key: DraftKey, draft: ReviewSubject) -> tuple[Verdict, ...]:
        """Return the verdicts on a draft's head, for the approval check of a publish under the repository's lock.

        While the database is unavailable, return none if the draft needs no approval, so that it can be published; else
        raise.
        """
        review = self.thread(key, draft).review if draft.is_required else self.find_review(key, draft)
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

    def project_verdicts(self, namespace: str, name: str, project: str, subject: ReviewSubject) -> tuple[Verdict, ...]:
        """Return the verdicts on a proposal's head in one of its projects, as `verdicts` does."""
        return self.verdicts(DraftKey(namespace, project, name), subject)

    def ask_override(self, override: Override) -> None:
        """Record in the audit trail, before the attempt, a publish without an approval."""
        self._record(override, AuditEvent.OVERRIDE_ASKED, {})

    def note_override(self, override: Override, version: str, number: int | None) -> None:
        """Record in the audit trail a finished publish without an approval; one of files beside the projects has no number.

        A failure is logged: the publish is live, its commit names the override, and `ask_override` recorded it before.
        """
        numbered = {} if number is None else {"publishNumber": number}
        try:
            self._record(override, AuditEvent.APPROVAL_OVERRIDDEN, {"version": version, **numbered})
        except (StoreError, OSError) as ex:
            _log.warning("override_not_recorded", namespace=override.draft.namespace, version=version, exc_info=ex)

    def _read(
        self, connection: Connection, key: DraftKey, draft: ReviewSubject, caller: Principal | None = None
    ) -> ReviewThread:
        remarks = find_remarks(connection, key.namespace, key.project, draft.commits)
        thread = select_thread(key, draft, remarks)
        reviewers = {each.person for each in latest_verdicts(draft, thread)}
        lapsed = lapsed_reviewers(connection, key, reviewers, self.clock())
        others = [caller.email] if caller else []
        independence = _find_independence(connection, key, draft, remarks, *others)
        judged = {each.email for each in reviewers}
        involved = independence.involved | (judged if independence.is_pusher_unknown else set())
        review = summarize_review(draft, thread, involved, independence.token_owners, lapsed)
        owners = find_owners(connection, key, draft.owners)
        suggested = [each for each in owners if each.email not in involved | judged]
        verdict = _caller_verdict(caller, key, draft, independence) if caller else ""
        is_own = caller is not None and independence.is_own(caller.email)
        return ReviewThread(
            replace(review, suggested=suggested, caller_verdict=verdict, caller_involved=is_own), thread
        )

    def _record(self, override: Override, event: AuditEvent, result: dict[str, object]) -> None:
        actor, key, reason, head, origin = override
        detail = {"reason": reason, "head": head, **result} | (
            {OPERATOR_NAME: origin.operator} if origin.operator else {}
        )
        entry = AuditEntry(
            self.clock(), event, actor, key.draft, detail, key.namespace, key.project or None, origin.address
        )
        with self.database.writing() as connection:
            audit.record(connection, entry)


def _is_push(remark: Remark, key: DraftKey, person: Person) -> bool:
    return remark.action is Action.PUSH and remark.draft == key and remark.person.email == person.email


class _Independence(NamedTuple):
    """The addresses of those who cannot approve a draft, the owners of all tokens, and whether its pusher is unknown."""

    involved: frozenset[str]
    token_owners: Mapping[str, Collection[str]]
    is_pusher_unknown: bool

    def refusal(self, draft: ReviewSubject, reviewer: str) -> str:
        """Return the error with which a verdict of an address is refused; empty if it is none of an involved person."""
        if self.is_pusher_unknown:
            return "unknown_pusher"
        return "own_change" if draft.is_required and self.is_own(reviewer) else ""

    def is_own(self, reviewer: str) -> bool:
        """Tell whether an address is of an involved person, or of a token of one."""
        return not self.involved.isdisjoint(with_token_owners(reviewer, self.token_owners))


def _find_independence(
    connection: Connection, key: DraftKey, draft: ReviewSubject, remarks: Sequence[Remark], *others: str
) -> _Independence:
    """Find who cannot approve a draft, and the owners of all tokens, also of `others`."""
    pushers = find_pushers(connection, key.namespace, draft.written)
    people = {author.email for author in draft.authors} | {remark.person.email for remark in remarks}
    token_owners = _find_token_owners(connection, people | pushers | set(others))
    involved = find_involved(draft, remarks, pushers, token_owners)
    return _Independence(involved, token_owners, _is_pusher_unknown(connection, key, draft))


def _caller_verdict(caller: Principal, key: DraftKey, draft: ReviewSubject, independence: _Independence) -> str:
    """Return the first error with which a verdict of the caller on the draft's head is refused, else `allowed`."""
    if not caller.can(*VERDICT_GRANT, key.namespace, key.project):
        return "forbidden"
    if not draft.head:
        return StaleDraft.code
    return independence.refusal(draft, caller.email) or "allowed"


def _find_token_owners(connection: Connection, addresses: Collection[str]) -> dict[str, list[str]]:
    """Return the addresses of the users who created or rotated a token, by the token's address."""
    found = (load_account(address) for address in addresses)
    tokens = [account.id for account in found if account and account.kind == PrincipalKind.TOKEN]
    made = find_token_owners(connection, tokens)
    return {
        Account(PrincipalKind.TOKEN, token).address: [
            Account(PrincipalKind.USER, maker).address for maker in token_owners
        ]
        for token, token_owners in made.items()
    }


def _check_grant(actor: Principal, key: DraftKey, action: Action) -> None:
    wanted = REVIEW_GRANTS if action in {Action.REQUEST, Action.COMMENT} else REVIEW_GRANTS[:1]
    if not any(actor.can(*each, key.namespace, key.project) for each in wanted):
        raise Forbidden(
            f"You may not {action} this {_noun(key)}. You need the grant {' or '.join(':'.join(each) for each in wanted)}."
        )


def _noun(key: DraftKey) -> str:
    return "proposal" if key.draft.startswith(PROPOSAL_PREFIX) else "draft"


def _check_head(draft: ReviewSubject, key: DraftKey, head: str) -> None:
    """Raise StaleDraft where a statement is not about the head; without a draft there is nothing to say, so no head is it."""
    if head != draft.head:
        raise stale_head(f"{_noun(key)} {key.draft.removeprefix(PROPOSAL_PREFIX)}", draft.head, head)


def _is_pusher_unknown(connection: Connection, key: DraftKey, draft: ReviewSubject) -> bool:
    """Tell whether an approval could be by who pushed the draft to the host: the authors that commits name are anyone's choice."""
    if not (draft.is_required and draft.is_followed):
        return False
    upstream = find_upstream(connection, key.namespace)
    return upstream is None or not upstream.trusted_authors


def _check_independent(connection: Connection, draft: ReviewSubject, remark: Remark) -> None:
    """Refuse a verdict by an author or requester of the draft if the project requires a second person."""
    if not draft.is_required or remark.action not in {Action.APPROVE, Action.REJECT}:
        return
    key, judge = remark.draft, remark.person.email
    remarks = find_remarks(connection, key.namespace, key.project, draft.commits)
    refusal = _find_independence(connection, key, draft, remarks, judge).refusal(draft, judge)
    if refusal == "unknown_pusher":
        raise Forbidden(
            f"This {_noun(key)} has commits of a branch of the upstream, and who pushed them there is not known here: it could be "
            "you, under another name. Merge it on the host, or publish it with an override. If the host's authors can be "
            "trusted, set trustedAuthors of the upstream.",
            "unknown_pusher",
        )
    if refusal:
        raise Forbidden(
            f"You changed or pushed this {_noun(key)}, or requested its review, yourself or with one of your API tokens. "
            "This project requires a review by another person.",
            "own_change",
        )
