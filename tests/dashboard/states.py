"""Every state of the dashboard that is checked as a whole: its address, and what a person does to get from there to it.

The addresses name what `Ids` has of a place; `prepare` makes all of it.
"""

import secrets
from collections.abc import Callable
from typing import NamedTuple

from playwright.sync_api import Page

from tests.dashboard.test_pages import PAGES, PROJECT
from tests.e2e.world import Place


class State(NamedTuple):
    """A view, or a dialog over it."""

    name: str
    path: str
    open: Callable[[Page], object] = lambda page: page


def _press(name: str) -> Callable[[Page], object]:
    return lambda page: page.get_by_role("button", name=name).first.click()


def _press_key(key: str) -> Callable[[Page], object]:
    def press(page: Page) -> None:
        page.locator("h1").click()
        page.keyboard.press(key)

    return press


def _show_secret(page: Page) -> None:
    _press("Connect an agent")(page)
    page.get_by_label("Name of the agent").fill(f"edge-{secrets.token_hex(4)}")
    page.get_by_role("button", name="Make its token").click()
    page.locator(".secret code").wait_for()


def _end_session(page: Page) -> None:
    cookies = page.context.cookies()
    page.context.clear_cookies()
    page.get_by_role("button", name="Sign out everywhere else").or_(
        page.get_by_role("button", name="Create token")
    ).first.wait_for()
    page.get_by_label("Current password").fill("a password")
    page.get_by_label("New password").fill("another password")
    _press("Change the password")(page)
    page.get_by_role("dialog", name="Sign in again").wait_for()
    page.context.add_cookies(cookies)  # type: ignore[arg-type]  # those of the browser, as it gave them


def _drop_file(page: Page) -> None:
    rows = b"type\tsource\ttarget\tstatus\nBASIC\t/dropped\t/y\t301\n"
    page.get_by_label("File to import").set_input_files({"name": "rules.tsv", "mimeType": "text/plain", "buffer": rows})
    page.get_by_text("1 added").wait_for()


def _open_call(page: Page) -> None:
    page.locator(".operation summary", has_text="/api/roles").last.click()
    page.locator(".whole").wait_for()


def _open_delivery(page: Page) -> None:
    page.get_by_text("Deliveries", exact=True).first.click()
    page.get_by_role("button", name="Read again").wait_for()


def _choose(*buttons: str) -> Callable[[Page], None]:
    def choose(page: Page) -> None:
        page.locator("tbody").get_by_role("checkbox").first.check()
        for button in buttons:
            page.get_by_role("button", name=button).click()

    return choose


def _choose_all(page: Page) -> None:
    page.locator("tbody").get_by_role("checkbox").first.check()
    page.get_by_role("button", name="that match").click()


def _test_urls(page: Page) -> None:
    page.get_by_label("In the state").select_option("published")
    page.get_by_label("Compare with").select_option("draft")
    page.get_by_label("URLs or paths").fill("/\n/nothing\nhttps://example.org/old")
    page.get_by_role("button", name="Test 3 URLs").click()
    page.get_by_text("3 URLs tested").wait_for()


def _take_first_steps(page: Page) -> None:
    page.get_by_label("Namespace").fill(f"first-{secrets.token_hex(4)}")
    page.get_by_label("Project").fill("www")
    page.get_by_label("First redirect: from").fill("/old")
    page.get_by_label("To", exact=True).fill("/new")
    _press("Create and publish")(page)
    page.get_by_text("The redirect is published.").wait_for()


