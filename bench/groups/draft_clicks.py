"""The dashboard in Chromium with an open draft: of 100,000 rules it changes some, or all of them are new."""

import json
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from playwright.sync_api import Page

from bench.browser import OTHER_ROWS, ROWS, Person, Step, figures, take
from bench.drafts import change_some, import_all
from bench.figure import Figure
from bench.workbench import BIG, NAMESPACE, Site, Workbench
from gitstore.drafts.drafts import DraftName
from gitstore.store.store import Store

_ROUNDS = 7
_SECONDS = 90.0
_DRAFT = "clicks"
_NEW = "arrived"
_PAUSE = 150  # ms, of the search, until it asks


class _Draft(NamedTuple):
    note: str
    project: str
    query: str
    change: str  # that the first row has not

    def address(self, part: str = "") -> str:
        """Return the address of a view."""
        return f"/dashboard/project/{NAMESPACE}/{self.project}{part}{self.query}"


_DRAFTS = (
    _Draft(", a draft changes 1,200 rules", BIG, f"?draft={_DRAFT}", "added"),
    _Draft(", a draft of 100,000 new rules", _NEW, "", "removed"),
)

_SETTLED = "document.querySelector('.table-box')?.getAttribute('aria-busy') !== 'true'"
_NEXT = Step(".pages a:last-of-type", OTHER_ROWS)


def _select(nth: int, value: str, holds: str) -> Step:
    act = f"since = performance.now(); at.value = '{value}'; at.dispatchEvent(new Event('change', {{ bubbles: true }}))"
    return Step(f".filters .select:nth-of-type({nth}) select", holds, act)


_SEARCHED = f"since = performance.now() + {_PAUSE}; at.value = 'legacy'; at.dispatchEvent(new Event('input', {{ bubbles: true }}))"
# On a list with filters, one after the other.
_FOUND: Mapping[str, Step] = {
    f"a search, after the {_PAUSE} ms in which one goes on typing": Step(".filters .search", OTHER_ROWS, _SEARCHED),
    "the next page of a search": _NEXT,
    "a search sorted by a click": Step("thead th:nth-child(3) a", OTHER_ROWS),
    "a filter of a sorted search": _select(2, "307", OTHER_ROWS),
}
_CHANGES = ".changes .change"


def measure(bench: Workbench, person: Person) -> Iterator[Figure]:
    """Yield the time of each step, for each draft; the drafts are made by `prepare` before the service starts."""
    for draft in _DRAFTS:
        times: dict[str, list[float]] = {}
        for turn in bench.rounds(_ROUNDS, _SECONDS):
            with person.page() as page:
                for name, each in _steps(page, draft, turn):
                    times.setdefault(name, []).append(each)
        with person.page() as page:
            times["discarding the whole draft"] = [_discard_all(page, draft)]
        yield from figures(times, draft.note)


def prepare(site: Site) -> None:
    """Make the drafts."""
    change_some(Store(site.data), site.rules, DraftName(BIG, _DRAFT))
    import_all(Store(site.data), _NEW)


def _steps(page: Page, draft: _Draft, turn: int) -> Iterator[tuple[str, float]]:
    _open(page, draft)
    for name, step in _FOUND.items():
        yield name, take(page, step)
    _open(page, draft)
    changed = f"() => location.search.includes('change') && {_SETTLED} && (document.querySelector('main .empty') || document.querySelector('tbody tr')?.innerText !== first)"
    yield "the filter by change", take(page, _select(3, draft.change, changed))
    _open(page, draft)
    yield "the next page", take(page, _NEXT)
    yield "a rule", take(page, Step("tbody tr .row-link", "() => document.querySelector('dialog[open] form')"))
    target = f"/saved/{turn}"
    page.fill("dialog input[name=target]", target)
    saved = f"() => !document.querySelector('dialog[open]') && document.querySelector('tbody')?.innerText.includes({json.dumps(target)})"
    yield "saving it, until the table has it", take(page, Step("dialog button[type=submit]", saved))
    yield (
        "Undo of it, until the table has it",
        take(
            page,
            Step(".toast button", f"() => !document.querySelector('tbody')?.innerText.includes({json.dumps(target)})"),
        ),
    )
    yield "the view Draft", take(page, Step(".tabs a[href*='/draft']", f"() => document.querySelector('{_CHANGES}')"))
    yield "the next page of the draft", take(page, _NEXT)
    yield "discarding a change", take(page, Step("[aria-label^='Discard the change of']", OTHER_ROWS))
    chosen = "() => document.querySelector('.choice [role=status]')?.innerText.includes('chosen')"
    yield "choosing all changes of a page", take(page, Step("#choose-page", chosen))
    yield "back to the view Redirects", take(page, Step(".tabs a:nth-child(1)", ROWS))


def _open(page: Page, draft: _Draft) -> None:
    page.goto(draft.address(), wait_until="commit")
    page.evaluate(f"watch({ROWS})")


def _discard_all(page: Page, draft: _Draft) -> float:
    page.goto(draft.address("/draft"))
    page.get_by_role("button", name="Discard all …").click()
    return take(page, Step("dialog .danger", "() => document.querySelector('main > .empty')"))
