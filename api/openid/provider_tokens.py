"""The check of tokens that the provider signed: ID tokens, and logout tokens of its back channel."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from authlib.oauth2.claims import JWTClaims
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import Key, import_key
from joserfc.jws import extract_compact

from api.errors import Unauthenticated
from api.openid.documents import Documents, Fetched
from api.openid.errors import KeySetOutdated, login_failed, logout_failed, provider_away
from api.openid.provider_config import ProviderConfig

LEEWAY = 60  # seconds by which the clock of the provider may differ
_MOST = 16_384  # characters of a token
_MOST_KEYS = 100
_MOST_TEXT = 255
_LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout"
_LOGOUT_AGE = 600  # seconds
KEYS_LIFETIME = timedelta(days=1)
"""The greatest age of a key set: since then, the provider may have withdrawn a key that others know."""

Claims = Mapping[str, Any]
_FAULTS = (JoseError, ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError)


class ProviderTokens:
    """The check of one provider's tokens, by its keys."""

    def __init__(self, config: ProviderConfig, documents: Documents) -> None:
        self._config = config
        self._documents = documents

    async def verify_id_token(
        self, token: object, jwks_uri: str, now: datetime, *, nonce: str | None, access_token: str | None = None
    ) -> Claims:
        """Return the claims of an ID token; raises 401 for any that is invalid. Without `nonce`, one of a refresh."""
        params = {"nonce": nonce, "client_id": self._config.client_id, "access_token": access_token}
        decoded = await self._decode(token, jwks_uri, now, _token_failed)
        try:
            claims = CodeIDToken(decoded.claims, decoded.header, self._options(), params)
            claims.validate(int(now.timestamp()), LEEWAY)
            _check_texts(claims, "sub", *(["sid"] if "sid" in claims else []))
        except _FAULTS as ex:
            raise login_failed(f"ID token: {_name(ex)}") from None
        return dict(claims)

    async def verify_logout_token(self, token: str, jwks_uri: str, now: datetime, address: str | None) -> Claims:
        """Return the claims of a logout token that this address sent; raises 401 for any that is invalid.

        https://openid.net/specs/openid-connect-backchannel-1_0.html#Validation
        """
        failed = partial(logout_failed, address=address)
        decoded = await self._decode(token, jwks_uri, now, failed)
        try:
            options = {**self._options(), **{key: {"essential": True} for key in ("iat", "exp", "jti")}}
            claims = JWTClaims(decoded.claims, decoded.header, options)
            claims.validate(int(now.timestamp()), LEEWAY)
            _check_texts(claims, "jti", *(name for name in ("sub", "sid") if name in claims))
            events = claims["events"]
            is_logout = isinstance(events, dict) and isinstance(events.get(_LOGOUT_EVENT), dict)
            if "nonce" in claims or not {"sub", "sid"} & claims.keys() or not is_logout:
                raise ValueError("claims")
            if now.timestamp() - claims["iat"] > _LOGOUT_AGE:
                raise ValueError("age")
        except _FAULTS as ex:
            raise failed(_name(ex)) from None
        return dict(claims)

    def _options(self) -> dict[str, Any]:
        return {
            "iss": {"essential": True, "value": self._config.issuer},
            "aud": {"essential": True, "value": self._config.client_id},
        }

    async def _decode(
        self, token: object, jwks_uri: str, now: datetime, failed: Callable[[str], Unauthenticated]
    ) -> jwt.Token:
        try:
            kid, algorithm = self._read_header(token)
        except _FAULTS as ex:
            raise failed(_name(ex)) from None
        found = await self._documents.find(jwks_uri, _check_keys)
        if now - found.fetched_at > KEYS_LIFETIME:
            raise provider_away("the key set is older than a day, and cannot be fetched now")
        key = _find_key(found, kid, algorithm)
        if key is None:
            found = await self._documents.renew(jwks_uri, found.fetched_at, _check_keys)
            key = _find_key(found, kid, algorithm)
        if key is None and found.fetched_at < now:
            # Another worker fetched it, perhaps before the provider had this key.
            found = await self._documents.renew(jwks_uri, found.fetched_at, _check_keys)
            key = _find_key(found, kid, algorithm)
        if key is None and found.fetched_at < now:
            failed("unknown key, and the key set cannot be fetched now")
            raise KeySetOutdated
        if key is None:
            raise failed("unknown key")
        try:
            return jwt.decode(str(token), key, algorithms=[algorithm])
        except _FAULTS as ex:
            raise failed(_name(ex)) from None

    def _read_header(self, token: object) -> tuple[str | None, str]:
        """Return the key id and algorithm of a token; the algorithm must be one of the configuration."""
        if not isinstance(token, str) or len(token) > _MOST:
            raise ValueError("no token")
        header = extract_compact(token.encode()).headers()
        kid, algorithm = header.get("kid"), header["alg"]
        if algorithm not in self._config.algorithms or not (kid is None or isinstance(kid, str)):
            raise ValueError("algorithm")
        return kid, algorithm


def _token_failed(reason: str) -> Unauthenticated:
    return login_failed(f"token: {reason}")


def _check_keys(found: Mapping[str, Any]) -> None:
    listed = found.get("keys")
    if not isinstance(listed, list) or not any(isinstance(each, dict) for each in listed):
        raise provider_away("the key set has no keys")


def _find_key(found: Fetched, kid: str | None, algorithm: str) -> Key | None:
    """Return the public key of a set for signatures: by its id, or the only one if the token names none."""
    keys = [each for each in found.body["keys"][:_MOST_KEYS] if _is_signing(each, algorithm)]
    named = [each for each in keys if kid is None or each.get("kid") == kid]
    if not named or (kid is None and len(named) > 1):
        return None
    try:
        return import_key(named[0])
    except _FAULTS:
        return None


def _is_signing(key: Any, algorithm: str) -> bool:
    """Tell whether a key of a set may verify this algorithm; a symmetric one never may."""
    kind = {"R": "RSA", "P": "RSA", "E": "OKP" if algorithm.startswith("Ed") else "EC"}[algorithm[0]]
    if not isinstance(key, dict) or key.get("kty") != kind or "d" in key:
        return False
    return bool(key.get("use", "sig") == "sig" and key.get("alg", algorithm) == algorithm)


def _check_texts(claims: Claims, *names: str) -> None:
    for name in names:
        text = claims[name]
        if not isinstance(text, str) or not 0 < len(text) <= _MOST_TEXT or not text.isprintable():
            raise ValueError(name)


def _name(ex: Exception) -> str:
    """Return the fault as one word of the program or its libraries, with nothing of the token."""
    claim = getattr(ex, "claim", "")
    return f"{type(ex).__name__} {claim if claim in _CLAIMS else ''}".strip()


_CLAIMS = frozenset(("iss", "aud", "sub", "exp", "iat", "nbf", "nonce", "azp", "at_hash", "jti"))
