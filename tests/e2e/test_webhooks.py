"""Webhooks on the running service, two workers, with a real receiver on loopback."""

import base64
import hashlib
import hmac
import os
import signal
import socket
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.git import Clone, remove_hooks, rules
from tests.e2e.hooks import (
    PATIENCE,
    SETTINGS,
    create_webhook,
    deliveries,
    detail,
    path,
    wait_for_deliveries,
    wait_until_relayed,
)
from tests.e2e.receiver import Message, Receiver, always, in_turn, receiving
from tests.e2e.stream import following
from tests.e2e.world import Place, World, open_world
from tests.service import WAYPOST, running, wait_until


@pytest.fixture
def shop(webhook_world: World) -> Place:
    return wait_until_relayed(webhook_world.place())


def is_signed(message: Message, secret: str) -> bool:
    """Return whether one of the signatures is by this secret, as a receiver checks it."""
    content = f"{message.id}.{message.headers['webhook-timestamp']}.".encode() + message.raw
    key = base64.b64decode(secret.removeprefix("whsec_"))
    expected = "v1," + base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()
    return expected in message.headers["webhook-signature"].split(" ")


def test_a_publish_is_delivered_once_and_signed(shop: Place, receiver: Receiver) -> None:
    made = create_webhook(shop, receiver.url)
    published = shop.published("/a")
    found = wait_for_deliveries(shop, made, "delivered")
    message = receiver.of("published")[-1]
    assert is_signed(message, made["secret"])
    assert not is_signed(message, "whsec_" + base64.b64encode(b"x" * 32).decode())
    assert abs(int(message.headers["webhook-timestamp"]) - time.time()) < PATIENCE
    data = message.body["data"]
    assert (data["version"], data["publishNumber"]) == (published["version"], published["publishNumber"])
    assert (data["namespace"], data["project"], data["served"]) == (shop.namespace, shop.project, True)
    assert found[0]["webhookId"] == message.id
    assert len({each.id for each in receiver.messages}) == len(receiver.messages)


def test_a_rollback_and_a_push_by_plain_git_are_delivered_too(shop: Place, receiver: Receiver, tmp_path: Path) -> None:
    with following(shop) as follower:
        shop.published("/a")
        follower.wait(1)
    create_webhook(shop, receiver.url, projects=[shop.project])
    Clone.of(shop.repository, tmp_path / "clone").publish(f"{shop.project}/redirects.yaml", rules("/pushed"))
    wait_until(lambda: shop.sources() == ["/pushed"], PATIENCE, "the push to be served")
    shop.ask("POST", "/rollback", 200, json={"version": "2"})
    receiver.wait(1, "rolled_back")
    wait_until(lambda: len(receiver.messages) >= 2, PATIENCE, "the push to be reported")
    assert sorted(m.body["data"]["publishNumber"] for m in receiver.messages) == [3, 4]


def test_a_push_that_is_not_served_is_delivered_once(shop: Place, receiver: Receiver, tmp_path: Path) -> None:
    """Holders of the namespace get a message of its own type, with the cause and what is served meanwhile."""
    good = shop.published("/good")
    made = create_webhook(shop, receiver.url, events=["release.invalid"])
    clone = Clone.of(shop.repository, tmp_path / "clone")
    remove_hooks(shop.repository)
    clone.publish(f"{shop.project}/redirects.yaml", "redirects: [\n")
    (message,) = receiver.wait(1, "release.invalid")
    assert is_signed(message, made["secret"])
    data = message.body["data"]
    assert (data["namespace"], data["project"], data["code"]) == (shop.namespace, shop.project, "invalid_content")
    assert (data["publishNumber"], data["served"]["publishNumber"]) == (
        good["publishNumber"] + 1,
        good["publishNumber"],
    )
    assert data["served"]["version"] == good["version"]
    assert f"{shop.project}/redirects.yaml" in data["detail"]
    wait_for_deliveries(shop, made, "delivered")
    clone.publish(f"{shop.project}/redirects.yaml", rules("/fixed"))
    clone.publish(f"{shop.project}/redirects.yaml", "redirects: ]\n")
    receiver.wait(2, "release.invalid")
    assert [each.body["data"]["publishNumber"] for each in receiver.messages] == [3, 5]


def test_two_workers_deliver_each_message_once(webhook_world: World, receiver: Receiver) -> None:
    """Publishes come in a burst, and the receiver is slow enough for the workers to overlap."""
    place = wait_until_relayed(webhook_world.place())
    receiver.reply = lambda _message, _number: (time.sleep(0.02), (200, {}, b""))[1]  # type: ignore[func-returns-value]  # a slow receiver
    made = create_webhook(place, receiver.url)
    numbers = [place.published(f"/{number}")["publishNumber"] for number in range(12)]
    wait_for_deliveries(place, made, "delivered", len(numbers))
    assert sorted(message.body["data"]["publishNumber"] for message in receiver.messages) == numbers


