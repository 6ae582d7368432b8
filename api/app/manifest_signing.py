"""The signer of manifests of a worker, with its keys; it signs what a publish changes as soon as the worker has read it."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from api import logs
from api.http.response.signed_replies import ManifestSigner
from api.runtime.jobs.background import run_in_thread
from api.runtime.serving.release_loader import ReleaseLoader
from api.settings import Settings
from gitstore.errors import StoreError
from gitstore.history.live import LiveNamespace
from gitstore.signatures.signing_key import UNSIGNED

if TYPE_CHECKING:
    from gitstore.signatures.public_key import PublicKey
    from gitstore.signatures.signing_key import SigningKey

_log = logs.logger("manifests")


def load_keys(settings: Settings) -> "tuple[SigningKey | None, list[PublicKey]]":
    """Read the key of the service and the public keys beside it. Raises SigningKeyUnusable.

    Without keys, `cryptography` is not loaded.
    """
    file = _key_file(settings)
    if file is None and not settings.public_keys:
        return None, []
    from gitstore.signatures.signing_key import load_signing_key  # noqa: PLC0415 - only where there is a key
    from gitstore.signatures.web_key import load_public_keys  # noqa: PLC0415 - as above

    key = load_signing_key(file) if file else None
    return key, [key for path in settings.public_keys for key in load_public_keys(path)]


def load_signer(settings: Settings) -> ManifestSigner:
    """Read the keys of the settings, for manifests. Raises SigningKeyUnusable."""
    return ManifestSigner(*load_keys(settings))


def open_signer(settings: Settings, releases: ReleaseLoader) -> ManifestSigner:
    """Return the signer of a worker, which listens to the publishes that the worker reads."""
    signer = load_signer(settings)
    tasks = set[asyncio.Task[None]]()

    def prepare(_namespace: str, before: LiveNamespace | None, after: LiveNamespace) -> None:
        task = asyncio.create_task(_prepare(signer, before, after))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    if _key_file(settings):
        releases.listen(prepare)
    return signer


async def _prepare(signer: ManifestSigner, before: LiveNamespace | None, after: LiveNamespace) -> None:
    """Sign in a thread; the next read signs instead where that fails, and reports the reason."""
    try:
        await run_in_thread(signer.prepare, before, after)
    except (StoreError, OSError, ValueError) as ex:
        _log.warning("manifests_not_signed", error=str(ex))


def _key_file(settings: Settings) -> Path | None:
    """Return the file of the key; None without one, and where commits go on unsigned on purpose."""
    return None if settings.signing_key == UNSIGNED else settings.signing_key
