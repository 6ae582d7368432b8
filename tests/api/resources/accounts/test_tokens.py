"""API tokens over HTTP."""

from datetime import timedelta
from pathlib import Path

import pytest

from api.auth.permissions.grants import everywhere
from api.auth.permissions.principal import OPERATOR
from api.db.accounts import roles
from api.db.audit import find_token_owners
from api.errors import ApiError
from tests.api.world import AGENTS, START, World, shaped, world

READ = {"resource": "redirect", "action": "read"}


@pytest.fixture
def here(tmp_path: Path) -> World:
    found = world(tmp_path)
    found.user("root", "admin")
    found.user("ada", "editor")
    return found


@pytest.fixture
def admin(here: World) -> str:
    return here.access("root")


def test_a_token_is_shown_once_and_works(here: World, admin: str) -> None:
    body = {"name": "edge in Oslo", "grants": [READ, {**READ, "namespace": "acme", "project": "shop"}]}
    answer = here.call("POST", "/api/tokens", admin, body)
    made = shaped(answer, "token-created", 201)
    value = made.pop("token")
    assert answer.headers["location"] == "/api/token/1"
    assert made == {
        "id": 1,
        "name": "edge in Oslo",
        "preview": value[:8] + "…",
        "grants": [
            {"namespace": "*", "project": "*", "resource": "redirect", "action": "read"},
            {"namespace": "acme", "project": "shop", "resource": "redirect", "action": "read"},
        ],
        "role": None,
        "owner": None,
        "expiresAt": None,
        "previousValidUntil": None,
        "createdAt": "2026-11-20T12:00:00Z",
        "createdBy": "root",
        "lastUsedAt": None,
    }
    for url, schema in (("/api/tokens", "token-list"), ("/api/token/1", "token")):
        shown = here.call("GET", url, admin)
        shaped(shown, schema)
        assert value.encode() not in shown.body
        assert value[8:].encode() not in shown.body
    assert shaped(here.call("GET", "/api/token/1", admin), "token") == made
    assert here.call("GET", "/api/me", value).status == 200


def test_a_removed_token_is_refused_at_once(here: World, admin: str) -> None:
    value = here.token("redirect:read")
    assert here.call("GET", "/api/me", value).status == 200
    assert here.call("DELETE", "/api/token/1", admin).status == 204
    assert here.call("GET", "/api/me", value).status == 401
    assert here.call("DELETE", "/api/token/1", admin).status == 404
    assert here.call("GET", "/api/token/1", admin).status == 404


def test_a_token_ends_at_its_time(here: World, admin: str) -> None:
    body = {"name": "for an hour", "grants": [READ], "expiresAt": "2026-11-20T14:00:00+01:00"}
    made = shaped(here.call("POST", "/api/tokens", admin, body), "token-created", 201)
    assert made["expiresAt"] == "2026-11-20T13:00:00Z"
    here.clock.advance(seconds=3599)
    assert here.call("GET", "/api/me", made["token"]).status == 200
    here.clock.advance(seconds=1)
    assert here.call("GET", "/api/me", made["token"]).status == 401


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"name": ""}, "/name"),
        ({"name": "a\nb"}, "/name"),
        ({"grants": []}, "/grants"),
        ({"grants": [READ, {"resource": "redirect", "action": "publish"}]}, "/grants/1"),
        ({"grants": [{"resource": "user", "action": "read", "namespace": "acme"}]}, "/grants/0"),
        ({"expiresAt": "2026-11-20T12:00:00Z"}, "/expiresAt"),
        ({"expiresAt": "2027-02-30T12:00:00Z"}, "/expiresAt"),
        ({"expiresAt": "2027-02-20T12:00:00"}, "/expiresAt"),
        ({"expiresAt": "0001-01-01T00:00:00+23:59"}, "/expiresAt"),
        ({"expiresAt": 0}, "/expiresAt"),
        ({"id": 5}, "/id"),
    ],
)
def test_an_invalid_token_is_refused_with_the_pointer(
    here: World, admin: str, change: dict[str, object], pointer: str
) -> None:
    answer = here.call("POST", "/api/tokens", admin, {"name": "ci", "grants": [READ], **change})
    assert (answer.status, answer.error) == (422, "invalid_body")
    assert [problem["pointer"] for problem in answer.json()["problems"]] == [pointer]
    assert shaped(here.call("GET", "/api/tokens", admin), "token-list")["total"] == 0


