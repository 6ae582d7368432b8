"""The server: gunicorn with ASGI workers on uvloop, configured in code from the service's settings alone."""

import gc
import logging
import os
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

from gunicorn import glogging
from gunicorn.app.base import BaseApplication

from api import logs
from api.app.app import Application
from api.http.request.proxy_headers import in_both_forms
from api.runtime.jobs.fork_server import fork_server
from api.server.connection import Connection
from api.server.gunicorn_names import check_gunicorn
from api.server.master import Master, merge_ended_workers, open_metrics_store, reset_signals
from api.server.worker import Worker
from api.settings import Settings
from gitstore.errors import StoreError

HEARTBEAT_SECONDS = 30
"""A worker whose event loop is blocked for so long is replaced; also the longest wait for a piece of a body."""

_RETRY_EXIT_CODE = 1
"""An exit code after which gunicorn starts another worker; after 3 and 4 it stops the whole service.
https://github.com/benoitc/gunicorn/blob/27.0.1/gunicorn/arbiter.py#L681"""

_RETRY_SECONDS = 1.0
"""Seconds that a worker waits before it exits because it cannot start; the master starts the next one at once, and would
do nothing else. The worker serves no requests and has no event loop yet, so it may sleep; a stop waits no longer."""

OTHER_FILES = 1000
"""Files that a worker may open beside its connections."""

LONGEST_LINE = 8190
MAX_FIELD_LENGTH = 8190

_log = logs.logger("server")


class ServerLog(glogging.Logger):
    """gunicorn's messages, as lines of the service's log."""

    def setup(self, cfg: Any) -> None:
        """Send everything to the root logger, and so through the service's formatter."""
        super().setup(cfg)
        self.error_log.handlers.clear()
        self.error_log.propagate = True
        logging.captureWarnings(capture=True)
        logs.configure(cfg.loglevel)


class Server(BaseApplication):
    """A gunicorn application; `make` builds the ASGI application in each worker, after the fork.

    https://gunicorn.org/custom/
    """

    def __init__(self, settings: Settings, make: Callable[[], Application], ready: Callable[[], bool]) -> None:
        self._settings = settings
        self._ready = ready
        self._make = make
        super().__init__()

    def load_config(self) -> None:
        """Set the options of the service; read no file and no environment."""
        for name, value in options(self._settings).items():
            self.cfg.set(name, value)

    def load(self) -> Application:
        """Return the application of one worker.

        While the database or the disk is unavailable, the worker exits and the master starts another; the workers that
        serve run on. After any other exception gunicorn stops the whole service.
        """
        try:
            return self._make()
        except (StoreError, OSError) as ex:
            _log.warning("worker_not_started", error=str(ex))
            time.sleep(_RETRY_SECONDS)
            sys.exit(_RETRY_EXIT_CODE)

    def run(self) -> None:
        """Serve, with the service's master."""
        Master(self, self._ready).run()


def require_supported_gunicorn() -> None:
    """Raise UnsupportedGunicorn if the installed gunicorn cannot run the service; call it before anything is created."""
    check_gunicorn((Connection, Worker, Master, Server, ServerLog))


def serve(settings: Settings, make: Callable[[], Application], ready: Callable[[], bool] = lambda: True) -> None:
    """Serve until stopped; return or exit as gunicorn does. `make` fails only if no retry can help.

    When all workers serve, the master calls `ready`, about once a second until it returns True.

    A worker that cannot build or start its application stops the whole service, the healthy workers too.
    """
    raise_file_limit(settings.connections)
    open_metrics_store(settings).clear()
    share_memory()
    Server(settings, make, ready).run()


def share_memory() -> None:
    """Let the workers share what this process has in memory: a collection would write to the pages of all objects.

    Imports leave hardly any garbage, and to look for it takes 0.1 s. https://docs.python.org/3/library/gc.html#gc.freeze
    """
    gc.freeze()


def raise_file_limit(connections: int) -> None:
    """Let each worker open a file for every connection that it may hold, as far as the hard limit goes.

    Most systems start programs with a soft limit of 1024, at which a worker would fail to accept.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + OTHER_FILES
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def begin_worker(arbiter: Any, worker: Any) -> None:
    """Prepare a new worker before it has threads and files of its own."""
    reset_signals(arbiter, worker)
    try:
        fork_server.start()
    except OSError as ex:  # gunicorn would stop the service; the first job starts a fork server
        _log.warning("fork_server_not_started", error=str(ex))


def options(settings: Settings) -> dict[str, object]:
    """Return gunicorn's options for these settings."""

    def close(arbiter: Any, worker: Any) -> None:  # gunicorn counts the arguments
        merge_ended_workers(settings, arbiter, worker)

    return {
        "bind": [settings.bind],
        # gunicorn's defaults are those at the import, when a command of root has not become the owner of the data yet:
        # https://github.com/benoitc/gunicorn/blob/27.0.1/gunicorn/config.py
        "user": os.geteuid(),
        "group": os.getegid(),
        "workers": settings.workers,
        "worker_class": type("Worker", (Worker,), {"settings": settings}),
        "worker_connections": settings.connections,
        "asgi_loop": "uvloop",
        "asgi_lifespan": "on",
        "preload_app": False,
        "post_fork": begin_worker,
        "child_exit": close,
        "timeout": HEARTBEAT_SECONDS,
        "graceful_timeout": settings.graceful_timeout,
        "keepalive": settings.keepalive,
        "max_requests": 0,
        "limit_request_line": LONGEST_LINE,
        "limit_request_field_size": MAX_FIELD_LENGTH,
        # Otherwise any process of this user could stop or reload the service through a socket in ~/.gunicorn:
        # https://gunicorn.org/reference/settings/#control_socket_disable
        "control_socket_disable": True,
        # By default each client on this machine may set SCRIPT_NAME and the scheme by header:
        # https://gunicorn.org/reference/settings/#forwarded_allow_ips
        "forwarded_allow_ips": ",".join(in_both_forms(settings.trusted_proxies)),
        # By default two more headers name the scheme; a proxy passes those of its client on, and gunicorn refuses requests
        # in which they differ: https://gunicorn.org/reference/settings/#secure_scheme_headers
        "secure_scheme_headers": {"X-FORWARDED-PROTO": "https"},
        "forwarder_headers": "",
        "header_map": "drop",
        "proxy_protocol": "off",
        "http_protocols": "h1",
        "http2_cleartext": "off",
        "loglevel": settings.log_level,
        "logger_class": ServerLog,
        "accesslog": None,
    }
