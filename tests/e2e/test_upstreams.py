"""Upstreams of a running service: syncs in the background, two Waypost services, webhooks of hosts, the state by API."""

import json
import os
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from api.auth.permissions.grants import Grant
from gitstore.file_lock import hold_lock_file
from gitstore.git.lock import hold
from gitstore.upstream.upstream_settings import read_settings
from tests.api.upstreams.host_bodies import HOSTS, SECRET, Sent, github, gitlab, gitlab_signed, hex_digest
from tests.cli.terminal import invoke, invoke_ok
from tests.docs.blocks import blocks
from tests.e2e.caller import Caller
from tests.e2e.git import check_repository, git, rules
from tests.e2e.world import Place, World, open_world
from tests.metrics_text import read_metrics, total
from tests.service import ROOT, WAYPOST, running, wait_until

BRANCH = "refs/heads/release"
SECONDS = 60.0


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder in which upstreams may be."""
    return tmp_path_factory.mktemp("hosted")


@pytest.fixture(scope="module")
def here(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Run a service that may reach upstreams on this machine."""
    settings = {"WAYPOST_UPSTREAM_NETWORKS": "127.0.0.0/8", "WAYPOST_UPSTREAM_FOLDERS": str(folder)}
    with running(WAYPOST, tmp_path_factory.mktemp("here") / "data", settings) as service, open_world(service) as world:
        yield world


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Run another service."""
    with running(WAYPOST, tmp_path_factory.mktemp("there") / "data") as service, open_world(service) as world:
        yield world


class Upstream:
    """The upstream of a namespace: a bare repository, and calls on it."""

    def __init__(self, place: Place, folder: Path) -> None:
        self.place = place
        self.path = folder / f"{place.namespace}.git"
        git(folder, "init", "-q", "--bare", "--initial-branch=release", str(self.path))
        self._work = folder / f"{place.namespace}-work"

    def set(self, mode: str, **fields: Any) -> None:
        """Make it the upstream, and wait for the first sync."""
        body = {"url": str(self.path), "mode": mode, "poll": 3600, "hookSecret": SECRET, **fields}
        self.ask("PUT", "", 200, json=body)
        self.wait("synced")

    def ask(self, method: str, tail: str, status: int, **request: Any) -> Any:
        """Send a request below the upstream's path, and return its JSON, if it has any."""
        answer = self.place.root.ask(method, f"{self.place.space}/upstream{tail}", status, **request)
        return answer.json() if answer.content else None

    def wait(self, status: str) -> Any:
        """Wait until the upstream has a status, and return what the API shows of it."""
        found = {}

        def probe() -> bool:
            found.update(self.ask("GET", "", 200))
            return bool(found["status"] == status)

        try:
            wait_until(probe, SECONDS, f"status {status}")
        except AssertionError as ex:
            raise AssertionError(f"{ex}: {found}") from ex
        return found

    def wait_for_tip(self, commit: str) -> None:
        """Wait until its branch is at a commit."""
        wait_until(lambda: self.tip == commit, SECONDS, f"the upstream to be at {commit}")

    @property
    def tip(self) -> str:
        """The commit of its branch."""
        return git(self.path, "for-each-ref", "--format=%(objectname)", BRANCH)

    def commit(self, path: str, text: str) -> str:
        """Commit a file with C git, and push it."""
        if not self._work.exists():
            git(self.path.parent, "clone", "-q", str(self.path), str(self._work))
        git(self._work, "pull", "-q", "--ff-only")
        (self._work / path).write_text(text, "utf-8")
        git(self._work, "add", "-A")
        git(self._work, "commit", "-q", "-m", "On the host")
        git(self._work, "push", "-q", "origin", "HEAD:release")
        return git(self._work, "rev-parse", "HEAD")

    def hook(self, sent: Sent, status: int) -> Any:
        """Send a webhook of its host."""
        caller = self.place.world.nobody
        headers = {name: value.encode() for name, value in sent.headers.items()}  # as hosts do; httpx takes only ASCII
        headers["Content-Type"] = b"application/json"
        path = f"{self.place.space}/upstream/webhook"
        return caller.ask("POST", path, status, content=sent.body, headers=headers).json()


