"""The files of a push: only those that something reads, as plain files, with names that every file system keeps apart."""

import os
from collections.abc import Iterator

import pytest

from content.records.problem import Problem
from gitstore.layout import BlobId
from gitstore.pushes import pushed_files
from gitstore.pushes.push import PushRules
from tests.gitstore.fixtures import Place, git
from tests.gitstore.pushes.pushed import TOKEN, Clone, rules

TOPIC = "refs/heads/topic"


@pytest.fixture
def clone(place: Place) -> Clone:
    """Return a clone."""
    return Clone.of(place)


@pytest.mark.parametrize(
    "path",
    [
        *(
            "README.md",
            "LICENSE",
            "CODEOWNERS",
            ".editorconfig",
            ".pre-commit-config.yaml",
            ".gitlab-ci.yml",
            "waypost.toml",
        ),
        *(".github/workflows/a.yml", "allowed_signers", ".gitignore", ".gitattributes", ".vscode/a/b.json"),
        *("shop/redirects/a/b.yaml", "shop/pages/a.html", "shop/robots.txt", "shop/tests.yaml", "new/project.yaml"),
    ],
)
def test_files_that_have_a_place(clone: Clone, path: str) -> None:
    clone.commit({path: "x\n"})
    assert not clone.check(TOPIC).refusal


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("notes.txt", "unknown_file"),
        (".editorconfig/a", "unknown_file"),
        (".vscode", "unknown_file"),
        (".gitmodules", "unknown_file"),
        ("shop/src/a.py", "unknown_file"),
        ("shop/redirects/a.txt", "unknown_file"),
        ("my.project/project.yaml", "bad_name"),
        ("shop/pages/a\tb.html", "bad_name"),
        ("shop/pages/a\\b", "bad_name"),
        ("/".join(["shop/pages", *["a"] * 40]), "too_deep"),
    ],
)
def test_files_without_a_place(clone: Clone, path: str, code: str) -> None:
    clone.commit({path: "x\n"})
    verdict = clone.check(TOPIC)
    assert verdict.refusal == "invalid files"
    assert f": {code}: " in verdict.lines[0]
    assert verdict.lines[-1] == f"1 problem in commit {clone.head[:12]}. Fix it, then: git commit --amend"


def test_files_and_content_are_refused_together(clone: Clone) -> None:
    clone.commit(
        {"TODO.txt": "x", "shop/NOTES.md": "x", "shop/redirects.yaml": "redirects: [", "my shop/pages.yaml": "x"}
    )
    verdict = clone.check("refs/heads/release")
    assert verdict.refusal == "invalid files"
    assert [tuple(line.split(": ")[:2]) for line in sorted(verdict.lines[:-1])] == [
        ("TODO.txt", "unknown_file"),
        ("my shop", "bad_name"),
        ("shop/NOTES.md", "unknown_file"),
        ("shop/redirects.yaml:1:13", "bad_syntax"),
    ]
    assert verdict.lines[-1] == f"4 problems in commit {clone.head[:12]}. Fix them, then: git commit --amend"


def test_the_other_files_are_a_setting(clone: Clone) -> None:
    clone.commit({"Makefile": "x\n", ".idea/a": "x\n"})
    clone.rules = PushRules(allowed_files=("Makefile", ".idea/**"))
    assert not clone.check(TOPIC).refusal
    clone.commit({".vscode/a": "x\n"})
    assert clone.check(TOPIC).refusal == "invalid files"


@pytest.mark.parametrize(
    ("mode", "kind", "action"),
    [
        ("120000", "a symbolic link", "Replace it by the file, or remove it."),
        ("100755", "an executable file", "Make it a plain one: git update-index --chmod=-x <path>"),
        ("160000", "a submodule", "Remove it: git rm <path>"),
    ],
)
@pytest.mark.parametrize("path", ["shop/pages/a", "README.md", ".vscode/a"])
def test_only_plain_files(clone: Clone, mode: str, kind: str, action: str, path: str) -> None:
    blob = clone.git("hash-object", "-w", "--stdin") if mode != "160000" else clone.head
    clone.git("update-index", "--add", "--cacheinfo", f"{mode},{blob},{path}")
    clone.git("commit", "-q", "-m", "Odd")
    verdict = clone.check(TOPIC)
    assert verdict.refusal == "invalid files"
    assert verdict.lines[0] == f"{path}: not_a_file: It is {kind}; only plain files are allowed. {action}"


