"""The settings in the dashboard: accounts, roles, tokens, sessions, webhooks, namespaces, audit; and the agents."""

import json
import re
import shlex
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from playwright.sync_api import Dialog, Page, Route, expect

from api.db.audit import AuditEvent
from schemas import check
from schemas.contract import operations
from tests.dashboard.conftest import ON_A_PAGE, sign_in
from tests.dashboard.test_editing import view
from tests.dashboard.test_pages import violations
from tests.e2e.test_audit import wait_until_recorded
from tests.e2e.world import PASSWORD, World, redirect
from tests.service import wait_until

Opens = Callable[..., Page]


def test_a_user_is_added_given_a_role_and_deactivated(world: World, new_page: Opens) -> None:
    page = new_page()
    sign_in(page, world.user("admin"), "/dashboard/settings/users?edit=new")
    form = page.get_by_role("dialog", name="Add a user")
    name = f"kim-{world.user('viewer')}"
    form.get_by_label("User name").fill(name)
    form.get_by_label("Password").fill(PASSWORD)
    expect(form.get_by_text("Without a role, this person sees no project.")).to_be_visible()
    form.get_by_label("publisher").check()
    expect(form.get_by_label("publisher")).to_have_accessible_description(
        "Edits, reviews and publishes in every project."
    )
    expect(form.get_by_text("Without a role, this person sees no project.")).to_be_hidden()
    assert violations(page) == []
    form.get_by_role("button", name="Add the user").click()
    expect(form).to_be_hidden()
    kim = world.session(name)
    assert kim["accessToken"]
    users = world.root.get("/api/users", limit=1000)["items"]
    [made] = [each for each in users if each["username"] == name]
    assert made["roles"] == ["publisher"]
    page.goto(f"/dashboard/settings/users?edit={made['id']}&page=99")  # a link to a user of another page of the table
    page.get_by_role("button", name="Sign out everywhere").click()
    expect(page.get_by_text("Not signed in anywhere")).to_be_visible()
    page.get_by_label("May sign in").uncheck()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("dialog")).to_be_hidden()
    world.nobody.ask("POST", "/auth/login", 403, json={"username": name, "password": PASSWORD})
    page.goto("/dashboard/settings/users")
    page.get_by_label("Search the names").fill(name)
    expect(page.locator("tbody tr")).to_have_count(1)
    assert f"q={name}" in page.url
    page.get_by_role("link", name=name).click()
    page.get_by_role("button", name="Remove the account").click()
    question = page.get_by_role("dialog", name=f"Remove the account {name}?")
    question.get_by_role("button", name="Cancel").click()
    expect(question).to_be_hidden()
    assert world.root.get("/api/users", q=name)["total"] == 1
    page.get_by_role("button", name="Remove the account").click()
    question.get_by_role("button", name="Remove the account").click()
    expect(page.get_by_text("No user fits")).to_be_visible()
    assert world.root.get("/api/users", q=name)["total"] == 0


def test_a_password_is_changed_and_a_wrong_current_one_is_said_beside_its_field(world: World, new_page: Opens) -> None:
    user = world.user("viewer")
    page = new_page(refused=403)
    sign_in(page, user, "/dashboard/settings")
    page.get_by_label("Current password").fill("not the password")
    page.get_by_label("New password").fill(PASSWORD + " 2")
    page.get_by_role("button", name="Change the password").click()
    expect(page.get_by_role("alert")).to_contain_text("The current password is incorrect.")
    expect(page.get_by_label("New password")).to_have_value(PASSWORD + " 2")
    page.get_by_label("Current password").fill(PASSWORD)
    page.get_by_role("button", name="Change the password").click()
    expect(page.get_by_text("The password is changed.")).to_be_visible()
    world.nobody.ask("POST", "/auth/login", 200, json={"username": user, "password": PASSWORD + " 2"})


def test_who_may_do_everything_in_one_namespace_is_offered_no_settings_of_the_service(
    world: World, new_page: Opens
) -> None:
    namespace = world.namespace()
    page = new_page()
    sign_in(page, world.owner(namespace), "/dashboard/settings/namespaces")
    expect(page.get_by_role("link", name=namespace)).to_be_visible()
    tabs = page.get_by_role("navigation", name="Settings").get_by_role("link")
    assert tabs.all_inner_texts() == ["Namespaces", "Webhooks", "API reference", "Your account"]
    page.goto("/")
    page.get_by_role("banner").get_by_role("link", name="Settings").click()
    expect(page.get_by_role("heading", name="Namespaces", level=1)).to_be_visible()
    page.get_by_role("banner").get_by_role("link", name=page.locator(".who").inner_text()).click()
    expect(page.get_by_role("heading", name="Your account", level=1)).to_be_visible()
    page.goto("/dashboard/settings/namespaces")
    expect(page.get_by_role("button", name="Add a namespace")).to_have_count(0)


def test_a_weak_password_is_refused_beside_its_field(world: World, new_page: Opens) -> None:
    page = new_page(refused=422)
    sign_in(page, world.user("admin"), "/dashboard/settings/users?edit=new")
    page.get_by_label("User name").fill("somebody")
    page.get_by_label("Password").fill("short")
    page.get_by_role("button", name="Add the user").click()
    expect(page.get_by_label("Password")).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_label("User name")).to_have_value("somebody")


def test_openid_connect_and_the_identity_of_a_user_are_told(world: World, new_page: Opens) -> None:
    page = new_page(refused=404)
    sign_in(page, world.user("admin"), "/dashboard/settings/users")
    page.get_by_role("button", name="Check OpenID Connect").click()
    expect(page.get_by_text("not set up")).to_be_visible()
    page.locator("tbody").get_by_role("link").first.click()
    page.get_by_role("button", name="Show the OpenID Connect identity").click()
    expect(page.get_by_text("This user signs in with a password alone.")).to_be_visible()
    assert violations(page) == []


def test_a_role_is_made_of_grants(world: World, new_page: Opens) -> None:
    page = new_page()
    sign_in(page, world.user("admin"), "/dashboard/settings/roles")
    page.get_by_role("button", name="Add a role").click()
    name = f"role-{world.user('viewer')}"
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_role("button", name="Add a grant").click()
    page.get_by_label("Namespace of grant 1").fill("shop-*".replace("-*", ""))
    assert violations(page) == []
    page.get_by_role("button", name="Save the role").click()
    expect(page.get_by_role("link", name=name)).to_be_visible()
    grants = [{"namespace": "shop", "project": "*", "resource": "redirect", "action": "read"}]
    assert world.root.get(f"/api/role/{name}")["grants"] == grants
    page.get_by_role("link", name=name).click()
    page.get_by_role("button", name="Remove the role").click()
    question = page.get_by_role("dialog", name=f"Remove the role {name}?")
    assert violations(page) == []
    page.keyboard.press("Escape")  # closes the question, not the form under it
    expect(question).to_be_hidden()
    page.get_by_role("button", name="Remove the role").click()
    question.get_by_role("button", name="Remove the role").click()
    expect(page.get_by_role("link", name=name)).to_have_count(0)
    world.root.ask("GET", f"/api/role/{name}", 404)


