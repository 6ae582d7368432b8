"""The lock by which one worker of a node does the work of the node; another takes over when that one ends."""

from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

from api.runtime.jobs.background import run_in_thread
from gitstore.file_lock import hold_lock_file


async def take_node_lock(path: Path, stack: AsyncExitStack) -> bool:
    """Take a lock file until the stack ends; false while another worker has it."""
    holder = hold_lock_file(path, 0)
    try:
        is_held = await run_in_thread(holder.__enter__)
    except OSError:
        return False
    if is_held:
        stack.callback(partial(holder.__exit__, None, None, None))
        return True
    holder.__exit__(None, None, None)
    return False
