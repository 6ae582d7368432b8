"""The JSON shapes of what the content store gives, one function each."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from api.review import Opinion, Review
from api.state.moment import dump_time
from api.state.reviews import Person, Remark, Topic
from content.diff import Counts, identity_field, item_kind
from content.match import Answer, Candidate, Chain, Hop, Match
from content.record import Page
from content.request import Request
from content.vocabulary import Kind
from gitstore.advance import Published
from gitstore.changes import ChangesByKind
from gitstore.draft_doors import DraftReport
from gitstore.file_changes import FileChange
from gitstore.history import Publish
from gitstore.listing import Item
from gitstore.live import LiveProject
from gitstore.lives import Lived
from gitstore.namespaces import Namespace
from gitstore.review_view import ReviewView


def moment(seconds: float) -> str:
    """Seconds since 1970 as RFC 3339 in UTC, to the second."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def counts(found: Mapping[Kind, Counts]) -> dict[str, Any]:
    """How many redirects and pages were added, changed and removed."""
    return {kind.value: found.get(kind, Counts(0, 0, 0)).wire() for kind in Kind}


def namespace(found: Namespace, projects: int) -> dict[str, Any]:
    """A namespace."""
    return {
        "name": found.name,
        "description": found.description,
        "projects": projects,
        "createdAt": moment(found.created_at),
    }


def project(found: LiveProject, drafts: list[str]) -> dict[str, Any]:
    """A project and what it serves."""
    settings = found.release.settings
    return {
        "namespace": found.namespace,
        "name": found.name,
        "title": settings.title,
        "description": settings.description,
        "review": settings.review,
        "lint": settings.lint,
        "version": found.version,
        "publishNumber": found.number,
        "publishedAt": moment(found.entry.time),
        "redirects": found.release.listings[Kind.REDIRECTS].total,
        "pages": found.release.listings[Kind.PAGES].total,
        "draft": "main" in drafts,
    }


def item(found: Item) -> dict[str, Any]:
    """A record of the working state."""
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
    """The state of a draft; without its review, which the content store knows nothing of."""
    return {
        "name": name,
        "base": report.state.base,
        "head": report.state.head,
        "changes": counts(report.counts),
        "files": files(report.files),
        "problems": [problem.wire() for problem in report.problems],
        "conflicts": list(report.conflicts),
    }


def review(found: Review) -> dict[str, Any]:
    """Where the review of a draft stands."""
    return {
        "required": found.required,
        "state": found.standing.value,
        "requestedBy": person(found.requested_by) if found.requested_by else None,
        "approvals": [_opinion(each) for each in found.opinions if each.approves],
        "rejections": [_opinion(each) for each in found.opinions if not each.approves],
        "comments": found.comments,
    }


def _opinion(found: Opinion) -> dict[str, Any]:
    said = found.remark
    return {
        "by": person(said.person),
        "at": dump_time(said.at),
        "note": said.note,
        "counts": found.counts,
        "lapsed": found.lapsed,
    }


def remark(found: Remark, head: str | None, identities: Mapping[tuple[str, str], str]) -> dict[str, Any]:
    """One thing that was said of a draft which is at `head` now; the records that are known have their `identities`."""
    return {
        "id": found.id,
        "at": dump_time(found.at),
        "action": found.action.value,
        "head": found.head,
        "current": found.head == head,
        "note": found.note,
        "item": _topic(found.topic, identities) if found.topic else None,
        "by": person(found.person),
    }


def _topic(found: Topic, identities: Mapping[tuple[str, str], str]) -> dict[str, Any]:
    kind = next(kind for kind in Kind if item_kind(kind) == found.kind)
    return {**found._asdict(), identity_field(kind): identities.get(found)}


def person(found: Person) -> dict[str, Any]:
    """A user or API token, as they were called when they acted."""
    return {"kind": found.kind, "id": found.id, "name": found.name, "displayName": found.display_name}


def review_view(found: ReviewView) -> dict[str, Any]:
    """A draft as its reviewer looks at it; without the window that was asked for."""
    impact = found.impact
    return {
        "base": found.state.base,
        "head": found.state.head,
        "counts": counts(found.counts),
        "files": files(found.files),
        "items": [change.wire() for change in found.changes],
        "total": sum(sum(numbers) for numbers in found.counts.values()),
        "impact": {
            "appears": _capped([effect.wire() for effect in impact.appears], found.totals["appears"]),
            "goes": _capped([effect.wire() for effect in impact.goes], found.totals["goes"]),
            "answers": _capped([answer.wire() for answer in impact.answers], found.totals["answers"]),
        },
    }


def _capped(items: list[dict[str, object]], total: int) -> dict[str, object]:
    return {"items": items, "total": total}


def published(found: Published) -> dict[str, Any]:
    """What a publish became."""
    return {"version": found.version, "publishNumber": found.number, "changes": counts(found.counts)}


def publish_record(found: Publish) -> dict[str, Any]:
    """One publish of a history."""
    return {
        "version": found.version,
        "publishNumber": found.number,
        "publishedAt": moment(found.time),
        "author": found.author,
        "publishedBy": found.published_by,
        "approvedBy": found.approved_by or None,
        "overrideReason": found.override or None,
        "message": found.message,
        "served": found.served,
        "changes": counts(found.counts),
        "fileCounts": found.files.wire() if found.files else None,
    }


def lived(found: Lived) -> dict[str, Any]:
    """One publish in the life of a rule, and what it did to the rule."""
    return {**publish_record(found.publish), "change": found.change["change"], "fields": found.change["fields"]}


def changes(found: ChangesByKind) -> list[dict[str, Any]]:
    """Every record that differs, field by field."""
    return [change.wire() for kind in Kind for change in found.get(kind, ())]


def files(found: Sequence[FileChange]) -> list[dict[str, Any]]:
    """Every file that differs beside the rules."""
    return [each.wire() for each in found]


def rule(match: Match | None) -> dict[str, Any] | None:
    """The redirect that answers, and where it stands."""
    if match is None or match.redirect is None:
        return None
    found = match.redirect
    return {"type": found.record.type, "source": found.record.source, "file": found.file, "line": found.line}


def page(match: Match | None) -> dict[str, Any] | None:
    """The page that answers, and where it stands."""
    if match is None or match.page is None:
        return None
    found = match.page
    return {"type": found.record.type, "path": found.record.path, "file": found.file, "line": found.line}


def answer(url: str, found: Answer, followed: Chain) -> dict[str, Any]:
    """What a URL is answered with, what else matches, and where it leads."""
    winner = found.winner
    return {
        "url": url,
        "status": winner.status if winner else None,
        "location": (winner.location or None) if winner else None,
        "page": page(winner),
        "rule": rule(winner),
        "captures": list(winner.captures) if winner else [],
        "candidates": [_candidate(candidate) for candidate in found.candidates],
        "chain": chain(followed),
    }


def _candidate(candidate: Candidate) -> dict[str, Any]:
    return {"rule": rule(candidate.match), "page": page(candidate.match), "why": candidate.why}


def chain(found: Chain) -> dict[str, Any]:
    """The hops of a followed request."""
    return {"hops": [_hop(hop) for hop in found.hops], "loop": found.endless}


def _hop(hop: Hop) -> dict[str, Any]:
    return {
        "url": _url(hop.request),
        "status": hop.match.status,
        "location": hop.match.location or None,
        "rule": rule(hop.match),
        "page": page(hop.match),
    }


def _url(request: Request) -> str:
    query = "" if request.query is None else f"?{request.query}"
    return f"{request.host or ''}{request.path}{query}"
