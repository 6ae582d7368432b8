"""Projects: creation, changes of settings and removal, each as one publish."""

from dataclasses import replace

from content.records.names import is_name
from content.records.vocabulary import Kind
from gitstore.compiled.compiler import Compiler
from gitstore.compiled.segments.snapshot import Snapshot
from gitstore.drafts.drafts import require_project_tree
from gitstore.errors import AlreadyExists, BadRequest
from gitstore.git.after_commit import after_commit
from gitstore.git.refs import list_drafts
from gitstore.git.repository import Author
from gitstore.git.transaction import Transaction
from gitstore.layout import PROJECT_FILE, BlobId, TreeId, draft_ref, first_file
from gitstore.publish.advance import PublishResult, ReleaseUpdate, commit_release
from gitstore.yamlfiles.dump import new_file
from gitstore.yamlfiles.project_edit import rewrite_project
from gitstore.yamlfiles.project_file import ProjectFile, dump_project


def create_project(
    compiler: Compiler, transaction: Transaction, name: str, settings: ProjectFile, author: Author
) -> PublishResult:
    """Publish a new project with empty lists; raises AlreadyExists where the name, ignoring case, is taken."""
    if not is_name(name):
        raise BadRequest("A project's name is 1 to 50 letters, digits, hyphens and underscores.")
    release = transaction.release()
    taken = {entry.name.lower() for entry in transaction.entries(transaction.commit(release).tree)}
    if name.lower() in taken:  # also by a file: in the place of a project's folder, it is no removal
        raise AlreadyExists(f"The project {name} already exists (names ignore case).", "/name")
    files = {PROJECT_FILE: dump_project(settings), **{first_file(kind): new_file(kind, (), "block") for kind in Kind}}
    tree = transaction.write_files(None, {path: transaction.write_blob(data) for path, data in files.items()})
    return commit_release(
        compiler, transaction, ReleaseUpdate(name, release, tree, author, f"Create the project {name}")
    )


def change_project(
    compiler: Compiler, transaction: Transaction, name: str, author: Author, changes: dict[str, str]
) -> PublishResult:
    """Publish new settings of a project: `title`, `description` and those of the policy.

    An unreadable project.yaml requires a review; the new one does too.
    """
    release = transaction.release()
    tree = require_project_tree(transaction, release, name)
    settings = replace(_settings(compiler.snapshot(name, tree)), **changes)
    data = rewrite_project(_settings_file(transaction, tree), settings)
    written = transaction.write_files(tree, {PROJECT_FILE: transaction.write_blob(data)})
    text = f"Change {name}: {', '.join(changes)}"
    return commit_release(compiler, transaction, ReleaseUpdate(name, release, written, author, text))


def _settings(snapshot: Snapshot) -> ProjectFile:
    return replace(snapshot.settings, review="required") if snapshot.needs_review else snapshot.settings


def _settings_file(transaction: Transaction, tree: TreeId) -> bytes:
    found = transaction.files_named(tree, PROJECT_FILE)
    return transaction.blob(BlobId(found[PROJECT_FILE].id)) if found else b""


def delete_project(
    compiler: Compiler, transaction: Transaction, name: str, author: Author, *, may_change_policy: bool
) -> PublishResult:
    """Publish the removal of a project, and end its drafts; its history stays, and its publish numbers continue.

    Raises NotAllowed where release requires a review or strict lint, without `may_change_policy`.
    """
    release = transaction.release()
    require_project_tree(transaction, release, name)
    release_update = ReleaseUpdate(
        name, release, None, author, f"Remove the project {name}", requires_same_policy=not may_change_policy
    )
    published = commit_release(compiler, transaction, release_update)
    with after_commit("listing the drafts"):
        for draft in list_drafts(transaction.path, name):
            with after_commit(f"ending the draft {draft}"):
                transaction.remove(draft_ref(name, draft), None)
    return published
