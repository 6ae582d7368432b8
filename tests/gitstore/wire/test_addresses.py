"""Refused webhook addresses: every way to write, resolve or hide a private address is refused before a connection."""

import asyncio
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from api.events.webhook_client import WebhookClient, WebhookResponse
from api.events.webhook_target import read_target
from api.runtime.checked_network import resolve_host
from gitstore.wire.addresses import AddressNotAllowed, AddressPolicy, read_literal
from tests.e2e.receiver import always, receiving

PRIVATE = [
    "0.0.0.0",  # noqa: S104 - nothing is bound to it
    "10.0.0.1",
    "100.64.0.1",
    "127.0.0.1",
    "168.63.129.16",
    "169.254.169.254",
    "172.16.0.1",
    "192.0.0.8",
    "192.88.99.1",
    "192.168.0.1",
    "198.18.0.1",
    "203.0.113.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:8.8.8.8",
    "::ffff:0:127.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b::8.8.8.8",
    "64:ff9b:1::1",
    "100::1",
    "2001::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%lo",
    "fec0::1",
    "ff02::1",
]
PUBLIC = ["8.8.8.8", "1.1.1.1", "93.184.215.14", "2606:4700:4700::1111", "2a00:1450:4001::1"]


@pytest.mark.parametrize("address", PRIVATE)
def test_a_private_address_is_refused(address: str) -> None:
    with pytest.raises(AddressNotAllowed):
        AddressPolicy().check(address)


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_is_not(address: str) -> None:
    assert str(AddressPolicy().check(address)) == address


def test_what_the_operator_names_may_be_reached_and_nothing_beside_it() -> None:
    address_policy = AddressPolicy(("10.1.0.0/16", "::1"))
    assert str(address_policy.check("10.1.2.3")) == "10.1.2.3"
    assert str(address_policy.check("::1")) == "::1"
    for other in ("10.2.0.1", "::ffff:10.1.2.3", "127.0.0.1"):
        with pytest.raises(AddressNotAllowed):
            address_policy.check(other)


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("127.1", "127.0.0.1"),
        ("2130706433", "127.0.0.1"),
        ("0x7f.1", "127.0.0.1"),
        ("0177.0.0.1", "127.0.0.1"),
        ("017700000001", "127.0.0.1"),
        ("127.0.0.1.", "127.0.0.1"),
        ("localhost", "127.0.0.1"),
        ("LocalHost.", "127.0.0.1"),
        ("a.localhost", "127.0.0.1"),
        ("::ffff:7f00:1", "::ffff:127.0.0.1"),
        ("hooks.example", None),
        ("127.0.0.1.example", None),
    ],
)
def test_an_address_is_recognised_in_every_form_that_resolvers_take(host: str, address: str | None) -> None:
    found = read_literal(host)
    assert found is None if address is None else found in {address, "::ffff:7f00:1"}


def send(url: str, address_policy: AddressPolicy, *answers: str, seconds: float = 5) -> WebhookResponse:
    """Return the outcome of a delivery if the resolver gives these addresses, the same for each look-up."""

    async def resolve(_host: str, _port: int) -> list[str]:
        return list(answers)

    return asyncio.run(WebhookClient(address_policy, seconds, resolve if answers else None).send(url, {}, b"{}"))


@pytest.mark.parametrize("address", PRIVATE)
def test_a_name_that_resolves_to_a_private_address_is_refused_at_delivery(address: str) -> None:
    assert send("http://hooks.example/", AddressPolicy(), address) == WebhookResponse(None, "address_refused", "")


def test_one_private_address_among_public_ones_is_enough_to_refuse() -> None:
    assert send("http://hooks.example/", AddressPolicy(), "8.8.8.8", "127.0.0.1").error == "address_refused"


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "2130706433", "0x7f.1", "0177.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]"]
)
def test_no_connection_is_made_to_loopback_however_it_is_written(host: str) -> None:
    """The machine's own resolver is used, and a server listens at the address."""
    with receiving() as receiver:
        assert send(f"http://{host}:{receiver.port}/", AddressPolicy()).error == "address_refused"
        assert receiver.messages == []


def test_the_connection_goes_to_the_address_that_was_checked_without_a_second_look() -> None:
    """A name that resolves differently between the check and the connection gains nothing."""
    looks: list[str] = []

    async def rebind(host: str, _port: int) -> list[str]:
        looks.append(host)
        return ["127.0.0.2"] if len(looks) == 1 else ["127.0.0.1"]

    with receiving() as victim:
        sender = WebhookClient(AddressPolicy(("127.0.0.2",)), 5, rebind)
        answer = asyncio.run(sender.send(f"http://localhost:{victim.port}/", {}, b"{}"))
        assert (answer.error, victim.messages, looks) == ("connection_failed", [], ["localhost"])


