"""The access of a caller with a personal token, as a push asks under the repository's lock."""

from datetime import timedelta
from pathlib import Path

import pytest

from api.auth.permissions.grants import everywhere
from api.auth.permissions.principal import OPERATOR, Principal
from api.auth.tokens.new_token import NewToken
from tests.api.world import START, World, world

UNTIL = START + timedelta(days=1)
ADA = 1


@pytest.fixture
def here(tmp_path: Path) -> World:
    found = world(tmp_path)
    found.user("ada", "editor")
    return found


@pytest.fixture
def caller(here: World) -> Principal:
    new = NewToken("laptop", everywhere("redirect:write", "page:write"), UNTIL)
    issued = here.services.personal_tokens().create(OPERATOR, ADA, new)
    here.services.directory.reload()
    found = here.services.directory.authenticate(issued.value)
    assert here.services.reviews().has_grants(found)
    return found


def test_it_ends_with_the_token(here: World, caller: Principal) -> None:
    here.services.tokens.remove(OPERATOR, 1)
    assert not here.services.reviews().has_grants(caller)
    assert here.services.reviews().has_grants(here.services.accounts.principal("ada"))


def test_it_ends_with_the_expiry(here: World, caller: Principal) -> None:
    here.clock.advance(days=1)
    assert not here.services.reviews().has_grants(caller)


def test_it_ends_with_the_grants_of_the_account(here: World, caller: Principal) -> None:
    here.services.accounts.change(OPERATOR, ADA, {"roles": ["viewer"]})
    assert not here.services.reviews().has_grants(caller)


def test_it_ends_with_the_account(here: World, caller: Principal) -> None:
    here.services.accounts.change(OPERATOR, ADA, {"active": False})
    assert not here.services.reviews().has_grants(caller)


def test_the_directory_finds_a_personal_token_as_its_owner(here: World, caller: Principal) -> None:
    """Guard: a webhook that a personal token holds asks for it by its id."""
    holder = caller.holder()
    assert (holder.kind, holder.name) == ("token", "laptop")
    assert here.services.directory.principal(holder.kind, holder.id) == caller
    here.services.tokens.remove(OPERATOR, 1)
    here.services.directory.reload()
    assert here.services.directory.principal(holder.kind, holder.id) is None