@pytest.mark.parametrize(
    ("name", "other"), [("a.html", "A.html"), ("é", "e\u0301"), ("straße", "STRASSE"), ("İ", "i\u0307")]
)
def test_names_that_some_file_system_takes_for_each_other(clone: Clone, name: str, other: str) -> None:
    clone.commit({f"shop/pages/{name}": "x\n"})
    clone.push(TOPIC)
    clone.commit({f"shop/pages/{other}": "y\n"})
    verdict = clone.check(TOPIC)
    assert verdict.refusal == "invalid files"
    assert f"shop/pages/{other}: path_taken: " in verdict.lines[0]


def test_names_from_both_sides_of_a_merge(clone: Clone) -> None:
    clone.git("checkout", "-q", "-b", "side")
    clone.commit({"shop/pages/A": "x\n"})
    clone.push("refs/heads/side")
    clone.git("checkout", "-q", "release")
    clone.commit({"shop/pages/a": "x\n"})
    clone.push("refs/heads/other")
    clone.git("merge", "-q", "-m", "Merge", "side")
    assert "path_taken" in clone.check(TOPIC).lines[0]


def test_names_that_are_not_text(clone: Clone) -> None:
    clone.commit({os.fsdecode(b"shop/pages/a\xff"): "x"})
    verdict = clone.check(TOPIC)
    assert verdict.lines[0] == "shop/pages/a\\xff: bad_name: The name is not UTF-8. Rename the file."


@pytest.mark.parametrize("name", ["a" * 256, "git~1", ".git\u200c", ".GIT.", ".git::$INDEX_ALLOCATION"])
def test_names_that_some_file_system_does_not_take(clone: Clone, name: str) -> None:
    blob = clone.git("hash-object", "-w", "shop/project.yaml")
    loose = ("-c", "core.protectNTFS=false", "-c", "core.protectHFS=false")
    clone.git(*loose, "update-index", "--add", "--cacheinfo", f"100644,{blob},shop/pages/{name}")
    clone.git(*loose, "commit", "-q", "-m", "Odd")
    assert "bad_name" in clone.check(TOPIC).lines[0]


def test_large_files(clone: Clone) -> None:
    clone.commit({"shop/pages/a": b"x" * (pushed_files.MAX_FILE_BYTES + 1)})
    assert "too_large" in clone.check(TOPIC).lines[0]
    clone.git("reset", "-q", "--hard", "HEAD~1")
    clone.commit({"shop/pages/a": b"x" * pushed_files.MAX_FILE_BYTES})
    assert not clone.check(TOPIC).refusal


def test_a_valid_token_is_refused_and_not_shown(clone: Clone) -> None:
    clone.commit({"shop/pages/a": f"one\ntwo {TOKEN}\n"})
    verdict = clone.check(TOPIC)
    assert verdict.lines[0].startswith("shop/pages/a:2:1: api_token: ")
    assert TOKEN not in "".join(verdict.lines)


def test_a_valid_token_is_refused_in_each_ref_of_a_push(clone: Clone) -> None:
    clone.commit({"shop/pages/a": f"one\ntwo {TOKEN}\n"})
    verdicts = clone.check_all({TOPIC: "HEAD", "refs/heads/other": "HEAD", "refs/tags/t": "HEAD"})
    assert [each.refusal for each in verdicts] == ["API token found"] * 3


def test_a_commit_in_the_middle_counts(clone: Clone) -> None:
    bad = clone.commit({"notes.txt": "x\n"})
    clone.commit({"notes.txt": None})
    verdict = clone.check(TOPIC)
    assert verdict.refusal == "invalid files"
    assert verdict.lines[-1] == f"1 problem in commit {bad[:12]}. Fix it there: git rebase -i {bad}~1"


