"""`openapi.yaml`: complete, consistent, and served as one document."""

import json
import re
from typing import Any

import jsonschema_rs
import pytest

import schemas
from schemas import Operation
from tests.schemas import examples
from tests.schemas.oracle import subschemas

P = "/api/namespace/{namespace}/project/{project}"
ENDPOINTS = {
    f"{P}/version": "GET",
    f"{P}/redirects": "GET",
    f"{P}/pages": "GET",
    f"{P}/versions/{{version}}/redirects": "GET",
    f"{P}/versions/{{version}}/pages": "GET",
    f"{P}/changes": "GET",
    f"{P}/manifest": "GET",
    f"{P}/versions/{{version}}/manifest": "GET",
    f"{P}/agents": "GET POST",
    f"{P}/agents/{{name}}": "GET DELETE",
    f"{P}/agents/{{name}}/hit": "PATCH",
    f"{P}/draft": "GET POST DELETE",
    f"{P}/draft/redirects": "GET POST",
    f"{P}/draft/redirects/{{id}}": "GET PUT PATCH DELETE",
    f"{P}/draft/pages": "GET POST",
    f"{P}/draft/pages/{{id}}": "GET PUT PATCH DELETE",
    f"{P}/draft/changes": "GET POST",
    f"{P}/draft/review": "GET POST",
    f"{P}/draft/diff": "GET",
    f"{P}/draft/shared": "GET",
    f"{P}/draft/tests": "GET PUT POST",
    f"{P}/drafts": "GET",
    f"{P}/draft/fixes": "GET POST",
    f"{P}/draft/revert": "POST",
    f"{P}/draft/replace": "POST",
    f"{P}/draft/resolve": "POST",
    f"{P}/publish": "POST",
    f"{P}/rollback": "POST",
    f"{P}/history": "GET",
    f"{P}/history/{{version}}": "GET",
    f"{P}/history/{{version}}/review": "GET",
    f"{P}/diff": "GET",
    f"{P}/import": "POST",
    f"{P}/export": "GET",
    f"{P}/test": "POST",
    f"{P}/lint": "GET",
    P: "GET PATCH DELETE",
    f"/compat/flecto{P}/version": "GET",
    f"/compat/flecto{P}/redirects": "GET",
    f"/compat/flecto{P}/pages": "GET",
    f"/compat/flecto{P}/agents": "POST",
    f"/compat/flecto{P}/agents/{{name}}/hit": "PATCH",
    "/compat/flecto/health/ping": "GET",
    "/api/overview": "GET",
    "/api/namespaces": "GET POST",
    "/api/namespaces/archived": "GET",
    "/api/namespace/{namespace}/restore": "POST",
    "/api/namespace/{namespace}": "GET PATCH DELETE",
    "/api/namespace/{namespace}/projects": "GET POST",
    "/api/namespace/{namespace}/proposals": "GET POST",
    "/api/namespace/{namespace}/proposal/{id}": "GET DELETE",
    "/api/namespace/{namespace}/proposal/{id}/merge": "POST",
    "/api/namespace/{namespace}/proposal/{id}/review": "GET POST",
    "/api/namespace/{namespace}/proposal/{id}/update": "POST",
    "/api/namespace/{namespace}/events": "GET",
    "/api/namespace/{namespace}/upstream": "GET PUT DELETE",
    "/api/namespace/{namespace}/upstream/sync": "POST",
    "/api/namespace/{namespace}/upstream/suspend": "POST",
    "/api/namespace/{namespace}/upstream/resume": "POST",
    "/api/namespace/{namespace}/upstream/webhook": "POST",
    "/api/namespace/{namespace}/webhooks": "GET POST",
    "/api/namespace/{namespace}/webhook/{id}": "GET PATCH DELETE",
    "/api/namespace/{namespace}/webhook/{id}/rotate": "POST",
    "/api/namespace/{namespace}/webhook/{id}/ping": "POST",
    "/api/namespace/{namespace}/webhook/{id}/deliveries": "GET",
    "/api/namespace/{namespace}/webhook/{id}/delivery/{delivery}": "GET",
    "/api/namespace/{namespace}/webhook/{id}/delivery/{delivery}/redeliver": "POST",
    "/api/me": "GET PATCH",
    "/api/users": "GET POST",
    "/api/user/{id}": "GET PATCH DELETE",
    "/api/roles": "GET POST",
    "/api/role/{name}": "GET PUT DELETE",
    "/api/tokens": "GET POST",
    "/api/token/{id}": "GET DELETE",
    "/api/token/{id}/rotate": "POST",
    "/api/permissions": "GET",
    "/api/audit": "GET",
    "/api/audit/export": "GET",
    "/auth/login": "POST",
    "/auth/refresh": "POST",
    "/auth/logout": "POST",
    "/.well-known/waypost-keys": "GET",
    "/api/me/sessions": "GET DELETE",
    "/api/me/session/{id}": "DELETE",
    "/api/me/tokens": "GET POST",
    "/api/me/token/{id}": "DELETE",
    "/api/me/token/{id}/rotate": "POST",
    "/api/user/{id}/identity": "GET PUT DELETE",
    "/api/user/{id}/sessions": "GET DELETE",
    "/api/user/{id}/session/{session}": "DELETE",
    "/auth/openid/logout": "POST",
    "/auth/session": "POST DELETE",
    "/auth/session/refresh": "POST",
    "/auth/openid": "GET",
    "/auth/openid/callback": "GET",
    "/git/{namespace}.git/info/refs": "GET",
    "/git/{namespace}.git/git-upload-pack": "POST",
    "/git/{namespace}.git/git-receive-pack": "POST",
    "/": "GET",
    "/dashboard": "GET",
    "/dashboard/{view}": "GET",
    "/assets/{name}": "GET",
    "/licences": "GET",
    "/api/events": "GET",
    "/health/ping": "GET",
    "/health/ready": "GET",
    "/metrics": "GET",
    "/openapi.json": "GET",
    "/schemas/{name}": "GET",
}
OPERATIONS = schemas.operations()
WITHOUT_STORE = {"listPermissions"}
operation = pytest.mark.parametrize("found", OPERATIONS, ids=lambda found: found.operation_id)


