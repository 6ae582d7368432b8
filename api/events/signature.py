"""Signatures of webhooks as in Standard Webhooks: HMAC-SHA256 over id, time and body.

https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
"""

import base64
import binascii
import hashlib
import hmac
import os
from collections.abc import Iterable, Mapping

PREFIX = "whsec_"
_BYTES = 32


def mint_secret() -> str:
    """Create a secret: `whsec_` and 32 random bytes in base64."""
    return PREFIX + base64.b64encode(os.urandom(_BYTES)).decode()


def signed_headers(message: str, seconds: int, body: bytes, secrets: Iterable[str]) -> Mapping[str, str]:
    """Return the three headers of a message sent at a time in seconds since 1970; one signature for each secret."""
    return {
        "webhook-id": message,
        "webhook-timestamp": str(seconds),
        "webhook-signature": " ".join(sign(message, seconds, body, secret) for secret in secrets),
    }


def sign(message: str, seconds: int, body: bytes, secret: str) -> str:
    """Sign with one secret: `v1,` and base64; ValueError if the secret is invalid."""
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except binascii.Error as ex:
        raise ValueError("Invalid webhook secret. It must be whsec_ and base64.") from ex
    content = b"%b.%d.%b" % (message.encode(), seconds, body)
    return f"v1,{base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()}"
