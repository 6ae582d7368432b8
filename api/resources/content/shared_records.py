"""The other drafts and proposals that change the records of a draft."""

import re
from collections.abc import Sequence

from falcon.asgi import Request, Response

from api.errors import bad_request
from api.http.guard.access import grants, readable_kinds
from api.http.request.parameters import read_draft_name, read_text
from api.http.response import json_views
from api.runtime.jobs.background import run_in_process, run_in_thread
from content.changes.diff import item_kind
from gitstore.drafts.drafts import DraftName
from gitstore.store.store import Store

_IDS = re.compile("[0-9a-f]{16}(,[0-9a-f]{16}){0,99}")


class SharedRecords:
    """The records of a draft that other drafts and open proposals change, too."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @grants("project", "read")
    async def on_get(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """Show each of the records in `?ids=` with each other draft or proposal that changes it, the newest first."""
        await run_in_thread(self._store.releases.project, namespace, project)  # 404 for one that does not exist
        name, ids = DraftName(project, read_draft_name(req)), _read_ids(req)
        kinds = readable_kinds(req, namespace, project)
        drafts = await run_in_process(self._store.drafts.shared, namespace, name, kinds, ids)
        proposals = await run_in_process(self._store.proposals.shared, namespace, name, kinds, ids)
        resp.media = {
            "items": [
                {
                    "kind": item_kind(each.kind),
                    "id": each.id,
                    "change": each.change.value,
                    "draft": each.draft or None,
                    "proposal": each.proposal or None,
                    "title": each.title,
                    "updatedBy": each.author,
                    "updatedAt": json_views.dump_timestamp(each.time),
                }
                for each in sorted([*drafts, *proposals], key=lambda each: -each.time)
            ]
        }


def _read_ids(req: Request) -> Sequence[str]:
    text = read_text(req, "ids") or ""
    if not _IDS.fullmatch(text):
        raise bad_request(
            "'ids' must be 1 to 100 ids of records, each 16 hex digits, with commas between.", "bad_parameter"
        )
    return list(dict.fromkeys(text.split(",")))
