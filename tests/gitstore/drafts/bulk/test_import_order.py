"""Rows of an import are checked where they will be in the draft: of two equal sources, the first one answers."""

import random
from collections.abc import Sequence

import pytest

from content.formats.import_plan import plan_import
from content.formats.tsv import Row, read_rows
from content.records.record import Placed, Redirect
from gitstore.drafts.bulk.import_order import ImportedRedirects
from gitstore.drafts.bulk.importing import ImportOptions, ImportResult
from gitstore.drafts.drafts import DraftName, read_draft
from gitstore.drafts.editing import workspace
from gitstore.drafts.editing.edits import Put
from tests.gitstore.fixtures import ADA, MAIN, SHOP, SPACE, Place, put, redirect, seeded_random

OTHER = DraftName(SHOP, "other")
FILES = (
    "redirects.yaml",
    "redirects/00001.yaml",
    "redirects/00003.yaml",
    "redirects/summer.yaml",
    "redirects/z/a.yaml",
)


@pytest.fixture(autouse=True)
def small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspace, "RULES_PER_FILE", 3)


def table(*rows: tuple[str, str]) -> list[Row]:
    """Return rows from pairs of source and target."""
    lines = ["type\tsource\ttarget\tstatus", *(f"BASIC\t{source}\t{target}\tFOUND" for source, target in rows)]
    return list(read_rows("\n".join(lines).encode()))


def run_import(place: Place, rows: Sequence[Row], *, overwrite: bool = False) -> ImportResult:
    return place.store.drafts.import_rows(SPACE, MAIN, rows, ImportOptions(overwrite, skip_errors=True), ADA)


def refused(done: ImportResult) -> list[tuple[int, str]]:
    return [(problem.line, problem.code) for problem in done.plan.errors]


def test_a_row_for_an_earlier_file_answers_before_an_equal_source(place: Place) -> None:
    """Guard: the row was taken for the last one, so its loop was found by the publish only."""
    full = [put(redirect(source), file="redirects/summer.yaml") for source in ("/~a", "/x", "/y")]
    place.publish(put(redirect("/first"), file="redirects.yaml"), *full)
    assert refused(run_import(place, table(("/%7Ea", "/~a"), ("/b", "/c")))) == [(2, "redirect_loop")]
    place.publish()
    assert "/%7Ea" not in place.targets()


def test_a_changed_redirect_answers_at_its_place(place: Place) -> None:
    place.publish(put(redirect("/~a")), put(redirect("/%7Ea")))
    assert refused(run_import(place, table(("/~a", "/%7ea")), overwrite=True)) == [(2, "redirect_loop")]


def test_a_row_behind_an_equal_source_has_no_loop(place: Place) -> None:
    place.publish(put(redirect("/~a")))
    assert refused(run_import(place, table(("/%7Ea", "/~a")))) == []
    place.publish()


@pytest.mark.parametrize("turn", range(12))
def test_the_order_is_that_of_the_draft_after_the_import(place: Place, turn: int) -> None:
    """With files that have room, full ones, and new ones before, between and after them; as after the same edits one by one."""
    rng = seeded_random()
    place.publish(*_fill(rng, turn), put(redirect("/known")))
    picked = {"/known", *(f"/{rng.choice(FILES)}-{rng.randrange(4)}" for _ in range(rng.randrange(5)))}
    rows = table(
        *((source, "/later") for source in sorted(picked)), *((f"/n{n}", "/t") for n in range(rng.randrange(15)))
    )
    with place.store.drafts._access.reading(SPACE) as compiler:
        snapshot = compiler.snapshot(SHOP, read_draft(compiler.repository, MAIN).release_tree)
        existing = snapshot.redirects()
        plan = plan_import({each.record.source: each.record for each in existing}, rows, overwrite=True)
        found = ImportedRedirects(snapshot, existing, plan)
        expected = [each.record for each in found]
        assert [found[at].record for at in range(len(found))] == expected
        assert list(found.sources()) == [(each.type, each.source) for each in expected]
        numbered = [(at, each.record) for at, each in found.enumerate_rows()]
    assert numbered == [(at, record) for at, record in enumerate(expected) if record in _records(plan.wanted)]
    run_import(place, rows, overwrite=True)
    assert _draft(place, MAIN) == expected
    for each in (*plan.changed, *plan.added):
        assert each.fields
        place.save(put(each.fields), draft=OTHER)
    assert _draft(place, OTHER) == expected


def _fill(rng: random.Random, turn: int) -> list[Put]:
    """Return edits that write up to three redirects into some of the files; in the first turn into none."""
    files = rng.sample(FILES, rng.randrange(len(FILES) + 1)) if turn else []
    return [put(redirect(f"/{file}-{number}"), file=file) for file in files for number in range(rng.randrange(1, 4))]


def _records(placed: Sequence[Placed[Redirect]]) -> list[Redirect]:
    return [each.record for each in placed]


def _draft(place: Place, name: DraftName) -> list[Redirect]:
    """Return the redirects of a draft, as another process reads them."""
    with place.fresh().store.drafts._access.reading(SPACE) as compiler:
        tree = read_draft(compiler.repository, name).tree
        assert tree
        return _records(compiler.snapshot(SHOP, tree).redirects())
