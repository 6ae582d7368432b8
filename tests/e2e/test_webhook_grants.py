"""Grants of webhooks: only content that their owners may read is sent, and deliveries are shown only to its readers."""

from typing import Any

import pytest

from api.auth.permissions.grants import Grant
from api.auth.permissions.principal import OPERATOR
from api.auth.tokens.new_token import IssuedToken
from tests.e2e.caller import Caller
from tests.e2e.hooks import PATIENCE, create_webhook, deliveries, detail, path, wait_for_deliveries, wait_until_relayed
from tests.e2e.receiver import Receiver, in_turn
from tests.e2e.world import Place, World
from tests.service import wait_until

MAKING = (("namespace", "read"), ("namespace", "write"))
READING = (("project", "read"), ("agent", "read"))


@pytest.fixture
def shop(webhook_world: World) -> Place:
    return wait_until_relayed(webhook_world.place())


def holder(place: Place, *permissions: tuple[str, str], project: str = "*") -> Place:
    """Return the place for a token that creates webhooks and has these permissions, in one project or in all."""
    return place.as_(Caller(place.world.http, token(place, *permissions, project=project).value))


def token(place: Place, *permissions: tuple[str, str], project: str = "*") -> IssuedToken:
    """Return a token of such a holder."""
    grants = [Grant(place.namespace, "*", *each) for each in MAKING]
    grants += [Grant(place.namespace, project, *each) for each in permissions]
    return place.world.services.tokens.create(OPERATOR, "hooks", grants)


def tried(place: Place, **fields: Any) -> str:
    """Try to create a webhook; return `made`, or the message of the refusal."""
    answer = place.root.send("POST", f"{place.space}/webhooks", json={"url": "https://hooks.example/", **fields})
    if answer.status_code == 201:
        return "made"
    assert (answer.status_code, answer.json()["error"]) == (403, "grant_not_held"), answer.text
    return str(answer.json()["message"])


def test_a_webhook_is_made_only_by_those_who_may_read_all_that_it_is_sent(shop: Place) -> None:
    space = shop.namespace
    nothing, one = holder(shop), holder(shop, ("project", "read"), project="shop")
    every, both = holder(shop, ("project", "read")), holder(shop, *READING)
    reports, reviews = {"events": ["published"]}, {"events": ["review.commented"], "projects": ["shop"]}
    assert tried(nothing, **reviews).endswith(f"You do not have the grant project:read@{space}/shop.")
    assert tried(nothing, projects=["nowhere"]).endswith(f"project:read@{space}/nowhere."), (
        "a missing project is reported unlike an existing one"
    )
    assert tried(one, **reviews) == "made"
    assert tried(one, **reports).endswith(f"project:read@{space}/*.")
    assert tried(every, **reports) == "made"
    assert tried(every, **reports, projects=["shop"]) == "made"
    assert tried(every).endswith(f"agent:read@{space}/*."), "all events include the reports of agents"
    assert tried(every, events=["published", "agent.silent"]).endswith(f"agent:read@{space}/*.")
    assert tried(both) == "made"


def test_no_one_redirects_events_that_they_may_not_read_but_may_switch_them_off(
    shop: Place, receiver: Receiver
) -> None:
    made, other = create_webhook(shop, receiver.url), holder(shop)
    for change in ({"url": "https://mine.example/"}, {"events": ["*"]}, {"projects": ["shop"]}, {"active": True}):
        other.root.refused("PATCH", path(shop, made), 403, "grant_not_held", json=change)
    assert shop.root.get(path(shop, made))["url"] == receiver.url
    found = other.root.ask("PATCH", path(shop, made), 200, json={"active": False, "description": "Off"}).json()
    assert (found["active"], found["onBehalfOf"]) == (False, made["onBehalfOf"])
    other.root.ask("DELETE", path(shop, made), 204)


def test_a_user_who_changes_the_content_of_a_webhook_becomes_its_owner(shop: Place, receiver: Receiver) -> None:
    made = create_webhook(shop, receiver.url)
    other = holder(shop, ("project", "read"))
    assert made["onBehalfOf"] == made["createdBy"] != "hooks"
    found = other.root.ask("PATCH", path(shop, made), 200, json={"url": receiver.url + "/new"}).json()
    assert (found["onBehalfOf"], found["createdBy"]) == ("hooks", made["createdBy"])


def test_the_secret_is_given_only_to_readers_who_become_the_owner(shop: Place, receiver: Receiver) -> None:
    made = create_webhook(shop, receiver.url)
    for other in (holder(shop), holder(shop, ("project", "read"), project="elsewhere")):
        other.root.refused("POST", f"{path(shop, made)}/rotate", 403, "grant_not_held")
    assert shop.root.get(path(shop, made))["onBehalfOf"] == made["onBehalfOf"]
    taken = holder(shop, ("project", "read")).root.ask("POST", f"{path(shop, made)}/rotate", 200).json()
    assert taken["secret"] != made["secret"]
    assert (taken["onBehalfOf"], taken["createdBy"]) == ("hooks", made["createdBy"])


