"""The lock by which one worker of a node does the work of the node; another takes over when that one ends."""

from contextlib import AsyncExitStack, ExitStack
from pathlib import Path

from api.data.served_data import ServedData
from api.runtime.jobs.background import run_in_thread
from gitstore.file_lock import hold_lock_file

WAIT_SECONDS = 2.0
"""Between two looks whether the worker that has the lock has ended."""


async def take_node_lock(data: ServedData, path: Path, stack: AsyncExitStack) -> bool:
    """Take a lock file in the served data until the stack ends; false while another worker has it, or the data is lost."""
    own = ExitStack()

    def take() -> bool:  # a worker that starts while the data is away has no finding of the monitor yet
        return data.check() is None and own.enter_context(hold_lock_file(path, 0))

    try:
        is_held = await run_in_thread(take)
    except OSError:
        is_held = False
    if is_held:
        stack.callback(own.close)
    else:
        own.close()
    return is_held
