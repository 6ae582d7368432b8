"""Publishes of drafts: the merge into release by rule, under release's current policy, and rollbacks."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import islice

from gitstore.compiled.compiler import Compiler
from gitstore.compiled.indexes.versions import Version
from gitstore.drafts.drafts import (
    DraftName,
    DraftState,
    commit_draft,
    end_draft,
    project_tree,
    read_draft,
    require_head,
)
from gitstore.drafts.selection import select
from gitstore.errors import NotFound, NothingToPublish, StaleVersion
from gitstore.git.after_commit import after_commit
from gitstore.git.repository import Author, CommitInfo
from gitstore.git.transaction import Transaction
from gitstore.history.manifests import ensure_manifest
from gitstore.history.messages import MERGED_HEAD, ROLLED_BACK_TO, SELECTED_FROM, WRITTEN_BY, load_message, signature
from gitstore.history.numbering import read_index
from gitstore.layout import PROJECT_FILE, BlobId, CommitId, TreeId
from gitstore.merge.draft_merge import merge_draft, merged_tree, write_merged
from gitstore.publish.advance import PublishResult, ReleaseUpdate, commit_release
from gitstore.publish.approval import ApprovalCheck, VerdictSource, no_verdicts
from gitstore.publish.authorship import find_writers, read_review_subject
from gitstore.publish.signature_policy import require_signed_branch

Trailers = Mapping[str, str | tuple[str, ...]]

_RETRY_WINDOW = 200  # commits of release in which a repeated request finds its publish


@dataclass(frozen=True, slots=True)
class PublishRequest:
    """A request to publish a draft.

    `head`, if given, must be the draft's; `override` is the reason to publish without approval; with `ids` only the
    changes of these records are published, and the rest stays in the draft.
    Without `may_change_policy` a draft that changes release's review or lint policy is refused.
    """

    name: DraftName
    publisher: Author
    head: str = ""
    message: str = ""
    override: str = ""
    ids: frozenset[str] = frozenset()
    may_change_policy: bool = False


def publish(
    compiler: Compiler, transaction: Transaction, request: PublishRequest, verdicts: VerdictSource = no_verdicts
) -> PublishResult:
    """Publish a draft; repeated after a lost reply, the same request returns its publish.

    `verdicts` is called at the start, where approval is needed, and right before the commit is written.

    Raises NothingToPublish, StaleDraft, Conflicts, ApprovalRequired, SignatureRequired, NotAllowed, Invalid or LostRace, without a change.
    """
    state = read_draft(transaction, request.name)
    if state.head is None:
        with after_commit("ending the draft"):
            end_draft(transaction, state)
    if state.head is None or (request.head and request.head != state.head):
        return _find_repeated_or_raise(compiler, transaction, state, request)
    draft = read_review_subject(compiler, state)
    approval_check = ApprovalCheck(state, draft, verdicts, request.override)
    if draft.is_required:
        approval_check.trailers()
    if not request.override:
        require_signed_branch(transaction, state.release, (state.base, state.head))
    if request.ids:
        return _publish_selected(compiler, transaction, approval_check, request)
    tree = merged_tree(compiler, transaction, state)
    release_update = _build_release_update(request, approval_check, tree, {WRITTEN_BY: _signatures(draft.authors)})
    published = commit_release(compiler, transaction, replace(release_update, merges=state.head))
    with after_commit("ending the draft"):  # the next read does not take it for a draft any more
        end_draft(transaction, state)
    return published


def _publish_selected(
    compiler: Compiler, transaction: Transaction, approval_check: ApprovalCheck, request: PublishRequest
) -> PublishResult:
    """Publish some changes; the draft then merges release, so that it holds only the rest."""
    state, draft = approval_check.state, approval_check.draft
    published = _find_repeated(compiler, transaction, state, request) if state.base != state.release else None
    if published is None:  # else it was interrupted before the draft merged it
        selection = select(compiler, transaction, state, request.ids)
        tree = merged_tree(compiler, transaction, replace(state, tree=selection.tree), request.ids)
        wrote = _signatures(find_writers(compiler, state.name.project, draft, selection.changes))
        release_update = _build_release_update(
            request, approval_check, tree, {WRITTEN_BY: wrote, SELECTED_FROM: _selected_from(request.ids, state.head)}
        )
        chosen = _commit_selection(transaction, state, selection.tree, request.publisher)
        published = commit_release(compiler, transaction, replace(release_update, merges=chosen))
        state = replace(state, base_tree=selection.tree)
    with after_commit("merging the publish into the draft"):  # until it is, its base is the selection
        _merge_release_in(compiler, transaction, state, request.publisher, published)
    return published


def _commit_selection(transaction: Transaction, state: DraftState, tree: TreeId, author: Author) -> CommitId:
    """Commit the draft's base with the selected changes, which the rest is compared with; see `drafts.selected_base`."""
    root = transaction.put_folder(transaction.commit(state.base).tree, state.name.project, tree)
    text = f"Select changes of the draft {state.name.draft} of {state.name.project}\n"
    return transaction.write_commit(root, (state.base,), author, text)


