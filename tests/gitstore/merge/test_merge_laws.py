"""Merging, compared with an independent oracle: thousands of pairs of concurrent edits in a bare repository."""

import random
from typing import Any

import pytest

from content.changes.merge import merge
from content.records.record import Page, Placed, Record, page_of, redirect_of
from content.records.vocabulary import Kind
from gitstore.compiled.compiler import Compiler
from gitstore.compiled.segments.segment_store import SegmentStore
from gitstore.layout import TreeId
from tests.gitstore.merge_sides import EditGenerator, Flat, Side, expected, merge_rules, order_holds
from tests.gitstore.trees import MergeRepository, merge_repository
from tests.rounds import rounds
from tests.seeds import first_seed

# Pairs that go through a repository, at 6 ms each; those of the rules alone are always 10,000.
PAIRS = rounds(300, 3000)
SHARDS = 3


def trees(merge_repository: MergeRepository, chance: random.Random, sides: tuple[Side, ...]) -> list[TreeId]:
    """Write the sides as folders; a file that a side left alone keeps its bytes."""
    base, *others = (side.files(random.Random(7)) for side in sides)  # noqa: S311 - test data
    seed = chance.random()
    written = []
    for side, alike in zip(sides[1:], others, strict=True):
        fresh = side.files(random.Random(seed))  # noqa: S311 - test data
        written.append({path: alike[path] if alike[path] == base.get(path) else fresh[path] for path in alike})
    return [merge_repository.tree(files) for files in (base, *written)]


@pytest.mark.parametrize("shard", range(SHARDS))
def test_concurrent_edits_merge_as_the_oracle_says(shard: int) -> None:
    """No conflict is false or missed, no rule is lost or doubled, and each field, place and order is correct."""
    seeds = first_seed(shard)
    merged = disputed = 0
    with merge_repository() as at:
        for number in range(PAIRS // SHARDS):
            seed = seeds + number
            chance = random.Random(seed)  # noqa: S311 - test data
            editor = EditGenerator(chance)
            base = editor.base()
            sides = (base, editor.edited(base), editor.edited(base))
            at.compiler = Compiler(at.compiler.paths, at.update, SegmentStore(None))
            try:
                conflicts = check_pair(at, chance, sides, laws=number % 4 == 0)
            except Exception as ex:
                ex.add_note(f"seed {seed}, shard {shard}")
                raise
            disputed += conflicts
            merged += not conflicts
    # Guard: both outcomes are frequent enough to be tested.
    assert min(merged, disputed) * 10 > merged + disputed, (merged, disputed)


def check_pair(at: MergeRepository, chance: random.Random, sides: tuple[Side, Side, Side], *, laws: bool) -> bool:
    """Merge one pair; return whether it has conflicts."""
    wanted = expected(*sides)
    base, ours, theirs = trees(at, chance, sides)
    result = at.merge(base, ours, theirs)
    if laws:
        check_laws(at, (base, ours, theirs), result)
    if isinstance(result, set):
        assert result == wanted.conflicts
        return True
    assert wanted.conflicts == set()
    rules, order = at.read(result)
    assert rules == wanted.rules
    check_order(sides, rules, order)
    return False


def check_order(sides: tuple[Side, Side, Side], rules: Flat, order: dict[str, list[str]]) -> None:
    """Check that each merged file has its rules in the order of one of the sides."""
    for path, found_there in order.items():
        kind = "pages" if path.startswith("pages") else "redirects"
        stood = [[key for key in side.order(kind, path) if key in found_there] for side in sides]
        assert order_holds(found_there, *stood), (path, found_there, stood)
    assert {rule["place"] for rule in rules.values()} == set(order)


def check_laws(
    at: MergeRepository, trees: tuple[TreeId, TreeId, TreeId], result: TreeId | set[tuple[str, str, str]]
) -> None:
    """Check the laws that hold for every merge."""
    base, ours, theirs = trees
    assert at.merge(base, base, theirs) == theirs, "with an unchanged release it is the draft, byte by byte"
    assert at.merge(base, ours, base) == ours, "with an unchanged draft it is release, byte by byte"
    assert at.merge(base, ours, ours) == ours, "equal changes of both sides are taken once"
    other = at.merge(base, theirs, ours)
    if isinstance(result, set):
        assert other == result, "with the sides swapped, the conflicts are the same"
        return
    assert not isinstance(other, set), "with the sides swapped, there is no conflict either"
    assert at.read(other)[0] == at.read(result)[0], "with the sides swapped, the rules are the same"
    assert at.merge(ours, ours, result) == result, "merging again changes nothing"
    assert at.merge(base, result, theirs) == result, "merging a merged draft changes nothing"


def test_ten_thousand_pairs_of_rules_merge_as_the_oracle_says() -> None:
    """The oracle also agrees without files: decisions on rules and fields depend on values alone."""
    seeds = first_seed()
    for seed in range(seeds, seeds + 10_000):
        editor = EditGenerator(random.Random(seed))  # noqa: S311 - test data
        base = editor.base()
        sides = [side.flat() for side in (base, editor.edited(base), editor.edited(base))]
        rules, conflicts = merge_rules(*sides)
        found: Flat = {}
        disputed: list[tuple[str, str, str]] = []
        for kind in Kind:
            base_of_kind, ours, theirs = (_placed(kind, side) for side in sides)
            merged = merge(base_of_kind, ours, theirs)
            keys = [placed.record.identity for placed in merged.placed]
            assert len(keys) == len(set(keys)), seed
            found |= {(kind.value, placed.record.identity): _plain(placed) for placed in merged.placed}
            disputed += [(kind.value, each.identity, each.field) for each in merged.conflicts]
        assert found == rules, seed
        assert sorted(disputed) == sorted(conflicts), seed


def _plain(placed: Placed[Record]) -> dict[str, Any]:
    """Return a rule whose content, if it is in a file, is named by its path in the project."""
    named = placed.record.content_file if isinstance(placed.record, Page) else ""
    return {**placed.record.fields(), **({"body": named} if named else {}), "place": placed.file}


def _placed(kind: Kind, side: Flat) -> dict[str, Placed[Any]]:
    mine = sorted((rule["place"], key[1], rule) for key, rule in side.items() if key[0] == kind)
    make = redirect_of if kind is Kind.REDIRECTS else lambda rule: page_of(rule, rule.get("body", ""))
    return {key: Placed(make(rule), place) for place, key, rule in mine}
