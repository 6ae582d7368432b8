"""The dashboard in Chromium, on a project with 100,000 rules: its first view, its clicks, and the sizes of its files."""

import json
import secrets
import shutil
import statistics
from collections.abc import Iterator

from playwright.sync_api import Browser, Page, sync_playwright

from api.app.services import open_services
from api.auth.accounts import NewUser
from api.auth.permissions.principal import OPERATOR
from api.settings import Settings
from bench.figure import Figure, at_most
from bench.workbench import BIG, NAMESPACE, Site, Workbench
from tests.service import ROOT

_ROUNDS = 7
_SECONDS = 60.0
_BARE_ROWS = 50
_PROJECT = f"/dashboard/project/{NAMESPACE}/{BIG}"
_EDITOR = "code_editor-"

# Notes the time at which a condition holds and its frame is painted: since the start of the page, or since the last click.
_WATCH = """
window.since = 0;
addEventListener("click", () => { window.since = performance.now(); }, true);
window.watch = (holds) => new Promise((resolve) => {
  const look = () => {
    if (!holds()) return false;
    requestAnimationFrame(() => requestAnimationFrame(() => resolve(performance.now() - window.since)));
    return true;
  };
  if (!look()) {
    const observer = new MutationObserver(() => { if (look()) observer.disconnect(); });
    observer.observe(document, { subtree: true, childList: true, characterData: true, attributes: true });
  }
});
"""
_ROWS = "() => document.querySelectorAll('tbody tr').length === 50"
# The selector that is clicked, and what is there when it has been answered; `first` is the first row before the click.
_CLICKS = {
    "the next page": (".pages a:last-of-type", "() => document.querySelector('tbody tr')?.innerText !== first"),
    "a sorted column": (
        "thead th:nth-child(3) a",
        "() => location.search.includes('sort') && document.querySelector('tbody tr')?.innerText !== first",
    ),
    "a rule": ("tbody tr .row-link", "() => document.querySelector('dialog[open] form')"),
    "its close button": ("dialog .close", "() => !document.querySelector('dialog[open]')"),
    "the view Draft": (".tabs a:nth-child(3)", "() => document.querySelector('main .empty, main .changes')"),
    "the view History": (".tabs a:nth-child(4)", "() => document.querySelector('.publishes li')"),
    "the view Agents": (".tabs a:nth-child(5)", "() => document.querySelector('main .filters')"),
    "the view Tester": (".tabs a:nth-child(6)", "() => document.querySelector('main textarea')"),
    "the view Redirects": (".tabs a:nth-child(1)", _ROWS),
}


def measure(bench: Workbench) -> Iterator[Figure]:
    """Yield the time of the first view, of each click, and the compressed sizes."""
    yield from _sizes()
    site, password = bench.plain, secrets.token_hex(16)
    user = _make_user(site, password)
    with site.serving(2) as service, sync_playwright() as playwright:
        # Chromium's sandbox needs rights that root in a container lacks: https://playwright.dev/python/docs/docker
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        state = _sign_in(browser, service.url, user, password)
        firsts, clicks, bare = list[float](), dict[str, list[float]](), list[float]()
        for _ in bench.rounds(_ROUNDS, _SECONDS):
            context = browser.new_context(base_url=service.url, storage_state=state)  # type: ignore[arg-type]  # of Playwright
            context.add_init_script(_WATCH)
            page = context.new_page()
            page.goto(_PROJECT, wait_until="commit")
            firsts.append(page.evaluate(f"watch({_ROWS})"))
            for name, (selector, holds) in _CLICKS.items():
                clicks.setdefault(name, []).append(_click(page, selector, holds))
            bare.append(_open_bare(page, service.url))
            context.close()
        browser.close()
    detail = f"{_BARE_ROWS} rows of text without a script and a stylesheet; slowest {max(bare):.0f} ms"
    yield Figure("yardstick: a bare page in the same Chromium, painted", statistics.median(bare), "ms", None, detail)
    detail = f"median of {len(firsts)} with an empty cache; slowest {max(firsts):.0f} ms"
    yield Figure(
        "first view of 100,000 rules in Chromium, painted", statistics.median(firsts), "ms", at_most(1000), detail
    )
    for name, times in clicks.items():
        detail = f"median of {len(times)}, to the frame after the answer; slowest {max(times):.0f} ms"
        yield Figure(f"a click on {name}", statistics.median(times), "ms", at_most(100), detail)


def _open_bare(page: Page, url: str) -> float:
    """Return the milliseconds of a page with as many rows, which the service does not make: the speed of the browser."""
    rows = "".join(f"<tr><td>/old/{number}</td><td>/new/{number}</td></tr>" for number in range(_BARE_ROWS))
    page.route(
        f"{url}/bare", lambda route: route.fulfill(content_type="text/html", body=f"<!doctype html><table>{rows}")
    )
    page.goto(f"{url}/bare", wait_until="commit")
    found: float = page.evaluate(f"watch({_ROWS})")
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


def _make_user(site: Site, password: str) -> str:
    services = open_services(Settings(data=site.data))
    try:
        return services.accounts.create(OPERATOR, NewUser("bench", password, ("admin",), "", "")).username
    finally:
        services.close()


def _sign_in(browser: Browser, url: str, user: str, password: str) -> object:
    context = browser.new_context(base_url=url)
    page = context.new_page()
    page.goto("/")
    page.get_by_label("User name").fill(user)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.get_by_role("button", name="Sign out").wait_for()
    state = context.storage_state()
    context.close()
    return state


def _click(page: Page, selector: str, holds: str) -> float:
    """Return the milliseconds from a click until its answer is painted; the pointer is on the place before, as a person's is."""
    page.wait_for_selector(selector)
    page.wait_for_load_state("networkidle")
    page.hover(selector)
    page.wait_for_load_state("networkidle")
    found: float = page.evaluate(
        f"""() => {{
            const first = document.querySelector("tbody tr")?.innerText;
            document.querySelector({json.dumps(selector)}).click();
            return watch({holds});
        }}"""
    )
    return found
