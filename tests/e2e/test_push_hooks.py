"""The hooks of a running service: written at its start and for each new namespace; pushes by path as over HTTP."""

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from api.auth.permissions.grants import everywhere
from gitstore.git.push_hook import HOOK
from tests.e2e.caller import Caller
from tests.e2e.git import Clone, check_repository, git, rules
from tests.e2e.pusher import Pusher
from tests.e2e.stream import following
from tests.e2e.world import Place, World, open_world
from tests.service import WAYPOST, running, wait_until

PATIENCE = 60.0
BROKEN = rules("/a", "/a") + "  - type: BASIC\n    source: /loop\n    target: nowhere\n    status: 999\n"


def push(clone: Clone) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        ["git", "push", "origin", "HEAD:release"], cwd=clone.folder, capture_output=True, text=True, check=False
    )


def remote_lines(text: str) -> list[str]:
    """Return what the other side says; ids of commits differ between two repositories."""
    lines = [line.rstrip() for line in text.splitlines() if line.startswith("remote: ")]
    return [re.sub("[0-9a-f]{12,40}", "…", line) for line in lines]


@pytest.mark.parametrize("text", [rules("/a", "/b"), BROKEN], ids=["accepted", "refused"])
def test_the_words_are_those_of_a_push_over_http(world: World, tmp_path: Path, text: str) -> None:
    over_http, by_path = world.place(), world.place()
    pusher = Pusher.of(over_http, tmp_path / "http")
    pusher.commit("shop/redirects.yaml", text)
    said = pusher.push("origin", "HEAD:release")
    clone = Clone.of(by_path.repository, tmp_path / "path")
    clone.write("shop/redirects.yaml", text)
    clone.commit("Change")
    found = push(clone)
    assert (found.returncode == 0) == (said.returncode == 0) == (text != BROKEN)
    assert remote_lines(found.stderr) == remote_lines(said.stderr) != []
    check_repository(by_path.repository)


def test_a_push_by_path_is_a_publish_with_number_and_event(place: Place, tmp_path: Path) -> None:
    clone = Clone.of(place.repository, tmp_path / "clone")
    with following(place) as follower:
        commit = clone.publish("shop/redirects.yaml", rules("/a"))
        place.wait_for(commit)
        wait_until(lambda: follower.numbers() == [2], PATIENCE, "the event")
    (newest, *_) = place.get("/history")["items"]
    assert (newest["version"], newest["publishNumber"], newest["served"]) == (commit, 2, True)
    assert place.sources() == ["/a"]
    assert place.published("/b")["publishNumber"] == 3


def test_the_start_of_the_service_brings_hooks_up_to_date(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with running(WAYPOST, data) as service, open_world(service) as world:
        names = ["missing", "foreign", "bypassed", "closed", "good"]
        hooks = {name: data / "repos" / f"{name}.git" / HOOK for name in names}
        for name in names:
            world.root.ask("POST", "/api/namespaces", 201, json={"name": name})
        good = hooks["good"].read_bytes()
        assert all(hook.read_bytes() == good for hook in hooks.values())
    hooks["missing"].unlink()
    hooks["foreign"].write_text("#!/bin/sh\nexit 0\n")
    (hooks["bypassed"].parents[1] / "config").write_text(
        (hooks["bypassed"].parents[1] / "config").read_text().replace("hooksPath = hooks", "hooksPath = /mine")
    )
    hooks["closed"].unlink()
    hooks["closed"].mkdir()
    (hooks["closed"].parent / "pre-receive.before-waypost").mkdir()
    with running(WAYPOST, data) as service:
        logged = {
            (line["event"], line["namespace"]) for line in service.log_lines() if line.get("logger") == "waypost.hooks"
        }
        assert all(hook.read_bytes() == good for hook in hooks.values())
        assert (hooks["foreign"].parent / "pre-receive.before-waypost").read_text() == "#!/bin/sh\nexit 0\n"
        assert logged == {
            ("push_hook_of_another_kept", "foreign"),
            ("push_hook_of_another_kept", "closed"),
            ("push_hook_bypassed", "bypassed"),
        }
    hooks["foreign"].write_text("#!/bin/sh\nexit 0\n")
    with running(WAYPOST, data, {"WAYPOST_PUSH_HOOKS": "false"}) as service, open_world(service) as world:
        assert {name for name, hook in hooks.items() if hook.exists()} == {"foreign"}
        world.root.ask("POST", "/api/namespaces", 201, json={"name": "later"})
        assert not (data / "repos/later.git" / HOOK).exists()


def test_a_repository_that_cannot_be_written_does_not_stop_the_service(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with running(WAYPOST, data) as service, open_world(service) as world:
        world.root.ask("POST", "/api/namespaces", 201, json={"name": "acme"})
    repository = data / "repos/acme.git"
    (repository / HOOK).unlink()
    (repository / "hooks").rmdir()
    (repository / "hooks").write_text("")
    (repository / "hooks.before-waypost").write_text("")
    (repository / "config").unlink()
    (repository / "config").mkdir()
    with running(WAYPOST, data) as service:
        (line,) = [line for line in service.log_lines() if line.get("logger") == "waypost.hooks"]
        assert (line["event"], line["namespace"]) == ("push_hook_not_written", "acme")


def test_pushes_by_path_are_recorded_also_refused_ones(place: Place, tmp_path: Path) -> None:
    clone = Clone.of(place.repository, tmp_path / "clone")
    for text, target in (("redirects: 1\n", "release"), (rules("/a"), "topic")):
        clone.write("shop/redirects.yaml", text)
        clone.commit()
        words = ["git", "push", "origin", f"HEAD:refs/heads/{target}"]
        environment = {**os.environ, "SSH_CONNECTION": "192.0.2.7 50000 192.0.2.1 22"}
        subprocess.run(words, cwd=clone.folder, env=environment, capture_output=True, check=False)

    def found() -> list[Any] | None:
        items = place.root.get("/api/audit", event="push_requested", namespace=place.namespace)["items"]
        return items[::-1] if len(items) == 2 else None

    refused, accepted = wait_until(found, PATIENCE, "two entries")
    assert [each["detail"]["refs"][0]["outcome"] for each in (refused, accepted)] == ["refused", "accepted"]
    assert accepted["detail"]["refs"][0]["new"] == git(place.repository, "rev-parse", "topic")
    assert {(each["actor"]["kind"], each["address"]) for each in (refused, accepted)} == {("operator", "192.0.2.7")}


def test_valid_tokens_in_pushes_by_path_are_revoked_by_the_service(world: World, place: Place, tmp_path: Path) -> None:
    values = {name: world.token(everywhere("redirect:read")) for name in ("file", "message")}
    for name, value in values.items():
        clone = Clone.of(place.repository, tmp_path / name)
        clone.write("shop/redirects.yaml", rules("/a", f"/b?{value}" if name == "file" else "/b"))
        clone.commit(f"Use {value}" if name == "message" else "Change")
        found = push(clone)
        assert found.returncode != 0
        assert "Valid API tokens among those are revoked within a minute." in found.stderr
        assert value not in found.stderr
    holders = [Caller(world.http, value) for value in values.values()]
    wait_until(lambda: all(each.send("GET", "/api/me").status_code == 401 for each in holders), PATIENCE, "the end")
    entries = world.root.get("/api/audit", event="authn_token_revoked", namespace=place.namespace)["items"]
    assert [each["detail"]["reason"] for each in entries] == ["found in a push by path or SSH"] * len(values)
    wait_until(lambda: not list(place.repository.glob("waypost-found-tokens/*")), PATIENCE, "the notes to be gone")
