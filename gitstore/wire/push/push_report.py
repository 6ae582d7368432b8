"""The answer to a push: lines for the pusher's terminal, then the status of the pack and of each ref.

https://git-scm.com/docs/gitprotocol-pack#_report_status
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from gitstore.wire.pkt_lines import FLUSH, PACK_BAND, PROGRESS_BAND, band_lines, text_line

BANDS = "side-band-64k"
REPORTING = frozenset({"report-status", BANDS})
"""The capabilities of a client that wants an answer in full."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_MAX_REASON = 600


class RefStatus(NamedTuple):
    """The status of one ref; without a reason it has moved."""

    ref: str
    refusal: str = ""


class PushReport(NamedTuple):
    """The answer to a push; `fault` is the reason why nothing of it was looked at, empty if the pack is valid."""

    statuses: tuple[RefStatus, ...] = ()
    fault: str = ""
    lines: tuple[str, ...] = ()


def frame_lines(lines: Iterable[str]) -> Iterator[bytes]:
    """Frame lines for the pusher's terminal, where each appears after `remote: `."""
    text = "".join(f"{_printable(line)}\n" for line in lines)
    yield from band_lines(PROGRESS_BAND, text.encode())


def frame_report(report: PushReport, capabilities: frozenset[str]) -> Iterator[bytes]:
    """Frame an answer as the capabilities of the client ask for."""
    bands = BANDS in capabilities
    if bands:
        yield from frame_lines(report.lines)
    if "report-status" in capabilities:
        status = b"".join(_status_lines(report.statuses, report.fault)) + FLUSH
        yield from band_lines(PACK_BAND, status) if bands else [status]
    if bands:
        yield FLUSH


def _status_lines(statuses: Sequence[RefStatus], fault: str) -> Iterator[bytes]:
    yield text_line(f"unpack {_reason(fault) or 'ok'}")
    for status in statuses:
        refusal = _reason(status.refusal or ("unpacker error" if fault else ""))
        ref = _printable(status.ref)
        yield text_line(f"ng {ref} {refusal}" if refusal else f"ok {ref}")


def _printable(text: str) -> str:
    """Return a text without control characters, which a terminal might take for commands."""
    return _CONTROL.sub("?", text)


def _reason(text: str) -> str:
    return _printable(text).replace("\n", " ").strip()[:_MAX_REASON]
