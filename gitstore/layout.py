"""The layout of a namespace's repository: branch names and file paths, in one place."""

from collections.abc import Sequence
from enum import Enum, auto
from functools import lru_cache
from hashlib import sha256
from posixpath import dirname
from typing import NewType

from content.records.names import is_name
from content.records.vocabulary import Kind

# Ids are text of 40 lower-case hex digits; the bytes of dulwich stay inside `gitstore.git`.
CommitId = NewType("CommitId", str)
TreeId = NewType("TreeId", str)
BlobId = NewType("BlobId", str)

BRANCH_PREFIX = "refs/heads/"
RELEASE_REF = "refs/heads/release"
DRAFT_PREFIX = "refs/heads/draft/"
PULLED_BRANCHES = "refs/heads/waypost/"  # on an upstream: the branches of the pull requests that publishes open
FOLLOWED_BRANCHES = "refs/heads/upstream/branch/"
FOLLOWED_PULLS = "refs/heads/upstream/pull/"
PROPOSAL_PREFIX = "proposal/"  # before the id of a proposal, where it is named as a state
COMMIT_PREFIX = "commit/"  # before the id of a commit, where its review is named; no draft has such a name
TAG_PREFIX = "refs/tags/"
NOTES_REF = "refs/notes/waypost"
PROJECT_FILE = "project.yaml"
TESTS_FILE = "tests.yaml"
YAML_SUFFIX = ".yaml"
RULES_PER_FILE = 500
_NAME_CACHE_SIZE = 4096  # names; each publish looks up a project's files several times
_MAX_NAME_BYTES = 255  # NAME_MAX of common file systems: https://man7.org/linux/man-pages/man0/limits.h.0p.html

_ROOT_FILES = frozenset(
    {
        *("README.md", "LICENSE", "CODEOWNERS", ".editorconfig", ".pre-commit-config.yaml", ".gitlab-ci.yml"),
        *(".github", "allowed_signers", "waypost.toml"),
    }
)
_ROOT_PATTERNS = (*(_ROOT_FILES - {".github"}), ".github/**")
ALLOWED_FILES = (".gitignore", ".gitattributes", ".vscode/**")
"""The other files beside the projects, unless a setting names others; no read looks at them."""


class FileRole(Enum):
    """The purpose of a file in a project's folder."""

    PROJECT = auto()
    TESTS = auto()
    REDIRECTS = auto()
    PAGES = auto()
    CONTENT = auto()  # the body of a page that names it with `file:`
    UNKNOWN = auto()


ROLE_OF_KIND = {Kind.REDIRECTS: FileRole.REDIRECTS, Kind.PAGES: FileRole.PAGES}


def draft_ref(project: str, draft: str) -> str:
    """Return the ref of a project's working branch."""
    return f"{DRAFT_PREFIX}{project}/{draft}"


def proposal_id(ref: str) -> str:
    """Return the id of the proposal with a ref: 16 hex digits of the SHA-256 of the branch's name."""
    name = ref.removeprefix(BRANCH_PREFIX)
    return sha256(name.encode(errors="surrogateescape")).hexdigest()[:16]


def proposal_name(ref: str) -> str:
    """Return the name under which a proposal is a state and has its reviews, which no draft can have."""
    return f"{PROPOSAL_PREFIX}{proposal_id(ref)}"


def is_proposal_ref(ref: str) -> bool:
    """Tell whether a ref is a proposal: any branch other than release and the drafts."""
    return ref.startswith(BRANCH_PREFIX) and ref != RELEASE_REF and not ref.startswith(DRAFT_PREFIX)


def is_followed_ref(ref: str) -> bool:
    """Tell whether a ref is a proposal that follows a branch or pull request of the upstream; only syncs move it."""
    return ref.startswith((FOLLOWED_BRANCHES, FOLLOWED_PULLS))


@lru_cache(_NAME_CACHE_SIZE)
def is_safe_name(name: str) -> bool:
    """Tell whether the name of a file or folder is safe in any checkout: not only dots, nor a name of Git's own."""
    plain = name.isprintable() and "\\" not in name
    # `git~1` is the short name that NTFS gives to `.git`: https://nvd.nist.gov/vuln/detail/CVE-2014-9390; what follows a
    # colon names a stream of the file: https://github.com/git/git/blob/master/path.c (`is_ntfs_dotgit`)
    is_own = name.partition(":")[0].strip(". ").lower() in {"git", "git~1"}
    return plain and not is_own and bool(name.strip(". ")) and len(name.encode()) <= _MAX_NAME_BYTES


def is_root_file(name: str) -> bool:
    """Tell whether a top-level entry other than a project belongs in a namespace's repository."""
    return name in _ROOT_FILES


def is_file_pattern(pattern: str) -> bool:
    """Tell whether a text is the path of a file beside the projects, or a folder there and `/**`, and names no project."""
    parts = pattern.removesuffix("/**").split("/")
    is_below = len(parts) > 1 or pattern.endswith("/**")
    return all(map(is_safe_name, parts)) and "*" not in "".join(parts) and not (is_below and is_name(parts[0]))


def is_allowed_beside(path: str, allowed: Sequence[str] = ALLOWED_FILES) -> bool:
    """Tell whether a file may be beside the projects, or may be in a folder there, whose path ends with a slash.

    A pattern is the path of a file, or that of a folder and `/**`.
    """
    patterns = (*_ROOT_PATTERNS, *allowed)
    below = (pattern.removesuffix("**") for pattern in patterns if pattern.endswith("/**"))
    return (
        path in patterns
        or any(path.startswith(folder) for folder in below)
        or (path.endswith("/") and any(pattern.startswith(path) for pattern in patterns))
    )


@lru_cache(_NAME_CACHE_SIZE)
def role_of(path: str) -> FileRole:
    """Return the role of the file at `path`, relative to the project's folder."""
    if path == PROJECT_FILE:
        return FileRole.PROJECT
    if path == TESTS_FILE:
        return FileRole.TESTS
    for kind, role in ROLE_OF_KIND.items():
        if path == f"{kind}.yaml" or (path.startswith(f"{kind}/") and path.endswith(YAML_SUFFIX)):
            return role
    return FileRole.CONTENT if path.startswith(f"{Kind.PAGES}/") or "/" not in path else FileRole.UNKNOWN


def first_file(kind: Kind) -> str:
    """Return the file for the first record of a kind."""
    return f"{kind}.yaml"


def numbered_file(kind: Kind, number: int) -> str:
    """Return the `number`-th (from 1) overflow file of a kind; path order is number order."""
    return f"{kind}/{number:05d}.yaml"


def can_reference(path: str, body: str) -> bool:
    """Tell whether a page in the file at `path` can name a content file: it is in the same folder, or below."""
    folder = dirname(path)
    return not folder or body.startswith(f"{folder}/")
