"""The configuration of the provider, from the settings."""

from dataclasses import dataclass, field
from datetime import timedelta

from api.settings import Settings

CALLBACK = "/auth/openid/callback"


@dataclass(frozen=True, slots=True)
class ProviderConfig:
    """The provider, this service as its client, and the rules for the accounts of its people."""

    issuer: str
    client_id: str
    client_secret: str = field(repr=False)
    scopes: str
    prompt: str
    algorithms: tuple[str, ...]
    public_url: str
    roles_claim: str
    roles: dict[str, frozenset[str]]
    provisioning: bool
    default_roles: tuple[str, ...]
    session_lifetime: timedelta

    @property
    def redirect_uri(self) -> str:
        """The address that the provider sends browsers back to."""
        return self.public_url + CALLBACK

    def action_for_refresh_tokens(self) -> str:
        """Return what to do where the provider gives none: https://openid.net/specs/openid-connect-core-1_0.html#OfflineAccess."""
        if "offline_access" not in self.scopes.split():
            return "add offline_access to openid_scopes"
        if "consent" not in self.prompt.split():
            return "set openid_prompt to consent"
        return "allow refresh tokens for this client at the provider"


def read_config(settings: Settings) -> ProviderConfig:
    """Return the configuration; `roles` has the roles of each value of the claim."""
    roles: dict[str, frozenset[str]] = {}
    for pair in settings.openid_roles:
        value, _, role = pair.partition("=")
        roles[value] = roles.get(value, frozenset()) | {role}
    return ProviderConfig(
        settings.openid_issuer,
        settings.openid_client_id,
        settings.openid_client_secret,
        settings.openid_scopes,
        settings.openid_prompt,
        settings.openid_algorithms,
        settings.public_url,
        settings.openid_roles_claim,
        roles,
        settings.openid_provisioning,
        settings.openid_default_roles,
        timedelta(seconds=settings.openid_session_lifetime),
    )
