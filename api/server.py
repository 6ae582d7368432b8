"""The server: gunicorn with asgi workers on uvloop, set up in code and by our settings alone."""

import logging
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

from gunicorn import glogging
from gunicorn.app.base import BaseApplication

from api import logs
from api.app import Service
from api.master import Master, close_pages, leave_master, ledger_of
from api.settings import Settings
from api.worker import Worker
from gitstore.errors import StoreError

HEARTBEAT_SECONDS = 30
"""A worker whose event loop stands still for so long is replaced; also the longest wait for a piece of a body."""

_AGAIN = 1
"""An exit code after which gunicorn starts another worker; 3 and 4 would stop the whole service."""

_RETRY_SECONDS = 1.0
"""How long a worker that cannot begin waits before it leaves: the master starts the next at once, and would do nothing
else. It serves nobody and has no event loop yet, so it may sleep; a stop waits no longer than this for it."""

OTHER_FILES = 1000
"""Files that a worker may open beside its connections."""

LONGEST_LINE = 8190
LONGEST_FIELD = 8190

_log = logs.logger("server")


class ServerLog(glogging.Logger):
    """gunicorn's messages, as lines of our log."""

    def setup(self, cfg: Any) -> None:
        """Send everything to the root logger, and so through our formatter."""
        self.cfg = cfg
        self._access_log_enabled = False
        self.loglevel = self.LOG_LEVELS[cfg.loglevel]
        self.error_log.handlers.clear()
        self.error_log.setLevel(self.loglevel)
        self.error_log.propagate = True
        logging.captureWarnings(capture=True)
        logs.configure(cfg.loglevel)


class Server(BaseApplication):
    """A gunicorn application; `make` builds the ASGI application in each worker, after the fork."""

    def __init__(self, settings: Settings, make: Callable[[], Service]) -> None:
        self._settings = settings
        self._make = make
        super().__init__()

    def load_config(self) -> None:
        """Take our options, and neither a file nor the environment."""
        for name, value in options(self._settings).items():
            self.cfg.set(name, value)

    def load(self) -> Service:
        """The application of one worker.

        While the database or the disk is away a worker cannot begin: it leaves, and the master starts another, as
        gunicorn would not for any other exception. The workers that serve go on meanwhile.
        """
        try:
            return self._make()
        except (StoreError, OSError) as ex:
            _log.warning("worker_not_begun", error=str(ex))
            time.sleep(_RETRY_SECONDS)
            sys.exit(_AGAIN)

    def run(self) -> None:
        """Serve, under a master of ours."""
        Master(self).run()


def serve(settings: Settings, make: Callable[[], Service]) -> None:
    """Serve until stopped; returns or exits as gunicorn does. `make` fails only for what no retry would mend.

    A worker that cannot build or start its application stops the whole service, the healthy workers too.
    """
    raise_file_limit(settings.connections)
    ledger_of(settings).clear()
    Server(settings, make).run()


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


def options(settings: Settings) -> dict[str, object]:
    """What is set for these settings, by gunicorn's names."""

    def close(arbiter: Any, worker: Any) -> None:  # gunicorn counts the arguments
        close_pages(settings, arbiter, worker)

    return {
        "bind": [settings.bind],
        "workers": settings.workers,
        "worker_class": type("Worker", (Worker,), {"settings": settings}),
        "worker_connections": settings.connections,
        "asgi_loop": "uvloop",
        "asgi_lifespan": "on",
        "preload_app": False,
        "post_fork": leave_master,
        "child_exit": close,
        "timeout": HEARTBEAT_SECONDS,
        "graceful_timeout": settings.graceful_timeout,
        "keepalive": settings.keepalive,
        "max_requests": 0,
        "limit_request_line": LONGEST_LINE,
        "limit_request_field_size": LONGEST_FIELD,
        # Any process of this user could otherwise stop or reload the service through ~/.gunicorn.
        "control_socket_disable": True,
        # By default every client on this machine may set SCRIPT_NAME and the scheme by header.
        "forwarded_allow_ips": ",".join(settings.trusted_proxies),
        "forwarder_headers": "",
        "header_map": "drop",
        "proxy_protocol": "off",
        "http_protocols": "h1",
        "http2_cleartext": "off",
        "loglevel": settings.log_level,
        "logger_class": ServerLog,
        "accesslog": None,
    }
