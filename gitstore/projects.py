"""Projects: making, changing and removing them, each as one publish."""

from contextlib import suppress
from dataclasses import replace

from content.names import is_name
from content.vocabulary import Kind
from gitstore.advance import Published, Step, advance
from gitstore.compiler import Compiler
from gitstore.drafts import AFTER_THE_MOVE, project_tree
from gitstore.dump import new_file
from gitstore.errors import AlreadyExists, BadRequest, NotFound
from gitstore.layout import PROJECT_FILE, BlobId, TreeId, draft_ref, first_file
from gitstore.numbering import project_trees
from gitstore.project_edit import rewrite_project
from gitstore.project_file import ProjectFile, dump_project
from gitstore.refs import list_drafts
from gitstore.repository import Author
from gitstore.snapshot import Snapshot
from gitstore.update import Update


def create_project(compiler: Compiler, update: Update, name: str, settings: ProjectFile, author: Author) -> Published:
    """Publish a new project with empty lists; AlreadyExists where the name, without regard to case, is taken."""
    if not is_name(name):
        raise BadRequest("A project's name is 1 to 50 letters, digits, hyphens and underscores.")
    release = update.release()
    taken = project_trees(update, update.commit(release).tree)
    if name.lower() in map(str.lower, taken):
        raise AlreadyExists(f"There is already a project {name} (names are unique without regard to case).")
    files = {PROJECT_FILE: dump_project(settings), **{first_file(kind): new_file(kind, (), "block") for kind in Kind}}
    tree = update.write_files(None, {path: update.write_blob(data) for path, data in files.items()})
    return advance(compiler, update, Step(name, release, tree, author, f"Begin the project {name}"))


def change_project(compiler: Compiler, update: Update, name: str, author: Author, changes: dict[str, str]) -> Published:
    """Publish new settings of a project: `title`, `description`, `review`, `lint`.

    Where its project.yaml cannot be read, what that asks for until it is mended goes into the new one.
    """
    release = update.release()
    tree = project_tree(update, release, name)
    if tree is None:
        raise NotFound(f"There is no project {name[:60]!r} in this namespace.")
    settings = replace(_settings(compiler.snapshot(name, tree)), **changes)
    data = rewrite_project(_settings_file(update, tree), settings)
    written = update.write_files(tree, {PROJECT_FILE: update.write_blob(data)})
    text = f"Change {name}: {', '.join(changes)}"
    return advance(compiler, update, Step(name, release, written, author, text))


def _settings(snapshot: Snapshot) -> ProjectFile:
    return replace(snapshot.settings, review="required") if snapshot.needs_review else snapshot.settings


def _settings_file(update: Update, tree: TreeId) -> bytes:
    found = (BlobId(entry.id) for entry in update.entries(tree) if entry.name == PROJECT_FILE and not entry.is_folder)
    return next((update.blob(id_) for id_ in found), b"")


def delete_project(
    compiler: Compiler, update: Update, name: str, author: Author, *, may_change_policy: bool
) -> Published:
    """Publish the removal of a project, and end its drafts; its history stays, and its numbers go on.

    NotAllowed where release asks for a review or strict lint, without `may_change_policy`.
    """
    release = update.release()
    if project_tree(update, release, name) is None:
        raise NotFound(f"There is no project {name[:60]!r} in this namespace.")
    step = Step(name, release, None, author, f"Remove the project {name}", keeps_policy=not may_change_policy)
    published = advance(compiler, update, step)
    for draft in list_drafts(update.path, name):
        with suppress(*AFTER_THE_MOVE):
            update.remove(draft_ref(name, draft), None)
    return published