@pytest.fixture
def upstream(here: World, folder: Path) -> Upstream:
    """Return the upstream of a namespace with a published rule."""
    place = here.place()
    place.published("/a")
    return Upstream(place, folder)


def test_a_mirror_at_a_path_gets_each_publish(upstream: Upstream) -> None:
    upstream.set("mirror")
    for source in ("/b", "/c"):
        upstream.wait_for_tip(upstream.place.published(source)["version"])
    check_repository(upstream.path)
    shown = upstream.wait("synced")
    assert (shown["tip"], shown["release"], shown["ahead"], shown["behind"]) == (upstream.tip, upstream.tip, 0, 0)


def test_a_mirror_on_another_waypost_has_the_same_versions_and_numbers(upstream: Upstream, there: World) -> None:
    """Its token has the grants that the how-to names, and no others."""
    namespace = there.namespace()
    command = example("sh mirror-token").replace("--namespace acme", f"--namespace {namespace}")
    _, create = command.replace("\\\n", "").strip().splitlines()
    assert create.startswith("waypost token create mirror ")
    words = create.split()[1:]
    token = invoke_ok(*words, "--data", there.service.data).out.split()[-1]
    url = f"{there.service.url}/git/{namespace}.git"
    upstream.set("mirror", url=url, username="mirror", password=token)
    other = Place(there, namespace, "shop", there.root)
    assert other.get("/version") == upstream.place.get("/version")
    published = upstream.place.published("/b")
    other.wait_for(published["version"])
    assert other.get("/history")["items"] == upstream.place.get("/history")["items"]
    assert other.sources() == ["/a", "/b"]
    check_repository(other.repository)
    assert token not in upstream.place.world.service.log.read_text("utf-8")
    assert token not in json.dumps(upstream.ask("GET", "", 200))


def test_a_mirror_on_another_waypost_needs_more_than_a_publisher(upstream: Upstream, there: World) -> None:
    namespace = there.namespace()
    grants = [Grant("*", "*", each, "write") for each in ("redirect", "page", "project")]
    token = there.token([*grants, Grant("*", "*", "project", "publish"), Grant("*", "*", "project", "read")])
    url = f"{there.service.url}/git/{namespace}.git"
    body = {"url": url, "mode": "mirror", "username": "mirror", "password": token}
    upstream.ask("PUT", "", 200, json=body)
    shown = upstream.wait("failing")
    assert shown["fault"]["code"] == "upstream_refused"
    assert "project:override" in shown["fault"]["message"]


def test_secrets_stay_only_for_the_hosts_that_they_were_given_for(upstream: Upstream) -> None:
    """Else a caller who may not read a password could have it sent to a host of its own."""
    body = {"url": "https://127.0.0.1:1/acme/rules.git", "mode": "mirror", "password": "secret-of-another"}
    assert upstream.ask("PUT", "", 200, json=body)["hasPassword"]
    body.pop("password")
    assert upstream.ask("PUT", "", 200, json=body)["hasPassword"]
    body |= {"host": "gitea", "hostUrl": "https://127.0.0.2:1"}
    assert not upstream.ask("PUT", "", 200, json=body)["hasPassword"]


def test_a_settings_file_that_cannot_be_read_is_written_again(upstream: Upstream) -> None:
    upstream.set("mirror")
    file = upstream.place.repository / "waypost-upstream"
    written = file.read_bytes()
    for damaged in (b"{", b"[]", json.dumps({**json.loads(written), "mode": "both"}).encode()):
        file.write_bytes(damaged)
        wait_until(lambda: file.read_bytes() == written, 30, "the settings to be written again")
    file.write_bytes(json.dumps({**json.loads(written), "ofANewerVersion": 1}).encode())
    published = upstream.place.published("/b")
    wait_until(lambda: upstream.tip == published["version"], 120, "the mirror to have the publish")


def test_a_source_is_followed_and_published_to(upstream: Upstream) -> None:
    upstream.set("source")
    published = upstream.place.published("/b")
    assert upstream.tip == published["version"]
    commit = upstream.commit("shop/redirects.yaml", rules("/a", "/host"))
    assert upstream.ask("POST", "/sync", 202)["mode"] == "source"
    upstream.place.wait_for(commit)
    assert upstream.place.sources() == ["/a", "/host"]