def test_a_role_that_was_changed_meanwhile_is_not_removed(world: World, new_page: Opens) -> None:
    name = f"role-{world.user('viewer')}"
    admin = world.person("admin")
    body = {
        "description": "",
        "grants": [{"namespace": "shop", "project": "*", "resource": "redirect", "action": "read"}],
    }
    admin.ask("POST", "/api/roles", 201, json={"name": name, **body})
    page = new_page(refused=412)
    page.route("**/api/events", lambda route: route.fulfill(content_type="text/event-stream", body=""))
    sign_in(page, world.user("admin"), "/dashboard/settings/roles")
    page.get_by_role("link", name=name).click()
    page.get_by_role("button", name="Remove the role").click()
    admin.ask("PUT", f"/api/role/{name}", 200, json={**body, "description": "Needed"})
    question = page.get_by_role("dialog", name=f"Remove the role {name}?")
    question.get_by_role("button", name="Remove the role").click()
    expect(question).to_contain_text("changed since it was read")
    assert world.root.get(f"/api/role/{name}")["description"] == "Needed"


def test_what_another_admin_changed_of_a_user_meanwhile_stays(world: World, new_page: Opens) -> None:
    name = world.user("admin", "viewer")
    [user] = world.root.get("/api/users", q=name)["items"]
    path = f"/api/user/{user['id']}"
    admin = world.person("admin")
    page = new_page()
    sign_in(page, world.user("admin"), f"/dashboard/settings/users?edit={user['id']}")
    form = page.get_by_role("dialog", name=f"User {name}")
    save = form.get_by_role("button", name="Save", exact=True)
    expect(save).to_be_disabled()
    form.get_by_label("Last name").fill("King")
    form.get_by_label("publisher").check()
    admin.ask("PATCH", path, 200, json={"roles": ["viewer"], "active": False, "firstname": "Augusta"})
    save.click()
    expect(form).to_be_hidden()
    now = admin.get(path)
    assert (now["firstname"], now["lastname"], now["active"]) == ("Augusta", "King", False)
    assert now["roles"] == ["publisher", "viewer"]


def test_a_grant_that_another_admin_revoked_meanwhile_is_not_given_back_unseen(world: World, new_page: Opens) -> None:
    name = world.namespace()
    redirects, pages = (
        {"namespace": name, "project": "*", "resource": each, "action": "*"} for each in ("redirect", "page")
    )
    admin = world.person("admin")
    admin.ask("POST", "/api/roles", 201, json={"name": name, "grants": [redirects, pages]})
    path = f"/api/role/{name}"
    page = new_page()
    sign_in(page, world.user("admin"), f"/dashboard/settings/roles?edit={name}")
    form = page.get_by_role("dialog", name=f"Role {name}")
    form.get_by_label("Description").fill("Of the shop")
    admin.ask("PUT", path, 200, json={"grants": [redirects]})
    form.get_by_role("button", name="Save the role").click()
    expect(form).to_be_hidden()
    assert (admin.get(path)["description"], admin.get(path)["grants"]) == ("Of the shop", [redirects])
    page.get_by_role("link", name=name, exact=True).click()
    form.get_by_role("button", name="Add a grant").click()
    admin.ask("PUT", path, 200, json={"description": "Of the shop", "grants": [pages]})
    form.get_by_role("button", name="Save the role").click()
    both = form.get_by_role("region", name="What someone else has made of it")
    expect(both.get_by_role("alert")).to_contain_text("Someone else has changed it meanwhile, so nothing is done yet.")
    expect(both).to_contain_text(f"do everything with pages in {name}")
    assert violations(page) == []
    assert admin.get(path)["grants"] == [pages]
    both.get_by_role("button", name="Keep theirs").click()
    expect(form).to_be_hidden()
    assert admin.get(path)["grants"] == [pages]
    page.get_by_role("link", name=name, exact=True).click()
    form.get_by_role("button", name="Remove", exact=True).last.click()
    form.get_by_role("button", name="Add a grant").click()
    admin.ask("PUT", path, 200, json={"description": "Of the shop", "grants": [redirects]})
    form.get_by_role("button", name="Save the role").click()
    both.get_by_role("button", name="Save mine over it").click()
    expect(form).to_be_hidden()
    assert [each["action"] for each in admin.get(path)["grants"]] == ["read"]


def test_a_name_that_is_taken_is_refused_beside_its_field(world: World, new_page: Opens) -> None:
    place, user = world.place(), world.user("viewer")
    page = new_page(refused=409)
    sign_in(page, world.user("admin"), "/dashboard/settings")
    for address, label, name, button in (
        ("users?edit=new", "User name", user.upper(), "Add the user"),
        ("roles?edit=%2B", "Name", "Viewer", "Save the role"),
        ("namespaces?edit=new", "Name", place.namespace, "Create the namespace"),
        (f"namespaces?name={place.namespace}", "Name", place.project, "Add the project"),
    ):
        page.goto(f"/dashboard/settings/{address}")
        form = page.get_by_role("dialog").locator("form").filter(has=page.get_by_role("button", name=button))
        field = form.get_by_label(label, exact=True)
        field.fill(name)
        if label == "User name":
            form.get_by_label("Password").fill(PASSWORD)
        if button == "Save the role":
            form.get_by_role("button", name="Add a grant").click()
        form.get_by_role("button", name=button).click()
        expect(field).to_have_accessible_description(re.compile("already exists"))
        expect(field).to_have_attribute("aria-invalid", "true")
        expect(form.get_by_role("alert")).to_have_count(1)
    assert violations(page) == []


