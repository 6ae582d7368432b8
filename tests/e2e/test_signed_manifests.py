"""Signed manifests: what an agent holds is proved from outside, by two workers that sign the same."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.auth.permissions.grants import Grant
from gitstore.signatures.message_signature import InvalidMessage, verify_message
from gitstore.signatures.web_key import load_web_key
from tests.docs.blocks import blocks
from tests.e2e.counted_signatures import COUNTER
from tests.e2e.world import Place, World, open_world
from tests.service import ROOT, WAYPOST, running, wait_until
from tests.ssh_keys import SERVICE, Key, KeyMaker

KEYS = "/.well-known/waypost-keys"
HEADERS = ("content-digest", "signature-input", "signature")


@pytest.fixture(scope="module")
def keys(ssh_keygen: KeyMaker, tmp_path_factory: pytest.TempPathFactory) -> list[Key]:
    """Return the current key, the former one and the next one."""
    folder = tmp_path_factory.mktemp("keys")
    return [ssh_keygen(folder, name) for name in (SERVICE, "former", "next")]


def settings(key: Key, *others: Key) -> dict[str, str]:
    """Return the settings of a service with these keys."""
    return {
        "WAYPOST_SIGNING_KEY": str(key.path),
        "WAYPOST_PUBLIC_KEYS": ",".join(f"{each.path}.pub" for each in others),
    }


@pytest.fixture(scope="module")
def signing_world(keys: list[Key], tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Run a service with a key."""
    data = tmp_path_factory.mktemp("signed") / "data"
    with running(WAYPOST, data, settings(*keys)) as service, open_world(service) as world:
        yield world


@pytest.fixture
def shop(signing_world: World) -> Place:
    """Return a project with rules and a page."""
    place = signing_world.place()
    for source in ("/a", "/ünï", '/q"u'):
        place.add(source)
    page = {"type": "BASIC", "path": "/robots.txt", "contentType": "TEXT_PLAIN", "content": "é\n"}
    place.ask("POST", "/draft/pages", 201, json=page)
    place.ask("POST", "/publish", 200, json={})
    return place


def verified(world: World, answer: httpx.Response) -> str:
    """Return the fingerprint of the key that signed a response."""
    trusted = [load_web_key(each) for each in world.nobody.get(KEYS)["keys"]]
    headers = dict(answer.headers.items())
    return verify_message(headers, answer.content, trusted).key.fingerprint


def test_each_manifest_is_signed_the_same_by_all_workers(signing_world: World, shop: Place, keys: list[Key]) -> None:
    version = shop.get("/version")
    for tail in ("/manifest", "/manifest?digests=runs", "/manifest?digests=list", f"/versions/{version}/manifest"):
        answers = [shop.ask("GET", tail, 200) for _ in range(8)]
        assert len({tuple(answer.headers[name] for name in HEADERS) for answer in answers}) == 1
        assert verified(signing_world, answers[0]) == keys[0].fingerprint
        assert (answers[0].json()["namespace"], answers[0].json()["project"]) == (shop.namespace, shop.project)


def test_a_changed_manifest_is_refused(signing_world: World, shop: Place) -> None:
    answer = shop.ask("GET", "/manifest", 200)
    trusted = [load_web_key(each) for each in signing_world.nobody.get(KEYS)["keys"]]
    with pytest.raises(InvalidMessage, match="another content"):
        verify_message(dict(answer.headers), answer.content.replace(b'"total":3', b'"total":4'), trusted)


def test_a_publish_has_another_signature(signing_world: World, shop: Place) -> None:
    before = shop.ask("GET", "/manifest", 200)
    shop.add("/later")
    shop.ask("POST", "/publish", 200, json={})
    after = shop.ask("GET", "/manifest", 200)
    assert after.headers["signature"] != before.headers["signature"]
    verified(signing_world, after)


