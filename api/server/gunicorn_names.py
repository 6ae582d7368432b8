"""The names inside gunicorn that the server uses, and a check of them at the start.

gunicorn documents its settings, server hooks and `BaseApplication`, and takes worker and logger classes. Other names
may change in any release: `_serve_http_request` is new in 27.0.1. If gunicorn renamed a method that is overridden here,
nothing would fail: the override would no longer be called, and so the fast path, the error shape or the end of connections
would be lost. ADR 0017 gives the reasons for each name.
"""

import inspect
import sys
from collections.abc import Iterable, Iterator, Mapping
from types import CodeType

import gunicorn
from gunicorn.app.base import BaseApplication
from gunicorn.arbiter import Arbiter
from gunicorn.asgi.lifespan import LifespanManager
from gunicorn.asgi.parser import CallbackRequest
from gunicorn.asgi.protocol import ASGIProtocol
from gunicorn.glogging import Logger
from gunicorn.sock import BaseSocket
from gunicorn.workers.gasgi import ASGIWorker
from gunicorn.workers.workertmp import WorkerTmp

SUPPORTED = "gunicorn>=27.0.1,<27.1"
"""The versions that have these names; the package requires the same."""

Names = Mapping[type, Mapping[str, str]]
"""Names by class; methods have their parameters, attributes an empty text."""

HOOKS: Names = {
    ASGIProtocol: {
        "_send_error_response": "(status, message, extra_headers)",
        "_serve_http_request": "async (request, sockname, peername)",
        "app": "",
    },
    ASGIWorker: {"handle_exit_signal": "()", "handle_quit_signal": "()", "init_signals": "()", "run": "()"},
    Arbiter: {"manage_workers": "()"},
    BaseApplication: {"load": "()", "load_config": "()"},
    Logger: {"setup": "(cfg)"},
}
"""Methods and attributes that are overridden here, so that gunicorn has to use them."""

CALLS: Names = {
    ASGIProtocol: {
        "__init__": "(worker)",
        "connection_lost": "(exc)",
        "connection_made": "(transport)",
        "data_received": "(data)",
        "pause_writing": "()",
        "resume_writing": "()",
    },
    ASGIWorker: {"notify": "()"},
    Arbiter: {"__init__": "(app)", "reap_workers": "()", "run": "()", "spawn_worker": "()"},
    BaseApplication: {"run": "()"},
    CallbackRequest: {"should_close": "()"},
    LifespanManager: {"__init__": "(app, logger, state)", "shutdown": "async ()", "startup": "async ()"},
    Logger: {"setup": "(cfg)"},
    WorkerTmp: {"last_update": "()"},
}
"""Methods that are called here."""

ATTRIBUTES: Mapping[type, tuple[str, ...]] = {
    ASGIProtocol: ("cfg", "transport", "worker"),
    ASGIWorker: ("age", "asgi", "cfg", "log", "loop", "ppid", "sockets", "state", "tmp"),
    Arbiter: ("SIG_QUEUE", "WORKERS", "WORKER_BOOT_ERROR", "num_workers"),
    BaseApplication: ("cfg",),
    BaseSocket: ("sock",),
    CallbackRequest: ("chunked", "content_length", "headers_bytes", "method", "path", "query", "raw_path", "version"),
    Logger: ("error_log",),
}
"""Attributes that are read here."""


class UnsupportedGunicorn(Exception):
    """A gunicorn that cannot run this service; the message names the reasons and the supported versions."""


def check_gunicorn(subclasses: Iterable[type]) -> None:
    """Raise UnsupportedGunicorn unless gunicorn has all names, uses those in HOOKS, and no other name of the subclasses."""
    attributes = {owner: dict.fromkeys(names, "") for owner, names in ATTRIBUTES.items()}
    faults = [*_missing(HOOKS), *_missing(CALLS), *_missing(attributes), *_unused(), *_taken(subclasses)]
    if faults:
        found = "; ".join(dict.fromkeys(faults))
        raise UnsupportedGunicorn(
            f"gunicorn {gunicorn.__version__} cannot run this service: {found}. Install {SUPPORTED}."
        )


def _missing(names: Names) -> Iterator[str]:
    for owner, wanted in names.items():
        known = _known(owner)
        for name, signature in wanted.items():
            if _signature(owner, name) != signature if signature else name not in known:
                yield f"it lacks {owner.__name__}.{name}{signature.removeprefix('async ')}"


def _unused() -> Iterator[str]:
    """Find the hooks that no code in the modules of gunicorn's classes refers to."""
    modules = {parent.__module__ for owner in HOOKS for parent in _parents(owner)}
    classes = [value for module in modules for value in vars(sys.modules[module]).values() if inspect.isclass(value)]
    referred = {name for each in classes for code in _codes(each) for name in code.co_names}
    for owner, names in HOOKS.items():
        known = _known(owner)
        yield from (f"it never uses {owner.__name__}.{name}" for name in names if name in known - referred)


def _taken(subclasses: Iterable[type]) -> Iterator[str]:
    """Find the names of the subclasses that gunicorn uses for another purpose."""
    for ours in subclasses:
        owner = _parents(ours)[0]
        agreed = {*HOOKS.get(owner, ()), *CALLS.get(owner, ()), *ATTRIBUTES.get(owner, ())}
        private = {name for code in _codes(ours) for name in code.co_names if name.startswith("_")}
        own = {name for name in {*vars(ours), *private} - agreed if not name.startswith("__")}
        taken = own & _known(owner)
        yield from (f"it has another {owner.__name__}.{name}" for name in sorted(taken))


def _signature(owner: type, name: str) -> str:
    method = next((vars(parent)[name] for parent in _parents(owner) if name in vars(parent)), None)
    if not inspect.isfunction(method):
        return ""
    parameters = ", ".join(list(inspect.signature(method).parameters)[1:])
    return f"{'async ' if inspect.iscoroutinefunction(method) else ''}({parameters})"


def _parents(owner: type) -> list[type]:
    """Return gunicorn's classes among the parents of a class, itself included."""
    return [parent for parent in owner.__mro__ if parent.__module__.startswith("gunicorn.")]


def _known(owner: type) -> frozenset[str]:
    """Return the names that a class of gunicorn defines, or that its methods refer to."""
    parents = _parents(owner)
    referred = (name for parent in parents for code in _codes(parent) for name in code.co_names)
    return frozenset((*(name for parent in parents for name in vars(parent)), *referred))


def _codes(owner: type) -> Iterator[CodeType]:
    """Find the code of all methods of a class."""
    for value in vars(owner).values():
        function = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
        if inspect.isfunction(function):
            yield from _nested(function.__code__)


def _nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _nested(constant)
