"""The address that is served, taken before anything else is done: a port in use is said at once, in one sentence.

Clients may connect from then on; they are answered as soon as the workers run.
"""

import errno
import os
import shlex
import socket
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from api.composition import make_service
from api.server import serve
from api.settings import Settings
from cli.exits import Failed

_BACKLOG = 2048
_UNIX = "unix:"
_ANYWHERE = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104 - what may be set, and how to reach it
_REASONS = {
    errno.EADDRINUSE: "something else serves there; stop it, or choose another address with --bind or WAYPOST_BIND",
    errno.EACCES: "that port is not for ordinary users; choose one above 1023 with --bind or WAYPOST_BIND",
    errno.EADDRNOTAVAIL: "this machine has no such address; choose another with --bind or WAYPOST_BIND",
}


class Listener(NamedTuple):
    """Where the service is reached: settings that name the open socket, and what a client on this machine asks for."""

    settings: Settings
    url: str
    curl_options: str = ""


def listen(settings: Settings) -> Listener:
    """Take the address; port 0 takes a free one."""
    if settings.bind.startswith(_UNIX):  # made by the server, which also removes it
        return Listener(
            settings, "http://localhost", f"--unix-socket {shlex.quote(settings.bind.removeprefix(_UNIX))} "
        )
    host, port = _split(settings.bind)
    try:
        taken = _bound(host, port)
    except OSError as ex:
        raise Failed(f"Cannot serve on {settings.bind}: {_REASONS.get(ex.errno or 0, ex.strerror or ex)}.") from ex
    bound = taken.getsockname()[1]
    return Listener(replace(settings, bind=f"fd://{taken.detach()}"), f"http://{_reachable(host)}:{bound}")


def run_server(listener: Listener) -> None:
    """Serve until stopped; Failed where the server cannot go on, which its log explains."""
    settings, master = listener.settings, os.getpid()
    try:
        serve(settings, partial(make_service, settings))
    except SystemExit as ex:
        if ex.code and os.getpid() == master:  # a worker's code is for its master
            raise Failed("The service stopped because it could not go on; the log above says why.") from ex
        raise


def _split(bind: str) -> tuple[str, int]:
    host, _, port = bind.rpartition(":")
    return host.strip("[]"), int(port)


def _bound(host: str, port: int) -> socket.socket:
    """An open socket; `[::]` takes IPv4 clients too, where the machine can do that."""
    if ":" not in host:
        return socket.create_server((host, port), backlog=_BACKLOG)
    both = socket.has_dualstack_ipv6()
    return socket.create_server((host, port), family=socket.AF_INET6, backlog=_BACKLOG, dualstack_ipv6=both)


def _reachable(host: str) -> str:
    return _ANYWHERE.get(host, f"[{host}]" if ":" in host else host)
