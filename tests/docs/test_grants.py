"""The page of grants: every resource, action and built-in role."""

import re

from api.auth.permissions.grants import BUILT_IN_ROLES, PROJECT_ACTIONS, SERVER_ACTIONS
from tests.docs.blocks import code, rows
from tests.docs.reference import page


def test_every_resource_and_action_is_listed() -> None:
    listed = {(code(row[0]), code(row[1])) for row in rows(page("grants.md")) if len(row) == 3}
    actions = {**PROJECT_ACTIONS, **SERVER_ACTIONS}
    wanted = {(resource, action) for resource, known in actions.items() for action in known}
    assert wanted == listed - {("", "")}


def test_every_built_in_role_is_listed_with_its_grants() -> None:
    listed = {code(row[0]): set(re.findall(r"`([^`]+)`", row[1])) for row in rows(page("grants.md")) if len(row) == 2}
    for name, (_, held) in BUILT_IN_ROLES.items():
        assert listed[name] == {f"{grant.resource}:{grant.action}" for grant in held}, name
