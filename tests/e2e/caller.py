"""A client of the service that checks every response against the contract before a test gets it."""

from typing import Any

import httpx

from tests.e2e.contract import check_answer, describe


class Caller:
    """Calls as the holder of a token (empty: without a token)."""

    def __init__(self, http: httpx.Client, token: str = "") -> None:
        self.http = http
        self.token = token

    def ask(self, method: str, path: str, status: int, **request: Any) -> httpx.Response:
        """Send a request and return the response, which must have this status; `request` is passed to httpx."""
        answer = self.send(method, path, **request)
        assert answer.status_code == status, describe(answer)
        return answer

    def send(self, method: str, path: str, **request: Any) -> httpx.Response:
        """Send a request and return the response, with any status."""
        headers = {**self._authorization(), **request.pop("headers", {})}
        answer = self.http.request(method, path, headers=headers, **request)
        check_answer(method, path.partition("?")[0], answer)
        return answer

    def get(self, path: str, **params: Any) -> Any:
        """Return the JSON of a 200."""
        return self.ask("GET", path, 200, params=params or None).json()

    def refused(self, method: str, path: str, status: int, code: str, **request: Any) -> Any:
        """Return the JSON of an error with this status and code."""
        found = self.ask(method, path, status, **request).json()
        assert found["error"] == code, found
        return found

    def _authorization(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}