def test_an_api_token_is_shown_once_rotated_and_removed(world: World, new_page: Opens) -> None:
    place = world.place()
    page = new_page()
    sign_in(page, world.user("admin"), "/dashboard/settings/tokens?edit=new")
    name = f"edge of {place.namespace}"
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_role("button", name="Create the token").click()
    token = page.locator(".secret code").inner_text()
    assert _reads(world, place.path, token)
    page.get_by_role("button", name="I have kept it").click()
    expect(page.get_by_text(token)).to_have_count(0)
    page.get_by_role("button", name=f"Rotate {name}").click()
    page.get_by_role("button", name="Rotate", exact=True).click()  # an agent that runs has a day
    newer = page.locator(".secret code").inner_text()
    assert newer != token
    assert _reads(world, place.path, newer)
    assert _reads(world, place.path, token)
    page.get_by_role("button", name="I have kept it").click()
    page.get_by_role("button", name=f"Rotate {name}").click()
    page.get_by_label("The old value is valid").select_option("it ends at once")
    assert violations(page) == []
    page.get_by_role("button", name="Rotate", exact=True).click()
    newest = page.locator(".secret code").inner_text()
    assert [_reads(world, place.path, each) for each in (newer, newest)] == [False, True]
    page.get_by_role("button", name="I have kept it").click()
    page.get_by_role("button", name=f"Remove {name}").click()
    question = page.get_by_role("dialog", name=f"Remove the token {name}?")
    question.get_by_role("button", name="Cancel").click()
    assert _reads(world, place.path, newest)
    page.get_by_role("button", name=f"Remove {name}").click()
    question.get_by_role("button", name="Remove the token").click()
    expect(page.get_by_role("button", name=f"Remove {name}")).to_have_count(0)
    assert not _reads(world, place.path, newest)


def test_an_api_token_has_any_end_and_a_role(world: World, new_page: Opens) -> None:
    page = new_page(timezone_id="Asia/Kolkata", refused=422)
    sign_in(page, world.user("admin"), "/dashboard/settings/tokens")
    page.get_by_role("button", name="Create token").click()
    name = f"ci of {world.namespace()}"
    form = page.get_by_role("dialog", name="Create an API token")
    form.get_by_label("Name", exact=True).fill(name)
    expect(form.get_by_label("Ends").locator("option:checked")).to_have_text("in 90 days")
    form.get_by_label("Ends").select_option("at a time …")
    form.get_by_label("Time of its end").fill("2020-01-31T05:30")
    form.get_by_label("May do").select_option("what the role publisher may")
    expect(form.get_by_role("group", name="Grants")).to_have_count(0)
    assert violations(page) == []
    form.get_by_role("button", name="Create the token").click()
    expect(form.get_by_label("Time of its end")).to_have_attribute("aria-invalid", "true")
    form.get_by_label("Time of its end").fill("2030-01-31T05:30")  # as the clock of the person shows it
    form.get_by_role("button", name="Create the token").click()
    page.get_by_role("button", name="I have kept it").click()
    [made] = [each for each in world.root.get("/api/tokens", limit=10_000)["items"] if each["name"] == name]
    assert (made["role"], made["grants"], made["expiresAt"]) == ("publisher", [], "2030-01-31T00:00:00Z")
    for end in (None, "never"):
        page.get_by_role("button", name="Create token").click()
        form.get_by_label("Name", exact=True).fill(f"{name}, {end}")
        if end:
            form.get_by_label("Ends").select_option(end)
        form.get_by_role("button", name="Create the token").click()
        page.get_by_role("button", name="I have kept it").click()
    ends = {each["name"]: each["expiresAt"] for each in world.root.get("/api/tokens", limit=10_000)["items"]}
    assert ends[f"{name}, never"] is None
    left = datetime.fromisoformat(ends[f"{name}, None"]) - datetime.now(UTC)
    assert timedelta(days=89) < left <= timedelta(days=90)


def _create_token(page: Page) -> None:
    page.get_by_role("button", name="Create token").click()
    page.get_by_label("Name", exact=True).fill("edge")
    page.get_by_role("button", name="Create the token").click()


def _connect_agent(page: Page) -> None:
    page.get_by_role("link", name="Agents", exact=True).click()
    page.get_by_role("button", name="Connect an agent").click()
    page.get_by_label("Name of the agent").fill("edge-1")
    page.get_by_role("button", name="Make its token").click()


def _take_the_first_steps(page: Page) -> None:
    brand = page.get_by_role("link", name="Waypost")
    brand.evaluate("link => { link.href = '/dashboard/start' }")  # as the overview of a fresh service links to it
    brand.click()
    page.get_by_label("Namespace").fill("first-secret")
    page.get_by_label("Project").fill("www")
    page.get_by_label("First redirect: from").fill("/old")
    page.get_by_label("To", exact=True).fill("/new")
    page.get_by_role("button", name="Create and publish").click()


