"""A host by SSH on loopback: the system's `sshd` with keys of its own, for the user who runs the tests."""

import getpass
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.service import wait_until

SSHD = "/usr/sbin/sshd"  # it starts itself again, so it needs its path


@dataclass(frozen=True)
class SshHost:
    """The address of the host, the private key that it accepts, and its public key as in `known_hosts`."""

    address: str
    key: str
    known_hosts: str
    other_key: str

    def url(self, path: Path) -> str:
        """Return the URL of a repository."""
        return f"ssh://{self.address}{path}"


@contextmanager
def ssh_host(folder: Path, forced: str = "") -> Iterator[SshHost]:
    """Run the host, with its files in a folder; `forced` is a command in place of those that are asked for."""
    folder.mkdir()
    for name in ("host", "user", "other"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (folder / "config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\nAuthorizedKeysFile {folder}/user.pub\n"
        "PidFile none\nUsePAM no\nStrictModes no\nPermitRootLogin prohibit-password\nPasswordAuthentication no\n"
        + (f"ForceCommand {forced}\n" if forced else ""),
        "utf-8",
    )
    Path("/run/sshd").mkdir(exist_ok=True) if getpass.getuser() == "root" else None
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([SSHD, "-D", "-e", "-f", str(folder / "config")], stderr=log)
    try:
        wait_until(lambda: _answers(port), 30, f"sshd to listen: {(folder / 'log').read_text('utf-8')}")
        public = (folder / "host.pub").read_text("utf-8").rsplit(" ", 1)[0]
        keys = [(folder / name).read_text("utf-8") for name in ("user", "other")]
        yield SshHost(f"{getpass.getuser()}@127.0.0.1:{port}", keys[0], f"[127.0.0.1]:{port} {public}\n", keys[1])
    finally:
        process.terminate()
        process.wait()


def _answers(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1) as connection:
        return connection.recv(4) == b"SSH-"
    return False
