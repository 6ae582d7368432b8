"""Import of a folder of projects as the first publishes of a new namespace, with a readable history."""

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from content.records.pattern_limits import DEFAULT_LIMITS, PatternLimits
from content.records.vocabulary import Kind
from gitstore.compiled.compiler import Compiler
from gitstore.compiled.segments.segment_store import SegmentStore
from gitstore.compiled.segments.snapshot import CompiledFile, Snapshot, body_path
from gitstore.directory import DataDirectory
from gitstore.errors import BadRequest, Invalid
from gitstore.git.repository import Author
from gitstore.git.transaction import Transaction, update
from gitstore.history.messages import dump_message
from gitstore.layout import PROJECT_FILE, RELEASE_REF, TESTS_FILE, CommitId, TreeId, is_allowed_beside, is_root_file
from gitstore.namespaces.checkout import Checkout, ProgressCallback, list_files, read_checkout
from gitstore.namespaces.creation import (
    README,
    NamespaceCreation,
    build_namespace,
    check_new_name,
    fill_paragraphs,
    write_first_commit,
)
from gitstore.namespaces.records import NO_RECORDS, NamespaceRecords
from gitstore.publish.advance import PublishResult, ReleaseUpdate, commit_release

_FEW_FILES = 12  # files of a kind that each get their own commit; hundreds of such commits inform no one
# The files that may be beside the projects and the README, by purpose.
_ROOT_FILE_GROUPS = (
    ("Add the licence", ("LICENSE",)),
    ("Add the code owners", ("CODEOWNERS", "allowed_signers")),
    ("Add the editor settings", (".editorconfig", ".vscode", ".gitattributes", ".gitignore")),
    ("Add the CI checks", (".pre-commit-config.yaml", ".gitlab-ci.yml", ".github")),
)


class _CommitGroup(NamedTuple):
    """The files of one commit, and its message."""

    subject: str
    paths: Sequence[str]
    body: str = ""


def adopt_folder(
    directory: DataDirectory,
    creation: NamespaceCreation,
    folder: Path,
    watch: ProgressCallback = str,
    limits: PatternLimits = DEFAULT_LIMITS,
    records: NamespaceRecords = NO_RECORDS,
) -> list[PublishResult]:
    """Create a namespace from a folder of projects; raises Invalid, with nothing created, for content with errors.

    The first commits are of the files beside the projects; then each project is published as one merge of its files.
    """
    check_new_name(directory, creation.name)
    with (
        build_namespace(directory, creation, records) as staged,
        update(staged.paths.repository, signing_key=creation.signing_key) as opened,
    ):
        segments = SegmentStore(staged.paths.segments, staged.paths.archive)
        checkout = _checked(folder, segments, watch, limits)
        compiler, published = Compiler(staged.paths, opened, segments, limits=limits), []
        opened.clock = _spaced_clock(folder, checkout)
        release = _commit_root_files(opened, folder, creation, staged.numbers)
        for snapshot in checkout.snapshots:
            published.append(_import_project(compiler, opened, release, folder, snapshot, creation.author))
            release = published[-1].version
    return published


def _checked(folder: Path, segments: SegmentStore, watch: ProgressCallback, limits: PatternLimits) -> Checkout:
    checkout = read_checkout(folder, segments, watch)
    if not checkout.is_namespace:
        raise BadRequest(f"{folder} is one project; a namespace is a folder of projects. Pass its parent folder.")
    found = checkout.find_blocking_problems(limits)
    if found:
        raise Invalid("The folder has errors; no namespace was created. Fix them, then retry.", found)
    return checkout


def _spaced_clock(folder: Path, checkout: Checkout) -> Callable[[], float]:
    """Return a clock that ends now and ticks with every commit."""
    # `git log` sorts by commit time, in whole seconds: https://git-scm.com/docs/git-log#_commit_ordering
    projects = checkout.snapshots
    commits = (
        len(_ROOT_FILE_GROUPS)
        + 1
        + sum(len(list(_commit_groups(folder / each.project, each))) + 1 for each in projects)
    )
    return itertools.count(int(time.time()) - commits).__next__


