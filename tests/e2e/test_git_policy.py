"""Pushes with stock Git over HTTP: what the terminal prints, and what is live afterwards."""

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from api.auth.permissions.grants import Grant
from tests.e2e.caller import Caller
from tests.e2e.world import Place

_PERSON = {
    f"GIT_{role}_{name}": text
    for role in ("AUTHOR", "COMMITTER")
    for name, text in (("NAME", "Grace"), ("EMAIL", "grace@example.com"))
}
_ALONE = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "GIT_TERMINAL_PROMPT": "0"}
RULE = "redirects:\n  - type: BASIC\n    source: {}\n    target: {}\n    status: 301\n"


@dataclass(frozen=True)
class Checkout:
    """A clone over HTTP, with the token of a caller in its address."""

    folder: Path
    place: Place

    def git(self, *words: str, succeeds: bool = True) -> str:
        """Return what git prints, without its progress."""
        run = subprocess.run(
            ("git", *words),
            cwd=self.folder,
            env={**os.environ, **_ALONE, **_PERSON},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (run.returncode == 0) is succeeds, run.stderr
        return run.stdout + run.stderr

    def commit(self, path: str, text: str) -> str:
        """Commit a file; return the commit's id."""
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "By hand")
        return self.git("rev-parse", "HEAD").strip()

    def commit_each(self, texts: Mapping[str, str]) -> None:
        """Commit each file, one after the other, by one program, and check the last commit out."""
        branch, lines = self.git("symbolic-ref", "HEAD").strip(), list[str]()
        for number, (path, text) in enumerate(texts.items()):
            lines += [f"commit {branch}", "committer Ada <ada@example.org> now", "data 7", "By hand"]
            lines += [f"from {branch}^0"] * (number == 0)
            lines += [f"M 100644 inline {path}", f"data {len(text.encode())}", text]
        stream = self.folder.with_name(self.folder.name + ".stream")
        stream.write_text("\n".join(lines), encoding="utf-8")
        with stream.open("rb") as file:
            subprocess.run(
                ("git", "fast-import", "--quiet", "--date-format=now"), cwd=self.folder, stdin=file, check=True
            )
        self.git("reset", "--hard", "-q")

    def push(self, *words: str, succeeds: bool = True) -> list[str]:
        """Push; return the lines that the service prints."""
        printed = self.git("push", "origin", *words, succeeds=succeeds)
        lines = [line.removeprefix("remote: ").rstrip() for line in printed.splitlines() if line.startswith("remote: ")]
        assert lines, printed
        return lines


@pytest.fixture
def work(place: Place, tmp_path: Path) -> Checkout:
    """Return a clone by a caller who may do everything."""
    return clone(place, tmp_path / "work", place.root)


def clone(place: Place, folder: Path, caller: Caller) -> Checkout:
    """Clone the namespace of a project."""
    address = f"http://x:{caller.token}@127.0.0.1:{place.world.service.port}/git/{place.namespace}.git"
    folder.mkdir()
    found = Checkout(folder, place)
    found.git("clone", "-q", "-b", "release", address, ".")
    return found


def test_a_push_is_a_publish_with_its_summary(work: Checkout) -> None:
    commit = work.commit("shop/redirects.yaml", RULE.format("/old", "/new"))
    lines = work.push("HEAD:release")
    assert lines[:3] == ["Publish 2 of shop: 1 redirect added.", f"  version {commit}", "  + redirect /old"]
    assert "  answers: /old: nothing -> 301 /new" in lines
    assert work.place.ask("GET", "/version", 200).headers["X-Project-Version"] == commit
    [newest, *_] = work.place.get("/history")["items"]
    assert "grace@example.com" in str(newest["author"])
    assert "token" in str(newest["publishedBy"])
    assert work.git("ls-remote", "origin", "refs/notes/waypost")


