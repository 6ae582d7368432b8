"""Recording of the functions that requests call, in a worker and in the processes that work for it.

A context variable marks everything that a connection causes, and is passed on where work is given to a thread or to another
process. The background tasks of a worker are not caused by a connection, so they are not recorded, whenever they run.
No module of the product is named here: its files are recognized by their folders.
"""

import os
import pickle
import sys
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar
from functools import partial, wraps
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from gunicorn.asgi.protocol import ASGIProtocol

RECORD = "BENCH_RECORD"  # the environment variable that names the file to record in

# The folders whose functions are recorded; a missing folder is ignored.
PACKAGES = ("api", "cli", "content", "gitstore", "schemas", "waypost")

_ROOT = f"{Path(__file__).resolve().parent.parent}{os.sep}"
_FOLDERS = tuple(f"{package}{os.sep}" for package in PACKAGES)

_is_caused: ContextVar[bool] = ContextVar("is_caused", default=False)
# By `id` of the code: its line, empty if it is not recorded. The code is kept, so that its id is not reused.
_names: dict[int, tuple[CodeType, bytes]] = {}
# The open file, by its variable; empty until work is passed on in this process.
_files: dict[str, int] = {}


def start_recording() -> None:
    """Record the requests of every connection that this process and its forks accept."""
    _pass_on()
    for name in ("connection_made", "data_received"):
        setattr(ASGIProtocol, name, _causing(getattr(ASGIProtocol, name)))


def _causing(callback: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
    """Mark the context of the connection; each connection has its own, and its tasks begin with a copy of it."""

    @wraps(callback)  # with its signature, which the server checks at its start
    def call(connection: Any, given: Any) -> None:
        _is_caused.set(True)
        sys.setprofile(_note)  # not earlier: it would slow the start down
        callback(connection, given)

    return call


def _pass_on() -> None:
    """Also record the work that requests give to threads and other processes."""
    if RECORD in _files:
        return
    _files[RECORD] = os.open(os.environ[RECORD], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    to_thread, to_bytes = ThreadPoolExecutor.submit, ForkingPickler.dumps

    def submit_to_thread(pool: ThreadPoolExecutor, work: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        recorded = partial(_record, work) if _is_caused.get() else work
        return to_thread(pool, recorded, *args, **kwargs)

    def dumps(work: Any, protocol: Any = None) -> memoryview:
        """Pickle what is passed to another process; work is wrapped, a result is not."""
        if not (_is_caused.get() and callable(work)):
            return to_bytes(work, protocol)
        return to_bytes(partial(_unpack, bytes(to_bytes(work, protocol))), protocol)

    ThreadPoolExecutor.submit = submit_to_thread  # type: ignore[method-assign, assignment]  # the pools offer no hook
    ForkingPickler.dumps = dumps  # type: ignore[method-assign, assignment]  # nor does multiprocessing


def _unpack(packed: bytes) -> Any:
    """Do the work that a request in another process caused; reading its arguments is recorded too."""
    _pass_on()
    return _record(_do, packed)


def _do(packed: bytes) -> Any:
    return pickle.loads(packed)()  # noqa: S301 - from the process that started this one


def _record(work: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    before, mark = sys.getprofile(), _is_caused.set(True)
    sys.setprofile(_note)
    try:
        return work(*args, **kwargs)
    finally:
        sys.setprofile(before)
        _is_caused.reset(mark)


def _note(frame: FrameType, event: str, _: object) -> None:
    """Record a call, or a resumed coroutine or generator."""
    if event != "call" or not _is_caused.get():
        return
    code = frame.f_code
    found = _names.get(id(code))
    if found is None:
        found = _names[id(code)] = (code, _line(code))
    if found[1]:
        # The argument of the RESUME instruction is 0 at the beginning of a call, and 1 to 3 after a yield or an await.
        kind = b"resume" if code.co_code[frame.f_lasti + 1] & 3 else b"call"
        os.write(_files[RECORD], b"%d %b %b\n" % (os.getpid(), kind, found[1]))


def _line(code: CodeType) -> bytes:
    path = code.co_filename.removeprefix(_ROOT)
    if not path.startswith(_FOLDERS):
        return b""
    return f"{path} {code.co_firstlineno} {code.co_qualname}".encode()
