"""Chromium with a person who has signed in, and the time from what they do until its answer is painted."""

import json
import secrets
import shutil
import statistics
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from playwright.sync_api import Browser, Page, sync_playwright

from api.app.services import open_services
from api.auth.accounts import NewUser
from api.auth.permissions.principal import OPERATOR
from api.settings import Settings
from bench.figure import Figure, at_most
from bench.workbench import Site
from tests.service import Service

_MOST = 100  # ms
_ROW = "tbody tr, .change"

# Notes the time at which a condition holds and its frame is painted: since the start of the page, or since the last click.
WATCH = """
window.since = 0;
addEventListener("click", () => { window.since = performance.now(); }, true);
window.watch = (holds) => new Promise((resolve, reject) => {
  setTimeout(() => reject(new Error(`Not within ten seconds: ${holds}`)), 10_000);
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
ROWS = "() => document.querySelectorAll('tbody tr').length === 50"
OTHER_ROWS = f"() => document.querySelector('{_ROW}') && document.querySelector('{_ROW}').innerText !== first"


class Step(NamedTuple):
    """An act on the element of a selector, and the condition that holds when it is answered; `first` is the first row before."""

    selector: str
    holds: str
    act: str = "at.click()"


@contextmanager
def opening(service: Service, site: Site) -> Iterator["Person"]:
    """Run Chromium, and sign in as an administrator of the site."""
    password = secrets.token_hex(16)
    user = _make_user(site, password)
    with sync_playwright() as playwright:
        # Chromium's sandbox needs rights that root in a container lacks: https://playwright.dev/python/docs/docker
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        yield Person(browser, service.url, _sign_in(browser, service.url, user, password))
        browser.close()


class Person:
    """A signed-in person in a browser."""

    def __init__(self, browser: Browser, url: str, state: object) -> None:
        self.url = url
        self._browser = browser
        self._state = state

    @contextmanager
    def page(self) -> Iterator[Page]:
        """Open a page with an empty cache."""
        context = self._browser.new_context(base_url=self.url, storage_state=self._state)  # type: ignore[arg-type]  # of Playwright
        context.add_init_script(WATCH)
        yield context.new_page()
        context.close()


def _make_user(site: Site, password: str) -> str:
    services = open_services(Settings(data=site.data))
    try:
        user = NewUser(f"bench-{secrets.token_hex(4)}", password, ("admin",), "", "")
        return services.accounts.create(OPERATOR, user).username
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


def take(page: Page, step: Step) -> float:
    """Return the milliseconds from a step until its answer is painted; the pointer is on the place before, as a person's is."""
    page.wait_for_selector(step.selector)
    page.wait_for_load_state("networkidle")
    page.hover(step.selector)
    page.wait_for_load_state("networkidle")
    found: float = page.evaluate(
        f"""() => {{
            const first = document.querySelector({json.dumps(_ROW)})?.innerText;
            const at = document.querySelector({json.dumps(step.selector)});
            {step.act};
            return watch({step.holds});
        }}"""
    )
    return found


def figures(times: Mapping[str, list[float]], note: str = "") -> Iterator[Figure]:
    """Yield the median of each step, by its name."""
    for name, each in times.items():
        detail = f"median of {len(each)}, to the frame after the answer; slowest {max(each):.0f} ms"
        yield Figure(f"{name}{note}", statistics.median(each), "ms", at_most(_MOST), detail)