def test_the_webhook_of_the_how_to_is_accepted_once(upstream: Upstream) -> None:
    upstream.set("source")
    url = f"{upstream.place.world.service.url}{upstream.place.space}/upstream/webhook"
    lines = example("sh host-webhook").replace("refs/heads/main", BRANCH).splitlines(keepends=True)
    script = "".join([f"URL={url}\n", *lines[1:], "\n", *lines[3:]])
    done = subprocess.run(
        ["bash", "-euc", script],
        env={**os.environ, "WAYPOST_UPSTREAM_HOOK_SECRET": SECRET},
        capture_output=True,
        text=True,
        check=True,
    )
    first, _, second = done.stdout.partition("}")
    assert json.loads(first + "}") == {"action": "sync"}
    assert json.loads(second)["error"] == "webhook_replayed"


def example(kind: str) -> str:
    """Return the block of the how-to page with these words behind its fence."""
    page = ROOT / "docs" / "how-to" / "connect-an-upstream.md"
    (found,) = [block.text for block in blocks(page.read_text("utf-8")) if " ".join(block.words) == kind]
    return found


def test_a_faulty_tip_is_told_by_api_readiness_and_log_and_ends(upstream: Upstream) -> None:
    upstream.set("source")
    before = upstream.place.sources()
    tip = upstream.commit("shop/redirects.yaml", "redirects: [\n")
    upstream.ask("POST", "/sync", 202)
    shown = upstream.wait("failing")
    assert (shown["fault"]["code"], shown["tip"], shown["behind"]) == ("upstream_invalid", tip, 1)
    assert "shop/redirects.yaml" in shown["fault"]["problems"][0]
    assert upstream.place.sources() == before
    wait_until(lambda: read_reasons(upstream) == ["upstream_invalid"], SECONDS, "readiness to say so")
    lines = upstream.place.world.service.log_lines()
    assert any(line["event"] == "upstream_fault" and line["fault"] == "upstream_invalid" for line in lines)
    fixed = upstream.commit("shop/redirects.yaml", rules("/fixed"))
    upstream.ask("POST", "/sync", 202)
    upstream.place.wait_for(fixed)
    upstream.wait("synced")
    assert upstream.place.sources() == ["/fixed"]
    wait_until(lambda: read_reasons(upstream) == [], SECONDS, "readiness to recover")


def test_a_fault_that_a_command_meets_is_in_the_log_of_the_service_too(upstream: Upstream) -> None:
    upstream.set("source")
    service = upstream.place.world.service
    names = ("upstream_fault", "upstream_recovered")

    def logged() -> list[str]:
        lines = [each for each in service.log_lines() if each.get("namespace") == upstream.place.namespace]
        return [each["event"] for each in lines if each["event"] in names]

    def sync() -> int:
        env = {"WAYPOST_UPSTREAM_FOLDERS": str(upstream.path.parent)}
        return invoke("upstream", "sync", upstream.place.namespace, "--data", service.data, env=env).code

    upstream.commit("shop/redirects.yaml", "redirects: [\n")
    assert sync() == 1
    wait_until(lambda: logged() == ["upstream_fault"], SECONDS, "the fault in the log")
    upstream.commit("shop/redirects.yaml", rules("/fixed"))
    assert sync() == 0
    wait_until(lambda: logged() == list(names), SECONDS, "its end in the log")


def read_reasons(upstream: Upstream) -> list[str]:
    """Return the codes by which readiness is degraded for this namespace."""
    ready = upstream.place.root.get("/health/ready")
    (check,) = [each for each in ready["checks"] if each["name"] == "upstreams"]
    assert (check["status"] == "degraded") is bool(check.get("reasons"))
    return [each["code"] for each in check.get("reasons", []) if each["namespace"] == upstream.place.namespace]


def test_while_a_source_is_away_only_publishing_is_refused(upstream: Upstream) -> None:
    upstream.set("source")
    away = upstream.path.rename(upstream.path.with_suffix(".away"))
    upstream.place.add("/b")
    first = upstream.place.refused("POST", "/publish", 503, "upstream_unavailable")
    assert first["message"].startswith("Nothing was published: publishes go to the upstream of ")
    upstream.place.add("/c")
    assert upstream.place.sources() == ["/a"]
    refused = upstream.place.ask("POST", "/publish", 503)
    assert refused.headers["Retry-After"] in {"2", "3", "4", "5"}
    away.rename(upstream.path)
    upstream.ask("POST", "/sync", 202)
    upstream.wait("synced")
    published = upstream.place.publish()
    assert upstream.tip == published["version"]


