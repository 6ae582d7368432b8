"""`waypost fmt`: files in their canonical layout, written in place or only checked."""

from pathlib import Path

import pytest

from tests.cli.rule_folders import RULES, project
from tests.cli.terminal import invoke, invoke_ok

RAGGED = RULES.replace("  - type", "- type").replace("    ", "  ") + "# the end\n"
WANTED = RULES + "# the end\n"


@pytest.fixture(autouse=True)
def work_folder(work_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change to a folder with a project whose rules are not in the layout."""
    content = project(work_folder / "rules" / "shop", {"redirects.yaml": RAGGED}).parent
    monkeypatch.chdir(content)
    return content


def test_files_are_written_in_the_layout_once(work_folder: Path) -> None:
    path = work_folder / "shop" / "redirects.yaml"
    path.chmod(0o600)
    outcome = invoke_ok("fmt")
    assert outcome.err == "Formatted shop/redirects.yaml.\n1 file formatted, 1 file left unchanged.\n"
    assert (path.read_text(), path.stat().st_mode & 0o777) == (WANTED, 0o600)
    assert invoke_ok("fmt").err == "0 files formatted, 2 files left unchanged.\n"
    assert [each.name for each in path.parent.iterdir() if each.suffix != ".yaml"] == []


def test_a_check_changes_nothing_and_fails(work_folder: Path) -> None:
    outcome = invoke("fmt", "--check")
    assert outcome.code == 1
    assert outcome.err == "Would format shop/redirects.yaml.\n1 file would be formatted, 1 file left unchanged.\n"
    assert (work_folder / "shop" / "redirects.yaml").read_text() == RAGGED
    invoke_ok("fmt")
    assert invoke("fmt", "--check").code == 0


def test_a_difference_is_shown_and_not_written(work_folder: Path) -> None:
    outcome = invoke_ok("fmt", "--diff")
    assert "-- type: BASIC\n" in outcome.out
    assert "+  - type: BASIC\n" in outcome.out
    assert (work_folder / "shop" / "redirects.yaml").read_text() == RAGGED


def test_single_files_are_formatted_and_others_left_alone(work_folder: Path) -> None:
    other = work_folder / ".pre-commit-config.yaml"
    other.write_text("repos:\n- repo:   local\n")
    outcome = invoke_ok("fmt", other, work_folder / "shop" / "redirects.yaml")
    assert outcome.err.endswith("1 file formatted, 1 file left unchanged.\n")
    assert other.read_text() == "repos:\n- repo:   local\n"


def test_a_file_that_cannot_be_read_is_named_and_the_others_are_formatted(work_folder: Path) -> None:
    (work_folder / "shop" / "pages.yaml").write_text("pages: [\n")
    outcome = invoke("fmt")
    assert outcome.code == 1
    assert "shop/pages.yaml:2:1: error: " in outcome.err
    assert (work_folder / "shop" / "redirects.yaml").read_text() == WANTED
    assert (work_folder / "shop" / "pages.yaml").read_text() == "pages: [\n"


def test_links_are_not_followed(work_folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.yaml"
    outside.write_text(RAGGED)
    (work_folder / "shop" / "link.yaml").symlink_to(outside)
    invoke_ok("fmt")
    assert outside.read_text() == RAGGED
    assert invoke("fmt", "shop/link.yaml").code == 2


def test_a_comment_behind_a_byte_order_mark_stays(work_folder: Path) -> None:
    file = work_folder / "shop/tests.yaml"
    file.write_text('tests:\n  - {url: "/b", status: 404}\n\ufeff# keep me\n')
    invoke_ok("fmt", file)
    assert "# keep me" in file.read_text()
    assert invoke_ok("fmt", "--check", file).err == "0 files would be formatted, 1 file left unchanged.\n"