def described(found: Operation) -> dict[str, Any]:
    """Return the operation from the document."""
    part: dict[str, Any] = schemas.openapi()["paths"][found.path][found.method.lower()]
    return part


def parameters(found: Operation) -> list[dict[str, Any]]:
    """Return all parameters of an operation, references followed."""
    document = schemas.openapi()
    listed = [*document["paths"][found.path].get("parameters", []), *described(found).get("parameters", [])]
    return [document["components"]["parameters"][each["$ref"].rpartition("/")[2]] for each in listed]


def test_every_endpoint_is_described() -> None:
    """Every path and method is in the document, and the document has no others."""
    found = {(each.path, each.method) for each in OPERATIONS}
    assert found == {(path, method) for path, methods in ENDPOINTS.items() for method in methods.split()}


def test_operations_are_distinguished_by_their_ids() -> None:
    """Client generators name their functions by these ids."""
    assert len({each.operation_id for each in OPERATIONS}) == len(OPERATIONS)


def test_every_reference_leads_somewhere_in_the_same_document() -> None:
    """/openapi.json is complete without other files."""
    document = schemas.openapi()
    for part in subschemas(document):
        reference = part.get("$ref")
        if isinstance(reference, str):
            target: Any = document
            assert reference.startswith("#/")
            for step in reference[2:].split("/"):
                target = target[step]


def test_everything_shared_is_used() -> None:
    """No parameter, header or response is left over."""
    document = schemas.openapi()
    used = {part["$ref"] for part in subschemas(document) if isinstance(part.get("$ref"), str)}
    for kind in ("parameters", "headers", "responses"):
        assert {f"#/components/{kind}/{name}" for name in document["components"][kind]} <= used


def test_the_document_is_json_and_names_its_version() -> None:
    """The served document is the one that tools read."""
    document = json.loads(schemas.openapi_bytes())
    assert document == schemas.openapi()
    assert document["openapi"].startswith("3.1.")


@operation
def test_the_parameters_of_a_path_are_those_in_its_braces(found: Operation) -> None:
    """Each is described, required, and in the path."""
    in_path = [each for each in parameters(found) if each["in"] == "path"]
    assert sorted(each["name"] for each in in_path) == sorted(re.findall(r"{(\w+)}", found.path))
    assert all(each["required"] for each in in_path)


@operation
def test_an_operation_has_a_description(found: Operation) -> None:
    """Each has a line for people, under a heading, with every parameter explained."""
    part = described(found)
    assert part["summary"]
    assert set(part["tags"]) <= {each["name"] for each in schemas.openapi()["tags"]}
    assert all(each["description"] for each in parameters(found))


