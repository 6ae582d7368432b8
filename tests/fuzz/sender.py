"""Requests as the callers of a site, and a check of each answer against the contract.

Of the faults of an operation that look the same, the first one is kept.
"""

from base64 import b64encode
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.cookiejar import DefaultCookiePolicy
from typing import Any, Self

import requests
from requests.auth import AuthBase
from schemathesis.core.failures import FailureGroup

import schemas
from api.http.request.session_cookies import CSRF, CSRF_HEADER
from tests.fuzz.examples import STREAMS
from tests.fuzz.site import BEGUN, ROLES, Site

_SAFE = {"GET", "HEAD", "OPTIONS"}
_NONE = "999999"  # is no id of anything
_ENDING = {"logout"}
_CALLBACK = "openidCallback"
_IN_BROWSER = {"refreshBrowserSession", "closeBrowserSession"}
_READING_JSON = {"viewer", "admin"}  # of a login, whose tokens others get in cookies
_LONGEST_WAIT = 1  # seconds
_SECONDS = 120
_STREAM_SECONDS = 1  # a stream without an event is left after so long
_SILENT = 2  # streams that an agent, who sees no event, waits for
_FIRST_ERROR = 400
_TOO_LONG = 414
_GIT = {each.operation_id for each in schemas.operations() if each.scheme == "basic"}
_HEADERS = ("Cache-Control", "X-Request-Id")


class Sender:
    """The callers of a site, each with one connection; counts of their answers, and the faults in them."""

    def __init__(self, site: Site) -> None:
        self.counts: Counter[tuple[str, str, int]] = Counter()
        self.faults: dict[tuple[str, int, str], str] = {}
        self._site = site
        self._tokens = dict(site.tokens)
        self._open = ExitStack()
        self._sessions = {role: self._open.enter_context(requests.Session()) for role in ROLES}
        for session in self._sessions.values():
            session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))  # the token says who calls
            session.headers.clear()  # they would replace those of the case

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def send(self, role: str, name: str, case: Any) -> None:
        """Send a request as a role; check and count the answer. The case is as before, for the next role."""
        with self._browsing(case, name, role):
            self._send(role, name, case)

    def _send(self, role: str, name: str, case: Any) -> None:
        stream = name in STREAMS
        if stream and role == "agent" and self.counts[role, name, 200] >= _SILENT:
            return
        self._spare(case, name)
        given = ("basic", self._site.git_tokens) if name in _GIT else ("bearer", self._tokens)
        auth = _Credentials(given[0], given[1].get(role, ""))
        seconds = _STREAM_SECONDS if stream else _SECONDS
        try:
            answer = case.call(
                base_url=self._site.service.url, session=self._sessions[role], auth=auth, timeout=seconds
            )
        except requests.exceptions.InvalidHeader:  # nothing was sent
            return
        except requests.exceptions.Timeout:
            assert stream, f"no answer to {case.as_curl_command()}"
            return
        self.counts[role, name, answer.status_code] += 1
        if (
            answer.status_code == _TOO_LONG
        ):  # of the server, which reads no more of the request line, whatever it asks for
            return
        self._check(role, name, case, answer)
        if name in _ENDING and answer.status_code < _FIRST_ERROR and role in self._site.git_tokens.keys() - {"agent"}:
            self._tokens[role] = self._site.log_in(role)

    def _check(self, role: str, name: str, case: Any, answer: Any) -> None:
        try:
            case.validate_response(answer)
        except FailureGroup as ex:
            titles = ", ".join(sorted({str(getattr(each, "title", each)) for each in ex.exceptions}))
            self.faults.setdefault((name, answer.status_code, titles), f"as {role}: {ex}")
        lacking = [header for header in _HEADERS if header.lower() not in answer.headers]
        if lacking:
            self.faults.setdefault((name, answer.status_code, str(lacking)), f"as {role}: {case.as_curl_command()}")

    @contextmanager
    def _browsing(self, case: Any, name: str, role: str) -> Iterator[None]:
        """Give a case what is of the moment. Other cases are not set: one that is set loses whether it was meant to be valid."""
        changed = self._of_the_moment(case, name, role)
        kept = {each: getattr(case, each) for each in changed}
        for each, value in changed.items():
            setattr(case, each, value)
        try:
            yield
        finally:
            for each, value in kept.items():
                setattr(case, each, value)

    def _of_the_moment(self, case: Any, name: str, role: str) -> dict[str, Any]:
        """Return the parts of a request with the cookies of a browser, the state of a login, or a logout token."""
        if name == _CALLBACK:
            state, cookies = self._site.begin_login()
            begun = (case.query or {}).get("state") == BEGUN
            accept = {"Accept": "application/json"} if role in _READING_JSON else {}
            return {
                "cookies": cookies,
                "headers": {**(case.headers or {}), **accept},
                **({"query": {**case.query, "state": state}} if begun else {}),
            }
        if name in _IN_BROWSER and role in self._site.git_tokens.keys() - {"agent"}:
            cookies = self._site.open_browser(role)
            return {"cookies": cookies, "headers": {**(case.headers or {}), CSRF_HEADER: cookies[CSRF]}}
        if isinstance(case.body, dict) and case.body.get("logout_token") == BEGUN:
            token = self._site.provider.logout_token(sid=f"sid-fuzz-{self._site.part}")
            return {"body": {**case.body, "logout_token": token}}
        return {}

    def _spare(self, case: Any, name: str) -> None:
        """Let no call end the accounts and sessions of the callers, wait for minutes, or follow a stream without events."""
        for key, value in (case.path_parameters or {}).items():
            if case.method.upper() not in _SAFE and f"{_kind(case.operation.path, key)} {value}" in self._site.own:
                case.path_parameters[key] = _NONE
        if name in STREAMS:
            case.query = {**(case.query or {}), "after": 0}
            if _is_id((case.headers or {}).get("Last-Event-ID")):
                del case.headers["Last-Event-ID"]
        wait = (case.query or {}).get("timeout")
        if isinstance(wait, int) and wait > _LONGEST_WAIT:
            case.query["timeout"] = _LONGEST_WAIT


def _kind(path: str, parameter: str) -> str:
    """Return what a parameter of a path is the id of: the last word before it."""
    return path.partition(f"/{{{parameter}}}")[0].rpartition("/")[2]


def _is_id(value: Any) -> bool:
    return str(value).isdecimal()


class _Credentials(AuthBase):
    """The last word on the header of a request, which is generated too; none for a stranger."""

    def __init__(self, scheme: str, token: str) -> None:
        self._value = f"Bearer {token}" if scheme == "bearer" else f"Basic {b64encode(f'x:{token}'.encode()).decode()}"
        self._known = bool(token)

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers.pop("Authorization", None)
        if self._known:
            request.headers["Authorization"] = self._value
        return request
