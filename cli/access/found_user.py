"""The user that a command names."""

from api.app.services import Services
from api.db.accounts.users import User, find_named
from api.errors import not_found

ALL = 1_000_000


def find_user(services: Services, username: str) -> User:
    """Return a user by name, ignoring case as a login does; 404 if there is none."""
    with services.state.database.reading() as connection:
        user = find_named(connection, username)
    if user is None:
        raise not_found(f"There is no user {username!r}.")
    return user
