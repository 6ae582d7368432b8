"""The signature in a commit: the header `gpgsig`, and what it signs, which is the commit without it."""

from collections.abc import Sequence
from typing import NamedTuple

from gitstore.signatures.allowed_signers import AllowedSigner, find_signers
from gitstore.signatures.public_key import InvalidKey, PublicKey
from gitstore.signatures.security_key import NotTouched
from gitstore.signatures.ssh_signature import GIT_NAMESPACE, MalformedSignature, load_signature, signed_data

_HEADER = b"gpgsig"


class Unsigned(Exception):
    """A commit without a signature that counts; the message is a sentence about it, without its subject."""


class SignedCommit(NamedTuple):
    """A commit taken apart; `signature` is empty without one."""

    payload: bytes
    signature: bytes


def split_commit(data: bytes) -> SignedCommit:
    """Take the bytes of a commit apart, as Git does: every header that begins with `gpgsig` is left out of the payload."""
    head, gap, message = data.partition(b"\n\n")
    kept, signature = list[bytes](), list[bytes]()
    is_signature = is_left_out = False
    for line in head.split(b"\n"):
        if not line.startswith(b" "):
            is_left_out = line.startswith(_HEADER)
            is_signature = line.startswith(_HEADER + b" ")
            content = line[len(_HEADER) + 1 :]
        else:
            content = line[1:]
        if is_signature:
            signature.append(content)
        elif not is_left_out:
            kept.append(line)
    return SignedCommit(b"\n".join(kept) + gap + message, b"\n".join(signature))


def verify_commit(data: bytes, signers: Sequence[AllowedSigner], times: Sequence[int]) -> AllowedSigner:
    """Return the signer of a commit, whose key has to be valid at all of the times, in seconds since 1970.

    Raises Unsigned for a commit without a signature, with a wrong one, or by a key that may not sign.
    """
    payload, text = split_commit(data)
    if not text:
        raise Unsigned("has no signature")
    try:
        signature = load_signature(text)
        key = PublicKey(signature.key)
        if signature.namespace != GIT_NAMESPACE:
            raise Unsigned(f"is signed for the namespace {signature.namespace[:50]!r}, not {GIT_NAMESPACE!r}")
        found = tuple(find_signers(signers, key))
        if not found:
            raise Unsigned(f"is signed with the key {key.fingerprint}, which is not in allowed_signers")
        if not key.verifies(signature.value, signed_data(payload, signature.namespace, signature.hash)):
            raise Unsigned(f"has a wrong signature by the key of {found[0].name}: it was changed after it was signed")
    except MalformedSignature as ex:
        raise Unsigned(f"has no valid signature: {ex}") from ex
    except (InvalidKey, NotTouched) as ex:
        raise Unsigned(f"has a signature that does not count: {ex}") from ex
    faults = [each.find_fault(GIT_NAMESPACE, times) for each in found]
    for signer, fault in zip(found, faults, strict=True):
        if not fault:
            return signer
    raise Unsigned(f"is signed with the key of {found[0].name}, which {faults[0]}")