def test_a_refused_push_prints_each_problem(work: Checkout) -> None:
    work.commit("shop/redirects.yaml", RULE.format("/old", "/new"))
    work.push("HEAD:release")
    before = work.git("ls-remote", "origin")
    head = work.commit("shop/redirects/2024.yaml", RULE.format("/old", "/other"))
    assert work.push("HEAD:release", succeeds=False) == [
        'shop/redirects/2024.yaml:2:5: duplicate_source: "/old" is already at shop/redirects.yaml:2',
        f"1 problem in commit {head[:12]}. Fix it, then: git commit --amend",
    ]
    assert work.git("ls-remote", "origin") == before


def test_a_review_is_asked_for_given_and_pushed(work: Checkout) -> None:
    work.commit("shop/project.yaml", "project:\n  title: Shop\n  policy:\n    review: required\n")
    work.push("HEAD:release")
    head = work.commit("shop/redirects.yaml", RULE.format("/a", "/b"))
    refused = work.push("HEAD:release", succeeds=False)
    assert refused[-3:] == [
        "  git push origin HEAD:refs/heads/<name>",
        "Or publish it without a review:",
        "  git push -o override='<reason>' origin HEAD:release",
    ]
    proposed = work.push("HEAD:refs/heads/topic")
    found = proposed[0].split()[1]
    assert proposed[0] == f"Proposal {found} (topic) changes shop."
    reviewer = work.place.world.person("publisher")
    reviewer.ask("POST", f"{work.place.space}/proposal/{found}/review", 200, json={"action": "approve", "head": head})
    assert work.push("HEAD:release")[0] == "Publish 3 of shop: 1 redirect added."
    [newest, *_] = work.place.get("/history")["items"]
    assert "Ada Lovelace" in str(newest["approvedBy"])


def test_an_override_is_in_the_audit_trail(work: Checkout) -> None:
    work.commit("shop/project.yaml", "project:\n  title: Shop\n  policy:\n    review: required\n")
    work.push("HEAD:release")
    work.commit("shop/redirects.yaml", RULE.format("/a", "/b"))
    printed = work.push("-o", "override=the site is down", "HEAD:release")
    assert "  Published without a review, by an override: the site is down" in printed
    admin = work.place.world.person("admin")
    trail = admin.ask("GET", f"/api/audit?namespace={work.place.namespace}", 200).json()["items"]
    events = [each["event"] for each in trail if "override" in each["event"] or "overridden" in each["event"]]
    assert len(events) == 2
    [newest, *_] = work.place.get("/history")["items"]
    assert newest["overrideReason"] == "the site is down"


def test_a_token_in_a_file_is_refused(work: Checkout) -> None:
    token = work.place.world.token([Grant(work.place.namespace, "*", "redirect", "read")])
    work.commit("shop/pages/a.txt", f"our token: {token}\n")
    lines = work.push("HEAD:refs/heads/topic", succeeds=False)
    assert lines[0].startswith("shop/pages/a.txt:1:1: api_token: ")
    assert lines[1] == "The API tokens that were found are revoked."
    dead = token[:-1] + ("a" if token[-1] != "a" else "b")
    work.git("reset", "-q", "--hard", "HEAD~1")
    work.commit("shop/pages/a.txt", f"not a token: {dead}\n")
    accepted = work.push("HEAD:refs/heads/topic")
    assert accepted[0].startswith("shop/pages/a.txt: unknown_file: ")
    assert accepted[1] == "1 problem; it cannot be merged until it is fixed."
    assert accepted[2].startswith("Proposal ")


def test_the_grants_of_the_caller_are_those_of_the_push(work: Checkout, tmp_path: Path) -> None:
    grants = (("project", "read"), ("redirect", "write"))
    caller = work.place.world.holder(*grants, namespace=work.place.namespace)
    editor = clone(work.place, tmp_path / "editor", caller)
    editor.commit("shop/redirects.yaml", RULE.format("/a", "/b"))
    refused = editor.push("HEAD:release", succeeds=False)
    assert refused[0].startswith("This push to release needs project:publish on shop, which you do not have.")
    assert editor.push("HEAD:draft/shop/main")[0].startswith("Draft main of shop: ")
    assert work.place.get("/draft")["changes"]["redirects"]["added"] == 1
