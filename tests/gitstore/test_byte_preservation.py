"""An edit of one rule leaves every byte outside that rule's own lines as it was, in whatever hand the file is written.

A rule's own lines are those from its dash to its last value, with comments below that stand deeper than the dash. When
it goes, comments directly above it that stand no deeper than the dash go with it, and of the runs of blank lines that
then meet, only blank lines are lost; a comment that would then be read as part of a text above is put further left. In
brackets a rule's own are the characters between its braces.
"""

import os
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from content.record import Record, Redirect, page_of, redirect_of
from content.vocabulary import Kind, RedirectStatus
from gitstore.edits import Delete, Edit, Put
from gitstore.layout import TreeId
from gitstore.workspace import Workspace
from tests.exploring import first_seed
from tests.gitstore.hands import Hand, Sheet
from tests.gitstore.places import SHOP
from tests.gitstore.trees import Bench, bench

FILES = int(os.environ.get("WAYPOST_TEST_HANDS", "1200"))
TEXTS = (
    "/new",
    "it's",
    "a: b",
    "x # y",
    "one\ntwo\n",
    "é😀",
    " lead",
    "off",
    "a\x85b\u2028",
    "\n",
    "tab\t",
    "- a",
    "a\n\n\nb",
)


def records_of(sheet: Sheet) -> list[Record]:
    """What the writer meant."""
    make: Any = redirect_of if sheet.kind == "redirects" else page_of
    return [make(rule) for rule in sheet.rules]


def edited(at: Bench, sheet: Sheet, edit: Edit) -> tuple[str, list[Record]]:
    """The file after an edit that was written to the repository and read again, with the records in it."""
    path = f"{sheet.kind}.yaml"
    tree = at.tree({"project.yaml": b"project: {title: Shop}\n", path: sheet.data})
    before = at.compiler.snapshot(SHOP, tree)
    assert list(before.rule_files[Kind(sheet.kind)][0].part.records) == records_of(sheet), "the file is read otherwise"
    workspace = Workspace(before, at.update.blob)
    workspace.apply([edit])
    blobs = {name: at.update.write_blob(data) if data is not None else None for name, data in workspace.files.items()}
    after = at.compiler.snapshot(SHOP, TreeId(at.update.write_files(tree, blobs) or ""))
    file = after.rule_files[Kind(sheet.kind)][0]
    return at.update.blob(file.blob).decode(), list(file.part.records)


def changed(chance: random.Random, record: Record) -> Record:
    """The record with one field or more changed, its identity perhaps."""
    text = chance.choice(TEXTS)
    if isinstance(record, Redirect):
        choices: list[dict[str, Any]] = [
            {"target": chance.choice(("/new", "/it's", "/é#😀", "https://shop.example/?a=b&c"))},
            {"status": chance.choice([each for each in RedirectStatus if each != record.status])},
            {"source": f"{record.source}-renamed"},
        ]
    else:
        choices = [{"content": text if text != record.content else "other"}, {"path": f"{record.path}-renamed"}]
    choices += [{"note": "" if record.note and chance.random() < 0.5 else f"{text}!"}]
    choices += [{"tags": () if record.tags and chance.random() < 0.5 else ("on", "é", "new")}]
    values = {name: value for part in chance.sample(choices, chance.choice((1, 1, 2))) for name, value in part.items()}
    return replace(record, **values)


def fresh(sheet: Sheet) -> Record:
    """A record that no file has."""
    if sheet.kind == "redirects":
        return redirect_of({"type": "BASIC", "source": "/fresh", "target": "/it's-new", "status": "302", "tags": ["a"]})
    return page_of({"type": "BASIC", "path": "/fresh", "content": "one\n\ntwo\n", "contentType": "XML"})


def own_lines(sheet: Sheet, at: int) -> tuple[int, int]:
    """The rule's own characters: its lines, and the deeper comments directly below."""
    start, end = sheet.spans[at]
    if sheet.in_brackets:
        return start, end
    dash = len(sheet.text[start:]) - len(sheet.text[start:].lstrip(" "))
    for line in _kept(sheet.text[end:]):
        bare = line.lstrip(" \t")
        if not bare.startswith("#") or len(line) - len(bare) <= dash:
            break
        end += len(line)
    return start, end


