"""The environment of `git` as a child: that of a command, without what Git sets for its hooks."""

import os

# Those of `git rev-parse --local-env-vars` that name a repository or its parts. Git sets them for its hooks, and obeys them
# before `-C`; options of the user (`GIT_CONFIG_…`, such as safe.directory in CI) stay.
_OF_A_REPOSITORY = frozenset(
    {
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_COMMON_DIR",
        "GIT_DIR",
        "GIT_GRAFT_FILE",
        "GIT_IMPLICIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_PREFIX",
        "GIT_SHALLOW_FILE",
        "GIT_WORK_TREE",
    }
)


def git_environment() -> dict[str, str]:
    """Return an environment in which `git` finds the repository of the folder that it runs in."""
    return {name: value for name, value in os.environ.items() if name not in _OF_A_REPOSITORY}