def test_failures_are_tried_again_with_the_same_id_until_one_is_taken(shop: Place, receiver: Receiver) -> None:
    receiver.reply = in_turn(500, 302, 200)
    made = create_webhook(shop, receiver.url, events=["agent.silent"])
    shop.root.ask("POST", f"{path(shop, made)}/ping", 202)
    (delivery,) = wait_for_deliveries(shop, made, "delivered")
    assert len({message.id for message in receiver.messages}) == 1
    found = detail(shop, made, delivery)
    assert [attempt["status"] for attempt in found["attempts"]] == [500, 302, 200]
    assert found["body"].encode() == receiver.messages[0].raw
    assert receiver.messages[0].body["type"] == "ping"


def test_a_redirect_is_not_followed(shop: Place, receiver: Receiver) -> None:
    with receiving() as other:
        receiver.reply = always(307, Location=other.url)
        made = create_webhook(shop, receiver.url, events=["agent.silent"])
        shop.root.ask("POST", f"{path(shop, made)}/ping", 202)
        (delivery,) = wait_for_deliveries(shop, made, "failed")
        assert other.messages == []
    assert [attempt["status"] for attempt in detail(shop, made, delivery)["attempts"]] == [307] * 4


def test_a_receiver_that_is_slow_or_away_fails_with_its_reason(shop: Place, receiver: Receiver) -> None:
    gate = threading.Event()
    receiver.reply = lambda _message, _number: (gate.wait(PATIENCE), (200, {}, b""))[1]
    slow = create_webhook(shop, receiver.url, events=["agent.silent"])
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        away = create_webhook(shop, f"http://127.0.0.1:{taken.getsockname()[1]}/", events=["agent.silent"])
        for made in (slow, away):
            shop.root.ask("POST", f"{path(shop, made)}/ping", 202)
        reasons = {
            attempt["error"] for attempt in detail(shop, away, wait_for_deliveries(shop, away, "failed")[0])["attempts"]
        }
    assert reasons == {"connection_failed"}
    failed = detail(shop, slow, wait_for_deliveries(shop, slow, "failed")[0])["attempts"]
    gate.set()
    assert [attempt["error"] for attempt in failed] == ["timeout"] * 4


def test_an_answer_of_any_length_is_kept_to_a_kilobyte(shop: Place, receiver: Receiver) -> None:
    receiver.reply = always(200, b"\x00" + b"x" * 1_000_000)
    made = create_webhook(shop, receiver.url, events=["agent.silent"])
    shop.root.ask("POST", f"{path(shop, made)}/ping", 202)
    (attempt,) = detail(shop, made, wait_for_deliveries(shop, made, "delivered")[0])["attempts"]
    assert attempt["answer"] == "\N{REPLACEMENT CHARACTER}" + "x" * 1023


def test_410_switches_the_webhook_off_and_a_person_switches_it_on_again(shop: Place, receiver: Receiver) -> None:
    receiver.reply = always(410)
    made = create_webhook(shop, receiver.url, events=["agent.silent"])
    shop.root.ask("POST", f"{path(shop, made)}/ping", 202)
    (delivery,) = wait_for_deliveries(shop, made, "failed")
    found = shop.root.get(path(shop, made))
    assert (found["active"], found["stoppedBecause"]) == (False, "gone")
    for tail in ("ping", f"delivery/{delivery['id']}/redeliver"):
        shop.root.refused("POST", f"{path(shop, made)}/{tail}", 409, "webhook_inactive")
    receiver.reply = always(200)
    back = shop.root.ask("PATCH", path(shop, made), 200, json={"active": True}).json()
    assert (back["active"], back["stoppedBecause"]) == (True, None)
    shop.root.ask("POST", f"{path(shop, made)}/delivery/{delivery['id']}/redeliver", 202)
    wait_for_deliveries(shop, made, "delivered")
    assert len({message.id for message in receiver.messages}) == 1


def test_for_a_day_after_a_rotation_both_secrets_sign(shop: Place, receiver: Receiver) -> None:
    made = create_webhook(shop, receiver.url, events=["agent.silent"])
    rotated = shop.root.ask("POST", f"{path(shop, made)}/rotate", 200).json()
    assert rotated["secret"] != made["secret"]
    shop.root.ask("POST", f"{path(shop, made)}/ping", 202)
    (message,) = receiver.wait(1)
    assert is_signed(message, made["secret"])
    assert is_signed(message, rotated["secret"])


