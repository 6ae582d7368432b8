"""The wheel: complete in a separate environment, away from the sources."""

import ast
import json
import os
import re
import sys
import zipfile
from collections.abc import Iterator
from email import message_from_bytes
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from cli.version import __version__
from gitstore.directory import DataDirectory
from gitstore.git.push_hook import HOOK
from tests.cli.installation import create_environment, install, run
from tests.cli.plain_pushes import BAD
from tests.cli.server.test_demo import ask, demo_of
from tests.e2e.git import Clone
from tests.service import ROOT

PACKAGES = ("api", "cli", "content", "gitstore", "schemas")
PRIVATE = "waypost/_packages"
# named in a database's URL and in the server's options; the libraries that read those import them
BY_NAME = {"psycopg", "uvloop"}


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel into an environment, and return the folder of its programs."""
    programs = create_environment(tmp_path_factory.mktemp("installed") / "env")
    install(programs, str(wheel))
    return programs


@pytest.fixture(scope="module")
def names(wheel: Path) -> set[str]:
    """Return the files of the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def files_below(folder: str) -> Iterator[str]:
    """Return the files of the sources below a folder, relative to it, without the caches of Python."""
    for path in (ROOT / folder).rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path.relative_to(ROOT / folder).as_posix()


@pytest.mark.parametrize("package", PACKAGES)
def test_every_file_of_a_package_is_in_the_wheel(names: set[str], package: str) -> None:
    assert {f"{PRIVATE}/{package}/{name}" for name in files_below(package)} - names == set()
    assert f"{PRIVATE}/{package}/py.typed" in names


def test_schemas_contract_and_migrations_are_in_the_wheel(names: set[str]) -> None:
    assert f"{PRIVATE}/schemas/openapi.yaml" in names
    assert len([name for name in names if re.fullmatch(rf"{PRIVATE}/schemas/[a-z-]+\.schema\.json", name)]) > 10
    assert [name for name in names if re.fullmatch(rf"{PRIVATE}/api/db/migrations/versions/.+\.py", name)]


def test_the_sample_is_in_the_wheel_with_its_dotfiles(names: set[str]) -> None:
    sample = {f"{PRIVATE}/cli/sample_repo/{name}" for name in files_below("sample-repo")}
    assert f"{PRIVATE}/cli/sample_repo/.github/workflows/waypost.yml" in sample
    assert sample - names == set()


def test_nothing_else_is_in_the_wheel(names: set[str]) -> None:
    assert {name.partition("/")[0] for name in names} == {"waypost", f"waypost-{__version__}.dist-info"}
    own = {name for name in names if name.startswith("waypost/") and not name.startswith(f"{PRIVATE}/")}
    assert own == {"waypost/__init__.py", "waypost/__main__.py", "waypost/hook.py", "waypost/py.typed"}
    private = {name.split("/")[2] for name in names if name.startswith(f"{PRIVATE}/")}
    assert private == {*PACKAGES, "dashboard"}
    assert [name for name in names if "test_" in name or "__pycache__" in name or "conftest" in name] == []


def test_every_import_is_a_dependency_of_the_wheel(wheel: Path) -> None:
    """The environment of the tests has more libraries than an installation, so the imports are compared."""
    with zipfile.ZipFile(wheel) as archive:
        metadata = message_from_bytes(archive.read(f"waypost-{__version__}.dist-info/METADATA"))
        imported = {name for path in archive.namelist() if path.endswith(".py") for name in imports(archive.read(path))}
    needed = {canonical(re.split(r"[ \[<>=!~;]", line)[0]) for line in metadata.get_all("Requires-Dist", [])}
    distributions = packages_distributions()
    foreign = imported - {"waypost", *PACKAGES} - {*sys.stdlib_module_names}
    providers = {name: {canonical(found) for found in distributions.get(name, [])} for name in foreign}
    assert {name: found for name, found in providers.items() if not found & needed} == {}
    assert needed - BY_NAME - set().union(*providers.values()) == set()


def imports(source: bytes) -> Iterator[str]:
    """Return the top-level names that a module imports."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def canonical(name: str) -> str:
    """Return a distribution's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def test_the_installed_command_says_its_version(installed: Path, tmp_path: Path) -> None:
    assert run(str(installed / "waypost"), "--version", cwd=tmp_path) == f"waypost, version {__version__}\n"
    (tmp_path / "where.py").write_text("import api, cli\nprint(api.__file__)\nprint(cli.__file__)\n")
    shown = run(str(installed / "waypost"), "run", "where.py", cwd=tmp_path)
    assert [line.startswith(str(installed.parent)) for line in shown.splitlines()] == [True, True]


def test_the_installed_command_validates_a_folder(installed: Path, tmp_path: Path) -> None:
    out = run(str(installed / "waypost"), "validate", str(ROOT / "sample-repo"), "--format", "json", cwd=tmp_path)
    found = json.loads(out)
    assert (found["projects"], found["problems"]) == (["company", "docs", "shop"], [])
    assert {found[name] for name in ("errors", "warnings", "neverAnswer", "total")} == {0}


def test_the_installed_demo_serves_the_packaged_sample(installed: Path, tmp_path: Path) -> None:
    env = {"PATH": os.defpath, "HOME": str(tmp_path), "LANG": "C.UTF-8"}
    with demo_of([str(installed / "waypost")], tmp_path / "data", env) as shown:
        version, redirects, answer = (json.loads(ask(line)) for line in shown.lines)
        assert len(version) == 40
        assert redirects["total"] == 67
        assert answer["results"][0]["status"] == 301


def test_the_hook_names_the_environment_and_survives_an_upgrade(wheel: Path, tmp_path: Path) -> None:
    programs = create_environment(tmp_path / "env")
    install(programs, str(wheel))
    data = tmp_path / "data"
    DataDirectory(data).create()
    sample = str(ROOT / "sample-repo")
    run(str(programs / "waypost"), "namespace", "create", "acme", "--from", sample, "--data", str(data), cwd=tmp_path)
    repository = data / "repos/acme.git"
    assert f"python='{programs}/python'\n" in (repository / HOOK).read_text()
    install(programs, str(wheel))
    clone = Clone.of(repository, tmp_path / "clone")
    clone.write("shop/redirects/more.yaml", BAD)
    clone.commit()
    with pytest.raises(AssertionError, match=r"shop/redirects/more\.yaml:6:5: duplicate_source"):
        clone.push()
