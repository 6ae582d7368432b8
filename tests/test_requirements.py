"""Requirements that a machine lacks: their tests are left out, the last lines say so, and only CI fails for it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.service import ROOT

REAL_LISTS = "tests/content/checks/test_real_lists.py::test_regexes_of_a_real_site_give_the_locations_that_it_gives"
IMPORTS = "tests/content/formats/test_tsv.py::test_no_input_is_too_strange_to_be_checked"

_FEW_PLUGINS = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # the import of those that are installed takes most of a run


def run_tests(folder: Path, *arguments: str, ci: bool) -> subprocess.CompletedProcess[str]:
    """Run pytest without a folder of real lists, in a folder of its own.

    In the folder of all users' runs it would remove what earlier runs have left, which takes minutes.
    """
    own = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "CI"))}
    env = {**own, "WAYPOST_TEST_DATASETS": "/nowhere", **_FEW_PLUGINS, **({"CI": "true"} if ci else {})}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-pno:cacheprovider",
        "-ppytest_timeout",
        "-pxdist.plugin",
        f"--basetemp={folder / 'run'}",
        *arguments,
    ]
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=["alone", "with workers"])
def test_without_the_real_lists_a_closing_line_says_so_and_only_ci_fails(
    workers: tuple[str, ...], tmp_path: Path
) -> None:
    for ci in (False, True):
        found = run_tests(tmp_path, *workers, REAL_LISTS, IMPORTS, ci=ci)
        (line,) = [line for line in found.stdout.splitlines() if "not run:" in line]
        assert line.removeprefix("ERROR: ").startswith("not run: 1 tests on real redirect lists")
        assert line.startswith("ERROR") is ci
        assert "1 passed" in found.stdout
        assert found.returncode == int(ci)


def test_a_run_that_needs_nothing_else_says_nothing(tmp_path: Path) -> None:
    found = run_tests(tmp_path, IMPORTS, ci=True)
    assert (found.returncode, "not run" in found.stdout) == (0, False)


def install_tools(folder: Path, *names: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run the script as a user without root, sudo and apt, who has one tool."""
    folder.joinpath("id").write_text("#!/bin/sh\necho 1000\n")
    folder.joinpath("present").write_text("#!/bin/sh\n")
    for name in ("id", "present"):
        folder.joinpath(name).chmod(0o755)
    command = ["/bin/sh", str(ROOT / ".ci" / "install-tools"), *names]
    return subprocess.run(
        command, env={"PATH": str(folder), **env}, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )


def test_a_missing_tool_is_named_at_once_with_the_command_that_installs_it(tmp_path: Path) -> None:
    found = install_tools(tmp_path, "present", "absent", "missing")
    assert found.returncode == 1
    assert "apt install absent missing" in found.stderr
    assert "sudo" not in found.stderr


def test_without_an_optional_tool_the_tests_run_and_in_ci_they_do_not(tmp_path: Path) -> None:
    for ci, code in (("", 0), ("true", 1)):
        found = install_tools(tmp_path, "present", "--", "absent", CI=ci)
        assert found.returncode == code
        assert "Not installed: absent. The tests that need it are not run." in found.stderr


def test_with_all_tools_there_is_nothing_to_say(tmp_path: Path) -> None:
    found = install_tools(tmp_path, "present", "--", "present", CI="true")
    assert (found.returncode, found.stdout, found.stderr) == (0, "", "")
