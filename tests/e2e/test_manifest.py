"""The manifest: an agent walks the lists, computes the digest of the contract, and so verifies its copy."""

import json
from hashlib import sha256
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.git import Clone, git, rules
from tests.e2e.test_versions import next_of
from tests.e2e.world import Place, page, redirect

READS = (("redirect", "read"), ("page", "read"), ("agent", "read"), ("project", "read"))
EMPTY = sha256().hexdigest()
ODD = ['/q"u\\o', "/a/b?c=d&e=%C3%A9", "/tilde~", "/ünïcode/\u2028/\U0001f6a6"]
RULES = 137


@pytest.fixture
def shop(place: Place) -> Place:
    """Create a project with text that JSON can write in several ways."""
    changes = [{"op": "put", "kind": "redirect", "item": redirect(f"/old/{number}")} for number in range(RULES)]
    changes += [{"op": "put", "kind": "redirect", "item": redirect(source)} for source in ODD]
    content = 'tab\tquote"slash/back\\new\nline é \u2028 \U0001f6a6 \x7f'
    changes += [{"op": "put", "kind": "page", "item": page(f"/{number}.txt", content)} for number in range(3)]
    place.ask("POST", "/draft/changes", 200, json=changes)
    place.publish()
    return place


def digest_of_bytes(place: Place, tail: str, limit: int) -> tuple[int, str]:
    """Return total and SHA-256, computed from the bytes of the responses as the contract defines it."""
    digest, count = sha256(), 0
    following: str | None = f"{place.path}{tail}?limit={limit}"
    while following:
        answer = place.root.ask("GET", following, 200)
        items = answer.content.split(b'"items":[', 1)[1].removesuffix(b"]}")
        if items:
            digest.update(items + b",")
        count += len(answer.json()["items"])
        following = next_of(answer)
    return count, digest.hexdigest()


def digest_of_items(items: list[Any]) -> str:
    """Return the SHA-256 of items that were parsed and written again as compact JSON."""
    written = [json.dumps(item, separators=(",", ":"), ensure_ascii=False).encode() + b"," for item in items]
    return sha256(b"".join(written)).hexdigest()


def wire(total: int, digest: str) -> dict[str, Any]:
    """Return a list as in a manifest."""
    return {"total": total, "sha256": digest}


@pytest.mark.parametrize("limit", [1, 50, 141, 10_000])
def test_an_agent_can_prove_what_it_holds(shop: Place, limit: int) -> None:
    found = shop.get("/manifest", digests="list")
    for tail in ("/redirects", "/pages"):
        assert found[tail[1:]] == wire(*digest_of_bytes(shop, tail, limit))


def test_items_that_were_parsed_give_the_same(shop: Place) -> None:
    found = shop.get("/manifest", digests="list")
    for kind in ("redirects", "pages"):
        items = shop.get(f"/{kind}", limit=10_000)["items"]
        assert found[kind] == wire(len(items), digest_of_items(items))
    assert found["redirects"]["total"] == RULES + len(ODD)


def test_a_manifest_names_its_version(shop: Place) -> None:
    answer = shop.ask("GET", "/manifest", 200)
    state = shop.get("")
    found = answer.json()
    for name in ("version", "publishNumber", "publishedAt"):
        assert found[name] == state[name]
    assert answer.headers["X-Project-Version"] == found["version"]
    assert answer.headers["X-Publish-Number"] == str(found["publishNumber"])


def test_empty_lists_are_the_digest_of_nothing(place: Place) -> None:
    found = place.get("/manifest")
    assert found["redirects"] == found["pages"] == {**wire(0, EMPTY), "runs": [], "runsSha256": EMPTY}


def test_a_publish_of_one_rule_changes_the_digest_of_its_list_alone(shop: Place) -> None:
    before = shop.ask("GET", "/manifest", 200)
    shop.published("/another")
    after = shop.ask("GET", "/manifest", 200, headers={"If-None-Match": before.headers["ETag"]}).json()
    assert after["redirects"] != before.json()["redirects"]
    assert after["pages"] == before.json()["pages"]


