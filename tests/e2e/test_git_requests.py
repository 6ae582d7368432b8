"""Requests of Git's protocol as bytes: callers and their permissions, truncated and compressed bodies, protocol violations."""

import gzip
import socket
import zlib
from base64 import b64encode
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

import schemas
from api.auth.permissions.grants import Grant
from api.auth.permissions.principal import OPERATOR
from api.auth.tokens import api_token
from api.auth.tokens.tokens import Tokens
from tests.e2e.contract import check_answer, check_shape, describe
from tests.e2e.remote import Remote
from tests.e2e.test_access import path_of
from tests.e2e.world import PASSWORD, Place, World, open_world
from tests.service import WAYPOST, running

REFS = "/info/refs?service=git-upload-pack"
PUSH_REFS = "/info/refs?service=git-receive-pack"
FETCH = "/git-upload-pack"
REQUEST = {"Content-Type": "application/x-git-upload-pack-request"}


def basic(user: str, password: str) -> dict[str, str]:
    """Return the header for a user name and password."""
    return {"Authorization": "Basic " + b64encode(f"{user}:{password}".encode()).decode()}


def ask(
    place: Place, tail: str, headers: dict[str, str], namespace: str = "", body: bytes | None = None
) -> httpx.Response:
    """Send a request to a repository, over a new connection."""
    path, method = f"/git/{namespace or place.namespace}.git{tail}", "GET" if body is None else "POST"
    answer = place.world.http.request(method, path, headers=headers, content=body)
    check_answer(method, path.partition("?")[0], answer)
    return answer


def as_root(place: Place) -> dict[str, str]:
    """Return the header of a caller with all grants."""
    return basic("x", place.world.root.token)


def line(text: bytes) -> bytes:
    """Frame a line."""
    return b"%04x%b" % (len(text) + 4, text)


def want(place: Place, *capabilities: bytes) -> bytes:
    """Return the request of a clone in the first version of the protocol."""
    tip = Remote("").git(place.repository, "rev-parse", "release").encode()
    return line(b" ".join([b"want " + tip, *capabilities]) + b"\n") + b"0000" + line(b"done\n")


def test_without_credentials_git_is_asked_for_them(place: Place) -> None:
    for namespace in (place.namespace, "none", "no.name"):
        for tail, body in ((REFS, None), (PUSH_REFS, None), (FETCH, b"")):
            answer = ask(place, tail, {}, namespace, body)
            assert answer.status_code == 401
            assert answer.headers["WWW-Authenticate"] == 'Basic realm="waypost"'


def test_wrong_credentials_are_refused_alike(place: Place) -> None:
    user = place.world.user("admin")
    wrong = [
        basic(user, "wrong"),
        basic("nobody", "wrong"),
        basic("x", "svc_" + "Z" * 49),
        basic("x", place.world.root.token[:-1] + "!"),
        basic("", ""),
        basic("a\0b", PASSWORD),
        {"Authorization": "Basic"},
        {"Authorization": "Basic ###"},
        {"Authorization": "Basic " + b64encode(b"no colon").decode()},
        {"Authorization": "Basic " + b64encode(b"\xff\xfe:\xff").decode()},
        {"Authorization": f"Bearer {place.world.root.token}"},
    ]
    answers = [ask(place, REFS, headers) for headers in wrong]
    assert [answer.status_code for answer in answers] == [401] * len(wrong)
    assert {answer.headers["WWW-Authenticate"] for answer in answers} == {'Basic realm="waypost"'}
    assert len({answer.content for answer in answers}) == 1


def test_a_password_and_a_token_are_accepted(place: Place) -> None:
    for headers in (basic(place.world.user("viewer"), PASSWORD), basic("whoever", place.world.root.token)):
        for _ in range(3):
            assert ask(place, REFS, headers).status_code == 200


def test_without_permission_there_is_no_repository(place: Place) -> None:
    """Read needs project:read in every project; other grants, and those of one project, do not help."""
    world = place.world
    lacking = [
        (("redirect", "read"), place.namespace, "*"),
        (("project", "write"), place.namespace, "*"),
        (("project", "read"), place.namespace, place.project),
        (("*", "*"), "other", "*"),
    ]
    held = basic("x", world.token([Grant(place.namespace, "*", "project", "read")]))
    for tail, body in ((REFS, None), (PUSH_REFS, None), (FETCH, b"0000")):
        missing = ask(place, tail, {**as_root(place), **REQUEST}, "none", body)
        answers = [missing, ask(place, tail, {**as_root(place), **REQUEST}, "no.name", body)]
        for permission, namespace, project in lacking:
            headers = {**basic("x", world.token([Grant(namespace, project, *permission)])), **REQUEST}
            answers += [ask(place, tail, headers, name, body) for name in (place.namespace, "none", "no.name")]
        answers += [ask(place, tail, {**held, **REQUEST}, "none", body)]
        assert {answer.status_code for answer in answers} == {404}
        assert len({answer.content for answer in answers}) == 1
    assert ask(place, REFS, held).status_code == 200