PAST = "2026-11-20T11:00:00Z"
FAULTS: list[tuple[dict[str, object], dict[str, str]]] = [
    ({"grants": [READ]}, {"/name": "missing_field"}),
    ({"expiresAt": PAST}, {"/name": "missing_field", "/grants": "invalid_grant", "/expiresAt": "in_the_past"}),
    ({"name": "", "role": "nope"}, {"/name": "too_short", "/role": "unknown_role"}),
    ({"name": "ci", "role": "nope", "expiresAt": PAST}, {"/role": "unknown_role", "/expiresAt": "in_the_past"}),
    ({"name": "ci", "role": 1, "expiresAt": PAST}, {"/role": "wrong_type", "/expiresAt": "in_the_past"}),
    (
        {"name": "ci", "role": "nope", "expiresAt": "2027-02-30T12:00:00Z"},
        {"/role": "unknown_role", "/expiresAt": "bad_format"},
    ),
    ({"name": "ci", "expiresAt": 0}, {"/expiresAt": "wrong_type", "/grants": "invalid_grant"}),
    ({"grants": [{"action": "read"}]}, {"/name": "missing_field", "/grants/0/resource": "missing_field"}),
    ({"a/b~": 1, "role": "nope"}, {"/name": "missing_field", "/a~1b~0": "unknown_field", "/role": "unknown_role"}),
]


@pytest.mark.parametrize(("body", "faults"), FAULTS)
def test_all_faults_of_a_new_token_are_named_at_once(
    here: World, admin: str, body: dict[str, object], faults: dict[str, str]
) -> None:
    answer = here.call("POST", "/api/tokens", admin, body)
    found = [(each["pointer"], each["code"]) for each in shaped(answer, "error", 422)["problems"]]
    assert (len(found), dict(found)) == (len(faults), faults)


def test_the_operator_hears_of_all_faults_of_a_new_token_too(here: World) -> None:
    with pytest.raises(ApiError) as refused:
        here.services.tokens.create(OPERATOR, "", [], START, "nope")
    assert {each.pointer for each in refused.value.problems} == {"/name", "/role", "/expiresAt"}


def test_no_one_creates_a_token_with_more_than_their_grants(here: World) -> None:
    with here.services.state.changing() as connection:
        roles.put_role(connection, roles.RoleRow("maker", "", (("*", "*", "token", "write"),), here.clock()))
    here.user("mia", "maker", "agent")
    access = here.access("mia")
    given = {"name": "edge", "grants": [{"resource": "agent", "action": "write", "namespace": "acme"}]}
    assert here.call("POST", "/api/tokens", access, given).status == 201
    for resource, action in (("redirect", "write"), ("redirect", "*"), ("*", "*"), ("project", "publish")):
        body = {"name": "more", "grants": [{"resource": resource, "action": action}]}
        answer = here.call("POST", "/api/tokens", access, body)
        assert (answer.status, answer.error) == (403, "grant_not_held")


def test_a_token_makes_no_tokens_and_no_accounts(here: World) -> None:
    machine = here.token("*:*")
    assert here.call("POST", "/api/tokens", machine, {"name": "more", "grants": [READ]}).status == 403
    assert here.call("DELETE", "/api/token/1", machine).status == 403
    body = {"username": "eve", "password": "a good password"}
    assert here.call("POST", "/api/users", machine, body).status == 403
    assert here.call("PATCH", "/api/user/1", machine, {"password": "a good password"}).status == 403
    assert here.call("DELETE", "/api/user/1", machine).status == 403
    assert here.call("GET", "/api/users", machine).status == 200


def test_an_editor_has_nothing_to_do_with_tokens(here: World) -> None:
    editor = here.access("ada")
    for method, url in (("GET", "/api/tokens"), ("GET", "/api/token/1"), ("DELETE", "/api/token/1")):
        assert here.call(method, url, editor).status == 403


