"""The composite action: its steps, run as a runner of GitHub does, on a clone with a change and a fake API."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.version import __version__
from tests.cli.bare_files import disguise
from tests.cli.ci.fake_host import FakeHost, fake_host
from tests.cli.ci.jobs import ActionJob, Checkout, commit, git, pull_request
from tests.cli.installation import create_environment, install, run
from tests.service import ROOT

SALE = {"shop/redirects/catalogue.yaml": ("target: /offers\n", "target: https://outlet.example/\n")}
LOOP = {"shop/redirects/catalogue.yaml": ("target: /offers\n", "target: /sale\n")}
PROGRAMS = Path(sys.executable).parent
COMPARE, COMMENT, CHECK = "Compare with the base", "Comment on the pull request", "Check rules and run their tests"
PULL_REQUEST = {"GITHUB_BASE_REF": "release", "GITHUB_REF": "refs/pull/7/merge"}


@pytest.fixture
def host() -> Iterator[FakeHost]:
    """Serve the API of GitHub."""
    with fake_host("github") as host:
        yield host


def job(tmp_path: Path, checkout: Checkout, host: FakeHost, **given: str) -> ActionJob:
    return ActionJob(tmp_path, checkout.folder, {**host.environment, **PULL_REQUEST}, given)


def test_a_pull_request_is_compared_commented_on_and_checked(tmp_path: Path, host: FakeHost) -> None:
    checkout = pull_request(tmp_path, SALE)
    ours = job(tmp_path, checkout, host)
    for name in (COMPARE, COMMENT, CHECK):
        found = ours.step(name, PROGRAMS)
        assert (name, found.code) == (name, 0), found.out
    (comment,) = host.comments
    assert comment["body"] == ours.summary.read_text()
    assert comment["body"].startswith("<!-- waypost-diff: . -->\n\n### Redirects and pages: 1 redirect changed\n")
    assert "| leads to another host | `/sale` | `301 /offers` → `301 https://outlet.example/` |" in comment["body"]
    assert "since.yaml" not in comment["body"]  # a change of release, not of the branch
    git(checkout.folder, "commit", "-q", "--allow-empty", "-m", "Later")
    (checkout.folder / "shop/redirects/more.yaml").write_text(
        "redirects:\n  - {type: BASIC, source: /m, target: /n, status: 301}\n"
    )
    commit(checkout.folder, "More")
    assert [ours.step(name, PROGRAMS).code for name in (COMPARE, COMMENT)] == [0, 0]
    assert [each["body"].splitlines()[2] for each in host.comments] == [
        "### Redirects and pages: 1 redirect added, 1 redirect changed"
    ]


def test_an_error_is_in_the_comment_and_fails_the_job(tmp_path: Path, host: FakeHost) -> None:
    ours = job(tmp_path, pull_request(tmp_path, LOOP), host)
    assert [ours.step(name, PROGRAMS).code for name in (COMPARE, COMMENT)] == [0, 0]
    assert "| error `redirect_loop` | `shop/redirects/catalogue.yaml:" in host.comments[0]["body"]
    checked = ours.step(CHECK, PROGRAMS)
    assert checked.code == 1
    assert "::error title=Waypost (redirect_loop),file=shop/redirects/catalogue.yaml,line=" in checked.out


def test_files_that_look_like_a_bare_repository_are_checked_and_obeyed_by_nothing(
    tmp_path: Path, host: FakeHost
) -> None:
    checkout = pull_request(tmp_path, LOOP)
    disguise(checkout.folder, tmp_path / "ran")
    commit(checkout.folder, "Disguise")
    ours = job(tmp_path, checkout, host)
    assert [ours.step(name, PROGRAMS).code for name in (COMPARE, COMMENT, CHECK)] == [0, 0, 1]
    assert "10 errors" in host.comments[0]["body"]
    assert not (tmp_path / "ran").exists()


def test_the_account_of_a_token_can_be_named(tmp_path: Path, host: FakeHost) -> None:
    host.writer = "acme-app[bot]"
    ours = job(tmp_path, pull_request(tmp_path, SALE), host, author="acme-app[bot]")
    assert [ours.step(name, PROGRAMS).code for name in (COMPARE, COMMENT, COMMENT)] == [0, 0, 0]
    assert len(host.comments) == 1


def test_a_refused_comment_is_a_warning(tmp_path: Path, host: FakeHost) -> None:
    """As from a fork, whose token may not write."""
    host.status = 403
    ours = job(tmp_path, pull_request(tmp_path, SALE), host)
    assert ours.step(COMPARE, PROGRAMS).code == 0
    found = ours.step(COMMENT, PROGRAMS)
    assert (found.code, "::warning::The comment could not be written" in found.out) == (0, True)
    assert "1 redirect changed" in ours.summary.read_text()


def test_no_comment_is_written_without_the_wish_or_a_pull_request(tmp_path: Path, host: FakeHost) -> None:
    checkout = pull_request(tmp_path, SALE)
    quiet = job(tmp_path, checkout, host, comment="false")
    assert [quiet.step(name, PROGRAMS).code for name in (COMPARE, COMMENT)] == [0, 0]
    env = {**host.environment, "GITHUB_REF": "refs/heads/release", "GITHUB_BASE_REF": ""}
    (tmp_path / "push").mkdir()
    push = ActionJob(tmp_path / "push", checkout.folder, env, {})
    assert [push.step(name, PROGRAMS).code for name in (COMPARE, COMMENT, CHECK)] == [0, 0, 0]
    assert (host.requests, push.summary.exists()) == ([], False)


def test_the_inputs_choose_folder_base_and_severity(tmp_path: Path, host: FakeHost) -> None:
    chain = {"shop/redirects/catalogue.yaml": ("target: /offers\n", "target: /outlet\n")}
    checkout = pull_request(tmp_path, chain)
    git(checkout.folder, "fetch", "-q", "--unshallow")
    ours = job(tmp_path, checkout, host, path="shop", base="HEAD~1", strict="true")
    assert ours.step(COMPARE, PROGRAMS).code == 0
    assert ours.summary.read_text().startswith("<!-- waypost-diff: shop -->\n")
    assert "| chain | `redirects/catalogue.yaml:" in ours.summary.read_text()
    assert ours.step(CHECK, PROGRAMS).code == 1


def test_text_of_inputs_is_never_run(tmp_path: Path, host: FakeHost) -> None:
    ours = job(
        tmp_path, pull_request(tmp_path, SALE), host, path='$(touch "$RUNNER_TEMP/run")', base="`touch run`; HEAD"
    )
    assert ours.step(COMPARE, PROGRAMS).code != 0
    assert [path for folder in (ours.temp, tmp_path / "checkout") for path in folder.glob("run")] == []


def test_the_action_installs_itself_or_the_named_package(wheel: Path, tmp_path: Path, host: FakeHost) -> None:
    """With a pip that takes nothing from an index: the libraries are those of this environment."""
    checkout = pull_request(tmp_path, SALE)
    calls = tmp_path / "calls"
    fake_pip(tmp_path / "programs", calls)
    ours = job(tmp_path, checkout, host)
    assert ours.step("Install Waypost", tmp_path / "programs").code == 0
    assert calls.read_text().splitlines() == [
        f"install --quiet --require-hashes -r {ROOT}/requirements.lock",
        f"install --quiet --no-deps --no-build-isolation {ROOT}",
    ]
    assert (tmp_path / "path").read_text() == f"{ours.temp}/waypost/bin\n"
    calls.unlink()
    (tmp_path / "other").mkdir()
    named = ActionJob(tmp_path / "other", checkout.folder, host.environment, {"package": "waypost==0.1.0; echo run"})
    assert named.step("Install Waypost", tmp_path / "programs").code == 0
    assert calls.read_text() == "install --quiet waypost==0.1.0; echo run\n"
    programs = create_environment(tmp_path / "env")
    install(programs, str(wheel))
    assert run(str(programs / "waypost"), "--version", cwd=tmp_path) == f"waypost, version {__version__}\n"
    assert ours.step(COMPARE, programs).code == 0


def test_no_module_of_the_checkout_is_run_by_the_installation(tmp_path: Path, host: FakeHost) -> None:
    checkout = pull_request(tmp_path, SALE)
    hostile_modules(checkout, tmp_path / "ran")
    job(tmp_path, checkout, host, package="./nowhere.whl").step("Install Waypost", PROGRAMS)
    assert not (tmp_path / "ran").exists()
    assert (tmp_path / "runner/waypost/bin/pip").exists()


def hostile_modules(checkout: Checkout, mark: Path) -> None:
    """Write modules into a checkout that leave a mark where Python imports them in place of its own."""
    for name in ("venv", "subprocess", "logging", "types"):
        (checkout.folder / f"{name}.py").write_text(f"open({str(mark)!r}, 'w').close()\n")


def fake_pip(folder: Path, calls: Path) -> None:
    """Write a `python3` whose environments have a pip that only records its arguments."""
    folder.mkdir()
    pip = f'#!/bin/sh\necho "$@" >> {calls}\n'
    script = f'#!/bin/sh\nfor at; do :; done\nmkdir -p "$at/bin"\ncat > "$at/bin/pip" <<\'PIP\'\n{pip}PIP\nchmod +x "$at/bin/pip"\n'
    (folder / "python3").write_text(script)
    subprocess.run(["chmod", "+x", str(folder / "python3")], check=True)
