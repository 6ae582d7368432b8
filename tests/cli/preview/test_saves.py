"""Saves of all kinds, as editors, Git and people make them: each is served, or refused with the last good state kept."""

import os
import random
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import httpx
import pytest

from tests.cli.preview.world import (
    SECONDS,
    RunningPreview,
    State,
    git,
    list_tree,
    make_repository,
    previewing,
    read_folder,
)
from tests.cli.rule_folders import PROJECT, flow, project, write
from tests.service import wait_until

_RULE = "\n  - type: BASIC\n    source: {}\n    target: /help\n    status: FOUND\n"
_FILE = "shop/redirects/service.yaml"
CURL = ("curl", "-sS", "-i", "-H", "Prefer: wait=50", "-H", "Authorization: Bearer anything")


def add(path: Path, source: str) -> str:
    """Return the text of a file with one more rule."""
    return path.read_text(encoding="utf-8") + _RULE.format(source)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningPreview]:
    """Return a running preview of the sample content for all tests that save files in it."""
    scratch, folder = tmp_path_factory.mktemp("kept"), make_repository(tmp_path_factory.mktemp("saved") / "acme")
    git(folder, "tag", "first")
    with previewing(folder, scratch) as running:
        yield running


@pytest.fixture
def folder(kept: RunningPreview) -> Path:
    """Return the folder of the preview."""
    return kept.folder


@pytest.fixture
def preview(kept: RunningPreview, folder: Path) -> RunningPreview:
    """Return the preview as after its start: it serves the sample content, and has printed that nothing differs from HEAD."""
    (folder / ".git/index.lock").unlink(missing_ok=True)
    git(folder, "checkout", "-q", "-f", "-B", "main", "first")
    git(folder, "clean", "-q", "-ffdx")
    last = f"/before/{len(kept.printed)}"
    (folder / _FILE).write_text(add(folder / _FILE, last), encoding="utf-8")
    read = replace(kept, begins=_end_of(kept, f"+ redirect {last}\n"))
    git(folder, "checkout", "-q", "--", _FILE)
    _end_of(read, "No rule differs from HEAD (main, ")
    assert last not in (read.sources("shop") or ())
    return read


def _end_of(preview: RunningPreview, text: str) -> int:
    """Wait until the report of a save with this text is complete; return the length of the output."""

    def is_complete() -> bool:
        return " passed: 0 errors, 0 warnings.\n" in preview.printed.partition(text)[2]

    wait_until(is_complete, SECONDS, f"the report with {text!r} in {preview.printed}")
    return preview.begins + len(preview.printed)


def test_a_save_is_served_and_reported_since_head(preview: RunningPreview, folder: Path) -> None:
    assert "No rule differs from HEAD (main, " in preview.printed
    (folder / _FILE).write_text(add(folder / _FILE, "/written"), encoding="utf-8")
    preview.wait_for_source("shop", "/written")
    printed = preview.wait_for("Since HEAD")
    assert f"Saved: {_FILE}. Served.\n  shop: 1 redirect added\n" in printed
    assert "      + redirect /written\n" in printed
    preview.wait_for("3 projects, 46 tests passed: 0 errors, 0 warnings.", 2)


def test_head_may_move(preview: RunningPreview, folder: Path) -> None:
    (folder / _FILE).write_text(add(folder / _FILE, "/first"), encoding="utf-8")
    preview.wait_for("    shop: 1 redirect added\n")
    git(folder, "commit", "-q", "-a", "-m", "More")
    (folder / _FILE).write_text(add(folder / _FILE, "/second"), encoding="utf-8")
    preview.wait_for_source("shop", "/second")
    printed = preview.wait_for("      + redirect /second\n")
    assert printed.count("      + redirect /first\n") == 1
    git(folder, "checkout", "-q", "HEAD~1", "--", _FILE)
    preview.wait_for("      - redirect /first\n")


def test_an_editor_that_writes_another_file_and_renames_it(preview: RunningPreview, folder: Path) -> None:
    target = folder / _FILE
    (folder / "shop/redirects/.service.yaml.swp").write_bytes(b"b0VIM 9.0")
    (folder / "shop/redirects/4913").write_bytes(b"")
    text = add(target, "/renamed")
    target.rename(target.with_name("service.yaml~"))
    target.write_text(text, encoding="utf-8")
    preview.wait_for_source("shop", "/renamed")
    assert "Not served" not in preview.printed
    other = target.with_name(".#service.yaml")
    other.write_text(add(target, "/replaced"), encoding="utf-8")
    other.replace(target)
    preview.wait_for_source("shop", "/replaced")
    assert "unknown_file" not in preview.printed