def _kept(text: str) -> Iterator[str]:
    """The lines of a text with their ends, by LF, CRLF and CR alone."""
    while text:
        ends = [at for at in (text.find("\n"), text.find("\r")) if at >= 0]
        end = min(ends, default=len(text) - 1) + 1
        end += text[end - 1 : end + 1] == "\r\n"
        yield text[:end]
        text = text[end:]


def check_put(sheet: Sheet, at: int, after: str) -> None:
    start, end = own_lines(sheet, at)
    assert after.startswith(sheet.text[:start]), "what stands above the rule has changed"
    assert after.endswith(sheet.text[end:]), "what stands below the rule has changed"
    assert len(after) >= start + len(sheet.text) - end


def check_new(sheet: Sheet, after: str) -> None:
    alike = _alike(sheet.text, after) + _alike(sheet.text[::-1], after[::-1])
    assert alike >= len(sheet.text), "something else than the new rule has changed"


def _alike(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (left, right) in pairs if left != right), min(len(one), len(other)))


def check_delete(sheet: Sheet, at: int, after: str) -> None:
    """What stands above and below is there, but for the rule's own comments, and blank lines where they met."""
    start, end = own_lines(sheet, at)
    above, below = list(_kept(sheet.text[:start])), list(_kept(sheet.text[end:]))
    dash = len(sheet.text[start:]) - len(sheet.text[start:].lstrip(" "))
    while above and above[-1].lstrip(" \t").startswith("#") and len(above[-1]) - len(above[-1].lstrip(" \t")) <= dash:
        above.pop()
    kept_above, kept_below = _without_blanks(above), _without_blanks(below[::-1])[::-1]
    head, tail = "".join(kept_above), "".join(kept_below)
    if not tail and not sheet.text[end:] and sheet.text[-1] not in "\r\n":
        head = head.rstrip("\r\n")  # the file ends without a line break, as it did
    assert after.startswith(head), "what stands above the rule has changed"
    if after.endswith(tail):
        assert not after[len(head) : len(after) - len(tail)].strip(" \t\r\n"), "something has come in its place"
    else:
        rest = [line.lstrip(" \t") for line in _kept(after[len(head) :])]
        assert [line for line in rest if line.strip()] == [line.lstrip(" \t") for line in kept_below if line.strip()]
        assert "|" in head or ">" in head, "what stands below the rule has changed"


def _without_blanks(rows: Sequence[str]) -> list[str]:
    kept = list(rows)
    while kept and not kept[-1].strip(" \t\r\n"):
        kept.pop()
    return kept


@pytest.mark.parametrize("shard", range(3))
def test_an_edit_of_one_rule_touches_its_own_lines_only(shard: int) -> None:
    seeds = first_seed(shard)
    with bench() as at:
        for seed in range(seeds, seeds + FILES // 3):
            chance = random.Random(seed)  # noqa: S311 - test data
            sheet = Hand(chance).write()
            try:
                check_edits(at, chance, sheet)
            except Exception as ex:
                ex.add_note(f"seed {seed}, shard {shard}:\n{sheet.text!r}")
                raise


def check_edits(at: Bench, chance: random.Random, sheet: Sheet) -> None:
    """Change one rule, remove one, and put a new one; each on the file as it was written."""
    kind, held = Kind(sheet.kind), records_of(sheet)
    place = chance.randrange(len(held))
    new, wanted = fresh(sheet), changed(chance, held[place])
    after, found = edited(at, sheet, Put(kind, wanted, replaces=held[place].id))
    assert found == [*held[:place], wanted, *held[place + 1 :]]
    check_put(sheet, place, after)
    after, found = edited(at, sheet, Put(kind, new, create=True))
    assert found == [*held, new]
    check_new(sheet, after)
    after, found = edited(at, sheet, Delete(kind, held[place].id))
    assert found == [*held[:place], *held[place + 1 :]]
    if not sheet.in_brackets and len(held) > 1:
        check_delete(sheet, place, after)
