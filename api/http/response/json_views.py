"""The JSON views of the content store's records, a function each."""

import time
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from api.readiness import Fault, worst
from content.changes.diff import Counts
from content.matching.match import Candidate, Chain, Hop, Match, MatchResult
from content.matching.near_misses import NearMiss
from content.matching.request import Request
from content.records.problem_codes import count_never_answering
from content.records.record import Page
from content.records.vocabulary import Kind
from gitstore.comparison.file_changes import FileChange
from gitstore.comparison.impact_view import ImpactView
from gitstore.compiled.indexes.versions import Version
from gitstore.compiled.segments.changes import ChangesByKind
from gitstore.drafts.listing import DraftRecord
from gitstore.drafts.review_view import ReviewView
from gitstore.history.history import PublishRecord
from gitstore.history.live import LiveProject
from gitstore.history.rule_history import RuleEvent
from gitstore.namespaces.namespaces import Namespace
from gitstore.namespaces.records import Archived
from gitstore.publish.advance import PublishResult
from gitstore.store.drafts import DraftReport
from gitstore.yamlfiles.project_file import ProjectFile

_MAX_LINE = 200  # characters of a message in an overview
_MAX_EVENT_MESSAGE = 1000


def dump_timestamp(seconds: float) -> str:
    """Format seconds since 1970 as RFC 3339 in UTC, to the second."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def counts(found: Mapping[Kind, Counts]) -> dict[str, Any]:
    """Return the counts of added, changed and removed redirects and pages."""
    return {kind.value: found.get(kind, Counts(0, 0, 0)).wire() for kind in Kind}


def namespace(found: Namespace, projects: int, faults: Sequence[Fault] | None = None) -> dict[str, Any]:
    """Return the JSON of a namespace; with its state, if the faults are given."""
    return {
        "name": found.name,
        "description": found.description,
        "projects": projects,
        "createdAt": dump_timestamp(found.created_at),
        **({"health": health(faults)} if faults is not None else {}),
    }


def fault(found: Fault) -> dict[str, Any]:
    """Return the JSON of a fault, a reason of readiness, for a caller who may read its names."""
    named = {"namespace": found.namespace, "project": found.project, "detail": found.detail}
    served = found.served and {"version": found.served.version, "publishNumber": found.served.number}
    return {
        "status": found.status.value,
        "code": found.code,
        "message": found.message,
        "action": found.action,
        **{name: text for name, text in named.items() if text},
        **({"served": served} if served else {}),
    }


def health(faults: Sequence[Fault]) -> dict[str, Any]:
    """Return the JSON of the state of a namespace or project, with its reasons."""
    return {"status": worst(each.status for each in faults).value, "reasons": [fault(each) for each in faults]}


def project(found: LiveProject, drafts: Sequence[str], faults: Sequence[Fault] | None = None) -> dict[str, Any]:
    """Return the JSON of a project and its published version; with its state, if the faults are given."""
    settings = found.release.settings
    return {
        "namespace": found.namespace,
        "name": found.name,
        "title": settings.title,
        "description": settings.description,
        "review": settings.review,
        "lint": settings.lint,
        "signatures": settings.signatures,
        "version": found.version,
        "publishNumber": found.number,
        "publishedAt": dump_timestamp(found.entry.time),
        "redirects": found.release.listings[Kind.REDIRECTS].total,
        "pages": found.release.listings[Kind.PAGES].total,
        "draft": "main" in drafts,
        **({"health": health(faults)} if faults is not None else {}),
    }


def new_project(namespace_name: str, name: str, settings: ProjectFile, done: PublishResult) -> dict[str, Any]:
    """Return the JSON of a project right after its creation, without reading it."""
    return {
        "namespace": namespace_name,
        "name": name,
        "title": settings.title,
        "description": settings.description,
        "review": settings.review,
        "lint": settings.lint,
        "signatures": settings.signatures,
        **project_version(done),
        "redirects": 0,
        "pages": 0,
        "draft": False,
    }


def project_version(done: PublishResult) -> dict[str, Any]:
    """Return the fields of a project that a publish of right now changes."""
    return {"version": done.version, "publishNumber": done.number, "publishedAt": dump_timestamp(time.time())}


def item(found: DraftRecord) -> dict[str, Any]:
    """Return the JSON of a record of a draft."""
    record = found.placed.record
    body = {"contentFile": record.content_file} if isinstance(record, Page) and record.content_file else {}
    return {
        **record.wire(),
        **body,
        "id": record.id,
        "change": found.change,
        "file": found.placed.file,
        "line": found.placed.line,
        "note": record.note,
        "tags": list(record.tags),
        "etag": found.etag,
    }


def draft(name: str, report: DraftReport) -> dict[str, Any]:
    """Return the JSON of a draft's state, without its review, which is not in the content store."""
    return {
        "name": name,
        "base": report.state.base,
        "release": report.state.release,
        "head": report.state.head,
        "changes": counts(report.counts),
        "files": files(report.files),
        "problems": [problem.wire() for problem in report.problems],
        "problemsTotal": len(report.problems),
        "neverAnswer": count_never_answering(report.problems),
        "conflicts": list(report.conflicts),
    }


