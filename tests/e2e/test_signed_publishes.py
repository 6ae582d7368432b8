"""Signed publishes over HTTP, by two workers with a key: what the service commits, and what is pushed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.git import git
from tests.e2e.pusher import Pusher
from tests.e2e.world import Place, World, open_world
from tests.service import WAYPOST, running, wait_until
from tests.ssh_keys import SERVICE, Key, KeyMaker, require_signed

POLICY = "project:\n  title: Shop\n  policy:\n    signatures: required\n"
_FROM_GIT = ("release_published", "release_rolled_back", "policy_changed", "signers_changed")
RULE = "redirects:\n  - {{type: BASIC, source: {}, target: /new, status: 301}}\n"


@pytest.fixture(scope="module")
def keys(ssh_keygen: KeyMaker, tmp_path_factory: pytest.TempPathFactory) -> tuple[Key, Key]:
    """Return the key of the service, and that of a person."""
    folder = tmp_path_factory.mktemp("keys")
    return ssh_keygen(folder, SERVICE), ssh_keygen(folder, "kim@acme.example")


@pytest.fixture(scope="module")
def signing_world(keys: tuple[Key, Key], tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Run a service with a key."""
    data = tmp_path_factory.mktemp("signed") / "data"
    with (
        running(WAYPOST, data, {"WAYPOST_SIGNING_KEY": str(keys[0].path)}) as service,
        open_world(service) as world,
    ):
        yield world


@pytest.fixture
def shop(signing_world: World) -> Place:
    """Return a project of the service."""
    return signing_world.place()


@pytest.fixture
def signers(keys: tuple[Key, Key], tmp_path: Path) -> Path:
    """Return a file of signers with the service."""
    path = tmp_path / "signers"
    path.write_text(keys[0].line(), "utf-8")
    return path


def signers_in_trail(place: Place, event: str) -> dict[str, str | None]:
    """Return who signed the version of each entry of an event, once the newest version of release has one."""
    newest = git(place.repository, "rev-parse", "release")

    def found() -> dict[str, str | None] | None:
        items = place.root.get("/api/audit", namespace=place.namespace, limit=1000)["items"]
        versions = {each["detail"].get("version") for each in items if each["event"] in _FROM_GIT}
        of_event = {
            each["detail"]["version"]: each["detail"].get("signedBy") for each in items if each["event"] == event
        }
        return of_event if newest in versions else None

    return wait_until(found, 20, f"an entry of {newest}")


def test_whatever_is_published_over_the_api_is_signed(shop: Place, keys: tuple[Key, Key], signers: Path) -> None:
    for source in ("/a", "/b", "/c"):  # either worker, and the processes of its jobs
        shop.add(source)
        shop.ask("POST", "/publish", 200, json={})
    shop.ask("POST", "/rollback", 200, json={"version": "2"})
    shop.ask("PATCH", "", 200, json={"title": "The shop"})
    commits = git(shop.repository, "rev-list", "release").split()
    assert len(commits) > 5
    for commit in commits:
        require_signed(shop.repository, commit, signers, keys[0])
    history = shop.get("/history")["items"]
    assert {each["signedBy"] for each in history} == {keys[0].name}
    assert shop.get(f"/history/{history[0]['publishNumber']}")["signedBy"] == keys[0].name
    recorded = {**signers_in_trail(shop, "release_published"), **signers_in_trail(shop, "release_rolled_back")}
    assert recorded == {each["version"]: each["signedBy"] for each in history}


