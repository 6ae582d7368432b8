"""Requests as the callers of a site, and a check of each answer against the contract.

Of the faults of an operation that look the same, the first one is kept.
"""

from base64 import b64encode
from collections import Counter
from contextlib import ExitStack
from http.cookiejar import DefaultCookiePolicy
from typing import Any, Self

import requests
from requests.auth import AuthBase
from schemathesis.core.failures import FailureGroup

import schemas
from tests.fuzz.examples import STREAMS
from tests.fuzz.site import ROLES, Site

_SAFE = {"GET", "HEAD", "OPTIONS"}
_NONE = "999999"  # is no id of anything
_ENDING = {"logout"}
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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def send(self, role: str, name: str, case: Any) -> None:
        """Send a request as a role; check and count the answer."""
        stream = name in STREAMS
        if stream and role == "agent" and self.counts[role, name, 200] >= _SILENT:
            return
        self._spare(case, name)
        auth = _Credentials("basic" if name in _GIT else "bearer", self._tokens.get(role, ""))
        seconds = _STREAM_SECONDS if stream else _SECONDS
        try:
            answer = case.call(base_url=self._site.url, session=self._sessions[role], auth=auth, timeout=seconds)
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
        if name in _ENDING and answer.status_code < _FIRST_ERROR and role in self._site.usernames:
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

    def _spare(self, case: Any, name: str) -> None:
        """Let no call end the accounts and sessions of the callers, wait for minutes, or follow a stream without events."""
        for key, value in (case.path_parameters or {}).items():
            if case.method.upper() not in _SAFE and str(value) in self._site.own:
                case.path_parameters[key] = _NONE
        if name in STREAMS:
            case.query = {**(case.query or {}), "after": 0}
            if _is_id((case.headers or {}).get("Last-Event-ID")):
                del case.headers["Last-Event-ID"]
        wait = (case.query or {}).get("timeout")
        if isinstance(wait, int) and wait > _LONGEST_WAIT:
            case.query["timeout"] = _LONGEST_WAIT


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
