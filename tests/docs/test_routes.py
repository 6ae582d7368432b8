"""The overview of the API: every route with its grants, and every query parameter."""

import re

import schemas
from api.auth.permissions.grants import PROJECT_ACTIONS
from tests.docs.blocks import code, rows
from tests.docs.reference import page

PROJECT = "/api/namespace/{namespace}/project/{project}"
READS = {(resource, "read") for resource in PROJECT_ACTIONS}


def test_every_route_is_listed_with_what_it_needs() -> None:
    listed = {(row[0], needs_of(row[1])) for row in routes()}
    wanted = {
        (f"`{each.method} {shown(each.path)}`", needs(each.audience, each.accepted)) for each in schemas.operations()
    }
    assert listed - wanted == set(), "listed, but not there"
    assert wanted - listed == set(), "there, but not listed"


def routes() -> list[list[str]]:
    return [row for row in rows(page("http-api.md")) if re.match(r"`[A-Z]+ ", row[0])]


def shown(path: str) -> str:
    return path.replace(PROJECT, "P" if path.startswith(PROJECT) else "/P")


def needs(audience: str, accepted: tuple[tuple[str, str], ...]) -> str:
    if audience != "grant":
        return audience
    return "any read" if set(accepted) == READS else " ".join(f"{resource}:{action}" for resource, action in accepted)


def needs_of(cell: str) -> str:
    return code(cell) or cell


def test_every_query_parameter_is_named_in_the_overview() -> None:
    text = page("http-api.md")
    parameters = schemas.openapi()["components"]["parameters"].values()
    names = {each["name"] for each in parameters if each["in"] == "query"}
    assert [name for name in sorted(names) if not re.search(rf"`[?&]?{name}\b", text)] == []
