"""The sweeper of found tokens revokes the valid ones, and leaves no note, however often the same one is made."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from api.app.data_directory import create_data, open_data
from api.app.services import Services, open_services
from api.auth.permissions.grants import everywhere
from api.auth.permissions.principal import OPERATOR
from api.auth.tokens.api_token import digest, mint
from api.auth.tokens.leaked_tokens import HOOK_LEAK
from api.db.audit import AuditEvent, AuditFilter, list_entries
from api.runtime.upkeep.hook_note_sweeper import FoundTokenReader, HookNoteSweeper
from api.settings import Settings
from gitstore.errors import NotFound
from gitstore.pushes.found_tokens import FOLDER, FoundTokens, found_tokens
from gitstore.store.store import Store
from tests.gitstore.fixtures import ADA


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    found = Settings(data=tmp_path / "data")
    create_data(found)
    return found


@pytest.fixture
def services(settings: Settings) -> Iterator[Services]:
    found = open_services(settings)
    yield found
    found.close()


@pytest.fixture
def store(settings: Settings) -> Store:
    found = Store(settings.data)
    for name in ("acme", "other"):
        found.namespaces.create(name, "", ADA)
    return found


@pytest.fixture
def sweeper(settings: Settings, services: Services, store: Store) -> HookNoteSweeper:
    search = services.leaked_tokens(OPERATOR.actor(), HOOK_LEAK)
    return HookNoteSweeper(store, [FoundTokenReader(search)], open_data(settings))


def note(repository: Path, *digests: str) -> None:
    found = FoundTokens()
    for each in digests:
        found.add(each)
    assert found.note(repository) == ""


def test_a_valid_token_behind_many_others_is_revoked_and_no_note_is_left(
    services: Services, store: Store, sweeper: HookNoteSweeper
) -> None:
    token = services.tokens.create(OPERATOR, "leaked", tuple(everywhere("redirect:read")))
    repository = store.directory.namespace("acme").repository
    note(repository, *(digest(mint().value) for _ in range(1_500)), digest(token.value))
    sweeper.sweep()
    assert found_tokens(repository).list() == {}
    with pytest.raises(NotFound):
        services.tokens.find(token.token.id)
    with services.state.database.reading() as connection:
        [entry] = list_entries(connection, 10, 0, AuditFilter(event=AuditEvent.TOKEN_REVOKED))[0]
    assert (entry.namespace, entry.detail["reason"], entry.actor.kind) == ("acme", HOOK_LEAK, "operator")


def test_a_digest_that_is_noted_again_goes_again(store: Store, sweeper: HookNoteSweeper) -> None:
    repository, found = store.directory.namespace("acme").repository, digest(mint().value)
    for _ in range(3):
        note(repository, found)
        sweeper.sweep()
        assert found_tokens(repository).list() == {}


def test_a_folder_that_cannot_be_read_keeps_no_other_namespace_waiting(
    services: Services, store: Store, sweeper: HookNoteSweeper
) -> None:
    token = services.tokens.create(OPERATOR, "leaked", tuple(everywhere("redirect:read")))
    store.directory.namespace("acme").repository.joinpath(FOLDER).symlink_to("/nowhere")
    repository = store.directory.namespace("other").repository
    note(repository, digest(token.value))
    sweeper.sweep()
    assert found_tokens(repository).list() == {}
