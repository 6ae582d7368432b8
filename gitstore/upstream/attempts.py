"""The last attempt of this node that the upstream did not answer: for a while publishes are refused at once, and do not wait again.

It is in a file of its own beside the repository, since publishes and syncs write it at the same time; a cache.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import orjson

from gitstore.errors import OutOfSpace
from gitstore.git.atomic_io import replace_file
from gitstore.wire.client.remote_errors import RemoteAway, RemoteBusy, RemoteUnknown

_ATTEMPT_FILE = "waypost-upstream-attempt"
_REST_SECONDS = 5.0


@contextmanager
def note_attempts(repository: Path) -> Iterator[None]:
    """Note that the upstream is away where the work raises RemoteAway; where a push may be done, it is not noted."""
    try:
        yield
    except RemoteUnknown:
        raise
    except RemoteAway as ex:
        seconds = max(ex.seconds, _REST_SECONDS) if isinstance(ex, RemoteBusy) else _REST_SECONDS
        data = orjson.dumps({"at": time.time(), "seconds": seconds, "message": str(ex)})
        with suppress(OSError, OutOfSpace):  # then the next publish asks again
            replace_file(repository / _ATTEMPT_FILE, data, sync=False)
        raise


def clear_attempt(repository: Path) -> None:
    """Forget the attempt: the upstream has answered, or is another one."""
    (repository / _ATTEMPT_FILE).unlink(missing_ok=True)


def require_rested(repository: Path) -> None:
    """Raise RemoteBusy, with the seconds that are left, shortly after an attempt that the upstream did not answer."""
    try:
        found = orjson.loads((repository / _ATTEMPT_FILE).read_bytes())
        age, seconds, message = time.time() - float(found["at"]), float(found["seconds"]), str(found["message"])
    except (OSError, ValueError, TypeError, KeyError):
        return
    if 0 <= age < seconds:  # else it is over, or the clock was set back
        raise RemoteBusy(
            f"Nothing can be published to {repository.stem} until its upstream is back. {message}", seconds - age
        )
