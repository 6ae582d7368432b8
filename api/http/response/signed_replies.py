"""Signed replies: the headers with the signature of a manifest, made once for each version in a worker."""

from collections.abc import Sequence
from functools import cached_property

import orjson

from api.http.response.replies import ConditionalGet, Digests, Headers, Reply, ServedVersion, manifest_reply
from content.cache import LruCache
from gitstore.history.live import LiveNamespace, LiveProject
from gitstore.signatures.message_signature import sign_message
from gitstore.signatures.public_key import PublicKey
from gitstore.signatures.signing_key import SigningKey
from gitstore.signatures.web_key import dump_web_key

_CACHED = 20_000  # manifests, half a kilobyte each

_Key = tuple[str, str, str, int, Digests]


class ManifestSigner:
    """The signer of manifests; `key` is None where none are signed, `others` are the keys that are served beside it."""

    def __init__(self, key: SigningKey | None = None, others: Sequence[PublicKey] = ()) -> None:
        self._key = key
        self._others = others
        self._signed: LruCache[_Key, Headers] = LruCache(_CACHED)

    @cached_property
    def web_keys(self) -> bytes:
        """The JSON Web Key set: the key that signs first, then the others."""
        own = [self._key.public] if self._key else []
        return orjson.dumps({"keys": [dump_web_key(key) for key in dict.fromkeys([*own, *self._others])]})

    def reply(
        self,
        served_version: ServedVersion,
        time: int,
        conditional_get: ConditionalGet,
        shown: Digests,
        place: tuple[str, str],
    ) -> Reply:
        """Return the reply of a manifest with its signature; `place` is the namespace and the project."""
        reply = manifest_reply(served_version, time, conditional_get, shown, place)
        if self._key is None or not reply.body:
            return reply
        key = (*place, served_version.version, served_version.number, shown)
        found = self._signed.find(key)
        if found is None:
            found = self._signed.put(key, sign_message(self._key, b"".join(reply.pieces()), time))
        return reply._replace(headers=(*reply.headers, *found))

    def sign(self, content: bytes, time: int) -> Headers:
        """Return the headers with the signature of other content; none without a key."""
        return sign_message(self._key, content, time) if self._key else ()

    def prepare(self, before: LiveNamespace | None, after: LiveNamespace) -> None:
        """Sign the manifests of the projects that a publish changed, by runs: each has the digest of its compiled file."""
        for name, project in after.projects.items() if self._key and before else ():
            old = before.projects.get(name) if before else None
            if old is None or old.entry.version != project.entry.version:
                self._prepare(project)

    def _prepare(self, project: LiveProject) -> None:
        served_version = ServedVersion(project.version, project.number, project.release)
        project.release.digest(Digests.RUNS.names)
        self.reply(served_version, project.time, ConditionalGet(""), Digests.RUNS, (project.namespace, project.name))
