"""Small factories for the store's tests: a data directory, records, and C git as an independent client."""

import os
import random
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

import orjson

from content.records.record import Page, Redirect
from content.records.vocabulary import ContentType, Kind, PageType, RedirectStatus, RedirectType
from gitstore.directory import NamespacePaths
from gitstore.drafts.drafts import DraftName
from gitstore.drafts.editing.edits import Edit, Put
from gitstore.git.refs import read_ref
from gitstore.git.repository import Author
from gitstore.layout import RELEASE_REF, CommitId
from gitstore.publish.advance import PublishResult
from gitstore.publish.approval import Verdict
from gitstore.publish.publishing import PublishRequest
from gitstore.store.store import Store, create_store
from gitstore.yamlfiles.project_file import ProjectFile
from tests.gitstore.folders import join_window
from tests.seeds import RANDOM_SEEDS

ADA = Author("Ada Lovelace", "ada@shop.example")
BOB = Author("Bob", "bob@shop.example")
SPACE = "acme"
SHOP = "shop"
MAIN = DraftName(SHOP, "main")
_GIT = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_AUTHOR_NAME": "Plain Git",
    "GIT_AUTHOR_EMAIL": "git@shop.example",
    "GIT_COMMITTER_NAME": "Plain Git",
    "GIT_COMMITTER_EMAIL": "git@shop.example",
}


def git(where: Path, *arguments: str, data: bytes = b"") -> str:
    """Return the output of a git command; raise CalledProcessError with git's error text if it fails."""
    done = subprocess.run(
        ["git", "-c", "protocol.file.allow=always", *arguments],
        cwd=where,
        env=_GIT,
        input=data,
        capture_output=True,
        check=False,
    )
    if done.returncode:
        raise subprocess.CalledProcessError(
            done.returncode, done.args, done.stdout, done.stderr.decode(errors="replace")
        )
    return done.stdout.decode().strip()


def seeded_random() -> random.Random:
    """Return a random generator, seeded by the test's name unless new cases are wanted; print the seed."""
    seed = random.randrange(1 << 32) if RANDOM_SEEDS else crc32(os.environ["PYTEST_CURRENT_TEST"].encode())  # noqa: S311 - test data
    print(f"seed {seed}")  # noqa: T201 - pytest shows it for a test that fails
    return random.Random(seed)  # noqa: S311 - test data


def redirect(source: str, target: str = "/new", **fields: Any) -> Redirect:
    """Return a redirect, of type BASIC unless the fields set another."""
    type_ = RedirectType.BASIC if source.startswith("/") else RedirectType.BASIC_HOST
    return Redirect(fields.pop("type", type_), source, target, fields.pop("status", RedirectStatus.FOUND), **fields)


def page(path: str, content: str = "hello\n", **fields: Any) -> Page:
    """Return a plain text page."""
    type_ = PageType.BASIC if path.startswith("/") else PageType.BASIC_HOST
    return Page(type_, path, content, fields.pop("content_type", ContentType.TEXT_PLAIN), **fields)


def put(record: Redirect | Page, **fields: Any) -> Put:
    """Return an edit that writes a record."""
    return Put(Kind.REDIRECTS if isinstance(record, Redirect) else Kind.PAGES, record, **fields)


