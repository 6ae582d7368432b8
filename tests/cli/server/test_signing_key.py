"""`waypost serve` with a key that cannot be used does not start, and says why in one line."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.service import ROOT
from tests.ssh_keys import KeyMaker

ANOTHER = "Make another, and name it in signing_key: ssh-keygen -t ed25519 -N '' -f <file>-ed25519"


def make(ssh_keygen: KeyMaker, folder: Path, fault: str) -> Path:
    """Return a key with a fault."""
    if fault in {"missing", "text"}:
        path = folder / "key"
        if fault == "text":
            path.write_text("secret", "utf-8")
            path.chmod(0o600)
        return path
    kind, secret = ("rsa", "") if fault == "rsa" else ("ed25519", "s3cret" if fault == "passphrase" else "")
    key = ssh_keygen(folder, "key", kind, passphrase=secret)
    if fault == "open":
        key.path.chmod(0o644)
    return key.path


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("missing", "is missing. Make one: ssh-keygen -t ed25519 -N '' -f <file>"),
        ("open", "can be read by others (mode 0644). Close it: chmod 600 <file>"),
        ("rsa", f"is not an Ed25519 key. {ANOTHER}"),
        ("passphrase", "has a passphrase. Remove it: ssh-keygen -p -N '' -f <file>"),
        ("text", f"is not a private key of OpenSSH. {ANOTHER}"),
    ],
)
def test_a_bad_key(ssh_keygen: KeyMaker, tmp_path: Path, fault: str, words: str) -> None:
    path = make(ssh_keygen, tmp_path, fault)
    options = ("--init", "--data", str(tmp_path / "data"), "--bind", "127.0.0.1:0", "--signing-key", str(path))
    done = subprocess.run(
        [sys.executable, "-m", "cli.main", "serve", *options], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 3
    assert done.stderr == f"waypost: The signing key {path} {words.replace('<file>', str(path))}\n"
    assert not (tmp_path / "data" / "waypost.db").exists()
