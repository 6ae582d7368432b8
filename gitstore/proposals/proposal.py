"""A proposal: a branch of a namespace other than release and the drafts, and the projects that it changes."""

from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice, takewhile
from pathlib import Path

from content.cache import LruCache
from content.records.names import is_name
from gitstore.errors import Broken, Invalid, NotFound, StaleProposal
from gitstore.git.ancestry import commits_between
from gitstore.git.refs import find_proposal, list_proposals
from gitstore.git.repository import Author, CommitInfo, Repository
from gitstore.history.messages import load_message
from gitstore.history.reached import find_base
from gitstore.layout import BRANCH_PREFIX, PROPOSAL_PREFIX, CommitId, TreeId, proposal_id

_TITLE = 200  # characters
_MOST_COMMITS = 200  # of a branch, among which its first one is looked for
_SEARCHED = 200  # commits of release in which the merge of a branch is looked for
_CACHED_TITLES = 1_000
_LONGEST_MESSAGE = 2_000  # characters, as a publish takes
UNRELATED = "shares no history with release. Begin it from release, then push it again."
_NOBODY = Author("", "")


_titled: LruCache[tuple[Path, CommitId, CommitId | None], CommitInfo] = LruCache(_CACHED_TITLES)
"""The commits that proposals are named by: each publish has all proposals read again."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A proposal at one moment: its head, release, and the projects between its base and its head.

    `base` is None for a branch without a common commit with release, and `fault` is the reason why a branch cannot be
    read. For a merged branch, `projects` are those that its merge changed. `changes_files` is true where files beside the
    projects differ. `time` is that of the head, in seconds since 1970. `title` and `author` are those of `first`, the oldest
    commit of the branch that is not a merge.
    """

    ref: str
    head: CommitId | None
    release: CommitId
    base: CommitId | None = None
    projects: tuple[str, ...] = ()
    changes_files: bool = False
    title: str = ""
    author: Author = _NOBODY
    time: int = 0
    fault: str = ""
    first: CommitId | None = None

    @property
    def id(self) -> str:
        """The id: 16 hex digits of the SHA-256 of the branch's name."""
        return proposal_id(self.ref)

    @property
    def branch(self) -> str:
        """The name of the branch."""
        return self.ref.removeprefix(BRANCH_PREFIX)

    @property
    def is_merged(self) -> bool:
        """True where release has the head among its commits."""
        return self.head is not None and self.base == self.head

    @property
    def review_name(self) -> str:
        """The name of its reviews, which no draft can have."""
        return f"{PROPOSAL_PREFIX}{self.id}"


ProposalKey = tuple[Path, str, CommitId, CommitId]
"""The repository, the branch, its head and release: as long as these are the same, so is the proposal."""


def read_proposals(repository: Repository, known: LruCache[ProposalKey, Proposal] | None = None) -> list[Proposal]:
    """Return all proposals, the newest first, those that are `known` without reading them; a damaged branch has a fault."""
    release = repository.release()
    found = (_read(repository, ref, release, known) for ref in list_proposals(repository.path))
    return sorted((each for each in found if each), key=lambda each: (-each.time, each.ref))


def read_proposal(repository: Repository, wanted: str, head: str = "") -> Proposal:
    """Return the proposal with an id; raises NotFound, or StaleProposal where it is not at the head."""
    ref = find_proposal(repository.path, wanted)
    found = _read(repository, ref, repository.release()) if ref else None
    if found is None:
        raise NotFound(f"There is no proposal {wanted[:40]!r} in this namespace.")
    if head and head != found.head:
        raise StaleProposal(
            f"The proposal {wanted} is at {found.head}; the request expects {head[:40]}. Read it again, then retry."
        )
    return found


def require_intact(proposal: Proposal) -> tuple[CommitId, CommitId]:
    """Return the base and the head of a proposal; raises Broken for a damaged branch, Invalid for an unrelated one."""
    if proposal.head is None or proposal.fault:
        raise Broken(f"{proposal.fault} Fix the branch {proposal.branch} with Git, or delete the proposal.")
    if proposal.base is None:
        raise Invalid(f"The branch {proposal.branch} {UNRELATED}", ())
    return proposal.base, proposal.head


def _read(
    repository: Repository, ref: str, release: CommitId, known: LruCache[ProposalKey, Proposal] | None = None
) -> Proposal | None:
    """Return the proposal of a branch; None where it was removed meanwhile."""
    head = None
    try:
        head = repository.ref(ref)
        if head is None:
            return None
        read = partial(_read_at, repository, ref, head, release)
        return known.get((repository.path, ref, head, release), read) if known is not None else read()
    except Broken as ex:
        return Proposal(ref, head, release, fault=str(ex))


def _read_at(repository: Repository, ref: str, head: CommitId, release: CommitId) -> Proposal:
    base, info = find_base(repository, release, head), repository.commit(head)
    named = _titled.get((repository.path, head, base), partial(_titled_commit, repository, info, base))
    names = _changed_names(repository, release, head, base)
    projects = tuple(name for name in sorted(names) if is_name(name) and names[name])
    only_files = any(not (is_name(name) and is_folder) for name, is_folder in names.items())
    title = first_line(named.message)[:_TITLE]
    return Proposal(ref, head, release, base, projects, only_files, title, named.author, info.time, first=named.id)


def _titled_commit(repository: Repository, head: CommitInfo, base: CommitId | None) -> CommitInfo:
    """Return the oldest commit of the branch that is not a merge, else its head.

    Of a branch of more than 200 commits since release, it is the oldest one of the newest 200.
    """
    own = takewhile(lambda info: info.id != base, repository.first_parents(head.id))
    with suppress(Broken):
        found = list(islice(own, _MOST_COMMITS))
        if base and any(len(info.parents) > 1 for info in found):  # behind a merge of release come commits of release
            unmerged = {info.id for info in commits_between(repository, base, head.id)}
            found = [info for info in found if info.id in unmerged]
        return next((info for info in reversed(found) if len(info.parents) == 1), head)
    return head


def merge_message(repository: Repository, proposal: Proposal) -> str:
    """Return the message of a merge without one of its own: that of the first commit, and the name of the branch."""
    ending = f"Merge the branch {proposal.branch}."
    text = load_message(repository.commit(proposal.first).message).text if proposal.first else ""
    return f"{text[: _LONGEST_MESSAGE - len(ending) - 2]}\n\n{ending}".strip()


def _changed_names(repository: Repository, release: CommitId, head: CommitId, base: CommitId | None) -> dict[str, bool]:
    """Return the top-level names that a branch changed; true where either side is a folder."""
    before, after = (base, head)
    if base == head:
        merged = next(
            (info for info in islice(repository.first_parents(release), _SEARCHED) if head in info.parents[1:]), None
        )
        before, after = (merged.parents[0], merged.id) if merged else (head, head)
    old: TreeId | None = repository.commit(before).tree if before else None
    differing = repository.differing_entries(old, repository.commit(after).tree)
    return {name: any(side and side.is_folder for side in sides) for name, sides in differing.items()}


def first_line(message: str) -> str:
    """Return the first line of a commit message as printable text."""
    line = next(iter(message.strip().splitlines()), "")
    return "".join(character if character.isprintable() else " " for character in line).strip()
