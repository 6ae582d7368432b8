"""`waypost` with a counter of write transactions: each appends a byte to the file `writes` of the data directory.

python -m tests.e2e.counted serve
"""

import os
from pathlib import Path

from sqlalchemy import Connection, Engine, event

from api.db.database import _WRITES
from cli.main import run

COUNTER = "writes"


def count(connection: Connection) -> None:
    """Count a transaction that takes the write lock; appending a byte is atomic over all workers."""
    if connection.get_execution_options().get(_WRITES, False):
        file = os.open(Path(os.environ["WAYPOST_DATA"]) / COUNTER, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(file, b".")
        finally:
            os.close(file)


if __name__ == "__main__":
    event.listen(Engine, "begin", count)
    run()