def test_a_broken_save_keeps_the_last_good_state(preview: RunningPreview, folder: Path) -> None:
    good, text = preview.sources("shop"), (folder / _FILE).read_text(encoding="utf-8")
    (folder / _FILE).write_text(f"{text}  - type: NONE\n", encoding="utf-8")
    printed = preview.wait_for("Still serving the state of ")
    line = text.count("\n") + 1
    assert f"{folder}/{_FILE}:{line}:" in printed
    assert preview.sources("shop") == good
    page = preview.client.get("/").json()["preview"]
    assert page["errors"] > 0
    assert page["problems"][0]["file"] == _FILE
    (folder / _FILE).write_text(text, encoding="utf-8")
    preview.wait_for("It is as served before.")
    assert preview.sources("shop") == good
    wait_until(lambda: preview.client.get("/").json()["preview"]["errors"] == 0, SECONDS, "the page without problems")


def test_a_failed_test_of_a_project_is_an_error(preview: RunningPreview, folder: Path) -> None:
    tests = folder / "shop/tests.yaml"
    tests.write_text(
        tests.read_text(encoding="utf-8") + "\n  - url: /nowhere\n    expect: 301 /somewhere\n", encoding="utf-8"
    )
    assert "shop/tests.yaml" in preview.wait_for("Still serving the state of ")


def test_a_project_is_added_removed_and_renamed(preview: RunningPreview, folder: Path) -> None:
    project(folder / "blog")
    preview.wait_for_source("blog", "/old")
    (folder / "blog").rename(folder / "Blog")
    preview.wait_for_source("Blog", "/old")
    shutil.rmtree(folder / "Blog")
    wait_until(lambda: preview.sources("Blog") is None, SECONDS, "the project to end")
    assert preview.sources("blog") is None
    preview.wait_for("project removed", 2)


def test_files_are_removed_and_folders_made(preview: RunningPreview, folder: Path) -> None:
    new = folder / "shop/redirects/deep/er"
    new.mkdir(parents=True)
    (new / "more.yaml").write_text(flow("/deep"), encoding="utf-8")
    preview.wait_for_source("shop", "/deep")
    (new / "more.yaml").write_text(flow("/deeper"), encoding="utf-8")
    preview.wait_for_source("shop", "/deeper")
    shutil.rmtree(folder / "shop/redirects/deep")
    wait_until(lambda: "/deeper" not in (preview.sources("shop") or ()), SECONDS, "the rule to end")


def test_a_checkout_of_another_branch_is_one_state(preview: RunningPreview, folder: Path) -> None:
    git(folder, "checkout", "-q", "-b", "other")
    (folder / "docs/redirects").mkdir()
    for number in range(40):
        (folder / f"docs/redirects/{number:05d}.yaml").write_text(flow(f"/many/{number}"), encoding="utf-8")
    preview.wait_for_source("docs", "/many/39")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "Many files")
    before = preview.printed.count(" Served.")
    git(folder, "checkout", "-q", "main")
    wait_until(lambda: "/many/0" not in (preview.sources("docs") or ()), SECONDS, "the other branch")
    preview.wait_for("No rule differs from HEAD (main, ", 2)
    assert preview.printed.count(" Served.") == before + 1
    assert "Not served" not in preview.printed


def test_a_checkout_that_takes_long_is_awaited(preview: RunningPreview, folder: Path) -> None:
    lock = folder / ".git/index.lock"
    lock.touch()
    broken = folder / "docs/project.yaml"
    text = broken.read_text(encoding="utf-8")
    broken.write_text("project: [\n", encoding="utf-8")
    time.sleep(0.5)  # longer than the time after which a save counts as complete
    broken.write_text(text + "# kept\n", encoding="utf-8")
    (folder / _FILE).write_text(add(folder / _FILE, "/after"), encoding="utf-8")
    lock.unlink()
    preview.wait_for_source("shop", "/after")
    assert "Not served" not in preview.printed


