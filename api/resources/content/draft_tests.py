"""The tests of a project in its draft: the list with the result of each now, replaced or added to."""

from collections.abc import Sequence
from typing import Any

from falcon.asgi import Request, Response

from api.errors import invalid
from api.http.guard.access import author_of, grants, heavy
from api.http.guard.content_body import read_content
from api.http.request.parameters import read_draft_name
from api.runtime.jobs.background import run_in_process, run_in_thread
from content.checks.expectations import Expectation
from content.matching.request import parse_request
from content.records.problem import Problem
from gitstore.drafts.draft_tests import DraftTests
from gitstore.drafts.drafts import DraftName
from gitstore.store.store import Store


class DraftTestList:
    """The tests of a draft, in a body of at most `limit` bytes."""

    def __init__(self, store: Store, limit: int) -> None:
        self._store = store
        self._limit = limit

    @heavy
    @grants("project", "read")
    async def on_get(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """Run the tests of the draft, and show each with its place and its problem."""
        name = DraftName(project, read_draft_name(req))
        resp.media = await run_in_process(_show, self._store, namespace, name)

    @grants("project", "write")
    async def on_put(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """Replace the tests as one commit."""
        await self._write(req, resp, namespace, project, adds=False)

    @grants("project", "write")
    async def on_post(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """Add tests as one commit; those that are there already stay as they are."""
        await self._write(req, resp, namespace, project, adds=True)

    async def _write(self, req: Request, resp: Response, namespace: str, project: str, *, adds: bool) -> None:
        body = await read_content(req, "draft-tests-put", self._limit)
        tests = _read_tests(body["tests"])
        name, head = DraftName(project, read_draft_name(req)), body.get("head", "")
        done, total = await run_in_thread(
            self._store.drafts.write_tests, namespace, name, tests, author_of(req), head, adds=adds
        )
        resp.media = {"head": done, "total": total}


def _read_tests(items: Sequence[dict[str, Any]]) -> list[Expectation]:
    """Return the tests of a body; raises 422 for a URL that no client can request."""
    found = [Expectation(each["url"], each["status"], each.get("location", "")) for each in items]
    problems = [problem for place, test in enumerate(found) for problem in _url_problems(test.url, place)]
    if problems:
        raise invalid("A URL of the tests cannot be requested; nothing was changed.", problems, "invalid_body")
    return found


def _url_problems(url: str, place: int) -> list[Problem]:
    try:
        parse_request(url)
    except ValueError as ex:
        return [Problem("bad_url", f"The URL cannot be requested: {ex}", pointer=f"/tests/{place}/url")]
    return []


def _show(store: Store, namespace: str, name: DraftName) -> dict[str, Any]:
    found: DraftTests = store.drafts.tests(namespace, name)
    return {
        "head": found.head,
        "tests": [_show_test(test, problem) for test, problem in found.tests],
        "total": len(found.tests),
        "failed": sum(problem is not None for _, problem in found.tests),
        "problems": [problem.wire() for problem in found.problems],
    }


def _show_test(test: Expectation, problem: Problem | None) -> dict[str, Any]:
    shown: dict[str, Any] = {"url": test.url, "status": test.status, "location": test.location or None}
    return {**shown, "file": test.file, "line": test.line, "problem": problem.message if problem else None}