def test_refs_for_a_push_need_a_write_grant(place: Place) -> None:
    read = Grant(place.namespace, "*", "project", "read")
    for resource in ("redirect", "page", "project"):
        token = place.world.token([read, Grant(place.namespace, place.project, resource, "write")])
        answer = ask(place, PUSH_REFS, basic("x", token))
        assert b"report-status" in answer.content, describe(answer)
    for other in (read, Grant(place.namespace, "*", "agent", "write"), Grant("other", "*", "redirect", "write")):
        assert ask(place, PUSH_REFS, basic("x", place.world.token([read, other]))).status_code == 403


def test_other_calls_take_no_password(world: World, place: Place) -> None:
    """Only Git's routes accept HTTP Basic, so a browser that was asked for a password sends it nowhere else."""
    user = world.user("admin")
    for operation in schemas.operations():
        if operation.audience != "public" and operation.scheme == "bearer":
            path = path_of(operation, place)
            for headers in (basic(user, PASSWORD), basic("x", world.root.token)):
                answer = world.http.request(operation.method, path, headers=headers)
                assert answer.status_code == 401, describe(answer)
                assert answer.headers["WWW-Authenticate"].startswith("Bearer")


def test_a_changed_password_and_a_disabled_account_end_the_access(place: Place) -> None:
    world = place.world
    user = world.user("viewer")
    number = world.services.accounts.principal(user).id
    assert ask(place, REFS, basic(user, PASSWORD)).status_code == 200
    world.root.refused("PATCH", f"/api/user/{number}", 403, "forbidden", json={"password": "another password"})
    admin = world.person("admin")
    admin.ask("PATCH", f"/api/user/{number}", 200, json={"password": "another password"})
    for _ in range(4):  # by either worker
        assert ask(place, REFS, basic(user, PASSWORD)).status_code == 401
        assert ask(place, REFS, basic(user, "another password")).status_code == 200
    admin.ask("PATCH", f"/api/user/{number}", 200, json={"active": False})
    for _ in range(4):
        assert ask(place, REFS, basic(user, "another password")).status_code == 401


def test_wrong_passwords_are_throttled_as_logins_are(tmp_path: Path) -> None:
    with running(WAYPOST, tmp_path / "data", {"WAYPOST_LOGIN_ATTEMPTS": "5"}) as service, open_world(service) as world:
        place, user = world.place(), world.user("viewer")
        for _ in range(10):
            assert ask(place, REFS, basic(user, PASSWORD)).status_code == 200
        answers = [ask(place, REFS, basic(user, f"wrong {n}")).status_code for n in range(8)]
        assert answers == [401] * 5 + [429] * 3
        answer = ask(place, REFS, basic(world.user("viewer"), PASSWORD))
        assert answer.status_code == 429  # from the same address
        assert int(answer.headers["Retry-After"]) >= 1
        assert answer.json()["message"].endswith(" s. API tokens still work.")
        assert ask(place, REFS, as_root(place)).status_code == 200


def test_git_prints_why_it_was_refused(place: Place, tmp_path: Path) -> None:
    remote = Remote.of(place)
    assert "remote: There is no such repository" in remote.refused(
        tmp_path, "ls-remote", remote.url.replace(place.namespace, "none")
    )
    wrong = Remote.of(place, place.world.user("viewer"), "wrong")
    assert "remote: Incorrect user name, password or API token." in wrong.refused(tmp_path, "ls-remote", wrong.url)


def test_git_remembers_the_password_by_its_own_helper(place: Place, tmp_path: Path) -> None:
    remote = Remote.of(place)
    address = remote.url.rpartition("@")[2]
    store = tmp_path / "credentials"
    store.write_text(f"http://x:{place.world.root.token}@{address.partition('/')[0]}\n")
    helper = f"credential.helper=store --file={store}"
    assert "release" in remote.git(tmp_path, "-c", helper, "ls-remote", f"http://{address}")
    before = store.read_text()
    store.write_text(before.replace(place.world.root.token, "svc_" + "Z" * 49))
    remote.refused(tmp_path, "-c", helper, "ls-remote", f"http://{address}")
    assert store.read_text() == ""  # git forgets what was refused


