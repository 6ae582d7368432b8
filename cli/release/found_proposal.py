"""The proposal that a command names, by its id or its branch, and its JSON."""

import time
from collections.abc import Sequence
from typing import Any

import click

from api.db.namespaces.reviews import DraftKey
from api.http.response import proposal_views
from api.http.response.proposal_views import Reader
from api.reviews import review_json
from api.reviews.reviewing import Reviews, ReviewThread
from api.settings import DAY
from cli.console.setup import read_settings
from cli.console.suggestion import suggest
from content.records.vocabulary import Kind
from gitstore.errors import NotFound
from gitstore.proposals.proposal import Proposal
from gitstore.proposals.report import ProposalReport
from gitstore.publish.authorship import ReviewSubject
from gitstore.store.store import Store

proposal_argument = click.argument("proposal")


def find_proposal(store: Store, namespace: str, word: str) -> Proposal:
    """Return the proposal with an id or a branch; raises NotFound with the nearest branch."""
    found = store.proposals.all(namespace)
    named = [each for each in found if word in {each.branch, each.id}]
    if not named:
        raise NotFound(f"{namespace} has no proposal {word[:100]!r}.{suggest(word, [each.branch for each in found])}")
    return named[0]


def stale_before(data: str | None) -> float:
    """Return the time before which a head is stale, in seconds since 1970."""
    return time.time() - read_settings(data=data).proposal_stale_days * DAY


def read_threads(reviews: Reviews, namespace: str, report: ProposalReport) -> dict[DraftKey, ReviewThread]:
    """Return the remarks on a proposal, and its review, by project."""
    return reviews.threads(_subjects(namespace, report))


def _subjects(namespace: str, report: ProposalReport) -> dict[DraftKey, ReviewSubject]:
    name = report.proposal.review_name
    return {DraftKey(namespace, each.name, name): each.review_subject for each in report.projects}


def reports_as_json(
    reviews: Reviews, store: Store, namespace: str, reports: Sequence[ProposalReport], oldest: float, *, is_detail: bool
) -> list[dict[str, Any]]:
    """Return proposals as over HTTP, for a reader of everything."""
    view = proposal_views.detail if is_detail else proposal_views.summary
    sources = store.upstreams.sources(namespace)
    shown = []
    for report in reports:
        found = {key.project: review for key, review in reviews.find_reviews(_subjects(namespace, report)).items()}
        reader = Reader({each.name: tuple(Kind) for each in report.projects}, reads_all=True, everywhere=tuple(Kind))
        whole = view(report, reader, oldest, sources)
        projects = [
            {**each, "review": review_json.review(review) if (review := found.get(each["name"])) else None}
            for each in whole["projects"]
        ]
        shown.append({**whole, "projects": projects})
    return shown