@pytest.mark.parametrize("tail", ["/manifest", "/versions/2/manifest"])
def test_a_client_that_has_it_gets_304(shop: Place, tail: str) -> None:
    etag = shop.ask("GET", tail, 200).headers["ETag"]
    for given in (etag, f"W/{etag}", "*"):
        assert shop.ask("GET", tail, 304, headers={"If-None-Match": given}).content == b""
    shop.ask("HEAD", tail, 304, headers={"If-None-Match": etag})
    shop.ask("GET", tail, 200, headers={"If-None-Match": '"other"'})


def test_the_manifest_of_a_version_never_changes(shop: Place) -> None:
    before = shop.get("/manifest")
    shop.published("/another")
    shop.ask("POST", "/rollback", 200, json={"version": "2"})
    for word in ("2", before["version"], before["version"][:7]):
        answer = shop.ask("GET", f"/versions/{word}/manifest", 200)
        assert answer.json() == before
        assert "immutable" in answer.headers["Cache-Control"]
    assert shop.get("/versions/1/manifest", digests="list")["redirects"] == wire(0, EMPTY)
    now = shop.get("/manifest")
    assert (now["publishNumber"], now["redirects"], now["pages"]) == (4, before["redirects"], before["pages"])
    shop.refused("GET", "/versions/99/manifest", 404, "not_found")


@pytest.mark.parametrize("permission", READS, ids=lambda pair: pair[0])
def test_any_permission_to_read_is_enough(shop: Place, permission: tuple[str, str]) -> None:
    assert shop.holder(permission).get("/manifest") == shop.get("/manifest")


def runs_of(items: list[Any], counts: list[int]) -> dict[str, Any]:
    """Return the runs as in a manifest, computed from the items as the contract defines it."""
    ends = list(accumulate(counts, initial=0))
    runs = [
        {"count": end - start, "sha256": digest_of_items(items[start:end])}
        for start, end in pairwise(ends)
        if start < end
    ]
    lines = "".join(f"{run['count']} {run['sha256']}\n" for run in runs)
    return {"runs": runs, "runsSha256": sha256(lines.encode()).hexdigest()}


def test_runs_follow_the_files_and_a_publish_changes_one(shop: Place, tmp_path: Path) -> None:
    """Guard: an agent that verifies by runs hashes the changed one; an empty file is no run."""
    clone = Clone.of(shop.repository, tmp_path / "clone")
    files = {"b": rules("/b/1", "/b/2"), "c": "redirects: []\n", "d": rules("/d/1")}
    for name, text in files.items():
        clone.write(f"shop/redirects/{name}.yaml", text)
    clone.commit()
    clone.push()
    shop.wait_for(git(clone.folder, "rev-parse", "HEAD"))
    version, items = shop.get("/version"), shop.get("/redirects", limit=10_000)["items"]
    before = shop.get("/manifest")["redirects"]
    assert before == {
        **wire(len(items), digest_of_items(items)), **runs_of(items, [RULES + len(ODD), 2, 0, 1])
    }  # fmt: skip
    shop.wait_for(clone.publish("shop/redirects/b.yaml", rules("/b/1", "/b/2", "/b/3")))
    after = shop.get("/manifest")["redirects"]
    assert [one == other for one, other in zip(before["runs"], after["runs"], strict=True)] == [True, False, True]
    assert after["runsSha256"] != before["runsSha256"]
    assert shop.get(f"/versions/{version}/manifest")["redirects"] == before


def test_the_digests_to_show_can_be_chosen(shop: Place) -> None:
    """Guard: each choice has an entity tag of its own, for the bodies differ."""
    version = shop.get("/version")
    for tail in ("/manifest", f"/versions/{version}/manifest"):
        every = shop.ask("GET", tail, 200)
        assert every.json() == shop.get(tail, digests="all")
        for word, names in {"list": {"sha256"}, "runs": {"runs", "runsSha256"}}.items():
            headers = {"If-None-Match": every.headers["ETag"]}
            found = shop.ask("GET", tail, 200, params={"digests": word}, headers=headers)
            for kind in ("redirects", "pages"):
                wanted = every.json()[kind]
                assert found.json()[kind] == {name: wanted[name] for name in {"total", *names}}
            known = {"If-None-Match": found.headers["ETag"]}
            shop.ask("GET", tail, 304, params={"digests": word}, headers=known)
        shop.refused("GET", tail, 400, "bad_parameter", params={"digests": "run"})