def test_a_secret_is_shown_once_and_is_in_no_log(shop: Place, receiver: Receiver) -> None:
    made = create_webhook(shop, f"{receiver.url}?key=sesame-{shop.namespace}", events=["agent.silent"])
    rotated = shop.root.ask("POST", f"{path(shop, made)}/rotate", 200).json()
    shop.root.ask("POST", f"{path(shop, made)}/ping", 202)
    (delivery,) = wait_for_deliveries(shop, made, "delivered")
    shown = [
        shop.root.get(path(shop, made)),
        shop.root.get(f"{shop.space}/webhooks"),
        detail(shop, made, delivery),
        shop.world.service.log.read_text("utf-8"),
    ]
    for text in map(str, shown):
        assert made["secret"] not in text
        assert rotated["secret"] not in text
    assert "sesame" not in str(shown[3])
    reader = shop.as_(shop.world.holder(("namespace", "read"), namespace=shop.namespace))
    assert reader.root.get(path(shop, made))["url"].endswith("?…")


def test_who_may_look_may_not_change(shop: Place, receiver: Receiver) -> None:
    made = create_webhook(shop, receiver.url)
    reader = shop.world.holder(("namespace", "read"), namespace=shop.namespace)
    other = shop.world.holder(("namespace", "write"), ("namespace", "read"), namespace="elsewhere")
    assert reader.get(f"{shop.space}/webhooks")["total"] == 1
    for method, tail in (("PATCH", ""), ("DELETE", ""), ("POST", "/rotate"), ("POST", "/ping")):
        for caller in (reader, other):
            caller.refused(method, path(shop, made) + tail, 403, "forbidden")
    other.refused("GET", path(shop, made), 403, "forbidden")
    neighbour = shop.world.place()
    neighbour.root.refused("GET", f"{neighbour.space}/webhook/{made['id']}", 404, "not_found")


def test_a_recreated_namespace_has_none_of_the_former_webhooks_and_events(
    webhook_world: World, receiver: Receiver
) -> None:
    place = webhook_world.place()
    made = create_webhook(place, receiver.url)
    place.published("/a")
    wait_for_deliveries(place, made, "delivered")
    place.root.ask("DELETE", f"{place.space}?confirm={place.namespace}", 204)
    place.root.ask("POST", "/api/namespaces", 201, json={"name": place.namespace})
    assert place.root.get(f"{place.space}/webhooks")["items"] == []
    place.root.refused("GET", path(place, made), 404, "not_found")


BAD = [
    ({}, "missing_field", "/url"),
    ({"url": "ftp://hooks.example/"}, "bad_format", "/url"),
    ({"url": "hooks.example"}, "bad_format", "/url"),
    ({"url": "http://me:pw@hooks.example/"}, "bad_format", "/url"),
    ({"url": "http://hooks.example/#here"}, "bad_format", "/url"),
    ({"url": "http://hooks example/"}, "bad_format", "/url"),
    ({"url": "http://hooks.example\\@10.0.0.1/"}, "bad_format", "/url"),
    ({"url": "http://[::1"}, "bad_format", "/url"),
    ({"url": "http://[fe80::1%25eth0]/"}, "bad_format", "/url"),
    ({"url": "http://hooks.example:0/"}, "bad_format", "/url"),
    ({"url": "http://hooks.example:99999/"}, "bad_format", "/url"),
    ({"url": "http:///path"}, "bad_format", "/url"),
    ({"url": "http://h\u00e4\u00e4ken.example/"}, "bad_format", "/url"),
    ({"url": "https://hooks.example/" + "x" * 2000}, "too_long", "/url"),
    ({"url": "http://10.0.0.1/"}, "address_refused", "/url"),
    ({"url": "http://[::ffff:7f00:1]/"}, "address_refused", "/url"),
    ({"url": "http://169.254.169.254/latest/meta-data"}, "address_refused", "/url"),
    ({"url": "http://0x0a000001/"}, "address_refused", "/url"),
    ({"url": "https://hooks.example/", "events": ["born"]}, "not_allowed", "/events/0"),
    ({"url": "https://hooks.example/", "projects": ["../x"]}, "bad_format", "/projects/0"),
    ({"url": "https://hooks.example/", "projects": ["shoop"]}, "unknown_project", "/projects/0"),
    ({"url": "https://hooks.example/", "projects": ["shop", "SHOP"]}, "unknown_project", "/projects/1"),
    ({"url": "https://hooks.example/", "secret": "whsec_x"}, "unknown_field", "/secret"),
]


