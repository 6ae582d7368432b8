"""Valid API tokens in what callers write: refused with the place, revoked in every worker, recorded, and shown nowhere."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from api.auth.permissions.grants import Grant
from api.auth.tokens.api_token import mint
from api.http.compat import BASE
from tests.e2e.caller import Caller
from tests.e2e.test_git_policy import RULE, Checkout, clone
from tests.e2e.test_transfer import HEADER, TSV
from tests.e2e.world import PASSWORD, Place, World, page, redirect


class Leak:
    """A new token, and what became of it."""

    def __init__(self, world: World, namespace: str = "*", *permissions: str) -> None:
        self.world = world
        wanted = [each.split(":") for each in permissions or ("redirect:read",)]
        self.value = world.token([Grant(namespace, "*", *each) for each in wanted])
        self.id: int = self.caller.get("/api/me")["id"]

    @property
    def caller(self) -> Caller:
        """The holder of the token."""
        return Caller(self.world.http, self.value)

    def is_revoked(self) -> bool:
        """Return whether each of many requests, in either worker, is refused."""
        return {self.caller.send("GET", "/api/me").status_code for _ in range(20)} == {401}

    def records(self) -> list[dict[str, Any]]:
        """Return the entries of the audit trail on its revocation."""
        admin = self.world.person("admin")
        found = admin.get("/api/audit", event="authn_token_revoked", limit=1000)["items"]
        return [each for each in found if each["detail"]["id"] == self.id]

    def check(self, reason: str, namespace: str | None) -> None:
        """Check that it is revoked, recorded once, and neither in the log nor in the repositories."""
        assert self.is_revoked()
        [entry] = self.records()
        assert entry["detail"] == {"id": self.id, "reason": reason}
        assert entry["namespace"] == namespace
        log = self.world.service.log.read_text("utf-8")
        assert self.value not in log
        logged = [json.loads(line) for line in log.splitlines() if '"leaked_token_revoked"' in line]
        assert any(line["event"] == "leaked_token_revoked" and line["id"] == self.id for line in logged)


@pytest.fixture
def leak(world: World) -> Leak:
    return Leak(world)


Write = Callable[[Place, str], tuple[str, str, Any]]
BODIES: dict[str, tuple[str, Write]] = {
    "a rule's target": ("/target", lambda _, t: ("POST", "/draft/redirects", redirect("/a", f"/x?key={t}"))),
    "a rule's source": ("/source", lambda _, t: ("POST", "/draft/redirects", redirect(f"/{t}"))),
    "a rule's note": ("/note", lambda _, t: ("POST", "/draft/redirects", redirect("/a", note=f"by {t}"))),
    "a page": ("/content", lambda _, t: ("POST", "/draft/pages", page("/p", f"one\n{t}\n"))),
    "a change of a rule": ("/target", lambda p, t: ("PATCH", f"/draft/redirects/{added(p)}", {"target": f"/{t}"})),
    "a list of changes": (
        "/1/item/target",
        lambda _, t: (
            "POST",
            "/draft/changes",
            [put(redirect("/a")), put(redirect("/b", f"/{t}"))],
        ),
    ),
    "a comment": ("/note", lambda p, t: ("POST", "/draft/review", {"action": "comment", "head": head(p), "note": t})),
    "the message of a publish": ("/message", lambda p, t: ("POST", "/publish", {"head": head(p), "message": t})),
    "the description of a project": ("/description", lambda _, t: ("PATCH", "", {"description": t})),
}


def put(item: dict[str, Any]) -> dict[str, Any]:
    return {"op": "put", "kind": "redirect", "item": item}


def added(place: Place) -> str:
    return str(place.add("/there")["id"])


def head(place: Place) -> str:
    added(place)
    return str(place.get("/draft")["head"])


@pytest.mark.parametrize("body", list(BODIES))
def test_a_token_in_a_body_is_refused_with_its_field_and_revoked(place: Place, leak: Leak, body: str) -> None:
    pointer, write = BODIES[body]
    method, tail, body = write(place, leak.value)
    before = place.get("/draft")["head"]
    answer = place.ask(method, tail, 422, json=body)
    assert answer.json()["error"] == "api_token"
    assert [each["pointer"] for each in answer.json()["problems"]] == [pointer]
    assert leak.value not in answer.text
    assert place.get("/draft")["head"] == before
    leak.check("found in an edit", place.namespace)
    assert place.root.send(method, place.path + tail, json=body).is_success  # now it is only text


GRANTS = [{"namespace": "*", "project": "*", "resource": "redirect", "action": "read"}]
URL = "https://hooks.example/"
EXPIRY = {"expiresAt": "2027-01-31T00:00:00Z"}
OTHER_BODIES: dict[str, tuple[str, Callable[[str], tuple[str, str, Any]]]] = {
    "an agent's error": ("/error", lambda t: ("POST", "{path}/agents", agent(error=f"401 for {t}"))),
    "an agent's name": ("/name", lambda t: ("POST", "{path}/agents", agent(name=f"edge-{t}"))),
    "an older agent's name": ("/name", lambda t: ("POST", BASE + "{path}/agents", agent(name=t))),
    "a webhook's address": ("/url", lambda t: ("POST", "{space}/webhooks", {"url": f"{URL}?token={t}"})),
    "a webhook's note": ("/description", lambda t: ("POST", "{space}/webhooks", {"url": URL, "description": t})),
    "an account's name": ("/lastname", lambda t: ("POST", "/api/users", {**account(), "lastname": t})),
    "one's own name": ("/firstname", lambda t: ("PATCH", "/api/me", {"firstname": t})),
    "a role's note": (
        "/description",
        lambda t: ("POST", "/api/roles", {"name": "r", "description": t, "grants": GRANTS}),
    ),
    "a token's name": ("/name", lambda t: ("POST", "/api/tokens", {"name": t, "grants": GRANTS})),
    "a personal token's name": ("/name", lambda t: ("POST", "/api/me/tokens", {"name": t, "role": "viewer", **EXPIRY})),
}


def agent(**fields: Any) -> dict[str, Any]:
    return {"name": "edge-1", "type": "traefik", "version": "1", "status": "error", "load_duration": 0, **fields}


@pytest.mark.parametrize("base", ["", BASE])
@pytest.mark.parametrize("before", ["", "edge-", "edge_1svc_"])
def test_a_token_in_the_name_of_an_agent_that_sends_a_heartbeat_is_refused_and_revoked(
    world: World, place: Place, leak: Leak, base: str, before: str
) -> None:
    sender = Caller(world.http, world.token([Grant(place.namespace, "*", "agent", "*")]))
    path = f"{base}{place.path}/agents/{before}{leak.value}/hit"
    answer = sender.ask("PATCH", path, 422)
    assert answer.json()["error"] == "api_token"
    assert leak.value not in answer.text
    assert place.get("/agents")["total"] == 0
    leak.check("found in a report", place.namespace)
    sender.ask("PATCH", path, 200)  # now it is only text


def test_a_token_in_the_user_agent_of_a_login_is_not_kept(world: World, leak: Leak) -> None:
    body = {"username": world.user("viewer"), "password": PASSWORD}
    found = world.http.post("/auth/login", json=body, headers={"User-Agent": f"Firefox/145.0 {leak.value}"})
    owner = Caller(world.http, found.json()["tokens"]["accessToken"])
    [shown] = [each for each in owner.get("/api/me/sessions")["items"] if each["current"]]
    assert (shown["browser"], leak.value in shown["userAgent"]) == ("Firefox", False)
    assert leak.caller.get("/api/me")["id"] == leak.id


def test_a_token_in_a_request_id_is_neither_returned_nor_kept(world: World, place: Place, leak: Leak) -> None:
    answer = place.ask("PATCH", "", 200, json={"description": "x"}, headers={"X-Request-Id": leak.value})
    assert leak.value not in answer.headers["X-Request-Id"]
    assert leak.value not in json.dumps(world.person("admin").get("/api/audit", limit=1000))


def account() -> dict[str, Any]:
    return {"username": "kim-who-leaks", "password": PASSWORD, "roles": ["viewer"]}


@pytest.mark.parametrize("body", list(OTHER_BODIES))
def test_a_token_in_a_field_beside_the_content_is_refused_and_revoked(
    world: World, place: Place, leak: Leak, body: str
) -> None:
    pointer, write = OTHER_BODIES[body]
    method, path, body = write(leak.value)
    admin = world.person("admin")
    answer = admin.ask(method, path.format(path=place.path, space=place.space), 422, json=body)
    assert answer.json()["error"] == "api_token"
    assert [each["pointer"] for each in answer.json()["problems"]] == [pointer]
    assert leak.value not in answer.text
    is_report, is_inside = "/agents" in path, "{" in path
    leak.check("found in a report" if is_report else "found in an edit", place.namespace if is_inside else None)


def test_a_token_that_is_written_with_escapes_is_found(place: Place, leak: Leak) -> None:
    text = json.dumps(redirect("/a", note="TOKEN")).replace(
        "TOKEN", "".join(f"\\u{ord(each):04x}" for each in leak.value)
    )
    headers = {"Content-Type": "application/json"}
    place.refused("POST", "/draft/redirects", 422, "api_token", content=text, headers=headers)
    assert leak.is_revoked()


@pytest.mark.parametrize("is_import", [False, True])
def test_a_token_with_escapes_in_a_text_is_refused_as_in_a_push(place: Place, leak: Leak, *, is_import: bool) -> None:
    hidden = "".join(f"\\x{ord(each):02x}" for each in leak.value)
    if is_import:
        text = f"{HEADER}BASIC\t/a\t/x?{hidden}\t301\n".encode()
        place.refused("POST", "/import", 422, "api_token", content=text, headers=TSV)
    else:
        place.refused("POST", "/draft/redirects", 422, "api_token", json=redirect("/a", note=hidden))
    leak.check("found in an import" if is_import else "found in an edit", place.namespace)


def test_text_with_the_form_of_a_token_is_no_token(place: Place, leak: Leak) -> None:
    place.ask("POST", "/draft/redirects", 201, json=redirect("/a", note=mint().value))
    place.ask("POST", "/draft/redirects", 201, json=redirect("/b", note=leak.value[:-1]))
    assert leak.caller.get("/api/me")["id"] == leak.id


@pytest.mark.parametrize("is_form", [False, True])
def test_a_token_in_an_import_is_refused_with_its_line_and_revoked(place: Place, leak: Leak, *, is_form: bool) -> None:
    text = f"{HEADER}BASIC\t/a\t/x\t301\nBASIC\t/b\t/x?{leak.value}\t301\n".encode()
    sent: dict[str, Any] = {"files": {"file": ("a.tsv", text)}} if is_form else {"content": text, "headers": TSV}
    answer = place.ask("POST", "/import", 422, **sent)
    assert (answer.json()["error"], answer.json()["problems"][0]["line"]) == ("api_token", 3)
    assert leak.value not in answer.text
    assert place.get("/draft")["head"] is None
    leak.check("found in an import", place.namespace)


def test_a_description_of_a_new_namespace_is_searched(world: World, leak: Leak) -> None:
    body = {"name": "leaky", "description": leak.value}
    world.root.refused("POST", "/api/namespaces", 422, "api_token", json=body)
    leak.check("found in an edit", None)


@pytest.fixture
def work(place: Place, tmp_path: Path) -> Checkout:
    return clone(place, tmp_path / "work", place.root)


def test_a_token_in_a_push_is_refused_in_all_its_refs_and_revoked(work: Checkout, leak: Leak) -> None:
    work.commit("shop/redirects.yaml", f"# for {leak.value}\n" + RULE.format("/a", "/b"))
    refs = ("HEAD:release", "HEAD:refs/heads/one", "HEAD:refs/heads/two", "HEAD:refs/tags/v1")
    lines = work.push(*refs, succeeds=False)
    assert "shop/redirects.yaml:1:1: api_token: " in lines[0]
    assert leak.value not in "".join(lines)
    assert work.git("ls-remote", "origin", "refs/heads/one", "refs/heads/two", "refs/tags/v1") == ""
    assert work.place.get("/history")["total"] == 1
    leak.check("found in a push", work.place.namespace)


def test_a_token_in_the_message_of_a_commit_is_refused_and_revoked(work: Checkout, leak: Leak) -> None:
    work.commit("shop/redirects.yaml", RULE.format("/a", "/b"))
    work.git("commit", "-q", "--amend", "-m", f"Use {leak.value}")
    assert "api_token: The message, the author or another header" in work.push("HEAD:release", succeeds=False)[0]
    leak.check("found in a push", work.place.namespace)


def test_a_token_in_the_name_of_the_committer_is_refused_and_revoked(work: Checkout, leak: Leak) -> None:
    work.commit("shop/redirects.yaml", RULE.format("/a", "/b"))
    plain = work.git("cat-file", "commit", "HEAD")
    changed = work.folder / "commit"
    changed.write_text(plain.replace("\ncommitter ", f"\ncommitter {leak.value} "), "utf-8")
    commit = work.git("hash-object", "-t", "commit", "-w", str(changed)).strip()
    assert "api_token: " in work.push(f"{commit}:refs/heads/topic", succeeds=False)[0]
    leak.check("found in a push", work.place.namespace)


@pytest.mark.parametrize("spelling", ["\\x{:02x}", "\\u{:04x}", "\\U{:08X}", "{1}\\\n      "])
def test_a_token_that_a_pushed_file_has_in_escapes_is_refused_and_revoked(
    work: Checkout, leak: Leak, spelling: str
) -> None:
    hidden = "".join(spelling.format(ord(each), each) for each in leak.value[:9]) + leak.value[9:]
    rule = RULE.format("/a", f'"/b?key={hidden}"')
    assert leak.value not in rule
    work.commit("shop/redirects.yaml", f"# One rule\n{rule}")
    line = f"shop/redirects.yaml:{rule[: rule.index('?key=')].count(chr(10)) + 2}:"
    assert line in work.push("HEAD:release", succeeds=False)[0]
    leak.check("found in a push", work.place.namespace)


def test_a_token_behind_thousands_of_texts_of_its_form_is_revoked(place: Place, leak: Leak) -> None:
    decoys = "".join(f"BASIC\t/{number}\t/x?{mint().value}\t301\n" for number in range(3_000))
    last = f"BASIC\t/a\t/x?{leak.value}\t301\n"
    answer = place.ask("POST", "/import", 422, content=(HEADER + decoys + last).encode(), headers=TSV)
    assert (answer.json()["error"], answer.json()["problems"][0]["line"]) == ("api_token", 3_002)
    leak.check("found in an import", place.namespace)
    assert place.ask("POST", "/import", 200, content=(HEADER + decoys).encode(), headers=TSV).json()["added"] == 3_000


def test_a_token_behind_thousands_of_texts_of_its_form_in_a_body_is_revoked(place: Place, leak: Leak) -> None:
    decoys = ["\n".join(mint().value for _ in range(700)) for _ in range(4)]
    items = [page(f"/{number}", text) for number, text in enumerate([*decoys, leak.value])]
    body = [{"op": "put", "kind": "page", "item": item} for item in items]
    answer = place.ask("POST", "/draft/changes", 422, json=body)
    assert [each["pointer"] for each in answer.json()["problems"]] == ["/4/item/content"]
    leak.check("found in an edit", place.namespace)


def test_whoever_pushes_their_own_token_learns_why_it_was_revoked(world: World, place: Place, tmp_path: Path) -> None:
    own = Leak(world, place.namespace, "project:read", "redirect:write")
    work = clone(place, tmp_path / "own", own.caller)
    # So many that their check takes longer than the time after which access is asked for again.
    work.commit_each({f"shop/redirects/{number}.yaml": f"# {number}\n" for number in range(300)})
    work.commit("shop/redirects.yaml", f"# {own.value}\n" + RULE.format("/a", "/b"))
    assert any("api_token: " in line for line in work.push("HEAD:refs/heads/topic", succeeds=False))
    own.check("found in a push", place.namespace)


def test_the_value_before_a_rotation_counts_while_it_is_valid(world: World, place: Place, leak: Leak) -> None:
    admin = world.person("admin")
    new = admin.ask("POST", f"/api/token/{leak.id}/rotate", 200, json={"overlap": 3600}).json()["token"]
    place.refused("POST", "/draft/redirects", 422, "api_token", json=redirect("/a", note=leak.value))
    assert leak.is_revoked()
    assert Caller(world.http, new).send("GET", "/api/me").status_code == 401


def test_a_personal_token_counts(world: World, place: Place) -> None:
    ada = world.person("editor")
    body = {"name": "laptop", "expiresAt": "2027-01-31T00:00:00Z", "role": "editor"}
    value = ada.ask("POST", "/api/me/tokens", 201, json=body).json()["token"]
    place.refused("POST", "/draft/redirects", 422, "api_token", json=redirect("/a", note=value))
    assert ada.get("/api/me/tokens")["items"] == []


@pytest.mark.parametrize("where", ["option", "branch", "tag"])
def test_a_token_beside_the_commits_of_a_push_is_refused_and_revoked(work: Checkout, leak: Leak, where: str) -> None:
    work.commit("shop/redirects.yaml", RULE.format("/a", "/b"))
    if where == "tag":
        work.git("tag", "-a", "v1", "-m", f"For {leak.value}")
    words = {
        "option": ("-o", f"override=by {leak.value}", "HEAD:release"),
        "branch": (f"HEAD:refs/heads/{leak.value}",),
        "tag": ("v1",),
    }[where]
    assert work.push(*words, succeeds=False)[0].startswith("api_token: ")
    leak.check("found in a push", work.place.namespace)
