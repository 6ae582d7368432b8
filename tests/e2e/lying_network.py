"""A network of its own with a resolver that lies: run as a program under `unshare -rnm`, it sends by the service's clients.

It reads cases from standard input as JSON, `[client, URL]` each, and prints one outcome per case: the result of the client,
the names that were looked up, and the addresses that got a connection.
"""

import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from api.errors import ApiError
from api.events.webhook_client import WebhookClient
from api.openid.provider_client import ProviderClient
from api.upstreams.hosts.host_client import HostClient, HostNetwork
from gitstore.wire.addresses import AddressPolicy
from gitstore.wire.client.http_remote import Credentials, HttpRemote, Limits
from gitstore.wire.client.remote_errors import RemoteAway, RemoteError, RemoteRefused
from gitstore.wire.client.remote_url import parse_url
from gitstore.wire.client.ssh_remote import SshKeys, SshRemote

PUBLIC = "8.8.8.8"  # a public address that the loopback device of this network has
METADATA = "169.254.169.254"
PORT = 8080
SECONDS = 2.0
A, AAAA = 1, 28

# The answers of each look-up in turn, the last one for all later ones.
ANSWERS: dict[str, list[list[str]]] = {
    "rebind.test": [[PUBLIC], ["127.0.0.1"]],
    "both.test": [[PUBLIC, METADATA]],
    "metadata.test": [[METADATA]],
    "loopback.test": [["127.0.0.1"]],
    "six.test": [["::1"]],
    "mapped.test": [["::ffff:127.0.0.1"]],
    "nat64.test": [["64:ff9b::7f00:1"]],
    "public.test": [[PUBLIC]],
}
BODIES = {
    b"/redirect": b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:%d/\r\nContent-Length: 0\r\n\r\n" % PORT,
    b"/long": b"HTTP/1.1 200 OK\r\n\r\n" + b" " * (5 << 20),
    b"/headers": b"HTTP/1.1 200 OK\r\n" + b"X-More: more\r\n" * 100_000,
}
DEFAULT = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"


class LyingResolver(asyncio.DatagramProtocol):
    """A DNS server of A and AAAA records whose answers change from look-up to look-up."""

    def __init__(self) -> None:
        self.asked = Counter[tuple[str, int]]()

    def connection_made(self, transport: Any) -> None:
        """Keep the socket."""
        self._socket = transport

    def datagram_received(self, data: bytes, addr: Any) -> None:
        """Answer one question: https://www.rfc-editor.org/rfc/rfc1035#section-4."""
        labels, at = list[str](), 12
        while length := data[at]:
            labels.append(data[at + 1 : at + 1 + length].decode())
            at += 1 + length
        name, kind = ".".join(labels), int.from_bytes(data[at + 1 : at + 3])
        turns = ANSWERS.get(name, [[]])
        found = turns[min(self.asked[name, kind], len(turns) - 1)]
        self.asked[name, kind] += 1
        packed = [each.packed for each in map(ip_address, found) if each.version == (4 if kind == A else 6)]
        records = b"".join(
            b"\xc0\x0c" + kind.to_bytes(2) + b"\x00\x01" + bytes(4) + len(each).to_bytes(2) + each for each in packed
        )
        counts = b"\x00\x01" + len(packed).to_bytes(2) + bytes(4)
        self._socket.sendto(data[:2] + b"\x81\x80" + counts + data[12 : at + 5] + records, addr)


def prepare() -> None:
    """Set the addresses of this network, and its resolver."""
    for command in (
        "ip link set lo up",
        f"ip address add {PUBLIC}/32 dev lo",
        f"ip address add {METADATA}/32 dev lo",
    ):
        subprocess.run(command.split(), check=True)
    with tempfile.NamedTemporaryFile("w", suffix=".conf", delete=False) as file:
        file.write("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")
    subprocess.run(("mount", "--bind", file.name, Path("/etc/resolv.conf").resolve()), check=True)


