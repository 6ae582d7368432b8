"""The routes of identity and agents: who may come in, and what reports back."""

from api.identity.service import Services
from api.resources.agents import AgentResource, Agents, ServedProjects, VersionNames
from api.resources.audit import AuditTrail
from api.resources.auth import Login, Logout, OpenId, Refresh
from api.resources.roles import Permissions, RoleResource, Roles
from api.resources.tokens import ApiTokenResource, ApiTokens
from api.resources.users import Me, UserResource, Users
from api.routing import Route

_AGENTS = "/api/namespace/{namespace}/project/{project}/agents"


def identity_routes(services: Services, served: ServedProjects, versions: VersionNames) -> list[Route]:
    """Every route that answers from the database."""
    agent = AgentResource(served, services.fleet)
    token = ApiTokenResource(services.tokens)
    return [
        Route("/auth/login", Login(services.logins)),
        Route("/auth/refresh", Refresh(services.logins)),
        Route("/auth/logout", Logout(services.logins)),
        Route("/auth/openid", OpenId()),
        Route("/auth/openid/callback", OpenId(), "callback"),
        Route("/api/me", Me(services.accounts)),
        Route("/api/users", Users(services.accounts)),
        Route("/api/user/{id}", UserResource(services.accounts)),
        Route("/api/roles", Roles(services.accounts, services.roles)),
        Route("/api/role/{name}", RoleResource(services.roles)),
        Route("/api/permissions", Permissions()),
        Route("/api/audit", AuditTrail(services.trail())),
        Route("/api/tokens", ApiTokens(services.tokens)),
        Route("/api/token/{id}", token),
        Route("/api/token/{id}/rotate", token, "rotate"),
        Route(_AGENTS, Agents(served, versions, services.fleet)),
        Route(_AGENTS + "/{name}", agent),
        Route(_AGENTS + "/{name}/hit", agent, "hit"),
    ]
