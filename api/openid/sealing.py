"""Small records that only this service can read and write: the state of a login in its browser, and tokens at rest."""

import hmac
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import orjson
from joserfc import jwe
from joserfc.errors import JoseError
from joserfc.jwk import OctKey

from api.auth.logins.keyring import Key, Ring

_MOST = 16_384  # characters
_ALGORITHMS = ["dir", "A256GCM"]


def seal(ring: Ring, now: datetime, purpose: str, record: Mapping[str, Any]) -> str:
    """Encrypt a record with the signing key; it can be opened for the same purpose only."""
    key = ring.signing(now)
    header = {"alg": "dir", "enc": "A256GCM", "kid": key.kid}
    return jwe.encrypt_compact(header, orjson.dumps(record), _derive(key, purpose), algorithms=_ALGORITHMS)


def unseal(ring: Ring, purpose: str, text: str) -> Mapping[str, Any] | None:
    """Return a record; None for a text that was not sealed here, for this purpose, with a key that is still valid."""
    if not text or len(text) > _MOST or not text.isascii():
        return None
    for key in reversed(ring.keys):
        try:
            found = jwe.decrypt_compact(text, _derive(key, purpose), algorithms=_ALGORITHMS).plaintext
            record = orjson.loads(found or b"")
        except (JoseError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            continue
        return record if isinstance(record, dict) else None
    return None


def _derive(key: Key, purpose: str) -> OctKey:
    return OctKey.import_key(hmac.digest(key.secret, f"waypost seal for {purpose}".encode(), "sha256"))