def test_links_are_refused_and_not_followed(preview: RunningPreview, folder: Path, tmp_path: Path) -> None:
    good, outside = preview.sources("shop"), tmp_path / "outside.yaml"
    outside.write_text(flow("/secret"), encoding="utf-8")
    link = folder / "shop/redirects/link.yaml"
    link.symlink_to(outside)
    assert "shop/redirects/link.yaml: error: " in preview.wait_for("Still serving the state of ")
    assert preview.sources("shop") == good
    link.unlink()
    (folder / "shop/redirects/everything").symlink_to("/")
    preview.wait_for("shop/redirects/everything: error: ")
    (folder / "shop/redirects/everything").unlink()
    preview.wait_for("It is as served before.")


def test_the_folder_is_removed_and_made_again(tmp_path: Path, scratch: Path) -> None:
    folder = make_repository(tmp_path / "acme")
    with previewing(folder, scratch) as preview:
        good = preview.sources("shop")
        folder.rename(tmp_path / "away")
        preview.wait_for("contains no project")
        assert preview.sources("shop") == good
        folder.mkdir()
        project(folder / "shop")
        wait_until(lambda: preview.sources("shop") == ["/old"], SECONDS, "the new folder")
        (folder / "shop/redirects.yaml").write_text(flow("/again"), encoding="utf-8")
        wait_until(lambda: preview.sources("shop") == ["/again"], SECONDS, "a save in the new folder")


def test_a_start_with_errors_serves_nothing_until_they_are_fixed(tmp_path: Path, scratch: Path) -> None:
    folder = write(tmp_path / "acme", {"shop/project.yaml": PROJECT, "shop/redirects.yaml": "redirects: [\n"})
    with previewing(folder, scratch) as preview:
        answer = preview.client.get(f"{preview.project('shop')}/version")
        assert answer.status_code == httpx.codes.SERVICE_UNAVAILABLE
        assert answer.json()["error"] == "preview_not_served"
        assert answer.json()["problems"][0]["file"] == "shop/redirects.yaml"
        assert "Nothing is served yet; waiting for a save without errors." in preview.printed
        (folder / "shop/redirects.yaml").write_text(flow("/fixed"), encoding="utf-8")
        preview.wait_for_source("shop", "/fixed")
        assert '"level": "error"' not in preview.wait_for("Agents read ")
        printed = preview.wait_for("No rule differs from the start.")
        assert "shop: 1 redirect, 0 pages" in printed


def test_a_folder_without_git_is_compared_with_the_start(tmp_path: Path, scratch: Path) -> None:
    folder = tmp_path / "acme"
    project(folder / "shop")
    with previewing(folder, scratch) as preview:
        (folder / "shop/redirects.yaml").write_text(flow("/other"), encoding="utf-8")
        preview.wait_for("  Since the start:\n    shop: 1 redirect added, 1 redirect removed\n")
        preview.wait_for("      - redirect /old\n")


def test_less_lint_and_new_warnings_in_one_save(tmp_path: Path, scratch: Path) -> None:
    folder = tmp_path / "acme"
    strict = "project: {title: Shop, policy: {lint: strict}}\n"
    project(folder / "shop", {"project.yaml": strict})
    with previewing(folder, scratch) as preview:
        rules = flow("/first", target="/second") + flow("/second").removeprefix("redirects:\n")
        (folder / "shop/redirects.yaml").write_text(rules, encoding="utf-8")
        preview.wait_for("Still serving the state of ")
        (folder / "shop/project.yaml").write_text(PROJECT, encoding="utf-8")
        preview.wait_for_source("shop", "/first")
        preview.wait_for("1 project, 0 tests passed: 0 errors, 1 warning.")


def test_one_project_is_previewed_under_the_name_of_its_folder(tmp_path: Path, scratch: Path) -> None:
    folder = project(tmp_path / "acme/shop")
    git(folder.parent, "init", "-q", "-b", "main")
    git(folder.parent, "add", "-A")
    git(folder.parent, "commit", "-q", "-m", "Begin")
    with previewing(folder, scratch, env={"GIT_DIR": str(tmp_path / "other")}) as preview:
        assert preview.sources("shop") == ["/old"]
        assert "No rule differs from HEAD (main, " in preview.printed
        (folder / "redirects.yaml").write_text("redirects: [\n", encoding="utf-8")
        assert f"{folder}/redirects.yaml:" in preview.wait_for("Still serving the state of ")
        (folder / "redirects.yaml").write_text(flow("/one"), encoding="utf-8")
        preview.wait_for_source("shop", "/one")