@operation
def test_access_is_declared_and_answered(found: Operation) -> None:
    """Public operations need no token; all others can answer 401, and those that need a grant 403."""
    assert found.audience in {"public", "any", "grant"}
    assert (found.audience == "grant") == bool(found.accepted)
    # An empty requirement makes the token optional: https://spec.openapis.org/oas/v3.1.0#security-requirement-object
    needs_no_token = described(found).get("security") in ([], [{}, {"bearer": []}])
    assert needs_no_token == (found.audience == "public")
    if found.audience != "public":
        assert found.responses[401] == "error"
    if found.audience == "grant":
        # To Git, what it may not read does not exist.
        assert found.responses[404 if found.scheme == "basic" else 403] == "error"


@operation
def test_grants_are_words_that_a_grant_can_hold(found: Operation) -> None:
    """A token can be given the resource and the action."""
    fields = schemas.openapi()["components"]["schemas"]["fields"]["$defs"]["grant"]["properties"]
    for resource, action in found.accepted:
        assert resource in fields["resource"]["enum"]
        assert action in fields["action"]["enum"]


@operation
def test_every_error_has_the_one_shape(found: Operation) -> None:
    """Readiness is the exception: it reports its problems in a shape of its own."""
    for status, body in found.responses.items():
        if status >= 400:
            assert body == ("ready" if found.path == "/health/ready" else "error")


@operation
def test_an_operation_with_a_body_can_refuse_it(found: Operation) -> None:
    """The body may be malformed, too large, of another media type, or invalid."""
    if "requestBody" in described(found):
        assert {400, 413, 415} <= found.responses.keys()
        # The form of a provider has only 400, by OpenID Connect Back-Channel Logout 1.0, section 2.8.
        assert found.scheme == "basic" or found.operation_id == "openidLogout" or 422 in found.responses


@operation
def test_what_needs_the_store_can_say_that_it_is_away(found: Operation) -> None:
    """A broken repository or database is 503, never 404 and never an empty list."""
    if found.path.startswith(("/api/", "/compat/flecto/api/")) and found.operation_id not in WITHOUT_STORE:
        assert found.responses[503] == "error"


@operation
def test_a_list_takes_a_window(found: Operation) -> None:
    """Every operation with a list envelope takes limit and offset, and refuses malformed ones."""
    answer = found.responses.get(200)
    properties = schemas.openapi()["components"]["schemas"][answer].get("properties", {}) if answer else {}
    if {"items", "total"} <= properties.keys():
        assert {"limit", "offset"} <= {each["name"] for each in parameters(found)}
        assert found.responses[400] == "error"


def test_agent_endpoints_keep_their_contract() -> None:
    """The endpoints of agents answer as they always have."""
    by_route = {(each.method, each.path): each for each in OPERATIONS}
    assert by_route["POST", f"{P}/agents"].responses[200] is None
    assert by_route["PATCH", f"{P}/agents/{{name}}/hit"].responses[200] is None
    assert by_route["GET", f"{P}/redirects"].accepted == (("redirect", "read"),)
    assert by_route["GET", f"{P}/pages"].accepted == (("page", "read"),)
    assert by_route["POST", f"{P}/agents"].accepted == (("agent", "write"),)
    assert by_route["GET", "/health/ping"].responses == {204: None}
    assert {401, 403} <= by_route["POST", "/auth/login"].responses.keys()
    window = {each["name"]: each["schema"] for each in parameters(by_route["GET", f"{P}/redirects"])}
    assert (window["limit"]["default"], window["offset"]["default"]) == (500, 0)


@pytest.mark.parametrize("name", examples.described())
def test_a_schema_inside_the_document_has_the_verdicts_of_its_file(name: str) -> None:
    """Bundling moves references and changes nothing else."""
    document = schemas.openapi()
    bundled = jsonschema_rs.Draft202012Validator(
        {"$ref": f"#/components/schemas/{name}", "components": document["components"]}, offline=True
    )
    assert all(bundled.is_valid(data) for data in examples.valid(name))
    for case in examples.invalid():
        only_inexact = all(code == "wrong_type" for code, _ in case.problems)  # a plain validator takes 3.0 for 3
        if case.schema == name and not only_inexact:
            assert not bundled.is_valid(case.data)