@dataclass(frozen=True)
class Place:
    """A data directory with the namespace `acme`."""

    root: Path
    store: Store

    @property
    def paths(self) -> NamespacePaths:
        """The paths of the namespace on disk."""
        return self.store.directory.namespace(SPACE)

    @property
    def repo(self) -> Path:
        """The path of the bare repository."""
        return self.paths.repository

    @property
    def tip(self) -> CommitId:
        """The head commit of release."""
        found = read_ref(self.repo, RELEASE_REF)
        assert found, "the release branch is missing"
        return found

    def fresh(self) -> "Place":
        """Open the same data as another process does."""
        return Place(self.root, Store(self.root))

    def begin(self, *projects: str, **settings: str) -> "Place":
        """Create projects."""
        for project in projects:
            self.store.projects.create(SPACE, project, ProjectFile(**settings), ADA)
        return self

    def save(self, *edits: Edit, draft: DraftName = MAIN, author: Author = ADA) -> CommitId:
        """Apply edits to a draft; return its head."""
        return self.store.drafts.edit(SPACE, draft, edits, author).head

    def publish(
        self,
        *edits: Edit,
        draft: DraftName = MAIN,
        publisher: Author = ADA,
        verdicts: Sequence[Verdict] = (),
        **order: Any,
    ) -> PublishResult:
        """Publish a draft, after applying the edits, if any."""
        if edits:
            self.save(*edits, draft=draft)
        return self.store.publishes.publish(SPACE, PublishRequest(draft, publisher, **order), lambda _: verdicts)

    def items(self, project: str = SHOP, kind: Kind = Kind.REDIRECTS) -> list[dict[str, Any]]:
        """Return the records that agents get of a project."""
        listing = self.store.releases.project(SPACE, project).release.listings[kind]
        found: list[dict[str, Any]] = orjson.loads(b"[%b]" % join_window(listing, 0, listing.total))
        return found

    def targets(self, project: str = SHOP) -> dict[str, str]:
        """Return the targets by source that agents get."""
        return {item["source"]: item["target"] for item in self.items(project)}

    def state(self, project: str = SHOP) -> tuple[str, int]:
        """Return the version and the publish number that a project serves."""
        found = self.store.releases.project(SPACE, project)
        return found.version, found.number

    def file(self, path: str, at: str = "release") -> str:
        """Return a file's text at a commit."""
        return git(self.repo, "cat-file", "blob", f"{at}:{path}") + "\n"

    def git(self, *arguments: str, data: bytes = b"") -> str:
        """Return the output of C git in the bare repository."""
        return git(self.repo, *arguments, data=data)

    def fsck(self) -> None:
        """Check the repository with `git fsck`; fail on any report."""
        reported = self.git("fsck", "--strict", "--full", "--no-dangling", "--no-progress")
        assert reported == "", reported

    def clone(self) -> Path:
        """Return a clone on disk, created once, on the branch release at its current head."""
        path = self.root / "clone"
        if not path.exists():
            git(self.root, "clone", "--quiet", str(self.repo), str(path))
        git(path, "fetch", "--quiet", "--prune", "origin")
        git(path, "checkout", "--quiet", "--force", "-B", "release", "origin/release")
        git(path, "clean", "-qfdx")
        return path

    def push(self, files: Mapping[str, str | bytes | None], *, to: str = "release", text: str = "By hand") -> CommitId:
        """Commit files (None: removed) in a clone with plain git and push the commit; return its id."""
        clone = self.clone()
        for path, content in files.items():
            _write(clone / path, content)
        git(clone, "add", "--all")
        git(clone, "commit", "--quiet", "--message", text)
        git(clone, "push", "--quiet", "origin", f"HEAD:refs/heads/{to}")
        return CommitId(git(clone, "rev-parse", "HEAD"))

    def chain(self, *paths: str) -> list[str]:
        """Return the first-parent commits of release that changed the paths, oldest first, according to C git."""
        return self.git("log", "--first-parent", "--reverse", "--format=%H", "release", "--", *paths).split()


def create_place(root: Path) -> Place:
    """Create a data directory with the namespace `acme`, without projects."""
    store = create_store(root)
    store.namespaces.create(SPACE, "Acme", ADA)
    return Place(root, store)


def _write(path: Path, content: str | bytes | None) -> None:
    if content is None:
        path.unlink()
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def yaml(records: Iterable[tuple[str, str]]) -> str:
    """Return a file of BASIC redirects, from pairs of source and target."""
    rules = "".join(
        f"  - type: BASIC\n    source: {source}\n    target: {target}\n    status: FOUND\n"
        for source, target in records
    )
    return f"redirects:\n{rules}" if rules else "redirects: []\n"


def bytes_read() -> int:
    """Return the bytes that this process has read by system calls."""
    fields = dict(line.split(": ") for line in Path("/proc/self/io").read_text(encoding="ascii").splitlines())
    return int(fields["rchar"])