@pytest.mark.parametrize(("body", "code", "pointer"), BAD)
def test_an_invalid_webhook_is_refused_with_a_message(shop: Place, body: Any, code: str, pointer: str) -> None:
    found = shop.root.ask("POST", f"{shop.space}/webhooks", 422, json=body).json()
    assert [(problem["code"], problem.get("pointer", "")) for problem in found["problems"]] == [(code, pointer)]
    assert shop.root.get(f"{shop.space}/webhooks")["total"] == 0


def test_a_missing_project_is_reported_with_the_nearest_name(shop: Place, receiver: Receiver) -> None:
    made = create_webhook(shop, receiver.url, projects=[shop.project])
    for method, target in (("POST", f"{shop.space}/webhooks"), ("PATCH", path(shop, made))):
        body = {"url": receiver.url, "projects": ["shoop"]}
        (problem,) = shop.root.refused(method, target, 422, "invalid_body", json=body)["problems"]
        assert problem["message"] == "Project 'shoop' does not exist in this namespace; did you mean 'shop'?"
    assert shop.root.get(path(shop, made))["projects"] == [shop.project]


def test_a_project_that_was_deleted_stays_in_the_list_and_comes_into_no_other(shop: Place, receiver: Receiver) -> None:
    gone = shop.world.place(shop.namespace, "gone")
    made, other = (
        create_webhook(shop, receiver.url, projects=["gone"]),
        create_webhook(shop, receiver.url, projects=["shop"]),
    )
    gone.ask("DELETE", "?confirm=gone", 204)
    body = {"projects": ["gone", "shop"]}
    assert shop.root.ask("PATCH", path(shop, made), 200, json=body).json()["projects"] == ["gone", "shop"]
    shop.root.refused("PATCH", path(shop, other), 422, "invalid_body", json=body)


def test_a_refused_address_names_the_setting_that_allows_it(shop: Place) -> None:
    found = shop.root.ask("POST", f"{shop.space}/webhooks", 422, json={"url": "http://10.0.0.1/"}).json()
    assert "webhook_networks (WAYPOST_WEBHOOK_NETWORKS)" in found["problems"][0]["message"]


def test_a_missing_webhook_is_404_and_a_malformed_request_400(shop: Place, receiver: Receiver) -> None:
    made = create_webhook(shop, receiver.url)
    for tail in ("/webhook/0", "/webhook/x", "/webhook/99999", f"/webhook/{made['id']}/delivery/77777"):
        shop.root.refused("GET", shop.space + tail, 404, "not_found")
    shop.root.refused("GET", f"{path(shop, made)}/deliveries?status=lost", 400, "bad_parameter")
    shop.root.refused("GET", "/api/namespace/nowhere/webhooks", 404, "not_found")


def test_a_worker_that_is_killed_before_it_could_note_the_answer_sends_the_same_id_again(tmp_path: Path) -> None:
    """At least once: the receiver has the message, the database does not, and another worker repeats it."""
    with (
        receiving() as receiver,
        running(WAYPOST, tmp_path / "data", SETTINGS) as service,
        open_world(service, killed=True) as world,
    ):
        place = world.place()
        before = service.workers()

        def kill_the_senders(_message: Message, number: int) -> tuple[int, dict[str, str], bytes]:
            if number == 0:
                for pid in before:
                    os.kill(pid, signal.SIGKILL)
            return 200, {}, b""

        receiver.reply = kill_the_senders
        made = create_webhook(place, receiver.url, events=["agent.silent"])
        place.root.send("POST", f"{path(place, made)}/ping")
        first, second = receiver.wait(2)[:2]
        assert first.id == second.id
        assert first.raw == second.raw
        wait_until(lambda: deliveries(place, made, status="delivered"), PATIENCE, "the delivery to be noted")


def test_a_network_that_is_not_allowed_any_more_gets_nothing_from_a_running_service(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with receiving() as receiver:
        with running(WAYPOST, data, SETTINGS) as service, open_world(service) as world:
            place = world.place()
            made = create_webhook(place, receiver.url, events=["agent.silent"])
        tightened = {**SETTINGS, "WAYPOST_WEBHOOK_NETWORKS": "192.0.2.0/24"}
        with running(WAYPOST, data, tightened) as service, open_world(service) as world:
            place = Place(world, place.namespace, place.project, world.root)
            place.root.send("POST", f"{path(place, made)}/ping")
            (failed,) = wait_for_deliveries(place, made, "failed")
            assert {attempt["error"] for attempt in detail(place, made, failed)["attempts"]} == {"address_refused"}
    assert receiver.messages == []
