"""The settings in the dashboard: accounts, roles, tokens, sessions, webhooks, namespaces, audit; and the agents."""

from collections.abc import Callable

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.dashboard.conftest import sign_in
from tests.dashboard.test_editing import view
from tests.dashboard.test_pages import violations
from tests.e2e.world import PASSWORD, World, redirect

Opens = Callable[..., Page]


def test_a_user_is_added_given_a_role_and_deactivated(world: World, new_page: Opens) -> None:
    page = new_page()
    sign_in(page, world.user("admin"), "/dashboard/settings/users?edit=new")
    form = page.get_by_role("dialog", name="Add a user")
    name = f"kim-{world.user('viewer')}"
    form.get_by_label("User name").fill(name)
    form.get_by_label("Password").fill(PASSWORD)
    form.get_by_label("publisher").check()
    assert violations(page) == []
    form.get_by_role("button", name="Add the user").click()
    expect(form).to_be_hidden()
    kim = world.session(name)
    assert kim["accessToken"]
    users = world.root.get("/api/users", limit=1000)["items"]
    [made] = [each for each in users if each["username"] == name]
    assert made["roles"] == ["publisher"]
    page.goto("/dashboard/settings/users?page=" + str(-(-len(users) // 50)) + f"&edit={made['id']}")
    page.get_by_role("button", name="Sign out everywhere").click()
    expect(page.get_by_text("Not signed in anywhere")).to_be_visible()
    page.get_by_label("May sign in").uncheck()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("dialog")).to_be_hidden()
    world.nobody.ask("POST", "/auth/login", 403, json={"username": name, "password": PASSWORD})


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
    page.get_by_role("button", name="Look at the provider").click()
    expect(page.get_by_text("not set up")).to_be_visible()
    page.locator("tbody").get_by_role("link").first.click()
    page.get_by_role("button", name="Show the identity at the provider").click()
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


def test_an_api_token_is_shown_once_rotated_and_removed(world: World, new_page: Opens) -> None:
    place = world.place()
    page = new_page()
    sign_in(page, world.user("admin"), "/dashboard/settings/tokens?edit=new")
    name = f"edge of {place.namespace}"
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_role("button", name="Make the token").click()
    token = page.locator(".secret code").inner_text()
    assert _reads(world, place.path, token)
    page.get_by_role("button", name="I have kept it").click()
    expect(page.get_by_text(token)).to_have_count(0)
    page.get_by_role("button", name=f"Rotate {name}").click()
    newer = page.locator(".secret code").inner_text()
    assert newer != token
    assert _reads(world, place.path, newer)
    page.get_by_role("button", name="I have kept it").click()
    page.get_by_role("button", name=f"Remove {name}").click()
    expect(page.get_by_role("button", name=f"Remove {name}")).to_have_count(0)
    assert not _reads(world, place.path, newer)


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
    expect(page.get_by_text("this browser")).to_be_visible()
    page.get_by_role("button", name="Make a token").click()
    page.get_by_label("Name", exact=True).fill("laptop")
    page.get_by_role("button", name="Make the token").click()
    expect(page.locator(".secret code")).to_be_visible()
    assert violations(page) == []
    page.get_by_role("button", name="I have kept it").click()
    page.get_by_role("button", name="Remove", exact=True).click()
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
    page.get_by_role("link", name=name).click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text(f"/git/{name}.git").first).to_be_visible()
    dialog.get_by_label("New project").fill("www")
    dialog.get_by_role("button", name="Add the project").click()
    expect(dialog.get_by_role("link", name="www")).to_be_visible()
    assert violations(page) == []
    dialog.get_by_label("To archive it").fill(name)
    dialog.get_by_role("button", name="Archive the namespace").click()
    expect(page.get_by_role("link", name=name)).to_have_count(0)
    page.get_by_role("button", name=f"Restore {name}").click()
    expect(page.get_by_role("link", name=name)).to_be_visible()
    assert [each["name"] for each in world.root.get(f"/api/namespace/{name}/projects")["items"]] == ["www"]


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
    expect(page.get_by_text("stopped", exact=True)).to_be_visible()
    page.get_by_role("button", name="Remove", exact=True).click()
    expect(page.get_by_text("No webhooks")).to_be_visible()


def test_the_audit_log_is_filtered_by_the_address(world: World, new_page: Opens) -> None:
    page = new_page()
    user = world.user("admin")
    sign_in(page, user, "/dashboard/settings/audit")
    page.get_by_label("Who").fill(user)
    page.get_by_label("Who").press("Enter")
    expect(page.locator("tbody tr").first).to_contain_text(user)
    assert f"actor={user}" in page.url


def test_the_reference_of_the_api_is_searched(world: World, new_page: Opens) -> None:
    page = new_page()
    sign_in(page, world.user("viewer"), "/dashboard/settings/api")
    page.get_by_label("Search the calls").fill("rollback")
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
    expect(page.get_by_text("No agent fits")).to_be_visible()
    page.get_by_role("button", name="Connect an agent").click()
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