def test_a_suspended_upstream_is_not_synced_until_it_is_resumed(upstream: Upstream) -> None:
    upstream.set("mirror", poll=5)
    assert upstream.ask("POST", "/suspend", 200)["status"] == "suspended"
    before, version = upstream.tip, upstream.place.published("/b")["version"]
    upstream.ask("POST", "/sync", 202)
    assert upstream.wait("suspended")["tip"] == before == upstream.tip
    upstream.ask("POST", "/resume", 200)
    upstream.wait("synced")
    assert upstream.tip == version


def test_a_removed_upstream_is_left_alone(upstream: Upstream) -> None:
    upstream.set("mirror")
    before = upstream.tip
    upstream.ask("DELETE", "", 204)
    upstream.place.root.refused("GET", f"{upstream.place.space}/upstream", 404, "not_found")
    upstream.place.published("/b")
    assert not (upstream.place.repository / "waypost-upstream").exists()
    assert upstream.tip == before


def test_a_change_while_the_repository_is_locked_is_answered_and_applied_later(upstream: Upstream) -> None:
    upstream.set("mirror")
    repository = upstream.place.repository
    with hold(repository):
        begun = time.monotonic()
        assert upstream.ask("POST", "/suspend", 200)["status"] == "suspended"
        assert time.monotonic() - begun < 10
    wait_until(lambda: is_suspended(repository), SECONDS, "the file to say so")
    with hold(repository):
        upstream.ask("DELETE", "", 204)
    wait_until(lambda: read_settings(repository) is None, SECONDS, "the file to be removed")


def test_what_is_done_with_an_upstream_is_recorded(upstream: Upstream) -> None:
    upstream.set("mirror")
    for tail in ("/suspend", "/resume"):
        upstream.ask("POST", tail, 200)
    upstream.ask("DELETE", "", 204)
    found = upstream.place.root.get("/api/audit", namespace=upstream.place.namespace)["items"]
    events = [each["event"] for each in found if each["event"].startswith("upstream_")]
    assert events[::-1] == ["upstream_set", "upstream_suspended", "upstream_resumed", "upstream_removed"]


def is_suspended(repository: Path) -> bool:
    """Tell whether the jobs of a namespace take its upstream as suspended."""
    found = read_settings(repository)
    return found is not None and found.is_suspended


def test_a_poll_brings_changes_in_without_a_webhook(upstream: Upstream) -> None:
    upstream.set("source", poll=5)
    commit = upstream.commit("shop/redirects.yaml", rules("/polled"))
    upstream.place.wait_for(commit)


@pytest.mark.parametrize("host", HOSTS)
def test_a_webhook_of_a_host_brings_changes_in_once(upstream: Upstream, host: str) -> None:
    upstream.set("source", hookSecret=SECRET, proposals="none")
    make = HOSTS[host]
    commit = upstream.commit("shop/redirects.yaml", rules(f"/{host}"))
    assert upstream.hook(make("refs/heads/other"), 202) == {"action": "ignored"}
    assert upstream.hook(make(BRANCH), 202) == {"action": "sync"}
    upstream.place.wait_for(commit)
    assert upstream.hook(make(BRANCH), 409)["error"] == "webhook_replayed"
    assert upstream.hook(make(BRANCH, nonce="another push"), 202) == {"action": "sync"}


def test_a_signed_webhook_of_gitlab_has_a_time(upstream: Upstream) -> None:
    upstream.set("source")
    now = int(time.time())
    assert upstream.hook(gitlab_signed(BRANCH, at=now), 202) == {"action": "sync"}
    assert upstream.hook(gitlab_signed(BRANCH, at=now), 409)["error"] == "webhook_replayed"
    assert upstream.hook(gitlab_signed(BRANCH, at=now - 3600), 401)["error"] == "invalid_signature"


