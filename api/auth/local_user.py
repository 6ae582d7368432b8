"""The local user of a preview: every request is answered as this user, whatever token it has."""

from api.auth.directory import IdentityCache
from api.auth.permissions.principal import Principal, PrincipalKind
from api.errors import Unauthenticated


class LocalUser:
    """An authenticator that accepts every caller as one user of the directory."""

    def __init__(self, directory: IdentityCache, user: int) -> None:
        self._directory = directory
        self._user = user

    def is_fresh(self) -> bool:
        """Return whether the directory is as new as the database."""
        return self._directory.is_fresh()

    def reload(self) -> None:
        """Read the directory again; blocks."""
        self._directory.reload()

    def reload_locked(self) -> None:
        """Read the directory again if the database was locked at the last attempt; blocks."""
        self._directory.reload_locked()

    @property
    def edition(self) -> int:
        """The number of the directory's state."""
        return self._directory.edition

    def authenticate(self, _bearer: str) -> Principal:
        """Return the user; raises Unauthenticated if it does not exist any more."""
        found = self._directory.principal(PrincipalKind.USER, self._user)
        if found is None:
            raise Unauthenticated
        return found

    def learn(self, session: str) -> None:
        """Do nothing: no session is needed."""
