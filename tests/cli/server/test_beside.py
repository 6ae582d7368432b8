"""Waypost beside others: an environment with a distribution that has its own top-level `api` and `schemas`."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from api.app.data_directory import create_data
from api.settings import Settings
from cli.version import __version__
from tests.cli.installation import build_wheel, create_environment, install, run, site_of, uninstall
from tests.cli.server.test_demo import Demo, demo_of
from tests.cli.terminal import SECONDS
from tests.service import ROOT, child_pids, wait_until

PACKAGES = ("api", "cli", "content", "gitstore", "schemas")
PROJECT = "/api/namespace/sample/project/shop"
OTHER = {
    "pyproject.toml": """\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "billing"
version = "1"
scripts = {billing = "api:main"}

[tool.hatch.build.targets.wheel]
packages = ["api", "schemas"]
""",
    "api/__init__.py": 'import schemas\n\n\ndef main():\n    print("an invoice of", schemas.CURRENCY)\n',
    "api/runtime.py": 'raise RuntimeError("this is the runtime of billing")\n',
    "schemas/__init__.py": 'CURRENCY = "EUR"\n',
}
STARTS = {"script": ("waypost",), "module": ("python", "-m", "waypost"), "isolated": ("python", "-I", "-m", "waypost")}
SCRIPT = """\
import multiprocessing

import schemas
from gitstore import layout


def title(name):
    return schemas.openapi()["info"][name]


if __name__ == "__main__":
    for method in ("spawn", "forkserver"):
        with multiprocessing.get_context(method).Pool(1) as pool:
            print(pool.map(title, ["title"]))
    print(schemas.__file__)
    print(layout.__file__)
"""

each_start = pytest.mark.parametrize("start", STARTS)


def write_files(folder: Path, files: dict[str, str]) -> Path:
    """Write files and their folders."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return folder


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel of the other distribution."""
    source = write_files(tmp_path_factory.mktemp("billing"), OTHER)
    return build_wheel(source, tmp_path_factory.mktemp("theirs"))


@pytest.fixture(scope="module")
def programs(wheel: Path, other: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install both into one environment, and return the folder of its programs."""
    made = create_environment(tmp_path_factory.mktemp("both") / "env")
    install(made, str(wheel), str(other))
    return made


@pytest.fixture
def foreign_path(tmp_path: Path) -> dict[str, str]:
    """Create packages of all our names that fail when imported, and return variables that put them on the path."""
    text = "raise RuntimeError('imported from PYTHONPATH')\n"
    folder = write_files(tmp_path / "path", {f"{name}/__init__.py": text for name in PACKAGES})
    return {"PYTHONPATH": str(folder)}


def command(programs: Path, start: str) -> list[str]:
    """Return the command that starts `waypost` in an environment."""
    program, *rest = STARTS[start]
    return [str(programs / program), *rest]


@each_start
def test_every_start_runs_the_command_line(
    programs: Path, start: str, tmp_path: Path, foreign_path: dict[str, str]
) -> None:
    shown = run(*command(programs, start), "--version", cwd=tmp_path, env=foreign_path)
    assert shown == f"waypost, version {__version__}\n"


@pytest.mark.parametrize("start", ["script", "module"])
def test_a_service_publishes_by_helper_processes_and_is_reloaded(
    programs: Path, start: str, tmp_path: Path, foreign_path: dict[str, str]
) -> None:
    env = {"PATH": os.defpath, "HOME": str(tmp_path), "LANG": "C.UTF-8", **foreign_path}
    with demo_of(command(programs, start), tmp_path / "data", env) as shown, editor(shown) as client:
        publish(client, "/before")
        master = shown.process.pid
        workers = child_pids(master)
        shown.process.send_signal(signal.SIGHUP)
        wait_until(lambda: renewed(workers, child_pids(master)), SECONDS, "new workers alone")
        publish(client, "/after")


def renewed(before: set[int], now: set[int]) -> bool:
    """Return whether other processes have replaced all the earlier ones."""
    return bool(now) and not now & before


