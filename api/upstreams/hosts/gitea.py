"""Gitea and Forgejo, whose APIs are the same here.

https://docs.gitea.com/api and https://forgejo.org/docs/latest/user/api-usage/
"""

from functools import partial
from typing import Any
from urllib.parse import quote

from api.upstreams.hosts.host_api import CommitStatus, PullRequest, PullState, PullText, shorten_text
from api.upstreams.hosts.host_client import HostClient
from api.upstreams.hosts.pull_answers import build_pull, change_or_take
from gitstore.wire.client.remote_errors import RemoteRefused

_MOST_TEXT = 255
_EXISTS = 409
_GONE = 412  # "The pull request is merged or closed" and alike
_PAGE = 50
_MOST_PAGES = 10


def gitea_headers(token: str) -> dict[str, str]:
    """Return the headers of a request with a token."""
    return {"Authorization": f"token {token}"}


class GiteaApi:
    """A repository on Gitea or Forgejo: `owner/name`."""

    def __init__(self, client: HostClient, repository: str) -> None:
        self._client = client
        self._path = f"/repos/{quote(repository)}"

    async def post_status(self, status: CommitStatus) -> None:
        """Set a status: https://docs.gitea.com/api/next/#tag/repository/operation/repoCreateStatus ."""
        body = {
            "state": status.state.value,
            "context": status.context,
            "description": shorten_text(status.text, _MOST_TEXT),
            "target_url": status.target,
        }
        await self._client.require("POST", f"{self._path}/statuses/{status.commit}", body)

    async def open_pull_request(self, branch: str, base: str, text: PullText) -> PullRequest:
        """Open a pull request, or change the open one: https://docs.gitea.com/api/next/#tag/repository/operation/repoCreatePullRequest ."""
        body = {"title": text.title, "body": text.body, "head": branch, "base": base}
        answer = await self._client.call("POST", f"{self._path}/pulls", body)
        find = partial(self._find_open, branch, base) if answer.status == _EXISTS else None
        return await change_or_take(self, self._client, answer, find, _to_pull, text)

    async def _find_open(self, branch: str, base: str) -> PullRequest | None:
        for page in range(1, _MOST_PAGES + 1):
            path = f"{self._path}/pulls?state=open&limit={_PAGE}&page={page}"
            found = await self._client.require("GET", path)
            if not isinstance(found, list) or not found:
                return None
            for each in found:
                if (_ref(each, "head"), _ref(each, "base")) == (branch, base):
                    return _to_pull(each)
        return None

    async def change_pull_request(self, number: int, text: PullText) -> PullRequest:
        """Change the text: https://docs.gitea.com/api/next/#tag/repository/operation/repoEditPullRequest ."""
        body = {"title": text.title, "body": text.body}
        answer = await self._client.call("PATCH", f"{self._path}/pulls/{number}", body)
        if answer.status == _GONE:
            return await self.read_pull_request(number)
        if not answer.is_success:
            raise self._client.refusal(answer)
        return _to_pull(answer.body)

    async def read_pull_request(self, number: int) -> PullRequest:
        """Read a pull request: https://docs.gitea.com/api/next/#tag/repository/operation/repoGetPullRequest ."""
        return _to_pull(await self._client.require("GET", f"{self._path}/pulls/{number}"))


def _ref(body: Any, end: str) -> str:
    try:
        return str(body[end]["ref"])
    except (KeyError, TypeError):
        return ""


def _to_pull(body: Any) -> PullRequest:
    try:
        state = PullState.MERGED if body["merged"] else PullState(body["state"])
        return build_pull(body["number"], body["html_url"], state)
    except (KeyError, TypeError, ValueError):
        raise RemoteRefused("The host does not answer as the API of Gitea does. Check host and hostUrl.") from None
