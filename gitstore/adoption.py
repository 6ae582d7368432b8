"""Taking a folder of projects in as a new namespace's first publishes, with a history that can be read."""

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from content.vocabulary import Kind
from gitstore.advance import Published, Step, advance
from gitstore.checkout import Checkout, Watch, list_files, read_checkout
from gitstore.compiler import Compiler
from gitstore.directory import DataDirectory
from gitstore.errors import BadRequest, Invalid
from gitstore.founding import README, Founding, begin_release, build_namespace, check_new_name, fill_paragraphs
from gitstore.layout import PROJECT_FILE, RELEASE_REF, TESTS_FILE, CommitId, TreeId, may_stand_beside_projects
from gitstore.messages import dump_message
from gitstore.part_store import PartStore
from gitstore.repository import Author
from gitstore.snapshot import RuleFile, Snapshot, body_path
from gitstore.update import Update, update

_FEW_FILES = 12
"""Files of a kind that each get a commit of their own; a history of hundreds of them tells nobody anything."""
_BESIDE = (
    ("Give the content a licence", ("LICENSE",)),
    ("Name who is asked about a change", ("CODEOWNERS",)),
    ("Keep every editor to one style", (".editorconfig",)),
    ("Check every change before it is merged", (".pre-commit-config.yaml", ".gitlab-ci.yml", ".github")),
)
"""What may stand beside projects and the README, by what it is for."""


class _Chapter(NamedTuple):
    """Some files that make one commit, and what it says."""

    subject: str
    paths: Sequence[str]
    body: str = ""


def adopt_folder(directory: DataDirectory, founding: Founding, folder: Path, watch: Watch = str) -> list[Published]:
    """Make a namespace of a folder of projects; Invalid, with nothing made, where that could not be published.

    It begins with what stands beside the projects; then each project is published as one merge of its files.
    """
    check_new_name(directory, founding.name)
    with build_namespace(directory, founding) as aside, update(aside.repository) as opened:
        parts = PartStore(aside.parts, aside.kept)
        checkout = _checked(folder, parts, watch)
        compiler, published = Compiler(aside, opened, parts), []
        opened.clock = _one_second_each(folder, checkout)
        release = _adopt_beside(opened, folder, founding)
        for snapshot in checkout.snapshots:
            published.append(_adopt_project(compiler, opened, release, folder, snapshot, founding.author))
            release = published[-1].version
    return published


def _checked(folder: Path, parts: PartStore, watch: Watch) -> Checkout:
    checkout = read_checkout(folder, parts, watch)
    if not checkout.is_namespace:
        raise BadRequest(f"{folder} is one project; a namespace is a folder of projects. Name the folder above it.")
    found = checkout.stopping()
    if found:
        raise Invalid("The folder cannot be published as it is; nothing was made.", found)
    return checkout


def _one_second_each(folder: Path, checkout: Checkout) -> Callable[[], float]:
    """A clock that ends now and ticks with every commit: `git log` tells commits of one second in no order."""
    projects = checkout.snapshots
    commits = len(_BESIDE) + 1 + sum(len(list(_chapters(folder / each.project, each))) + 1 for each in projects)
    return itertools.count(int(time.time()) - commits).__next__


def _adopt_beside(update: Update, folder: Path, founding: Founding) -> CommitId:
    """README first, then owners, CI and the like."""
    paths = [path for path in list_files(folder) if may_stand_beside_projects(_top(path))]
    readme = (folder / README).read_bytes() if README in paths else None
    head = first = begin_release(update, founding, readme)
    tree: TreeId | None = update.commit(first).tree
    for subject, tops in _BESIDE:
        chosen = [path for path in paths if _top(path) in tops]
        if chosen:
            tree = _write(update, tree, folder, chosen)
            chapter = _Chapter(subject, chosen, _comment(folder / chosen[0]))
            head = _commit(update, tree, head, founding.author, chapter)
    if head != first:
        update.move(RELEASE_REF, first, head)
    return head


def _adopt_project(
    compiler: Compiler, update: Update, release: CommitId, folder: Path, snapshot: Snapshot, author: Author
) -> Published:
    root, head, tree = update.commit(release).tree, release, None
    project = folder / snapshot.project
    for chapter in _chapters(project, snapshot):
        tree = _write(update, tree, project, chapter.paths)
        head = _commit(update, update.put_folder(root, snapshot.project, tree), head, author, chapter)
    text = f"Publish {snapshot.project}: {_count(snapshot)}"
    return advance(compiler, update, Step(snapshot.project, release, tree, author, text, merges=head))


def _write(update: Update, tree: TreeId | None, folder: Path, paths: Sequence[str]) -> TreeId | None:
    return update.write_files(tree, {path: update.write_blob((folder / path).read_bytes()) for path in paths})


def _commit(update: Update, tree: TreeId | None, parent: CommitId, author: Author, chapter: _Chapter) -> CommitId:
    if tree is None:
        raise ValueError(f"a commit of no files: {chapter.subject}")
    message = dump_message(f"{chapter.subject}\n\n{fill_paragraphs(chapter.body)}", {})
    return update.write_commit(tree, (parent,), author, message)


def _chapters(folder: Path, snapshot: Snapshot) -> Iterator[_Chapter]:
    settings, name = snapshot.settings, snapshot.project
    about = ": ".join(part for part in (settings.title, settings.description) if part)
    yield _Chapter(f"Begin the project {name}", [PROJECT_FILE], about)
    for kind in Kind:
        yield from _rule_chapters(folder, snapshot, kind)
    if (folder / TESTS_FILE).is_file():
        count = len(snapshot.expectations)
        subject = f"Say what {name} must answer: {count} test{'' if count == 1 else 's'}"
        yield _Chapter(subject, [TESTS_FILE], _comment(folder / TESTS_FILE))


def _rule_chapters(folder: Path, snapshot: Snapshot, kind: Kind) -> Iterator[_Chapter]:
    files = snapshot.rule_files[kind]
    if len(files) > _FEW_FILES:
        subject = f"Add {_many(snapshot.count(kind), kind)} to {snapshot.project}, in {len(files)} files"
        yield _Chapter(subject, [path for file in files for path in _with_bodies(file)])
        return
    for file in files:
        subject = f"Add {snapshot.full_path(file.path)}: {_many(len(file.part), kind)}"
        yield _Chapter(subject, _with_bodies(file), _comment(folder / file.path))


def _with_bodies(file: RuleFile) -> list[str]:
    """A file of rules, and the files that its pages name."""
    named = (extra["file"] for extra in file.part.extras.values() if "file" in extra)
    return [file.path, *sorted({body_path(file.path, name) for name in named})]


def _comment(path: Path) -> str:
    """The comment that a file begins with, without what is meant for editors."""
    lines = path.read_text("utf-8", "replace").splitlines()
    end = next((number for number, line in enumerate(lines) if not line.startswith("#")), len(lines))
    return "\n".join(line.lstrip("# ") for line in lines[:end] if "yaml-language-server:" not in line)


def _top(path: str) -> str:
    return path.partition("/")[0]


def _count(snapshot: Snapshot) -> str:
    return " and ".join(_many(snapshot.count(kind), kind) for kind in Kind)


def _many(count: int, kind: Kind) -> str:
    return f"{count or 'no'} {kind.value if count != 1 else kind.value.removesuffix('s')}"
