"""The lock by which one worker of a node does the work of the node; another takes over when that one ends."""

from contextlib import AsyncExitStack, ExitStack
from pathlib import Path

from api.data.served_data import ServedData
from gitstore.file_lock import hold_lock_file


def take_node_lock(data: ServedData, path: Path, stack: AsyncExitStack) -> bool:
    """Take a lock file in the served data until the stack ends; false while another worker has it, or the data is lost.

    It is asked for all the time by all other workers, so it is a few system calls, and no way into a thread and back.
    """
    own = ExitStack()
    try:  # a worker that starts while the data is away has no finding of the monitor yet
        is_held = data.check() is None and own.enter_context(hold_lock_file(path, 0))
    except OSError:
        is_held = False
    if is_held:
        stack.callback(own.close)
    else:
        own.close()
    return is_held
