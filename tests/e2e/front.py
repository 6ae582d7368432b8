"""nginx in front of the service, configured as the guide for production says, and clients that reach it."""

import json
import os
import re
import socket
import ssl
import subprocess
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.gitstore.wire.client.http_host import NGINX, find_program, listens
from tests.service import ROOT, Service, child_pids, open_files, stop, wait_until

NAME = "waypost.example"
GUIDE = ROOT / "docs" / "how-to" / "run-in-production.md"
STRANGER = "127.0.0.9"
"""The address of the proxy that the service does not trust."""

_PATIENCE = 30.0
_LINE = {
    "connection": "$connection",
    "client": "$remote_addr",
    "request": "$request",
    "method": "$request_method",
    "target": "$request_uri",
    "status": "$status",
    "forwarded": "$upstream_addr",
    "answered": "$upstream_status",
    "request_id": "$upstream_http_x_request_id",
}
_MAIN = """\
{user}
worker_processes 1;
daemon off;
pid {folder}/pid;
error_log {folder}/errors info;
events {{}}
http {{
    log_format line escape=json '{line}';
    access_log {folder}/requests line;
    client_body_temp_path {folder}/client;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
{servers}
}}
"""


@dataclass(frozen=True, slots=True)
class Front:
    """A server of nginx: its port, and the log of all servers."""

    port: int
    folder: Path
    tells_client: bool
    """True if a client says first, by the PROXY protocol, which address nginx has to see."""

    def connect(self, client: str = "") -> ssl.SSLSocket:
        """Open a connection by TLS; `client` is the address that nginx sees."""
        plain = socket.create_connection(("127.0.0.1", self.port), timeout=20)
        if self.tells_client:
            address = client or "203.0.113.1"
            version, own = ("6", "2001:db8::1") if ":" in address else ("4", "192.0.2.1")
            plain.sendall(f"PROXY TCP{version} {address} {own} 4711 443\r\n".encode())
        return ssl.create_default_context(cafile=self.folder / "certificate").wrap_socket(plain, server_hostname=NAME)

    def exchange(self, sent: bytes, client: str = "") -> bytes:
        """Send bytes over a new connection, and return all that nginx sends until it closes."""
        with closing(self.connect(client)) as connection:
            connection.sendall(sent)
            return read_all(connection)

    def lines(self) -> list[dict[str, str]]:
        """Return the log: each request that has ended, with the address of the service if it was forwarded."""
        return [json.loads(line) for line in (self.folder / "requests").read_text("utf-8").splitlines()]


def read_all(connection: socket.socket) -> bytes:
    """Read until the peer closes or resets the connection."""
    parts: list[bytes] = []
    try:
        while piece := connection.recv(65536):
            parts.append(piece)
    except (ConnectionError, ssl.SSLEOFError):
        pass
    return b"".join(parts)


@dataclass(frozen=True, slots=True)
class Fronts:
    """The servers of one nginx, and its process id.

    `guide` is that of the guide. The others differ in a line: clients of `distant` say from where they come, `adding` adds
    to `X-Forwarded-For` instead of replacing it, `stranger` calls from an address that the service does not trust, and
    `other` forwards to another service.
    """

    guide: Front
    distant: Front
    adding: Front
    stranger: Front
    other: Front
    pid: int

    def connections(self, service: Service) -> set[str]:
        """Return nginx's ends of its open connections to a service."""
        held = {str(file) for worker in child_pids(self.pid) for file in open_files(worker)}
        rows = [line.split() for line in Path("/proc/net/tcp").read_text("ascii").splitlines()[1:]]
        port = f":{service.port:04X}"
        return {row[1] for row in rows if row[2].endswith(port) and f"socket:[{row[9]}]" in held}


@contextmanager
def fronting(service: Service, other: Service, folder: Path) -> Iterator[Fronts]:
    """Run nginx in front of a service, and of another one."""
    folder.mkdir()
    _write_certificate(folder)
    text = snippet()
    changes: dict[str, Callable[[str], str]] = {
        "guide": lambda block: block,
        "distant": _told,
        "adding": lambda block: _told(
            _changed(block, "X-Forwarded-For $remote_addr", "X-Forwarded-For $proxy_add_x_forwarded_for")
        ),
        "stranger": lambda block: _changed(
            _told(block), "proxy_http_version", f"proxy_bind {STRANGER};\n        proxy_http_version"
        ),
        "other": _told,
    }
    ports = dict(zip(changes, _free_ports(len(changes)), strict=True))
    servers = [
        change(_server(text, name, ports[name], (other if name == "other" else service).port, folder))
        for name, change in changes.items()
    ]
    line = json.dumps(_LINE)
    user = "user root;" if os.geteuid() == 0 else ""
    (folder / "config").write_text(_MAIN.format(user=user, folder=folder, line=line, servers="".join(servers)), "utf-8")
    command = [find_program(NGINX), "-p", str(folder), "-c", str(folder / "config"), "-e", str(folder / "errors")]
    with (folder / "output").open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
    try:
        wait_until(lambda: _has_started(process, folder, ports.values()), _PATIENCE, "nginx to listen")
        yield Fronts(**{name: Front(port, folder, name != "guide") for name, port in ports.items()}, pid=process.pid)
    finally:
        stop(process)


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        held = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [each.getsockname()[1] for each in held]


def _has_started(process: subprocess.Popen[bytes], folder: Path, ports: Iterable[int]) -> bool:
    if process.poll() is not None:
        raise AssertionError(f"nginx ended with {process.returncode}:\n{(folder / 'errors').read_text('utf-8')}")
    return all(map(listens, ports))


def snippet() -> str:
    """Return the configuration of nginx in the guide for production."""
    (found,) = re.findall(r"```nginx\n(.*?)```", GUIDE.read_text("utf-8"), re.DOTALL)
    return str(found)


def _changed(text: str, old: str, new: str) -> str:
    assert text.count(old) == 1, f"the guide does not have {old!r} once"
    return text.replace(old, new)


def _server(text: str, name: str, port: int, service_port: int, folder: Path) -> str:
    """Return the guide's configuration with the ports and files of this test."""
    for old, new in (
        ("upstream waypost {", f"upstream {name} {{"),
        ("proxy_pass http://waypost;", f"proxy_pass http://{name};"),
        ("server 127.0.0.1:8080;", f"server 127.0.0.1:{service_port};"),
        ("listen 443 ssl;", f"listen 127.0.0.1:{port} ssl;"),
        (f"/etc/ssl/{NAME}.pem", f"{folder}/certificate"),
        (f"/etc/ssl/private/{NAME}.key", f"{folder}/key"),
    ):
        text = _changed(text, old, new)
    return text


def _told(block: str) -> str:
    """Let nginx take the client's address from the PROXY protocol, which no request can contain."""
    block = _changed(block, " ssl;\n", " ssl proxy_protocol;\n")
    return _changed(
        block,
        "    location /",
        "    set_real_ip_from 127.0.0.0/8;\n    real_ip_header proxy_protocol;\n\n    location /",
    )


def _write_certificate(folder: Path) -> None:
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, NAME)])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(NAME)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    (folder / "certificate").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "key").write_bytes(key.private_bytes(*form))
