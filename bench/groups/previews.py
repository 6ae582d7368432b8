"""`waypost preview` of 100,000 rules in files of 500: its start, and the time from a save to the answer with it."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

from bench.figure import Figure, at_most
from bench.groups.validation import write_files
from bench.rules import MANY, exact_rules
from bench.workbench import Workbench
from tests.cli.preview.world import RunningPreview, previewing

_TARGET = 200.0  # milliseconds
_WAITED = "30"  # seconds
_SAVES = 60
_SETTLED = 1.5  # seconds between two saves, as of a quick person: the comparison with HEAD of the last one has ended


def measure(bench: Workbench) -> Iterator[Figure]:
    """Yield the start, and the saves of one file."""
    folder, scratch = bench.new_folder("preview"), bench.new_folder("scratch")
    scratch.mkdir()
    write_files(folder, exact_rules(MANY), "flow")
    begun = time.perf_counter()
    with previewing(folder, scratch) as preview:
        seconds = time.perf_counter() - begun
        yield Figure("start of waypost preview with 100,000 rules, until ready", seconds, "s")
        path = folder / "big/redirects/100.yaml"
        times = [_save(preview, path, turn) for turn in bench.rounds(_SAVES, 150)]
    detail = f"median of {len(times)} saves of one file; slowest {max(times):.0f} ms, quickest {min(times):.0f} ms"
    yield Figure(
        "waypost preview of 100,000 rules, from a save to its response", median(times), "ms", at_most(_TARGET), detail
    )


def _save(preview: RunningPreview, path: Path, turn: int) -> float:
    """Change one rule; return the milliseconds until an agent that waits has its response."""
    url = f"{preview.project('big')}/version"
    known = preview.client.get(url).headers["ETag"]
    text = path.read_text("utf-8").replace('"target": "', f'"target": "/{turn}', 1)
    with ThreadPoolExecutor(1) as pool:
        headers = {"If-None-Match": known, "Prefer": f"wait={_WAITED}"}
        waiting = pool.submit(preview.client.get, url, headers=headers)
        time.sleep(_SETTLED)
        begun = time.perf_counter()
        path.write_text(text, encoding="utf-8")
        waiting.result().raise_for_status()  # 304 is raised too: the save was not served
        return (time.perf_counter() - begun) * 1000