def test_waiting_agents_get_the_next_save(preview: RunningPreview, folder: Path) -> None:
    url = f"{preview.project('shop')}/version"
    known = preview.client.get(url)
    waiting = subprocess.Popen(
        [*CURL, "-H", f"If-None-Match: {known.headers['ETag']}", f"{preview.client.base_url}{url}"],
        stdout=subprocess.PIPE,
    )
    (folder / _FILE).write_text(add(folder / _FILE, "/awaited"), encoding="utf-8")
    out, _ = waiting.communicate(timeout=SECONDS)
    assert out.startswith(b"HTTP/1.1 200")
    assert "/awaited" in (preview.sources("shop") or ())


def test_nothing_is_written_in_the_folder(tmp_path: Path, scratch: Path) -> None:
    folder = make_repository(tmp_path / "acme")
    before = list_tree(folder)
    with previewing(folder, scratch) as preview:
        (folder / _FILE).write_text(add(folder / _FILE, "/temporary"), encoding="utf-8")
        preview.wait_for("Since HEAD")
        preview.client.post(f"{preview.project('shop')}/test", json={"urls": ["/temporary"]})
        after = list_tree(folder)
    changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    assert changed == {str(folder / _FILE)}
    assert list_tree(folder) == after


class _Saves:
    """Random saves in a folder of two projects, some of them with errors."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._folder = folder
        self._random = random.Random(seed)  # noqa: S311 - no secret
        self._number = 0

    def make(self) -> None:
        """Make one to three changes, quickly one after the other."""
        for _ in range(self._random.randint(1, 3)):
            step: Callable[[Path], object] = self._random.choice(
                [
                    self._write,
                    self._replace,
                    self._break,
                    self._remove,
                    self._rename,
                    self._empty,
                    self._add_project,
                    self._link,
                ]
            )
            step(
                self._folder
                / self._random.choice(["shop", "docs"])
                / "redirects"
                / f"{self._random.randint(0, 2)}.yaml"
            )

    def _text(self) -> str:
        self._number += 1
        return flow(*(f"/{self._number}/{at}" for at in range(self._random.randint(1, 4))))

    def _write(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_symlink():
            path.unlink()
        path.write_text(self._text(), encoding="utf-8")

    def _replace(self, path: Path) -> None:
        other = path.with_name(f".#{path.name}")
        path.parent.mkdir(parents=True, exist_ok=True)
        other.write_text(self._text(), encoding="utf-8")
        other.replace(path)

    def _break(self, path: Path) -> None:
        self._write(path)
        path.write_text(f"{self._text()}  - type: BASIC\n", encoding="utf-8")

    def _empty(self, path: Path) -> None:
        self._write(path)
        path.write_bytes(b"redirects: []\n")

    @staticmethod
    def _remove(path: Path) -> None:
        path.unlink(missing_ok=True)

    def _rename(self, path: Path) -> None:
        if path.exists():
            path.rename(path.with_name(f"{self._random.randint(0, 2)}.yaml"))

    def _add_project(self, path: Path) -> None:
        extra = path.parents[2] / "extra"
        if extra.exists():
            shutil.rmtree(extra)
        else:
            project(extra)

    @staticmethod
    def _link(path: Path) -> None:
        path.unlink(missing_ok=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to("../project.yaml")


def test_after_any_saves_the_folder_is_served_or_its_last_good_state(tmp_path: Path, scratch: Path) -> None:
    folder = tmp_path / "acme"
    for name in ("shop", "docs"):
        write(folder / name, {"project.yaml": PROJECT, "redirects/0.yaml": flow(f"/{name}")})
    seed = int(os.environ.get("WAYPOST_TEST_SEED", "7"))
    saves, good = _Saves(folder, seed), read_folder(folder)
    with previewing(folder, scratch) as preview:
        for _ in range(25):
            saves.make()
            good = read_folder(folder) or good
            wait_until(partial(_serves, preview, good), SECONDS, f"{good} to be served")


def _serves(preview: RunningPreview, state: State | None) -> bool:
    return preview.served() == state
