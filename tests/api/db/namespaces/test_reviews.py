"""Remarks on drafts, as rows in a real SQLite file."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import pytest
from sqlalchemy import Connection

from api.app.services import Services, open_services
from api.auth.accounts import NewUser
from api.auth.permissions.grants import everywhere
from api.auth.permissions.principal import OPERATOR
from api.db.audit import AuditEvent, find_token_owners, list_entries
from api.db.namespaces.reviews import (
    Action,
    DraftKey,
    Person,
    Remark,
    Topic,
    add_remark,
    find_last_remarks,
    find_last_steps,
    find_remarks,
)
from api.settings import Settings

T = TypeVar("T")

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
MAIN = DraftKey("acme", "shop", "main")
KIM = Person("user", 7, "kim", "Kim Doe", "user-7@waypost.invalid")


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    found = open_services(Settings(data=tmp_path))
    yield found
    found.close()


def stored(services: Services, *remarks: Remark) -> list[int]:
    with services.state.database.writing() as connection:
        return [add_remark(connection, remark) for remark in remarks]


def found(services: Services, heads: set[str], draft: DraftKey = MAIN) -> list[Remark]:
    with services.state.database.reading() as connection:
        return find_remarks(connection, draft.namespace, draft.project, heads)


def counted(services: Services, find: Callable[[Connection], T]) -> tuple[T, int]:
    """Return what a query finds, and the steps of SQLite's machine that it takes."""
    steps = list[int]()
    with services.state.database.reading() as connection:
        driver = connection.connection.driver_connection
        assert driver
        driver.set_progress_handler(lambda: steps.append(1), 1)
        last = find(connection)
        driver.set_progress_handler(None, 1)
    return last, len(steps)


def cut_off(services: Services, remark: Remark) -> None:
    with services.state.database.writing() as connection:
        add_remark(connection, remark)
        raise InterruptedError


def test_a_remark_comes_back_as_it_was_said(services: Services) -> None:
    said = Remark(NOW, MAIN, "a" * 40, Action.COMMENT, KIM, "Why?\n\U0001f600 'x'", Topic("page", "0" * 16))
    (number,) = stored(services, said)
    (again,) = found(services, {"a" * 40})
    assert again == replace(said, id=number)


def test_remarks_are_of_one_project_and_of_the_commits_that_are_named(services: Services) -> None:
    """The name of the branch does not matter. The number of commits may exceed the limit of one query."""
    heads = [f"{number:040x}" for number in range(1203)]
    said = [Remark(NOW, MAIN, head, Action.APPROVE, KIM) for head in heads[::-1]]
    others = [MAIN._replace(namespace="a"), MAIN._replace(project="b")]
    numbers = stored(services, *said, *(Remark(NOW, key, heads[0], Action.APPROVE, KIM) for key in others))
    [elsewhere] = stored(services, Remark(NOW, MAIN._replace(draft="c"), heads[0], Action.APPROVE, KIM))
    assert [remark.id for remark in found(services, set(heads))] == [*numbers[: len(said)], elsewhere]
    assert [remark.head for remark in found(services, {heads[5], "f" * 40})] == [heads[5]]
    assert found(services, set()) == []


def test_the_last_step_of_a_draft_is_its_last_request_or_verdict(services: Services) -> None:
    keys = [MAIN._replace(draft=f"d{number}") for number in range(700)]
    steps = (Action.REQUEST, Action.REJECT, Action.COMMENT, Action.PUSH)
    for key in (keys[0], keys[699]):
        stored(services, *(Remark(NOW, key, "a" * 40, action, KIM) for action in steps))
    with services.state.database.reading() as connection:
        last = find_last_steps(connection, keys)
        assert find_last_steps(connection, [MAIN, keys[1]]) == find_last_steps(connection, []) == {}
    assert {key: remark.action for key, remark in last.items()} == dict.fromkeys((keys[0], keys[699]), Action.REJECT)


def test_the_last_step_is_found_among_many_remarks_as_among_few(services: Services) -> None:
    """Guard: the overview asks for the open drafts, and remarks of those that have ended stay."""
    ended = [Remark(NOW, MAIN._replace(draft=f"d{number}"), "a" * 40, Action.APPROVE, KIM) for number in range(500)]
    stored(services, *ended, *(Remark(NOW, MAIN, "a" * 40, Action.COMMENT, KIM) for _ in range(500)))
    stored(services, Remark(NOW, MAIN, "b" * 40, Action.REQUEST, KIM))
    last, steps = counted(services, lambda connection: find_last_steps(connection, [MAIN]))
    assert last[MAIN].head == "b" * 40
    assert steps < 300


def test_the_last_remarks_under_a_name_are_found_among_many_as_among_few(services: Services) -> None:
    """Guard: each 404 of a proposal asks for them, of all projects."""
    others = [MAIN._replace(project=f"p{number % 9}", draft=f"d{number}") for number in range(500)]
    stored(services, *(Remark(NOW, key, "a" * 40, Action.APPROVE, KIM) for key in others))
    own = [MAIN._replace(project=project) for project in ("blog", "shop")]
    stored(
        services, *(Remark(NOW, key, "b" * 40, action, KIM) for key in own for action in (Action.APPROVE, Action.PUSH))
    )
    last, steps = counted(services, lambda connection: find_last_remarks(connection, "acme", "main", 3))
    assert [(remark.draft.project, remark.action) for remark in last] == [
        ("shop", Action.PUSH),
        ("shop", Action.APPROVE),
        ("blog", Action.PUSH),
    ]
    assert steps < 400


def test_what_is_decided_is_in_the_trail_with_the_row_or_not_at_all(services: Services) -> None:
    for action in Action:
        stored(services, Remark(NOW, MAIN, "a" * 40, action, KIM))
    with pytest.raises(InterruptedError):
        cut_off(services, Remark(NOW, MAIN, "b" * 40, Action.APPROVE, KIM))
    with services.state.database.reading() as connection:
        entries, total = list_entries(connection, 10, 0)
    assert total == 3
    assert [entry.event for entry in reversed(entries)] == [
        AuditEvent.REVIEW_REQUESTED,
        AuditEvent.DRAFT_APPROVED,
        AuditEvent.DRAFT_REJECTED,
    ]
    assert {(entry.actor.id, entry.namespace, entry.project) for entry in entries} == {(7, "acme", "shop")}
    assert found(services, {"b" * 40}) == []


def test_who_made_a_token_is_known_after_it_was_removed(services: Services) -> None:
    user = services.accounts.create(OPERATOR, NewUser("kim", "correct horse battery", ("admin",)))
    kim = services.accounts.principal("KIM")
    assert kim.can("project", "review", "acme", "shop")
    own = services.tokens.create(kim, "own", everywhere("redirect:write")).token.id
    machine = services.tokens.create(OPERATOR, "machine", everywhere("redirect:write")).token.id
    services.tokens.remove(kim, own)
    with services.state.database.reading() as connection:
        assert find_token_owners(connection, [own, machine, 999, 10**17]) == {own: {user.id}}
        assert find_token_owners(connection, []) == {}