@pytest.mark.parametrize(
    ("path", "show", "done"),
    [
        ("/dashboard/settings/tokens", _create_token, "I have kept it"),
        ("{view}", _connect_agent, "Done"),
        ("/", _take_the_first_steps, "I have kept it, open the project"),
    ],
)
def test_a_secret_is_not_lost_by_back_or_a_reload_without_a_question(
    world: World, new_page: Opens, path: str, show: Callable[[Page], None], done: str
) -> None:
    page = new_page()
    asked = list[str]()

    def stay(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.dismiss()

    page.on("dialog", stay)
    sign_in(page, world.user("admin"))
    page.goto(path.format(view=view(world.place())))
    show(page)
    secret = page.locator(".secret code").first
    value = secret.inner_text()
    page.evaluate("history.back()")
    question = page.get_by_text("The secret is never shown again.")
    expect(question).to_be_visible()
    assert violations(page) == []
    page.get_by_role("button", name="Stay").click()
    expect(question).to_be_hidden()
    page.evaluate("location.reload()")
    wait_until(lambda: asked, 20, "the question of the browser")
    expect(secret).to_have_text(value)
    page.get_by_role("button", name=done).click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.evaluate("history.back()")
    expect(question).to_have_count(0)
    assert asked == ["beforeunload"]


def _reads(world: World, path: str, token: str) -> bool:
    return (
        world.http.get(f"{path}/redirects", headers={"Authorization": f"Bearer {token}"}).status_code == httpx.codes.OK
    )


def test_a_personal_token_is_made_and_removed_and_other_browsers_are_signed_out(world: World, new_page: Opens) -> None:
    user = world.user("admin")
    other = new_page(refused=401)
    sign_in(other, user)
    page = new_page()
    sign_in(page, user, "/dashboard/settings")
    expect(page.locator(".badge", has_text="This browser")).to_be_visible()
    page.get_by_role("button", name="Create token").click()
    page.get_by_label("Name", exact=True).fill("laptop")
    page.get_by_role("button", name="Create the token").click()
    expect(page.locator(".secret code")).to_be_visible()
    expect(page.get_by_text("Give it to Git as the password, with your user name.")).to_be_visible()
    assert violations(page) == []
    page.get_by_role("button", name="I have kept it").click()
    page.get_by_role("button", name="Rotate laptop").click()
    page.get_by_role("button", name="Rotate", exact=True).click()
    page.get_by_role("button", name="I have kept it").click()
    page.get_by_role("button", name="Remove laptop").click()
    question = page.get_by_role("dialog", name="Remove your token laptop?")
    question.get_by_role("button", name="Remove the token").click()
    expect(page.get_by_text("No personal tokens")).to_be_visible()
    page.get_by_role("button", name="Sign out everywhere else").click()
    expect(page.get_by_role("button", name="Sign out everywhere else")).to_be_hidden()
    other.goto("/dashboard/start")
    expect(other.get_by_label("Password")).to_be_visible()


def test_a_namespace_is_made_with_a_project_archived_and_restored(world: World, new_page: Opens) -> None:
    page = new_page()
    sign_in(page, world.user("admin"), "/dashboard/settings/namespaces?edit=new")
    name = f"made-{world.user('viewer')}"
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_role("button", name="Create the namespace").click()
    dialog = page.get_by_role("dialog", name=f"Namespace {name}")
    expect(dialog.get_by_label("Name", exact=True)).to_be_focused()  # of its first project
    expect(dialog.get_by_label("Name", exact=True)).to_be_in_viewport()
    expect(dialog.get_by_label("Title")).to_have_accessible_description(re.compile("Shown in lists"))
    parts = ["Clone and upstream", "Description", "Projects", "New project", "Webhooks", "Archive"]
    assert dialog.get_by_role("heading", level=3).all_inner_texts() == parts
    expect(dialog.get_by_text(f"/git/{name}.git").first).to_be_visible()
    expect(dialog.get_by_text("it takes a personal token")).to_be_visible()
    dialog.get_by_label("Name", exact=True).fill("www")
    dialog.get_by_label("Title").fill("The site")
    dialog.get_by_role("button", name="Add the project").click()
    expect(dialog.get_by_role("link", name="The site")).to_be_visible()
    assert violations(page) == []
    dialog.get_by_label("To archive it").fill(name)
    dialog.get_by_role("button", name="Archive the namespace").click()
    expect(page.get_by_role("link", name=name)).to_have_count(0)
    page.get_by_role("button", name=f"Restore {name}").click()
    expect(page.get_by_role("link", name=name)).to_be_visible()
    assert [each["name"] for each in world.root.get(f"/api/namespace/{name}/projects")["items"]] == ["www"]


def test_a_project_added_from_the_overview_is_named_at_once(world: World, new_page: Opens) -> None:
    namespace = world.namespace()
    page = new_page()
    overview = world.root.get("/api/overview", limit=0)
    # One without projects is among the others by name; other tests have projects too.
    before = sum(each["projects"] for each in overview["namespaces"] if each["name"] < namespace)
    window = min(before, max(overview["total"] - 1, 0)) // ON_A_PAGE + 1
    sign_in(page, world.user("admin"), f"/?page={window}")
    page.get_by_role("region", name=namespace).get_by_role("link", name="Add a project").click()
    field = page.get_by_role("dialog", name=f"Namespace {namespace}").get_by_label("Name", exact=True)
    expect(field).to_be_focused()
    expect(field).to_be_in_viewport()


def test_the_theme_is_chosen_in_the_settings(world: World, new_page: Opens) -> None:
    page = new_page()
    sign_in(page, world.user("viewer"), "/dashboard/settings")
    choice = page.get_by_role("region", name="This browser").get_by_label("Theme")
    choice.select_option("dark")
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    choice.select_option("that of the system")
    expect(page.locator("html")).not_to_have_attribute("data-theme", "dark")


def test_a_webhook_is_added_and_its_fault_is_told(world: World, new_page: Opens) -> None:
    namespace = world.namespace()
    page = new_page(refused=422)
    sign_in(page, world.user("admin"), f"/dashboard/settings/webhooks?namespace={namespace}")
    page.get_by_role("button", name="Add a webhook").click()
    page.get_by_label("URL").fill("ftp://example.org")
    page.get_by_role("button", name="Add the webhook").click()
    expect(page.get_by_label("URL")).to_have_attribute("aria-invalid", "true")
    page.get_by_label("URL").fill("https://hooks.example.org/waypost")
    page.get_by_role("button", name="Add the webhook").click()
    expect(page.locator(".secret code")).to_be_visible()
    page.get_by_role("button", name="I have kept it").click()
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text("Stopped", exact=True)).to_be_visible()
    page.get_by_role("button", name="Remove", exact=True).click()
    question = page.get_by_role("dialog", name="Remove the webhook?")
    expect(question).to_contain_text("https://hooks.example.org/waypost")
    question.get_by_role("button", name="Cancel").click()
    assert world.root.get(f"/api/namespace/{namespace}/webhooks")["total"] == 1
    page.get_by_role("button", name="Remove", exact=True).click()
    question.get_by_role("button", name="Remove the webhook").click()
    expect(page.get_by_text("No webhooks")).to_be_visible()
    assert world.root.get(f"/api/namespace/{namespace}/webhooks")["total"] == 0


def test_a_webhook_is_changed_pinged_and_each_attempt_is_shown(world: World, new_page: Opens) -> None:
    place = world.place()
    hooks = f"{place.space}/webhooks"
    place.root.ask("POST", hooks, 201, json={"url": "https://hooks.example.org/first"})
    page = new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    sign_in(page, world.user("admin"), f"/dashboard/settings/webhooks?namespace={place.namespace}")
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("URL").fill("https://hooks.invalid/second")
    page.get_by_label("All projects").uncheck()
    expect(page.get_by_role("button", name="Save the webhook")).to_be_disabled()
    page.get_by_label("shop", exact=True).check()
    page.get_by_label("All events").uncheck()
    page.get_by_label("agent.failing").check()
    assert violations(page) == []
    page.get_by_role("button", name="Save the webhook").click()
    expect(page.get_by_role("dialog")).to_be_hidden()
    [hook] = world.root.get(hooks)["items"]
    assert (hook["projects"], hook["events"]) == (["shop"], ["agent.failing"])
    page.get_by_role("button", name="Ping").click()
    expect(page.get_by_text("A ping is sent.")).to_be_visible()
    path = f"{place.space}/webhook/{hook['id']}/deliveries"
    wait_until(lambda: all(each["tries"] for each in place.root.get(path)["items"]) or None, 30, "an attempt")
    assert not [url for url in asked if "deliveries" in url]  # nothing is read that is closed
    page.get_by_text("Deliveries", exact=True).click()
    page.get_by_text("1 try").click()
    expect(page.locator(".attempts")).to_contain_text("name_not_resolved")
    expect(page.locator(".attempts pre")).to_contain_text('"type":"ping"')
    assert violations(page) == []


