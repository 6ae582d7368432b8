"""Agents that poll signed manifests and the keys, and verify each answer with nothing of the service.

Written from RFC 9421 (signatures), RFC 9530 (digests), RFC 8037 (keys) and RFC 7638 (their ids) alone.
"""

import json
import re
from base64 import b64decode, b64encode, urlsafe_b64decode, urlsafe_b64encode
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from itertools import cycle
from threading import Event

import httpx
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

KEYS = "/.well-known/waypost-keys"
TAILS = ("/manifest", "/manifest?digests=runs", "/manifest?digests=list", "/versions/1/manifest")
_MEMBER = re.compile(r"([a-z][a-z0-9_.*-]*)=(\((?:[^()]*)\)[^,]*)")
_PARAMETER = re.compile(r';([a-z]+)=(?:"([^"]*)"|([0-9]+))')


class Trust(StrEnum):
    """The source of the keys of an agent."""

    SAVED = "has a file of keys, which someone fetches again when a step says so"
    CACHED = "keeps the keys, and fetches them again for an unknown id"
    NONE = "starts again for each manifest, and fetches the keys after it"


@dataclass
class ManifestAgent:
    """An agent; `url` is asked before each poll, since the service may start again on another port. Each manifest is counted by its key."""

    trust: Trust
    url: Callable[[], str]
    path: str
    token: str
    keys: dict[str, bytes] = field(default_factory=dict)
    verified: Counter[str] = field(default_factory=Counter)
    unchanged: int = 0
    unreached: int = 0
    numbers: set[int] = field(default_factory=set)
    _etags: dict[str, str] = field(default_factory=dict)

    def run(self, ended: Event) -> None:
        """Poll until the end; raises for the first answer that does not verify."""
        headers = {"Authorization": f"Bearer {self.token}"}
        # A new connection for each request, so that either worker may answer it.
        with httpx.Client(timeout=60, headers=headers, limits=httpx.Limits(max_keepalive_connections=0)) as http:
            for count, tail in enumerate(cycle(TAILS)):
                if ended.is_set():
                    break
                try:
                    self.poll(http, tail, is_conditional=count // len(TAILS) % 2 == 1)
                except httpx.TransportError:  # the service starts again
                    self.unreached += 1

    def poll(self, http: httpx.Client, tail: str, *, is_conditional: bool) -> None:
        """Ask for a manifest, as a whole or if it differs from the last one of its form, and verify it."""
        condition = {"If-None-Match": self._etags.get(tail, '"none"')} if is_conditional else {}
        answer = http.get(self.url() + self.path + tail, headers=condition)
        if answer.status_code == httpx.codes.NOT_MODIFIED:
            assert is_conditional
            self.unchanged += 1
            return
        assert answer.status_code == httpx.codes.OK, answer.text
        key_id = self._require_verified(http, answer)
        self._etags[tail] = answer.headers["ETag"]
        self.numbers.add(answer.json()["publishNumber"])
        self.verified[key_id] += 1

    def _require_verified(self, http: httpx.Client, answer: httpx.Response) -> str:
        key_id = read_signature(answer)[1]["keyid"]
        if self.trust is Trust.NONE:
            self.keys.clear()
        if self.trust is not Trust.SAVED and key_id not in self.keys:
            self.keys = fetch_keys(http, self.url())
        assert key_id in self.keys, f"signed with {key_id}; the agent that {self.trust} has {sorted(self.keys)}"
        require_verified(answer, self.keys[key_id])
        return key_id


def read_signature(answer: httpx.Response) -> tuple[str, dict[str, str]]:
    """Return the text of the signature's parameters, and the parameters: RFC 9421, sections 4.1 and 2.3."""
    members = dict(_MEMBER.findall(answer.headers["Signature-Input"]))
    text = members["waypost"]
    return text, {name: string or number for name, string, number in _PARAMETER.findall(text)}


def require_verified(answer: httpx.Response, key: bytes) -> None:
    """Fail unless a response has the content that was signed with a key, at the time of its publish."""
    digest = f"sha-256=:{b64encode(sha256(answer.content).digest()).decode()}:"
    assert answer.headers["Content-Digest"] == digest
    text, parameters = read_signature(answer)
    assert text.startswith('("content-digest");')
    assert parameters["alg"] == "ed25519"
    signature = b64decode(answer.headers["Signature"].removeprefix("waypost=:").removesuffix(":"), validate=True)
    signed = f'"content-digest": {digest}\n"@signature-params": {text}'
    Ed25519PublicKey.from_public_bytes(key).verify(signature, signed.encode())


def fetch_keys(http: httpx.Client, url: str) -> dict[str, bytes]:
    """Return the keys that the service has now by their ids, past all caches; each id has to be the key's thumbprint."""
    answer = http.get(url + KEYS, headers={"Cache-Control": "no-cache"})
    assert answer.status_code == httpx.codes.OK, answer.text
    found = dict[str, bytes]()
    for key in answer.json()["keys"]:
        members = {name: key[name] for name in ("crv", "kty", "x")}
        assert (members["crv"], members["kty"]) == ("Ed25519", "OKP")
        canonical = json.dumps(members, separators=(",", ":"), sort_keys=True).encode()
        assert key["kid"] == urlsafe_b64encode(sha256(canonical).digest()).rstrip(b"=").decode()
        found[key["kid"]] = urlsafe_b64decode(key["x"] + "=")
    return found


def signer_line(principal: str, key: bytes) -> str:
    """Return the line of a file of signers for a key of the service: RFC 8709, section 4."""
    fields = b"".join(len(each).to_bytes(4, "big") + each for each in (b"ssh-ed25519", key))
    return f'{principal} namespaces="git" ssh-ed25519 {b64encode(fields).decode()}\n'
