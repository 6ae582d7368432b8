"""Keys and signatures by OpenSSH's own `ssh-keygen`, the reference for ours."""

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

SERVICE = "service@waypost.invalid"
_ALONE = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}


def has_ssh_keygen() -> bool:
    """Tell whether ssh-keygen is installed."""
    return shutil.which("ssh-keygen") is not None


@dataclass(frozen=True)
class Key:
    """A key pair on disk; `principal` is its name in a file of signers."""

    path: Path
    principal: str

    @classmethod
    def make(cls, folder: Path, principal: str, kind: str = "ed25519", passphrase: str = "", bits: str = "") -> "Key":
        """Make a key pair."""
        path = folder / f"{principal.partition('@')[0]}-{kind}{bits}"
        size = ["-b", bits] if bits else []
        subprocess.run(
            ["ssh-keygen", "-q", "-t", kind, *size, "-N", passphrase, "-C", "", "-f", str(path)],
            check=True,
            stdin=subprocess.DEVNULL,
        )
        return cls(path, principal)

    @property
    def public(self) -> str:
        """The public key: its kind and its base64."""
        return self.path.with_name(f"{self.path.name}.pub").read_text("utf-8").strip()

    @property
    def fingerprint(self) -> str:
        """The fingerprint."""
        done = subprocess.run(["ssh-keygen", "-lf", str(self.path)], check=True, capture_output=True, text=True)
        return done.stdout.split()[1]

    @property
    def name(self) -> str:
        """The signer as history shows it."""
        return f"{self.principal} {self.fingerprint}"

    def line(self, options: str = "") -> str:
        """Return the key's line of a file of signers."""
        return " ".join(filter(None, (self.principal, options, self.public))) + "\n"

    def settings(self) -> tuple[str, ...]:
        """Return the words by which git signs commits with this key."""
        return ("-c", "gpg.format=ssh", "-c", f"user.signingKey={self.path}", "-c", "commit.gpgSign=true")


KeyMaker = Callable[..., Key]


def verify_commit(repository: Path, commit: str, signers: Path) -> "subprocess.CompletedProcess[str]":
    """Run `git verify-commit` with a file of signers."""
    return subprocess.run(
        ["git", "-c", "gpg.format=ssh", "-c", f"gpg.ssh.allowedSignersFile={signers}", "verify-commit", "-v", commit],
        cwd=repository,
        env={**os.environ, **_ALONE},
        capture_output=True,
        text=True,
        check=False,
    )


def require_signed(repository: Path, commit: str, signers: Path, key: Key) -> None:
    """Fail unless git accepts the signature of a commit as one by a key."""
    done = verify_commit(repository, commit, signers)
    assert done.returncode == 0, done.stderr
    assert f'Good "git" signature for {key.principal}' in done.stderr
    assert key.fingerprint in done.stderr


def verifies(
    signers: Path, principal: str, signature: Path, message: bytes, time: str = "", namespace: str = "git"
) -> bool:
    """Tell whether ssh-keygen accepts the signature of a message by a principal, at a time."""
    at = ["-O", f"verify-time={time}"] if time else []
    done = subprocess.run(
        [
            *("ssh-keygen", "-Y", "verify", "-f", str(signers), "-I", principal, "-n", namespace),
            *("-s", str(signature), *at),
        ],
        input=message,
        env={**os.environ, "TZ": "UTC"},
        capture_output=True,
        check=False,
    )
    return done.returncode == 0


def sign(key: Key, message: bytes, namespace: str = "git") -> bytes:
    """Return ssh-keygen's signature of a message."""
    done = subprocess.run(
        ["ssh-keygen", "-q", "-Y", "sign", "-n", namespace, "-f", str(key.path)],
        input=message,
        capture_output=True,
        check=True,
    )
    return done.stdout
