"""`waypost` with a named counter at its edge: a byte in the file `writes` of the data directory for each write transaction.

python -m tests.e2e.counted serve
"""

import os
from pathlib import Path

from sqlalchemy import Connection, Engine, event

from api.state.database import _WRITES
from cli.main import run

COUNTER = "writes"


def count(connection: Connection) -> None:
    """Note a transaction that takes the write lock; appending a byte is atomic over all workers."""
    if connection.get_execution_options().get(_WRITES, False):
        file = os.open(Path(os.environ["WAYPOST_DATA"]) / COUNTER, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(file, b".")
        finally:
            os.close(file)


if __name__ == "__main__":
    event.listen(Engine, "begin", count)
    run()
