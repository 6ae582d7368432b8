"""The hooks for pre-commit: the real pre-commit runs the sample's configuration, and installs Waypost without an index."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
import yaml

from cli.version import __version__
from tests.cli.ci.jobs import commit, git
from tests.cli.terminal import SAMPLE
from tests.service import ROOT

SOURCES = ("waypost", "api", "cli", "content", "gitstore", "schemas", "sample-repo")
FILES = ("pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml")


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a repository of the product, with the tag of its version."""
    folder = tmp_path_factory.mktemp("product") / "waypost"
    for name in SOURCES:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in FILES:
        shutil.copy(ROOT / name, folder / name)
    git(folder, "init", "-q", "-b", "main")
    commit(folder, "Release")
    git(folder, "tag", f"v{__version__}")
    return folder


@pytest.fixture(scope="module")
def env(product: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return an environment in which the address of the sample leads to that repository, and pip takes nothing from an index.

    The libraries are those of this environment.
    """
    folder = tmp_path_factory.mktemp("home")
    config = yaml.safe_load((SAMPLE / ".pre-commit-config.yaml").read_text("utf-8"))
    address = config["repos"][0]["repo"]
    settings = folder / ".gitconfig"  # pre-commit removes GIT_CONFIG_GLOBAL
    settings.write_text(
        f'[url "{product.as_uri()}"]\n\tinsteadOf = {address}\n[user]\n\tname = T\n\temail = t@tests.example\n'
        '[protocol "file"]\n\tallow = always\n'
    )
    pip = {"NO_INDEX": "1", "NO_DEPS": "1", "NO_BUILD_ISOLATION": "0", "DISABLE_PIP_VERSION_CHECK": "1"}
    return {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        "PRE_COMMIT_HOME": str(folder / "cache"),
        "PYTHONPATH": os.pathsep.join([sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]),
        **{f"PIP_{name}": value for name, value in pip.items()},
    }


@pytest.fixture
def content(tmp_path: Path) -> Path:
    """Create a repository of the sample."""
    folder = tmp_path / "content"
    shutil.copytree(SAMPLE, folder)
    git(folder, "init", "-q", "-b", "release")
    commit(folder, "Begin")
    return folder


def pre_commit(folder: Path, env: dict[str, str], *words: str) -> tuple[int, str]:
    found = subprocess.run(
        [sys.executable, "-m", "pre_commit", *words, "--color", "never"],
        cwd=folder,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=200,
        check=False,
    )
    return found.returncode, found.stdout.decode()


def test_the_configuration_of_the_sample_checks_each_commit(content: Path, env: dict[str, str]) -> None:
    code, out = pre_commit(content, env, "run", "--all-files")
    assert (code, re.findall(r"(Passed|Failed|Skipped)$", out, re.MULTILINE)) == (0, ["Passed", "Passed"]), out
    rules = content / "shop/redirects/service.yaml"
    rules.write_text(rules.read_text("utf-8") + "  - { type: BASIC, source: /x1, target: /x1, status: 301 }\n")
    git(content, "add", "-A")
    code, out = pre_commit(content, env, "run")
    assert (code, re.findall(r"(Passed|Failed|Skipped)$", out, re.MULTILINE)) == (1, ["Failed", "Failed"]), out
    assert "Formatted shop/redirects/service.yaml." in out
    assert "error: endless redirect: /x1 → /x1 [redirect_loop]" in out
    git(content, "checkout", "-q", "HEAD", "--", ".")
    (content / "shop/security.txt").unlink()
    git(content, "add", "-A")
    code, out = pre_commit(content, env, "run")
    assert (code, re.findall(r"(Passed|Failed|Skipped)$", out, re.MULTILINE)) == (1, ["Skipped", "Failed"]), out
    assert "[missing_file]" in out


def test_the_manifest_is_valid_and_names_commands_that_exist() -> None:
    manifest = ROOT / ".pre-commit-hooks.yaml"
    found = subprocess.run(
        [sys.executable, "-m", "pre_commit", "validate-manifest", str(manifest)], capture_output=True, check=False
    )
    assert found.returncode == 0, found.stdout.decode()
    assert [hook["entry"] for hook in yaml.safe_load(manifest.read_text("utf-8"))] == [
        "waypost validate",
        "waypost fmt",
    ]