def test_a_token_of_another_project_is_refused_in_the_same_words_whether_there_is_one(here: World, admin: str) -> None:
    grants = [{"resource": "agent", "action": "read", "namespace": "acme", "project": "docs"}]
    body = {"name": "docs", "grants": grants}
    value = shaped(here.call("POST", "/api/tokens", admin, body), "token-created", 201)["token"]
    there, not_there = here.call("GET", AGENTS, value), here.call("GET", AGENTS.replace("shop", "none"), value)
    assert (there.status, there.body) == (403, not_there.body)
    assert here.call("GET", AGENTS.replace("shop", "docs"), value).status == 404


def test_tokens_are_listed_in_windows(here: World, admin: str) -> None:
    for _ in range(3):
        here.token("redirect:read")
    found = shaped(here.call("GET", "/api/tokens?limit=2&offset=1", admin), "token-list")
    assert [token["id"] for token in found["items"]] == [2, 3]
    assert found["total"] == 3


def test_a_rotated_token_is_the_same_with_another_value_and_the_old_one_is_refused_at_once(
    here: World, admin: str
) -> None:
    value = here.token("redirect:read")
    before = shaped(here.call("GET", "/api/token/1", admin), "token")
    assert here.call("GET", "/api/me", value).status == 200
    answer = shaped(here.call("POST", "/api/token/1/rotate", admin), "token-created")
    new = answer.pop("token")
    assert answer == {**before, "preview": new[:8] + "…"}
    assert here.call("GET", "/api/me", value).status == 401
    assert shaped(here.call("GET", "/api/me", new), "me")["id"] == 1
    assert new.encode() not in here.call("GET", "/api/token/1", admin).body
    found = shaped(here.call("GET", "/api/audit", admin), "audit-list")["items"][0]
    assert (found["event"], found["actor"]["name"], found["detail"]) == ("authn_token_rotated", "root", {"id": 1})


def test_a_token_is_rotated_by_those_who_hold_what_it_may_do_and_while_it_lives(here: World, admin: str) -> None:
    with here.services.state.changing() as connection:
        roles.put_role(connection, roles.RoleRow("maker", "", (("*", "*", "token", "write"),), here.clock()))
    here.user("mia", "maker")
    machine = here.token("*:*", expires_at=here.clock() + timedelta(minutes=5))
    for caller, code in ((here.access("mia"), "grant_not_held"), (machine, "forbidden")):
        assert here.call("POST", "/api/token/1/rotate", caller).error == code
    assert here.call("POST", "/api/token/2/rotate", admin).error == "not_found"
    assert here.call("GET", "/api/me", machine).status == 200
    here.clock.advance(minutes=5)
    answer = here.call("POST", "/api/token/1/rotate", admin)
    assert (answer.status, answer.error) == (409, "token_expired")


def test_a_user_who_rotates_a_token_answers_for_it_beside_its_creator(here: World) -> None:
    """They have its value, so they are also an author of its edits, and cannot approve these."""
    second = here.user("bob", "admin")
    ada, bob = here.services.accounts.principal("root"), here.services.accounts.principal("bob")
    number = here.services.tokens.create(ada, "ci", everywhere("redirect:write")).token.id
    here.services.tokens.rotate(bob, number)
    with here.services.state.database.reading() as connection:
        assert find_token_owners(connection, [number]) == {number: {ada.id, second.id}}


def test_both_values_are_valid_until_the_overlap_ends(here: World, admin: str) -> None:
    first = here.token("redirect:read")
    second = shaped(here.call("POST", "/api/token/1/rotate", admin, {"overlap": 600}), "token-created")
    assert second["previousValidUntil"] == "2026-11-20T12:10:00Z"
    here.clock.advance(seconds=599)
    assert [here.call("GET", "/api/me", value).status for value in (first, second["token"])] == [200, 200]
    here.clock.advance(seconds=1)
    assert [here.call("GET", "/api/me", value).status for value in (first, second["token"])] == [401, 200]


def test_another_rotation_ends_the_overlap_of_the_one_before(here: World, admin: str) -> None:
    first = here.token("redirect:read")
    second = shaped(here.call("POST", "/api/token/1/rotate", admin, {"overlap": 600}), "token-created")["token"]
    third = shaped(here.call("POST", "/api/token/1/rotate", admin, {"overlap": 600}), "token-created")["token"]
    assert [here.call("GET", "/api/me", value).status for value in (first, second, third)] == [401, 200, 200]
    fourth = shaped(here.call("POST", "/api/token/1/rotate", admin, {}), "token-created")
    assert fourth["previousValidUntil"] is None
    statuses = [here.call("GET", "/api/me", value).status for value in (second, third, fourth["token"])]
    assert statuses == [401, 401, 200]


