"""Upstreams by SSH: the system's sshd on loopback; keys of hosts are checked, and nothing is asked."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from gitstore.upstream.upstream_settings import UpstreamMode
from gitstore.wire.addresses import AddressPolicy
from gitstore.wire.client.http_remote import Limits
from gitstore.wire.client.remote_errors import RemoteAway
from gitstore.wire.client.remote_url import parse_url
from gitstore.wire.client.ssh_remote import SshKeys, SshRemote
from tests.gitstore.fixtures import SHOP, Place, create_place, git, put, redirect, yaml
from tests.gitstore.upstream.upstream_bed import MIRROR, SOURCE, UpstreamBed, sync, sync_well
from tests.gitstore.wire.client.ssh_host import SshHost, ssh_host
from tests.service import wait_until

RULES = "shop/redirects.yaml"


@pytest.fixture(scope="module")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshHost]:
    """Run the host."""
    with ssh_host(tmp_path_factory.mktemp("ssh") / "host") as found:
        yield found


@pytest.fixture
def bed(tmp_path: Path) -> UpstreamBed:
    """Return an empty upstream."""
    return UpstreamBed.create(tmp_path / "bed")


def follow(bed: UpstreamBed, place: Place, host: SshHost, mode: UpstreamMode, **fields: str) -> None:
    """Make the upstream of a namespace the one behind the host."""
    keys = {"ssh_key": host.key, "known_hosts": host.known_hosts, **fields}
    bed.follow(place, mode, host.url(bed.path), **keys)


def test_a_mirror_is_pushed(bed: UpstreamBed, sshd: SshHost) -> None:
    place = create_place(bed.folder / "node").begin(SHOP)
    follow(bed, place, sshd, MIRROR)
    sync_well(place)
    place.publish(put(redirect("/a")))
    sync_well(place)
    assert bed.tip == place.tip
    git(bed.path, "fsck", "--strict", "--full")
    assert not list((place.repo / "objects").glob("tmp_objdir-*")), "nor any file with the key"


def test_a_source_is_followed_and_published_to_by_a_command(bed: UpstreamBed, sshd: SshHost) -> None:
    bed.node("first").begin(SHOP)
    place = create_place(bed.folder / "node")
    place.store.upstreams.start_children()
    follow(bed, place, sshd, SOURCE)
    (commit,) = bed.commit({RULES: yaml([("/a", "/b")])})
    assert sync_well(place).release == commit
    assert place.targets() == {"/a": "/b"}
    bed.commit({RULES: yaml([("/a", "/b"), ("/host", "/x")])})
    published = place.publish(put(redirect("/c")))
    assert place.targets() == {"/a": "/b", "/host": "/x", "/c": "/new"}
    assert bed.tip == published.version == place.tip


def test_a_process_for_requests_starts_no_child(bed: UpstreamBed, sshd: SshHost) -> None:
    bed.node("first").begin(SHOP)
    place = create_place(bed.folder / "node")
    follow(bed, place, sshd, SOURCE)
    before = sync_well(place).release
    with pytest.raises(RemoteAway, match="No process of this node"):
        place.publish(put(redirect("/c")))
    assert bed.tip == before == place.tip


@pytest.mark.parametrize("kind", ["unknown_host", "other_host", "other_key", "no_key"])
def test_an_unknown_host_and_a_key_that_it_does_not_accept_are_faults(
    bed: UpstreamBed, sshd: SshHost, kind: str
) -> None:
    place = create_place(bed.folder / "node").begin(SHOP)
    other = sshd.known_hosts.rpartition(" ")[0] + " AAAAC3NzaC1lZDI1NTE5AAAAI" + "A" * 43
    fields = {
        "unknown_host": {"known_hosts": ""},
        "other_host": {"known_hosts": other},
        "other_key": {"ssh_key": sshd.other_key},
        "no_key": {"ssh_key": ""},
    }[kind]
    follow(bed, place, sshd, MIRROR, **fields)
    state = sync(place)
    assert state.fault is not None
    assert state.fault.code == "upstream_refused", state.fault
    assert ("set the known hosts" in state.fault.message) is kind.endswith("_host"), state.fault
    assert "PRIVATE KEY" not in repr(state)
    assert bed.tip == ""


def test_a_host_without_the_repository_is_a_fault(bed: UpstreamBed, sshd: SshHost) -> None:
    place = create_place(bed.folder / "node").begin(SHOP)
    follow(bed, place, sshd, MIRROR)
    bed.path.rename(bed.folder / "away.git")
    state = sync(place)
    assert state.fault is not None
    assert state.fault.code in {"upstream_unavailable", "upstream_garbage"}


def test_a_protected_branch_is_reported_with_the_words_of_the_host(bed: UpstreamBed, sshd: SshHost) -> None:
    place = create_place(bed.folder / "node").begin(SHOP)
    hook = bed.path / "hooks/pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho 'GH006: Protected branch update failed' >&2\nexit 1\n", "utf-8")
    hook.chmod(0o755)
    follow(bed, place, sshd, MIRROR)
    state = sync(place)
    assert state.fault is not None
    assert state.fault.code == "upstream_refused"
    assert "pre-receive hook declined" in state.fault.message or "GH006" in state.fault.message
    assert bed.tip == ""


def test_a_flood_of_errors_takes_a_bounded_memory(tmp_path: Path) -> None:
    flood = "head -c 50000000 /dev/zero >&2; echo done"
    with ssh_host(tmp_path / "host", flood) as host:
        remote = SshRemote(
            parse_url(host.url(tmp_path)),
            SshKeys(host.key, host.known_hosts),
            AddressPolicy(("127.0.0.0/8",)),
            Limits(),
        )
        before = used_memory()
        with remote.call("git-receive-pack") as call:
            assert call.read(5) == b"done\n"
            assert used_memory() - before < 16 << 20


def test_ssh_ends_though_the_process_that_started_it_was_killed(tmp_path: Path) -> None:
    with ssh_host(tmp_path / "host", "echo ready; exec tail -f /dev/null") as host:
        code = (
            "from gitstore.wire.addresses import AddressPolicy\n"
            "from gitstore.wire.client.http_remote import Limits\n"
            "from gitstore.wire.client.remote_url import parse_url\n"
            "from gitstore.wire.client.ssh_remote import SshKeys, SshRemote\n"
            f"remote = SshRemote(parse_url({host.url(tmp_path)!r}), SshKeys({host.key!r}, {host.known_hosts!r}),\n"
            "    AddressPolicy(('127.0.0.0/8',)), Limits(seconds=5.0))\n"
            "with remote.call('git-receive-pack') as call:\n"
            "    assert call.read(6) == b'ready\\n'\n"
            "    print(call._child.pid, flush=True)\n"
            "    input()\n"
        )
        with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            group = int(process.stdout.readline())
            process.kill()
        wait_until(lambda: not list_group(group), 30, "ssh to end")


def list_group(group: int) -> list[int]:
    """Return the processes of a group that run."""
    found = list[int]()
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, owner = path.read_text("utf-8").rpartition(")")[2].split()[:3]
            found += [int(path.parent.name)] if int(owner) == group and state != "Z" else []
    return found


def used_memory() -> int:
    """Return the bytes of memory that this process uses, also by its files in memory."""
    size = int(Path("/proc/self/statm").read_text("utf-8").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    for handle in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            if "/memfd:" in str(handle.readlink()):
                size += handle.stat().st_blocks * 512
    return size
