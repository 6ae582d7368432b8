"""GitLab, where a pull request is a merge request.

https://docs.gitlab.com/api/rest/
"""

from functools import partial
from typing import Any
from urllib.parse import quote, urlencode

from api.upstreams.hosts.host_api import CommitStatus, PullRequest, PullState, PullText, StatusState, shorten_text
from api.upstreams.hosts.host_client import HostClient
from api.upstreams.hosts.pull_answers import build_pull, change_or_take, first_of
from gitstore.wire.client.remote_errors import RemoteRefused

_MOST_TEXT = 255
_EXISTS = 409
_BAD_REQUEST = 400
_STATES = {StatusState.SUCCESS: "success", StatusState.FAILURE: "failed", StatusState.PENDING: "pending"}
_PULL_STATES = {
    "opened": PullState.OPEN,
    "locked": PullState.OPEN,  # while it is being merged
    "merged": PullState.MERGED,
    "closed": PullState.CLOSED,
}


def gitlab_headers(token: str) -> dict[str, str]:
    """Return the headers of a request with a token: of a user, a group or a project."""
    return {"PRIVATE-TOKEN": token}


class GitlabApi:
    """A project on GitLab: `group/name`, with any number of groups."""

    def __init__(self, client: HostClient, repository: str) -> None:
        self._client = client
        self._path = f"/projects/{quote(repository, safe='')}"

    async def post_status(self, status: CommitStatus) -> None:
        """Set a status: https://docs.gitlab.com/api/commits/#set-commit-pipeline-status ."""
        body = {
            "state": _STATES[status.state],
            "name": status.context,
            "description": shorten_text(status.text, _MOST_TEXT),
            **({"target_url": status.target} if status.target else {}),
        }
        answer = await self._client.call("POST", f"{self._path}/statuses/{status.commit}", body)
        # The status has the state already: GitLab refuses a change from a state to itself.
        if answer.status == _BAD_REQUEST and "cannot transition status" in answer.message.lower():
            return
        if not answer.is_success:
            raise self._client.refusal(answer)

    async def open_pull_request(self, branch: str, base: str, text: PullText) -> PullRequest:
        """Open a pull request, or change the open one: https://docs.gitlab.com/api/merge_requests/#create-mr ."""
        body = {"title": text.title, "description": text.body, "source_branch": branch, "target_branch": base}
        answer = await self._client.call("POST", f"{self._path}/merge_requests", body)
        find = partial(self._find_open, branch, base) if answer.status == _EXISTS else None
        return await change_or_take(self, self._client, answer, find, _to_pull, text)

    async def _find_open(self, branch: str, base: str) -> PullRequest | None:
        query = urlencode({"state": "opened", "source_branch": branch, "target_branch": base})
        found = first_of(await self._client.require("GET", f"{self._path}/merge_requests?{query}"))
        return _to_pull(found) if found else None

    async def change_pull_request(self, number: int, text: PullText) -> PullRequest:
        """Change the text: https://docs.gitlab.com/api/merge_requests/#update-mr ."""
        body = {"title": text.title, "description": text.body}
        return _to_pull(await self._client.require("PUT", f"{self._path}/merge_requests/{number}", body))

    async def read_pull_request(self, number: int) -> PullRequest:
        """Read a pull request: https://docs.gitlab.com/api/merge_requests/#get-single-mr ."""
        return _to_pull(await self._client.require("GET", f"{self._path}/merge_requests/{number}"))


def _to_pull(body: Any) -> PullRequest:
    try:
        return build_pull(body["iid"], body["web_url"], _PULL_STATES[body["state"]])
    except (KeyError, TypeError, ValueError):
        raise RemoteRefused("The host does not answer as the API of GitLab does. Check host and hostUrl.") from None
