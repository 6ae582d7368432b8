"""Editors: the real yaml-language-server validates, completes and explains files by the schemas of `waypost schema`."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.terminal import SAMPLE, invoke_ok
from tests.editors.language_server import LanguageServer, serve
from tests.service import ROOT, Service

MODULES = ROOT / ".venv/editors/node_modules"
FILES = {
    "redirects": "redirects:\n  - type: BASIC\n    source: /a\n    target: /b\n    status: 304\n    \n",
    "pages": "pages:\n  - type: BASIC\n    path: /a\n    contentType: HTML\n    content: x\n    \n",
    "project": "project:\n  title: Shop\n  policy:\n    review: never\n    \n",
    "tests": "tests:\n  - url: /a\n    status: 500\n    \n",
}
WRONG = {
    "redirects": (5, "MOVED_PERMANENT"),
    "pages": (4, "TEXT_PLAIN"),
    "project": (4, "optional"),
    "tests": (3, "404"),
}
MISSING = {
    "redirects": {"note": "A note for people", "tags": "Labels for people"},
    "pages": {"note": "A note for people", "file": "The file that holds the page's body"},
    "project": {"lint": "warnings stop a publish"},
    "tests": {"location": "The expected location"},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a folder with the schemas as `waypost schema --write` writes them."""
    assert MODULES.is_dir(), "The language server is not installed. Run: make .venv/editors.done"
    folder = tmp_path_factory.mktemp("rules")
    assert (
        invoke_ok("schema", "--write", folder / ".vscode/waypost").err
        == f"4 schemas are in {folder}/.vscode/waypost.\n"
    )
    return folder


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[LanguageServer]:
    """Run the language server."""
    with serve(folder, MODULES) as server:
        yield server


def write(folder: Path, name: str, schema: str) -> Path:
    path = folder / "shop" / f"{name}.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"# yaml-language-server: $schema={schema}\n{FILES[name]}")
    return path


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_validated_completed_and_explained(folder: Path, server: LanguageServer, name: str) -> None:
    path = write(folder, name, f"../.vscode/waypost/{name}.schema.json")
    check(server, path, name)


def check(server: LanguageServer, path: Path, name: str) -> None:
    line, valid = WRONG[name]
    (found,) = server.open(path)
    assert (found["range"]["start"]["line"], valid in found["message"]) == (line, True), found
    lines = path.read_text().splitlines()
    for number, text in enumerate(lines[1:-1], 1):
        field = text.strip(" -").partition(":")[0]
        shown = server.hover(path, number, text.index(field) + 1)
        assert len(shown.splitlines()) >= 3, f"{field} is not explained: {shown!r}"
    column = len(lines[-1])
    offered = server.complete(path, len(lines) - 1, column)
    for field, words in MISSING[name].items():
        assert words in offered[field]
    assert valid in server.complete(path, line, len(lines[line]) - 1)


def test_a_running_service_has_the_schemas_too(waypost: Service, tmp_path: Path) -> None:
    with serve(tmp_path, MODULES) as server:
        check(server, write(tmp_path, "redirects", f"{waypost.url}/schemas/redirects"), "redirects")


def test_the_files_of_the_sample_name_their_schema_and_are_valid(server: LanguageServer) -> None:
    files = [path for path in SAMPLE.glob("*/**/*.yaml") if not path.relative_to(SAMPLE).parts[0].startswith(".")]
    assert len(files) > 15
    for path in files:
        assert server.open(path) == []
        assert server.hover(
            path, next(n for n, line in enumerate(path.read_text().splitlines()) if line[:1].isalpha()), 1
        )


def test_the_schemas_of_the_sample_are_those_of_the_product() -> None:
    for name in FILES:
        kept = (SAMPLE / ".vscode/waypost" / f"{name}.schema.json").read_text("utf-8")
        assert kept == invoke_ok("schema", name).out, f"Run: waypost schema --write {SAMPLE}/.vscode/waypost"