def test_proxies_of_the_environment_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    with receiving() as proxy, receiving() as receiver:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        receiver.reply = always(200, b"fine")
        answer = send(receiver.url, AddressPolicy(("127.0.0.1",)))
        assert answer == WebhookResponse(200, None, "fine")
        assert proxy.messages == []
        assert receiver.messages[0].headers["host"] == f"127.0.0.1:{receiver.port}"


def test_an_unknown_name_is_reported_as_unknown() -> None:
    assert send("http://nobody.invalid/", AddressPolicy()).error == "name_not_resolved"


def test_the_machines_resolver_gives_addresses() -> None:
    assert "127.0.0.1" in asyncio.run(resolve_host("127.1", 80))


def test_a_slow_receiver_is_cut_off_and_one_without_http_is_reported() -> None:
    address_policy = AddressPolicy(("127.0.0.1",))
    with answering(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nx", keep=True) as port:
        assert send(f"http://127.0.0.1:{port}/", address_policy, seconds=0.3).error == "timeout"
    with answering(b"SSH-2.0-nothing\r\n\r\n") as port:
        assert send(f"http://127.0.0.1:{port}/", address_policy).error == "malformed_answer"
    with answering(b"") as port:
        assert send(f"http://127.0.0.1:{port}/", address_policy).error in {"malformed_answer", "connection_lost"}


class answering:  # noqa: N801 - reads as a verb in a with statement
    """A port that sends these bytes to each client, over TLS if it has a certificate."""

    def __init__(self, data: bytes, *, keep: bool = False, tls: ssl.SSLContext | None = None) -> None:
        self._data, self._keep, self._tls = data, keep, tls
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> int:
        self._thread.start()
        return int(self._socket.getsockname()[1])

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._socket.close()
        self._thread.join()

    def _run(self) -> None:
        try:
            with self._socket.accept()[0] as plain:
                plain.settimeout(10)
                wrapped = self._tls.wrap_socket(plain, server_side=True) if self._tls else plain
                received = b""
                while not received.endswith(b"{}"):  # Linux resets a connection that is closed with unread data
                    received += wrapped.recv(65536)
                wrapped.sendall(self._data)
                if self._keep:
                    self._ended.wait(10)
                wrapped.close()
        except OSError:
            return


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a certificate of hooks.example with its key; only clients that add it to their CAs trust it."""
    file = tmp_path_factory.mktemp("tls") / "hooks.pem"
    names = ("-subj", "/CN=hooks.example", "-addext", "subjectAltName=DNS:hooks.example")
    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
    subprocess.run(
        ("openssl", "req", "-x509", *curve, *names, "-keyout", str(file), "-out", f"{file}.crt"),
        check=True,
        capture_output=True,
    )
    file.write_text(file.read_text() + Path(f"{file}.crt").read_text())
    return file


@pytest.fixture
def secure(certificate: Path) -> Iterator[int]:
    """Run a port that speaks TLS as hooks.example."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with answering(b"HTTP/1.1 204 No Content\r\n\r\n", tls=context) as port:
        yield port


def test_tls_is_checked_by_the_name_though_the_connection_goes_to_an_address(
    secure: int, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    assert send(f"https://hooks.example:{secure}/", AddressPolicy(("127.0.0.1",)), "127.0.0.1").status == 204


def test_another_name_is_refused(secure: int, certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    assert send(f"https://other.example:{secure}/", AddressPolicy(("127.0.0.1",)), "127.0.0.1").error == "tls_failed"


def test_an_untrusted_certificate_is_refused(secure: int) -> None:
    assert send(f"https://hooks.example:{secure}/", AddressPolicy(("127.0.0.1",)), "127.0.0.1").error == "tls_failed"


@pytest.mark.parametrize(
    ("url", "authority", "path"),
    [
        ("http://hooks.example", "hooks.example", "/"),
        ("HTTPS://Hooks.Example:443/a%20b?c=d&e", "hooks.example", "/a%20b?c=d&e"),
        ("http://[2606:4700::1111]:8080?x", "[2606:4700::1111]:8080", "/?x"),
    ],
)
def test_a_url_is_taken_apart_once(url: str, authority: str, path: str) -> None:
    target = read_target(url)
    assert (target.authority, target.path) == (authority, path)
