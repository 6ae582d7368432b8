"""Backup, restore and check of a repository with little memory; run as a program with the folder of a data directory.

The limit counts memory of the process, not files that are mapped.
"""

import resource
import sys
from pathlib import Path

from gitstore.care.backup_files import open_backup, open_new_backup
from gitstore.care.namespace_backup import save_namespace
from gitstore.care.namespace_restore import restore_namespace
from gitstore.care.repository_check import RepositoryCheck
from gitstore.directory import DataDirectory

ROOM = 32 << 20
NAME = "acme"


def run(root: Path) -> None:
    """Save, restore and check within `ROOM` bytes more than the modules take."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text("ascii").splitlines())
    used = int(status["VmData"].split()[0]) << 10
    resource.setrlimit(resource.RLIMIT_DATA, (used + ROOM, used + ROOM))
    directory, copy = DataDirectory(root), DataDirectory(root.parent / "copy")
    copy.create()
    for name in ("backup", "backup.tar"):
        with open_new_backup(root.parent / name) as writer:
            writer.finish({"namespaces": [save_namespace(directory.namespace(NAME), NAME, writer).facts()]})
    reader = open_backup(root.parent / "backup.tar")
    restore_namespace(reader, reader.facts["namespaces"][0], copy.namespace(NAME))
    findings = list(RepositoryCheck(copy.namespace(NAME)).run())
    assert findings == [], findings


if __name__ == "__main__":
    run(Path(sys.argv[1]))
