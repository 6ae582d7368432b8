"""The errors of a login with a provider; their messages have nothing of what the provider sent."""

from api import logs
from api.errors import ApiError, Unauthenticated, Unavailable

_log = logs.logger("openid")
_AWAY = "The OpenID provider does not answer as it should. Try again later."
_FAILED = "The login with the OpenID provider failed. Try again; the log has the reason."


class ProviderRefused(Exception):
    """The provider refuses a code or a refresh token; `reason` is its error code."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class KeySetOutdated(Unauthenticated):
    """401: the token names a key that is not in the key set, and the key set could not be fetched again."""

    def __init__(self) -> None:
        super().__init__(_FAILED, "openid_failed")


def login_failed(reason: str) -> Unauthenticated:
    """Return the 401 of a login that failed; the reason, in words of this program, is logged only."""
    _log.warning("openid_login_failed", reason=reason)
    return Unauthenticated(_FAILED, "openid_failed")


class ProviderSilent(Unavailable):
    """503: the provider does not answer at all, which each caller would wait for."""


def provider_silent(reason: str) -> ProviderSilent:
    """Return the 503 for a provider that gives no answer."""
    _log.warning("openid_provider_away", reason=reason)
    return ProviderSilent(_AWAY, "openid_unavailable", 10)


def logout_failed(reason: str, address: str | None) -> Unauthenticated:
    """Return the error of a logout token that is invalid; the reason is logged only, with the address that sent it."""
    _log.warning("openid_logout_failed", reason=f"logout token: {reason}", address=address)
    return Unauthenticated("The logout token is invalid.", "openid_failed")


def provider_away(reason: str) -> ApiError:
    """Return the 503 for a provider that answers with garbage, or that it cannot answer now."""
    _log.warning("openid_provider_away", reason=reason)
    return Unavailable(_AWAY, "openid_unavailable", 10)


def state_invalid() -> ApiError:
    """Return the 400 for a callback that belongs to no login of this browser."""
    message = "This login was not begun in this browser, has expired, or was used before. Begin it again."
    return ApiError(400, "openid_state_invalid", message)
