"""Check of responses against the contract: status, headers and body are those of the operation in `openapi.yaml`."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any
from urllib.parse import unquote

import httpx

import schemas
from schemas import Operation

# headers that only some responses of an operation have
_SOMETIMES = {"Link", "RateLimit", "RateLimit-Policy", "Content-Digest", "Signature-Input", "Signature"}


def check_answer(method: str, path: str, answer: httpx.Response) -> None:
    """Fail unless the contract has such a response to this method on this path (raw, without its query)."""
    check_shape(answer)
    found = operations_at(path)
    if not found:
        assert answer.status_code == httpx.codes.NOT_FOUND, (
            f"{method} {path} is not a path of the contract: {describe(answer)}"
        )
        return
    operation = found.get("GET" if method == "HEAD" else method)
    if operation is None:
        _check_refused_method(found, answer)
    else:
        _check_operation(operation, answer, bodiless=method == "HEAD")


def check_shape(answer: httpx.Response) -> None:
    """Fail for a 500, an error in another shape, or a body with internal details."""
    assert answer.status_code != httpx.codes.INTERNAL_SERVER_ERROR, describe(answer)
    assert b"Traceback" not in answer.content, describe(answer)
    assert answer.headers["Cache-Control"], describe(answer)
    assert answer.headers["X-Content-Type-Options"] == "nosniff", describe(answer)
    assert answer.headers["X-Request-Id"], describe(answer)
    if answer.is_error and answer.request.method != "HEAD" and "/health/ready" not in str(answer.request.url):
        assert schemas.check("error", answer.json()) == [], describe(answer)


def operations_at(path: str) -> Mapping[str, Operation]:
    """Return the operations of a path by method; of two matching templates, those of the one with fewer parameters."""
    found = [template for template in _templates() if _pattern(template).fullmatch(unquote(path))]
    if not found:
        return {}
    template = min(found, key=lambda each: each.count("{"))
    return {each.method: each for each in schemas.operations() if each.path == template}


def describe(answer: httpx.Response) -> str:
    """Describe a response for a failure message."""
    return f"{answer.request.method} {answer.request.url}: {answer.status_code} {answer.content[:2000]!r}"


def _check_refused_method(found: Mapping[str, Operation], answer: httpx.Response) -> None:
    methods = {*found, *(["HEAD"] if "GET" in found else [])}
    assert answer.status_code == httpx.codes.METHOD_NOT_ALLOWED, describe(answer)
    assert set(answer.headers["Allow"].split(", ")) == methods, describe(answer)


def _check_operation(operation: Operation, answer: httpx.Response, *, bodiless: bool) -> None:
    described = _response(operation, answer.status_code)
    assert described is not None, f"{operation.operation_id} has no such response: {describe(answer)}"
    for name in described.get("headers", {}).keys() - _SOMETIMES:
        assert answer.headers.get(name), f"{operation.operation_id} lacks the header {name}: {describe(answer)}"
    kinds = described.get("content", {})
    if bodiless or not kinds:
        assert answer.content == b"", describe(answer)
        return
    assert answer.headers["Content-Type"].partition(";")[0] in kinds, describe(answer)
    schema = operation.responses[answer.status_code]
    if schema and answer.headers["Content-Type"].startswith("application/json"):
        problems = schemas.check(schema, answer.json())
        assert problems == [], f"{operation.operation_id} is not a valid {schema} ({problems}): {describe(answer)}"


def _response(operation: Operation, status: int) -> dict[str, Any] | None:
    document = schemas.openapi()
    responses = document["paths"][operation.path][operation.method.lower()]["responses"]
    found: dict[str, Any] | None = responses.get(str(status))
    if found and "$ref" in found:
        shared: dict[str, Any] = document["components"]["responses"][found["$ref"].rpartition("/")[2]]
        return shared
    return found


@cache
def _templates() -> tuple[str, ...]:
    return tuple(schemas.openapi()["paths"])


@cache
def _pattern(template: str) -> re.Pattern[str]:
    parts = re.split(r"\{\w+\}", template)
    return re.compile("[^/]+".join(map(re.escape, parts)))
