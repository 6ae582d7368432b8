"""The service packs its repositories by itself, at low priority, while agents read and people publish."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from tests.e2e.git import check_repository
from tests.e2e.world import Place, World
from tests.service import wait_until

COMMITS = 400
SECONDS = 180
NICENESS = 10


def add_loose(repository: Path) -> None:
    """Add the loose objects of a long history to a branch, with plain git."""
    commit = "commit refs/heads/long\ncommitter A <a@b> {at} +0000\ndata 0\n\nM 100644 inline shop/redirects.yaml\ndata {size}\n{text}\n"
    texts = [f"redirects: []\n# {at}\n" for at in range(COMMITS)]
    stream = "".join(commit.format(at=1_700_000_000 + at, size=len(text), text=text) for at, text in enumerate(texts))
    command = ("git", "-c", "fastimport.unpackLimit=1000000", "fast-import", "--quiet")
    subprocess.run(command, cwd=repository, input=stream.encode(), check=True)


def loose(repository: Path) -> int:
    """Return the number of loose objects."""
    return len(list((repository / "objects").glob("??/*")))


def test_loose_objects_are_packed_in_the_background(place: Place, world: World) -> None:
    place.published("/a")
    add_loose(place.repository)
    assert loose(place.repository) > 3 * COMMITS
    wait_until(lambda: loose(place.repository) < COMMITS, SECONDS, "the objects to be packed")
    place.published("/b")
    assert place.sources() == ["/a", "/b"]
    assert place.get("/history")["total"] == 3
    check_repository(place.repository)
    assert NICENESS in set(priorities(world))


def priorities(world: World) -> Iterator[int]:
    """Yield the niceness of each helper process."""
    for helper in world.service.job_processes():
        with suppress(ProcessLookupError):  # ended meanwhile
            yield os.getpriority(os.PRIO_PROCESS, helper)
