"""The Git host of an upstream: its kind, the address of its API, and the repository there."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

from api.db.namespaces.upstreams import StoredUpstream
from api.upstreams.hosts.gitea import GiteaApi, gitea_headers
from api.upstreams.hosts.github import GithubApi, github_headers
from api.upstreams.hosts.gitlab import GitlabApi, gitlab_headers
from api.upstreams.hosts.host_api import HostApi
from api.upstreams.hosts.host_client import HostClient, HostNetwork
from gitstore.wire.client.remote_url import RemoteUrl, Transport, parse_url


class HostKind(Enum):
    """The kinds of hosts whose API is known; `none` is for an upstream without one."""

    GITHUB = "github"
    GITLAB = "gitlab"
    GITEA = "gitea"
    FORGEJO = "forgejo"
    NONE = "none"


class _Family(NamedTuple):
    """The API of a kind of host: its path below the host's address, its headers, its operations."""

    path: str
    headers: Callable[[str], dict[str, str]]
    open: Callable[[HostClient, str], HostApi]


_FAMILIES = {
    HostKind.GITHUB: _Family("/api/v3", github_headers, GithubApi),
    HostKind.GITLAB: _Family("/api/v4", gitlab_headers, GitlabApi),
    HostKind.GITEA: _Family("/api/v1", gitea_headers, GiteaApi),
    HostKind.FORGEJO: _Family("/api/v1", gitea_headers, GiteaApi),
}
_KNOWN = {"github.com": HostKind.GITHUB, "ssh.github.com": HostKind.GITHUB, "gitlab.com": HostKind.GITLAB}
_OWNED = 2
"""The parts of a repository's path: its owner and its name. On GitLab, the owner may have several."""
_GITHUB_API = parse_url("https://api.github.com")


@dataclass(frozen=True, slots=True)
class GitHost:
    """The host of an upstream: `base` is the address of its API, `repository` the path of the repository there."""

    kind: HostKind
    base: RemoteUrl
    repository: str

    def open(self, token: str, network: HostNetwork) -> HostApi:
        """Return the API of the repository, with a token."""
        family = _FAMILIES[self.kind]
        return family.open(HostClient(self.base, family.headers(token), network), self.repository)


def guess_kind(url: str) -> HostKind:
    """Return the kind of host that a URL shows: github.com and gitlab.com."""
    return _KNOWN.get(parse_url(url).host.lower().rstrip("."), HostKind.NONE)


def find_host(upstream: StoredUpstream) -> GitHost | None:
    """Return the host of an upstream, None for none; ValueError, with a message for users, where it cannot be."""
    kind = HostKind(upstream.host) if upstream.host else guess_kind(upstream.url)
    if kind is HostKind.NONE:
        return None
    url = parse_url(upstream.url)
    if url.transport is Transport.PATH:
        raise ValueError("A repository at a path has no host; host must be none.")
    family = _FAMILIES[kind]
    web = _web_address(upstream, url)
    base = _GITHUB_API if _is_github(kind, web) else web._replace(path=_api_path(web.path, family.path))
    root = web.path.strip("/").removesuffix(family.path.strip("/")).strip("/")
    repository = url.path.strip("/").removesuffix(".git")
    if root and url.transport is not Transport.SSH:  # a host below a path: https://example.com/git/acme/redirects
        if not repository.startswith(f"{root}/"):
            raise ValueError(f"The path of the URL is not below /{root}, the path of hostUrl.")
        repository = repository.removeprefix(f"{root}/")
    _require_repository(kind, repository)
    return GitHost(kind, base, repository)


def token_of(upstream: StoredUpstream) -> str:
    """Return the token for the API: its own, else the password."""
    return upstream.host_token or upstream.password


def _web_address(upstream: StoredUpstream, url: RemoteUrl) -> RemoteUrl:
    if upstream.host_url:
        found = parse_url(upstream.host_url)
        if found.transport not in {Transport.HTTP, Transport.HTTPS}:
            raise ValueError("The address of the host must begin with https:// or http://.")
        return found
    if url.transport is Transport.SSH:
        return RemoteUrl(Transport.HTTPS, "/", url.host, 443)
    return url._replace(path="/")


def _is_github(kind: HostKind, web: RemoteUrl) -> bool:
    return kind is HostKind.GITHUB and web.host.lower() in {"github.com", "ssh.github.com", "api.github.com"}


def _api_path(path: str, tail: str) -> str:
    stem = path.rstrip("/")
    return stem if stem.endswith(tail) else stem + tail


def _require_repository(kind: HostKind, repository: str) -> None:
    parts: list[Any] = repository.split("/")
    if not all(parts) or len(parts) < _OWNED or (kind is not HostKind.GITLAB and len(parts) > _OWNED):
        raise ValueError(
            f"The URL's path {repository[:100]!r} is not that of a repository on {kind.value}. Set hostUrl to the address of "
            "the host, with its path."
        )
