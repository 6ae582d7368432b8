"""Publishing a draft: merge it into release by rule, under the policy that release has now."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import islice

from content.decision import Decisions
from gitstore.advance import Published, Step, advance
from gitstore.approval import Consent, Verdicts, no_verdicts
from gitstore.authorship import read_under_review, writers
from gitstore.compiler import Compiler
from gitstore.decisions import read_decisions
from gitstore.drafts import AFTER_THE_MOVE, DraftName, DraftState, commit_draft, end_draft, project_tree, read_draft
from gitstore.errors import Conflicts, NotFound, NothingToPublish, StaleDraft, StoreError
from gitstore.layout import PROJECT_FILE, BlobId, CommitId, TreeId
from gitstore.merging import MergedFiles, Trees, merge_trees
from gitstore.messages import ROLLED_BACK_TO, SELECTED_FROM, WRITTEN_BY, load_message, signature
from gitstore.numbering import ensure_manifest, read_index
from gitstore.repository import Author, CommitInfo, Repository
from gitstore.selection import select
from gitstore.update import Update
from gitstore.versions import Version

Trailers = Mapping[str, str | tuple[str, ...]]

_RETRY_WINDOW = 200
"""How many commits back a repeated request may find the publish that it became."""


@dataclass(frozen=True, slots=True)
class PublishOrder:
    """What a caller wants published.

    `head`, where given, must be the draft's; `override` says why without approval; with `ids` only the changes of these
    records are published, and the rest stays in the draft.
    Without `may_change_policy` a draft that brings another review or lint into release is refused.
    """

    name: DraftName
    publisher: Author
    head: str = ""
    message: str = ""
    override: str = ""
    ids: frozenset[str] = frozenset()
    may_change_policy: bool = False


def publish(compiler: Compiler, update: Update, order: PublishOrder, verdicts: Verdicts = no_verdicts) -> Published:
    """Publish a draft; the same order again after a lost reply answers with the publish that it became.

    `verdicts` are asked for at the start, where they are needed, and right before the commit is written.

    Raises NothingToPublish, StaleDraft, Conflicts, ApprovalRequired, NotAllowed, Invalid or LostRace; nothing has changed then.
    """
    state = read_draft(update, order.name)
    if state.head is None:
        end_draft(update, state)
    if state.head is None or (order.head and order.head != state.head):
        return _earlier(compiler, update, state, order)
    draft = read_under_review(compiler, state)
    consent = Consent(state, draft, verdicts, order.override)
    if draft.is_required:
        consent.trailers()
    if order.ids:
        return _publish_selected(compiler, update, consent, order)
    tree = merged_tree(compiler, update, state)
    step = _step(order, consent, tree, {WRITTEN_BY: _signatures(draft.authors)})
    published = advance(compiler, update, replace(step, merges=state.head))
    with suppress(*AFTER_THE_MOVE):
        end_draft(update, state)
    return published


def _publish_selected(compiler: Compiler, update: Update, consent: Consent, order: PublishOrder) -> Published:
    """Publish some changes; the draft then takes the publish in, so that it holds only the rest."""
    state, draft = consent.state, consent.draft
    selection = select(compiler, update, state, order.ids)
    tree = merged_tree(compiler, update, replace(state, tree=selection.tree), order.ids)
    wrote = _signatures(writers(compiler, state.name.project, draft, selection.changes))
    step = _step(order, consent, tree, {WRITTEN_BY: wrote, SELECTED_FROM: _selected_from(order.ids, state.head)})
    try:
        published = advance(compiler, update, step)
    except NothingToPublish:
        before = _find_earlier(compiler, update, state, order)
        if before is None:
            raise
        published = before  # it was cut off before the draft took it in
    with suppress(StoreError, OSError):  # the publish stands; with the same head it is found again
        _take_in(compiler, update, state, order.publisher, published)
    return published


def _take_in(compiler: Compiler, update: Update, state: DraftState, publisher: Author, published: Published) -> None:
    """Merge release, with the publish, into the draft; the draft ends where nothing is left of it."""
    release = update.release()
    after = project_tree(update, release, state.name.project)
    rest = replace(state, release=release, release_tree=after or state.release_tree)
    merged = merge_draft(compiler, rest)
    if merged.conflicts:
        return
    tree = write_merged(update, rest, merged)
    if tree == rest.release_tree:
        end_draft(update, rest)
    else:
        commit_draft(update, rest, tree, publisher, f"Take in publish {published.number}\n", merges=release)


def _step(order: PublishOrder, consent: Consent, tree: TreeId, trailers: Trailers) -> Step:
    step = Step(order.name.project, consent.state.release, tree, order.publisher, order.message, trailers)
    return replace(step, keeps_policy=not order.may_change_policy, consent=consent.trailers)


def _signatures(people: Sequence[Author]) -> tuple[str, ...]:
    return tuple(map(signature, people))


def roll_back(
    compiler: Compiler, update: Update, project: str, version: Version, publisher: Author, message: str
) -> Published:
    """Publish an earlier version's rules and pages again as a new version; today's project.yaml stays."""
    if version.tree is None:
        raise NotFound(f"Publish {version.number} removed the project {project}; there is nothing to go back to.")
    release = update.release()
    today = project_tree(update, release, project)
    tree = _with_settings(update, version.tree, today)
    text = message.strip() or f"Roll back {project} to publish {version.number}"
    step = Step(project, release, tree, publisher, text, {ROLLED_BACK_TO: version.commit}, returns=True)
    return advance(compiler, update, step)


def merge_draft(compiler: Compiler, state: DraftState, ids: Collection[str] = ()) -> MergedFiles:
    """What publishing the draft would change in release's files, and what stands in its way.

    What was settled holds; where only the changes with some `ids` are published, what was settled of these.
    """
    is_alone = state.base_tree == state.release_tree  # then there is nothing that could have been settled
    found = () if is_alone else read_decisions(compiler.repository, state.head, state.base, ids)
    return merge_trees(compiler, state.name.project, trees_of(state), Decisions(found))


def trees_of(state: DraftState) -> Trees:
    """What a draft's merge is made of."""
    return Trees(state.base_tree, state.release_tree, state.tree)


