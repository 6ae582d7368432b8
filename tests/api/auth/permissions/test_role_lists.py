"""Roles: their JSON object, their grants together, and the names that are none."""

from pathlib import Path

import pytest

from api.auth.permissions.grants import BUILT_IN_ROLES, Grant, everywhere
from api.auth.permissions.principal import OPERATOR
from api.auth.permissions.roles import Role, grants_of, role_problems
from tests.api.world import World, world


@pytest.fixture
def here(tmp_path: Path) -> World:
    return world(tmp_path)


def test_roles_are_the_built_in_ones_and_then_the_custom_ones_by_name(here: World) -> None:
    for name in ("second", "first"):
        here.services.roles.create(OPERATOR, name, "Reads.", everywhere("redirect:read"))
    found = here.services.accounts.roles()
    assert [role.name for role in found] == [*BUILT_IN_ROLES, "first", "second"]
    assert [role.built_in for role in found] == [True] * len(BUILT_IN_ROLES) + [False] * 2


def test_wire_form_has_the_grants() -> None:
    role = Role("name", "text", (Grant("acme", "*", "page", "read"),), built_in=False)
    grant = {"namespace": "acme", "project": "*", "resource": "page", "action": "read"}
    fields = {"name": "name", "description": "text", "builtIn": False, "grants": [grant]}
    assert role.wire() == {**fields, "etag": role.etag}


def test_unknown_roles_are_named_at_their_places() -> None:
    known = {"one": everywhere("page:read"), "two": everywhere("page:read", "redirect:read")}
    found = role_problems(known, ["one", "none", "two", "zero"])
    assert [(problem.code, problem.pointer) for problem in found] == [
        ("unknown_role", "/roles/1"),
        ("unknown_role", "/roles/3"),
    ]
    assert "'none'" in found[0].message
    assert "one, two" in found[0].message


def test_grants_of_roles_are_each_listed_once_and_a_removed_role_has_none() -> None:
    known = {"one": everywhere("page:read"), "two": everywhere("page:read", "redirect:read")}
    assert grants_of(known, ["one", "gone", "two"]) == everywhere("page:read", "redirect:read")