def test_a_delivery_is_sent_again(world: World, new_page: Opens) -> None:
    namespace = world.namespace()
    hook = world.root.ask(
        "POST", f"/api/namespace/{namespace}/webhooks", 201, json={"url": "https://hooks.example.org/x"}
    ).json()
    delivery = {
        "id": 7, "webhookId": "msg_7", "event": None, "type": "ping", "status": "failed", "tries": 8,
        "createdAt": "2027-01-31T00:00:00Z", "nextAttemptAt": None, "finishedAt": "2027-01-31T08:00:00Z",
    }  # fmt: skip
    page = new_page()
    sent: list[str] = []
    base = f"**/api/namespace/{namespace}/webhook/{hook['id']}"
    # A failed delivery takes eight attempts, over hours.
    page.route(f"{base}/deliveries*", lambda route: route.fulfill(json={"items": [delivery], "total": 1}))

    def again(route: Route) -> None:
        sent.append(route.request.method)
        delivery.update(status="pending")
        route.fulfill(status=202, json=delivery)

    page.route(f"{base}/delivery/7/redeliver", again)
    sign_in(page, world.user("admin"), f"/dashboard/settings/webhooks?namespace={namespace}")
    page.get_by_text("Deliveries", exact=True).click()
    page.get_by_role("button", name="Send delivery 7 again").click()
    expect(page.get_by_text("pending")).to_be_visible()
    assert sent == ["POST"]


def test_more_deliveries_are_shown_until_all_are(world: World, new_page: Opens) -> None:
    space = f"/api/namespace/{world.namespace()}"
    hook = world.root.ask("POST", f"{space}/webhooks", 201, json={"url": "https://hooks.invalid/x"}).json()
    for _ in range(21):
        world.root.ask("POST", f"{space}/webhook/{hook['id']}/ping", 202)
    page = new_page()
    sign_in(page, world.user("admin"), f"/dashboard/settings/webhooks?namespace={space.rpartition('/')[2]}")
    page.get_by_text("Deliveries", exact=True).click()
    rows = page.locator("details .rows > li")
    expect(rows).to_have_count(20)
    expect(page.get_by_text("20 of 21")).to_be_visible()
    page.get_by_role("button", name="Show more").click()
    expect(rows).to_have_count(21)
    expect(page.get_by_role("button", name="Show more")).to_have_count(0)


def test_every_session_and_role_can_be_seen(world: World, new_page: Opens) -> None:
    name = world.user("admin")
    own = [world.services.logins.login(name, PASSWORD) for _ in range(51)]
    roles = [f"{name}-{number}" for number in range(101)]
    admin = world.person("admin")
    grant = {"namespace": name, "project": "*", "resource": "redirect", "action": "read"}
    for role in roles:
        admin.ask("POST", "/api/roles", 201, json={"name": role, "grants": [grant]})
    page = new_page()
    sign_in(page, name, "/dashboard/settings")
    rows = page.get_by_role("region", name="Signed in").get_by_role("listitem")
    expect(rows).to_have_count(50)
    page.get_by_role("button", name="Show more").click()
    expect(rows).to_have_count(len(own) + 1)
    [user] = admin.get("/api/users", q=name)["items"]
    page.goto(f"/dashboard/settings/users?edit={user['id']}")
    form = page.get_by_role("dialog", name=f"User {name}")
    for role in roles:
        expect(form.get_by_label(role, exact=True)).to_be_attached()
        admin.ask("DELETE", f"/api/role/{role}", 204)
    more = form.get_by_role("button", name="Show more")
    more.click()
    expect(form.get_by_role("region", name="Sessions").get_by_role("listitem")).to_have_count(len(own) + 1)


def test_more_namespaces_are_shown_until_all_are(world: World, new_page: Opens) -> None:
    """The service has no thousand namespaces: the answer is one of a larger one."""
    names = [f"ns-{number:04}" for number in range(1001)]
    every = [{"name": each, "description": "", "projects": 0} for each in names]

    def answer(route: Route) -> None:
        limit = int(parse_qs(urlsplit(route.request.url).query)["limit"][0])
        route.fulfill(json={"items": every[:limit], "total": len(every), "limit": limit, "offset": 0})

    page = new_page()
    page.route("**/api/namespaces?*", answer)
    sign_in(page, world.user("admin"), "/dashboard/settings/namespaces")
    expect(page.get_by_text("1,000 of 1,001")).to_be_visible()
    expect(page.get_by_role("link", name=names[-1])).to_have_count(0)
    page.get_by_role("button", name="Show more").click()
    expect(page.get_by_role("link", name=names[-1])).to_be_visible()
    expect(page.get_by_role("button", name="Show more")).to_have_count(0)


def test_the_settings_of_a_project_are_published_and_it_is_removed(world: World, new_page: Opens) -> None:
    place = world.place()
    page = new_page()
    sign_in(page, world.user("admin"), f"/dashboard/settings/namespaces?name={place.namespace}")
    page.get_by_role("link", name="Settings of shop").click()
    dialog = page.get_by_role("dialog", name=f"Project shop of {place.namespace}")
    dialog.get_by_label("Title").fill("The shop")
    dialog.get_by_label("Description").fill("All that is sold")
    dialog.get_by_label("Review").select_option("required")
    assert violations(page) == []
    dialog.get_by_role("button", name="Save the settings").click()
    expect(page.get_by_role("link", name="The shop")).to_be_visible()
    found = place.get("")
    assert (found["title"], found["description"], found["review"]) == ("The shop", "All that is sold", "required")
    page.get_by_role("link", name="Settings of shop").click()
    expect(dialog.get_by_role("button", name="Remove the project")).to_be_disabled()
    dialog.get_by_label("To remove the project").fill("shop")
    dialog.get_by_role("button", name="Remove the project").click()
    expect(page.get_by_text(f"The project {place.project} is removed.")).to_be_visible()
    expect(page.get_by_text("None yet.")).to_be_visible()
    assert world.root.get(f"{place.space}/projects")["total"] == 0


