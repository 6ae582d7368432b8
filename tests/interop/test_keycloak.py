"""Login with a real Keycloak: its pages, roles of a claim, refresh, rotation of its keys, and logout at it and from it."""

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

import pytest
from sqlalchemy import text

from api.app.services import open_services
from api.settings import Settings
from tests.e2e.openid import settings
from tests.interop.keycloak import REALM, Keycloak, Visitor, running_keycloak
from tests.ports import free_port
from tests.service import WAYPOST, Service, running, wait_until

SECONDS = 60.0


@dataclass(frozen=True)
class Site:
    """A service, and the Keycloak that its people log in with."""

    service: Service
    keycloak: Keycloak

    def visit(self, name: str = "ada") -> Visitor:
        """Open a browser of a person."""
        return Visitor(self.service.url, name)

    def look_again(self) -> None:
        """Let the next refresh of every session ask Keycloak again, as it does after a minute."""
        services = open_services(Settings(data=self.service.data))
        with services.state.database.writing() as connection:
            connection.execute(text("UPDATE openid_sessions SET checked_at = '2020-01-01 00:00:00.000000'"))
        services.close()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    url = f"http://127.0.0.1:{free_port()}"
    roles = {
        "ROLES_CLAIM": "realm_access.roles",
        "ROLES": "waypost-admins=admin,waypost-editors=editor",
        "TIMEOUT": "30",
    }
    with running_keycloak(tmp_path_factory.mktemp("keycloak"), url) as keycloak:
        own = {f"WAYPOST_OPENID_{name}": value for name, value in roles.items()}
        env = {**settings(keycloak.issuer), **own, "WAYPOST_PUBLIC_URL": url, "WAYPOST_BIND": urlsplit(url).netloc}
        with running(WAYPOST, tmp_path_factory.mktemp("here") / "data", env) as service:
            yield Site(service, keycloak)


def test_a_person_logs_in_with_the_roles_of_the_claim_which_are_looked_at_again_at_a_refresh(site: Site) -> None:
    site.keycloak.set_role("ada", "waypost-editors")
    with site.visit() as ada:
        answer = ada.log_in()
        assert (answer.status_code, answer.headers["Location"]) == (303, "/"), answer.text
        assert (ada.me().json()["name"], ada.me().json()["roles"]) == ("ada", ["editor"])
        site.keycloak.set_role("ada", "waypost-admins")
        site.look_again()
        assert ada.change("POST", "/auth/session/refresh").status_code == 200
        assert ada.me().json()["roles"] == ["admin"]


def test_a_person_logs_out_at_keycloak_from_here(site: Site) -> None:
    with site.visit() as ada:
        assert ada.log_in().status_code == 303
        left = ada.change("DELETE", "/auth/session")
        assert ada.log_out_of_provider(left.json()["logoutUrl"]).headers["Location"] == f"{site.service.url}/"
        assert ada.me().status_code == 401


def test_a_logout_at_keycloak_ends_that_session_alone(site: Site) -> None:
    with site.visit() as ada, site.visit() as other:
        assert [each.log_in().status_code for each in (ada, other)] == [303, 303]
        left = ada.log_out_of_provider(f"{site.keycloak.issuer}/protocol/openid-connect/logout")
        assert "You are logged out" in left.text
        wait_until(lambda: ada.me().status_code == 401, SECONDS, "the session to end")
        assert other.me().status_code == 200


def test_a_person_whom_keycloak_logs_out_is_out_of_one_session_at_once_and_of_all_at_a_refresh(site: Site) -> None:
    site.keycloak.log_out("ada")  # of the sessions that other tests have left
    with site.visit() as ada, site.visit() as other:
        both = (ada, other)
        assert [each.log_in().status_code for each in both] == [303, 303]
        site.keycloak.log_out("ada")  # tells of one session, https://github.com/keycloak/keycloak/issues/22914
        wait_until(lambda: 401 in [each.me().status_code for each in both], SECONDS, "a session to end")
        site.look_again()
        assert [each.change("POST", "/auth/session/refresh").status_code for each in both] == [401, 401]
        assert [each.me().status_code for each in both] == [401, 401]


def test_a_person_whom_keycloak_disables_is_out_at_a_refresh(site: Site) -> None:
    person = f"/{REALM}/users/{site.keycloak.user_id('ada')}"
    with site.visit() as ada:
        assert ada.log_in().status_code == 303
        site.keycloak.ask("PUT", person, {"enabled": False})
        try:
            site.look_again()
            assert ada.change("POST", "/auth/session/refresh").status_code == 401
        finally:
            site.keycloak.ask("PUT", person, {"enabled": True})
        assert ada.me().status_code == 401


def test_a_login_right_after_keycloak_changed_its_keys_succeeds(site: Site) -> None:
    with site.visit() as ada, site.visit() as later:
        assert ada.log_in().status_code == 303
        site.keycloak.rotate_keys()
        assert later.log_in().headers["Location"] == "/"
        assert later.me().status_code == 200


def test_a_person_with_an_unverified_address_of_mail_gets_no_account(site: Site) -> None:
    with site.visit("eve") as eve:
        answer = eve.log_in()
        assert (answer.status_code, answer.json()["error"]) == (403, "user_not_exist")
