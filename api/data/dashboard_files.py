"""The built files of the dashboard, in memory, each in the content codings that its build made."""

from pathlib import Path
from typing import NamedTuple

import orjson

from api.page_links import DASHBOARD, MANIFEST

_CODINGS = {"br": ".br", "gzip": ".gz"}
_PAGE_TYPE = "text/html; charset=utf-8"


class StaticFile(NamedTuple):
    """A file of the dashboard, in each content coding; `identity` is the file as it is."""

    media_type: str
    codings: dict[str, bytes]


class DashboardFiles(NamedTuple):
    """The files of a built dashboard."""

    page: StaticFile
    licences: StaticFile
    assets: dict[str, StaticFile]


def read_dashboard(folder: Path = DASHBOARD) -> DashboardFiles | None:
    """Read a built dashboard; None if there is none, or it is not complete."""
    try:
        about = orjson.loads((folder / MANIFEST).read_bytes())
        return DashboardFiles(
            _read_file(folder / "index.html", _PAGE_TYPE),
            _read_file(folder / "licences.html", _PAGE_TYPE),
            {name: _read_file(folder / name, file["type"]) for name, file in about["files"].items()},
        )
    except FileNotFoundError:
        return None


def _read_file(path: Path, media_type: str) -> StaticFile:
    codings = {coding: path.with_name(path.name + suffix).read_bytes() for coding, suffix in _CODINGS.items()}
    return StaticFile(media_type, {**codings, "identity": path.read_bytes()})
