"""Pushes for the tests: commits made by C git in a clone, checked in a quarantine as a server does."""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gitstore.git.refs import read_ref
from gitstore.git.repository import Author
from gitstore.layout import RELEASE_REF, CommitId
from gitstore.publish.approval import Verdict
from gitstore.publish.authorship import ReviewSubject
from gitstore.pushes.judging import judge_push
from gitstore.pushes.push import NoRecords, Push, Pusher, PushRules, RefUpdate, RefVerdict, Scope
from gitstore.store.access import access_at
from tests.gitstore.fixtures import BOB, SPACE, Place, git

EVERYWHERE = Scope(everywhere=True)
EVE = Author("Eve", "eve@shop.example")
OWNER = Pusher(EVE, EVERYWHERE, EVERYWHERE, EVERYWHERE, EVERYWHERE, EVERYWHERE)
PUBLISHER = Pusher(EVE, EVERYWHERE, EVERYWHERE, EVERYWHERE, EVERYWHERE)
EDITOR = Pusher(EVE, EVERYWHERE, EVERYWHERE)
TOKEN = "svc_" + "0" * 49
RULE = "  - type: BASIC\n    source: {}\n    target: {}\n    status: 301\n"


def rules(*pairs: tuple[str, str]) -> str:
    """Return a file of redirects as a person writes it."""
    return "redirects:\n" + "".join(RULE.format(source, target) for source, target in pairs)


@dataclass
class Records(NoRecords):
    """Records with verdicts by head, the overrides that were asked for, and one valid token."""

    approved: dict[str, Author] = field(default_factory=dict)
    asked: list[tuple[str, str, str]] = field(default_factory=list)
    reads_left: int = 1_000

    def verdicts(self, project: str, subject: ReviewSubject) -> Sequence[Verdict]:
        """Return the approval of the head, if there is one, and it was not taken back after so many reads."""
        del project
        self.reads_left -= 1
        if self.reads_left < 0:
            return ()
        found = self.approved.get(subject.head or "")
        return (Verdict(subject.head, found, approves=True),) if found and subject.head else ()

    def ask_override(self, project: str, head: CommitId, reason: str) -> None:
        """Record an override."""
        self.asked.append((project, head, reason))

    def find_token(self, data: bytes) -> int | None:
        """Find the token."""
        at = data.find(TOKEN.encode())
        return at if at >= 0 else None


@dataclass
class Clone:
    """A clone of a place's repository, whose commits are checked before they are pushed."""

    place: Place
    folder: Path
    pusher: Pusher = OWNER
    records: Records = field(default_factory=Records)
    rules: PushRules = field(default_factory=PushRules)
    progress: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, place: Place) -> "Clone":
        """Clone the repository."""
        folder = place.root / "work"
        git(place.root, "clone", "-q", str(place.repo), str(folder))
        git(folder, "checkout", "-q", "release")
        return cls(place, folder)

    def git(self, *words: str) -> str:
        """Return the output of git in the clone."""
        return git(self.folder, *words)

    def commit(self, files: Mapping[str, str | bytes | None], text: str = "By hand") -> CommitId:
        """Commit files (None: removed) on the current branch."""
        for path, content in files.items():
            target = self.folder / path
            if content is None:
                target.unlink()
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content.encode() if isinstance(content, str) else content)
        self.git("add", "--all", "--force")
        self.git("commit", "-q", "--allow-empty", "-m", text)
        return self.head

    @property
    def head(self) -> CommitId:
        """The commit that is checked out."""
        return CommitId(self.git("rev-parse", "HEAD"))

    def check(self, ref: str = RELEASE_REF, new: str | None = "HEAD", **push: Any) -> RefVerdict:
        """Return the verdict on a push of one ref."""
        return self.check_all({ref: new}, **push)[0]

    def check_all(
        self, refs: Mapping[str, str | None], *, is_atomic: bool = False, options: tuple[str, ...] = ()
    ) -> tuple[RefVerdict, ...]:
        """Return the verdicts on a push of several refs."""
        new = {ref: self._id(word) if word else None for ref, word in refs.items()}
        updates = [RefUpdate(ref, read_ref(self.place.repo, ref), commit) for ref, commit in new.items()]
        return self._check(updates, is_atomic=is_atomic, options=options)

    def _id(self, word: str) -> CommitId:
        return CommitId(self.git("rev-parse", word))

    def _check(
        self, updates: Sequence[RefUpdate], *, is_atomic: bool = False, options: tuple[str, ...] = ()
    ) -> tuple[RefVerdict, ...]:
        push = Push(tuple(updates), self.pusher, options, is_atomic)
        before = self._objects()
        quarantine = self._quarantine([update.new for update in updates if update.new])
        try:
            with access_at(self.place.root).writing(SPACE, quarantine) as (compiler, _):
                verdicts = judge_push(compiler, push, self.progress.append, self.records, self.rules)
        finally:
            shutil.rmtree(quarantine)
        assert self._objects() == before, "the check left objects in the repository"
        return verdicts

    def check_stale(self, new: str = "HEAD") -> RefVerdict:
        """Return the verdict on a push to release that knows only what the clone has of it."""
        return self._check([RefUpdate(RELEASE_REF, CommitId(self.git("rev-parse", "origin/release")), self._id(new))])[
            0
        ]

    def check_new(self, ref: str) -> RefVerdict:
        """Return the verdict on a push of HEAD to a ref as a new one."""
        return self._check([RefUpdate(ref, None, self.head)])[0]

    def push(self, ref: str = RELEASE_REF, new: str = "HEAD", **push: Any) -> RefVerdict:
        """Check a push of one ref, and move the ref if it is accepted."""
        verdict = self.check(ref, new, **push)
        assert not verdict.refusal, verdict
        self.place.git("fetch", "-q", str(self.folder), f"+{self._id(new)}:{ref}")
        return verdict

    def approve(self, head: str, reviewer: Author = BOB) -> str:
        """Give a branch of the repository a head that is approved; return the name of the branch."""
        self.records.approved[head] = reviewer
        ref = f"refs/heads/approved/{head[:12]}"
        self.place.git("fetch", "-q", str(self.folder), f"+{head}:{ref}")
        return ref

    def _objects(self) -> set[str]:
        found = (self.place.repo / "objects").rglob("*")
        return {str(path) for path in found if path.is_file() and "waypost" not in path.name}

    def _quarantine(self, tips: Sequence[str]) -> Path:
        """Return a folder with the objects that the repository lacks."""
        folder = self.place.repo / "objects" / "tmp_objdir-test"
        folder.mkdir()
        (folder / "pack").mkdir()
        known = self.place.git("for-each-ref", "--format=%(objectname)").split()
        known = [commit for commit in known if commit in self.git("cat-file", "--batch-all-objects", "--batch-check")]
        listed = "\n".join([*tips, *(f"^{commit}" for commit in known)]).encode()
        pack = subprocess.run(
            ("git", "pack-objects", "--revs", "--stdout", "-q"),
            cwd=self.folder,
            input=listed,
            capture_output=True,
            check=True,
        ).stdout
        environment = {
            "GIT_OBJECT_DIRECTORY": str(folder),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(self.place.repo / "objects"),
        }
        subprocess.run(
            ("git", "unpack-objects", "-q"),
            cwd=self.place.repo,
            input=pack,
            env={**os.environ, **environment},
            check=True,
        )
        return folder
