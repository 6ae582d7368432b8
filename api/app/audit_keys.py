"""The keys for checkpoints of the audit trail: `signing_key` signs, and it and the keys of `public_keys` verify."""

from base64 import b64decode, b64encode
from dataclasses import replace

from api.app.manifest_signing import load_keys
from api.db.audit_checkpoints import Checkpoint, CheckpointKeys
from api.settings import Settings


def load_checkpoint_keys(settings: Settings) -> CheckpointKeys:
    """Read the keys of the settings. Raises SigningKeyUnusable; without keys, `cryptography` is not loaded."""
    own, others = load_keys(settings)
    if own is None and not others:
        return CheckpointKeys()
    from gitstore.signatures.public_key import ED25519, InvalidKey  # noqa: PLC0415 - only where there is a key
    from gitstore.signatures.ssh_fields import dump_string  # noqa: PLC0415 - as above
    from gitstore.signatures.web_key import key_id  # noqa: PLC0415 - as above

    trusted = {key_id(key): key for key in [*([own.public] if own else []), *others]}

    def sign(checkpoint: Checkpoint) -> Checkpoint:
        if own is None:
            return checkpoint
        signature = b64encode(own.sign(checkpoint.signed_data())).decode()
        return replace(checkpoint, key=key_id(own.public), signature=signature)

    def verify(checkpoint: Checkpoint) -> bool:
        key = trusted.get(checkpoint.key)
        if key is None:
            return False
        try:
            value = dump_string(ED25519.encode()) + dump_string(b64decode(checkpoint.signature, validate=True))
            return key.verifies(value, checkpoint.signed_data())
        except (InvalidKey, ValueError):
            return False

    return CheckpointKeys(sign, verify, has_keys=True)