SPOILT: Sequence[Callable[[Sent], Sent]] = (
    lambda sent: sent._replace(headers={}),
    lambda sent: sent._replace(body=sent.body + b" "),
    lambda sent: sent._replace(headers={**sent.headers, "X-Hub-Signature-256": "sha256="}),
    lambda sent: sent._replace(headers={**sent.headers, "X-Hub-Signature-256": "sha1=x"}),
    lambda sent: sent._replace(headers={**sent.headers, "X-Gitea-Signature": "0" * 64}),
    lambda sent: sent._replace(headers={**sent.headers, "X-Gitlab-Token": SECRET[:-1]}),
    lambda _sent: github(BRANCH, "another-secret-of-16"),
    lambda _sent: github(BRANCH, ""),
)


def test_a_webhook_without_a_valid_signature_is_refused(upstream: Upstream) -> None:
    upstream.ask("PUT", "", 200, json={"url": str(upstream.path), "mode": "mirror", "hookSecret": SECRET})
    for spoil in SPOILT:
        assert upstream.hook(spoil(github(BRANCH)), 401)["error"] == "invalid_signature"
    for body, status in ((b"[]", 422), (b"{", 400)):
        headers = {"X-GitHub-Event": "push", "X-Hub-Signature-256": f"sha256={hex_digest(body)}"}
        upstream.hook(Sent(headers, body), status)
    assert upstream.hook(github(BRANCH), 202) == {"action": "sync"}


def test_a_ref_that_is_no_text_is_of_no_branch(upstream: Upstream) -> None:
    upstream.set("source")
    for ref in (b"[" * 1020 + b"]" * 1020, b"{}", b"7", b"null"):
        body = b'{"ref": %b}' % ref
        headers = {"X-GitHub-Event": "push", "X-Hub-Signature-256": f"sha256={hex_digest(body)}"}
        assert upstream.hook(Sent(headers, body), 202) == {"action": "ignored"}


def test_a_secret_may_have_any_characters(upstream: Upstream) -> None:
    secret = "zweites-geheimnis-ü-öäß-秘密"
    upstream.set("source", hookSecret=secret)
    for number, (host, make) in enumerate(HOSTS.items()):
        assert upstream.hook(make(BRANCH, secret, f"push {number}"), 202) == {"action": "sync"}, host
    wrong = {"X-Gitlab-Event": "Push Hook", "X-Gitlab-Token": secret[:-1]}
    assert upstream.hook(gitlab(BRANCH)._replace(headers=wrong), 401)["error"] == "invalid_signature"


def test_a_webhook_for_no_upstream_is_refused_alike(here: World, upstream: Upstream) -> None:
    assert upstream.hook(github(BRANCH), 401)["error"] == "invalid_signature"
    path = "/api/namespace/none/upstream/webhook"
    here.nobody.refused("POST", path, 401, "invalid_signature", json={})
    here.nobody.refused("POST", path, 415, "unsupported_media_type", data={"payload": "{}"})


def test_a_webhook_for_a_name_that_no_namespace_can_have_is_not_found(here: World) -> None:
    bodies: list[dict[str, Any]] = [{"json": {}}, {"data": {"payload": "{}"}}, {"content": b"\xff"}]
    for name in ("a%20b", ".git", "%2E%2E", "%C3%BC", "a%2Fb", "a%00b", "a" * 200):
        path = f"/api/namespace/{name}/upstream/webhook"
        for body in bodies:
            here.nobody.refused("POST", path, 404, "not_found", **body)


def test_a_webhook_that_is_too_large_is_refused(upstream: Upstream) -> None:
    upstream.set("mirror")
    sent = github(BRANCH)
    assert upstream.hook(sent._replace(body=sent.body + b" " * (9 << 20)), 413)["error"] == "body_too_large"


INVALID = (
    {"url": "https://user:pass@host/a", "mode": "source"},
    {"url": "ext::sh -c id", "mode": "mirror"},
    {"url": "/srv/a.git", "mode": "both"},
    {"url": "/srv/a.git", "mode": "source", "branch": "a..b"},
    {"url": "/srv/a.git", "mode": "source", "hookSecret": "short"},
    {"url": "/srv/a.git", "mode": "source", "path": "a/../b"},
    {"url": "/srv/a.git", "mode": "mirror", "proposals": "branches"},
    {"url": "/srv/a.git", "mode": "source", "drafts": "elsewhere"},
    {"mode": "source"},
)


