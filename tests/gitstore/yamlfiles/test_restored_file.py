"""Rules that are restored come with their older lines, at the cost of their neighbours, and what was written since stays."""

import random
from collections.abc import Sequence

import pytest

from content.changes.rule_order import restore_rules
from content.records.record import Record, redirect_of
from content.records.vocabulary import Kind
from gitstore.errors import Invalid
from gitstore.yamlfiles import restored_file
from gitstore.yamlfiles.dump import new_file
from gitstore.yamlfiles.restored_file import ReadFile, restore_file
from gitstore.yamlfiles.rewrite import RewriteFailed, RewrittenFile, rewrite_file
from gitstore.yamlfiles.rule_file import load
from tests.gitstore.yaml_generators import YamlGenerator
from tests.gitstore.yamlfiles.test_byte_preservation import changed
from tests.rounds import rounds
from tests.seeds import first_seed

FILES = rounds(240, 2400)
RULES = [
    f"  # why {number}\n  - type: BASIC\n    source: /{number}   # from\n    target: '/to/{number}'\n    status: 302\n"
    for number in range(60)
]
FILE = "redirects:\n" + "".join(RULES)


def read(data: bytes) -> ReadFile:
    return ReadFile(data, load(data, "a.yaml"))


def restored(before: ReadFile, now: ReadFile, *identities: str) -> RewrittenFile:
    """Return the file with rules as they were, as a revert restores them."""
    former = {record.identity: record for record in before.rules.records if record.identity in identities}
    present = [each for each in now.rules.records if each.identity not in identities or each.identity in former]
    wanted = restore_rules(present, [record.identity for record in before.rules.records], former)
    edited = rewrite_file(now.data, "a.yaml", wanted, known=now.rules)
    found = restore_file(before, now, edited, "a.yaml")
    assert found.rules == load(found.data, "a.yaml")
    assert found.rules.records == tuple(wanted)
    return found


def edited(before: bytes, chance: random.Random, count: int) -> bytes:
    """Return a file after so many edits, each of one rule."""
    data = before
    for _ in range(count):
        held: Sequence[Record] = load(data, "a.yaml").records
        place = chance.randrange(len(held))
        new = changed(chance, held[place])
        kinds = ([*held[:place], new, *held[place + 1 :]], [*held[:place], *held[place + 1 :]])
        wanted = chance.choice(kinds)
        if len({each.identity for each in wanted}) == len(wanted) > 0:
            data = rewrite_file(data, "a.yaml", wanted).data
    return data


def revert_all(before: bytes, draft: bytes, chance: random.Random) -> bytes:
    """Restore each rule that differs, one after the other; return the file."""
    old, data = read(before), draft
    both = {*old.rules.records} ^ {*load(data, "a.yaml").records}
    identities = sorted({record.identity for record in both})
    chance.shuffle(identities)
    for identity in identities:
        data = restored(old, read(data), identity).data
    return data


