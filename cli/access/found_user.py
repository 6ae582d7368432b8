"""The user that a command names."""

from api.app.services import Services
from api.db.accounts.users import User
from api.errors import not_found

ALL = 1_000_000


def find_user(services: Services, username: str) -> User:
    """Return a user by name; 404 if there is none."""
    found = (user for user in services.accounts.window(ALL, 0)[0] if user.username == username)
    user = next(found, None)
    if user is None:
        raise not_found(f"There is no user {username!r}.")
    return user
