"""The SSH signature of a file or commit, as `ssh-keygen -Y sign` writes it.

See https://github.com/openssh/openssh-portable/blob/master/PROTOCOL.sshsig.
"""

import binascii
from base64 import b64decode, b64encode
from hashlib import sha256, sha512
from typing import NamedTuple

from gitstore.signatures.ssh_fields import FieldReader, MalformedFields, dump_number, dump_string

GIT_NAMESPACE = "git"
"""The namespace of signatures of commits and tags: https://git-scm.com/docs/git-config#Documentation/git-config.txt-gpgformat."""
_MAGIC = b"SSHSIG"
_VERSION = 1
_BEGIN, _END = b"-----BEGIN SSH SIGNATURE-----", b"-----END SSH SIGNATURE-----"
_LINE = 70  # characters of base64, as ssh-keygen writes them
_HASHES = {"sha256": sha256, "sha512": sha512}
HASH = "sha512"


class MalformedSignature(ValueError):
    """Text that is no SSH signature; the message is a part of a sentence."""


class SshSignature(NamedTuple):
    """A signature with its key: `key` is the public key and `value` the signature, both in SSH's binary form."""

    key: bytes
    namespace: str
    hash: str
    value: bytes


def signed_data(message: bytes, namespace: str = GIT_NAMESPACE, hash_name: str = HASH) -> bytes:
    """Return the bytes that a key signs for a message."""
    digest = _HASHES[hash_name](message).digest()
    return _MAGIC + b"".join(map(dump_string, (namespace.encode(), b"", hash_name.encode(), digest)))


def dump_signature(signature: SshSignature) -> bytes:
    """Return the signature as text, without a line break at its end."""
    fields = (signature.key, signature.namespace.encode(), b"", signature.hash.encode(), signature.value)
    encoded = b64encode(_MAGIC + dump_number(_VERSION) + b"".join(map(dump_string, fields)))
    lines = [encoded[at : at + _LINE] for at in range(0, len(encoded), _LINE)]
    return b"\n".join((_BEGIN, *lines, _END))


def load_signature(text: bytes) -> SshSignature:
    """Read a signature from its text; raises MalformedSignature."""
    lines = text.strip().splitlines()
    if not lines or lines[0].strip() != _BEGIN or lines[-1].strip() != _END:
        raise MalformedSignature("the signature is not one by an SSH key")
    try:
        return _load(b64decode(b"".join(map(bytes.strip, lines[1:-1])), validate=True))
    except (binascii.Error, MalformedFields) as ex:
        raise MalformedSignature(f"the signature is damaged: {ex}") from ex


def _load(data: bytes) -> SshSignature:
    fields = FieldReader(data)
    if fields.take(len(_MAGIC)) != _MAGIC or fields.number() != _VERSION:
        raise MalformedSignature("the signature is of an unknown version")
    key, namespace, _reserved, hash_name, value = (
        fields.string(),
        fields.text(),
        fields.string(),
        fields.text(),
        fields.string(),
    )
    fields.require_end()
    if hash_name not in _HASHES:
        raise MalformedSignature("the signature has a hash other than sha256 and sha512")
    return SshSignature(key, namespace, hash_name, value)