@pytest.mark.parametrize("shard", range(2))
def test_generated_files_are_restored_by_parts_as_they_are_whole(shard: int, monkeypatch: pytest.MonkeyPatch) -> None:
    cut = restored_file._cut
    windows = 0
    start = first_seed(shard)

    def counted(before: ReadFile, now: ReadFile, edited: RewrittenFile) -> object:
        nonlocal windows
        found = cut(before, now, edited)
        windows += found is not None
        return found

    for seed in range(start, start + FILES // 2):
        chance = random.Random(seed)  # noqa: S311 - test data
        before = YamlGenerator(chance, calm=seed % 4 > 0).write(*chance.choice(((1, 5), (20, 40), (30, 60)))).data
        if not load(before, "a.yaml").records or load(before, "a.yaml").problems:
            continue
        try:
            draft = edited(before, chance, chance.randint(1, 4))
            ends = []
            for how in (counted, lambda *_files: None):
                monkeypatch.setattr(restored_file, "_cut", how)
                ends.append(revert_all(before, draft, random.Random(seed)))  # noqa: S311 - as above
        except (Invalid, RewriteFailed):
            continue
        assert ends[0] == ends[1], seed
    assert windows * 20 > FILES, "too few files were cut"


def without(data: bytes, source: str) -> bytes:
    """Return the file as the service writes it without a rule."""
    return rewrite_file(data, "a.yaml", [each for each in load(data, "a.yaml").records if each.identity != source]).data


@pytest.mark.parametrize("place", [50, 11], ids=["elsewhere", "beside it"])
def test_a_removed_rule_comes_back_with_its_comment_and_a_new_comment_stays(place: int) -> None:
    before = FILE.encode()
    mark = RULES[place].encode()
    now = without(before, "/10").replace(mark, b"  # mine\n" + mark)
    found = restored(read(before), read(now), "/10").data
    kept = before.replace(mark, b"  # mine\n" + mark)
    assert found == kept if place == 50 else b"# mine" in found


def test_another_change_of_the_draft_keeps_its_bytes() -> None:
    before = FILE.encode()
    now = without(before, "/10").replace(b"'/to/50'", b'"/else"')
    assert restored(read(before), read(now), "/10").data == before.replace(b"'/to/50'", b'"/else"')


def test_a_rule_that_is_added_below_one_in_another_layout_does_not_keep_the_older_lines_away() -> None:
    """The service writes a new rule as the one above it, which differs between the two states."""
    file = (
        b"redirects:\n  - type: BASIC\n    source: /a\n    target: '/\\u00e9'  # menu\n    status: 301\n"
        b"  - {type: BASIC, source: /b, target: /y, status: 302}\n"
        b"  # Asked for by sales.\n  - type: BASIC\n    source: /c\n    target: /z\n    status: 302\n"
    )
    before = read(file)
    kept = [each for each in before.rules.records if each.identity != "/c"]
    new = redirect_of({"type": "BASIC", "source": "/n", "target": "/new", "status": "FOUND"})
    now = read(rewrite_file(file, "a.yaml", [*kept, new]).data)
    assert b'{"type"' in now.data
    found = restored(before, now, "/c")
    assert b"# Asked for by sales." in found.data
    assert restored(before, read(found.data), "/n").data == file


def test_a_line_that_a_person_has_requoted_beside_a_restored_rule_stays() -> None:
    before = FILE.encode()
    now = without(before, "/10").replace(b"'/to/11'", b'"/to/11"').replace(b"'/to/50'", b"'/else'")
    assert b'"/to/11"' in restored(read(before), read(now), "/10").data


def test_a_comment_that_a_person_has_corrected_stays_with_the_last_change_too() -> None:
    before = FILE.replace("# why 20", "# dont touch").encode()
    now = without(before, "/10").replace(b"# dont touch", b"# don't touch")
    assert b"# don't touch" in restored(read(before), read(now), "/10").data


def test_the_last_change_leaves_the_older_file() -> None:
    before = FILE.encode()
    assert restored(read(before), read(without(before, "/10")), "/10").data == before


def test_a_list_with_another_indentation_or_a_rule_twice_is_restored_whole() -> None:
    before = FILE.encode()
    now = without(before, "/10").replace(b"'/to/50'", b"'/else'")
    for other in (now.replace(b"\n  ", b"\n"), now + RULES[9].encode()):
        assert len(restored(read(before), read(other), "/10").rules.records) == other.count(b"source:") + 1


def test_a_list_that_was_empty_gives_nothing_back() -> None:
    rules = [
        redirect_of({"type": "BASIC", "source": f"/{number}", "target": "/to", "status": 302}) for number in range(20)
    ]
    now = new_file(Kind.REDIRECTS, rules)
    found = restored(read(b"# none yet\nredirects: []\n"), read(now), "/11").data
    assert found == without(now, "/11")


TWO_PAGES = """\
pages:
  - {type: BASIC, path: /a, contentType: TEXT_PLAIN, content: a}
  - type: BASIC
    path: /b
    contentType: TEXT_PLAIN
    content: |
      # why
      b
"""


@pytest.mark.parametrize(("file", "line"), [(TWO_PAGES, "  # why\n"), (FILE, "  # why 20\n")])
def test_a_new_comment_with_the_text_of_another_line_stays(file: str, line: str) -> None:
    """The other line is of the content of a page, or another comment."""
    before = read(file.encode())
    now = read(file.replace("\n", f"\n{line}", 1).encode())
    assert restore_file(before, now, RewrittenFile(*now), "a.yaml").data == now.data
