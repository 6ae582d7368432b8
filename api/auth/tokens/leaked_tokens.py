"""API tokens of the service in content, which a push, an edit or a fetch would show to every reader: they are revoked."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from api import logs
from api.auth.tokens.api_token import digest, find_values
from api.auth.tokens.new_token import revoke
from api.db.accounts.tokens import find_by_hashes, list_live_hashes
from api.db.audit import Actor
from api.db.audit_caller import Caller, caller
from api.db.state_store import StateStore
from api.db.timestamps import Clock

# Texts with the form of a token that one query asks for. For more of them, the hashes of all tokens are read instead: a text
# of the largest size has millions.
_MOST_ASKED = 1_000
UPSTREAM_LEAK = "found in an upstream"
HOOK_LEAK = "found in a push by path or SSH"

_log = logs.logger("tokens")


@dataclass(frozen=True, slots=True)
class LeakedTokens:
    """The search for tokens that are valid now, in what an actor brings; pickled, it searches in another process.

    A token that is found is removed, and recorded with the `reason`. Raises the store error if that fails: then the content
    must be refused all the same.
    """

    state: StateStore
    clock: Clock
    actor: Actor
    reason: str
    namespace: str | None = None
    address: str | None = None
    origin: Caller = field(default_factory=caller.get, repr=False)
    """The request that brings it, which another process would not know."""
    _revoked: set[str] = field(default_factory=set, repr=False)
    """The hashes of the values that were revoked: another file may have the same ones."""

    def find(self, data: bytes) -> int | None:
        """Return the position of a valid token in a file, None without one; every one in it is revoked."""
        found = [*islice(find_values(data), _MOST_ASKED + 1)]
        if len(found) > _MOST_ASKED:
            found = [*self._keep_live(find_values(data))]
        live = self.revoke({value for _, value in found})
        return min((at for at, value in found if value in live), default=None)

    def revoke(self, values: Collection[str]) -> frozenset[str]:
        """Revoke the tokens with these values; return the values that were valid when they were first found."""
        if len(values) > _MOST_ASKED:
            values = [value for _, value in self._keep_live((0, value) for value in values)]
        hashes = {digest(value): value for value in values}
        if hashes and self._find(hashes):
            self._revoked.update(self._revoke(hashes, self.namespace))
        return frozenset(hashes[each] for each in self._revoked & hashes.keys())

    def _keep_live(self, found: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
        """Yield the first place of each value that is valid or was revoked here, for more values than one query takes."""
        with self.state.database.reading() as connection:
            wanted = list_live_hashes(connection, self.clock()) | self._revoked
        for at, value in found:
            hashed = digest(value)
            if hashed in wanted:
                wanted.discard(hashed)
                yield at, value

    def revoke_hashes(self, hashes: Collection[str], namespace: str) -> None:
        """Revoke the tokens whose values have these hashes, which were found in a namespace."""
        if self._find(hashes):
            self._revoke(hashes, namespace)

    def _find(self, hashes: Collection[str]) -> bool:
        with self.state.database.reading() as connection:
            return bool(find_by_hashes(connection, hashes, self.clock()))

    def _origin(self) -> Caller:
        return self.origin._replace(address=self.address or self.origin.address)

    def _revoke(self, hashes: Collection[str], namespace: str | None) -> set[str]:
        now = self.clock()
        with self.state.changing() as connection:
            found = find_by_hashes(connection, hashes, now)
            for token in found:
                revoke(connection, self.actor, token, now, self.reason, namespace, self._origin())
        for token in found:
            _log.warning("leaked_token_revoked", id=token.id, reason=self.reason, namespace=namespace)
        return {each for token in found for each in (token.hash, token.previous_hash) if each}