def test_an_overlap_never_outlasts_the_token(here: World, admin: str) -> None:
    first = here.token("redirect:read", expires_at=START + timedelta(seconds=60))
    here.call("POST", "/api/token/1/rotate", admin, {"overlap": 600})
    here.clock.advance(seconds=60)
    assert here.call("GET", "/api/me", first).status == 401


@pytest.mark.parametrize("overlap", [-1, 2_592_001, 1.5, "60", True, None, 2**70])
def test_an_overlap_is_a_number_of_seconds(here: World, admin: str, overlap: object) -> None:
    first = here.token("redirect:read")
    refused = shaped(here.call("POST", "/api/token/1/rotate", admin, {"overlap": overlap}), "error", 422)
    assert refused["problems"][0]["pointer"] == "/overlap"
    assert here.call("GET", "/api/me", first).status == 200


def test_a_token_has_the_grants_of_its_role_as_they_are_now(here: World, admin: str) -> None:
    reading, writing = everywhere("redirect:read"), everywhere("page:write")
    here.services.roles.create(OPERATOR, "robots", "", reading)
    body = {"name": "ci", "role": "robots", "grants": [READ, {"resource": "agent", "action": "read"}]}
    made = shaped(here.call("POST", "/api/tokens", admin, body), "token-created", 201)
    assert made["role"] == "robots"
    assert held(here, made["token"]) == {"redirect:read", "agent:read"}
    here.services.roles.replace(OPERATOR, "robots", "", writing)
    assert held(here, made["token"]) == {"redirect:read", "agent:read", "page:write"}
    here.services.roles.remove(OPERATOR, "robots")
    here.services.roles.create(OPERATOR, "robots", "", writing)  # another role of the name
    assert held(here, made["token"]) == {"redirect:read", "agent:read"}
    assert shaped(here.call("GET", "/api/token/1", admin), "token")["role"] is None


def test_a_token_gets_a_role_only_of_who_has_its_grants(here: World, admin: str) -> None:
    here.services.roles.create(OPERATOR, "tokens", "", everywhere("token:write", "redirect:read"))
    here.user("eve", "tokens")
    eve = here.access("eve")
    refused = here.call("POST", "/api/tokens", eve, {"name": "ci", "role": "editor"})
    assert shaped(refused, "error", 403)["error"] == "grant_not_held"
    assert here.call("POST", "/api/tokens", eve, {"name": "ci", "role": "tokens"}).status == 201
    here.services.roles.replace(OPERATOR, "tokens", "", everywhere("token:write"))
    here.services.tokens.create(OPERATOR, "admin", [], role="admin")
    refused = here.call("POST", "/api/token/2/rotate", eve)
    assert shaped(refused, "error", 403)["error"] == "grant_not_held"
    unknown = shaped(here.call("POST", "/api/tokens", admin, {"name": "ci", "role": "boss"}), "error", 422)
    assert unknown["problems"][0]["code"] == "unknown_role"
    none = shaped(here.call("POST", "/api/tokens", admin, {"name": "ci"}), "error", 422)
    assert none["problems"][0]["message"] == "The token has no grants. Give it grants or a role."


def held(here: World, value: str) -> set[str]:
    me = shaped(here.call("GET", "/api/me", value), "me")
    return {f"{each['resource']}:{each['action']}" for each in me["grants"]}


def test_a_token_with_a_role_needs_no_grants(here: World) -> None:
    body = {"name": "edge", "grants": [], "role": "agent"}
    made = shaped(here.call("POST", "/api/tokens", here.access("root"), body), "token-created", 201)
    assert (made["grants"], made["role"]) == ([], "agent")
    mine = {**body, "expiresAt": "2026-12-20T12:00:00Z"}
    made = shaped(here.call("POST", "/api/me/tokens", here.access("root"), mine), "token-created", 201)
    assert (made["grants"], made["role"]) == ([], "agent")