def trap(connected: list[str]) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
    """Return a server that notes at which address it got a connection."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connected.append(writer.get_extra_info("sockname")[0])
        try:
            if (await reader.readexactly(4)) == b"SSH-":
                return
            path = (await reader.readuntil(b"\r\n\r\n")).split()[0].split(b"?")[0]
            if path.startswith(b"/slow"):
                writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
                while not reader.at_eof():
                    writer.write(b" ")
                    await writer.drain()
                    await asyncio.wait((asyncio.ensure_future(reader.read(1)),), timeout=SECONDS / 10)
            writer.write(BODIES.get(b"/" + path.split(b"/")[1], DEFAULT))
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError, RuntimeError):
            pass
        finally:
            writer.close()

    return serve


async def by_webhook(url: str) -> str:
    """Send by the client of webhooks."""
    answer = await WebhookClient(AddressPolicy(), SECONDS).send(url, {}, b"{}")
    return answer.error or str(answer.status)


async def by_provider(url: str, networks: tuple[str, ...] = (f"{PUBLIC}/32",)) -> str:
    """Send by the client of the OpenID provider."""
    try:
        return str((await ProviderClient(networks, SECONDS).get(url)).status)
    except ApiError as ex:
        return type(ex).__name__


async def by_host(url: str) -> str:
    """Send by the client of the APIs of Git hosts."""
    network = HostNetwork(AddressPolicy((f"{PUBLIC}/32",)), SECONDS)
    try:
        return str((await network.send(HostClient(parse_url(url), {}, network), "GET", "/", None)).status)
    except (RemoteAway, RemoteRefused) as ex:
        return type(ex).__name__


async def by_git(url: str) -> str:
    """Ask for the refs of an upstream."""
    policy, limits = AddressPolicy((f"{PUBLIC}/32",)), Limits(SECONDS)

    def ask() -> str:
        with HttpRemote(parse_url(url), Credentials(), policy, limits).refs("git-upload-pack") as answer:
            return str(len(answer.read(4)))

    return await in_thread(ask)


async def by_ssh(url: str) -> str:
    """Ask for the refs of an upstream by SSH."""
    keys, limits = SshKeys("none", "none"), Limits(SECONDS)

    def ask() -> str:
        remote = SshRemote(parse_url(url.replace("http://", "ssh://git@") + "x"), keys, AddressPolicy(), limits)
        with remote.call("git-upload-pack") as answer:
            return str(len(answer.read(4)))

    return await in_thread(ask)


async def in_thread(ask: Callable[[], str]) -> str:
    """Return what a call of Git returns, or the name of its error."""
    try:
        return await asyncio.to_thread(ask)
    except (RemoteError, ValueError) as ex:
        return type(ex).__name__


CLIENTS: dict[str, Callable[[str], Awaitable[str]]] = {
    "webhook": by_webhook,
    "provider": by_provider,
    "provider-https-only": lambda url: by_provider(url, ()),
    "host": by_host,
    "git": by_git,
    "git-https": lambda url: by_git(url.replace("http://", "https://")),
    "git-ssh": by_ssh,
}


async def main() -> None:
    """Send every case, and print the outcomes."""
    connected, resolver = list[str](), LyingResolver()
    loop = asyncio.get_running_loop()
    async with AsyncExitStack() as stack:
        transport, _ = await loop.create_datagram_endpoint(lambda: resolver, ("127.0.0.1", 53))
        stack.callback(transport.close)
        for family, host in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):  # noqa: S104 - no other host is in this network
            await asyncio.start_server(trap(connected), host, PORT, family=family)
        outcomes = []
        for client, url in json.load(sys.stdin):
            connected.clear()
            if "again" not in url:
                resolver.asked.clear()
            result = await CLIENTS[client](url)
            asked = [name for (name, kind), count in resolver.asked.items() if kind == A for _ in range(count)]
            outcomes.append({"result": result, "asked": asked, "connected": list(connected)})
    sys.stdout.write(json.dumps(outcomes) + "\n")  # the last line; logs are before it
    sys.stdout.flush()
    os._exit(0)  # slow answers are not waited for


if __name__ == "__main__":
    prepare()
    asyncio.run(main())
