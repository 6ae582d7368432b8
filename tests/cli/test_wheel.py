"""What is installed is whole: the wheel, in an environment of its own, away from the sources."""

import ast
import json
import os
import re
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator
from email import message_from_bytes
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from cli.version import __version__
from tests.cli.terminal import SECONDS
from tests.cli.test_demo import ask, demo_of
from tests.service import ROOT

PACKAGES = ("api", "cli", "content", "gitstore", "schemas")
BY_NAME = {"psycopg", "uvloop"}
"""Named in a database's URL and in the server's options; the libraries that read those import them."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the sources as they are."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    built = subprocess.run(command, capture_output=True, check=False)
    assert built.returncode == 0, built.stdout.decode() + built.stderr.decode()
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel, that sees the libraries of this one and not the sources."""
    place = tmp_path_factory.mktemp("installed") / "env"
    run(sys.executable, "-m", "venv", "--without-pip", str(place))
    python = place / "bin" / "python"
    site = Path(run(str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    (site / "libraries.pth").write_text(f"{sysconfig.get_path('purelib')}\n{sysconfig.get_path('platlib')}\n")
    pip = (sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", "--no-index")
    run(*pip, "--ignore-installed", "--disable-pip-version-check", str(wheel))
    return place / "bin"


@pytest.fixture(scope="module")
def names(wheel: Path) -> set[str]:
    """The files of the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def run(*command: str, cwd: Path | None = None) -> str:
    """What a program prints in a clean environment; it must succeed."""
    env = {"PATH": os.defpath, "HOME": str(Path.home()), "LANG": "C.UTF-8"}
    found = subprocess.run(command, env=env, cwd=cwd, capture_output=True, timeout=SECONDS, check=False)
    assert found.returncode == 0, found.stdout.decode() + found.stderr.decode()
    return found.stdout.decode()


def files_below(folder: str) -> Iterator[str]:
    """The files of the sources below a folder, relative to it, without what Python leaves behind."""
    for path in (ROOT / folder).rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path.relative_to(ROOT / folder).as_posix()


@pytest.mark.parametrize("package", PACKAGES)
def test_every_file_of_a_package_is_in_the_wheel(names: set[str], package: str) -> None:
    assert {f"{package}/{name}" for name in files_below(package)} - names == set()
    assert f"{package}/py.typed" in names


def test_schemas_contract_and_migrations_are_in_the_wheel(names: set[str]) -> None:
    assert "schemas/openapi.yaml" in names
    assert len([name for name in names if re.fullmatch(r"schemas/[a-z-]+\.schema\.json", name)]) > 10
    assert [name for name in names if re.fullmatch(r"api/state/migrations/versions/.+\.py", name)]


def test_the_sample_is_in_the_wheel_with_its_dotfiles(names: set[str]) -> None:
    sample = {f"cli/sample_repo/{name}" for name in files_below("sample-repo")}
    assert "cli/sample_repo/.github/workflows/validate.yml" in sample
    assert sample - names == set()


def test_nothing_else_is_in_the_wheel(names: set[str]) -> None:
    assert {name.partition("/")[0] for name in names} == {*PACKAGES, f"waypost-{__version__}.dist-info"}
    assert [name for name in names if "test_" in name or "__pycache__" in name or "conftest" in name] == []


def test_whatever_is_imported_is_a_dependency_that_the_wheel_names(wheel: Path) -> None:
    """The environment of the tests holds more libraries than an installation does, so the imports are compared."""
    with zipfile.ZipFile(wheel) as archive:
        metadata = message_from_bytes(archive.read(f"waypost-{__version__}.dist-info/METADATA"))
        imported = {name for path in archive.namelist() if path.endswith(".py") for name in imports(archive.read(path))}
    needed = {canonical(re.split(r"[ \[<>=!~;]", line)[0]) for line in metadata.get_all("Requires-Dist", [])}
    distributions = packages_distributions()
    foreign = imported - {*PACKAGES} - {*sys.stdlib_module_names}
    providers = {name: {canonical(found) for found in distributions.get(name, [])} for name in foreign}
    assert {name: found for name, found in providers.items() if not found & needed} == {}
    assert needed - BY_NAME - set().union(*providers.values()) == set()


def imports(source: bytes) -> Iterator[str]:
    """The top-level names that a module imports."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def canonical(name: str) -> str:
    """A distribution's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def test_the_installed_command_says_its_version(installed: Path, tmp_path: Path) -> None:
    assert run(str(installed / "waypost"), "--version", cwd=tmp_path) == f"waypost, version {__version__}\n"
    module = run(str(installed / "python"), "-c", "import cli, api; print(cli.__file__)", cwd=tmp_path)
    assert module.startswith(str(installed.parent))


def test_the_installed_command_validates_a_folder(installed: Path, tmp_path: Path) -> None:
    out = run(str(installed / "waypost"), "validate", str(ROOT / "sample-repo"), "--format", "json", cwd=tmp_path)
    assert json.loads(out) == {"projects": ["company", "docs", "shop"], "errors": 0, "warnings": 0, "problems": []}


def test_the_installed_demo_serves_the_packaged_sample(installed: Path, tmp_path: Path) -> None:
    env = {"PATH": os.defpath, "HOME": str(tmp_path), "LANG": "C.UTF-8"}
    with demo_of([str(installed / "waypost")], tmp_path / "data", env) as shown:
        version, redirects, answer = (json.loads(ask(line)) for line in shown.lines)
        assert len(version) == 40
        assert redirects["total"] == 67
        assert answer["results"][0]["status"] == 301
