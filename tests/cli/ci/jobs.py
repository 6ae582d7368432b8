"""The jobs of CI services on this machine: the scripts of their files, run as their runners do, on a clone with a change."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.cli.terminal import SAMPLE, SECONDS, environment
from tests.service import ROOT

IDENTITY = ("-c", "user.name=T", "-c", "user.email=t@tests.example", "-c", "commit.gpgsign=false")
_EXPRESSION = re.compile(r"\$\{\{ (.*?) \}\}")
_INPUT = re.compile(r"\$\[\[ inputs\.(\w+) \]\]")


@dataclass(frozen=True, slots=True)
class Checkout:
    """A shallow clone of a repository, as a runner makes it, at a branch with a change; `origin` is the repository."""

    origin: Path
    folder: Path


@dataclass(frozen=True, slots=True)
class Ran:
    """A script that ran: its exit code and all of its output."""

    code: int
    out: str


def git(folder: Path, *words: str) -> str:
    found = subprocess.run(["git", "-C", str(folder), *IDENTITY, *words], check=True, capture_output=True, text=True)
    return found.stdout.strip()


def commit(folder: Path, message: str) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", message)


def pull_request(tmp_path: Path, edits: Mapping[str, tuple[str, str]]) -> Checkout:
    """Create a repository of the sample with a branch that replaces texts in files, and a shallow clone of the branch."""
    origin, folder = tmp_path / "origin", tmp_path / "checkout"
    shutil.copytree(SAMPLE, origin)
    git(origin, "init", "-q", "-b", "release")
    commit(origin, "Begin")
    git(origin, "checkout", "-q", "-b", "change")
    for name, (old, new) in edits.items():
        text = (origin / name).read_text("utf-8")
        assert old in text
        (origin / name).write_text(text.replace(old, new, 1))
    commit(origin, "Change rules")
    git(origin, "checkout", "-q", "release")
    (origin / "shop/redirects/since.yaml").write_text("redirects: []\n")
    commit(origin, "Go on with something else")
    git(tmp_path, "clone", "-q", "--depth", "1", "--branch", "change", origin.as_uri(), str(folder))
    return Checkout(origin, folder)


def run_script(script: str, folder: Path, env: Mapping[str, str]) -> Ran:
    """Run a script with bash and the options of the runners."""
    found = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        cwd=folder,
        env=environment({"GIT_CONFIG_GLOBAL": os.devnull, **env}),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=SECONDS,
        check=False,
    )
    return Ran(found.returncode, found.stdout.decode())


class ActionJob:
    """A job of GitHub with the steps of `action.yml`."""

    def __init__(self, tmp_path: Path, folder: Path, env: Mapping[str, str], given: Mapping[str, str]) -> None:
        self.action: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
        declared = {name: str(each["default"]) for name, each in self.action["inputs"].items()}
        assert given.keys() <= declared.keys()
        self._values = {f"inputs.{name}": value for name, value in {**declared, **given}.items()}
        self._values |= {"github.token": env.get("GITHUB_TOKEN", ""), "!cancelled()": "true"}
        self.temp = tmp_path / "runner"
        self.temp.mkdir()
        self.summary, self._path = tmp_path / "summary.md", tmp_path / "path"
        self._folder = folder
        self._env = {
            **env,
            "RUNNER_TEMP": str(self.temp),
            "GITHUB_STEP_SUMMARY": str(self.summary),
            "GITHUB_PATH": str(self._path),
            "GITHUB_ACTION_PATH": str(ROOT),
        }
        self._env.pop("GITHUB_TOKEN", None)  # only expressions have it

    def step(self, name: str, programs: Path | None = None) -> Ran:
        """Run a step, with the programs that an earlier step put on the path, or these."""
        (step,) = [each for each in self.action["runs"]["steps"] if each["name"] == name]
        assert "${{" not in step["run"], "a value in a script would be run"
        assert (step["shell"], self._evaluate(step.get("if", "true"))) == ("bash", "true")
        own = {name: self._evaluate(text) for name, text in step.get("env", {}).items()}
        added = str(programs) if programs else self._path.read_text().strip()
        path = os.pathsep.join([added, os.environ["PATH"]])
        return run_script(step["run"], self._folder, {**self._env, "PATH": path, **own})

    def _evaluate(self, text: str) -> str:
        while found := _EXPRESSION.search(text):
            text = text.replace(found[0], self._values[found[1]])
        return text


def component_script(given: Mapping[str, str]) -> tuple[dict[str, Any], list[str], dict[str, str]]:
    """Return the job of the component with these inputs: all of it, its script, and its variables."""
    head, body = (ROOT / "templates/waypost.yml").read_text("utf-8").split("\n---\n")
    declared = yaml.safe_load(head)["spec"]["inputs"]
    assert given.keys() <= declared.keys()
    values = {
        name: str(each["default"]).lower() if each.get("type") else str(each["default"])
        for name, each in declared.items()
    }
    text = _INPUT.sub(lambda found: {**values, **given}[found[1]], body)
    job = yaml.safe_load(text)["waypost"]
    return job, job["script"], {name: str(value) for name, value in job["variables"].items()}


def join(script: Sequence[str]) -> str:
    """Join the lines of a GitLab job, which one shell runs."""
    return "\n".join(script)
