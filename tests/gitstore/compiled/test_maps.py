"""The maps of a process: their number has a bound, whatever the number of projects."""

import resource
import subprocess
import sys
from pathlib import Path

from tests.gitstore.fixtures import SPACE
from tests.gitstore.history.test_many_projects import create_projects

PROJECTS = 60
RULES = 250  # of each project: more than what is read into memory in any case

SCRIPT = """
import os, resource, sys
from pathlib import Path
from gitstore.store.store import Store
from content.records.vocabulary import Kind
from gitstore.compiled.releases.release_file import limit_maps, max_maps
limit_maps(int(sys.argv[4]))
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[2]), int(sys.argv[2])))
store = Store(Path(sys.argv[1]))
found = store.releases.namespace(sys.argv[3])
total = sum(live.release.listings[Kind.REDIRECTS].total for live in found.projects.values())
print(max_maps(), len(os.listdir("/proc/self/fd")) - 1, len(found.projects), total, len(found.faults))
"""


def serve(root: Path, files: int, maps: int = 2_000) -> list[int]:
    """Read a namespace in a process that may open so many files, and map so many; return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(root), str(files), SPACE, str(maps)],
        capture_output=True,
        check=True,
        text=True,
    )
    return [int(word) for word in done.stdout.split()]


def test_more_projects_are_served_than_files_may_be_open(tmp_path: Path) -> None:
    create_projects(tmp_path / "root", PROJECTS, RULES)
    most, used, projects, rules, faults = serve(tmp_path / "root", 48)
    assert (most, projects, rules, faults) == (12, PROJECTS, PROJECTS * RULES, 0)
    assert used < 12 + 12
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    most, used, *_ = serve(tmp_path / "root", min(soft, 1_024))
    assert used >= PROJECTS, "with room, each release of some size is mapped"
    most, used, projects, rules, faults = serve(tmp_path / "root", min(soft, 1_024), 5)
    assert (most, projects, rules, faults) == (5, PROJECTS, PROJECTS * RULES, 0)
    assert used < 5 + 12
