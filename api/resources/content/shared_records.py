"""The other drafts and proposals that change the records of a draft."""

import re
from collections.abc import Sequence
from typing import Any

from falcon.asgi import Request, Response

from api.errors import bad_request
from api.http.guard.access import grants, heavy, readable_kinds
from api.http.guard.proposal_access import reader_of
from api.http.request.parameters import read_draft_name, read_text
from api.http.response import json_views, proposal_views
from api.http.response.proposal_views import Reader
from api.runtime.jobs.background import run_in_process, run_in_thread
from content.changes.diff import item_kind
from gitstore.drafts.drafts import DraftName
from gitstore.proposals.proposal import Proposal
from gitstore.publish.open_drafts import DraftHead
from gitstore.store.store import Store

_IDS = re.compile("[0-9a-f]{16}(,[0-9a-f]{16}){0,99}")


class SharedRecords:
    """The records of a draft that other drafts and open proposals change, too."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @heavy
    @grants("project", "read")
    async def on_get(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """Show each of the records in `?ids=` with each other draft or proposal that changes it, the newest first."""
        await run_in_thread(self._store.releases.project, namespace, project)  # 404 for one that does not exist
        name, ids = DraftName(project, read_draft_name(req)), _read_ids(req)
        kinds = readable_kinds(req, namespace, project)
        drafts = await run_in_process(self._store.drafts.shared, namespace, name, kinds, ids)
        proposals = await run_in_process(self._store.proposals.shared, namespace, name, kinds, ids)
        found = [
            *((head.time, _draft(head), records) for head, records in drafts),
            *((each.time, _proposal(each, reader_of(req, namespace, each)), records) for each, records in proposals),
        ]
        resp.media = {
            "items": [
                {"kind": item_kind(each.kind), "id": each.id, "change": each.change.value, **where}
                for _, where, records in sorted(found, key=lambda one: -one[0])
                for each in records
            ]
        }


def _draft(head: DraftHead) -> dict[str, Any]:
    return {"draft": head.name.draft, "proposal": None, "title": "", **_update(head.author, head.time)}


def _proposal(found: Proposal, reader: Reader) -> dict[str, Any]:
    title = proposal_views.title(found, reader)
    return {"draft": None, "proposal": found.id, "title": title, **_update(found.author.name, found.time)}


def _update(author: str, time: int) -> dict[str, Any]:
    return {"updatedBy": author, "updatedAt": json_views.dump_timestamp(time)}


def _read_ids(req: Request) -> Sequence[str]:
    text = read_text(req, "ids") or ""
    if not _IDS.fullmatch(text):
        raise bad_request(
            "'ids' must be 1 to 100 ids of records, each 16 hex digits, with commas between.", "bad_parameter"
        )
    return list(dict.fromkeys(text.split(",")))
