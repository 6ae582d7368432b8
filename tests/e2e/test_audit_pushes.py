"""Pushes in the audit trail: each ref with its commits and outcome, and the keys of signers that came and went."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from api.auth.permissions.grants import everywhere
from tests.e2e.caller import Caller
from tests.e2e.pusher import Pusher
from tests.e2e.test_kills import descendants, kill
from tests.e2e.world import Place, open_world
from tests.service import WAYPOST, running, wait_until
from tests.ssh_keys import KeyMaker

RULE = "redirects:\n  - {{type: BASIC, source: {}, target: /new, status: 301}}\n"


def entries(place: Place, event: str, count: int) -> list[Any]:
    """Return the entries of an event, oldest first, once there are so many."""

    def found() -> list[Any] | None:
        items = place.root.get("/api/audit", event=event, namespace=place.namespace)["items"]
        return items[::-1] if len(items) == count else None

    return wait_until(found, 20, f"{count} entries {event}")


@pytest.fixture
def clone(place: Place, tmp_path: Path) -> Pusher:
    return Pusher.of(place, tmp_path / "clone")


def test_a_push_has_its_refs_with_their_commits_and_outcomes(place: Place, clone: Pusher) -> None:
    before = clone.ref("refs/heads/release")
    commit = clone.commit("shop/redirects.yaml", RULE.format("/a"))
    clone.pushed("origin", "HEAD:release")
    broken = clone.commit("shop/redirects.yaml", "redirects: 1\n")
    refused = clone.push("origin", "HEAD:release", f"{commit}:refs/heads/topic", "HEAD:refs/heads/draft/none/x")
    assert refused.returncode != 0
    first, second = (each["detail"] for each in entries(place, "push_requested", 2))
    assert first == {"refs": [{"ref": "refs/heads/release", "old": before, "new": commit, "outcome": "moved"}]}
    by_ref = {each.pop("ref"): each for each in second["refs"]}
    assert by_ref["refs/heads/release"] == {
        "old": commit,
        "new": broken,
        "outcome": "refused",
        "reason": "invalid content",
    }
    assert by_ref["refs/heads/topic"] == {"old": None, "new": commit, "outcome": "moved"}
    assert by_ref["refs/heads/draft/none/x"]["outcome"] == "refused"


def test_a_push_whose_node_is_killed_before_its_answer_is_recorded(tmp_path: Path) -> None:
    """Notes in memory are lost with the node; who pushed which refs was written before they moved."""
    data = tmp_path / "data"
    with running(WAYPOST, data) as service, open_world(service, killed=True) as world:
        place = world.place()
        pusher = Pusher.of(place, tmp_path / "clone")
        named = Caller(world.http, pusher.token).get("/api/me")
        before, commit = pusher.ref("refs/heads/release"), pusher.commit("shop/redirects.yaml", RULE.format("/a"))
        moved = place.repository / "refs/heads/release"
        with ThreadPoolExecutor(1) as pool:
            pushing = pool.submit(pusher.push, "origin", "HEAD:release")
            wait_until(lambda: moved.read_text().strip() == commit or pushing.done(), 60, "the move of release")
            for pid in descendants(service.process.pid):
                kill(pid)
        service.process.wait(20)
    with running(WAYPOST, data) as service, open_world(service) as world:
        (entry,) = entries(Place(world, place.namespace, place.project, world.root), "branches_pushed", 1)
    assert entry["detail"]["refs"] == [{"ref": "refs/heads/release", "old": before, "new": commit}]
    assert (entry["address"], entry["request"] is None) == ("127.0.0.1", False)
    token = {"id": named["id"], "name": named["name"]}
    assert (entry["actor"], entry["token"]) == ({"kind": "token", **token}, token)


def test_a_push_of_many_long_names_has_a_short_entry(place: Place, clone: Pusher) -> None:
    commit = clone.ref("refs/heads/release")
    names = [f"{number:03}-{'x' * 200}" for number in range(120)]
    clone.push("origin", *(f"{commit}:refs/tags/{name}" for name in names))
    (entry,) = entries(place, "push_requested", 1)
    assert (len(entry["detail"]["refs"]), entry["detail"]["more"]) == (100, 20)
    assert {len(each["ref"]) for each in entry["detail"]["refs"]} == {200}


def test_a_name_with_a_token_is_withheld(place: Place, clone: Pusher) -> None:
    leaked = place.world.token(everywhere("redirect:read"))
    clone.push("origin", f"HEAD:refs/heads/{leaked}")
    (entry,) = entries(place, "push_requested", 1)
    (shown,) = entry["detail"]["refs"]
    assert (shown["ref"], shown["outcome"], leaked in json.dumps(entry)) == ("(withheld)", "refused", False)


def test_keys_of_signers_that_come_and_go_are_recorded(
    place: Place, clone: Pusher, ssh_keygen: KeyMaker, tmp_path: Path
) -> None:
    kim, ada = (ssh_keygen(tmp_path, f"{name}@acme.example") for name in ("kim", "ada"))
    added = clone.commit("allowed_signers", kim.line())
    clone.pushed("origin", "HEAD:release")
    clone.commit("shop/redirects.yaml", RULE.format("/a"))
    clone.pushed("origin", "HEAD:release")
    clone.commit("allowed_signers", ada.line())
    clone.pushed("origin", "HEAD:refs/heads/other-key")
    (proposal,) = place.root.get(f"{place.space}/proposals")["items"]
    address = f"{place.space}/proposal/{proposal['id']}/merge"
    merged = place.root.ask("POST", address, 200, json={"head": proposal["head"]}).json()["version"]
    place.root.ask("POST", address, 200, json={"head": proposal["head"]})  # as after a lost reply
    first, second = entries(place, "signers_changed", 2)
    assert (first["subject"], first["actor"]["kind"]) == ("allowed_signers", "commit")
    assert first["detail"]["account"] == place.root.get("/api/me")["name"]
    changes = [{name: each["detail"][name] for name in ("version", "added", "removed")} for each in (first, second)]
    assert changes == [
        {"version": added, "added": [kim.name], "removed": []},
        {"version": merged, "added": [ada.name], "removed": [kim.name]},
    ]
