"""Sign-in by OpenID Connect in the dashboard, with a conforming provider: in, on, out, and what a person sees when it fails."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect

from tests.dashboard.conftest import note_errors
from tests.e2e.openid import settings
from tests.openid.conforming import conforming_provider, require_environment
from tests.ports import free_port
from tests.service import ROOT, WAYPOST, running

WITH_PROVIDER = "Sign in with OpenID Connect"
SECONDS = 30_000  # milliseconds, of Playwright
SETTINGS = "/dashboard/settings"
SECRETS = ("eyJ", "code=", "state=", "token")


@dataclass(frozen=True)
class Site:
    """A service, and its provider."""

    url: str
    issuer: str


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    require_environment()
    assert (ROOT / "dashboard/built/built.json").exists(), "The dashboard is not built. Run: make dashboard"
    url = f"http://127.0.0.1:{free_port()}"
    with conforming_provider(url) as issuer:
        own = {"WAYPOST_PUBLIC_URL": url, "WAYPOST_BIND": urlsplit(url).netloc, "WAYPOST_ACCESS_LIFETIME": "62"}
        with running(WAYPOST, tmp_path_factory.mktemp("provider") / "data", {**settings(issuer), **own}):
            yield Site(url, issuer)


@pytest.fixture
def new_browser(chromium: Browser, site: Site) -> Iterator[Callable[[], BrowserContext]]:
    """Open browsers with their own cookies; requests that would leave this machine are given up."""
    contexts: list[BrowserContext] = []
    errors: list[str] = []

    def stay(route: Route) -> None:
        inside = urlsplit(route.request.url).hostname == "127.0.0.1"
        route.continue_() if inside else route.abort()

    def open_browser() -> BrowserContext:
        context = chromium.new_context(base_url=site.url)
        context.set_default_timeout(SECONDS)
        context.route("**/*", stay)
        note_errors(context, site.url, errors, "status of 401")  # of sessions that end
        contexts.append(context)
        return context

    expect.set_options(timeout=SECONDS)
    yield open_browser
    for context in contexts:
        context.close()
    assert errors == []


def fill_in(page: Page) -> None:
    """Log in at the pages of the provider, and agree to what it passes on."""
    page.get_by_placeholder("Enter any login").fill("ada")
    page.get_by_placeholder("and password").fill("x")
    page.get_by_role("button", name="Sign-in").click()
    page.get_by_role("button", name="Continue").click()


def sign_in(context: BrowserContext, path: str = "/") -> Page:
    """Sign in by the provider; return the page with the dashboard."""
    page = context.new_page()
    page.goto(path)
    page.get_by_role("button", name=WITH_PROVIDER).click()
    fill_in(page)
    expect(page.get_by_role("banner").get_by_role("button", name="Sign out")).to_be_visible()
    return page


def log_out_of_provider(page: Page, url: str) -> None:
    """Confirm the logout at the page of the provider."""
    page.goto(url)
    page.get_by_role("button", name="Yes, sign me out").click()


def test_a_person_signs_in_stays_in_and_signs_out_at_the_provider(
    site: Site, new_browser: Callable[[], BrowserContext]
) -> None:
    page = sign_in(new_browser())
    assert page.url == f"{site.url}/"
    expect(page.get_by_role("link", name="ada")).to_be_visible()
    # The access token is valid for 62 seconds, and is renewed 60 seconds before its end.
    with page.expect_response("**/auth/session/refresh") as renewed:
        page.reload()
    assert renewed.value.status == 200
    page.get_by_role("banner").get_by_role("button", name="Sign out").click()
    page.get_by_role("button", name="Yes, sign me out").click()
    expect(page.get_by_role("heading", name="Sign in to Waypost")).to_be_visible()
    assert page.url == f"{site.url}/"
    page.goto(SETTINGS)
    expect(page.get_by_role("heading", name="Sign in to Waypost")).to_be_visible()


def test_a_logout_at_the_provider_shows_at_once_and_what_was_typed_is_kept(
    site: Site, new_browser: Callable[[], BrowserContext]
) -> None:
    context = new_browser()
    page = sign_in(context)
    page.goto(SETTINGS)
    page.get_by_label("Current password").fill("Augusta")
    other = context.new_page()
    log_out_of_provider(other, f"{site.issuer}/session/end")
    expect(page.get_by_role("heading", name="Sign in again")).to_be_visible()
    with context.expect_page() as opened:
        page.get_by_role("dialog").get_by_role("button", name=WITH_PROVIDER).click()
    fill_in(opened.value)
    expect(opened.value.get_by_role("banner").get_by_role("button", name="Sign out")).to_be_visible()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_label("Current password")).to_have_value("Augusta")


def test_signed_out_everywhere_is_signed_out_in_every_browser_and_tab(
    new_browser: Callable[[], BrowserContext],
) -> None:
    context = new_browser()
    here, tab, there = sign_in(context, SETTINGS), context.new_page(), sign_in(new_browser())
    tab.goto("/")
    expect(tab.get_by_role("banner").get_by_role("button", name="Sign out")).to_be_visible()
    here.goto(SETTINGS)
    here.get_by_role("button", name="Sign out everywhere else").click()
    expect(there.get_by_role("heading", name="Sign in again")).to_be_visible()
    there.reload()
    expect(there.get_by_role("heading", name="Sign in to Waypost")).to_be_visible()
    here.get_by_role("banner").get_by_role("button", name="Sign out").click()
    expect(tab.get_by_role("heading", name="Sign in to Waypost")).to_be_visible()


def test_a_person_whose_sign_in_fails_gets_back_to_the_sign_in_with_words(
    site: Site, new_browser: Callable[[], BrowserContext]
) -> None:
    page = new_browser().new_page()
    page.goto("/auth/openid/callback?state=forged&code=stolen&iss=x")
    expect(page.get_by_role("alert")).to_contain_text("longer than ten minutes")
    assert page.url == f"{site.url}/"
    page.get_by_role("button", name=WITH_PROVIDER).click()
    page.get_by_role("link", name="Cancel").click()
    expect(page.get_by_role("alert")).to_contain_text("The OpenID Connect provider refused the sign-in")
    assert page.url == f"{site.url}/"
    page.reload()
    expect(page.get_by_role("heading", name="Sign in to Waypost")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)
    page.goto("/?sign-in=<img src=x onerror=alert(1)>")
    expect(page.get_by_role("alert")).to_have_text(
        "The sign-in failed. Try again. If it fails again, ask an administrator."
    )


def test_no_token_code_or_state_stays_in_an_address_of_the_dashboard(
    site: Site, new_browser: Callable[[], BrowserContext]
) -> None:
    context = new_browser()
    seen: list[str] = []
    context.on("request", lambda request: seen.append(request.url))
    page = sign_in(context)
    page.go_back()
    own = [each for each in seen if each.startswith(site.url) and "/auth/openid/callback" not in each]
    assert own
    assert [each for each in own if any(secret in urlsplit(each).query for secret in SECRETS)] == []
    assert "eyJ" not in page.evaluate("JSON.stringify({...localStorage, ...sessionStorage}) + document.cookie")
