"""The contract as schemathesis reads it, with examples that exist in a site, and its checks of answers."""

import copy
from typing import Any

import schemathesis
from hypothesis import strategies as st
from schemathesis.config import SchemathesisConfig

import schemas
from tests.fuzz.examples import Known, add_examples

# Refused for its caller, for what exists (also by its If-Match), or by rules that no schema can state: those of RE2, of names in Git, of two
# parameters that exclude each other. All other errors to what is valid by its schema are a fault.
_ACCEPTED = ["2xx", "3xx", "400", "401", "403", "404", "409", "410", "412", "422"]
# These send requests of their own, or remember former ones: tests/e2e/test_access.py is about them.
_LEFT_OUT = (
    "ignored_auth",
    "use_after_free",
    "ensure_resource_availability",
    "object_level_authorization",
)

_ACCEPTING = ("importRedirects",)  # an empty file is one without its header, which the report says


def load(known: Known) -> Any:
    """Return the schema of schemathesis."""
    for media in ("upload", "receive"):
        schemathesis.openapi.media_type(f"application/x-git-{media}-pack-request", st.binary(max_size=200))
    document = copy.deepcopy(schemas.openapi())
    add_examples(document, known)
    return schemathesis.openapi.from_dict(document, config=SchemathesisConfig.from_dict(_config()))


def _config() -> dict[str, Any]:
    expected: dict[str, Any] = {"positive_data_acceptance": {"expected-statuses": _ACCEPTED}}
    off: dict[str, Any] = {name: {"enabled": False} for name in _LEFT_OUT}
    return {
        "max-stream-events": 1,  # streams of events end when their client does
        "max-redirects": 0,
        "checks": {**expected, **off},
        "operations": [
            {"include-operation-id": name, "checks": {"negative_data_rejection": {"enabled": False}}}
            for name in _ACCEPTING
        ],
    }
