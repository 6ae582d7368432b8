"""Proposals at the command line: listed, shown, tested, reviewed by users, and merged under their verdicts."""

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

import pytest

from content.records.vocabulary import Kind
from gitstore.drafts.drafts import DraftName
from gitstore.git.repository import Author
from gitstore.store.store import Store
from gitstore.yamlfiles.project_file import ProjectFile
from tests.cli.terminal import invoke, invoke_ok
from tests.gitstore.fixtures import git, put, redirect, yaml

GRACE = Author("Grace Tester", "grace@tests.example")
SPACE = "sample"
ID = sha256(b"team/sale").hexdigest()[:16]


@pytest.fixture
def store(data: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """Create a project that needs approvals, one that does not, and users of different roles."""
    monkeypatch.setenv("WAYPOST_PASSWORD", "correct horse battery")
    for name, role in (("kim", "publisher"), ("eve", "editor")):
        invoke_ok("user", "create", name, "--role", role, "--firstname", name.title())
    found = Store(data)
    found.projects.create(SPACE, "sale", ProjectFile(review="required"), GRACE)
    found.projects.create(SPACE, "blog", ProjectFile(), GRACE)
    return found


@pytest.fixture
def pushed(store: Store, tmp_path: Path) -> str:
    """Push a branch that changes both projects; return its head."""
    return push(
        store, tmp_path, {"sale/redirects.yaml": yaml([("/a", "/b")]), "blog/redirects.yaml": yaml([("/x", "/y")])}
    )


def push(store: Store, folder: Path, files: Mapping[str, str | None], branch: str = "team/sale") -> str:
    clone = folder / f"clone-{branch.replace('/', '-')}"
    git(folder, "clone", "--quiet", str(store.directory.namespace(SPACE).repository), str(clone))
    for path, text in files.items():
        if text is None:
            (clone / path).unlink()
            continue
        (clone / path).parent.mkdir(parents=True, exist_ok=True)
        (clone / path).write_text(text)
    git(clone, "add", "--all")
    git(clone, "commit", "--quiet", "--message", "The sale\n\nFor May.")
    git(clone, "push", "--quiet", "origin", f"HEAD:refs/heads/{branch}")
    return git(clone, "rev-parse", "HEAD")


def test_a_proposal_goes_from_the_list_to_release(store: Store, pushed: str) -> None:
    listed = invoke_ok("proposal", "list", SPACE).out.splitlines()
    assert [line.split()[:5] for line in listed[1:]] == [[ID, "team/sale", "open", "none,required", "blog,sale"]]
    assert len(invoke_ok("proposal", "list", SPACE, "--project", "other").out.splitlines()) == 1
    shown = invoke_ok("proposal", "show", SPACE, "team/sale")
    assert shown.out.splitlines()[0] == "The sale"
    assert "sale: 1 redirect added; review: required" in shown.out
    assert shown.err == "State: open.\n"
    assert invoke_ok("proposal", "show", SPACE, ID, "--json").json["head"] == pushed
    printed = invoke_ok("proposal", "diff", SPACE, "team/sale").out
    assert "+ redirect /a" in printed
    assert "answers: /a: nothing -> 302 /b" in printed
    only = invoke_ok("proposal", "diff", SPACE, "team/sale", "--project", "blog", "--json").json
    assert [each["source"] for each in only["blog"]["changes"]] == ["/x"]
    invoke_ok("proposal", "test", SPACE, "team/sale")
    assert "302 /b" in invoke_ok("proposal", "test", SPACE, "team/sale", "--url", "/a").out
    assert invoke("proposal", "test", SPACE, "team/sale", "--url", "/none").code == 1

    refused = invoke("proposal", "merge", SPACE, "team/sale")
    assert (refused.code, "needs approval" in refused.err) == (1, True)
    barred = invoke("proposal", "approve", SPACE, "team/sale", "--as", "eve")
    assert (barred.code, "that needs project:review in blog, sale." in barred.err) == (2, True)
    assert "The proposal team/sale, which changes sale, needs approval" in refused.err
    invoke_ok("proposal", "request", SPACE, "team/sale", "--as", "eve", "--note", "Please")
    invoke_ok("proposal", "comment", SPACE, "team/sale", "Why now?", "--as", "eve")
    assert invoke("proposal", "approve", SPACE, "team/sale", "--as", "kim", "--head", "0" * 40).code == 1
    said = invoke_ok("proposal", "approve", SPACE, "team/sale", "--as", "kim", "--json")
    assert {name: each["state"] for name, each in said.json["reviews"].items()} == {
        "blog": "approved",
        "sale": "approved",
    }
    thread = invoke_ok("proposal", "show", SPACE, "team/sale").out.splitlines()[-5:]
    assert [line.split("  ", 1)[1] for line in (thread[0], thread[2], thread[4])] == [
        f"{action} in blog, sale  {who}  {pushed[:10]}"
        for action, who in (("request", "Eve (eve)"), ("comment", "Eve (eve)"), ("approve", "Kim (kim)"))
    ]
    assert [thread[1], thread[3]] == ["    Please", "    Why now?"]
    merged = invoke_ok("proposal", "merge", SPACE, ID, "--head", pushed, "--as", "kim")
    assert merged.err == "Publish 2 of blog: 1 redirect added.\nPublish 2 of sale: 1 redirect added.\n"
    assert invoke_ok("proposal", "merge", SPACE, ID, "--head", pushed).out == merged.out
    asked = {
        (row["actor"]["name"], row["detail"]["version"], row["detail"].get("operator"))
        for row in map(json.loads, invoke_ok("audit", "export").out.splitlines())
        if row.get("event") == "merge_requested"
    }
    assert asked == {("kim", merged.out.strip(), "Grace Tester"), ("Grace Tester", merged.out.strip(), None)}
    publishes, _ = store.publishes.history(SPACE, "sale", 0, 1)
    assert (publishes[0].version, publishes[0].approved_by.startswith("Kim <user-")) == (merged.out.strip(), True)
    assert store.proposals.all(SPACE) == []


def test_a_draft_becomes_a_proposal_that_is_updated_and_deleted(store: Store, tmp_path: Path) -> None:
    head = store.drafts.edit(SPACE, DraftName("blog", "main"), [put(redirect("/a"))], GRACE).head
    made = invoke_ok("proposal", "create", SPACE, "blog", "idea", "--head", head)
    assert made.out.strip() == sha256(b"idea").hexdigest()[:16]
    assert invoke("proposal", "update", SPACE, "idea").code == 1
    push(store, tmp_path, {"blog/redirects.yaml": yaml([("/b", "/c")])}, "release")
    new = invoke_ok("proposal", "update", SPACE, "idea").out.strip()
    assert store.proposals.read(SPACE, made.out.strip()).head == new
    assert invoke("proposal", "delete", SPACE, "idea", "--yes", "--head", head).code == 1
    invoke_ok("proposal", "delete", SPACE, "idea", "--yes", "--as", "eve")
    gone = invoke("proposal", "show", SPACE, "idea")
    assert (gone.code, "no proposal" in gone.err) == (2, True)
    edited = store.drafts.edit(SPACE, DraftName("blog", "main"), [put(redirect("/c"))], GRACE).head
    invoke_ok("edit", "discard", SPACE, "blog", "--yes")
    rows = list(map(json.loads, invoke_ok("audit", "export").out.splitlines()))[-3:-1]
    assert [(row["event"], row["actor"]["name"], row["project"], row["detail"]) for row in rows] == [
        ("proposal_deleted", "eve", None, {"branch": "idea", "head": new, "operator": "Grace Tester"}),
        ("draft_discarded", "Grace Tester", "blog", {"draft": "main", "head": edited}),
    ]


def test_an_update_takes_one_side_of_all_conflicts(store: Store, tmp_path: Path) -> None:
    """In all projects; the user of `--as` needs the grant of each kind, as over HTTP."""
    store.projects.create(SPACE, "news", ProjectFile(), GRACE)
    invoke_ok("user", "create", "vic", "--role", "viewer", "--firstname", "Vic")
    names = ("blog/redirects.yaml", "news/redirects.yaml")
    for branch, target in (("release", "/base"), ("torn", "/mine"), ("release", "/theirs")):
        folder = tmp_path / target[1:]
        folder.mkdir()
        push(store, folder, {name: yaml([("/a", target)]) for name in names}, branch)
    refused = invoke("proposal", "update", SPACE, "torn")
    assert (refused.code, "a choice for each" in refused.err) == (1, True)
    assert invoke("proposal", "update", SPACE, "torn", "--take", "draft").code == 2
    barred = invoke("proposal", "update", SPACE, "torn", "--take", "branch", "--as", "vic")
    assert (barred.code, "redirect:write in blog" in barred.err) == (2, True)
    done = invoke_ok("proposal", "update", SPACE, "torn", "--take", "branch", "--as", "eve")
    assert done.err == "Merged release into torn; 2 conflicts resolved.\n"
    found = store.proposals.read(SPACE, sha256(b"torn").hexdigest()[:16])
    assert (done.out.strip(), found.base) == (found.head, found.release)
    for name in ("blog", "news"):
        [record] = store.revisions.records(SPACE, name, Kind.REDIRECTS, "torn")
        assert record.wire()["target"] == "/mine"


@pytest.mark.parametrize("side", ["branch", "release"])
def test_an_update_takes_one_side_of_conflicts_that_only_come_up_with_others(
    store: Store, tmp_path: Path, side: str
) -> None:
    """The branch moves a page to where it cannot name the content file of release, and both change its note."""
    page = "pages:\n  - {type: BASIC, path: /a, contentType: TEXT_PLAIN, "
    steps: list[tuple[str, dict[str, str | None]]] = [
        ("release", {"blog/pages.yaml": page + "content: old}\n"}),
        ("moved", {"blog/pages.yaml": None, "blog/pages/deep/all.yaml": page + "content: old, note: mine}\n"}),
        ("release", {"blog/pages.yaml": page + "file: a.txt, note: theirs}\n", "blog/a.txt": "old"}),
    ]
    for number, (branch, files) in enumerate(steps):
        folder = tmp_path / str(number)
        folder.mkdir()
        push(store, folder, files, branch)
    invoke_ok("user", "create", "vic", "--role", "viewer", "--firstname", "Vic")
    assert invoke("proposal", "update", SPACE, "moved", "--take", side, "--as", "vic").code == 2
    done = invoke_ok("proposal", "update", SPACE, "moved", "--take", side, "--as", "eve")
    assert done.err == "Merged release into moved; 2 conflicts resolved.\n"
    [stored] = [each.fields() for each in store.revisions.records(SPACE, "blog", Kind.PAGES, "moved")]
    assert (stored["note"], stored["content"]) == ("mine" if side == "branch" else "theirs", "old")


def test_an_override_needs_words_and_the_grant(store: Store, pushed: str) -> None:
    assert invoke("proposal", "merge", SPACE, ID, "--override", "--").code == 2
    assert invoke("proposal", "merge", SPACE, ID, "--override", "outage", "--as", "kim").code == 2
    invoke_ok("proposal", "merge", SPACE, ID, "--override", "outage", "--head", pushed)
    publishes, _ = store.publishes.history(SPACE, "sale", 0, 1)
    assert publishes[0].override == "outage"
    rows = list(map(json.loads, invoke_ok("audit", "export").out.splitlines()))
    noted = [row["project"] for row in rows if row.get("event") == "approval_overridden"]
    assert sorted(noted) == ["blog", "sale"]


def test_conflicts_and_problems_are_printed(store: Store, tmp_path: Path) -> None:
    push(store, tmp_path, {"blog/redirects.yaml": yaml([("/a", "/a")])}, "loop")
    shown = invoke_ok("proposal", "show", SPACE, "loop")
    assert shown.err.startswith("blog/redirects.yaml:2:")
    assert shown.err.endswith("[redirect_loop]\nState: invalid.\n")
    push(store, tmp_path, {"blog/redirects.yaml": "redirects: [\n"}, "broken")
    shown = invoke_ok("proposal", "show", SPACE, "broken")
    assert "blog: cannot be read; review: none" in shown.out
    assert shown.err.startswith("blog/redirects.yaml:")
    assert invoke("proposal", "test", SPACE, "loop").code == 1
    push(store, tmp_path, {"blog/redirects.yaml": yaml([("/a", "/mine")])}, "mine")
    push(store, tmp_path, {"blog/redirects.yaml": yaml([("/a", "/theirs")])}, "release")
    assert "State: conflicts." in invoke_ok("proposal", "show", SPACE, "mine").err
    refused = invoke("proposal", "merge", SPACE, "mine")
    assert refused.code == 1
    assert "    branch: /mine\n" in refused.err
    assert refused.err.endswith(
        "git fetch origin && git switch mine && git merge origin/release && git push origin mine\n"
    )
    assert "edit resolve" not in refused.err