def _merge_release_in(
    compiler: Compiler, transaction: Transaction, state: DraftState, publisher: Author, published: PublishResult
) -> None:
    """Merge release, with the publish, into the draft; the draft ends where it then equals release."""
    release = transaction.release()
    after = project_tree(transaction, release, state.name.project)
    rest = replace(state, release=release, release_tree=after or state.release_tree)
    merged = merge_draft(compiler, rest)
    if merged.conflicts:
        return
    tree = write_merged(transaction, rest, merged)
    if tree == rest.release_tree:
        end_draft(transaction, rest)
    else:
        commit_draft(transaction, rest, tree, publisher, f"Merge publish {published.number}\n", merges=release)


def _build_release_update(
    request: PublishRequest, approval_check: ApprovalCheck, tree: TreeId, trailers: Trailers
) -> ReleaseUpdate:
    release_update = ReleaseUpdate(
        request.name.project, approval_check.state.release, tree, request.publisher, request.message, trailers
    )
    return replace(
        release_update, requires_same_policy=not request.may_change_policy, approval_check=approval_check.trailers
    )


def _signatures(people: Sequence[Author]) -> tuple[str, ...]:
    return tuple(map(signature, people))


@dataclass(frozen=True, slots=True)
class RollbackRequest:
    """A request to publish an earlier version again; `expected`, if given, must be the newest version of the project."""

    project: str
    version: Version
    publisher: Author
    message: str = ""
    expected: Version | None = None


def roll_back(compiler: Compiler, transaction: Transaction, request: RollbackRequest) -> PublishResult:
    """Publish an earlier version's rules and pages again as a new version; project.yaml does not change.

    Raises NotFound, StaleVersion, NothingToPublish or the errors of `commit_release`, without a change.
    """
    project, version = request.project, request.version
    if version.tree is None:
        raise NotFound(f"Publish {version.number} removed the project {project} and has no content to roll back to.")
    release = transaction.release()
    if request.expected:
        _require_newest_version(compiler, release, project, request.expected)
    today = project_tree(transaction, release, project)
    tree = _with_settings(transaction, version.tree, today)
    text = request.message.strip() or f"Roll back {project} to publish {version.number}"
    release_update = ReleaseUpdate(
        project, release, tree, request.publisher, text, {ROLLED_BACK_TO: version.commit}, is_rollback=True
    )
    return commit_release(compiler, transaction, release_update)


def _require_newest_version(compiler: Compiler, release: CommitId, project: str, expected: Version) -> None:
    newest = read_index(compiler, ensure_manifest(compiler, release), project).last
    if newest != expected.number:
        raise StaleVersion(
            f"The project {project} is at publish {newest}; the request expects publish {expected.number}. "
            "Read it again, then retry."
        )


def _find_repeated_or_raise(
    compiler: Compiler, transaction: Transaction, state: DraftState, request: PublishRequest
) -> PublishResult:
    """Return the publish that merged the head in the request."""
    if found := _find_repeated(compiler, transaction, state, request):
        return found
    require_head(state, request.head)
    raise NothingToPublish(f"The project {request.name.project} has no draft {request.name.draft}; nothing to publish.")


def _find_repeated(
    compiler: Compiler, transaction: Transaction, state: DraftState, request: PublishRequest
) -> PublishResult | None:
    for info in islice(transaction.first_parents(state.release), _RETRY_WINDOW):
        if request.head and _is_from_request(info, request):
            return _published(compiler, request.name.project, state.release, info.id)
    return None


def _is_from_request(info: CommitInfo, request: PublishRequest) -> bool:
    """Return whether a commit is the result of this request: of the whole draft, or of the same selection from it."""
    trailers = load_message(info.message).trailers
    if not request.ids:
        return request.head in {*info.parents[1:], trailers.get(MERGED_HEAD)}
    selected = trailers.get(SELECTED_FROM)
    return selected == _selected_from(request.ids, CommitId(request.head))


def _selected_from(ids: Collection[str], head: CommitId | None) -> str:
    """Return the trailer of a publish of some changes: the draft's head, and a digest of their ids."""
    chosen = sha256(",".join(sorted(ids)).encode()).hexdigest()[:16]
    return f"{head} {chosen}"


def _published(compiler: Compiler, project: str, release: CommitId, commit: CommitId) -> PublishResult:
    found = read_index(compiler, ensure_manifest(compiler, release), project).resolve(commit)
    return PublishResult(found.commit, found.number, found.counts or {}, found.tree)


def _with_settings(transaction: Transaction, tree: TreeId, today: TreeId | None) -> TreeId:
    settings = transaction.files_named(today, PROJECT_FILE) if today else {}
    written = transaction.write_files(tree, {name: BlobId(entry.id) for name, entry in settings.items()})
    return written or tree