def test_what_was_sent_is_shown_to_those_who_may_read_the_project(shop: Place, receiver: Receiver) -> None:
    """The receiver's response is shown to them only, for it may repeat the message; the attempt is shown to all."""
    receiver.reply = lambda message, _number: (200, {}, message.raw)
    made = create_webhook(shop, receiver.url)
    shop.published("/a")
    shop.root.ask("POST", f"{path(shop, made)}/ping", 202)
    (ping, publish) = wait_for_deliveries(shop, made, "delivered", 2)
    if ping["type"] != "ping":
        ping, publish = publish, ping
    assert detail(shop, made, publish)["body"] == detail(shop, made, publish)["attempts"][0]["answer"]
    stranger, reader = holder(shop), holder(shop, ("project", "read"), project="shop")
    hidden = detail(stranger, made, publish)
    assert (hidden["body"], hidden["withheld"], hidden["type"]) == (None, True, "published")
    assert [(each["status"], each["answer"]) for each in hidden["attempts"]] == [(200, None)]
    assert detail(reader, made, publish) == detail(shop, made, publish)
    assert detail(stranger, made, ping)["body"] == receiver.of("ping")[0].raw.decode()


def stopped(place: Place, made: Any) -> Any:
    return wait_until(
        lambda: found if not (found := place.root.get(path(place, made)))["active"] else None,
        PATIENCE,
        "the webhook to be switched off",
    )


def test_a_webhook_stops_with_the_account_of_its_owner_until_it_is_taken_over(shop: Place, receiver: Receiver) -> None:
    """So a user who left does not continue to read; later events wait, and come once."""
    world = shop.world
    name = world.user("admin")
    caller = Caller(world.http, world.session(name)["accessToken"])
    made = create_webhook(shop.as_(caller), receiver.url)
    shop.published("/a")
    receiver.wait(1)
    number = caller.get("/api/me")["id"]
    world.person("admin").ask("PATCH", f"/api/user/{number}", 200, json={"active": False})
    shop.published("/b")
    found = stopped(shop, made)
    assert (found["stoppedBecause"], found["onBehalfOf"]) == ("grant_lost", name)
    shop.root.refused("POST", f"{path(shop, made)}/ping", 409, "webhook_inactive")
    again = shop.root.ask("PATCH", path(shop, made), 200, json={"active": True}).json()
    assert (again["stoppedBecause"], again["onBehalfOf"]) == (None, shop.root.get("/api/me")["name"])
    wait_for_deliveries(shop, made, "delivered", 2)
    shop.published("/c")
    wait_for_deliveries(shop, made, "delivered", 3)
    numbers = sorted(message.body["data"]["publishNumber"] for message in receiver.messages)
    assert numbers == [2, 3, 4]


@pytest.mark.parametrize("change", ["role", "token"])
def test_a_webhook_ends_with_the_grant_or_the_token_that_it_was_made_by(
    shop: Place, receiver: Receiver, change: str
) -> None:
    world, body = shop.world, None
    if change == "role":
        caller = Caller(world.http, world.session(world.user("admin"))["accessToken"])
        account, body = f"/api/user/{caller.get('/api/me')['id']}", {"roles": ["agent"]}
    else:
        issued = token(shop, ("project", "read"))
        caller, account = Caller(world.http, issued.value), f"/api/token/{issued.token.id}"
    made = create_webhook(shop.as_(caller), receiver.url)
    shop.published("/a")
    receiver.wait(1)
    admin = world.person("admin")
    admin.ask("PATCH", account, 200, json=body) if body else admin.ask("DELETE", account, 204)
    shop.published("/b")
    assert stopped(shop, made)["stoppedBecause"] == "grant_lost"
    assert [message.body["data"]["publishNumber"] for message in receiver.messages] == [2]


def test_messages_queued_under_the_former_owner_are_not_sent_for_the_new_owner(shop: Place, receiver: Receiver) -> None:
    """A message of a project that they may not read is sent neither by a retry nor by a repeat."""
    secret = wait_until_relayed(shop.world.place(shop.namespace, "secret"))
    receiver.reply = in_turn(500, 500, 500, 500)
    made = create_webhook(shop, receiver.url)
    secret.published("/hidden")
    (failed,) = wait_for_deliveries(shop, made, "failed")
    count = len(receiver.messages)
    other = holder(shop, ("project", "read"), project="shop")
    receiver.reply = in_turn(200)
    other.root.ask("PATCH", path(shop, made), 200, json={"url": receiver.url + "/mine", "projects": ["shop"]})
    other.root.ask("POST", f"{path(shop, made)}/delivery/{failed['id']}/redeliver", 202)
    wait_until(lambda: detail(shop, made, failed)["attempts"][-1]["error"], PATIENCE, "the attempt to be refused")
    assert detail(shop, made, failed)["attempts"][-1]["error"] == "not_permitted"
    assert deliveries(shop, made, status="failed")[0]["id"] == failed["id"]
    shop.published("/a")
    receiver.wait(count + 1)
    assert [message.body["data"]["project"] for message in receiver.messages[count:]] == ["shop"]