def test_an_invalid_upstream_is_not_stored(upstream: Upstream) -> None:
    for body in INVALID:
        upstream.ask("PUT", "", 422, json=body)
    upstream.ask("GET", "", 404)


def test_two_administrators_do_not_overwrite_each_others_upstream(here: World, upstream: Upstream) -> None:
    path = f"{upstream.place.space}/upstream"
    one, other = here.person("admin"), here.person("admin")
    body = {"url": str(upstream.path), "mode": "mirror", "poll": 3600, "password": "the first"}
    one.refused("PUT", path, 412, "stale_upstream", json=body, headers={"If-Match": '"0123456789abcdef"'})
    one.ask("PUT", path, 200, json=body)
    seen = one.ask("GET", path, 200).headers["ETag"]
    for tail in ("sync", "suspend", "resume"):
        one.ask("POST", f"{path}/{tail}", 202 if tail == "sync" else 200)
    assert one.ask("GET", path, 200).headers["ETag"] == seen
    changed = other.ask("PUT", path, 200, json={**body, "password": "another"}, headers={"If-Match": seen})
    assert changed.headers["ETag"] == f'"{changed.json()["etag"]}"' != seen
    one.refused("PUT", path, 412, "stale_upstream", json={**body, "poll": 60}, headers={"If-Match": seen})
    assert one.get(path)["poll"] == 3600
    one.ask("PUT", path, 200, json={**body, "poll": 60}, headers={"If-Match": changed.headers["ETag"]})
    other.ask("DELETE", path, 204)
    one.refused("PUT", path, 412, "stale_upstream", json=body, headers={"If-Match": changed.headers["ETag"]})
    one.refused("PUT", path, 400, "bad_header", json=body, headers={"If-Match": "unquoted"})
    one.ask("GET", path, 404)
    other.ask("PUT", path, 200, json={**body, "password": "of the new one"})
    one.refused("PUT", path, 412, "stale_upstream", json=body, headers={"If-Match": seen})


def test_two_administrators_at_once_set_the_first_upstream_once(here: World, upstream: Upstream) -> None:
    path, client = f"{upstream.place.space}/upstream", here.http
    body, only = {"url": str(upstream.path), "mode": "mirror", "poll": 3600}, {"If-None-Match": "*"}
    root = Caller(client, here.root.token)
    with ThreadPoolExecutor(8) as pool:
        answers = list(
            pool.map(lambda at: root.send("PUT", path, json={**body, "poll": 3600 + at}, headers=only), range(8))
        )
    assert Counter(each.status_code for each in answers) == {200: 1, 412: 7}
    (won,) = (each.json() for each in answers if each.is_success)
    assert {each.json()["error"] for each in answers if each.is_error} == {"stale_upstream"}
    assert root.get(path)["poll"] == won["poll"]
    root.refused("PUT", path, 400, "bad_header", json=body, headers={"If-None-Match": f'"{won["etag"]}"'})
    root.refused("PUT", path, 412, "stale_upstream", json=body, headers={**only, "If-Match": f'"{won["etag"]}"'})
    assert root.get(path)["etag"] == won["etag"]


def test_an_upstream_that_changed_since_it_was_read_is_not_removed(here: World, upstream: Upstream) -> None:
    path, one, other = f"{upstream.place.space}/upstream", here.person("admin"), here.person("admin")
    body = {"url": str(upstream.path), "mode": "mirror", "poll": 3600}
    seen = one.ask("PUT", path, 200, json=body).headers["ETag"]
    now = other.ask("PUT", path, 200, json={**body, "poll": 60}, headers={"If-Match": seen}).headers["ETag"]
    one.refused("DELETE", path, 412, "stale_upstream", headers={"If-Match": seen})
    one.refused("DELETE", path, 400, "bad_header", headers={"If-Match": "unquoted"})
    assert other.get(path)["poll"] == 60
    one.ask("DELETE", path, 204, headers={"If-Match": now})
    one.refused("DELETE", path, 404, "not_found", headers={"If-Match": now})


