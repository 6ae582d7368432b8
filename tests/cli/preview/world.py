"""A running `waypost preview` for tests: its process, its output, and a client; the folder is listed before and after."""

import os
import shutil
import signal
import stat
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from content.records.vocabulary import Kind
from gitstore.errors import NotFound
from gitstore.namespaces.checkout import read_checkout
from tests.cli.terminal import SAMPLE, WAYPOST, environment, interruptible_children
from tests.service import wait_until

SECONDS = 60.0

State = dict[str, dict[str, list[str]]]
"""The identities of the records of each kind, by project."""


@dataclass(frozen=True, slots=True)
class RunningPreview:
    """A preview of a folder: its output so far, its process, and a client of the service."""

    folder: Path
    temporary: Path
    out: Path
    process: "subprocess.Popen[bytes]"
    client: httpx.Client
    namespace: str
    begins: int = 0
    """The characters of the output that earlier tests have read."""

    @property
    def printed(self) -> str:
        """The output so far."""
        return self.out.read_text(encoding="utf-8")[self.begins :]

    def wait_for(self, text: str, count: int = 1) -> str:
        """Wait until a text was printed so many times; return the output."""
        wait_until(lambda: self.printed.count(text) >= count, SECONDS, f"{text!r} in {self.printed}")
        return self.printed

    def project(self, name: str) -> str:
        """Return the path of a project."""
        return f"/api/namespace/{self.namespace}/project/{name}"

    def sources(self, project: str) -> list[str] | None:
        """Return the sources of a project's redirects; None while it is not served."""
        answer = self.client.get(f"{self.project(project)}/redirects", params={"limit": 1000})
        return [each["source"] for each in answer.json()["items"]] if answer.status_code == httpx.codes.OK else None

    def wait_for_source(self, project: str, source: str) -> None:
        """Wait until a redirect is served."""
        wait_until(lambda: source in (self.sources(project) or ()), SECONDS, f"{source} in {self.printed}")

    def served(self) -> State | None:
        """Return the state that agents get; None if a project ends meanwhile."""
        answer = self.client.get(f"/api/namespace/{self.namespace}/projects")
        assert answer.status_code == httpx.codes.OK, answer.text
        listed = answer.json()["items"]
        found = State()
        for name in (each["name"] for each in listed):
            found[name] = {}
            for kind in Kind:
                answer = self.client.get(f"{self.project(name)}/{kind.value}", params={"limit": 1000})
                if answer.status_code != httpx.codes.OK:
                    return None
                field = "source" if kind is Kind.REDIRECTS else "path"
                found[name][kind.value] = [each[field] for each in answer.json()["items"]]
        return found


@contextmanager
def previewing(
    folder: Path,
    scratch: Path,
    *options: str,
    env: Mapping[str, str] | None = None,
    namespace: str = "",
    ends_itself: bool = True,
) -> Iterator[RunningPreview]:
    """Start a preview on a free port, wait until it is ready, and stop it with Ctrl-C at the end.

    Nothing of it may be left then; without `ends_itself` the test ends the preview, and looks at what is left.
    """
    temporary = scratch / "temporary"
    temporary.mkdir(exist_ok=True)
    out = scratch / f"preview-{len(list(scratch.glob('preview-*')))}.out"
    with out.open("wb") as sink, interruptible_children():
        process = subprocess.Popen(
            [*WAYPOST, "preview", str(folder), "--port", "0", *options],
            env=environment({"TMPDIR": str(temporary), **(env or {})}),
            stdout=sink,
            stderr=subprocess.STDOUT,
            cwd=scratch,
        )
    try:
        url = wait_until(lambda: read_url(process, out), SECONDS, "the preview to be ready")
        with httpx.Client(base_url=url, timeout=SECONDS) as client:
            yield RunningPreview(folder, temporary, out, process, client, namespace or folder.name)
            if not ends_itself:
                return
            process.send_signal(signal.SIGINT)
            assert process.wait(SECONDS) == 0, out.read_text(encoding="utf-8")
        assert "internal error" not in out.read_text(encoding="utf-8")
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
    assert not any(temporary.iterdir())


def read_url(process: "subprocess.Popen[bytes]", out: Path) -> str | None:
    """Return the printed address; None before it is printed."""
    text = out.read_text(encoding="utf-8")
    assert process.poll() is None, text
    return text.split("\nReady: ")[1].split(". ")[0] if "\nReady: " in text else None


def copy_sample(into: Path) -> Path:
    """Copy the sample content, which a test then changes."""
    shutil.copytree(SAMPLE, into)
    return into


def make_repository(folder: Path) -> Path:
    """Copy the sample content into a new repository, and commit it."""
    copy_sample(folder)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "Begin")
    return folder


def list_tree(folder: Path) -> dict[str, tuple[int, int, int]]:
    """Return the mode, size and time of all files and folders below a folder, also of Git's own."""
    found = {}
    for root, folders, names in os.walk(folder):
        for name in (*folders, *names, "."):
            status = os.lstat(Path(root, name))
            size = 0 if stat.S_ISDIR(status.st_mode) else status.st_size
            found[str(Path(root, name))] = status.st_mode, size, status.st_mtime_ns
    return found


def read_folder(folder: Path) -> State | None:
    """Return the state that `waypost validate` reads in a folder; None where it has errors or is none."""
    try:
        checkout = read_checkout(folder)
    except (NotFound, OSError):
        return None
    if checkout.find_blocking_problems():
        return None
    return {
        snapshot.project or folder.name: {
            kind.value: [placed.record.identity for placed in snapshot.placed(kind)] for kind in Kind
        }
        for snapshot in checkout.snapshots
    }


def git(folder: Path, *words: str) -> str:
    """Run C git in a folder."""
    found = subprocess.run(
        ["git", "-C", str(folder), "-c", "user.name=Kim", "-c", "user.email=kim@acme.example", *words],
        check=True,
        capture_output=True,
        text=True,
    )
    return found.stdout
