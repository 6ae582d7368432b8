"""The comments of a pull request, by the API of the host that runs a CI job: GitHub, Gitea, Forgejo or GitLab.

The host and the pull request are those of the job's environment, which each host documents:
https://docs.github.com/en/actions/reference/workflows-and-actions/variables and
https://docs.gitlab.com/ci/variables/predefined_variables/. Gitea and Forgejo set the variables of GitHub.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.message import Message
from http import HTTPStatus
from http.client import HTTPException
from pathlib import Path
from typing import IO, Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, Request, build_opener

from cli.console.exits import CommandFailed
from cli.console.output import print_notes
from content.records.printable import escape_unprintable

TOKEN = "WAYPOST_COMMENT_TOKEN"  # noqa: S105 - the name of a variable
_REF = re.compile(r"refs/pull/([1-9][0-9]*)/")
_SECONDS = 30
_PAGE = 100  # comments of a response
_MOST_PAGES = 100
_MOST_BYTES = 50_000_000
_SHOWN = 200
# The accounts of a job's own token, which cannot ask for its account.
_JOB_ACCOUNTS = frozenset({"github-actions[bot]", "gitea-actions", "forgejo-actions"})


@dataclass(frozen=True, slots=True)
class PullRequest:
    """A pull request: the addresses of its comments, of one by its id, and of the account of the token."""

    name: str
    comments: str
    comment: str
    account: str
    update_method: str
    header: tuple[str, str]


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment with the login name of its author."""

    id: int
    text: str
    author: str


def find_pull_request(environment: Mapping[str, str]) -> PullRequest | None:
    """Return the pull request of this CI job; None if it runs for a branch. Raises CommandFailed outside a job."""
    if environment.get("GITHUB_ACTIONS"):
        return _github(environment)
    if environment.get("GITLAB_CI"):
        return _gitlab(environment)
    raise CommandFailed(
        "This is not a job of GitHub, GitLab, Gitea or Forgejo: neither GITHUB_ACTIONS nor GITLAB_CI is set."
    )


def _github(environment: Mapping[str, str]) -> PullRequest | None:
    number = _number(environment)
    if not number:
        return None
    api = _require(environment, "GITHUB_API_URL").rstrip("/")
    repository = quote(_require(environment, "GITHUB_REPOSITORY"))
    token = environment.get(TOKEN) or _require(environment, "GITHUB_TOKEN")
    issues = f"{api}/repos/{repository}/issues"
    return PullRequest(
        f"pull request {number}",
        f"{issues}/{number}/comments",
        f"{issues}/comments",
        f"{api}/user",
        "PATCH",
        ("Authorization", f"Bearer {token}"),
    )


def _number(environment: Mapping[str, str]) -> str:
    """Return the number of the pull request of a job of GitHub, from its ref or the event that it runs for."""
    if found := _REF.match(environment.get("GITHUB_REF", "")):
        return found[1]
    try:
        event = json.loads(Path(environment["GITHUB_EVENT_PATH"]).read_bytes())
        return str(int(event["pull_request"]["number"]))
    except (KeyError, OSError, TypeError, ValueError):
        return ""


def _gitlab(environment: Mapping[str, str]) -> PullRequest | None:
    number = environment.get("CI_MERGE_REQUEST_IID", "")
    if not number:
        return None
    api = _require(environment, "CI_API_V4_URL").rstrip("/")
    # A merge request from a fork runs in the fork; its comments are in the target.
    project = environment.get("CI_MERGE_REQUEST_PROJECT_ID") or _require(environment, "CI_PROJECT_ID")
    notes = f"{api}/projects/{quote(project, safe='')}/merge_requests/{quote(number, safe='')}/notes"
    header = ("PRIVATE-TOKEN", _require(environment, TOKEN))
    return PullRequest(f"merge request {number}", notes, notes, f"{api}/user", "PUT", header)


def _require(environment: Mapping[str, str], name: str) -> str:
    value = environment.get(name, "")
    if not value:
        raise CommandFailed(f"The variable {name} is not set. Give it to the step that runs waypost comment.")
    return value


