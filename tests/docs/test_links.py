"""Links of the documents: each has a target, and every document can be reached from the README."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.blocks import anchors, documents, links
from tests.service import ROOT

PATHS = [pytest.param(path, id=path.relative_to(ROOT).as_posix()) for path in documents()]


def relative_links(path: Path) -> Iterator[tuple[str, Path, str]]:
    """Return the links of a document to files of the project: as written, the file, the anchor."""
    for target in links(path.read_text("utf-8")):
        if "://" not in target:
            name, _, anchor = target.partition("#")
            yield target, (path.parent / name).resolve() if name else path, anchor


@pytest.mark.parametrize("path", PATHS)
def test_every_relative_link_names_a_file_and_a_heading_that_are_there(path: Path) -> None:
    broken = [
        target
        for target, file, anchor in relative_links(path)
        if not file.exists() or (anchor and anchor not in anchors(file.read_text("utf-8")))
    ]
    assert broken == []


def test_every_document_can_be_reached_from_the_readme() -> None:
    reached, waiting = set(), [ROOT / "README.md"]
    while waiting:
        path = waiting.pop()
        if path not in reached:
            reached.add(path)
            waiting += [file for _, file, _ in relative_links(path) if file.suffix == ".md"]
    assert set(documents()) - reached == set()


def test_decisions_are_numbered_without_a_gap_and_listed() -> None:
    folder = ROOT / "docs" / "adr"
    names = sorted(path.name for path in folder.glob("0*.md"))
    assert [int(name[:4]) for name in names] == list(range(1, len(names) + 1))
    assert list(links((folder / "README.md").read_text("utf-8"))) == names


def test_every_decision_has_its_four_parts() -> None:
    for path in (ROOT / "docs" / "adr").glob("0*.md"):
        found = anchors(path.read_text("utf-8"))
        assert {"context", "decision", "options-weighed", "consequences"} <= found, path.name
