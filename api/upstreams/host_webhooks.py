"""Webhooks of Git hosts, verified over the raw body: GitHub, GitLab, Gitea and Forgejo.

They only say that something was pushed, or that a pull request has changed. What they contain is never taken as content: the syncer fetches.
"""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple

import orjson

from api.db.namespaces import upstreams
from api.db.state_store import StateStore
from api.db.timestamps import Clock
from api.errors import ApiError, Unauthenticated, bad_request, invalid
from api.runtime.jobs.background import run_in_thread
from api.runtime.joined_calls import JoinedCalls
from content.records.problem import Problem
from gitstore.layout import BRANCH_PREFIX
from gitstore.upstream.upstream_settings import ProposalsFrom

MOST_BYTES = 8 << 20
_MOST_AGE = 300  # seconds, of a signature that has its time
_PUSHES = frozenset({"push", "push hook", "system hook"})
_PULLS = frozenset({"pull_request", "merge request hook"})
_EVENT_HEADERS = ("x-github-event", "x-forgejo-event", "x-gitea-event", "x-gitlab-event")
_REFUSED = "The webhook has no valid signature. Set the same secret here (hookSecret) and on the host."

Header = Callable[[str], str]
"""Returns a header of the request by its name in lower case, as Latin-1; empty without one."""


class HookAction(Enum):
    """The effect of a webhook."""

    SYNC = "sync"
    IGNORED = "ignored"


class HostWebhook(NamedTuple):
    """A webhook as it arrived."""

    header: Header
    body: bytes

    def event(self) -> str:
        """Return the name of the event, in lower case."""
        return next(filter(None, map(self.header, _EVENT_HEADERS)), "").lower()


class HostWebhooks:
    """The reception of the webhooks of hosts; those of a namespace that arrive at once share a transaction."""

    def __init__(self, state: StateStore, clock: Clock) -> None:
        self._state = state
        self._clock = clock
        self._notes = JoinedCalls(self._note)

    async def receive(self, namespace: str, webhook: HostWebhook) -> HookAction:
        """Verify a webhook and have the namespace synced; many at once lead to one sync.

        401 for a signature that is not valid, the same for a namespace that has no upstream or no secret; 409 for one that
        was received before; 400 for a body that is not JSON, 422 for one that is no object.
        """
        proof = await run_in_thread(self._check, namespace, webhook)
        if not proof:
            return HookAction.IGNORED
        if not await self._notes.call(namespace, proof):
            raise ApiError(409, "webhook_replayed", "This webhook was received before; nothing is done again.")
        return HookAction.SYNC

    def _check(self, namespace: str, webhook: HostWebhook) -> bytes:
        """Return what identifies a valid webhook, empty for one that changes nothing here."""
        with self._state.database.reading() as connection:  # strangers take no lock
            upstream = upstreams.find_upstream(connection, namespace)
        secret = upstream.hook_secret if upstream else ""
        proof = _verify(webhook, secret or "\0none", self._clock().timestamp())
        if upstream is None or not secret or not proof:
            raise Unauthenticated(_REFUSED, "invalid_signature")
        follows_all = upstream.proposals == ProposalsFrom.BRANCHES
        is_change = webhook.event() in _PULLS or _is_push(webhook, upstream.branch, follows_all=follows_all)
        return proof if is_change else b""

    def _note(self, namespace: str, proofs: Sequence[bytes]) -> list[bool]:
        """Note webhooks, and ask for one sync if any is new; tell for each whether it is."""
        with self._state.database.writing() as connection:
            found = upstreams.note_webhooks(connection, namespace, proofs, self._clock())
            if any(found):
                upstreams.request_sync(connection, namespace)
            return found


def _verify(webhook: HostWebhook, secret: str, now: float) -> bytes:
    """Return what identifies a valid webhook, empty for an invalid one. Every signature that it has must be valid."""
    found = [
        proof for verify in (_verify_hex, _verify_standard, _verify_token) if (proof := verify(webhook, secret, now))
    ]
    if not found or _INVALID in found:
        return b""
    return hashlib.sha256(b"\n".join(found)).digest()


_INVALID = b"invalid"


def _verify_hex(webhook: HostWebhook, secret: str, _now: float) -> bytes:
    """Verify the signatures of GitHub, Gitea and Forgejo: the hex digest of an HMAC over the body.

    https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries
    https://forgejo.org/docs/latest/user/webhooks/
    """
    given = [webhook.header(name) for name in ("x-forgejo-signature", "x-gitea-signature")]
    hub = webhook.header("x-hub-signature-256")
    if hub and not hub.startswith("sha256="):
        return _INVALID
    given = [each for each in (*given, hub.removeprefix("sha256=")) if each]
    if not given:
        return b""
    wanted = hmac.new(secret.encode(), webhook.body, hashlib.sha256).hexdigest()
    return wanted.encode() if all(_is_same(each.lower(), wanted) for each in given) else _INVALID


def _verify_standard(webhook: HostWebhook, secret: str, now: float) -> bytes:
    """Verify the signature of GitLab with a signing token: Standard Webhooks, with an id and a time."""
    given = webhook.header("webhook-signature")
    if not given:
        return b""
    number, seconds = webhook.header("webhook-id"), webhook.header("webhook-timestamp")
    if not seconds.isdecimal() or len(seconds) > 12 or abs(now - int(seconds)) > _MOST_AGE:  # noqa: PLR2004 - digits
        return _INVALID
    content = b"%b.%b.%b" % (_raw(number), seconds.encode(), webhook.body)
    wanted = "v1," + base64.b64encode(hmac.new(_key(secret), content, hashlib.sha256).digest()).decode()
    return wanted.encode() if any(_is_same(each, wanted) for each in given.split()) else _INVALID


def _verify_token(webhook: HostWebhook, secret: str, _now: float) -> bytes:
    """Compare the secret token of GitLab, which sends it as it is; the id of the delivery and the body identify it."""
    given = webhook.header("x-gitlab-token")
    if not given:
        return b""
    if not _is_same(given, secret):
        return _INVALID
    number = webhook.header("idempotency-key") or webhook.header("x-gitlab-event-uuid")
    return hashlib.sha256(_raw(number) + b"\n" + webhook.body).digest()


def _key(secret: str) -> bytes:
    if secret.startswith("whsec_"):
        try:
            return base64.b64decode(secret.removeprefix("whsec_"), validate=True)
        except binascii.Error:
            return secret.encode()
    return secret.encode()


def _is_same(given: str, wanted: str) -> bool:
    """Compare a header with a text of ours."""
    return hmac.compare_digest(_raw(given), wanted.encode())


def _raw(header: str) -> bytes:
    """Return the bytes of a header, which the server decodes as Latin-1: a secret may be any UTF-8."""
    return header.encode("latin-1", errors="replace")


def _is_push(webhook: HostWebhook, branch: str, *, follows_all: bool) -> bool:
    """Tell whether a webhook is of a push to a branch, or to any where all are followed."""
    if webhook.event() not in _PUSHES:
        return False
    try:
        body: Any = orjson.loads(webhook.body)
    except orjson.JSONDecodeError as ex:
        message = "The body is not JSON. Choose the content type application/json on the host."
        raise bad_request(message, "malformed_json") from ex
    if not isinstance(body, Mapping):
        problem = Problem("wrong_type", "The body of a push is an object with the field ref.", pointer="")
        raise invalid("The body is no push of a Git host; see the problems.", [problem])
    ref = body.get("ref")
    return ref == BRANCH_PREFIX + branch or (follows_all and isinstance(ref, str) and ref.startswith(BRANCH_PREFIX))