def review_view(found: ReviewView) -> dict[str, Any]:
    """Return the JSON of a draft's review view, without `limit` and `offset`."""
    return {
        "base": found.state.base,
        "head": found.state.head,
        "counts": counts(found.counts),
        "files": files(found.files),
        "items": [change.wire() for change in found.changes],
        "total": sum(sum(numbers) for numbers in found.counts.values()),
        "impact": impact(found.impact),
    }


def impact(found: ImpactView) -> dict[str, Any]:
    """Return the JSON of an impact."""
    lists, totals = found.impact, found.totals
    return {
        "appears": _capped([effect.wire() for effect in lists.added_effects], totals["appears"]),
        "goes": _capped([effect.wire() for effect in lists.removed_effects], totals["goes"]),
        "neverAnswer": {"appears": totals["never_answer_appears"], "goes": totals["never_answer_goes"]},
        "answers": {
            **_capped([answer.wire() for answer in lists.changed_responses], totals["answers"]),
            "complete": not lists.has_patterns,
        },
    }


def _capped(items: list[dict[str, object]], total: int) -> dict[str, object]:
    return {"items": items, "total": total}


def published(found: PublishResult) -> dict[str, Any]:
    """Return the JSON of a publish's result."""
    return {
        "version": found.version,
        "publishNumber": found.number,
        "changes": counts(found.counts),
        "neverAnswer": found.never_answer,
    }


def publish_record(found: PublishRecord) -> dict[str, Any]:
    """Return one publish of a history, for people: with the reason of an override, and its changes counted."""
    return {
        **_publish(found),
        "overrideReason": found.override or None,
        "mergedHead": found.merged_head or None,
        "rolledBackToNumber": found.rolled_back_number,
    }


def publish_line(found: PublishRecord) -> dict[str, Any]:
    """Return one publish in a line: who and when, and the first line of its message, cut at 200 characters."""
    return {
        "publishNumber": found.number,
        "publishedAt": dump_timestamp(found.time),
        "author": found.author,
        "message": found.message.partition("\n")[0][:_MAX_LINE],
    }


def archived_namespace(found: Archived) -> dict[str, object]:
    """Return an archived namespace."""
    return {
        "id": found.id,
        "name": found.name,
        "description": found.description,
        "archivedAt": dump_timestamp(found.archived_at),
        "projects": found.projects,
    }


def publish_event(found: PublishRecord, version: Version) -> dict[str, Any]:
    """Return one publish for events and webhooks: without the reason of an override, which is for reviewers.

    The message is cut at 1,000 characters; `changes` is null where the publish was not counted yet.
    """
    return {
        **_publish(found),
        "message": found.message[:_MAX_EVENT_MESSAGE],
        "changes": counts(found.counts) if version.counts is not None else None,
        "removed": version.tree is None,
        **({"rolledBackTo": found.rolled_back_to} if found.rolled_back_to else {}),
    }


