"""The snippet for receivers of webhooks: accepts exactly the signatures of the service."""

import time
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from api.events.signature import mint_secret, signed_headers
from tests.docs.blocks import blocks
from tests.service import ROOT

BODY = b'{"type":"ping","timestamp":"2026-11-20T12:00:00Z","data":{}}'
SECRET = mint_secret()


@pytest.fixture(scope="module")
def verify() -> Callable[[str, Mapping[str, str], bytes], Any]:
    """Return the function of the how-to page."""
    text = (ROOT / "docs" / "how-to" / "receive-webhooks.md").read_text("utf-8")
    (snippet,) = (block.text for block in blocks(text) if block.words == ("python", "verify"))
    names: dict[str, Any] = {}
    exec(snippet, names)  # noqa: S102 - a document of the project, which readers run too
    found: Callable[[str, Mapping[str, str], bytes], Any] = names["verify"]
    return found


def signed(ago: int = 0, *secrets: str) -> dict[str, str]:
    return dict(signed_headers("msg_1", int(time.time()) - ago, BODY, secrets or (SECRET,)))


def test_what_the_service_signs_is_taken(verify: Callable[..., Any]) -> None:
    assert verify(SECRET, signed(), BODY)["type"] == "ping"
    assert verify(SECRET, signed(0, mint_secret(), SECRET), BODY)["type"] == "ping"


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        (signed(ago=3600), BODY),
        (signed(ago=-3600), BODY),
        (signed(0, mint_secret()), BODY),
        (signed(), BODY.replace(b"ping", b"pong")),
        ({**signed(), "webhook-id": "msg_2"}, BODY),
        ({**signed(), "webhook-signature": "v1,"}, BODY),
        ({**signed(), "webhook-signature": ""}, BODY),
    ],
)
def test_what_is_old_changed_or_signed_by_another_is_not(
    verify: Callable[..., Any], headers: dict[str, str], body: bytes
) -> None:
    with pytest.raises(ValueError, match=r"old|signed"):
        verify(SECRET, headers, body)
