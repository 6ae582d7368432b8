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
from tests.e2e.lying_proxy import LyingProxy, lying_proxy
from tests.e2e.pusher import Pusher
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


def verify(place: Place, *options: str, at: str = "") -> "subprocess.CompletedProcess[str]":
    """Run `waypost verify` on a project, of the service or `at` a proxy before it."""
    return subprocess.run(
        [sys.executable, "-m", "cli.main", "verify", f"{at or place.world.service.url}{place.path}", *options],
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


class Example:
    """The program of the documentation, and what it is given: keys, and the lists that an agent holds."""

    def __init__(self, shop: Place, folder: Path) -> None:
        text = (ROOT / "docs" / "how-to" / "verify-a-copy.md").read_text("utf-8")
        (self.program,) = (block.text for block in blocks(text) if block.words == ("python", "example"))
        self.shop, self.folder, self.version = shop, folder, str(shop.get("/version"))
        self.given = {
            "keys": shop.world.nobody.get(KEYS),
            "redirects": shop.get("/redirects"),
            "pages": shop.get("/pages"),
        }

    def run(self, url: str = "", version: str = "", **given: Any) -> "subprocess.CompletedProcess[str]":
        """Run the program, with some of its input replaced."""
        files = [self.folder / f"{name}.json" for name in self.given]
        for file, content in zip(files, {**self.given, **given}.values(), strict=True):
            file.write_text(json.dumps(content), "utf-8")
        words = [url or f"{self.shop.world.service.url}{self.shop.path}", version or self.version, *map(str, files)]
        return subprocess.run(
            [sys.executable, "-c", self.program, *words],
            env={**os.environ, "WAYPOST_TOKEN": self.shop.world.token([Grant("*", "*", "*", "*")])},
            capture_output=True,
            text=True,
            check=False,
        )

    def refused(self, shown: str, **changed: Any) -> None:
        """Require that the program does not take what is changed for what was published."""
        done = self.run(**changed)
        assert (done.returncode, done.stdout) == (1, ""), done.stderr
        assert shown in done.stderr.splitlines()[-1]


@pytest.fixture
def example(shop: Place, tmp_path: Path) -> Example:
    """Return the example, with what was published."""
    return Example(shop, tmp_path)


def test_the_example_of_the_documentation_has_twenty_lines(example: Example) -> None:
    lines = [line for line in example.program.splitlines() if line]
    assert len(lines) == 20
    assert max(map(len, lines)) <= 120
    assert ";" not in example.program


def test_the_example_proves_what_is_held_by_whom_and_from_which_commit(example: Example) -> None:
    publish = example.shop.get("/history")["items"][0]
    line = f"{publish['publishedBy']} published {example.version} at {publish['publishedAt']}\n"
    done = example.run()
    assert (done.returncode, done.stdout) == (0, line), done.stderr


@pytest.mark.parametrize(("name", "field"), [("redirects", "target"), ("pages", "content")])
def test_the_example_tells_a_changed_or_missing_rule_or_page(example: Example, name: str, field: str) -> None:
    items = example.given[name]["items"]
    changed = [{**items[0], field: "https://evil.example/"}, *items[1:]]
    for held in (changed, items[1:]):
        example.refused(f"Other {name}.", **{name: {"items": held}})


def test_the_example_tells_the_version_of_another_publish(example: Example) -> None:
    before = example.shop.get("/history")["items"][1]["version"]
    example.refused("Other redirects.", version=before)


def test_the_example_tells_a_key_that_is_not_trusted(example: Example) -> None:
    current, former, *_ = example.given["keys"]["keys"]
    example.refused("StopIteration", keys={"keys": [former]})
    example.refused("InvalidSignature", keys={"keys": [{**current, "x": former["x"]}]})


@pytest.fixture
def proxy(shop: Place) -> Iterator[LyingProxy]:
    """Run a proxy before the service."""
    with lying_proxy(shop.world.service.url) as found:
        yield found


def refused_by_both(example: Example, proxy: LyingProxy, *shown: str) -> None:
    """Require that the example and the command refuse what the proxy sends; `shown` are their last lines."""
    example.refused(shown[0], url=f"{proxy.url}{example.shop.path}")
    keys = example.folder / "keys.json"
    done = verify(example.shop, "--keys", str(keys), "--version", example.version, at=proxy.url)
    assert (done.returncode, done.stdout) == (3, "")
    assert shown[-1] in done.stderr


@pytest.mark.parametrize("field", ["publishedBy", "version"])
def test_a_changed_publisher_or_commit_is_told(example: Example, proxy: LyingProxy, field: str) -> None:
    """Each alone: the publisher is in the history only, the commit in the manifest too."""
    publish = example.shop.get("/history")["items"][0]
    other = {"publishedBy": "Mallory <mallory@acme.example>", "version": "0" * 40}[field]
    proxy.bodies[f'"{field}":"{publish[field]}"'] = f'"{field}":"{other}"'
    refused_by_both(example, proxy, "InvalidSignature", "has another content than the one that was signed")


def test_the_signed_publisher_of_another_publish_is_told(example: Example, proxy: LyingProxy) -> None:
    before = example.shop.get("/history")["items"][1]["version"]
    proxy.paths[f"/history/{example.version}"] = f"/history/{before}"
    refused_by_both(example, proxy, f"project/shop {before}", "The history is of another version.")


def test_the_signed_publisher_of_the_same_commit_elsewhere_is_told(
    shop: Place, proxy: LyingProxy, tmp_path: Path
) -> None:
    """One commit can be a publish of two projects, or be imported into another namespace."""
    shop.root.ask("POST", f"{shop.space}/projects", 201, json={"name": "other"})
    clone = Pusher.of(shop, tmp_path / "clone")
    rule = "redirects:\n  - {type: BASIC, source: /both, target: /new, status: 301}\n"
    (clone.folder / "other" / "redirects.yaml").write_text(rule, "utf-8")
    clone.commit("shop/redirects/both.yaml", rule)
    clone.pushed("origin", "HEAD:release")
    example = Example(shop, tmp_path)
    assert example.run().returncode == 0
    proxy.paths["/project/shop/history"] = "/project/other/history"
    refused_by_both(example, proxy, f"project/other {example.version}", "The history is of another project.")


def test_the_signed_manifest_of_another_version_is_told(example: Example, proxy: LyingProxy) -> None:
    before = example.shop.get("/history")["items"][1]["version"]
    proxy.paths[f"/versions/{example.version}"] = f"/versions/{before}"
    refused_by_both(example, proxy, f"project/shop {before}", "The manifest is of another version.")