@contextmanager
def editor(shown: Demo) -> Iterator[httpx.Client]:
    """Open a client, and log in."""
    with httpx.Client(base_url=shown.url, timeout=SECONDS) as client:
        credentials = {"username": "admin", "password": shown.field("password")}
        token = client.post("/auth/login", json=credentials).raise_for_status().json()["tokens"]["accessToken"]
        client.headers["Authorization"] = f"Bearer {token}"
        yield client


def publish(client: httpx.Client, source: str) -> None:
    """Publish one more redirect, and check that it is served."""
    rule = {"type": "BASIC", "source": source, "target": "/there", "status": "FOUND"}
    client.post(f"{PROJECT}/draft/redirects", json=rule).raise_for_status()
    client.post(f"{PROJECT}/publish", json={}).raise_for_status()
    answer = client.post(f"{PROJECT}/test", json={"urls": [source]}).raise_for_status().json()
    assert answer["results"][0]["location"] == "/there"


def test_the_other_distribution_works_in_a_process_of_its_own(programs: Path, tmp_path: Path) -> None:
    assert run(str(programs / "billing"), cwd=tmp_path) == "an invoice of EUR\n"
    code = "import waypost, api; api.main()"
    assert run(str(programs / "python"), "-c", code, cwd=tmp_path) == "an invoice of EUR\n"


def test_importing_waypost_changes_no_path(programs: Path, tmp_path: Path) -> None:
    code = (
        "import importlib.util, sys; before = [*sys.path]; import waypost; assert sys.path == before; "
        "print([name for name in ('content', 'gitstore') if importlib.util.find_spec(name)])"
    )
    assert run(str(programs / "python"), "-c", code, cwd=tmp_path) == "[]\n"


@each_start
def test_a_file_of_the_user_finds_our_packages_and_so_do_its_helper_processes(
    programs: Path, start: str, tmp_path: Path, foreign_path: dict[str, str]
) -> None:
    write_files(tmp_path, {"report.py": SCRIPT, "schemas/__init__.py": "raise RuntimeError('beside the file')\n"})
    out = run(*command(programs, start), "run", "report.py", cwd=tmp_path, env=foreign_path)
    *titles, schema, layout = out.splitlines()
    assert titles == ["['Waypost']", "['Waypost']"]
    private = site_of(programs) / "waypost" / "_packages"
    assert (schema, layout) == (str(private / "schemas/__init__.py"), str(private / "gitstore/layout.py"))


def test_an_uninstall_leaves_nothing(wheel: Path, tmp_path: Path) -> None:
    programs = create_environment(tmp_path / "env")
    before = {*tmp_path.rglob("*")}
    install(programs, str(wheel))
    create_data(Settings(data=tmp_path / "env/data"))
    for words in (["validate", str(ROOT / "sample-repo")], ["token", "create", "edge", "--role", "agent"]):
        run(str(programs / "waypost"), *words, cwd=tmp_path, env={"WAYPOST_DATA": str(tmp_path / "env/data")})
    uninstall(programs, "waypost")
    data = tmp_path / "env/data"
    left = {path for path in {*tmp_path.rglob("*")} - before if data not in (path, *path.parents)}
    assert left == set()


def test_an_editable_install_beside_another_runs_the_sources(other: Path, tmp_path: Path) -> None:
    programs = create_environment(tmp_path / "env")
    install(programs, "--editable", str(ROOT))
    install(programs, str(other))
    script = write_files(
        tmp_path, {"where.py": "import api, gitstore\nprint(api.__file__)\nprint(gitstore.__file__)\n"}
    )
    assert not (site_of(programs) / "waypost").exists()
    for start in STARTS:
        shown = run(*command(programs, start), "run", str(script / "where.py"), cwd=tmp_path)
        assert shown.splitlines() == [str(ROOT / "api/__init__.py"), str(ROOT / "gitstore/__init__.py")]
