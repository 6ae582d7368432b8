"""A switch to an unprivileged user: root may read everything, so a test of permissions that runs as root drops them."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_NOBODY = 65534


@contextmanager
def as_unprivileged_user() -> Iterator[Path]:
    """Run as an unprivileged user in this process, with a folder that belongs to that user; yield the folder's path."""
    with tempfile.TemporaryDirectory(prefix="waypost-test-") as name:
        folder, root = Path(name), os.geteuid() == 0
        if root:
            os.chown(folder, _NOBODY, _NOBODY)
            os.seteuid(_NOBODY)
        try:
            yield folder
        finally:
            if root:
                os.seteuid(0)