def test_an_upstream_is_set_synced_suspended_changed_and_removed(world: World, new_page: Opens) -> None:
    namespace = world.namespace()
    page = new_page(refused=404)
    sign_in(page, world.user("admin"), f"/dashboard/settings/namespaces?name={namespace}&upstream=shown")
    page.get_by_role("button", name="Set an upstream").click()
    page.get_by_label("URL").fill("https://127.0.0.1:1/press.git")  # nothing answers there
    page.get_by_label("Mode").select_option("mirror")
    page.get_by_label("Password or token").fill("a secret of the host")
    assert violations(page) == []
    page.get_by_role("button", name="Save the upstream").click()
    upstream = page.get_by_role("region", name="Upstream")
    expect(upstream).to_contain_text("https://127.0.0.1:1/press.git")
    upstream.get_by_role("button", name="Sync now").click()
    expect(page.get_by_text("A sync has begun.")).to_be_visible()
    upstream.get_by_role("button", name="Suspend").click()
    expect(upstream).to_contain_text("Suspended")
    upstream.get_by_role("button", name="Change").click()
    page.get_by_label("Branch").fill("main")
    page.get_by_role("button", name="Save the upstream").click()
    expect(upstream).to_be_visible()
    found = world.root.get(f"/api/namespace/{namespace}/upstream")
    assert (found["branch"], found["mode"], found["hasPassword"]) == ("main", "mirror", True)
    if found["suspended"]:
        upstream.get_by_role("button", name="Resume").click()
    expect(upstream.get_by_role("button", name="Sync now")).to_be_visible()
    upstream.get_by_role("button", name="Remove").click()
    page.get_by_role("dialog", name=f"Remove the upstream of {namespace}?").get_by_role(
        "button", name="Remove the upstream"
    ).click()
    page.get_by_role("button", name="Show the upstream").click()
    expect(page.get_by_text("No upstream")).to_be_visible()


def test_an_upstream_that_someone_else_changed_meanwhile_is_not_overwritten_unseen(
    world: World, new_page: Opens
) -> None:
    namespace = world.namespace()
    path = f"/api/namespace/{namespace}/upstream"
    first = {"url": "https://127.0.0.1:1/press.git", "mode": "mirror"}  # nothing answers there
    world.root.ask("PUT", path, 200, json=first)
    page = new_page()
    sign_in(page, world.user("admin"), f"/dashboard/settings/namespaces?name={namespace}&upstream=edit")
    form = page.get_by_role("dialog", name=f"Upstream of {namespace}")
    form.get_by_label("Branch").fill("main")
    world.root.ask("PUT", path, 200, json={**first, "path": "rules"})
    form.get_by_role("button", name="Save the upstream").click()
    expect(page.get_by_role("region", name="Upstream")).to_be_visible()
    now = world.root.get(path)
    assert (now["branch"], now["path"]) == ("main", "rules")
    page.get_by_role("button", name="Change").click()
    form.get_by_label("Password or token").fill("a secret of the first host")
    other = {**first, "url": "https://127.0.0.1:2/press.git"}
    world.root.ask("PUT", path, 200, json=other)
    form.get_by_role("button", name="Save the upstream").click()
    both = form.get_by_role("region", name="What someone else has made of it")
    expect(both).to_contain_text("https://127.0.0.1:2/press.git")
    assert not world.root.get(path)["hasPassword"]
    both.get_by_role("button", name="Save mine over it").click()
    expect(form).to_be_hidden()
    now = world.root.get(path)
    assert (now["url"], now["hasPassword"]) == (first["url"], True)


def test_who_saves_a_moment_later_overwrites_no_role_and_no_upstream_unseen(world: World, new_page: Opens) -> None:
    namespace, admin = world.namespace(), world.person("admin")
    role, upstream = f"/api/role/{namespace}", f"/api/namespace/{namespace}/upstream"
    grants = [{"namespace": namespace, "project": "*", "resource": "page", "action": "read"}]
    admin.ask("POST", "/api/roles", 201, json={"name": namespace, "grants": grants})
    first = {"url": "https://127.0.0.1:1/press.git", "mode": "mirror", "branch": "main"}
    admin.ask("PUT", upstream, 200, json=first)
    theirs = {role: {"description": "Theirs", "grants": grants}, upstream: {**first, "branch": "theirs"}}
    page = new_page(refused=412)
    sign_in(page, world.user("admin"), f"/dashboard/settings/roles?edit={namespace}")

    def be_late(route: Route) -> None:
        """Let someone else save between the read of the form and its own write, once."""
        path = urlsplit(route.request.url).path
        if route.request.method == "PUT" and path in theirs:
            admin.ask("PUT", path, 200, json=theirs.pop(path))
        route.continue_()

    page.route(re.compile(f"{role}$|{upstream}$"), be_late)
    cases = (
        (f"/dashboard/settings/roles?edit={namespace}", "Description", "Save the role", role, "description", "Theirs"),
        (
            f"/dashboard/settings/namespaces?name={namespace}&upstream=edit",
            "Branch",
            "Save the upstream",
            upstream,
            "branch",
            "theirs",
        ),
    )
    for address, label, button, path, field, other in cases:
        page.goto(address)
        form = page.get_by_role("dialog")
        form.get_by_label(label).fill("Mine")
        form.get_by_role("button", name=button).click()
        both = form.get_by_role("region", name="What someone else has made of it")
        expect(both.get_by_role("alert")).to_contain_text("so nothing is done yet")
        expect(form.get_by_label(label)).to_have_value("Mine")
        assert admin.get(path)[field] == other
        both.get_by_role("button", name="Save mine over it").click()
        expect(both).to_have_count(0)
        expect(form.get_by_role("button", name=button)).to_have_count(0)
        assert admin.get(path)[field] == "Mine"


def test_a_password_is_generated_for_a_new_user_and_can_be_copied(world: World, new_page: Opens) -> None:
    page = new_page()
    sign_in(page, world.user("admin"), "/dashboard/settings/users?edit=new")
    form = page.get_by_role("dialog", name="Add a user")
    made = []
    for _ in range(2):
        form.get_by_role("button", name="Generate a password").click()
        made.append(form.locator(".secret code").inner_text())
        expect(form.get_by_label("Password", exact=True)).to_have_value(made[-1])
    assert made[0] != made[1]
    assert {len(each) for each in made} == {20}
    expect(form.get_by_role("button", name="Copy the password")).to_be_visible()
    assert violations(page) == []
    page.goto("/dashboard/start")  # its examples are no values, which would be published
    expect(page.get_by_label("First redirect: from")).to_have_value("")
    expect(page.get_by_label("To", exact=True)).to_have_value("")


def test_a_project_leads_to_its_settings_and_shows_no_empty_column(world: World, new_page: Opens) -> None:
    place = world.place()
    place.ask("POST", "/agents", 200, json={"name": "edge", "type": "default", "version": 1, "status": "success"})
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/agents"))
    expect(page.get_by_role("columnheader", name="Actions")).to_be_visible()
    page.get_by_role("link", name="Project settings").click()
    expect(page.get_by_role("dialog")).to_contain_text("shop")
    page = new_page()
    sign_in(page, world.user("publisher"), view(place, "/agents"))
    expect(page.get_by_role("columnheader", name="Name")).to_be_visible()
    expect(page.get_by_role("columnheader", name="Actions")).to_have_count(0)
    expect(page.get_by_role("link", name="Project settings")).to_have_count(0)