def test_upstreams_need_grants_and_are_in_the_audit_trail(here: World, upstream: Upstream) -> None:
    reader = here.holder(("namespace", "read"), namespace=upstream.place.namespace)
    path = f"{upstream.place.space}/upstream"
    body = {"url": str(upstream.path), "mode": "mirror"}
    reader.refused("PUT", path, 403, "forbidden", json=body)
    reader.refused("POST", f"{path}/sync", 403, "forbidden")
    upstream.set("mirror")
    assert reader.get(path)["url"] == str(upstream.path)
    entries = upstream.place.root.get("/api/audit", namespace=upstream.place.namespace, limit=100)["items"]
    assert "upstream_set" in {entry["event"] for entry in entries}
    assert SECRET not in json.dumps(entries)


def test_setting_an_upstream_needs_the_grants_for_what_it_does(here: World, upstream: Upstream) -> None:
    namespace, path = upstream.place.namespace, f"{upstream.place.space}/upstream"
    needed = {
        ("source", "local"): [("project", "publish"), ("project", "override")],
        ("mirror", "local"): [("project", "read"), ("redirect", "read"), ("page", "read")],
        ("mirror", "push"): [("project", "read"), ("redirect", "read"), ("page", "read")],
    }
    needed["source", "push"] = needed["source", "local"] + needed["mirror", "push"]
    for (mode, drafts), pairs in needed.items():
        body = {"url": str(upstream.path), "mode": mode, "drafts": drafts}
        for left_out in pairs:
            some = [("namespace", "write"), *(each for each in pairs if each != left_out)]
            caller = here.holder(*some, namespace=namespace)
            error = caller.refused("PUT", path, 403, "forbidden", json=body)
            assert ":".join(left_out) in error["message"]
        in_one = [Grant(namespace, "shop", *pair) for pair in pairs] + [Grant(namespace, "*", "namespace", "write")]
        Caller(here.http, here.token(in_one)).refused("PUT", path, 403, "forbidden", json=body)
    upstream.ask("GET", "", 404)
    for (mode, drafts), pairs in needed.items():
        caller = here.holder(("namespace", "write"), *pairs, namespace=namespace)
        caller.ask("PUT", path, 200, json={"url": str(upstream.path), "mode": mode, "drafts": drafts})


def test_upstreams_are_in_the_metrics_without_their_names(upstream: Upstream) -> None:
    def read(name: str, **labels: str) -> float:
        return total(read_metrics(upstream.place.world.http, upstream.place.root.token), name, **labels)

    before = read("waypost_upstream_syncs_total", kind="fetch", outcome="done")
    upstream.set("source")
    wait_until(
        lambda: read("waypost_upstream_syncs_total", kind="fetch", outcome="done") > before, SECONDS, "a counted fetch"
    )
    wait_until(lambda: read("waypost_upstreams", state="synced") >= 1, SECONDS, "the gauge")
    assert read("waypost_upstream_sync_seconds_total", kind="fetch") > 0
    failing = read("waypost_upstreams", state="failing")
    upstream.path.rename(upstream.path.with_suffix(".away"))
    upstream.ask("POST", "/sync", 202)
    upstream.wait("failing")
    wait_until(lambda: read("waypost_upstreams", state="failing") == failing + 1, SECONDS, "a failing one")
    assert read("waypost_upstream_syncs_total", kind="fetch", outcome="upstream_unavailable") >= 1
    assert read("waypost_upstream_oldest_sync_seconds") > 0
    suspended = read("waypost_upstreams", state="suspended")
    upstream.ask("POST", "/suspend", 200)
    wait_until(lambda: read("waypost_upstreams", state="suspended") == suspended + 1, SECONDS, "a suspended one")
    answer = upstream.place.world.http.get("/metrics", headers={"Authorization": f"Bearer {upstream.place.root.token}"})
    assert upstream.place.namespace not in answer.text