def merged_tree(compiler: Compiler, update: Update, state: DraftState, ids: Collection[str] = ()) -> TreeId:
    """Write the tree that the project has once the draft is merged; Conflicts where that has to be settled first."""
    if state.base_tree == state.release_tree and state.tree:
        return state.tree
    merged = merge_draft(compiler, state, ids)
    if merged.conflicts:
        raise Conflicts(_conflict_text(merged.conflicts), merged.conflicts)
    return write_merged(update, state, merged)


def write_merged(update: Update, state: DraftState, merged: MergedFiles) -> TreeId:
    """Write release's tree of the project with what merging changed in it."""
    blobs = {path: update.write_blob(data) if isinstance(data, bytes) else data for path, data in merged.files.items()}
    tree = update.write_files(state.release_tree, blobs)
    if tree is None:
        raise NothingToPublish(f"The draft {state.name.draft} would leave {state.name.project} without any file.")
    return tree


def _earlier(compiler: Compiler, update: Update, state: DraftState, order: PublishOrder) -> Published:
    """The publish that took in the head that the caller names."""
    name = order.name
    if not order.head:
        raise NothingToPublish(f"The project {name.project} has no draft {name.draft}; there is nothing to publish.")
    found = _find_earlier(compiler, update, state, order)
    if found:
        return found
    where = f"stands at {state.head}" if state.head else "is gone"
    raise StaleDraft(f"The draft {name.draft} {where}, not at {order.head[:40]}. Read it again, then decide.")


def _find_earlier(compiler: Compiler, update: Update, state: DraftState, order: PublishOrder) -> Published | None:
    for info in islice(update.first_parents(state.release), _RETRY_WINDOW):
        if order.head and _is_of(info, order):
            return _published(compiler, order.name.project, state.release, info.id)
    return None


def _is_of(info: CommitInfo, order: PublishOrder) -> bool:
    """Tell whether a commit is what just this order became: of the whole draft, or of the same selection from it."""
    if not order.ids:
        return order.head in info.parents[1:]
    selected = load_message(info.message).trailers.get(SELECTED_FROM)
    return selected == _selected_from(order.ids, CommitId(order.head))


def _selected_from(ids: Collection[str], head: CommitId | None) -> str:
    """What a publish of some changes says of itself: the draft's head, and a digest of which they were."""
    chosen = sha256(",".join(sorted(ids)).encode()).hexdigest()[:16]
    return f"{head} {chosen}"


def _published(compiler: Compiler, project: str, release: CommitId, commit: CommitId) -> Published:
    entry = ensure_manifest(compiler, release).projects[project]
    found = read_index(compiler, project, entry.newest, entry.newest_commit).resolve(commit)
    return Published(found.commit, found.number, found.counts or {})


def _with_settings(update: Update, tree: TreeId, today: TreeId | None) -> TreeId:
    settings = _file(update, today, PROJECT_FILE) if today else None
    written = update.write_files(tree, {PROJECT_FILE: settings}) if settings else tree
    return written or tree


def _file(repository: Repository, tree: TreeId, name: str) -> BlobId | None:
    found = (entry.id for entry in repository.entries(tree) if entry.name == name and not entry.is_folder)
    return next((BlobId(id_) for id_ in found), None)


def _conflict_text(conflicts: Sequence[dict[str, object]]) -> str:
    count = "1 field was" if len(conflicts) == 1 else f"{len(conflicts)} fields were"
    return f"{count} changed differently in the draft and on release since the draft began. Settle them, then publish."
