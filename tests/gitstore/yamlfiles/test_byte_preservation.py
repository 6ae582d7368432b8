"""An edit of one rule leaves every byte outside that rule's own lines unchanged, in any style of file.

A rule's own lines are those from its dash to its last value, with comments below that are indented deeper than the
dash. A removal takes the comments directly above, if they are not deeper than the dash. Of the runs of blank lines that
then meet, only blank lines are lost; a comment that would become part of a text above is moved to the left. In
brackets a rule's own are the characters between its braces.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from content.records.record import Record, Redirect, page_of, redirect_of
from content.records.vocabulary import Kind, RedirectStatus
from gitstore.drafts.editing.edits import Delete, Edit, Put
from gitstore.drafts.editing.workspace import Workspace
from gitstore.layout import TreeId
from tests.gitstore.fixtures import SHOP
from tests.gitstore.trees import MergeRepository, merge_repository
from tests.gitstore.yaml_generators import GeneratedFile, YamlGenerator
from tests.rounds import rounds
from tests.seeds import first_seed

FILES = rounds(240, 1200)
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


def records_of(generated: GeneratedFile) -> list[Record]:
    """Return the intended records."""
    make: Any = redirect_of if generated.kind == "redirects" else page_of
    return [make(rule) for rule in generated.rules]


def edited(at: MergeRepository, generated: GeneratedFile, edit: Edit) -> tuple[str, list[Record]]:
    """Return the file after an edit that was written to the repository and read again, with its records."""
    path = f"{generated.kind}.yaml"
    tree = at.tree({"project.yaml": b"project: {title: Shop}\n", path: generated.data})
    before = at.compiler.snapshot(SHOP, tree)
    assert list(before.rule_files[Kind(generated.kind)][0].segment.records) == records_of(generated), (
        "the file is read otherwise"
    )
    workspace = Workspace(before, at.update.blob)
    workspace.apply([edit])
    blobs = {name: at.update.write_blob(data) if data is not None else None for name, data in workspace.files.items()}
    after = at.compiler.snapshot(SHOP, TreeId(at.update.write_files(tree, blobs) or ""))
    file = after.rule_files[Kind(generated.kind)][0]
    return at.update.blob(file.blob).decode(), list(file.segment.records)


def changed(chance: random.Random, record: Record) -> Record:
    """Return the record with one field or more changed, possibly its identity."""
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
    values = {
        name: value for segment in chance.sample(choices, chance.choice((1, 1, 2))) for name, value in segment.items()
    }
    return replace(record, **values)


def fresh(generated: GeneratedFile) -> Record:
    """Return a record that is in no file."""
    if generated.kind == "redirects":
        return redirect_of({"type": "BASIC", "source": "/fresh", "target": "/it's-new", "status": "302", "tags": ["a"]})
    return page_of({"type": "BASIC", "path": "/fresh", "content": "one\n\ntwo\n", "contentType": "XML"})


def own_lines(generated: GeneratedFile, at: int) -> tuple[int, int]:
    """Return the rule's own characters: its lines, and the deeper comments directly below."""
    start, end = generated.spans[at]
    if generated.in_brackets:
        return start, end
    dash = len(generated.text[start:]) - len(generated.text[start:].lstrip(" "))
    for line in _kept(generated.text[end:]):
        bare = line.lstrip(" \t")
        if not bare.startswith("#") or len(line) - len(bare) <= dash:
            break
        end += len(line)
    return start, end


def _kept(text: str) -> Iterator[str]:
    """Yield the lines of a text with their ends, by LF, CRLF and CR alone."""
    while text:
        ends = [at for at in (text.find("\n"), text.find("\r")) if at >= 0]
        end = min(ends, default=len(text) - 1) + 1
        end += text[end - 1 : end + 1] == "\r\n"
        yield text[:end]
        text = text[end:]


def check_put(generated: GeneratedFile, at: int, after: str) -> None:
    start, end = own_lines(generated, at)
    assert after.startswith(generated.text[:start]), "the text above the rule has changed"
    assert after.endswith(generated.text[end:]), "the text below the rule has changed"
    assert len(after) >= start + len(generated.text) - end


def check_new(generated: GeneratedFile, after: str) -> None:
    alike = _alike(generated.text, after) + _alike(generated.text[::-1], after[::-1])
    assert alike >= len(generated.text), "text outside the new rule has changed"


def _alike(one: str, other: str) -> int:
    """Return the length of the common prefix of two texts."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (left, right) in pairs if left != right), min(len(one), len(other)))


def check_delete(generated: GeneratedFile, at: int, after: str) -> None:
    """Check that the text above and below is there, but for the rule's own comments, and blank lines where they met."""
    start, end = own_lines(generated, at)
    above, below = list(_kept(generated.text[:start])), list(_kept(generated.text[end:]))
    dash = len(generated.text[start:]) - len(generated.text[start:].lstrip(" "))
    while above and above[-1].lstrip(" \t").startswith("#") and len(above[-1]) - len(above[-1].lstrip(" \t")) <= dash:
        above.pop()
    kept_above, kept_below = _without_blanks(above), _without_blanks(below[::-1])[::-1]
    head, tail = "".join(kept_above), "".join(kept_below)
    if not tail and not generated.text[end:] and generated.text[-1] not in "\r\n":
        head = head.rstrip("\r\n")  # the file still ends without a line break
    assert after.startswith(head), "the text above the rule has changed"
    if after.endswith(tail):
        assert not after[len(head) : len(after) - len(tail)].strip(" \t\r\n"), "other text has replaced it"
    else:
        rest = [line.lstrip(" \t") for line in _kept(after[len(head) :])]
        assert [line for line in rest if line.strip()] == [line.lstrip(" \t") for line in kept_below if line.strip()]
        assert "|" in head or ">" in head, "the text below the rule has changed"


def _without_blanks(rows: Sequence[str]) -> list[str]:
    kept = list(rows)
    while kept and not kept[-1].strip(" \t\r\n"):
        kept.pop()
    return kept


@pytest.mark.parametrize("shard", range(3))
def test_an_edit_of_one_rule_touches_its_own_lines_only(shard: int) -> None:
    seeds = first_seed(shard)
    with merge_repository() as at:
        for seed in range(seeds, seeds + FILES // 3):
            chance = random.Random(seed)  # noqa: S311 - test data
            generated = YamlGenerator(chance).write()
            try:
                check_edits(at, chance, generated)
            except Exception as ex:
                ex.add_note(f"seed {seed}, shard {shard}:\n{generated.text!r}")
                raise


def check_edits(at: MergeRepository, chance: random.Random, generated: GeneratedFile) -> None:
    """Change one rule, remove one, and add one, each in the original file."""
    kind, held = Kind(generated.kind), records_of(generated)
    place = chance.randrange(len(held))
    new, wanted = fresh(generated), changed(chance, held[place])
    after, found = edited(at, generated, Put(kind, wanted, replaces=held[place].id))
    assert found == [*held[:place], wanted, *held[place + 1 :]]
    check_put(generated, place, after)
    after, found = edited(at, generated, Put(kind, new, create=True))
    assert found == [*held, new]
    check_new(generated, after)
    after, found = edited(at, generated, Delete(kind, held[place].id))
    assert found == [*held[:place], *held[place + 1 :]]
    if not generated.in_brackets and len(held) > 1:
        check_delete(generated, place, after)