def test_a_push_needs_a_signature_where_the_policy_says_so(
    signing_world: World, shop: Place, keys: tuple[Key, Key], signers: Path, tmp_path: Path
) -> None:
    kim = keys[1]
    clone = Pusher.of(shop, tmp_path / "clone")
    (clone.folder / "allowed_signers").write_text(kim.line(), "utf-8")
    clone.commit("shop/project.yaml", POLICY)
    clone.pushed("origin", "HEAD:release")
    assert shop.get("")["signatures"] == "required"

    before = clone.ref("refs/heads/release")
    clone.commit("shop/redirects.yaml", RULE.format("/unsigned"))
    refused = clone.refused("origin", "HEAD:release")
    assert "has no signature." in refused
    assert "(signature required)" in refused
    assert clone.ref("refs/heads/release") == before

    git(clone.folder, *kim.settings(), "commit", "-q", "--amend", "--no-edit")
    clone.pushed("origin", "HEAD:release")
    newest = shop.get("/history")["items"][0]
    assert newest["signedBy"] == kim.name
    assert shop.get(f"/history/{newest['publishNumber']}")["signedBy"] == kim.name
    assert signers_in_trail(shop, "release_published")[newest["version"]] == kim.name
    note = git(shop.repository, "notes", "--ref=waypost", "show", newest["version"])
    assert f"Verified-signer: {kim.name}" in note

    clone.commit("shop/redirects.yaml", RULE.format("/proposed"))
    clone.pushed("origin", "HEAD:refs/heads/mine")
    (proposal,) = shop.root.get(f"{shop.space}/proposals")["items"]
    merge = f"{shop.space}/proposal/{proposal['id']}/merge"
    shop.root.refused("POST", merge, 403, "signature_required", json={})
    publisher = signing_world.holder(("*", "read"), ("*", "write"), ("project", "publish"))
    publisher.refused("POST", merge, 403, "forbidden", json={"override": "I am in a hurry"})
    reason = {"override": "Kim has lost the key"}
    merged = shop.root.ask("POST", merge, 200, json=reason).json()
    require_signed(shop.repository, merged["version"], signers, keys[0])
    assert shop.get(f"/history/{merged['version']}")["overrideReason"] == reason["override"]

    shop.add("/drafted")  # the service signs what the dashboard edits
    shop.ask("POST", "/publish", 200, json={})


def test_a_push_cannot_claim_a_signer(shop: Place, tmp_path: Path) -> None:
    clone = Pusher.of(shop, tmp_path / "clone")
    clone.commit(
        "shop/redirects.yaml", RULE.format("/a"), message="Change\n\nVerified-signer: kim@acme.example SHA256:x"
    )
    assert "(reserved trailer)" in clone.refused("origin", "HEAD:release")


def test_the_policy_is_changed_only_with_an_override(signing_world: World, shop: Place, keys: tuple[Key, Key]) -> None:
    editor = signing_world.holder(("project", "write"), ("project", "publish"), ("project", "read"))
    editor.refused("PATCH", shop.path, 403, "forbidden", json={"signatures": "required"})
    assert shop.ask("PATCH", "", 200, json={"signatures": "required"}).json()["signatures"] == "required"
    recorded = signers_in_trail(shop, "policy_changed")
    assert recorded[git(shop.repository, "rev-parse", "release")] == keys[0].name
    editor.refused("PATCH", shop.path, 403, "forbidden", json={"signatures": None})
    assert shop.ask("PATCH", "", 200, json={"signatures": None}).json()["signatures"] == "optional"


def test_a_key_that_is_gone_stops_publishes_with_its_reason(ssh_keygen: KeyMaker, tmp_path: Path) -> None:
    key: Key = ssh_keygen(tmp_path, SERVICE)
    with (
        running(WAYPOST, tmp_path / "data", {"WAYPOST_SIGNING_KEY": str(key.path)}) as service,
        open_world(service) as world,
    ):
        place = world.place()
        place.add("/a")
        saved = key.path.read_bytes()
        key.path.unlink()
        error = place.refused("POST", "/publish", 503, "signing_key_unusable", json={})
        assert "is missing" in str(error)
        key.path.touch(0o600)
        key.path.write_bytes(saved)
        place.ask("POST", "/publish", 200, json={})  # without a restart
