"""Redirect lists as public sites have them, and a large one: imported, published, and read in windows as by an agent."""

from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from tests.e2e.world import Place, World
from tests.redirect_lists import COLUMNS, LISTS, STATUS_NAMES, read_list
from tests.rounds import rounds

AGENT = (("redirect", "read"), ("page", "read"), ("agent", "write"))
MANY = 100_000
SMALL, LARGE = 100, 500
MOST_SMALL = rounds(2_000, MANY)  # rules that are read in small windows too
TSV = {"Content-Type": "text/tab-separated-values"}


def rows(text: bytes) -> Iterator[tuple[int, dict[str, str]]]:
    """Return the rows of a list with their line numbers; a status by its name."""
    for line, row in enumerate(text.decode().split("\n")[1:], 2):
        if row.strip("\r"):
            item = dict(zip(COLUMNS, row.removesuffix("\r").split("\t"), strict=True))
            yield line, {**item, "status": STATUS_NAMES.get(item["status"], item["status"])}


def walk(agent: Place, limit: int) -> list[dict[str, str]]:
    """Read all redirects in windows with computed offsets, as agents do, and check the links on the way."""
    items: list[dict[str, str]] = []
    version = agent.get("/version")
    while True:
        answer = agent.ask("GET", f"/redirects?limit={limit}&offset={len(items)}", 200)
        found = answer.json()
        items += found["items"]
        assert answer.headers["X-Project-Version"] == version
        assert ("Link" in answer.headers) is (len(items) < found["total"])
        if found["offset"] + len(found["items"]) >= found["total"]:
            return items


def import_and_publish(place: Place, data: bytes) -> Any:
    """Import a list and publish it; return the report of the import."""
    report = place.ask("POST", "/import?skipErrors=true", 200, content=data, headers=TSV).json()
    place.publish()
    return report


def check_walks(place: Place, expected: list[dict[str, str]]) -> None:
    """Fail unless every way to read the list gives exactly these rules, in this order."""
    agent = place.holder(*AGENT)
    for limit in (SMALL, LARGE) if len(expected) <= MOST_SMALL else (LARGE,):
        assert walk(agent, limit) == expected
    whole = agent.ask("GET", "/redirects?limit=1000000", 200)
    assert whole.json() == {"items": expected, "total": len(expected), "limit": 1_000_000, "offset": 0}
    assert orjson.dumps(expected) in whole.content
    agent.ask("POST", "/agents", 200, json={"name": "edge", "type": "default", "version": agent.get("/version")})


@pytest.mark.parametrize("name", LISTS)
def test_the_published_rules_are_the_rows_without_those_of_the_report(world: World, name: str) -> None:
    data = read_list(name)
    place = world.place()
    report = import_and_publish(place, data)
    given = dict(rows(data))
    wrong = {each["line"] for each in report["errors"]}
    expected = [item for line, item in given.items() if line not in wrong]
    assert (report["total"], report["added"]) == (len(given), len(expected))
    assert report["skipped"] == report["changed"] == report["identical"] == 0
    assert wrong <= given.keys()
    assert len(wrong) < len(given) / 10
    check_walks(place, expected)
    again = place.ask("POST", "/import?skipErrors=true", 200, content=data, headers=TSV).json()
    assert (again["added"], again["changed"], again["skipped"]) == (0, 0, 0)
    exported = place.ask("GET", "/export", 200).content
    assert [item for _, item in rows(exported)] == expected


def generate_rules() -> bytes:
    """Return rules of all types with difficult text: unicode, quotes, percent signs, queries."""
    lines = ["\t".join(COLUMNS)]
    for number in range(MANY):
        match number % 10:
            case 0:
                lines.append(f"BASIC_HOST\ts{number % 7}.example/p/{number}\thttps://t.example/{number}\t302")
            case 1:
                lines.append(f"BASIC\t/gr\u00fc\u00df/{number}%2F?a=1&b='\"\t/n/{number}#f\tFOUND")
            case 2 if number % 100 == 2:
                lines.append(f"REGEX\t^/r/{number}/([^/]+)/(.*)$\t/t/$2/$1\t308")
            case _:
                lines.append(f"BASIC\t/p/{number}\t/n/{number}\tMOVED_PERMANENT")
    return ("\n".join(lines) + "\n").encode()


def test_a_hundred_thousand_rules_go_in_and_come_out(world: World) -> None:
    data = generate_rules()
    place = world.place()
    assert import_and_publish(place, data)["added"] == MANY
    check_walks(place, [item for _, item in rows(data)])
    answers = place.ask("POST", "/test", 200, json={"urls": ["/p/99999", "/r/2/a/b", "/p/100000"]}).json()["results"]
    assert [each["location"] for each in answers] == ["/n/99999", "/t/b/a", None]
    made = place.add("/one-more")
    assert made["change"] == "added"
    assert place.publish()["changes"]["redirects"] == {"added": 1, "changed": 0, "removed": 0}
    assert place.get("/redirects", limit=1, offset=MANY)["items"][0]["source"] == "/one-more"
