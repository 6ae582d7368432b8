"""The command `waypost preview`: who may use it, where it listens, how it starts, and what it leaves at its end."""

import http.client
import os
import signal
import socket
import stat
from pathlib import Path

import httpx
import pytest

import schemas
from cli.preview.temporary_data import PREFIX
from tests.cli.preview.world import SECONDS, RunningPreview, git, previewing
from tests.cli.rule_folders import PROJECT, project, write
from tests.cli.terminal import invoke, run, unwrap
from tests.service import wait_until

_ALLOWED = {
    ("POST", "/api/namespace/{namespace}/project/{project}/test"),
    ("POST", "/api/namespace/{namespace}/project/{project}/agents"),
    ("DELETE", "/api/namespace/{namespace}/project/{project}/agents/{name}"),
    ("PATCH", "/api/namespace/{namespace}/project/{project}/agents/{name}/hit"),
    ("POST", "/compat/flecto/api/namespace/{namespace}/project/{project}/agents"),
    ("PATCH", "/compat/flecto/api/namespace/{namespace}/project/{project}/agents/{name}/hit"),
    ("POST", "/git/{namespace}.git/git-upload-pack"),
}


def raw(preview: RunningPreview, headers: list[tuple[str, str]], method: str = "GET", path: str = "/") -> int:
    """Send a request with exactly these headers; return the status."""
    connection = http.client.HTTPConnection("127.0.0.1", preview.client.base_url.port, timeout=SECONDS)
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    for name, value in headers:
        connection.putheader(name, value)
    connection.endheaders()
    try:
        return connection.getresponse().status
    finally:
        connection.close()


def test_it_answers_this_machine_without_a_login(shared: RunningPreview) -> None:
    port, shop = shared.client.base_url.port, f"{shared.project('shop')}/version"
    assert shared.client.get("/api/me").json()["username"] == "local"
    for token in ({}, {"Authorization": "Bearer anything"}, {"Authorization": "Basic nothing"}):
        assert shared.client.get(shop, headers=token).status_code == httpx.codes.OK
    for host in (f"localhost:{port}", f"127.0.0.1:{port}", f"[::1]:{port}", f"LOCALHOST:{port}"):
        assert raw(shared, [("Host", host)], path=shop) == httpx.codes.OK


def test_other_hosts_are_refused(shared: RunningPreview) -> None:
    port = shared.client.base_url.port
    hosts = [
        "evil.example",
        f"evil.example:{port}",
        "localhost",
        "127.0.0.1:1",
        f"127.0.0.1.evil.example:{port}",
        f"localhost.:{port}",
    ]
    for path in ("/", "/nowhere", "/openapi.json", f"{shared.project('shop')}/redirects", "/health/ping"):
        assert {raw(shared, [("Host", host)], path=path) for host in hosts} == {httpx.codes.MISDIRECTED_REQUEST}
    assert raw(shared, []) == httpx.codes.BAD_REQUEST
    both = [("Host", f"localhost:{port}"), ("Host", "evil.example")]
    assert raw(shared, both) in {httpx.codes.BAD_REQUEST, httpx.codes.MISDIRECTED_REQUEST}


def test_other_sites_ask_for_nothing(shared: RunningPreview) -> None:
    port, path = shared.client.base_url.port, f"{shared.project('shop')}/agents/edge/hit"
    host = ("Host", f"localhost:{port}")
    for headers in (("Origin", "http://evil.example"), ("Origin", "null"), ("Sec-Fetch-Site", "same-site")):
        assert raw(shared, [host, headers], "PATCH", path) == httpx.codes.FORBIDDEN
    for headers in (("Origin", f"http://localhost:{port}"), ("Sec-Fetch-Site", "same-origin")):
        assert raw(shared, [host, headers], "PATCH", path) == httpx.codes.OK


def test_all_changes_are_refused_and_no_others(shared: RunningPreview) -> None:
    names = {
        "namespace": shared.namespace,
        "project": "shop",
        "name": "edge",
        "id": "1",
        "delivery": "1",
        "session": "1",
    }
    for operation in schemas.operations():
        if operation.method in {"GET", "HEAD"}:
            continue
        answer = shared.client.request(operation.method, operation.path.format(**names), json={})
        refused = answer.status_code == httpx.codes.FORBIDDEN and answer.json()["error"] == "preview_only"
        assert refused == ((operation.method, operation.path) not in _ALLOWED), (operation, answer.text)
    assert str(shared.folder) in shared.client.post("/auth/login", json={}).json()["message"]


