"""The tables of `follow-one-request.md` name calls that a publish and a read make; the README's picture names their way."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from api.auth.permissions.grants import everywhere
from tests.docs.blocks import blocks, code, rows
from tests.docs.house import import_graph, imports_between
from tests.docs.picture import Picture, read_picture
from tests.docs.recorded import Call, Recorded, Recording, recorded_service
from tests.e2e.caller import Caller
from tests.e2e.pusher import Pusher
from tests.service import ROOT

TEXT = (ROOT / "docs" / "explanation" / "follow-one-request.md").read_text("utf-8")
README = (ROOT / "README.md").read_text("utf-8")
PUBLISH, READ = TEXT.split("## The next read by an agent")
_RULES = 100  # many more than change, so that a publish checks only the changes
_TSV = {"Content-Type": "text/tab-separated-values"}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    with recorded_service(tmp_path_factory.mktemp("recorded")) as found:
        lines = [f"BASIC\t/old/{number}\t/new/{number}\tFOUND\n" for number in range(_RULES)]
        content = "".join(["type\tsource\ttarget\tstatus\n", *lines]).encode()
        found.place.ask("POST", "/import", 200, content=content, headers=_TSV)
        found.place.ask("POST", "/publish", 200, json={})
        yield found


def named_calls(text: str) -> list[Call]:
    """Return the calls in the tables of a text."""
    return [Call(code(row[0]), code(row[1])) for row in rows(text) if len(row) == 3 and code(row[0])]


def test_a_publish_makes_the_calls_of_its_tables(service: Recorded) -> None:
    for draft in ("first", "second"):
        body = {"type": "BASIC", "source": f"/{draft}", "target": "/", "status": "FOUND"}
        service.place.ask("POST", f"/draft/redirects?draft={draft}", 201, json=body)
    service.place.ask("POST", "/publish?draft=first", 200, json={})
    recording = service.begin()
    service.place.ask("POST", "/publish?draft=second", 200, json={"message": "Publish the second"})
    assert len(named_calls(PUBLISH)) > 30
    recording.wait_for(named_calls(PUBLISH))


@pytest.fixture(scope="module")
def recorded_read(service: Recorded) -> Recording:
    """Read windows of a list with a new token, until the fast path has built one response as its table says."""
    world, path, limits = service.place.world, f"{service.place.path}/redirects", itertools.count(1)
    agent = Caller(world.http, world.token(everywhere("redirect:read")))
    recording = service.begin()
    recording.wait_for(named_calls(READ), lambda: agent.ask("GET", f"{path}?limit={next(limits)}", 200))
    return recording


def test_a_read_makes_the_calls_of_its_table(recorded_read: Recording) -> None:
    assert len(named_calls(READ)) > 5
    assert not recorded_read.missing(named_calls(READ))


@pytest.mark.parametrize("place", [0, 5, -1])
def test_a_call_that_is_not_made_is_found(recorded_read: Recording, place: int) -> None:
    calls = named_calls(READ)
    calls[place] = Call("api/http/fast_path.py", "FastPath.reply")
    assert recorded_read.missing(calls)[0] == calls[place]


def test_calls_in_another_order_are_found(recorded_read: Recording) -> None:
    backwards = named_calls(READ)[::-1]
    assert recorded_read.missing(backwards * len(recorded_read.calls()))


@pytest.fixture(scope="module")
def picture() -> Picture:
    (text,) = (block.text for block in blocks(README) if block.words == ("mermaid",))
    return read_picture(text)


def test_an_arrow_between_two_folders_of_the_picture_is_an_import(picture: Picture) -> None:
    pairs = [(start, end) for start, end in picture.arrows if {start, end} <= picture.paths.keys()]
    assert len(pairs) > 4
    for start, end in pairs:
        names = module_name(picture.paths[start]), module_name(picture.paths[end])
        assert names[1] in imports_between(names)[names[0]], f"{names[0]} does not import {names[1]}"


def test_an_arrow_to_a_branch_leads_to_git(picture: Picture) -> None:
    starts = [start for start, end in picture.arrows if end in picture.stores]
    assert len(starts) > 4
    for start in starts:
        importer = module_name(picture.paths[start])
        assert import_graph().chain_exists(importer, "gitstore.git", as_packages=True), importer


def test_the_picture_names_only_what_is_there(picture: Picture) -> None:
    assert [path for path in picture.paths.values() if not (ROOT / path).exists()] == []
    joined = {name for arrow in picture.arrows for name in arrow}
    assert joined == {*picture.paths, *picture.stores, *picture.people}


def test_a_push_a_publish_and_a_read_take_the_way_of_the_picture(
    service: Recorded, recorded_read: Recording, picture: Picture, tmp_path: Path
) -> None:
    pusher = Pusher.of(service.place, tmp_path / "clone")
    pusher.commit("shop/pages/note.txt", "one\n")
    pusher.pushed("origin", "HEAD:topic")
    called = {call.file for call in Recording(recorded_read.record, 0).calls()}
    unused = {path for path in picture.paths.values() if not any(file.startswith(path) for file in called)}
    assert unused <= {"api/events"}  # events follow a publish in the background, by chance in the context of a request


def module_name(path: str) -> str:
    """Return the module or package of a path in the project."""
    return path.removesuffix(".py").replace("/", ".")