def test_the_keys_are_public_and_cached(signing_world: World, keys: list[Key]) -> None:
    answer = signing_world.nobody.ask("GET", KEYS, 200)
    assert answer.headers["content-type"] == "application/jwk-set+json"
    assert answer.headers["cache-control"].startswith("public")
    assert [load_web_key(each).fingerprint for each in answer.json()["keys"]] == [key.fingerprint for key in keys]
    signing_world.nobody.ask("GET", KEYS, 304, headers={"If-None-Match": answer.headers["etag"]})


def verify(place: Place, *options: str) -> "subprocess.CompletedProcess[str]":
    """Run `waypost verify` on a project."""
    return subprocess.run(
        [sys.executable, "-m", "cli.main", "verify", f"{place.world.service.url}{place.path}", *options],
        cwd=ROOT,
        env={**os.environ, "WAYPOST_TOKEN": place.world.token([Grant("*", "*", "*", "*")])},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_command_proves_what_the_service_sends(shop: Place, keys: list[Key]) -> None:
    done = verify(shop, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["verified"]
    assert found["lists"] == {"redirects": "3 as published", "pages": "1 as published"}
    assert found["version"] == shop.get("/version")
    assert found["publishedBy"] == shop.get("/history")["items"][0]["publishedBy"]
    assert found["signedBy"] == keys[0].name


def test_the_command_proves_what_an_agent_holds(shop: Place, tmp_path: Path) -> None:
    held: dict[str, Any] = shop.get("/redirects")
    file = tmp_path / "held.json"
    file.write_text(json.dumps(held["items"]), "utf-8")
    assert verify(shop, "--redirects", str(file)).returncode == 0
    held["items"][0]["target"] = "https://evil.example/"
    file.write_text(json.dumps(held), "utf-8")
    done = verify(shop, "--redirects", str(file))
    assert done.returncode == 1
    assert "The redirects are not those that were published" in done.stderr


def test_a_part_of_a_list_is_not_taken_for_a_changed_one(shop: Place, tmp_path: Path) -> None:
    file = tmp_path / "held.json"
    window = shop.get("/redirects", limit=2)
    file.write_text(json.dumps(window), "utf-8")
    done = verify(shop, "--redirects", str(file))
    assert (done.returncode, done.stdout) == (2, "")
    assert f"held.json has 2 of {window['total']} redirects: one window of the list." in done.stderr
    file.write_text(json.dumps(window["items"]), "utf-8")
    done = verify(shop, "--redirects", str(file))
    assert done.returncode == 1
    assert f"The redirects are not those that were published: 2 in place of {window['total']}." in done.stderr


def test_the_command_proves_an_earlier_version(shop: Place) -> None:
    first = shop.get("/version")
    shop.add("/later")
    shop.ask("POST", "/publish", 200, json={})
    done = verify(shop, "--version", first)
    assert done.returncode == 0, done.stderr
    assert first in done.stdout


def test_the_command_refuses_a_key_that_is_not_trusted(shop: Place, tmp_path: Path) -> None:
    keys = shop.world.nobody.get(KEYS)
    file = tmp_path / "keys.json"
    file.write_text(json.dumps({"keys": keys["keys"][1:]}), "utf-8")
    done = verify(shop, "--keys", str(file))
    assert done.returncode == 3
    assert "which is not among the trusted ones" in done.stderr


def test_keys_rotate_without_a_gap(keys: list[Key], tmp_path: Path) -> None:
    """A client with the keys of before verifies what is signed after the next key has become the current one."""
    old, _, new = keys
    with running(WAYPOST, tmp_path / "data", settings(old, new)) as service, open_world(service) as world:
        place = world.place()
        before, namespace = world.nobody.get(KEYS)["keys"], place.namespace
    with running(WAYPOST, tmp_path / "data", settings(new, old)) as service, open_world(service) as world:
        answer = world.root.ask("GET", f"/api/namespace/{namespace}/project/shop/manifest", 200)
        trusted = [load_web_key(each) for each in before]
        assert verify_message(dict(answer.headers), answer.content, trusted).key.fingerprint == new.fingerprint


def test_a_publish_is_signed_and_a_read_signs_nothing(keys: list[Key], tmp_path: Path) -> None:
    command = (sys.executable, "-m", "tests.e2e.counted_signatures", "serve")
    env = {**settings(*keys), "WAYPOST_WORKERS": "1"}
    with running(command, tmp_path / "data", env) as service, open_world(service) as world:
        place, counter = world.place(), service.data / COUNTER

        def signatures_of_reads(count: int) -> int:
            known = counter.stat().st_size
            for tail in ("/manifest", "/manifest?digests=runs") * count:
                place.ask("GET", tail, 200)
            return counter.stat().st_size - known

        for source in ("/a", "/b"):
            before = counter.stat().st_size if counter.exists() else 0
            place.published(source)
            assert counter.stat().st_size > before
            # The worker signs a publish once it has read it; a read that comes first signs instead, once.
            wait_until(lambda: signatures_of_reads(10) == 0, 30, "the manifests to be signed")
            assert signatures_of_reads(100) == 0
            for digests in ("?digests=runs", ""):
                answer = place.ask("GET", f"/manifest{digests}", 200)
                assert verified(world, answer) == keys[0].fingerprint


def test_without_a_key_nothing_is_signed(place: Place) -> None:
    assert not set(HEADERS) & set(place.ask("GET", "/manifest", 200).headers)
    assert place.world.nobody.get(KEYS) == {"keys": []}
    done = verify(place)
    assert done.returncode == 3
    assert "this service signs nothing" in done.stderr


def test_the_example_of_the_documentation_proves_it_too(shop: Place, tmp_path: Path) -> None:
    text = (ROOT / "docs" / "how-to" / "verify-a-copy.md").read_text("utf-8")
    (example,) = (block.text for block in blocks(text) if block.words == ("python", "example"))
    held, keys = tmp_path / "held.json", tmp_path / "keys.json"
    held.write_text(json.dumps(shop.get("/redirects")["items"]), "utf-8")
    keys.write_text(json.dumps(shop.world.nobody.get(KEYS)), "utf-8")
    token = shop.world.token([Grant("*", "*", "*", "*")])

    def run(path: str = shop.path) -> "subprocess.CompletedProcess[str]":
        words = [sys.executable, "-c", example, f"{shop.world.service.url}{path}", str(keys), str(held)]
        env = {**os.environ, "WAYPOST_TOKEN": token}
        return subprocess.run(words, env=env, capture_output=True, text=True, check=False)

    def refused(code: int, shown: str, path: str = shop.path) -> None:
        done = run(path)
        assert (done.returncode, done.stdout) == (code, ""), done.stderr
        assert shown in done.stderr
        assert "Traceback" not in done.stderr

    whole = shop.get("/redirects")
    for content in (whole["items"], whole):
        held.write_text(json.dumps(content), "utf-8")
        done = run()
        assert (done.returncode, done.stdout.strip()) == (0, shop.get("/version")), done.stderr
    refused(3, "404", "/api/namespace/none/project/none")
    whole["items"][0]["target"] = "https://evil.example/"
    held.write_text(json.dumps(whole), "utf-8")
    refused(1, "other redirects")
    held.write_text(json.dumps(shop.get("/redirects", limit=1)), "utf-8")
    refused(1, f"1 in place of {whole['total']}")
    held.write_text("[", "utf-8")
    refused(2, "held.json")
    held.write_text(json.dumps(shop.get("/redirects")), "utf-8")
    known = json.loads(keys.read_text("utf-8"))["keys"]
    keys.write_text(json.dumps({"keys": known[1:]}), "utf-8")
    refused(3, f"{known[0]['kid']} is not in {keys}")
    keys.write_text(json.dumps({"keys": [{**known[0], "x": known[1]["x"]}]}), "utf-8")
    refused(3, "signature is not valid")
