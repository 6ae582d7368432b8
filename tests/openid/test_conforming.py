"""Login with oidc-provider, which is certified: PKCE, the issuer of the response, refresh, and logout at it and from it."""

from pathlib import Path

import httpx
from sqlalchemy import text

from api.app.services import open_services
from api.settings import Settings
from tests.e2e.openid import settings
from tests.openid.conforming import Person, conforming_provider, require_environment
from tests.ports import free_port
from tests.service import WAYPOST, running, wait_until


def refused(person: Person, callback: httpx.URL) -> bool:
    """Tell whether a callback is answered with 401, and neither tokens nor cookies of a session."""
    answer = person.http.get(callback, headers={"Accept": "application/json"})
    assert (answer.status_code, answer.json()["error"]) == (401, "openid_failed"), answer.text
    return "tokens" not in answer.json() and "waypost-access" not in person.http.cookies


def test_a_code_is_of_the_flow_that_it_was_given_to_and_is_used_once(tmp_path: Path) -> None:
    """The provider checks the verifier of PKCE, which is of the browser that began the login."""
    require_environment()
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with conforming_provider(url) as issuer:
        env = {**settings(issuer), "WAYPOST_PUBLIC_URL": url, "WAYPOST_BIND": f"127.0.0.1:{port}"}
        with running(WAYPOST, tmp_path / "data", env), Person() as ada, Person() as eve:
            of_eve, of_ada = eve.approve(url), ada.approve(url)
            assert refused(ada, of_ada.copy_set_param("code", of_eve.params["code"]))
            of_ada = ada.approve(url)
            assert ada.http.get(of_ada, headers={"Accept": "application/json"}).json()["tokens"]
            again = ada.approve(url)
            assert again.params["state"] != of_ada.params["state"]
            assert refused(ada, again.copy_set_param("code", of_ada.params["code"]))


def test_a_person_logs_in_keeps_their_roles_and_logs_out_everywhere(tmp_path: Path) -> None:
    """Roles are kept by a refresh token, which the provider gives with the scope and the prompt alone, as the standard says."""
    require_environment()
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with conforming_provider(url) as issuer:
        offline = settings(issuer, OPENID_SCOPES="openid profile offline_access", OPENID_PROMPT="consent")
        env = {**offline, "WAYPOST_PUBLIC_URL": url, "WAYPOST_BIND": f"127.0.0.1:{port}"}
        with running(WAYPOST, tmp_path / "data", env) as service, Person() as person, Person() as other:
            services = open_services(Settings(data=service.data))
            answer = person.log_in(url)
            assert (answer.status_code, answer.headers["Location"]) == (303, "/"), answer.text
            assert person.http.get(f"{url}/api/me").json()["roles"] == ["viewer"]
            assert other.log_in(url).status_code == 303

            person.http.get(f"{issuer}/set-groups/ops")
            with services.state.database.writing() as connection:
                connection.execute(text("UPDATE openid_sessions SET checked_at = '2020-01-01 00:00:00.000000'"))
            csrf = {"X-CSRF-Token": person.http.cookies["waypost-csrf"]}
            assert person.http.post(f"{url}/auth/session/refresh", headers=csrf).status_code == 200
            assert person.http.get(f"{url}/api/me").json()["roles"] == ["admin"]

            csrf = {"X-CSRF-Token": person.http.cookies["waypost-csrf"]}
            left = person.http.delete(f"{url}/auth/session", headers=csrf)
            assert left.status_code == 200
            assert person.http.get(f"{url}/api/me").status_code == 401
            assert other.http.get(f"{url}/api/me").status_code == 200
            assert person.log_out_of_provider(left.json()["logoutUrl"]).headers["Location"] == f"{url}/"

            # The other person's browser logs out at the provider alone, which tells the service.
            other.log_out_of_provider(left.json()["logoutUrl"])
            wait_until(lambda: other.http.get(f"{url}/api/me").status_code == 401, 10, "the session to end")
            services.close()
