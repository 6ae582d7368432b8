"""Examples of parameters and bodies that exist in a site, written into a copy of the contract."""

from collections.abc import Mapping
from typing import Any

from content.records.record import identity_id
from tests.e2e.world import PASSWORD, page, redirect
from tests.fuzz.site import BEGUN, PROJECT, SPARE

Known = Mapping[str, list[Any]]

STREAMS = {"followEvents", "streamAllEvents"}
_METHODS = {"get", "put", "post", "delete", "patch"}
_SCOPES = (
    ("/draft/redirects/", "redirects"),
    ("/draft/pages/", "pages"),
    ("/proposal/", "proposal"),
    ("/webhook/", "webhook"),
    ("/api/user/", "user"),
    ("/api/role/", "role"),
    ("/api/token/", "token"),
    ("/api/me/token/", "me_token"),
    ("/api/me/session/", "me_session"),
)
# What these operations remove is not what all others need.
_SPARES = {
    ("deleteProject", "project"): [SPARE],
    ("discardDraft", "draft"): ["spring"],
    ("deleteProposal", "head"): [],
    ("advertiseRefs", "Git-Protocol"): ["version=2"],
    ("getSchema", "name"): ["redirect"],
    ("getDiff", "from"): ["1", "published"],
    ("getDiff", "to"): ["2", "draft"],
    ("deleteAgent", "name"): ["agent-3"],
    ("openidCallback", "state"): [BEGUN],
    ("openidCallback", "code"): ["c0de"],
    ("openidCallback", "error"): [],
}


# That of the others is in use.
_SPARE_NAMESPACE = {"deleteNamespace", "restoreNamespace", "listArchivedNamespaces"}


def values_of(operation: str, path: str, name: str, known: Known) -> list[Any]:
    """Return the values of a parameter that exist, for an operation of this id and path; empty if none is known."""
    if name == "namespace" and operation in _SPARE_NAMESPACE:
        return known["spare"]
    if (operation, name) in _SPARES:
        return _SPARES[operation, name]
    scope = next((scope for part, scope in _SCOPES if part in path), "")
    if f"{operation}.{name}" in known:
        return known[f"{operation}.{name}"]
    return known.get(f"{scope}.{name}", known.get(name, []))


def bodies(known: Known) -> dict[str, list[Any]]:
    """Return bodies that the service accepts, by the id of their operation."""
    item, text, head = redirect("/by-example"), page("/by-example.txt"), known["head"][0]
    grants = [{"resource": "redirect", "action": "read"}]
    person = {"username": "by-example", "password": PASSWORD}
    login = {"username": known["username"][0], "password": PASSWORD}
    agent = {"name": "agent-1", "type": "default", "version": 2}
    until = "2027-06-01T00:00:00Z"
    return {
        "createDraftRedirect": [item],
        "replaceDraftRedirect": [redirect("/a", "/newer")],
        "updateDraftRedirect": [{"target": "/newest"}],
        "createDraftPage": [text],
        "replaceDraftPage": [page("/a.txt", "newer")],
        "updateDraftPage": [{"content": "newest"}],
        "changeDraft": [[{"op": "put", "kind": "redirect", "item": redirect("/by-list")}]],
        "revertDraft": [{"ids": [identity_id("/in-main")]}],
        "replaceInDraft": [{"find": "/new", "replace": "/old"}, {"set": {"addTags": ["new"]}}],
        "resolveDraft": [{"choices": [{"kind": "redirect", "id": identity_id("/a"), "field": "", "take": "draft"}]}],
        "reviewDraft": [{"action": "comment", "head": head, "note": "By example"}],
        "replaceDraftTests": [{"tests": [{"url": "/a", "status": 301}]}],
        "addDraftTests": [{"tests": [{"url": "/none", "status": 404}]}],
        "reopenVersion": [{"version": 1}],
        "publish": [{"message": "By example"}],
        "rollback": [{"version": 1}],
        "testUrls": [{"urls": ["/a", "/none"]}],
        "registerAgent": [agent],
        "registerCompatAgent": [agent],
        "createNamespace": [{"name": "by-example"}],
        "updateNamespace": [{"description": "By example"}],
        "createProject": [{"name": "by-example"}],
        "updateProject": [{"description": "By example"}],
        "createProposal": [{"branch": "feature/example", "project": PROJECT}],
        "reviewProposal": [{"action": "comment", "head": head, "note": "By example"}],
        "login": [login],
        "openBrowserSession": [login],
        "refresh": [{"refreshToken": token} for token in known["refreshToken"][:1]],
        "openidLogout": [{"logout_token": BEGUN}],
        "updateMe": [{"firstname": "By example"}],
        "createMyToken": [{"name": "by example", "expiresAt": until, "role": "viewer"}],
        "rotateMyToken": [{"overlap": 60}],
        "setUserIdentity": [{"subject": "by-example"}],
        "createUser": [person],
        "updateUser": [{"firstname": "By example"}],
        "createRole": [{"name": "by-example", "grants": grants}],
        "replaceRole": [{"grants": grants}],
        "createToken": [{"name": "by example", "grants": grants}],
        "rotateToken": [{"overlap": 60}],
        "createWebhook": [{"url": "https://receiver.invalid/hook"}],
        "updateWebhook": [{"description": "By example"}],
    }


def add_examples(document: dict[str, Any], known: Known) -> None:
    """Write examples into the contract; its schemas stay as they are."""
    accepted = bodies(known)
    for path, methods in document["paths"].items():
        common = methods.pop("parameters", [])
        for method in _METHODS & methods.keys():
            operation = methods[method]
            name = operation["operationId"]
            if operation.get("security") == [{"basic": []}]:
                # A generated header is replaced by the caller's, and its lack is no fault then.
                operation["security"] = []
            parameters = [_resolve(document, each) for each in (*common, *operation.get("parameters", []))]
            found = ((each, values_of(name, path, each["name"], known)) for each in parameters)
            operation["parameters"] = [{**each, **_examples(values)} for each, values in found]
            for media in operation.get("requestBody", {}).get("content", {}).values():
                media.update(_examples(accepted.get(name, [])))


def _resolve(document: dict[str, Any], parameter: dict[str, Any]) -> dict[str, Any]:
    """Return a parameter without references: schemathesis cannot follow them where examples are checked."""
    found = _find(document, parameter)
    schema = _find(document, found["schema"])
    return {
        **found,
        "schema": schema
        | ({"allOf": [_find(document, each) for each in schema["allOf"]]} if "allOf" in schema else {}),
    }


def _find(document: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in part:
        return part
    found: Any = document
    for word in part["$ref"].removeprefix("#/").split("/"):
        found = found[word]
    return dict(found)


def _examples(values: list[Any]) -> dict[str, Any]:
    return {"examples": {f"known-{at}": {"value": value} for at, value in enumerate(values)}} if values else {}