class CommentClient:
    """A client of the comments of one pull request. Raises CommandFailed with the host's reason, never with the token."""

    def __init__(self, pull_request: PullRequest, author: str = "") -> None:
        self._at = pull_request
        self._author = author
        self._opener: OpenerDirector = build_opener(NoRedirects)

    def put(self, text: str, marker: str) -> str:
        """Create the comment, or update the own one that begins with the marker; return what was done."""
        own = self._own_names()
        found = next((each for each in self._list() if each.author in own and each.text.startswith(marker)), None)
        if found is None:
            made = self._ask("POST", self._at.comments, {"body": text})
            self._note_author(_comment(made), own)
            return "created"
        if found.text.replace("\r\n", "\n").strip() == text.strip():
            return "unchanged"
        self._ask(self._at.update_method, f"{self._at.comment}/{found.id}", {"body": text})
        return "updated"

    def _note_author(self, made: Comment | None, own: frozenset[str]) -> None:
        """Say that the next run will not find the comment, where its author is none of the own names."""
        if made and made.author and made.author not in own:
            print_notes(
                f"The comment's author is {self._clean(made.author)}, so the next run does not find it, and creates another. "
                "Name that account with --author, or the input `author` of the action or component."
            )

    def _own_names(self) -> frozenset[str]:
        """Return the names of the own account: a comment of anyone else is not updated, whatever it begins with."""
        if self._author:
            return frozenset({self._author})
        try:
            account = self._ask("GET", self._at.account)
        except _Refused:
            return _JOB_ACCOUNTS
        return frozenset({_login(account)} - {""}) if isinstance(account, dict) else frozenset()

    def _list(self) -> Iterator[Comment]:
        seen = set[int]()
        for page in range(1, _MOST_PAGES + 1):
            # `limit` is the name of `per_page` in Gitea
            found = self._ask("GET", f"{self._at.comments}?per_page={_PAGE}&limit={_PAGE}&page={page}")
            comments = [each for each in map(_comment, found if isinstance(found, list) else []) if each]
            yield from (each for each in comments if each.id not in seen)
            if not {each.id for each in comments} - seen:  # the end, or a host without pages
                return
            seen |= {each.id for each in comments}

    def _ask(self, method: str, url: str, body: object = None) -> Any:
        headers = dict([self._at.header]) | {
            "Accept": "application/json",
            "Content-Type": "application/json",
            "User-Agent": "waypost",
        }
        data = None if body is None else json.dumps(body).encode()
        if urlsplit(url).scheme not in {"http", "https"}:
            raise CommandFailed(f"{url[:_SHOWN]} is not an address of an API.")
        request = Request(url, data, headers, method=method)  # noqa: S310 - checked above
        try:
            with self._opener.open(request, timeout=_SECONDS) as response:
                return json.loads(response.read(_MOST_BYTES))
        except HTTPError as ex:
            with ex:
                raise self._refused(method, url, ex.code, ex.read(10_000)) from None
        except (URLError, HTTPException, OSError, ValueError) as ex:
            raise CommandFailed(f"{urlsplit(url).netloc} did not answer {method}: {self._clean(str(ex))}") from None

    def _refused(self, method: str, url: str, status: int, body: bytes) -> CommandFailed:
        try:
            message = str(json.loads(body)["message"])
        except (KeyError, TypeError, ValueError):
            message = ""
        reason = f"{status}{f' {self._clean(message)}' if message else ''}"
        kind = (
            _Refused
            if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND}
            else CommandFailed
        )
        hint = " The token needs the permission to write comments." if kind is _Refused else ""
        if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
            hint = " A redirect is not followed, since the token would go along. Check the address of the API."
        return kind(f"{urlsplit(url).netloc} refused {method} of a comment on {self._at.name}: {reason}.{hint}")

    def _clean(self, text: str) -> str:
        token = self._at.header[1].rpartition(" ")[2]
        return escape_unprintable(text.replace(token, "…"))[:_SHOWN]


class _Refused(CommandFailed):
    """The host does not let this token do that."""


class NoRedirects(HTTPRedirectHandler):
    """A redirect is an error: it would take the token to another address."""

    def redirect_request(
        self,
        req: Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: Message,
        newurl: str,
    ) -> None:
        """Follow none."""


def _comment(item: object) -> Comment | None:
    """Read one comment of a host; None for an entry of another shape, or a note of GitLab itself."""
    if not isinstance(item, dict) or item.get("system") or not isinstance(item.get("id"), int):
        return None
    author = item.get("user") or item.get("author")
    text = item.get("body")
    return Comment(item["id"], text, _login(author)) if isinstance(text, str) and isinstance(author, dict) else None


def _login(account: dict[str, Any]) -> str:
    return str(account.get("login") or account.get("username") or "")