def test_tester_lint_export_and_clone_work(shared: RunningPreview, tmp_path: Path) -> None:
    tested = shared.client.post(f"{shared.project('shop')}/test", json={"urls": ["/product/1001.html"]}).json()
    assert tested["results"][0]["rule"]["file"].startswith("shop/")
    assert shared.client.get(f"{shared.project('shop')}/lint").json()["total"] == 0
    git(tmp_path, "clone", "-q", f"{shared.client.base_url}/git/{shared.namespace}.git", "clone")
    assert (tmp_path / "clone/shop/project.yaml").exists()


def test_the_page_is_the_dashboard_and_json_tells_what_is_served(shared: RunningPreview) -> None:
    found = shared.client.get("/").json()
    assert found["preview"]["folder"] == str(shared.folder)
    assert [each["name"] for each in found["preview"]["projects"]] == ["company", "docs", "shop"]
    page = shared.client.get("/", headers={"Accept": "text/html"})
    assert page.text == shared.client.get("/dashboard/overview").text
    assert page.headers["content-security-policy"].startswith("default-src 'self';")


def test_open_opens_the_browser(folder: Path, scratch: Path) -> None:
    script = scratch / "browser"
    script.write_text(f'#!/bin/sh\necho "$1" > {scratch}/opened\n', encoding="utf-8")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    with previewing(folder, scratch, "--open", env={"BROWSER": str(script)}) as preview:
        opened = scratch / "opened"
        wait_until(lambda: opened.exists() and opened.read_text(encoding="utf-8"), SECONDS, "the browser")
        assert opened.read_text(encoding="utf-8").strip() == str(preview.client.base_url)


def test_two_previews_at_once(folder: Path, tmp_path: Path, scratch: Path) -> None:
    other = tmp_path / "other"
    project(other / "blog")
    (tmp_path / "second").mkdir()
    with (
        previewing(folder, scratch) as one,
        previewing(other, tmp_path / "second", "--name", "acme", namespace="acme") as two,
    ):
        assert one.sources("blog") is None
        assert two.sources("blog") == ["/old"]


def test_a_killed_preview_leaves_a_folder_that_the_next_one_removes(folder: Path, scratch: Path) -> None:
    with previewing(folder, scratch, ends_itself=False) as killed:
        (left,) = killed.temporary.iterdir()
        os.kill(killed.process.pid, signal.SIGKILL)
        assert killed.process.wait(SECONDS) == -signal.SIGKILL
        wait_until(lambda: _is_closed(killed), SECONDS, "the server of the killed preview to end")
    assert left.name.startswith(PREFIX)
    with previewing(folder, scratch, ends_itself=False) as other:
        assert not left.exists()
        (running,) = other.temporary.iterdir()
        with previewing(folder, scratch, ends_itself=False) as third:
            assert running.exists()
            assert len(list(third.temporary.iterdir())) == 2
            os.kill(third.process.pid, signal.SIGTERM)
            assert third.process.wait(SECONDS) == 0
        assert list(other.temporary.iterdir()) == [running]
        assert other.sources("blog") is None
        os.kill(other.process.pid, signal.SIGHUP)
        assert other.process.wait(SECONDS) == 0
    assert not any(other.temporary.iterdir())


def _is_closed(preview: RunningPreview) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", preview.client.base_url.port or 0)) != 0


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.com", "10.0.0.1", "::ffff:1.2.3.4", ""])  # noqa: S104 - refused
def test_other_addresses_are_refused(tmp_path: Path, host: str) -> None:
    outcome = invoke("preview", project(tmp_path / "shop"), "--host", host)
    assert outcome.code == 2
    assert "a preview has no login: use 127.0.0.1, ::1 or localhost" in unwrap(outcome.err)


def test_a_port_in_use_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        outcome = invoke("preview", project(tmp_path / "shop"), "--port", port)
    assert outcome.code == 3
    assert (
        f"Cannot serve on 127.0.0.1:{port}: the address is in use; stop the other server, or choose another address with --port."
        in outcome.err
    )


def test_bad_folders_and_names_are_refused(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare", "bare.git")
    assert "Clone it, and preview the clone." in invoke("preview", tmp_path / "bare.git").err
    assert invoke("preview", tmp_path / "missing").code == 2
    assert "letters, digits" in invoke("preview", tmp_path, "--name", "a b").err


def test_temporary_files_never_are_in_the_folder(tmp_path: Path) -> None:
    folder = write(tmp_path / "acme", {"shop/project.yaml": PROJECT, "tmp/keep": ""})
    outcome = run("preview", folder, "--port", "0", env={"TMPDIR": str(folder / "tmp")})
    assert outcome.code == 2
    assert "Set TMPDIR to a folder outside it." in outcome.err


def test_a_project_in_a_folder_without_a_name_for_it(tmp_path: Path, scratch: Path) -> None:
    folder = project(tmp_path / "my shop")
    with previewing(folder, scratch, namespace="my-shop") as preview:
        assert "Rename it, or preview the folder above it." in preview.printed
