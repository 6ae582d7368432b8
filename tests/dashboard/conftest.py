"""The browser, and pages whose errors fail the test."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect, sync_playwright

from tests.e2e.world import PASSWORD, Place, World, open_world
from tests.service import ROOT, Service

MISSING = "Chromium is not installed. Install it as root: apt install chromium"
UNBUILT = "The dashboard is not built. Run: make dashboard"
ON_A_PAGE = 50  # projects of the overview

# Playwright waits five seconds, which a page can take beside another test process. A wait ends as soon as it is met.
expect.set_options(timeout=20_000)


@pytest.fixture(scope="session")
def world(waypost: Service) -> Iterator[World]:
    """Run the service of all tests of the dashboard."""
    assert (ROOT / "dashboard/built/built.json").exists(), UNBUILT
    with open_world(waypost) as found:
        yield found


@pytest.fixture(
    scope="module"
)  # Playwright runs an event loop in this thread until it ends: other tests need their own
def chromium() -> Iterator[Browser]:
    """Run Debian's Chromium."""
    program = shutil.which("chromium")
    assert program, MISSING
    with sync_playwright() as playwright:
        # Chromium's sandbox needs rights that root in a container lacks: https://playwright.dev/python/docs/docker
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def new_page(chromium: Browser, world: World) -> Iterator[Callable[..., Page]]:
    """Open pages of the service of all tests."""
    with opening_pages(chromium, world.service.url) as open_page:
        yield open_page


@contextmanager
def opening_pages(chromium: Browser, url: str) -> Iterator[Callable[..., Page]]:
    """Open pages, each of its own person; fail at the end for any error in a console, and any report of the policy.

    Chromium itself writes an error for every refused request; `refused` is the one status that a test provokes, or its first digit, and
    `offline` says that it takes the network away.
    """
    contexts: list[BrowserContext] = []
    errors: list[str] = []

    def open_page(refused: int = 0, *, offline: bool = False, **options: object) -> Page:
        known = "net::ERR_INTERNET_DISCONNECTED" if offline else f"status of {refused}"
        context = chromium.new_context(base_url=url, **options)  # type: ignore[arg-type]  # Playwright checks them
        contexts.append(context)
        note_errors(context, url, errors, known)
        return context.new_page()

    yield open_page
    for context in contexts:
        context.close()
    assert errors == []


def note_errors(context: BrowserContext, url: str, errors: list[str], known: str) -> None:
    """Note what the pages of the service write into the consoles of a context, in any tab, but for what has `known` in it."""

    def note(message: ConsoleMessage) -> None:
        ours = message.location["url"].startswith(url) or (message.page and message.page.url.startswith(url))
        if ours and message.type in {"error", "warning"} and known not in message.text:
            errors.append(f"{message.text} at {message.location}")

    context.on("console", note)
    context.on("weberror", lambda fault: errors.append(str(fault.error)))


def overview_of(place: Place) -> str:
    """Return the address of the page of the overview that has a project: other tests have projects too."""
    shown = [(each["namespace"], each["name"]) for each in place.root.get("/api/overview", limit=1000)["items"]]
    return f"/?page={shown.index((place.namespace, place.project)) // ON_A_PAGE + 1}"


def sign_in(page: Page, username: str, path: str = "/") -> None:
    """Sign in as a person would, and wait for the view."""
    page.goto(path)
    page.get_by_label("User name").fill(username)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.get_by_role("banner").get_by_role("button", name="Sign out").wait_for()
