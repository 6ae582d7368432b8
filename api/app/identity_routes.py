"""The routes of the database: login, users, roles, tokens, the audit trail and agents."""

from typing import TYPE_CHECKING

from api.app.services import Services
from api.http.routing import Route
from api.resources.accounts.audit import AuditExport, AuditTrail
from api.resources.accounts.auth import Login, Logout, PasswordLogin, Refresh, Refreshing
from api.resources.accounts.browser_session import BrowserLogins, BrowserSession
from api.resources.accounts.identities import UserIdentity
from api.resources.accounts.openid import OpenId
from api.resources.accounts.personal_tokens import MyToken, MyTokens
from api.resources.accounts.roles import Permissions, RoleResource, Roles
from api.resources.accounts.sessions import MySessions, UserSessions
from api.resources.accounts.tokens import ApiTokenResource, ApiTokens
from api.resources.accounts.users import Me, UserResource, Users
from api.resources.agents.agents import AgentResource, Agents, ServedProjects, VersionResolver

if TYPE_CHECKING:
    from api.openid.openid_logins import OpenIdLogins

_AGENTS = "/api/namespace/{namespace}/project/{project}/agents"


def identity_routes(
    services: Services, served: ServedProjects, versions: VersionResolver, openid: "OpenIdLogins | None" = None
) -> list[Route]:
    """Return every route of identity and agents."""
    agent = AgentResource(served, versions, services.fleet)
    token, passwords = ApiTokenResource(services.tokens), PasswordLogin(services.logins, services.password_checks)
    browsers, refreshing = (
        BrowserLogins(services.logins),
        Refreshing(services.logins, openid.check_again if openid else None),
    )
    browser = BrowserSession(browsers, passwords, refreshing, openid.logout_url if openid else None)
    provider = OpenId(openid, browsers)
    my_token = MyToken(services.personal_tokens())
    my_sessions, user_sessions = MySessions(services.sessions()), UserSessions(services.sessions())
    return [
        Route("/auth/login", Login(passwords)),
        Route("/auth/refresh", Refresh(refreshing)),
        Route("/auth/logout", Logout(services.logins)),
        Route("/auth/session", browser),
        Route("/auth/session/refresh", browser, "refresh"),
        Route("/auth/openid", provider),
        Route("/auth/openid/callback", provider, "callback"),
        Route("/auth/openid/logout", provider, "logout"),
        Route("/api/me", Me(services.accounts, services.password_checks)),
        Route("/api/me/sessions", my_sessions),
        Route("/api/me/session/{id}", my_sessions, "one"),
        Route("/api/me/tokens", MyTokens(services.personal_tokens())),
        Route("/api/me/token/{id}", my_token),
        Route("/api/me/token/{id}/rotate", my_token, "rotate"),
        Route("/api/users", Users(services.accounts, services.password_checks)),
        Route("/api/user/{id}", UserResource(services.accounts, services.password_checks)),
        Route("/api/user/{id}/sessions", user_sessions),
        Route("/api/user/{id}/session/{session}", user_sessions, "one"),
        Route("/api/user/{id}/identity", UserIdentity(services.identities)),
        Route("/api/roles", Roles(services.accounts, services.roles)),
        Route("/api/role/{name}", RoleResource(services.roles)),
        Route("/api/permissions", Permissions()),
        Route("/api/audit", AuditTrail(services.trail())),
        Route("/api/audit/export", AuditExport(services.trail())),
        Route("/api/tokens", ApiTokens(services.tokens)),
        Route("/api/token/{id}", token),
        Route("/api/token/{id}/rotate", token, "rotate"),
        Route(_AGENTS, Agents(served, versions, services.fleet)),
        Route(_AGENTS + "/{name}", agent),
        Route(_AGENTS + "/{name}/hit", agent, "hit"),
    ]
