"""What a state of a project does and what is wrong with it: test, lint, diff."""

from typing import Any

from falcon.asgi import Request, Response

from api import wire
from api.access import grants, readable_kinds
from api.background import in_thread, in_worker
from api.body import read_json
from api.errors import invalid
from api.parameters import read_draft, read_text
from api.redaction import redact_problems
from api.served import Served
from api.sights import readable_state
from content.diff import count
from content.matching import Matcher
from content.problem import Problem
from content.request import Request as Asked
from content.request import parse_request
from gitstore.states import DRAFT, PUBLISHED
from gitstore.store import Store


class Test:
    """What requests are answered with."""

    def __init__(self, served: Served, store: Store) -> None:
        self._served = served
        self._store = store

    @grants("redirect", "read")
    async def on_post(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """Each URL's answer, rule, file and line, losing candidates, and the chain that follows."""
        body = await read_json(req, "test-request")
        asked = _parse(body["urls"])
        word = str(body.get("at", PUBLISHED))
        at = await readable_state(req, self._store, "redirect", namespace, project, word)
        if at == PUBLISHED:
            matcher = (await self._served.project(namespace, project)).release.matcher
            found = await in_thread(answer_all, matcher, asked)
        else:
            found = await in_worker(_answer_at, self._store, namespace, project, at, read_draft(req), asked)
        resp.media = {"results": found}


class Lint:
    """What is wrong or doubtful."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @grants("project", "read")
    async def on_get(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """Every error and warning of a state of the project: `?at=` published, draft, or a version."""
        at = read_text(req, "at") or PUBLISHED
        problems = await in_worker(self._store.lint, namespace, project, at, read_draft(req))
        shown = redact_problems(problems, readable_kinds(req, namespace, project))
        resp.media = {"problems": [problem.wire() for problem in shown]}


class Diff:
    """What leads from one state to another."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @grants("project", "read")
    async def on_get(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """Rule by rule and field by field, from `?from=` (published) to `?to=` (draft)."""
        old, new = read_text(req, "from") or PUBLISHED, read_text(req, "to") or DRAFT
        whole, files = await in_worker(self._store.difference, namespace, project, old, new, read_draft(req))
        found = {kind: whole[kind] for kind in readable_kinds(req, namespace, project)}
        totals = {kind: count(changes) for kind, changes in found.items()}
        shown = {"files": wire.files(files), "changes": wire.changes(found)}
        resp.media = {"from": old, "to": new, "counts": wire.counts(totals), **shown}


def answer_all(matcher: Matcher, asked: list[tuple[str, Asked]]) -> list[dict[str, Any]]:
    """The answers of a state's rules, in the order asked."""
    return [wire.answer(url, matcher.answer(request), matcher.follow(request)) for url, request in asked]


def _answer_at(
    store: Store, namespace: str, project: str, at: str, draft: str, asked: list[tuple[str, Asked]]
) -> list[dict[str, Any]]:
    return answer_all(store.matcher(namespace, project, at, draft), asked)


def _parse(urls: list[str]) -> list[tuple[str, Asked]]:
    asked, problems = [], []
    for position, url in enumerate(urls):
        try:
            asked.append((url, parse_request(url)))
        except ValueError as ex:
            problems.append(Problem("bad_url", str(ex), pointer=f"/urls/{position}"))
    if problems:
        raise invalid("Some of the URLs cannot be asked; the problems say which.", problems)
    return asked