def _publish(found: PublishRecord) -> dict[str, Any]:
    return {
        "version": found.version,
        "publishNumber": found.number,
        "publishedAt": dump_timestamp(found.time),
        "author": found.author,
        "publishedBy": found.published_by,
        "approvedBy": found.approved_by or None,
        "signedBy": found.signed_by or None,
        "message": found.message,
        "served": found.served,
        "changes": counts(found.counts),
        "fileCounts": found.files.wire() if found.files else None,
    }


def lived(found: RuleEvent) -> dict[str, Any]:
    """Return the JSON of one publish of a rule's history, with the change of the rule."""
    return {**publish_record(found.publish), "change": found.change["change"], "fields": found.change["fields"]}


def changes(found: ChangesByKind) -> list[dict[str, Any]]:
    """Return the JSON of the changed records, field by field."""
    return [change.wire() for kind in Kind for change in found.get(kind, ())]


def files(found: Sequence[FileChange]) -> list[dict[str, Any]]:
    """Return the JSON of the changed files other than rules."""
    return [each.wire() for each in found]


def rule(match: Match | None) -> dict[str, Any] | None:
    """Return the JSON of the matched redirect, with its file and line; None if no redirect matched."""
    if match is None or match.redirect is None:
        return None
    found = match.redirect
    return {"type": found.record.type, "source": found.record.source, "file": found.file, "line": found.line}


def page(match: Match | None) -> dict[str, Any] | None:
    """Return the JSON of the matched page, with its file and line; None if no page matched."""
    if match is None or match.page is None:
        return None
    found = match.page
    return {"type": found.record.type, "path": found.record.path, "file": found.file, "line": found.line}


def answer(
    url: str,
    found: MatchResult,
    followed: Chain,
    near: Sequence[NearMiss] | None = None,
    kinds: Collection[Kind] = tuple(Kind),
) -> dict[str, Any]:
    """Return the JSON of a URL's response, the losing candidates and the redirect chain; only rules of `kinds` are named.

    `near` are the rules that nearly match; None where they were not looked for.
    """
    winner = found.winner
    return {
        "url": url,
        "status": winner.status if winner else None,
        "location": (winner.location or None) if winner else None,
        "page": page(winner) if Kind.PAGES in kinds else None,
        "rule": rule(winner),
        "captures": list(winner.captures) if winner else [],
        "candidates": [_candidate(each) for each in found.candidates if each.match.kind in kinds],
        "chain": chain(followed, kinds),
        **({} if near is None else {"near": [_near_miss(each) for each in near]}),
    }


def _near_miss(found: NearMiss) -> dict[str, Any]:
    host, path, query = found.request
    return {
        "id": found.match.rule.record.id,
        "rule": rule(found.match),
        "page": page(found.match),
        "url": f"{'' if host is None else f'https://{host}'}{path}{'' if query is None else f'?{query}'}",
        "at": found.at or None,
        "why": found.reason,
    }


def _candidate(candidate: Candidate) -> dict[str, Any]:
    return {"rule": rule(candidate.match), "page": page(candidate.match), "why": candidate.reason}


def chain(found: Chain, kinds: Collection[Kind]) -> dict[str, Any]:
    """Return the JSON of a redirect chain."""
    return {"hops": [_hop(hop, kinds) for hop in found.hops], "loop": found.is_endless}


def _hop(hop: Hop, kinds: Collection[Kind]) -> dict[str, Any]:
    return {
        "url": _url(hop.request),
        "status": hop.match.status,
        "location": hop.match.location or None,
        "rule": rule(hop.match),
        "page": page(hop.match) if Kind.PAGES in kinds else None,
    }


def _url(request: Request) -> str:
    query = "" if request.query is None else f"?{request.query}"
    return f"{request.host or ''}{request.path}{query}"
