"""The dashboard of `waypost preview`: what it shows of a folder, and that it offers no change."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.cli.preview.world import RunningPreview, make_repository, previewing
from tests.dashboard.conftest import opening_pages
from tests.dashboard.test_pages import PROJECT_PARTS, SETTINGS, violations

SHOP = "/dashboard/project/acme/shop"
CHANGES = (
    *("Add", "Make", "Change", "Remove", "Save", "Import", "Publish", "Roll back", "Replace"),
    *("Keep", "Sign", "Open as"),
)
REDIRECTS = "shop/redirects/service.yaml"
FIRST = 60_000  # ms; the first call starts the process that matches
RULE = "\n  - type: BASIC\n    source: /saved\n    target: /kept\n    status: FOUND\n"


@pytest.fixture
def preview(tmp_path: Path) -> Iterator[RunningPreview]:
    """Return a running preview of the sample content, a repository with one commit."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with previewing(make_repository(tmp_path / "acme"), scratch) as running:
        yield running


@pytest.fixture
def new_page(chromium: Browser, preview: RunningPreview) -> Iterator[Callable[..., Page]]:
    """Open pages of the preview, whose errors fail the test."""
    with opening_pages(chromium, str(preview.client.base_url)) as open_page:
        yield open_page


def save(preview: RunningPreview, more: str) -> None:
    """Add text to a file of redirects."""
    path = preview.folder / REDIRECTS
    path.write_text(path.read_text(encoding="utf-8") + more, encoding="utf-8")


def test_every_view_is_read_without_a_login_and_offers_no_change(
    preview: RunningPreview, new_page: Callable[..., Page]
) -> None:
    page = new_page()
    for path in ["/", *(SHOP + part for part in PROJECT_PARTS), *("/dashboard/settings" + part for part in SETTINGS)]:
        if path.endswith("edit=new"):
            continue
        page.goto(path.replace("version=2", "version=1"))
        page.get_by_role("heading", level=1).wait_for()
        page.wait_for_load_state("networkidle")
        expect(page.get_by_role("complementary", name="Preview")).to_contain_text(str(preview.folder))
        expect(page.get_by_role("banner").get_by_role("button", name="Sign out")).to_have_count(0)
        offered = [each for each in page.get_by_role("button").all_inner_texts() if each.startswith(CHANGES)]
        assert offered == [], path
        assert violations(page) == [], path


def test_a_save_appears_and_a_broken_one_is_told_until_it_is_mended(
    preview: RunningPreview, new_page: Callable[..., Page]
) -> None:
    page = new_page()
    page.goto("/")
    page.get_by_role("link", name="Shop").click()
    page.get_by_label("Search source, target and note").fill("saved")
    expect(page.get_by_text("No redirect fits")).to_be_visible()
    save(preview, RULE)
    expect(page.locator("tbody tr")).to_have_count(1)
    before = (preview.folder / REDIRECTS).read_text(encoding="utf-8")
    save(preview, "  - type: NOTHING\n")
    band = page.get_by_role("complementary", name="Preview")
    expect(band).to_contain_text("The last save is not served")
    expect(band).to_contain_text(REDIRECTS)
    expect(page.locator("tbody tr")).to_have_count(1)
    assert violations(page) == []
    (preview.folder / REDIRECTS).write_text(before, encoding="utf-8")
    expect(band).not_to_contain_text("The last save is not served")


def test_the_tester_and_the_form_of_a_redirect_try_what_is_typed(
    preview: RunningPreview, new_page: Callable[..., Page]
) -> None:
    page = new_page()
    page.goto(f"{SHOP}/test")
    page.get_by_label("URLs or paths, one per line").fill("/product/1001.html")
    page.get_by_role("button", name="Test 1 URL").click()
    expect(page.get_by_role("region", name="Results")).to_contain_text("301", timeout=FIRST)
    page.goto(f"{SHOP}?q=spring")
    page.locator("tbody a").first.click()
    page.get_by_role("textbox", name="Target").fill("/typed")
    expect(page.get_by_role("region", name="Try it")).to_contain_text("/typed", timeout=FIRST)
    expect(page.get_by_role("dialog")).to_contain_text("Nothing that you type here is kept: edit the file.")
    assert "/typed" not in (preview.folder / REDIRECTS).read_text(encoding="utf-8")


def test_the_cookies_of_another_service_of_this_machine_ask_for_no_login(
    preview: RunningPreview, new_page: Callable[..., Page]
) -> None:
    page = new_page()
    # Cookies have no port: those of a service on 127.0.0.1:8080 are sent to a preview on 127.0.0.1:8090 too.
    page.context.add_cookies([{"name": "waypost-csrf", "value": "other", "url": str(preview.client.base_url)}])
    page.goto("/")
    expect(page.get_by_role("heading", level=1)).to_have_text("Overview")


def test_a_preview_that_has_ended_is_told(preview: RunningPreview, chromium: Browser) -> None:
    context = chromium.new_context(base_url=str(preview.client.base_url))
    page = context.new_page()
    page.goto("/")
    band = page.get_by_role("complementary", name="Preview")
    expect(band).to_contain_text(str(preview.folder))
    page.route("**/*", lambda route: route.abort())
    expect(band).to_contain_text("The preview does not answer.")
    context.close()
