"""The thread of a proposal, for people to read."""

from collections.abc import Mapping, Sequence

from api.db.namespaces.reviews import DraftKey, Remark
from api.db.timestamps import dump_time
from api.reviews.proposal_thread import join_remarks
from api.reviews.reviewing import ReviewThread
from gitstore.proposals.report import ProposalReport


def remark_lines(threads: Mapping[DraftKey, ReviewThread], report: ProposalReport) -> list[str]:
    """Format the remarks on a proposal, oldest first: who did what when, in which projects, then the text."""
    lapsed = {each.remark.id for thread in threads.values() for each in thread.review.opinions if each.lapsed}
    groups = join_remarks(thread.remarks for thread in threads.values())
    return [line for group in groups for line in _lines(group, report, is_lapsed=group[0].id in lapsed)]


def _lines(group: Sequence[Remark], report: ProposalReport, *, is_lapsed: bool) -> list[str]:
    remark = group[0]
    on = f" on {remark.topic.kind} {remark.topic.id}" if remark.topic else ""
    place = ", ".join(each.draft.project for each in group) if len(report.projects) > 1 else ""
    status = ", no longer allowed to review" if is_lapsed else ""
    status = ", before later commits" if remark.head != report.proposal.head else status
    who = f"{remark.person.display_name} ({remark.person.name})"
    first = f"{dump_time(remark.at)}  {remark.action}{on}{f' in {place}' if place else ''}  {who}  {remark.head[:10]}{status}"
    return [first, *(f"    {line}" for line in remark.note.splitlines())]
