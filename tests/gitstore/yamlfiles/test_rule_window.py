"""The lines of the changed rules alone are rewritten to the same bytes, and read to the same rules, as the whole file."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from content.formats.tsv import read_rows
from content.records.record import Record, redirect_of
from content.records.vocabulary import Kind
from gitstore.errors import Invalid
from gitstore.yamlfiles.dump import LAYOUTS, Layout, new_file
from gitstore.yamlfiles.rewrite import RewriteFailed, RewrittenFile, rewrite_file
from gitstore.yamlfiles.rule_file import RuleFile, load
from gitstore.yamlfiles.rule_window import cut_window
from tests.gitstore.written import record_lists
from tests.gitstore.yaml_generators import YamlGenerator
from tests.gitstore.yamlfiles.test_byte_preservation import changed, fresh, records_of
from tests.redirect_lists import LISTS, read_list
from tests.rounds import rounds
from tests.seeds import first_seed

_REAL_RULES = 200
_FIELDS = {"type": "BASIC", "source": "/new", "target": "/t", "status": "FOUND"}
FILES = rounds(480, 2400)


def _rewritten(
    data: bytes, wanted: Sequence[Record], renamed: Mapping[str, str], known: RuleFile | None
) -> RewrittenFile | str:
    try:
        return rewrite_file(data, "a.yaml", wanted, "block", renamed, known)
    except (Invalid, RewriteFailed) as ex:
        return f"{type(ex).__name__}: {ex}"


def check_equal(data: bytes, wanted: Sequence[Record], renamed: Mapping[str, str] | None = None) -> bool:
    """Check a rewrite with the known rules against the one that reads the whole file; return whether it cut a window."""
    known = load(data, "a.yaml")
    assert _rewritten(data, wanted, renamed or {}, known) == _rewritten(data, wanted, renamed or {}, None)
    return cut_window(data, known, wanted) is not None


def _edits(chance: random.Random, held: Sequence[Record], new: Record) -> list[tuple[list[Record], dict[str, str]]]:
    """Return the rules of a file after an edit, a removal, an addition, and several of them, with the renamed ones."""
    place, other = chance.randrange(len(held)), min(chance.randrange(len(held)), len(held) - 1)
    edited = changed(chance, held[place])
    renamed = {edited.identity: held[place].identity} if edited.identity != held[place].identity else {}
    near = min(place + chance.randint(1, 2), len(held) - 1)
    return [
        ([*held[:place], edited, *held[place + 1 :]], renamed),
        ([*held[:place], edited, *held[place + 1 :]], {}),
        ([*held[:place], *held[place + 1 :]], {}),
        ([*held, new], {}),
        ([*held[:place], new, *held[place:]], {}),
        ([*held[:place], new, *held[place + 1 :]], {}),
        ([*held[:place], *held[place + 2 :], new], {}),
        ([*held[:place], edited, *held[place + 1 : near], *held[near + 1 :]], renamed),
        ([*held[:other], *held[other + 1 :], held[other]], {}),
    ]


def check_generated(seed: int) -> tuple[int, int]:
    """Check the edits of one generated file; return how many cut a window, of how many."""
    chance = random.Random(seed)  # noqa: S311 - test data
    generated = YamlGenerator(chance, calm=seed % 4 > 0).write(*chance.choice(((1, 5), (8, 25), (12, 40))))
    edits = _edits(chance, records_of(generated), fresh(generated))
    return sum(check_equal(generated.data, wanted, renamed) for wanted, renamed in edits), len(edits)


@pytest.mark.parametrize("shard", range(2))
def test_a_window_gives_the_bytes_and_rules_of_the_whole_file(shard: int) -> None:
    start = first_seed(shard)
    cut, edits = map(sum, zip(*(check_generated(seed) for seed in range(start, start + FILES // 24)), strict=True))
    assert cut * 10 > edits, "too few of the files are cut"


@given(record_lists(Kind.REDIRECTS, min_size=1), st.sampled_from(LAYOUTS), st.randoms(use_true_random=False))
def test_rules_with_any_text_are_rewritten_in_a_window_as_in_the_whole_file(
    odd: list[Record], layout: Layout, chance: random.Random
) -> None:
    held: list[Record] = [redirect_of(_FIELDS | {"source": f"/plain/{number}"}) for number in range(20)]
    held[7:7] = odd
    data, place = new_file(Kind.REDIRECTS, held, layout), chance.randrange(len(held))
    new = redirect_of({**odd[0].fields(), "source": f"{odd[0].identity}/new"})
    for wanted in (
        [*held[:place], new, *held[place + 1 :]],
        [*held[:place], *held[place + 1 :]],
        [*held[:place], new, *held[place:]],
        [*held, new],
    ):
        check_equal(data, wanted)


def _first_rules(name: str) -> list[Record]:
    """Return the first rules of a list; what comes after them is not parsed."""
    found: dict[str, Record] = {}
    for row in read_rows(read_list(name)):
        if row.fields:
            found.setdefault(row.fields.identity, row.fields)
        if len(found) == _REAL_RULES:
            break
    return list(found.values())


@pytest.mark.parametrize("name", LISTS)
def test_real_lists_are_rewritten_in_a_window_as_in_the_whole_file(name: str) -> None:
    held = _first_rules(name)
    chance = random.Random(name)  # noqa: S311 - test data
    data = new_file(Kind.REDIRECTS, held, chance.choice(LAYOUTS))
    edits = _edits(chance, held, redirect_of(_FIELDS))
    assert [check_equal(data, *edit) for edit in chance.sample(edits[:-1], 4)].count(True) > 2


def _size_of_window(rules: int) -> int:
    held = [redirect_of(_FIELDS | {"source": f"/{number:06}"}) for number in range(rules)]
    data, place = new_file(Kind.REDIRECTS, held), rules // 2
    wanted = [*held[:place], replace(held[place], target="/changed"), *held[place + 1 :]]
    window = cut_window(data, load(data, "a.yaml"), wanted)
    assert window, "the rules are plain"
    return len(window.data)


def test_what_is_read_for_an_edit_does_not_grow_with_the_file() -> None:
    assert _size_of_window(50) == _size_of_window(5_000)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("target: /7", "target: /7\r"),
        ("target: /7", "target:\t/7"),
        ("target: /7", "target: |-\n      /7"),
        ("target: /7", "target: >-\n      /7"),
        ("target: /7", "target: '/7\u2028'"),
        ("  - type: BASIC\n    source: /5", "  -\n    type: BASIC\n    source: /5"),
    ],
    ids=["return", "tab", "literal", "folded", "separator", "dash"],
)
def test_an_odd_part_is_left_to_the_whole_file(before: str, after: str) -> None:
    held = [redirect_of(_FIELDS | {"source": f"/{number}", "target": f"/{number}"}) for number in range(40)]
    data = new_file(Kind.REDIRECTS, held).decode().replace(f"{before}\n", f"{after}\n").encode()
    known = load(data, "a.yaml")
    wanted = [*known.records[:7], replace(held[7], target="/new"), *known.records[8:]]
    assert cut_window(new_file(Kind.REDIRECTS, held), load(new_file(Kind.REDIRECTS, held), ""), wanted) is not None
    assert cut_window(data, known, wanted) is None


def test_a_duplicate_in_the_file_is_left_to_the_whole_file() -> None:
    held = [redirect_of(_FIELDS | {"source": f"/{number}"}) for number in range(40)]
    data = new_file(Kind.REDIRECTS, [*held, held[7]])
    known = load(data, "a.yaml")
    assert cut_window(data, known, [*known.records[:20], *known.records[21:]]) is None


def test_a_part_that_reads_otherwise_than_known_is_left_to_the_whole_file() -> None:
    held = [redirect_of(_FIELDS | {"source": f"/{number}"}) for number in range(40)]
    data = new_file(Kind.REDIRECTS, held)
    wanted = [*held[:20], replace(held[20], target="/new"), *held[21:]]
    known = load(data, "a.yaml")
    shifted = replace(known, lines=tuple(line - 4 for line in known.lines))
    assert rewrite_file(data, "a.yaml", wanted, known=shifted) == rewrite_file(data, "a.yaml", wanted)


def test_problems_keep_their_rules_and_lines() -> None:
    """Warnings of rules above and below an edit are moved with them."""
    held = [redirect_of(_FIELDS | {"source": f"/{number}"}) for number in range(60)]
    for place in (3, 29, 31, 50):
        held[place] = redirect_of(_FIELDS | {"source": f"/{place}", "target": f"/a b{place}"})
    data = new_file(Kind.REDIRECTS, held)
    assert len({problem.line for problem in load(data, "").problems}) == 4
    new = replace(held[30], note="one\ntwo\n", target="/c d")
    other = replace(new, source="/other")
    for wanted in ([*held[:30], new, *held[31:]], [*held[:30], *held[32:]], [*held[:30], other, *held[30:]]):
        assert check_equal(data, wanted)


@pytest.mark.parametrize(
    "broken",
    [
        "- type: BASIC\n    source: /x\n    status: 302",
        "- {type: BASIC, target: /t, status: 302}",
        "- type: BASIC\n    source: /x\n    target: /t\n    status: 302\n    more: yes",
        "- type: BASIC\n    source: [1]\n    target: /t\n    status: 302",
        "- text",
        "-",
        "- []",
    ],
)
@pytest.mark.parametrize("others", [0, 3])
def test_no_window_is_cut_from_a_file_with_a_rule_that_cannot_be_read(broken: str, others: int) -> None:
    """Wherever it is, and with other problems above it."""
    rules = [f"- {{type: BASIC, source: /{number}, target: /t, status: 302}}" for number in range(40)]
    for place in range(41):
        lines = [*rules[:place], broken, *rules[place:]]
        for number in range(others):  # rules that are read, with a problem each
            lines[number * 3] = lines[number * 3].replace("target: /t,", "target: 'http://',")
        data = ("redirects:\n" + "".join(f"  {line}\n" for line in lines)).encode()
        known = load(data, "a.yaml")
        assert len(known.records) == 40
        for removed in (place, (place + 7) % 40):
            wanted = [record for at, record in enumerate(known.records) if at != removed]
            assert cut_window(data, known, wanted) is None, place
