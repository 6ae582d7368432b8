"""A full disk: writes report it and change nothing, reads continue, and with free space everything recovers by itself.

The data directory is a small file system in memory, which the tests need the right to mount: as root, or in a name
space, `unshare -rm python -m pytest tests/e2e/test_full_disk.py`.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from gitstore.git.atomic_io import TEMPORARY_PREFIX
from tests.e2e.caller import Caller
from tests.e2e.git import check_repository
from tests.e2e.world import PASSWORD, Place, World, open_world, redirect
from tests.service import WAYPOST, running, wait_until

SIZE = "48m"
SECONDS = 60.0
PAGE = 4096
FULL = {503, 507}
READS = ("/version", "/redirects", "/pages", "", "/draft", "/draft/redirects", "/history", "/diff", "/lint", "/export")
TSV = "type\tsource\ttarget\tstatus\nBASIC\t/imported\t/x\t301\n"
AGENT = {"name": "edge", "type": "default", "version": 2, "status": "success"}


@contextmanager
def small_disk(at: Path, *options: str) -> Iterator[Path]:
    """Mount a file system of `SIZE` at a path; fail with a message if mounting is not permitted."""
    at.mkdir()
    command = ("mount", "-t", "tmpfs", "-o", ",".join((f"size={SIZE}", *options)), "tmpfs", at)
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        pytest.fail(
            f"Mounting a small disk is not permitted. Run this test as root, or under `unshare -rm`. {done.stderr!r}"
        )
    try:
        yield at
    finally:
        subprocess.run(("umount", "--lazy", at), check=True)


@pytest.fixture(scope="module")
def cramped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Run a service whose data directory is on a small disk; its log is elsewhere."""
    with (
        small_disk(tmp_path_factory.mktemp("cramped") / "disk") as data,
        running(WAYPOST, data) as service,
        open_world(service) as world,
    ):
        yield world


@contextmanager
def filled(data: Path, spare: int = 0) -> Iterator[None]:
    """Fill the disk except for some pages, and free it at the end."""
    filler = data / "filler"
    try:
        with filler.open("wb", buffering=0) as file:
            for size in (1 << 20, PAGE):
                _pour(file.write, bytes(size))
            os.truncate(filler, max(file.tell() - spare * PAGE, 0))
        yield
    finally:
        filler.unlink()


def _pour(write: Any, block: bytes) -> None:
    try:
        while write(block) == len(block):
            pass
    except OSError:
        return


def contents(place: Place) -> dict[str, bytes]:
    """Return the content of a project that everyone sees."""
    return {tail: place.ask("GET", tail, 200).content for tail in READS}


def check_refused(answer: httpx.Response) -> None:
    """Check the response to a write while the disk is full."""
    assert answer.status_code in FULL, answer.text
    found = answer.json()
    assert found["error"] in {"out_of_space", "store_busy", "state_broken", "storage_error"}, found
    assert "full" in found["message"], found


@pytest.fixture
def shop(cramped: World) -> Place:
    """Create a project with two versions, an open draft, and an agent."""
    place = cramped.place()
    place.published("/a", "/b")
    place.add("/c")
    place.ask("POST", "/agents", 200, json=AGENT)
    return place


