"""The entries of a push in the audit trail: each ref with its old and new commit, and what became of it."""

from collections.abc import Mapping, Sequence
from typing import Any

from api.auth.tokens.shown_texts import shorten
from gitstore.pushes.push import RefUpdate
from gitstore.pushes.push_notes import MOST_REFS, PushNote, show_ref
from gitstore.pushes.receiving import Reception
from gitstore.wire.push.push_report import RefStatus
from gitstore.wire.push.push_request import Command, PushRequest


def describe_push(request: PushRequest, reception: Reception | None) -> dict[str, object]:
    """Return the detail of the entry; without a reception it is not known what became of the refs."""
    statuses = {} if reception is None else {status.ref: status for status in reception.report.statuses}
    shown = [_describe(each, statuses) for each in request.commands[:MOST_REFS]]
    more = len(request.commands) - len(shown)
    detail: dict[str, object] = {"refs": shown} | ({"more": more} if more else {})
    fault = reception.report.fault if reception else ""
    return detail | ({"fault": shorten(fault)} if fault else {})


def describe_arrival(updates: Sequence[RefUpdate]) -> dict[str, object]:
    """Return the detail of the entry before the refs move: only what is asked of them is known."""
    more = len(updates) - MOST_REFS
    return {"refs": [_show(*each) for each in updates[:MOST_REFS]]} | ({"more": more} if more > 0 else {})


def describe_note(note: PushNote) -> dict[str, object]:
    """Return the detail of the entry of a push by path or SSH: Git moves what the hook accepted, all of it, right afterwards."""
    answer = {"outcome": "accepted"} if note.is_accepted else {"outcome": "refused", "reason": shorten(note.reason)}
    refs = [_show(*each) | answer for each in note.updates]
    return {"refs": refs, "by": "path or SSH"} | ({"more": note.more} if note.more else {})


def _describe(command: Command, statuses: Mapping[str, RefStatus]) -> dict[str, Any]:
    shown = _show(command.ref, command.old, command.new)
    status = statuses.get(command.ref)
    if status is None:
        return {**shown, "outcome": "unknown"}
    if not status.refusal:
        return {**shown, "outcome": "moved"}
    return {**shown, "outcome": "refused", "reason": shorten(status.refusal)}


def _show(ref: str, old: str | None, new: str | None) -> dict[str, Any]:
    return {"ref": show_ref(ref, shorten), "old": old, "new": new}