STATES = [
    *(State(path, path) for path in PAGES),
    State("a comparison", PROJECT + "/history?from=1&to=draft"),
    State("conflicts", "/dashboard/project/{namespace}/torn/draft"),
    State("conflicts of a proposal", "/dashboard/proposal/{namespace}/{torn}"),
    State("an existing rule", PROJECT + "?edit={rule}"),
    State("the editor of a page", PROJECT + "/pages?edit={page}"),
    State("a new page", PROJECT + "/pages?edit=new"),
    State("a proposal", "/dashboard/proposal/{namespace}/{proposal}"),
    State("the result of a dry run", PROJECT + "/transfer", _drop_file),
    State("a secret", PROJECT + "/agents", _show_secret),
    State("a user", "/dashboard/settings/users?edit={user}"),
    State("removing a user", "/dashboard/settings/users?edit={user}", _press("Remove the account")),
    State("a new user", "/dashboard/settings/users?edit=new"),
    State("a role", "/dashboard/settings/roles?edit=viewer"),
    State("a new role", "/dashboard/settings/roles?edit=%2B", _press("Add a grant")),
    State("a new token", "/dashboard/settings/tokens?edit=new"),
    State("rotating a token", "/dashboard/settings/tokens", _press("Rotate")),
    State("a namespace", "/dashboard/settings/namespaces?name={namespace}"),
    State("a new namespace", "/dashboard/settings/namespaces?edit=new"),
    State("a project", "/dashboard/settings/namespaces?name={namespace}&project=shop"),
    State("an upstream", "/dashboard/settings/namespaces?name={upstream}&upstream=shown"),
    State("changing an upstream", "/dashboard/settings/namespaces?name={upstream}&upstream=edit"),
    State("a webhook", "/dashboard/settings/webhooks?namespace={namespace}&edit={hook}"),
    State("deliveries", "/dashboard/settings/webhooks?namespace={namespace}", _open_delivery),
    State("a call of the API", "/dashboard/settings/api?q=roles", _open_call),
    State("the palette", "/dashboard/start", _press_key("Control+k")),
    State("the shortcuts", "/dashboard/start", _press_key("?")),
    State("a publish", PROJECT + "/draft", _press("Publish …")),
    State("discarding all", PROJECT + "/draft", _press("Discard all")),
    State("a new draft", PROJECT, _press("New draft …")),
    State("a replacement", PROJECT + "?replace=1"),
    State("chosen rows", PROJECT, _choose()),
    State("all that match", PROJECT, _choose_all),
    State("answers compared", PROJECT + "/test", _test_urls),
    State("fixes", PROJECT + "/draft", lambda page: page.get_by_text("What can be fixed").click()),
    State("first steps taken", "/dashboard/start", _take_first_steps),
    State("tags of chosen rows", PROJECT, _choose("Tags …")),
    State("a rollback", PROJECT + "/history?version=1", _press("Roll back to this")),
    State("a session that has ended", "/dashboard/settings", _end_session),
]


def prepare(place: Place, text: str = "A text of people") -> dict[str, str]:
    """Make what the states show in a place, with this text where it may be; return what their addresses name."""
    root = place.root
    rule = place.get("/draft/redirects")["items"][0]["id"]
    page = place.get("/draft/pages")["items"][0]["id"]
    torn = Place(place.world, place.namespace, "torn", root)
    root.ask("POST", f"{place.space}/projects", 201, json={"name": "torn"})
    torn.add("/torn", note=text)
    torn.publish(message=text)
    [both] = torn.get("/draft/redirects")["items"]
    for draft, note in (("main", f"{text} 1"), ("other", f"{text} 2")):
        torn.ask("PATCH", f"/draft/redirects/{both['id']}?draft={draft}", 200, json={"note": note})
    branch = {"branch": "team/torn", "project": "torn"}
    behind = root.ask("POST", f"{place.space}/proposals", 201, json=branch).json()["id"]
    torn.ask("POST", "/publish?draft=other", 200, json={"message": text})
    pushed = Place(place.world, place.namespace, "pushed", root)
    root.ask("POST", f"{place.space}/projects", 201, json={"name": "pushed", "title": text[:100]})
    pushed.add("/pushed", note=text)
    body = {"branch": "team/pushed", "project": "pushed"}
    proposal = root.ask("POST", f"{place.space}/proposals", 201, json=body).json()["id"]
    hook = {"url": "https://hooks.invalid/hook", "description": text[:200]}
    made = root.ask("POST", f"{place.space}/webhooks", 201, json=hook).json()["id"]
    root.ask("POST", f"{place.space}/webhook/{made}/ping", 202)
    upstream = place.world.namespace()
    to = {"url": "https://127.0.0.1:1/press.git", "mode": "mirror"}  # nothing answers there
    root.ask("PUT", f"/api/namespace/{upstream}/upstream", 200, json=to)
    name = place.world.user("viewer")
    user = root.get("/api/users", q=name)["items"][0]["id"]
    return {
        "namespace": place.namespace, "rule": rule, "page": page, "proposal": proposal, "torn": behind, "hook": str(made),
        "upstream": upstream, "user": str(user),
    }  # fmt: skip


def show(page: Page, state: State, ids: dict[str, str]) -> None:
    """Open a state, and wait until it is still."""
    page.goto(state.path.format(**ids))
    page.get_by_role("heading", level=1).wait_for()
    page.get_by_role("banner").get_by_role("button", name="Sign out").wait_for()
    page.wait_for_load_state("networkidle")
    state.open(page)
    page.wait_for_load_state("networkidle")
