"""The component for GitLab: its script, run as a runner does, on a clone with a change and a fake API."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.ci.fake_host import FakeHost, fake_host
from tests.cli.ci.jobs import Checkout, Ran, component_script, git, join, pull_request, run_script
from tests.cli.ci.test_action import LOOP, SALE, fake_pip, hostile_modules
from tests.content.formats.schemas import code_quality_faults, junit_faults


@pytest.fixture
def host() -> Iterator[FakeHost]:
    """Serve the API of GitLab."""
    with fake_host("gitlab", "project_42_bot") as host:
        yield host


def run_job(tmp_path: Path, checkout: Checkout, env: dict[str, str], **given: str) -> Ran:
    """Run the job with a pip that only records what it installs."""
    if not (tmp_path / "programs").exists():
        fake_pip(tmp_path / "programs", tmp_path / "calls")
    _, script, variables = component_script(given)
    programs = os.pathsep.join([str(tmp_path / "programs"), str(Path(sys.executable).parent), os.environ["PATH"]])
    base = git(checkout.origin, "merge-base", "release", "change")
    more = {"CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "release", "CI_MERGE_REQUEST_DIFF_BASE_SHA": base, "PATH": programs}
    return run_script(join(script), checkout.folder, {**variables, **more, **env})


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """Clone with the whole history of the branch, as GIT_DEPTH: 0 does."""
    checkout = pull_request(tmp_path, SALE)
    git(checkout.folder, "fetch", "-q", "--unshallow")
    return checkout


def test_a_merge_request_is_compared_commented_on_and_checked(
    tmp_path: Path, checkout: Checkout, host: FakeHost
) -> None:
    found = run_job(tmp_path, checkout, host.environment)
    assert found.code == 0, found.out
    assert (tmp_path / "calls").read_text() == "install --quiet waypost==0.1.0\n"
    (comment,) = host.comments
    assert comment["body"] == (checkout.folder / "waypost-diff.md").read_text()
    assert "| leads to another host | `/sale` |" in comment["body"]
    assert "since.yaml" not in comment["body"]
    quality = json.loads((checkout.folder / "gl-code-quality-report.json").read_text())
    assert (quality, code_quality_faults(quality)) == ([], [])
    assert junit_faults((checkout.folder / "waypost-junit.xml").read_text()) == []
    for name in ("gl-code-quality-report.json", "waypost-junit.xml", "waypost-diff.md"):
        (checkout.folder / name).unlink()
    assert "merge request 7 is unchanged" in run_job(tmp_path, checkout, host.environment).out


def test_an_error_is_in_all_reports_and_fails_the_job(tmp_path: Path, host: FakeHost) -> None:
    checkout = pull_request(tmp_path, LOOP)
    git(checkout.folder, "fetch", "-q", "--unshallow")
    found = run_job(tmp_path, checkout, host.environment)
    assert found.code == 1
    assert "error: endless redirect" in found.out
    assert "error `redirect_loop`" in host.comments[0]["body"]
    (problem,) = json.loads((checkout.folder / "gl-code-quality-report.json").read_text())
    assert problem["location"]["path"] == "shop/redirects/catalogue.yaml"
    assert "redirect_loop" in (checkout.folder / "waypost-junit.xml").read_text()


def test_without_a_token_or_with_a_refusal_the_comparison_is_an_artifact(
    tmp_path: Path, checkout: Checkout, host: FakeHost
) -> None:
    without = run_job(tmp_path, checkout, {**host.environment, "WAYPOST_COMMENT_TOKEN": ""})
    assert (without.code, "set the variable WAYPOST_COMMENT_TOKEN" in without.out) == (0, True)
    for name in ("gl-code-quality-report.json", "waypost-junit.xml", "waypost-diff.md"):
        (checkout.folder / name).unlink()
    host.status = 403
    refused = run_job(tmp_path, checkout, host.environment)
    assert (refused.code, "waypost-diff.md, an artifact" in refused.out) == (0, True)
    assert (checkout.folder / "waypost-diff.md").is_file()


def test_if_the_target_cannot_be_fetched_the_base_is_that_of_the_request(
    tmp_path: Path, checkout: Checkout, host: FakeHost
) -> None:
    git(checkout.folder, "remote", "set-url", "origin", str(tmp_path / "nowhere"))
    assert run_job(tmp_path, checkout, host.environment).code == 0
    assert "`/sale`" in host.comments[0]["body"]


def test_a_pipeline_of_a_branch_compares_nothing(tmp_path: Path, checkout: Checkout, host: FakeHost) -> None:
    found = run_job(tmp_path, checkout, {**host.environment, "CI_MERGE_REQUEST_IID": ""}, path="shop", strict="true")
    assert (found.code, host.requests) == (0, []), found.out
    assert not (checkout.folder / "waypost-diff.md").exists()


def test_neither_modules_of_the_checkout_nor_the_installation_get_the_token(
    tmp_path: Path, checkout: Checkout, host: FakeHost
) -> None:
    hostile_modules(checkout, tmp_path / "ran")
    _, script, variables = component_script({"package": "./nowhere.whl"})
    (install,) = (number for number, line in enumerate(script) if "/pip" in line)
    seen = [*script[:install], "env", "exit 0"]
    found = run_script(join(seen), checkout.folder, {**variables, **host.environment, "PATH": os.environ["PATH"]})
    assert found.code == 0, found.out
    assert not (tmp_path / "ran").exists()
    assert host.environment["WAYPOST_COMMENT_TOKEN"] not in found.out


def test_a_comparison_that_fails_leaves_the_reports(tmp_path: Path, checkout: Checkout, host: FakeHost) -> None:
    git(checkout.folder, "remote", "set-url", "origin", str(tmp_path / "nowhere"))
    with_lost_base = {**host.environment, "CI_MERGE_REQUEST_DIFF_BASE_SHA": "0" * 40}
    found = run_job(tmp_path, checkout, with_lost_base)
    assert found.code == 1, found.out
    for name in ("gl-code-quality-report.json", "waypost-junit.xml"):
        assert (checkout.folder / name).is_file(), found.out


def test_the_reports_are_artifacts() -> None:
    job, script, _ = component_script({})
    names = {*job["artifacts"]["paths"], *job["artifacts"]["reports"].values()}
    assert {name for name in names if name not in join(script)} == set()
    assert job["artifacts"]["when"] == "always"
