"""The hooks of all repositories, brought up to date at the start of a service."""

from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

from gitstore.directory import DataDirectory
from gitstore.errors import StoreError
from gitstore.git.push_hook import PushHook, apply_hook
from gitstore.git.safe_config import find_hooks_path


class HookEvent(StrEnum):
    """An event that an operator should hear of, by its name in the log."""

    KEPT = "push_hook_of_another_kept"
    FAILED = "push_hook_not_written"
    BYPASSED = "push_hook_bypassed"


class HookNote(NamedTuple):
    """An event in a namespace, and its detail: a path, an error or a setting."""

    namespace: str
    event: HookEvent
    detail: str


def refresh_hooks(directory: DataDirectory, hook: PushHook | None) -> Iterator[HookNote]:
    """Write the hook of each repository that differs, or with None remove those that Waypost wrote; yield what matters.

    A repository that cannot be written stops nothing.
    """
    for name in directory.namespaces():
        repository = directory.namespace(name).repository
        if not repository.is_dir():
            continue
        try:
            kept = apply_hook(repository, hook, sync=False)  # thousands of them, at each start
        except (StoreError, OSError) as ex:
            yield HookNote(name, HookEvent.FAILED, str(ex))
            continue
        if kept:
            yield HookNote(name, HookEvent.KEPT, str(kept))
        other = find_hooks_path(repository) if hook else ""
        if other:
            yield HookNote(name, HookEvent.BYPASSED, f"core.hooksPath = {other}")
