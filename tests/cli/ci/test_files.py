"""The files for CI: valid by the schemas of their hosts, and of the version that a release would have."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from cli.version import __version__
from tests.cli.terminal import SAMPLE
from tests.service import ROOT

NAME = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["name"]
COMPONENT = ROOT / "templates/waypost.yml"
VERSIONED = [
    SAMPLE / ".pre-commit-config.yaml",
    SAMPLE / ".gitlab-ci.yml",
    SAMPLE / ".github/workflows/waypost.yml",
    COMPONENT,
    *(ROOT / "docs/how-to" / name for name in ("validate-in-ci.md", "review-rules-in-pull-requests.md")),
]


def faults(schema: str, *files: Path, transform: str = "") -> str:
    """Check files against a schema of SchemaStore, as check-jsonschema carries it."""
    options = ["--data-transform", transform] if transform else []
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", *options]
    found = subprocess.run([*command, *map(str, files)], capture_output=True, text=True, check=False)
    return "" if found.returncode == 0 else found.stdout + found.stderr


def test_the_action_and_the_workflow_are_valid() -> None:
    assert faults("github-actions", ROOT / "action.yml") == ""
    assert faults("github-workflows", SAMPLE / ".github/workflows/waypost.yml") == ""


def test_the_component_and_the_pipeline_are_valid(tmp_path: Path) -> None:
    head, body = COMPONENT.read_text("utf-8").split("\n---\n")
    (tmp_path / "head.yml").write_text(head)
    (tmp_path / "body.yml").write_text(body)
    files = (tmp_path / "head.yml", tmp_path / "body.yml", SAMPLE / ".gitlab-ci.yml")
    assert faults("gitlab-ci", *files, transform="gitlab-ci") == ""
    (tmp_path / "body.yml").write_text(body.replace("artifacts:", "artefacts:"))
    assert faults("gitlab-ci", tmp_path / "body.yml", transform="gitlab-ci") != ""


def test_every_input_of_the_component_is_used_and_described() -> None:
    head, body = COMPONENT.read_text("utf-8").split("\n---\n")
    declared = yaml.safe_load(head)["spec"]["inputs"]
    assert set(re.findall(r"inputs\.(\w+)", body)) == declared.keys()
    assert all(each["description"] for each in declared.values())


def test_every_input_of_the_action_is_used_and_described() -> None:
    text = (ROOT / "action.yml").read_text("utf-8")
    declared = yaml.safe_load(text)["inputs"]
    assert set(re.findall(r"inputs\.(\w+)", text)) == declared.keys()
    assert all(each["description"] for each in declared.values())


@pytest.mark.parametrize("path", VERSIONED, ids=lambda path: path.name)
def test_the_version_is_that_of_a_release(path: Path) -> None:
    """Its one home is cli/version.py; a release has the tag `v` and the version."""
    text = path.read_text("utf-8")
    named = re.findall(rf"(?:rev: v|@v|{NAME}==|{NAME}-)(\d[0-9.]*\d)", text)
    assert set(named) == {__version__}


def test_a_wheel_has_the_name_that_the_files_install(wheel: Path) -> None:
    assert wheel.name == f"{NAME}-{__version__}-py3-none-any.whl"
    declared = yaml.safe_load(COMPONENT.read_text("utf-8").split("\n---\n")[0])["spec"]["inputs"]
    assert declared["package"]["default"] == f"{NAME}=={__version__}"
