"""The listening socket, opened before any other work, so that a port in use is reported at once.

Clients may connect from then on; they are served as soon as the workers run.
"""

import errno
import os
import shlex
import socket
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from api.app.composition import make_service
from api.data.served_data import ServedData
from api.runtime.rate_counters import RateCounters
from api.server.gunicorn_names import UnsupportedGunicorn
from api.server.server import require_supported_gunicorn, serve
from api.settings import Settings
from cli.console.exits import CommandFailed

_BACKLOG = 2048
_ANSWER_SECONDS = 5.0
_BEGIN_SIZE = 64
_UNIX_PREFIX = "unix:"
_LOOPBACK_HOSTS = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104 - a table of configured hosts; none is bound here
_REASONS = {
    errno.EADDRINUSE: "the address is in use; stop the other server, or choose another address with {option}",
    errno.EACCES: "the port needs root privileges; choose one above 1023 with {option}",
    errno.EADDRNOTAVAIL: "this machine has no such address; choose another with {option}",
}


class Listener(NamedTuple):
    """The address of the service: settings that name the open socket, and URL and curl options for a local client."""

    settings: Settings
    url: str
    curl_options: str = ""


def listen(settings: Settings, option: str = "--bind or WAYPOST_BIND") -> Listener:
    """Open the socket of the address; port 0 takes a free one. Raises CommandFailed if the service cannot run at all.

    The message about an address in use names the `option` for another one.
    """
    try:
        require_supported_gunicorn()
    except UnsupportedGunicorn as ex:
        raise CommandFailed(str(ex)) from ex
    if settings.bind.startswith(_UNIX_PREFIX):  # created and removed by the server
        return Listener(
            settings, "http://localhost", f"--unix-socket {shlex.quote(settings.bind.removeprefix(_UNIX_PREFIX))} "
        )
    host, port = _split(settings.bind)
    try:
        server_socket = _open_socket(host, port)
    except OSError as ex:
        reason = _REASONS.get(ex.errno or 0, str(ex.strerror or ex)).format(option=option)
        raise CommandFailed(f"Cannot serve on {settings.bind}: {reason}.") from ex
    bound = server_socket.getsockname()[1]
    return Listener(replace(settings, bind=f"fd://{server_socket.detach()}"), f"http://{_client_host(host)}:{bound}")


def run_server(listener: Listener, data: ServedData, ready: Callable[[], bool] = lambda: True) -> None:
    """Serve until stopped; raises CommandFailed after a fatal error of the server.

    `ready` is called in the master when all workers serve, and again until it returns True.
    """
    settings, master = listener.settings, os.getpid()
    try:
        serve(settings, partial(make_service, settings, data, RateCounters()), ready)
    except SystemExit as ex:
        # Workers are forks of this process, so their SystemExit passes here too; that code is for the master.
        if ex.code and os.getpid() == master:
            raise CommandFailed("The service stopped after a fatal error; see the log above.") from ex
        raise


def answers(listener: Listener) -> bool:
    """Ask the service for a sign of life, as a client on this machine; tell whether it answers."""
    bind = listener.settings.bind
    try:
        with _connect(bind, listener.url) as client:
            client.settimeout(_ANSWER_SECONDS)
            host = listener.url.removeprefix("http://").encode()
            client.sendall(b"GET /health/ping HTTP/1.1\r\nHost: %b\r\nConnection: close\r\n\r\n" % host)
            return client.recv(_BEGIN_SIZE).startswith(b"HTTP/1.1 204")
    except OSError:
        return False


def _connect(bind: str, url: str) -> socket.socket:
    if bind.startswith(_UNIX_PREFIX):
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(_ANSWER_SECONDS)
        client.connect(bind.removeprefix(_UNIX_PREFIX))
        return client
    host, port = _split(url.removeprefix("http://"))
    return socket.create_connection((host, port), timeout=_ANSWER_SECONDS)


def _split(bind: str) -> tuple[str, int]:
    host, _, port = bind.rpartition(":")
    return host.strip("[]"), int(port)


def _open_socket(host: str, port: int) -> socket.socket:
    """Open a listening socket; `[::]` accepts IPv4 clients too, if the system supports that."""
    if ":" not in host:
        return socket.create_server((host, port), backlog=_BACKLOG)
    # create_server() sets IPV6_V6ONLY unless dual-stack is asked for, and then raises ValueError where it is not
    # supported: https://docs.python.org/3/library/socket.html#socket.create_server
    is_dual_stack = socket.has_dualstack_ipv6()
    return socket.create_server((host, port), family=socket.AF_INET6, backlog=_BACKLOG, dualstack_ipv6=is_dual_stack)


def _client_host(host: str) -> str:
    return _LOOPBACK_HOSTS.get(host, f"[{host}]" if ":" in host else host)
