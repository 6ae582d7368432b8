"""The composition of logins with a provider of OpenID Connect, if one is configured."""

from typing import TYPE_CHECKING

from api.app.services import Services
from api.settings import Settings

if TYPE_CHECKING:
    from api.openid.openid_logins import OpenIdLogins


def open_openid(settings: Settings, services: Services) -> "OpenIdLogins | None":
    """Create the logins with the provider of the settings; None without one."""
    if not settings.openid_issuer:
        return None
    # Here, since Authlib, joserfc and cryptography make the start of a service slower that needs none of them.
    from api.openid.documents import Documents  # noqa: PLC0415 - as above
    from api.openid.openid_logins import OpenIdLogins  # noqa: PLC0415 - as above
    from api.openid.provider import Provider  # noqa: PLC0415 - as above
    from api.openid.provider_client import ProviderClient  # noqa: PLC0415 - as above
    from api.openid.provider_config import read_config  # noqa: PLC0415 - as above
    from api.openid.provider_tokens import ProviderTokens  # noqa: PLC0415 - as above

    config, client = read_config(settings), ProviderClient(settings.openid_networks, settings.openid_timeout)
    documents = Documents(services.state, client, services.clock)
    provider, tokens = Provider(config, client, documents), ProviderTokens(config, documents)
    return OpenIdLogins(config, provider, tokens, services.logins, services.clock)
