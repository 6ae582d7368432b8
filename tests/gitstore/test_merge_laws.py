"""Merging, held to an oracle of its own: thousands of pairs of concurrent edits, as trees in a real bare repository."""

import os
import random
from typing import Any

import pytest

from content.merge import merge
from content.record import Page, Placed, Record, page_of, redirect_of
from content.vocabulary import Kind
from gitstore.compiler import Compiler
from gitstore.layout import TreeId
from gitstore.part_store import PartStore
from tests.exploring import first_seed
from tests.gitstore.merge_sides import Flat, Hand, Side, expected, merge_rules, order_holds
from tests.gitstore.trees import Bench, bench

PAIRS = int(os.environ.get("WAYPOST_TEST_MERGES", "3000"))
"""Pairs that go through a repository, at 6 ms each; those of the rules alone are always 10,000."""
SHARDS = 3


def trees(bench: Bench, chance: random.Random, sides: tuple[Side, ...]) -> list[TreeId]:
    """The sides as folders; a file that a side left alone keeps its bytes."""
    base, *others = (side.files(random.Random(7)) for side in sides)  # noqa: S311 - test data
    seed = chance.random()
    written = []
    for side, alike in zip(sides[1:], others, strict=True):
        fresh = side.files(random.Random(seed))  # noqa: S311 - test data
        written.append({path: alike[path] if alike[path] == base.get(path) else fresh[path] for path in alike})
    return [bench.tree(files) for files in (base, *written)]


@pytest.mark.parametrize("shard", range(SHARDS))
def test_concurrent_edits_merge_as_the_oracle_says(shard: int) -> None:
    """No false conflict and none missed, no rule lost, none doubled, each field and place right, and order kept."""
    seeds = first_seed(shard)
    merged = disputed = 0
    with bench() as at:
        for number in range(PAIRS // SHARDS):
            seed = seeds + number
            chance = random.Random(seed)  # noqa: S311 - test data
            hand = Hand(chance)
            base = hand.base()
            sides = (base, hand.edited(base), hand.edited(base))
            at.compiler = Compiler(at.compiler.paths, at.update, PartStore(None))
            try:
                conflicts = check_pair(at, chance, sides, laws=number % 4 == 0)
            except Exception as ex:
                ex.add_note(f"seed {seed}, shard {shard}")
                raise
            disputed += conflicts
            merged += not conflicts
    # A generator that only ever merges, or only ever disputes, would prove little.
    assert min(merged, disputed) * 10 > merged + disputed, (merged, disputed)


def check_pair(at: Bench, chance: random.Random, sides: tuple[Side, Side, Side], *, laws: bool) -> bool:
    """Merge one pair; tells whether it has conflicts."""
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
    """Each merged file has its rules in an order that somebody chose."""
    for path, found_there in order.items():
        kind = "pages" if path.startswith("pages") else "redirects"
        stood = [[key for key in side.order(kind, path) if key in found_there] for side in sides]
        assert order_holds(found_there, *stood), (path, found_there, stood)
    assert {rule["place"] for rule in rules.values()} == set(order)


def check_laws(at: Bench, trees: tuple[TreeId, TreeId, TreeId], result: TreeId | set[tuple[str, str, str]]) -> None:
    """What holds for any merge, whatever it merges."""
    base, ours, theirs = trees
    assert at.merge(base, base, theirs) == theirs, "with an unchanged release it is the draft, byte by byte"
    assert at.merge(base, ours, base) == ours, "with an unchanged draft it is release, byte by byte"
    assert at.merge(base, ours, ours) == ours, "what both did alike is taken once"
    other = at.merge(base, theirs, ours)
    if isinstance(result, set):
        assert other == result, "the other way round the same is disputed"
        return
    assert not isinstance(other, set), "the other way round nothing is disputed either"
    assert at.read(other)[0] == at.read(result)[0], "the other way round it gives the same rules"
    assert at.merge(ours, ours, result) == result, "merging again changes nothing"
    assert at.merge(base, result, theirs) == result, "a draft that was merged brings nothing more"


def test_ten_thousand_pairs_of_rules_merge_as_the_oracle_says() -> None:
    """The same without files: what is decided of rules and fields is decided by values alone."""
    seeds = first_seed()
    for seed in range(seeds, seeds + 10_000):
        hand = Hand(random.Random(seed))  # noqa: S311 - test data
        base = hand.base()
        sides = [side.flat() for side in (base, hand.edited(base), hand.edited(base))]
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
    """A rule whose content, where it stands in a file, is named by its path in the project."""
    named = placed.record.content_file if isinstance(placed.record, Page) else ""
    return {**placed.record.fields(), **({"body": named} if named else {}), "place": placed.file}


def _placed(kind: Kind, side: Flat) -> dict[str, Placed[Any]]:
    mine = sorted((rule["place"], key[1], rule) for key, rule in side.items() if key[0] == kind)
    make = redirect_of if kind is Kind.REDIRECTS else lambda rule: page_of(rule, rule.get("body", ""))
    return {key: Placed(make(rule), place) for place, key, rule in mine}
