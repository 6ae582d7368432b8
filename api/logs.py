"""Logging: one JSON object per line on standard error, with request ids and without secrets."""

import logging
import re
import sys
from typing import Any, TextIO, cast

import structlog
from falcon.asgi import Request
from structlog.typing import EventDict, FilteringBoundLogger, Processor, WrappedLogger

REMOVED = "[removed]"

_SECRET_KEYS = frozenset(
    {
        "accesstoken",
        "authorization",
        "cookie",
        "code",
        "password",
        "refreshtoken",
        "secret",
        "set-cookie",
        "token",
    }
)
# An API token, a webhook's secret, a JWT (also a truncated one), and the credentials of a Basic or Bearer header.
_SECRET_TEXT = re.compile(
    r"svc_[0-9A-Za-z_]{20,}|whsec_[0-9A-Za-z+/=_]{20,}|eyJ[0-9A-Za-z_-]{5,}(?:\.[0-9A-Za-z_=-]*){0,4}"
    r"|(?<=[Bb]earer )\S+|(?<=[Bb]asic )\S+"
)


class _Handler(logging.StreamHandler[TextIO]):
    """The handler of this module, recognized by its type, so that `configure` replaces it and adds no second one."""


# Libraries with info messages that do not help an operator.
_CHATTY = ("alembic", "watchfiles")


def configure(level: str, stream: TextIO | None = None) -> None:
    """Send the events of this process and of every library to a stream (standard error), from `level` upwards."""
    least = logging.getLevelNamesMapping()[level.upper()]
    shared = _shared_processors()
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.make_filtering_bound_logger(least),
        logger_factory=structlog.stdlib.LoggerFactory(),
    )
    handler = _Handler(stream or sys.stderr)
    handler.setFormatter(_formatter(shared))
    logging.root.handlers[:] = [other for other in logging.root.handlers if not isinstance(other, _Handler)]
    logging.root.addHandler(handler)
    logging.root.setLevel(least)
    for chatty in _CHATTY:
        logging.getLogger(chatty).setLevel(max(least, logging.WARNING))


def logger(name: str) -> FilteringBoundLogger:
    """Return the logger of a component of the service."""
    return cast("FilteringBoundLogger", structlog.get_logger(f"waypost.{name}"))


def is_debug_enabled() -> bool:
    """Return whether debug events are written; a hot path checks this before it builds one."""
    return logging.root.level <= logging.DEBUG


def request_id(req: Request) -> str:
    """Return the id that a request's response and log lines carry; `-` before it is assigned."""
    return cast("str", getattr(req.context, "request_id", "-"))


def request_fields(req: Request) -> dict[str, str]:
    """Return the fields of a request for a log line; never its query, since it may hold secrets."""
    principal = getattr(req.context, "principal", None)
    caller = {"principal": str(principal.name)} if principal is not None else {}
    return {"request_id": request_id(req), "method": req.method, "path": req.path, **caller}


def scrub(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Remove secrets from an event: whole values by key, tokens in any text. This is a structlog processor."""
    return {key: REMOVED if key.lower() in _SECRET_KEYS else _scrub_value(value) for key, value in event.items()}


def remove_secrets(text: str) -> str:
    """Return a text without the tokens and credentials in it."""
    return _SECRET_TEXT.sub(REMOVED, text)


def _scrub_value(value: Any) -> Any:
    if isinstance(value, str):
        return remove_secrets(value)
    if isinstance(value, dict):
        return {key: REMOVED if str(key).lower() in _SECRET_KEYS else _scrub_value(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_scrub_value(part) for part in value]
    return value


def _shared_processors() -> list[Processor]:
    return [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
    ]


def _formatter(shared: list[Processor]) -> logging.Formatter:
    """Return one formatter for the service's events and for those of libraries, so that every line is scrubbed."""
    # Records of libraries do not pass structlog's own processors; `foreign_pre_chain` gives them the same fields. See
    # https://www.structlog.org/en/stable/standard-library.html#rendering-using-structlog-based-formatters-within-logging
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared,
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.format_exc_info,
            scrub,
            structlog.processors.JSONRenderer(),
        ],
    )