def test_the_audit_log_is_filtered_by_the_address_also_after_back(world: World, new_page: Opens) -> None:
    page = new_page(timezone_id="Asia/Kolkata")
    user = world.user("admin")
    sign_in(page, user, "/dashboard/settings/audit")
    page.get_by_label("Who").fill(user)
    page.get_by_label("Who").press("Enter")
    expect(page.locator("tbody tr").first).to_contain_text(user)
    assert f"actor={user}" in page.url
    row = page.locator("tbody tr").filter(has_text=f"{user} signed in with a password")
    expect(row.get_by_text("127.0.0.1")).to_be_visible()
    time = row.locator("time")
    assert time.inner_text() == time.evaluate(
        "(each) => new Date(each.dateTime).toLocaleString([], { dateStyle: 'medium', timeStyle: 'short' })"
    )
    expect(time).to_have_attribute("title", re.compile(r"GMT\+5:30"))
    raw = row.get_by_role("listitem").filter(has_text=re.compile(f"^event {AuditEvent.LOGIN}$"))
    expect(raw).to_be_hidden()
    row.get_by_text("Details").click()
    expect(raw).to_be_visible()
    expect(row.get_by_role("listitem").filter(has_text=re.compile("^by password$"))).to_be_visible()
    assert violations(page) == []
    page.get_by_text("Time", exact=True).click()
    page.get_by_label("Until").fill("2026-01-31T05:30")  # as the clock of the person shows it
    expect(page.get_by_text("No entry fits")).to_be_visible()
    assert "until=2026-01-31T00%3A00%3A00Z" in page.url
    page.go_back()
    expect(page.get_by_label("Until")).to_have_value("")
    expect(page.locator("tbody tr").first).to_contain_text(user)
    page.go_back()
    expect(page.get_by_label("Who")).to_have_value("")
    with page.expect_download() as download:
        page.get_by_role("link", name="Export the whole log").click()
    lines = download.value.path().read_text().splitlines()
    assert json.loads(lines[-1])["head"]


def test_the_names_of_all_events_are_offered_to_the_filter(world: World, new_page: Opens) -> None:
    page = new_page()
    sign_in(page, world.user("admin"), "/dashboard/settings/audit")
    field = page.get_by_label("Event")
    field.wait_for()
    offered = field.locator("optgroup option").evaluate_all("(all) => all.map((each) => each.value)")
    assert sorted(offered) == sorted(AuditEvent)
    expect(field.locator("optgroup[label='Sign-ins and tokens']")).to_contain_text(f"signed in … ({AuditEvent.LOGIN})")
    field.select_option(AuditEvent.LOGIN)
    expect(page).to_have_url(re.compile(f"event={AuditEvent.LOGIN}"))
    expect(page.locator("tbody tr").first).to_contain_text("signed in")


def test_a_publish_and_its_asking_are_one_row_of_the_audit_log(world: World, new_page: Opens) -> None:
    place = world.place()
    version = place.published("/a")["version"]
    wait_until(
        lambda: any(
            each["detail"]["version"] == version
            for each in wait_until_recorded(world, AuditEvent.PUBLISHED, namespace=place.namespace)
        ),
        20,
        "the publish in the audit log",
    )
    page = new_page()
    sign_in(page, world.user("admin"), f"/dashboard/settings/audit?namespace={place.namespace}&project={place.project}")
    row = page.locator("tbody tr", has_text=version)
    expect(row).to_have_count(1)
    expect(row.locator("td > .said")).to_contain_text(f"published {place.namespace} / shop, as publish")
    expect(row).to_contain_text("127.0.0.1")
    asked = row.get_by_text("asked to publish")
    expect(asked).to_be_hidden()
    row.get_by_text("Details").click()
    expect(asked).to_be_visible()


def test_the_reference_of_the_api_says_what_each_call_takes_with_a_valid_example(world: World, new_page: Opens) -> None:
    page = new_page()
    sign_in(page, world.user("viewer"), "/dashboard/settings/api")
    page.locator(".operation").first.wait_for()
    page.evaluate("document.querySelectorAll('details').forEach((each) => each.open = true)")
    expect(page.locator(".operation .secret")).to_have_count(page.locator(".operation").count())
    calls = [
        shlex.split(each.replace("\\\n", " ")) for each in page.locator(".operation .secret code").all_inner_texts()
    ]
    taken = {(each.method, each.path): each.request for each in operations() if each.request}
    shown = {}
    for call in calls:
        method = call[call.index("-X") + 1] if "-X" in call else "GET"
        path = next(each for each in call if each.startswith("http")).removeprefix(world.service.url).partition("?")[0]
        if (method, path) in taken:
            shown[method, path] = json.loads(call[call.index("--data") + 1])
    assert shown.keys() == taken.keys()
    assert {call: found for call, body in shown.items() if (found := check(taken[call], body))} == {}
    roles = page.locator(".operation", has_text="POST/api/roles")
    expect(roles).to_contain_text("Needs role:write.")
    expect(roles.locator(".parts > div", has_text="grants[].action")).to_contain_text("body, required")


def test_the_reference_of_the_api_is_searched(world: World, new_page: Opens) -> None:
    page = new_page()
    sign_in(page, world.user("viewer"), "/dashboard/settings/api")
    page.get_by_label("Search the calls").fill("rollback")
    expect(page).to_have_url(re.compile("q=rollback"))
    page.get_by_text("/rollback", exact=False).first.click()
    expect(page.get_by_text("curl -X POST").first).to_be_visible()
    expect(page.get_by_role("link", name="Users")).to_have_count(0)


@pytest.mark.parametrize("error", ["<script>alert(1)</script>", "\u202edaol ton did"])
def test_agents_are_shown_filtered_and_connected(world: World, new_page: Opens, error: str) -> None:
    place = world.place()
    version = place.published("/a")["version"]
    for name, fields in (
        ("edge-1", {"status": "success", "load_duration": 38_400_000}),
        ("edge-2", {"status": "error", "error": error}),
    ):
        place.ask("POST", "/agents", 200, json={"name": name, "type": "default", "version": version, **fields})
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/agents"))
    expect(page.locator("tbody tr")).to_have_count(2)
    expect(page.locator("tbody")).to_contain_text(error)
    expect(page.locator("tbody")).to_contain_text("38 ms")
    page.get_by_label("State").select_option("failing")
    expect(page.locator("tbody tr")).to_have_count(1)
    assert violations(page) == []
    page.get_by_role("button", name="Remove edge-2").click()
    page.get_by_role("dialog", name="Remove the agent edge-2?").get_by_role("button", name="Cancel").click()
    expect(page.locator("tbody tr")).to_have_count(1)
    page.get_by_role("button", name="Remove edge-2").click()
    page.get_by_role("button", name="Remove the agent").click()
    expect(page.get_by_text("No agent fits")).to_be_visible()
    page.get_by_role("button", name="Connect an agent").click()
    page.get_by_label("Name of the agent").fill("edge-3")
    page.get_by_role("button", name="Make its token").click()
    token = page.locator(".secret code").inner_text()
    assert _reads(world, place.path, token)


