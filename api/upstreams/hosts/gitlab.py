"""GitLab, where a pull request is a merge request.

https://docs.gitlab.com/api/rest/
"""

from typing import Any
from urllib.parse import quote, urlencode

from api.upstreams.hosts.host_api import CommitStatus, PullRequest, PullState, PullText, StatusState, shorten_text
from api.upstreams.hosts.host_client import HostClient
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
        if answer.status == _EXISTS:
            query = urlencode({"state": "opened", "source_branch": branch, "target_branch": base})
            found = await self._client.require("GET", f"{self._path}/merge_requests?{query}")
            if isinstance(found, list) and found:
                return await self.change_pull_request(_to_pull(found[0]).number, text)
        if not answer.is_success:
            raise self._client.refusal(answer)
        return _to_pull(answer.body)

    async def change_pull_request(self, number: int, text: PullText) -> PullRequest:
        """Change the text: https://docs.gitlab.com/api/merge_requests/#update-mr ."""
        body = {"title": text.title, "description": text.body}
        return _to_pull(await self._client.require("PUT", f"{self._path}/merge_requests/{number}", body))

    async def read_pull_request(self, number: int) -> PullRequest:
        """Read a pull request: https://docs.gitlab.com/api/merge_requests/#get-single-mr ."""
        return _to_pull(await self._client.require("GET", f"{self._path}/merge_requests/{number}"))


def _to_pull(body: Any) -> PullRequest:
    try:
        return PullRequest(int(body["iid"]), str(body["web_url"])[:2000], _PULL_STATES[body["state"]])
    except (KeyError, TypeError, ValueError):
        raise RemoteRefused("The host does not answer as the API of GitLab does. Check host and hostUrl.") from None
