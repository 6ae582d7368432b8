"""`waypost` with a counter of signatures: each appends a byte to the file `signatures` of the data directory.

python -m tests.e2e.counted_signatures serve
"""

import os
from pathlib import Path

from cli.main import run
from gitstore.signatures.signing_key import SigningKey

COUNTER = "signatures"


def count(key: SigningKey, data: bytes) -> bytes:
    """Sign, and count it; appending a byte is atomic over all workers."""
    file = os.open(Path(os.environ["WAYPOST_DATA"]) / COUNTER, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(file, b".")
    finally:
        os.close(file)
    return bytes(key._private.sign(data))


if __name__ == "__main__":
    SigningKey.sign = count  # type: ignore[assignment,method-assign]  # the counter takes its place
    run()
