"""The JSON views of proposals, without what the caller may not read, and without their reviews."""

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from api.http.response import json_views
from api.http.response.redaction import redact_conflicts, show_problems
from content.records.vocabulary import Kind
from gitstore.history.messages import searched_person, signature
from gitstore.proposals.proposal import Proposal
from gitstore.proposals.publishing import MergeResult
from gitstore.proposals.report import MOST_PROBLEMS, ProjectReport, ProposalReport, ProposedCommit
from gitstore.upstream.followed_branches import FollowedBranch

Sources = Mapping[str, FollowedBranch]
"""The branches of the upstream that proposals follow, by their refs here."""
_NO_SOURCES: Sources = {}


class Reader(NamedTuple):
    """The reader of proposals: the kinds of records that they may read, by project, and whether files beside them too.

    A project that is not among the keys is not shown. `everywhere` has the kinds that they may read in any project.
    """

    kinds: Mapping[str, Collection[Kind]]
    reads_all: bool
    everywhere: Collection[Kind]


def summary(report: ProposalReport, reader: Reader, oldest: float, sources: Sources = _NO_SOURCES) -> dict[str, Any]:
    """Return a proposal as in a list; a head from before `oldest` is stale."""
    proposal, is_whole = report.proposal, _is_whole(report.proposal, reader)
    shown = [each for each in report.projects if each.name in reader.kinds]
    return {
        "id": proposal.id,
        "branch": proposal.branch,
        "title": title(proposal, reader),
        "author": signature(proposal.author) if proposal.author.name else None,
        "head": proposal.head,
        "upstream": _source(sources.get(proposal.ref)),
        "updatedAt": json_views.dump_timestamp(proposal.time),
        "state": report.state(oldest).value,
        "stale": proposal.time < oldest,
        "projects": [_project_summary(each) for each in shown],
        "withheld": not is_whole,
    }


def detail(report: ProposalReport, reader: Reader, oldest: float, sources: Sources = _NO_SOURCES) -> dict[str, Any]:
    """Return a proposal as a whole."""
    is_whole = _is_whole(report.proposal, reader)
    shown = [each for each in report.projects if each.name in reader.kinds]
    return {
        **summary(report, reader, oldest, sources),
        "message": report.message if is_whole else "",
        "mergeMessage": report.merge_message if is_whole else "",
        "authors": [signature(author) for author in report.authors],
        "commits": report.commits,
        "newestCommits": [_commit(each) for each in report.newest] if is_whole else [],
        "base": report.proposal.base,
        "release": report.proposal.release,
        "fault": report.fault if is_whole else "",
        "projects": [_project(each, reader.kinds[each.name]) for each in shown],
        "files": json_views.files(report.files) if reader.reads_all else [],
        "conflicts": redact_conflicts(report.conflicts, reader.everywhere) if reader.reads_all else [],
    }


def _source(found: FollowedBranch | None) -> dict[str, Any] | None:
    """Return where a proposal comes from; None for one that was pushed here."""
    return {"branch": found.name, "pullRequest": found.pull or None, "commit": found.tip} if found else None


def _commit(found: ProposedCommit) -> dict[str, Any]:
    return {
        "id": found.id,
        "author": signature(found.author),
        "subject": found.subject,
        "at": json_views.dump_timestamp(found.time),
    }


def title(proposal: Proposal, reader: Reader) -> str:
    """Return the title where the reader may read all that the proposal changes: it may name any rule. Else the branch."""
    return (_is_whole(proposal, reader) and proposal.title) or proposal.branch


def has_text(proposal: Proposal, reader: Reader, text: str) -> bool:
    """Tell whether a text in small letters is in the branch, the author, or the title where that is shown."""
    return any(
        text in each.casefold()
        for each in (title(proposal, reader), proposal.branch, searched_person(signature(proposal.author)))
    )


def _is_whole(proposal: Proposal, reader: Reader) -> bool:
    """Tell whether the reader may read all that the proposal changes."""
    return reader.reads_all or (
        not proposal.changes_files and bool(proposal.projects) and reader.kinds.keys() >= set(proposal.projects)
    )


def _project_summary(found: ProjectReport) -> dict[str, Any]:
    return {
        "name": found.name,
        "change": found.change.value,
        "changes": None if found.counts is None else json_views.counts(found.counts),
        "problemsTotal": len(found.problems),
        "conflictsTotal": len(found.conflicts),
    }


def _project(found: ProjectReport, readable: Collection[Kind]) -> dict[str, Any]:
    return {
        **_project_summary(found),
        "files": json_views.files(found.files),
        "problems": show_problems(found.problems[:MOST_PROBLEMS], found.subjects, readable),
        "conflicts": redact_project_conflicts(found.conflicts, readable),
    }


def redact_project_conflicts(
    conflicts: Collection[Mapping[str, Any]], readable: Collection[Kind]
) -> list[dict[str, Any]]:
    """Redact the conflicts of a project, and keep its name in each."""
    return [
        {**shown, "project": each["project"]}
        for each, shown in zip(conflicts, redact_conflicts(conflicts, readable), strict=True)
    ]


def merged(found: MergeResult) -> dict[str, Any]:
    """Return the result of a merge into release."""
    return {
        "id": found.id,
        "head": found.head,
        "version": found.commit,
        "projects": [{"name": name, **json_views.published(each)} for name, each in sorted(found.projects.items())],
    }