@pytest.mark.parametrize(
    "tail",
    [
        "/HEAD",
        "/config",
        "/objects/info/packs",
        "/objects/00/" + "0" * 38,
        "/info/refs",
        "/info/refs?service=git-upload-archive",
    ],
)
def test_there_are_no_plain_files(place: Place, tail: str) -> None:
    answer = place.world.http.get(f"/git/{place.namespace}.git{tail}", headers=as_root(place))
    check_shape(answer)
    assert answer.status_code == 404


@pytest.mark.parametrize("value", ["version=1", "version=3", "x$(id)", "version=22", "version=2x", ""])
def test_other_versions_of_the_protocol_are_ignored(place: Place, value: str) -> None:
    plain = ask(place, REFS, as_root(place))
    assert ask(place, REFS, {**as_root(place), "Git-Protocol": value}).content == plain.content
    second = ask(place, REFS, {**as_root(place), "Git-Protocol": "x=1:version=2", "GIT_DIR": "/"})
    assert second.content.startswith(b"000eversion 2\n")


@pytest.fixture
def clone_answer(place: Place) -> bytes:
    """Return the response to a whole, valid request."""
    answer = ask(place, FETCH, {**as_root(place), **REQUEST}, body=want(place))
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "application/x-git-upload-pack-result"
    return answer.content


def test_a_plain_or_compressed_request_is_answered(place: Place, clone_answer: bytes) -> None:
    assert clone_answer.startswith(b"0008NAK\nPACK")
    for coding in ("gzip", "x-gzip", "GZIP"):
        headers = {**as_root(place), **REQUEST, "Content-Encoding": coding}
        assert ask(place, FETCH, headers, body=gzip.compress(want(place))).content == clone_answer


def test_a_request_in_chunks_is_answered(place: Place, clone_answer: bytes) -> None:
    def pieces(body: bytes) -> Iterator[bytes]:
        yield from (body[at : at + 7] for at in range(0, len(body), 7))

    path, headers = f"/git/{place.namespace}.git{FETCH}", {**as_root(place), **REQUEST}
    answer = place.world.http.post(path, headers=headers, content=pieces(want(place)))
    assert answer.content == clone_answer
    packed = pieces(gzip.compress(want(place)))
    answer = place.world.http.post(path, headers={**headers, "Content-Encoding": "gzip"}, content=packed)
    assert answer.content == clone_answer


def test_an_empty_request_gets_an_empty_answer(place: Place) -> None:
    for headers, body in (
        ({}, b""),
        ({}, b"0000"),
        ({"Content-Encoding": "gzip"}, b""),
        ({"Content-Encoding": "gzip"}, gzip.compress(b"")),
    ):
        answer = ask(place, FETCH, {**as_root(place), **REQUEST, **headers}, body=body)
        assert (answer.status_code, answer.content) == (200, b""), describe(answer)
    answer = ask(place, FETCH, {**as_root(place), **REQUEST, "Git-Protocol": "version=2"}, body=b"")
    assert (answer.status_code, answer.content) == (200, b"")


