"""The common parts of the answers of hosts about pull requests: numbers and addresses, and one that exists already."""

from collections.abc import Awaitable, Callable
from typing import Any

from api.upstreams.hosts.host_api import HostApi, PullRequest, PullState, PullText
from api.upstreams.hosts.host_client import HostAnswer, HostClient

_LARGEST_NUMBER = 2**31 - 1  # that the database can store
_MOST_URL = 2_000


def build_pull(number: Any, url: Any, state: PullState) -> PullRequest:
    """Return a pull request of what a host answers. Raises ValueError for values that it cannot have."""
    if type(number) is not int or not 1 <= number <= _LARGEST_NUMBER:  # neither true nor 1.0
        raise ValueError(number)
    if not isinstance(url, str) or not url.startswith(("https://", "http://")):
        raise ValueError(url)
    return PullRequest(number, url[:_MOST_URL], state)


def first_of(found: Any) -> Any:
    """Return the first one of a list, None without any."""
    return found[0] if isinstance(found, list) and found else None


async def change_or_take(
    api: HostApi,
    client: HostClient,
    opened: HostAnswer,
    find: Callable[[], Awaitable[PullRequest | None]] | None,
    read: Callable[[Any], PullRequest],
    text: PullText,
) -> PullRequest:
    """Return the pull request that was opened. `find` finds the open one where the answer says that there is one."""
    found = await find() if find else None
    if found:
        return await api.change_pull_request(found.number, text)
    if not opened.is_success:
        raise client.refusal(opened)
    return read(opened.body)
