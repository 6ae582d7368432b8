"""Keys on a security key (FIDO), which signs the data together with its application, a count and whether it was touched.

See https://github.com/openssh/openssh-portable/blob/master/PROTOCOL.u2f.
"""

from hashlib import sha256
from typing import NamedTuple

from gitstore.signatures.ssh_fields import FieldReader, dump_string

PLAIN_KINDS = {
    "sk-ssh-ed25519@openssh.com": "ssh-ed25519",
    "sk-ecdsa-sha2-nistp256@openssh.com": "ecdsa-sha2-nistp256",
}
"""The kinds of keys, each with the kind of the plain key in it."""
_TOUCHED = 0x01


class NotTouched(ValueError):
    """A signature that the security key made without a touch; the message is a part of a sentence."""


class PlainSignature(NamedTuple):
    """The signature as one of the plain key in the security key: the key and the value in SSH's binary form, and the signed bytes."""

    key: bytes
    value: bytes
    data: bytes


def unwrap(key: bytes, value: bytes, data: bytes) -> PlainSignature:
    """Return a signature of data as one of the plain key. Raises NotTouched, MalformedFields, and KeyError for another kind of key."""
    fields, signed = FieldReader(key), FieldReader(value)
    kind = fields.text()
    plain = PLAIN_KINDS[kind].encode()
    parts = [
        fields.string() for _ in range(1 if plain == b"ssh-ed25519" else 2)
    ]  # the point; of ECDSA, the curve before it
    application = fields.string()
    fields.require_end()
    is_same_kind = signed.text() == kind
    signature, flags, count = signed.string(), signed.take(1), signed.take(4)
    signed.require_end()
    if not flags[0] & _TOUCHED:
        raise NotTouched("the security key was not touched for it")
    return PlainSignature(
        b"".join(map(dump_string, (plain, *parts))),
        dump_string(plain if is_same_kind else b"") + dump_string(signature),
        sha256(application).digest() + flags + count + sha256(data).digest(),
    )