def test_what_one_may_not_do_is_not_offered(world: World, new_page: Opens) -> None:
    place = world.place()
    place.ask("POST", "/draft/changes", 200, json=[{"op": "put", "kind": "redirect", "item": redirect("/a")}])
    page = new_page()
    sign_in(page, world.user("viewer"), view(place))
    expect(page.locator("tbody tr")).to_have_count(1)
    for name in ("Add a redirect", "Replace …"):
        expect(page.get_by_role("button", name=name)).to_have_count(0)
    page.get_by_role("link", name="Draft", exact=True).click()
    expect(page.locator(".change")).to_have_count(1)
    for name in ("Publish …", "Discard all …"):
        expect(page.get_by_role("button", name=name)).to_have_count(0)


def test_a_saved_description_is_nothing_that_is_not_saved(world: World, new_page: Opens) -> None:
    place = world.place()
    page = new_page()
    sign_in(page, world.user("admin"), f"/dashboard/settings/namespaces?name={place.namespace}")
    form = page.get_by_role("dialog", name=f"Namespace {place.namespace}")
    save = form.get_by_role("button", name="Save the description")
    form.get_by_label("Description").fill("The shops")
    save.click()
    expect(page.get_by_text("The description is saved.")).to_be_visible()
    expect(save).to_be_disabled()
    expect(form.get_by_label("Description")).to_have_value("The shops")
    page.keyboard.press("Escape")
    expect(form).to_have_count(0)


def test_a_question_about_typed_text_goes_when_a_save_that_runs_has_ended(world: World, new_page: Opens) -> None:
    place = world.place()
    page = new_page()
    sign_in(page, world.user("admin"), f"/dashboard/settings/namespaces?name={place.namespace}")
    form = page.get_by_role("dialog", name=f"Namespace {place.namespace}")
    form.get_by_label("Description").fill("The shops")
    held: list[Route] = []

    def hold(route: Route) -> None:
        if route.request.method == "PATCH":
            held.append(route)
        else:
            route.fallback()

    page.route(f"**/api/namespace/{place.namespace}", hold)
    form.get_by_role("button", name="Save the description").click()
    page.keyboard.press("Escape")
    expect(form.get_by_text("What you typed is not saved.")).to_be_visible()
    held[0].continue_()
    expect(page.get_by_text("The description is saved.")).to_be_visible()
    expect(form.get_by_text("What you typed is not saved.")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(form).to_have_count(0)


def test_what_is_wrong_in_a_closed_part_of_a_form_is_opened(world: World, new_page: Opens) -> None:
    place = world.place()
    page = new_page(refused=4)
    sign_in(page, world.user("admin"), f"/dashboard/settings/namespaces?name={place.namespace}&upstream=edit")
    form = page.get_by_role("dialog", name=f"Upstream of {place.namespace}")
    form.get_by_label("URL", exact=True).fill("https://git.example/shop.git")
    form.get_by_text("Syncs", exact=True).click()
    form.get_by_label("Seconds between two syncs").fill("often")
    form.get_by_text("Syncs", exact=True).click()
    expect(form.get_by_label("Seconds between two syncs")).to_be_hidden()
    form.get_by_role("button", name="Save the upstream").click()
    expect(form.get_by_label("Seconds between two syncs")).to_be_focused()
    expect(form.locator(".field .problem")).to_be_in_viewport()


def test_why_a_long_form_is_refused_is_brought_into_view(world: World, new_page: Opens) -> None:
    place = world.place()
    page = new_page(refused=503, viewport={"width": 800, "height": 500})
    sign_in(page, world.user("admin"), f"/dashboard/settings/namespaces?name={place.namespace}")
    form = page.get_by_role("dialog", name=f"Namespace {place.namespace}")
    form.get_by_label("To archive it").fill(place.namespace)
    answer = {"error": "overloaded", "message": "Too busy. Try again."}
    page.route(
        re.compile("confirm="),
        lambda route: route.fulfill(status=503, json=answer) if route.request.method == "DELETE" else route.continue_(),
    )
    form.get_by_role("button", name="Archive the namespace").click()
    expect(form.get_by_text("Too busy. Try again.")).to_be_in_viewport()
    expect(form.get_by_label("To archive it")).to_have_value(place.namespace)


def test_who_may_only_read_users_is_offered_no_fields(world: World, new_page: Opens) -> None:
    grants = [{"namespace": "*", "project": "*", "resource": "user", "action": "read"}]
    world.person("admin").ask("POST", "/api/roles", 201, json={"name": "user-reader", "grants": grants})
    reader, shown = world.user("user-reader"), world.user("viewer")
    page = new_page(refused=403)
    sign_in(page, reader, f"/dashboard/settings/users?q={shown}")
    page.locator("tbody").get_by_role("link", name=shown).click()
    form = page.get_by_role("dialog", name=f"User {shown}")
    expect(form.get_by_text("viewer")).to_be_visible()
    expect(form.get_by_role("textbox")).to_have_count(0)
    expect(form.get_by_role("checkbox")).to_have_count(0)


def test_a_secret_of_a_webhook_is_replaced_only_after_a_question(world: World, new_page: Opens) -> None:
    place = world.place()
    place.root.ask("POST", f"{place.space}/webhooks", 201, json={"url": "https://hooks.example.org/first"})
    page = new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    sign_in(page, world.user("admin"), f"/dashboard/settings/webhooks?namespace={place.namespace}")
    page.get_by_role("button", name="New secret …").click()
    dialog = page.get_by_role("dialog", name="Make a new secret?")
    expect(dialog.get_by_role("button", name="Cancel")).to_be_focused()
    expect(dialog).to_contain_text("https://hooks.example.org/first")
    dialog.get_by_role("button", name="Cancel").click()
    expect(dialog).to_have_count(0)
    assert not [url for url in asked if "rotate" in url]
    page.get_by_role("button", name="New secret …").click()
    dialog.get_by_role("button", name="Make the secret").click()
    expect(page.get_by_role("dialog", name="The secret that signs the messages").locator("code")).to_be_visible()
    assert violations(page) == []