def _commit_root_files(
    update: Transaction, folder: Path, creation: NamespaceCreation, numbers: Mapping[str, int]
) -> CommitId:
    """Commit the README first, then owners, CI and the like."""
    paths = [path for path in list_files(folder) if is_root_file(_top(path)) or is_allowed_beside(path)]
    readme = (folder / README).read_bytes() if README in paths else None
    head = first = write_first_commit(update, creation, numbers, readme)
    tree: TreeId | None = update.commit(first).tree
    for subject, tops in _ROOT_FILE_GROUPS:
        chosen = [path for path in paths if _top(path) in tops]
        if chosen:
            tree = _write(update, tree, folder, chosen)
            commit_group = _CommitGroup(subject, chosen, _comment(folder / chosen[0]))
            head = _commit(update, tree, head, creation.author, commit_group)
    if head != first:
        update.move(RELEASE_REF, first, head)
    return head


def _import_project(
    compiler: Compiler, update: Transaction, release: CommitId, folder: Path, snapshot: Snapshot, author: Author
) -> PublishResult:
    root, head, tree = update.commit(release).tree, release, None
    project = folder / snapshot.project
    for commit_group in _commit_groups(project, snapshot):
        tree = _write(update, tree, project, commit_group.paths)
        head = _commit(update, update.put_folder(root, snapshot.project, tree), head, author, commit_group)
    text = f"Publish {snapshot.project}: {_count(snapshot)}"
    return commit_release(compiler, update, ReleaseUpdate(snapshot.project, release, tree, author, text, merges=head))


def _write(update: Transaction, tree: TreeId | None, folder: Path, paths: Sequence[str]) -> TreeId | None:
    return update.write_files(tree, {path: update.write_blob((folder / path).read_bytes()) for path in paths})


def _commit(
    update: Transaction, tree: TreeId | None, parent: CommitId, author: Author, commit_group: _CommitGroup
) -> CommitId:
    if tree is None:
        raise ValueError(f"a commit of no files: {commit_group.subject}")
    message = dump_message(f"{commit_group.subject}\n\n{fill_paragraphs(commit_group.body)}", {})
    return update.write_commit(tree, (parent,), author, message)


def _commit_groups(folder: Path, snapshot: Snapshot) -> Iterator[_CommitGroup]:
    settings, name = snapshot.settings, snapshot.project
    about = ": ".join(segment for segment in (settings.title, settings.description) if segment)
    yield _CommitGroup(f"Create the project {name}", [PROJECT_FILE], about)
    for kind in Kind:
        yield from _rule_commit_groups(folder, snapshot, kind)
    if (folder / TESTS_FILE).is_file():
        count = len(snapshot.expectations)
        subject = f"Add the tests of {name}: {count} test{'' if count == 1 else 's'}"
        yield _CommitGroup(subject, [TESTS_FILE], _comment(folder / TESTS_FILE))


def _rule_commit_groups(folder: Path, snapshot: Snapshot, kind: Kind) -> Iterator[_CommitGroup]:
    files = snapshot.rule_files[kind]
    if len(files) > _FEW_FILES:
        subject = f"Add {_count_text(snapshot.count(kind), kind)} to {snapshot.project}, in {len(files)} files"
        yield _CommitGroup(subject, [path for file in files for path in _with_bodies(file)])
        return
    for file in files:
        subject = f"Add {snapshot.full_path(file.path)}: {_count_text(len(file.segment), kind)}"
        yield _CommitGroup(subject, _with_bodies(file), _comment(folder / file.path))


def _with_bodies(file: CompiledFile) -> list[str]:
    """Return the paths of a file of rules and of its pages' content files."""
    named = (extra["file"] for extra in file.segment.extras.values() if "file" in extra)
    return [file.path, *sorted({body_path(file.path, name) for name in named})]


def _comment(path: Path) -> str:
    """Return the comment at the start of a file, without lines for editors."""
    lines = path.read_text("utf-8", "replace").splitlines()
    end = next((number for number, line in enumerate(lines) if not line.startswith("#")), len(lines))
    return "\n".join(line.lstrip("# ") for line in lines[:end] if "yaml-language-server:" not in line)


def _top(path: str) -> str:
    return path.partition("/")[0]


def _count(snapshot: Snapshot) -> str:
    return " and ".join(_count_text(snapshot.count(kind), kind) for kind in Kind)


def _count_text(count: int, kind: Kind) -> str:
    return f"{count or 'no'} {kind.value if count != 1 else kind.value.removesuffix('s')}"