def test_a_truncated_request_is_refused(place: Place) -> None:
    whole = want(place)
    headers = {**as_root(place), **REQUEST}
    for size in (2, 10, 40, len(whole) - 14, len(whole) - 6, len(whole) - 2):
        answer = ask(place, FETCH, headers, body=whole[:size])
        assert answer.status_code == 400, (size, describe(answer))
    packed = gzip.compress(whole)
    for size in (5, len(packed) // 2, len(packed) - 1):
        answer = ask(place, FETCH, {**headers, "Content-Encoding": "gzip"}, body=packed[:size])
        assert answer.status_code == 400, describe(answer)
        assert answer.json()["error"] == "truncated_body"


def test_a_body_shorter_than_its_length_is_refused(place: Place) -> None:
    body = want(place)
    for claimed in (str(len(body) + 10), str(2**31), str(2**63), str(2**64), "-1", "x", ""):
        answer = _send(place, body, {"Content-Length": claimed})
        assert answer[:12] in {b"HTTP/1.1 400", b"HTTP/1.1 413", b""}, (claimed, answer)  # or the connection ends


def test_the_client_may_wait_for_permission_to_send_the_body(place: Place, clone_answer: bytes) -> None:
    body = want(place)
    head = _head(place, {"Content-Length": str(len(body)), "Expect": "100-continue"})
    with closing(socket.create_connection(("127.0.0.1", place.world.service.port), timeout=60)) as connection:
        connection.sendall(head)
        assert connection.recv(65536).startswith(b"HTTP/1.1 100")
        connection.sendall(body)
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 200")
    assert clone_answer.removeprefix(b"0008NAK\n") in answer


def test_damaged_and_endless_bodies_are_refused(place: Place) -> None:
    headers = {**as_root(place), **REQUEST, "Content-Encoding": "gzip"}
    bomb = gzip.compress(bytes(40 << 20))
    assert ask(place, FETCH, headers, body=bomb).status_code == 413
    for body in (b"no gzip", zlib.compress(b"0000"), gzip.compress(b"0000") + b"x"):
        answer = ask(place, FETCH, headers, body=body)
        assert (answer.status_code, answer.json()["error"]) == (400, "malformed_body")
    assert ask(place, FETCH, {**headers, "Content-Encoding": "br"}, body=b"x").status_code == 415
    assert ask(place, FETCH, as_root(place), body=b"0000").status_code == 415
    plain = {**as_root(place), **REQUEST}
    assert ask(place, FETCH, plain, body=bytes(17 << 20)).status_code == 413


@pytest.mark.parametrize(
    "body",
    [
        b"zzzz",
        b"0003",
        b"+001",
        b" 005x0000",
        b"0005",
        line(b"want " + b"0" * 39 + b"g\n") + b"0000",
        line(b"have " + b"0" * 40 + b"\n") + b"0000",
        line(b"want \xff\xfe\n") + b"0000",
        line(b"want " + b"1" * 40 + b"\n") + line(b"deepen x\n") + b"0000",
        line(b"want " + b"1" * 40 + b"\n") + line(b"deepen " + b"9" * 30 + b"\n") + b"0000",
        line(b"want " + b"1" * 40 + b"\n") + line(b"shell\n") + b"0000",
        line(b"command=fetch\n") + b"0001" + line(b"want x\n") + b"0000",
        line(b"command=fetch\n") + b"0001",
        line(b"object-format=sha256\n") + line(b"command=ls-refs\n") + b"0000",
        line(b"agent=x\n") + b"0000",
    ],
)
@pytest.mark.parametrize("version", ["", "version=2"])
def test_what_is_not_the_protocol_is_refused(place: Place, body: bytes, version: str) -> None:
    answer = ask(place, FETCH, {**as_root(place), **REQUEST, "Git-Protocol": version}, body=body)
    assert answer.status_code == 400, describe(answer)
    assert answer.json()["error"] == "malformed_git_request"


def test_an_unknown_command_is_an_error_in_the_protocol(place: Place) -> None:
    headers = {**as_root(place), **REQUEST, "Git-Protocol": "version=2"}
    assert b"ERR unknown command" in ask(place, FETCH, headers, body=line(b"command=object-info\n") + b"0000").content


def test_git_prints_which_filters_there_are(place: Place, tmp_path: Path) -> None:
    remote = Remote.of(place)
    for version in "012":
        version_option = f"protocol.version={version}"
        printed = remote.refused(
            tmp_path, "-c", version_option, "clone", "--filter=sparse:oid=release:x", remote.url, f"clone-{version}"
        )
        assert "remote error: This service knows the filters blob:none, blob:limit=<bytes> and tree:<depth>." in printed


def test_git_prints_that_a_token_has_expired(place: Place, tmp_path: Path) -> None:
    """Only to its holder; the last character of another value is its checksum's."""
    issued = Tokens(place.world.services.tokens.state, lambda: datetime(2020, 1, 1, tzinfo=UTC)).create(
        OPERATOR, "old", [Grant("*", "*", "project", "read")], datetime(2020, 1, 2, tzinfo=UTC)
    )
    printed = Remote.of(place, "x", issued.value).refused(
        tmp_path, "ls-remote", Remote.of(place, "x", issued.value).url
    )
    assert "remote: This API token expired on 2020-01-02T00:00:00Z. Create a new one." in printed
    other = Remote.of(place, "x", api_token.mint().value)
    assert "remote: Incorrect user name, password or API token." in other.refused(tmp_path, "ls-remote", other.url)


def _head(place: Place, headers: dict[str, str]) -> bytes:
    fields = {"Host": "localhost", "Connection": "close", **as_root(place), **REQUEST, **headers}
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"POST /git/{place.namespace}.git{FETCH} HTTP/1.1\r\n{lines}\r\n".encode()


def _send(place: Place, body: bytes, headers: dict[str, str]) -> bytes:
    """Send a request, close the own side of the connection, and return the response."""
    with closing(socket.create_connection(("127.0.0.1", place.world.service.port), timeout=60)) as connection:
        connection.sendall(_head(place, headers) + body)
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(65536), b""))


@pytest.mark.parametrize("tail", ["/git-upload-pack", "/git-receive-pack"])
def test_an_unknown_parameter_is_400_and_named(place: Place, tail: str) -> None:
    answer = ask(place, f"{tail}?nosuch=1", as_root(place), body=b"0000")
    assert (answer.status_code, answer.json()["error"]) == (400, "bad_parameter")
    assert "'nosuch'" in answer.json()["message"]
