"""The page for a security team: what is stored where."""

import re

from api.db.tables import metadata
from tests.docs.blocks import rows
from tests.service import ROOT

PAGE = ROOT / "docs" / "explanation" / "security.md"


def test_each_table_of_the_database_is_listed() -> None:
    section = PAGE.read_text(encoding="utf-8").partition("## What is stored")[2].partition("\n## ")[0]
    listed = [name for row in rows(section) for name in re.findall(r"`([^`]+)`", row[0])]
    attributes = {"tellings": "event_cursors"}  # the name in the code of the one table that has another in the database
    assert sorted(listed) == sorted(attributes.get(name, name) for name in metadata.tables)