def writes(shop: Place, record: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    """Return a request for each kind of write of content, as method, path and options."""
    one = f"/draft/redirects/{record['id']}"
    calls: list[tuple[str, str, dict[str, Any]]] = [
        ("POST", "/draft/redirects", {"json": redirect("/x")}),
        ("PUT", one, {"json": redirect(record["source"], "/y")}),
        ("PATCH", one, {"json": {"target": "/y"}}),
        ("DELETE", one, {}),
        ("POST", "/draft/redirects?draft=new", {"json": redirect("/x")}),
        ("POST", "/draft/pages", {"json": {"type": "BASIC", "path": "/p", "content": "x", "contentType": "XML"}}),
        ("POST", "/draft/changes", {"json": [{"op": "put", "kind": "redirect", "item": redirect("/x")}]}),
        ("POST", "/import", {"content": TSV, "headers": {"Content-Type": "text/tab-separated-values"}}),
        ("POST", "/publish", {"json": {}}),
        ("POST", "/publish", {"json": {"ids": [shop.get("/draft/redirects")["items"][-1]["id"]]}}),
        ("POST", "/rollback", {"json": {"version": 1}}),
        ("PATCH", "", {"json": {"description": "Another"}}),
    ]
    return [
        *((method, shop.path + tail, request) for method, tail, request in calls),
        ("POST", f"{shop.space}/projects", {"json": {"name": "other"}}),
        ("POST", "/api/namespaces", {"json": {"name": f"{shop.namespace}-2"}}),
    ]


def test_every_write_of_content_reports_it_and_changes_nothing(cramped: World, shop: Place) -> None:
    before, record = contents(shop), shop.get("/draft/redirects")["items"][0]
    with filled(cramped.service.data):
        for method, path, request in writes(shop, record):
            check_refused(shop.root.send(method, path, **request))
            assert contents(shop) == before, (method, path)
        assert cramped.root.send("GET", f"/api/namespace/{shop.namespace}-2").status_code == 404
    check_after(shop)
    cramped.root.ask("POST", "/api/namespaces", 201, json={"name": f"{shop.namespace}-2"})


def test_a_disk_without_inodes_is_full_too(tmp_path: Path) -> None:
    """Free space does not help where no file can be made: every write of content is 507, and changes nothing."""
    disk = tmp_path / "disk"
    with small_disk(disk, "nr_inodes=3000") as data, running(WAYPOST, data) as service, open_world(service) as world:
        place = world.place()
        place.published("/a", "/b")
        place.add("/c")
        record, namespace = place.get("/draft/redirects")["items"][0], place.namespace
        before, name = contents(place), world.user("editor")
        with without_inodes(data):
            answers = {
                (method, tail): place.root.send(method, tail, **body) for method, tail, body in writes(place, record)
            }
            assert contents(place) == before
            others = [
                world.nobody.send("POST", "/auth/login", json={"username": name, "password": PASSWORD}),
                place.root.send("POST", f"{place.path}/agents", json=AGENT),
                place.root.send("POST", "/api/users", json={"username": "new", "password": PASSWORD, "roles": []}),
            ]
        assert {each.status_code for each in others} <= {200, 201, 507}, [each.text for each in others]
        found = {call: (each.status_code, each.json().get("error")) for call, each in answers.items()}
        assert found == dict.fromkeys(found, (507, "out_of_space"))
        assert world.root.send("GET", f"/api/namespace/{namespace}-2").status_code == 404
        check_after(place)


@contextmanager
def without_inodes(data: Path) -> Iterator[None]:
    """Make empty files until no more can be made, and remove them at the end."""
    folder = data / "filler"
    folder.mkdir()
    try:
        with pytest.raises(OSError, match="No space left"):
            _make_files(folder)
        yield
    finally:
        shutil.rmtree(folder)


def _make_files(folder: Path) -> None:
    for number in range(1_000_000):
        (folder / str(number)).touch()


def check_after(place: Place) -> None:
    """Check that with free space the next write works, and that nothing is left behind."""
    place.ask("POST", "/draft/redirects", 201, json=redirect("/after"))
    number = place.publish()["publishNumber"]
    assert place.get("/history")["items"][0]["publishNumber"] == number
    assert place.sources()[-1] == "/after"
    check_repository(place.repository)
    data = place.world.service.data
    assert [str(path) for path in data.rglob(f"{TEMPORARY_PREFIX}*")] == []
    assert [
        str(path)
        for path in place.repository.rglob("*.lock")
        if path.name not in {"waypost.lock", "waypost-packing.lock"}
    ] == []


def test_logins_tokens_and_agents_report_it_too(cramped: World, shop: Place) -> None:
    """Writes to the database never get a 500, and existing data stays valid."""
    name = cramped.user("editor")
    session = cramped.session(name)
    token = cramped.holder(("redirect", "read"), namespace=shop.namespace)
    agents = shop.get("/agents")["items"]
    with filled(cramped.service.data):
        check_refused(cramped.nobody.send("POST", "/auth/login", json={"username": name, "password": PASSWORD}))
        check_refused(cramped.nobody.send("POST", "/auth/refresh", json={"refreshToken": session["refreshToken"]}))
        check_refused(
            cramped.root.send("POST", "/api/users", json={"username": f"{name}-2", "password": PASSWORD, "roles": []})
        )
        check_refused(shop.root.send("POST", shop.path + "/agents", json={**AGENT, "name": "another"}))
        check_refused(cramped.nobody.send("POST", "/auth/login", json={"username": name, "password": "x"}))
        for _ in range(3):
            assert shop.root.send("PATCH", f"{shop.path}/agents/edge/hit").status_code in {200, *FULL}
        assert token.get(f"{shop.path}/redirects")["total"] == 2
        assert [each["name"] for each in shop.get("/agents")["items"]] == [each["name"] for each in agents]
        assert cramped.root.send("GET", "/health/ping").status_code == 204
        cramped.root.get("/api/users")
    fresh = cramped.nobody.ask("POST", "/auth/refresh", 200, json={"refreshToken": session["refreshToken"]}).json()
    assert fresh["tokens"]["refreshToken"] != session["refreshToken"]
    cramped.session(name)
    shop.ask("POST", "/agents", 200, json={**AGENT, "name": "another"})
    shop.ask("PATCH", "/agents/edge/hit", 200)


def _disk_codes(world: World) -> list[str]:
    """Return the codes that readiness has for the disk, as anyone sees them."""
    checks = world.nobody.ask("GET", "/health/ready", 200).json()["checks"]
    (disk,) = (check for check in checks if check["name"] == "disk")
    return [reason["code"] for reason in disk.get("reasons", ())]


def test_readiness_is_degraded_while_no_space_or_no_inode_is_left(cramped: World) -> None:
    data = cramped.service.data
    wait_until(lambda: _disk_codes(cramped) == [], SECONDS, "room on the disk")
    with filled(data):
        wait_until(lambda: _disk_codes(cramped) == ["disk_full"], SECONDS, "the full disk to be reported")
    wait_until(lambda: _disk_codes(cramped) == [], SECONDS, "the freed disk to be noticed")
    used = sum(1 for _ in data.rglob("*")) + 8
    subprocess.run(("mount", "-o", f"remount,nr_inodes={used}", data), check=True)
    folder = data / "small"
    folder.mkdir()
    try:
        with suppress(OSError):
            for number in range(used):
                (folder / f"{number}").touch()
        wait_until(lambda: _disk_codes(cramped) == ["disk_full"], SECONDS, "the lack of inodes to be reported")
    finally:
        subprocess.run(("mount", "-o", "remount,nr_inodes=1000000", data), check=True)
        shutil.rmtree(folder)
    wait_until(lambda: _disk_codes(cramped) == [], SECONDS, "free inodes to be noticed")


def test_a_publish_that_finds_room_for_a_part_only_leaves_no_part_of_it(cramped: World, shop: Place) -> None:
    """The free space grows from no page to enough: each time all of the publish is stored, or nothing."""
    published = 0
    for spare in range(0, 48, 3):
        before = contents(shop)
        with filled(cramped.service.data, spare):
            answer = shop.root.send("POST", f"{shop.path}/publish", json={})
            if answer.status_code == 200:
                assert shop.get("/version") == answer.json()["version"]
            else:
                check_refused(answer)
                assert contents(shop) == before
        if answer.status_code == 200:
            published += 1
            assert shop.get("/draft")["head"] is None
            shop.add(f"/{spare}")
        check_repository(shop.repository)
    assert published
    check_after(shop)


def test_a_start_with_a_full_disk_and_no_compiled_files_serves_what_was_published(tmp_path: Path) -> None:
    """They are a cache: held in memory while they cannot be written, and written once there is room."""
    tails = ("/version", "/redirects", "/pages")
    with small_disk(tmp_path / "disk") as data:
        with running(WAYPOST, data) as service, open_world(service) as world:
            place = world.place()
            place.published("/a", "/b")
            before = {tail: place.ask("GET", tail, 200).content for tail in tails}
            token = world.root.token
        shutil.rmtree(data / "compiled")
        with filled(data), running(WAYPOST, data) as service, open_world(service) as world:
            again = Place(world, place.namespace, place.project, Caller(world.http, token))
            for _ in range(6):
                assert {tail: again.ask("GET", tail, 200).content for tail in tails} == before
            check_refused(again.root.send("POST", f"{again.path}/draft/redirects", json=redirect("/x")))
            (data / "filler").write_bytes(b"")
            check_after(again)
