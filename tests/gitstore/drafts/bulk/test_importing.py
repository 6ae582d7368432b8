"""Imports: drafts that change while the rows are read, and patterns in the files that an import writes as they fill."""

from collections.abc import Iterator

import pytest

from content.formats import import_plan
from content.formats.import_plan import plan_import
from content.formats.tsv import Row, read_rows
from content.records.pattern_limits import PatternLimits
from gitstore.drafts.bulk.importing import ImportOptions
from gitstore.drafts.editing import workspace
from gitstore.errors import Invalid
from gitstore.store.store import Store
from tests.gitstore.fixtures import ADA, MAIN, SPACE, Place, put, redirect

HEADER = "type\tsource\ttarget\tstatus\n"


def test_rows_are_planned_again_where_the_draft_changed_meanwhile(place: Place) -> None:
    """Without `overwrite`, a redirect that someone wrote while the rows were read stays as it is."""

    def slow_rows() -> Iterator[Row]:
        yield from read_rows(f"{HEADER}BASIC\t/a\t/imported\tFOUND\nBASIC\t/b\t/imported\tFOUND".encode())
        place.save(put(redirect("/a", "/meanwhile")))

    done = place.store.drafts.import_rows(SPACE, MAIN, slow_rows(), ImportOptions(), ADA)
    assert (len(done.plan.added), len(done.plan.skipped)) == (1, 1)
    place.publish()
    assert place.targets() == {"/a": "/meanwhile", "/b": "/imported"}


def test_patterns_in_new_files_count_for_the_budget_of_the_project(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workspace, "RULES_PER_FILE", 1)
    store = Store(place.root, PatternLimits(project=100))
    rows = [f"REGEX\t^/a{number}/(.*)\t/b\tFOUND" for number in range(20)]
    with pytest.raises(Invalid, match="regular expressions") as caught:
        store.drafts.import_rows(SPACE, MAIN, read_rows((HEADER + "\n".join(rows)).encode()), ImportOptions(), ADA)
    assert {problem.code for problem in caught.value.problems} == {"regex_budget"}
    assert not place.store.drafts.names(SPACE, MAIN.project)


def test_sources_with_an_equal_hash_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_plan, "hash", len, raising=False)
    rows = "".join(f"BASIC\t/{name}\t/to\tFOUND\n" for name in ("a", "b", "c", "b", "a"))
    plan = plan_import({}, read_rows((HEADER + rows).encode()), overwrite=False)
    assert [row.fields.source for row in plan.added if row.fields] == ["/a", "/b", "/c"]
    assert [(problem.line, problem.message[:30]) for problem in plan.errors] == [
        (5, "this source is already in line"),
        (6, "this source is already in line"),
    ]
    assert ["line 3" in plan.errors[0].message, "line 2" in plan.errors[1].message] == [True, True]
