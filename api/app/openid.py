"""The composition of logins with an OpenID provider, which only a service with one imports: Authlib, joserfc and cryptography are slow to load."""

from api.app.services import Services
from api.openid.documents import Documents
from api.openid.openid_logins import OpenIdLogins
from api.openid.provider import Provider
from api.openid.provider_client import ProviderClient
from api.openid.provider_config import read_config
from api.openid.provider_tokens import ProviderTokens
from api.settings import Settings


def open_openid(settings: Settings, services: Services) -> OpenIdLogins:
    """Create the logins with the provider of the settings."""
    config, client = read_config(settings), ProviderClient(settings.openid_networks, settings.openid_timeout)
    documents = Documents(services.state, client, services.clock)
    provider, tokens = Provider(config, client, documents), ProviderTokens(config, documents)
    return OpenIdLogins(config, provider, tokens, services.logins, services.clock)