def test_files_that_are_there_already_are_not_read(clone: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    clone.commit({f"shop/redirects/{at:03}.yaml": rules((f"/{at}", "/b")) for at in range(40)})
    clone.push()
    clone.commit({"shop/redirects/007.yaml": rules(("/7", "/c"))})
    seen = list[str]()
    check = pushed_files.FileCheck._check_content

    def noted(self: pushed_files.FileCheck, blob: BlobId, path: str) -> Iterator[Problem]:
        seen.append(path)
        return check(self, blob, path)

    monkeypatch.setattr(pushed_files.FileCheck, "_check_content", noted)
    assert not clone.check().refusal
    assert seen == ["shop/redirects/007.yaml"]


def test_folders_that_list_billions_of_files(clone: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pushed_files, "MAX_ENTRIES", 1_000)
    tree = clone.git("rev-parse", "HEAD:shop")
    for _ in range(12):
        tree = _make_tree(clone, "".join(f"040000 tree {tree}\t{name}\n" for name in "abcdefghij"))
    shop = _make_tree(clone, f"{clone.git('ls-tree', 'HEAD:shop')}\n040000 tree {tree}\tpages\n")
    root = _make_tree(clone, f"040000 tree {shop}\tshop\n")
    verdict = clone.check(TOPIC, clone.git("commit-tree", "-p", "HEAD", "-m", "Bomb", root))
    assert "too_many_files" in verdict.lines[0]


def _make_tree(clone: Clone, listing: str) -> str:
    return git(clone.folder, "mktree", data=listing.encode())


@pytest.mark.parametrize("path", ["shop/redirects/{}.yaml", "shop/redirects/{}/a.yaml", "{}/redirects.yaml"])
def test_a_valid_token_in_a_name_is_refused_and_not_shown(clone: Clone, path: str) -> None:
    clone.commit({path.format(TOKEN): rules(("/a", "/b"))})
    verdict = clone.check(TOPIC)
    assert "api_token: The name of a file or folder here contains a valid API token." in verdict.lines[0]
    assert TOKEN not in "".join(verdict.lines)


def test_a_valid_token_in_the_message_of_a_commit_is_refused_and_not_shown(clone: Clone) -> None:
    clone.commit({"shop/pages/a": "one\n"})
    clone.git("commit", "-q", "--amend", "-m", f"Use {TOKEN}")
    verdict = clone.check(TOPIC)
    assert verdict.lines[0].startswith("api_token: The message, the author or another header of the commit contains")
    assert TOKEN not in "".join(verdict.lines)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("committer ", f"committer {TOKEN} "),
        ("committer T <", f"committer T <{TOKEN}"),
        ("author T <", f"author T <{TOKEN}"),
        ("\n\n", f"\nencoding {TOKEN}\n\n"),
        ("\n\n", f"\ngpgsig -----BEGIN SSH SIGNATURE-----\n {TOKEN}\n -----END SSH SIGNATURE-----\n\n"),
        ("\n\n", f"\nmergetag object {'1' * 40}\n type commit\n tag v1\n tagger T <t@t> 1 +0000\n \n {TOKEN}\n\n"),
        ("\n\n", f"\nnote {TOKEN}\n\n"),
    ],
)
def test_a_valid_token_in_a_header_of_a_commit_is_refused_and_not_shown(clone: Clone, before: str, after: str) -> None:
    clone.commit({"shop/pages/a": "one\n"})
    who = "T <t@example.org> 1700000000 +0000"
    tree, parent = clone.git("rev-parse", "HEAD^{tree}"), clone.git("rev-parse", "HEAD^")
    plain = f"tree {tree}\nparent {parent}\nauthor {who}\ncommitter {who}\n\nBy hand\n"
    assert not clone.check(TOPIC, _make_commit(clone, plain)).refusal
    assert plain.count(before) == 1
    verdict = clone.check(TOPIC, _make_commit(clone, plain.replace(before, after)))
    assert verdict.refusal == "API token found"
    assert TOKEN not in "".join(verdict.lines)


def _make_commit(clone: Clone, text: str) -> str:
    return git(clone.folder, "hash-object", "-t", "commit", "-w", "--stdin", "--literally", data=text.encode())
