"""The page of settings: every setting and every environment variable, with its default."""

import ast
import re

from api.setting_sources import OTHER_VARIABLES
from api.settings import SETTING_FORMATS, Settings, environment_name
from tests.docs.blocks import code, codes, rows
from tests.docs.reference import modules, page


def test_every_setting_is_listed_with_its_variable_and_default() -> None:
    listed = {code(row[0]): row for row in rows(page("settings.md")) if code(row[0]) in SETTING_FORMATS}
    assert list(listed) == list(SETTING_FORMATS)
    for name, row in listed.items():
        assert code(row[1]) == environment_name(name)
        assert code(row[2]) == default_of(name), f"the default of {name}"


def default_of(name: str) -> str:
    value = getattr(Settings(), name)
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return "" if value in {"", None} else str(value).lower() if isinstance(value, bool) else str(value)


def test_every_environment_variable_of_the_program_is_documented() -> None:
    named = {
        node.value
        for tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if re.fullmatch(r"WAYPOST_[A-Z_]+|GIT_AUTHOR_[A-Z]+", node.value) and node.value != "WAYPOST_"
    }
    assert {"WAYPOST_ADMIN_PASSWORD", "WAYPOST_PASSWORD"} <= named
    assert named <= codes(page("settings.md"))
    settings = {environment_name(name) for name in SETTING_FORMATS}
    assert {name for name in named if name.startswith("WAYPOST_")} <= settings | OTHER_VARIABLES
