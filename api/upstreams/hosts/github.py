"""GitHub, also GitHub Enterprise.

https://docs.github.com/en/rest
"""

from functools import partial
from typing import Any
from urllib.parse import quote, urlencode

from api.upstreams.hosts.host_api import CommitStatus, PullRequest, PullState, PullText, shorten_text
from api.upstreams.hosts.host_client import HostClient
from api.upstreams.hosts.pull_answers import build_pull, change_or_take, first_of
from gitstore.wire.client.remote_errors import RemoteRefused

_MOST_TEXT = 140
_EXISTS = 422


def github_headers(token: str) -> dict[str, str]:
    """Return the headers of a request with a token."""
    return {
        "Authorization": f"Bearer {token}",
        "Accept": "application/vnd.github+json",
        "X-GitHub-Api-Version": "2022-11-28",
    }


class GithubApi:
    """A repository on GitHub: `owner/name`."""

    def __init__(self, client: HostClient, repository: str) -> None:
        self._client = client
        self._owner = repository.partition("/")[0]
        self._path = f"/repos/{quote(repository)}"

    async def post_status(self, status: CommitStatus) -> None:
        """Set a status: https://docs.github.com/en/rest/commits/statuses#create-a-commit-status ."""
        body = {
            "state": status.state.value,
            "context": status.context,
            "description": shorten_text(status.text, _MOST_TEXT),
            **({"target_url": status.target} if status.target else {}),
        }
        await self._client.require("POST", f"{self._path}/statuses/{status.commit}", body)

    async def open_pull_request(self, branch: str, base: str, text: PullText) -> PullRequest:
        """Open a pull request, or change the open one: https://docs.github.com/en/rest/pulls/pulls#create-a-pull-request ."""
        body = {"title": text.title, "body": text.body, "head": branch, "base": base}
        answer = await self._client.call("POST", f"{self._path}/pulls", body)
        find = partial(self._find_open, branch, base) if answer.status == _EXISTS else None  # also for other faults
        return await change_or_take(self, self._client, answer, find, _to_pull, text)

    async def _find_open(self, branch: str, base: str) -> PullRequest | None:
        query = urlencode({"state": "open", "head": f"{self._owner}:{branch}", "base": base})
        found = first_of(await self._client.require("GET", f"{self._path}/pulls?{query}"))
        return _to_pull(found) if found else None

    async def change_pull_request(self, number: int, text: PullText) -> PullRequest:
        """Change the text: https://docs.github.com/en/rest/pulls/pulls#update-a-pull-request ."""
        body = {"title": text.title, "body": text.body}
        return _to_pull(await self._client.require("PATCH", f"{self._path}/pulls/{number}", body))

    async def read_pull_request(self, number: int) -> PullRequest:
        """Read a pull request: https://docs.github.com/en/rest/pulls/pulls#get-a-pull-request ."""
        return _to_pull(await self._client.require("GET", f"{self._path}/pulls/{number}"))


def _to_pull(body: Any) -> PullRequest:
    try:
        is_merged = bool(body.get("merged") or body.get("merged_at"))
        state = PullState.MERGED if is_merged else PullState(body["state"])
        return build_pull(body["number"], body["html_url"], state)
    except (AttributeError, KeyError, TypeError, ValueError):
        raise RemoteRefused("The host does not answer as the API of GitHub does. Check host and hostUrl.") from None