def test_a_token_of_the_service_in_a_fetched_file_is_found(here: World, upstream: Upstream) -> None:
    upstream.set("source")
    before = upstream.place.get("/version")
    token = here.token([Grant("*", "*", "*", "*")])
    upstream.commit("shop/redirects.yaml", rules("/a") + f"# {token}\n")
    upstream.ask("POST", "/sync", 202)
    shown = upstream.wait("failing")
    assert shown["fault"]["code"] == "upstream_invalid"
    assert "valid API token" in shown["fault"]["problems"][0]
    assert upstream.place.get("/version") == before
    assert token not in json.dumps(shown)
    assert token not in here.service.log.read_text("utf-8")
    upstream.commit("shop/redirects.yaml", rules("/a") + f"# svc_{'0' * 49}\n")
    upstream.ask("POST", "/sync", 202)
    upstream.place.wait_for(upstream.tip)


def test_a_hundred_webhooks_are_a_few_fetches(upstream: Upstream) -> None:
    def count() -> float:
        metrics = read_metrics(upstream.place.world.http, upstream.place.root.token)
        return total(metrics, "waypost_upstream_syncs_total", kind="fetch")

    upstream.set("source")
    before = count()
    for number in range(100):
        assert upstream.hook(github(BRANCH, nonce=f"push {number}"), 202) == {"action": "sync"}
    commit = upstream.commit("shop/redirects.yaml", rules("/last"))
    upstream.hook(github(BRANCH, nonce="the last one"), 202)
    upstream.place.wait_for(commit)
    upstream.wait("synced")
    assert count() - before < 50


def test_a_source_that_this_node_has_not_applied_yet_is_never_bypassed(tmp_path: Path) -> None:
    settings = {"WAYPOST_UPSTREAM_FOLDERS": str(tmp_path)}
    with running(WAYPOST, tmp_path / "data", settings) as service, open_world(service) as world:
        first = world.place()
        first.published("/a")
    # With the lock of the background, no task of this node applies the row.
    with (
        hold_lock_file(tmp_path / "data/repos/.upstreams.lock", SECONDS) as is_held,
        running(WAYPOST, tmp_path / "data", settings) as service,
        open_world(service) as world,
    ):
        assert is_held
        upstream = Upstream(Place(world, first.namespace, first.project, world.root), tmp_path)
        git(upstream.place.repository, "push", "-q", str(upstream.path), "release")
        upstream.ask("PUT", "", 200, json={"url": str(upstream.path), "mode": "source"})
        for name in ("waypost-upstream", "waypost-source"):  # as on another node, and after a restore
            (upstream.place.repository / name).unlink()
        assert upstream.place.published("/b")["version"] == upstream.tip


def test_a_restored_copy_syncs_nothing_until_it_is_resumed(tmp_path: Path) -> None:
    settings = {"WAYPOST_UPSTREAM_FOLDERS": str(tmp_path)}
    with running(WAYPOST, tmp_path / "data", settings) as service, open_world(service) as world:
        kinds = {mode: Upstream(world.place(), tmp_path) for mode in ("source", "mirror")}
        for mode, each in kinds.items():
            each.place.published("/a")
            each.set(mode, poll=5)
        invoke_ok("backup", tmp_path / "b", "--data", service.data)
    invoke_ok("restore", tmp_path / "b", "--data", tmp_path / "copy")
    commit = kinds["source"].commit("shop/redirects.yaml", rules("/host"))
    before = kinds["mirror"].tip
    with running(WAYPOST, tmp_path / "copy", settings) as service, open_world(service) as copy:
        for each in kinds.values():
            each.place = Place(copy, each.place.namespace, each.place.project, copy.root)
            found = each.place.repository / "waypost-upstream"
            wait_until(lambda: found.exists() and json.loads(found.read_bytes())["is_suspended"], SECONDS, "the pause")  # noqa: B023 - called at once
            each.ask("POST", "/sync", 202)
        source, mirror = kinds["source"].place, kinds["mirror"].place
        source.add("/b")
        source.refused("POST", "/publish", 503, "upstream_unavailable")
        published = mirror.published("/b")["version"]
        assert (source.sources(), kinds["source"].tip, kinds["mirror"].tip) == (["/a"], commit, before)
        invoke_ok("webhooks", "resume", "--yes", "--data", service.data)
        kinds["mirror"].wait_for_tip(published)
        source.wait_for(commit)
        wait_until(lambda: source.root.send("POST", f"{source.path}/publish").status_code == 200, SECONDS, "a publish")
        assert sorted(source.sources()) == ["/b", "/host"]
