"""The conforming provider as a process, and a person who logs in at its pages."""

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import httpx

from tests.openid_provider import CLIENT, SECRET
from tests.service import ROOT

ENVIRONMENT = ROOT / ".venv" / "openid"
_SCRIPT = ROOT / "tests" / "openid" / "provider.mjs"
_MOST_STEPS = 12


@contextmanager
def conforming_provider(service: str) -> Iterator[str]:
    """Run the provider for a service at this address; give its issuer."""
    script = ENVIRONMENT / _SCRIPT.name  # beside its packages, where Node looks for them
    script.write_bytes(_SCRIPT.read_bytes())
    command = [str(ROOT / ".venv" / "bin" / "node"), str(script), CLIENT, SECRET, service]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            issuer = process.stdout.readline().decode().strip()
            assert issuer, "the provider did not start"
            yield issuer
        finally:
            process.stdin.close()
            process.wait(10)


class Person:
    """A person with a browser: one jar of cookies for the provider and the service, as for two ports of one host."""

    def __init__(self) -> None:
        self.http = httpx.Client(timeout=30)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    def log_in(self, service: str) -> httpx.Response:
        """Log in at the provider's pages; return the response of the service's callback."""
        return self.http.get(self.approve(service))

    def approve(self, service: str) -> httpx.URL:
        """Log in at the provider's pages; return the address of the callback, without a request to it."""
        url = self.http.get(f"{service}/auth/openid").json()["authUrl"]
        assert "eyJ" not in url
        answer = self.http.get(url)
        for _ in range(_MOST_STEPS):
            target = answer.headers.get("location", "")
            if target.startswith(f"{service}/auth/openid/callback"):
                return httpx.URL(target)
            answer = self.http.get(answer.url.join(target)) if answer.is_redirect else self._submit(answer)
        raise AssertionError(f"no callback: {answer.url} {answer.text[:500]}")

    def log_out_of_provider(self, url: str) -> httpx.Response:
        """Confirm the logout at the provider's page."""
        answer = self.http.get(url)
        return self._submit(answer, logout="yes")

    def _submit(self, answer: httpx.Response, **more: str) -> httpx.Response:
        action = re.search(r'<form[^>]* action="([^"]+)"', answer.text)
        assert action, f"{answer.status_code} {answer.text[:1000]}"
        hidden = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', answer.text))
        form = {**hidden, "login": "ada", "password": "x", **more}
        return self.http.post(answer.url.join(action[1]), data=form)


def require_environment() -> Path:
    """Return the folder of the provider's packages; `make test` sets it up."""
    assert (ENVIRONMENT / "node_modules" / "oidc-provider").is_dir(), "run: make .venv/openid.done"
    return ENVIRONMENT
