"""The dashboard in Chromium, on a project with 100,000 rules: its first view, its clicks, and the sizes of its files."""

import json
import statistics
from collections.abc import Iterator

from playwright.sync_api import Page

from bench.browser import OTHER_ROWS, ROWS, Person, Step, figures, opening, take
from bench.figure import Figure, at_most
from bench.groups import draft_clicks
from bench.workbench import BIG, NAMESPACE, Workbench
from tests.service import ROOT

_ROUNDS = 7
_SECONDS = 60.0
_BARE_ROWS = 50
_PROJECT = f"/dashboard/project/{NAMESPACE}/{BIG}"
_EDITOR = "code_editor-"

_CLICKS = {
    "the next page": Step(".pages a:last-of-type", OTHER_ROWS),
    "a sorted column": Step("thead th:nth-child(3) a", OTHER_ROWS),
    "a rule": Step("tbody tr .row-link", "() => document.querySelector('dialog[open] form')"),
    "its close button": Step("dialog .close", "() => !document.querySelector('dialog[open]')"),
    "the view Draft": Step(".tabs a[href*='/draft']", "() => document.querySelector('main .empty, main .changes')"),
    "the view History": Step(".tabs a[href*='/history']", "() => document.querySelector('.publishes li')"),
    "the view Agents": Step(".tabs a[href*='/agents']", "() => document.querySelector('main .filters')"),
    "the view Tester": Step(".tabs a[href*='/test']", "() => document.querySelector('main textarea')"),
    "the view Redirects": Step(".tabs a:nth-child(1)", ROWS),
}


def measure(bench: Workbench) -> Iterator[Figure]:
    """Yield the time of the first view, of each click, of what one does with open drafts, and the compressed sizes."""
    yield from _sizes()
    site = bench.plain
    draft_clicks.prepare(site)
    with site.serving(2) as service, opening(service, site) as person:
        yield from _first_view_and_clicks(bench, person)
        yield from draft_clicks.measure(bench, person)


def _first_view_and_clicks(bench: Workbench, person: Person) -> Iterator[Figure]:
    firsts, clicks, bare = list[float](), dict[str, list[float]](), list[float]()
    for _ in bench.rounds(_ROUNDS, _SECONDS):
        with person.page() as page:
            page.goto(_PROJECT, wait_until="commit")
            firsts.append(page.evaluate(f"watch({ROWS})"))
            for name, step in _CLICKS.items():
                clicks.setdefault(f"a click on {name}", []).append(take(page, step))
            bare.append(_open_bare(page, person.url))
    detail = f"{_BARE_ROWS} rows of text without a script and a stylesheet; slowest {max(bare):.0f} ms"
    yield Figure("yardstick: a bare page in the same Chromium, painted", statistics.median(bare), "ms", None, detail)
    detail = f"median of {len(firsts)} with an empty cache; slowest {max(firsts):.0f} ms"
    yield Figure(
        "first view of 100,000 rules in Chromium, painted", statistics.median(firsts), "ms", at_most(1000), detail
    )
    yield from figures(clicks)


def _open_bare(page: Page, url: str) -> float:
    """Return the milliseconds of a page with as many rows, which the service does not make: the speed of the browser."""
    rows = "".join(f"<tr><td>/old/{number}</td><td>/new/{number}</td></tr>" for number in range(_BARE_ROWS))
    page.route(
        f"{url}/bare", lambda route: route.fulfill(content_type="text/html", body=f"<!doctype html><table>{rows}")
    )
    page.goto(f"{url}/bare", wait_until="commit")
    found: float = page.evaluate(f"watch({ROWS})")
    return found


def _sizes() -> Iterator[Figure]:
    built = ROOT / "dashboard/built"
    contents = json.loads((built / "built.json").read_text("utf-8"))
    size = {name: (built / f"{name}.br").stat().st_size / 1024 for name in [*contents["files"], "index.html"]}
    first = sum(size[name] for name in [*contents["early"], "index.html"])
    editor = sum(each for name, each in size.items() if name.startswith(_EDITOR))
    yield Figure("the first page, compressed", first, "kB", at_most(80), "with Brotli; without the view")
    yield Figure(
        "all but the editor, compressed", sum(size.values()) - editor, "kB", at_most(180), "every view and the chart"
    )
    yield Figure("the editor, compressed", editor, "kB", at_most(150))
