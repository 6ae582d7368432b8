"""A named fake of agents that are older than this service, with the same strictness and the same omissions.

It reads a bare integer as the version, fails at any status but 200, pages by 100 until the offset reaches the total,
ignores links, has no timeout, and stops permanently at the first regular expression that RE2 does not compile.
"""

from dataclasses import dataclass, field
from typing import Any

import httpx
import re2

PAGE = 100
REGEXES = ("REGEX", "REGEX_HOST")


class Refused(Exception):
    """The service sent a response that such an agent does not accept."""


class Stopped(Exception):
    """The agent stopped, and does not restart by itself."""


@dataclass
class FlectoAgent:
    """An agent of a project; `http` is a client of the service without a timeout."""

    http: httpx.Client
    token: str
    path: str
    name: str
    base: str = "/compat/flecto"
    version: int = 0
    redirects: list[Any] = field(default_factory=list)
    pages: list[Any] = field(default_factory=list)
    stopped: str = ""
    reports: int = 0
    heartbeats: int = 0

    def poll(self) -> bool:
        """Run one round: load and report a new version, or send a heartbeat; return whether the version was new."""
        if self.stopped:
            raise Stopped(self.stopped)
        version = self._read_version()
        if version == self.version:
            self._ask("PATCH", f"/agents/{self.name}/hit")
            self.heartbeats += 1
            return False
        redirects, pages = self.read("/redirects"), self.read("/pages")
        self.compile(redirects)
        self.redirects, self.pages, self.version = redirects, pages, version
        self._report()
        return True

    def compile(self, redirects: list[Any]) -> None:
        """Compile every regular expression; one that fails stops the agent."""
        options = re2.Options()
        options.log_errors = False
        for item in redirects:
            try:
                if item["type"] in REGEXES:
                    re2.compile(item["source"], options)
            except re2.error as ex:
                self.stopped = f"{item['source']}: {ex}"
                raise Stopped(self.stopped) from ex

    def _read_version(self) -> int:
        text = self._ask("GET", "/version").content
        if not text.isdigit():
            raise Refused(f"{text!r} is not an integer")
        return int(text)

    def read(self, tail: str, limit: int = PAGE) -> list[Any]:
        """Read a list, window by window."""
        items: list[Any] = []
        offset = 0
        while True:
            found = self._ask("GET", f"{tail}?limit={limit}&offset={offset}").json()
            items += found["items"]
            offset += limit
            if offset >= found["total"]:
                return items

    def _report(self) -> None:
        body = {"name": self.name, "type": "traefik", "version": self.version, "status": "success"}
        self._ask("POST", "/agents", json={**body, "load_duration": 1_000_000, "hostname": "edge.example"})
        self.reports += 1

    def _ask(self, method: str, tail: str, **request: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.token}"}
        answer = self.http.request(method, self.base + self.path + tail, headers=headers, **request)
        if answer.status_code != httpx.codes.OK:
            raise Refused(f"{method} {tail}: {answer.status_code} {answer.text}")
        return answer
