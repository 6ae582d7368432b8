"""Where things stand in a namespace's repository: branch names and file paths, in one place."""

from enum import Enum, auto
from functools import lru_cache
from typing import NewType

from content.vocabulary import Kind

CommitId = NewType("CommitId", str)
TreeId = NewType("TreeId", str)
BlobId = NewType("BlobId", str)
"""Ids are 40 lower-case hex digits as text; bytes end in the modules that speak to dulwich."""

BRANCH_PREFIX = "refs/heads/"
RELEASE_REF = "refs/heads/release"
DRAFT_PREFIX = "refs/heads/draft/"
PROJECT_FILE = "project.yaml"
TESTS_FILE = "tests.yaml"
YAML_SUFFIX = ".yaml"
RULES_PER_FILE = 500
_REMEMBERED = 4096
"""Names about which the answers are kept: a project's files are asked about several times for each publish."""
_LONGEST = 255
"""Bytes of a file's name that every file system takes."""

_BESIDE_PROJECTS = frozenset(
    {"README.md", "LICENSE", "CODEOWNERS", ".editorconfig", ".pre-commit-config.yaml", ".gitlab-ci.yml", ".github"}
)


class Role(Enum):
    """What a file in a project's folder is for."""

    PROJECT = auto()
    TESTS = auto()
    REDIRECTS = auto()
    PAGES = auto()
    CONTENT = auto()
    """The body of a page that names it with `file:`."""
    UNKNOWN = auto()


ROLE_OF_KIND = {Kind.REDIRECTS: Role.REDIRECTS, Kind.PAGES: Role.PAGES}


def draft_ref(project: str, draft: str) -> str:
    """The ref of a project's working branch."""
    return f"{DRAFT_PREFIX}{project}/{draft}"


@lru_cache(_REMEMBERED)
def is_safe_name(name: str) -> bool:
    """Tell whether a file or folder of this name does no harm in any checkout: no dots alone, nothing of Git's own."""
    plain = name.isprintable() and "\\" not in name
    return plain and name.strip(". ").lower() not in {"", "git", "git~1"} and len(name.encode()) <= _LONGEST


def may_stand_beside_projects(name: str) -> bool:
    """Tell whether a top-level entry that is no project belongs in a namespace's repository."""
    return name in _BESIDE_PROJECTS


@lru_cache(_REMEMBERED)
def role_of(path: str) -> Role:
    """What the file at `path` (relative to the project's folder) is for."""
    if path == PROJECT_FILE:
        return Role.PROJECT
    if path == TESTS_FILE:
        return Role.TESTS
    for kind, role in ROLE_OF_KIND.items():
        if path == f"{kind}.yaml" or (path.startswith(f"{kind}/") and path.endswith(YAML_SUFFIX)):
            return role
    return Role.CONTENT if path.startswith(f"{Kind.PAGES}/") or "/" not in path else Role.UNKNOWN


def first_file(kind: Kind) -> str:
    """The file that the first record of a kind goes to."""
    return f"{kind}.yaml"


def numbered_file(kind: Kind, number: int) -> str:
    """The `number`-th (from 1) overflow file of a kind; path order is number order."""
    return f"{kind}/{number:05d}.yaml"
