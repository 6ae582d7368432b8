"""The requests of the protocol: configuration, authorization, tokens, user info and logout."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from authlib.common.urls import add_params_to_uri
from authlib.oauth2.auth import ClientAuth
from authlib.oauth2.rfc6749.parameters import prepare_grant_uri, prepare_token_request
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from authlib.oidc.discovery import get_well_known_url

from api.events.webhook_target import read_target
from api.openid.documents import Documents
from api.openid.errors import ProviderRefused, provider_away
from api.openid.login_state import LoginState
from api.openid.provider_client import ProviderClient
from api.openid.provider_config import ProviderConfig

Metadata = Mapping[str, Any]
_OK = 200
_ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")
_CODE = re.compile(r"[a-z_]{1,40}")


class Provider:
    """The provider of the configuration, as its client."""

    def __init__(self, config: ProviderConfig, client: ProviderClient, documents: Documents) -> None:
        self._config = config
        self._client = client
        self._documents = documents
        self._url = get_well_known_url(config.issuer, external=True)

    async def metadata(self) -> Metadata:
        """Return the provider's configuration; 503 if there is none, or only one of another issuer."""
        return (await self._documents.find(self._url, self._check)).body

    def authorization_url(self, metadata: Metadata, login: LoginState) -> str:
        """Return the address at which the person logs in."""
        url: str = prepare_grant_uri(
            metadata["authorization_endpoint"],
            self._config.client_id,
            "code",
            self._config.redirect_uri,
            self._config.scopes,
            login.state,
            nonce=login.nonce,
            prompt=self._config.prompt or None,
            code_challenge=create_s256_code_challenge(login.verifier),
            code_challenge_method="S256",
        )
        return url

    async def exchange_code(self, metadata: Metadata, code: str, verifier: str) -> Mapping[str, Any]:
        """Return the tokens of a code; raises ProviderRefused, and 503."""
        redirect_uri = self._config.redirect_uri
        body = prepare_token_request("authorization_code", "", redirect_uri, code=code, code_verifier=verifier)
        return await self._request_tokens(metadata, body)

    async def refresh(self, metadata: Metadata, token: str) -> Mapping[str, Any]:
        """Return the tokens of a refresh token; raises ProviderRefused, and 503."""
        return await self._request_tokens(metadata, prepare_token_request("refresh_token", refresh_token=token))

    async def user_info(self, metadata: Metadata, access_token: object, subject: str) -> Mapping[str, Any] | None:
        """Return the claims of the user-info endpoint, empty if the provider has none; None if it does not give those of the subject."""
        url = metadata.get("userinfo_endpoint")
        if not self._is_endpoint(url) or not _is_header_text(access_token):
            return {}
        answer = await self._client.get(str(url), {"Authorization": f"Bearer {access_token}"})
        return answer.body if answer.status == _OK and answer.body.get("sub") == subject else None

    def logout_url(self) -> str:
        """Return the address at which the person logs out of the provider; empty if it has none. Blocks.

        It has no token: the provider asks the person instead.
        """
        known = self._documents.recall(self._url, self._check)
        endpoint = known.body.get("end_session_endpoint") if known else None
        if not self._is_endpoint(endpoint):
            return ""
        params = [("client_id", self._config.client_id), ("post_logout_redirect_uri", f"{self._config.public_url}/")]
        return str(add_params_to_uri(str(endpoint), params))

    async def _request_tokens(self, metadata: Metadata, body: str) -> Mapping[str, Any]:
        listed = metadata.get("token_endpoint_auth_methods_supported")
        is_basic = not isinstance(listed, list) or "client_secret_basic" in listed  # the default where it says nothing
        method = "client_secret_basic" if is_basic else "client_secret_post"
        client_id, secret = self._config.client_id, self._config.client_secret
        if method == "client_secret_basic":  # https://www.rfc-editor.org/rfc/rfc6749#section-2.3.1
            client_id, secret = quote(client_id, safe=""), quote(secret, safe="")
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        auth = ClientAuth(client_id, secret, method if self._config.client_secret else "none")
        url, headers, body = auth.prepare("POST", metadata["token_endpoint"], headers, body)
        answer = await self._client.send("POST", url, headers, body.encode())
        if answer.status != _OK:
            code = answer.body.get("error")
            known = isinstance(code, str) and _CODE.fullmatch(code)
            raise ProviderRefused(str(code) if known else f"status {answer.status}")
        if not answer.body:
            raise provider_away("tokens without JSON")
        return answer.body

    def _check(self, found: Metadata) -> None:
        if found.get("issuer") != self._config.issuer:
            raise provider_away("the configuration names another issuer")
        if not all(self._is_endpoint(found.get(name)) for name in _ENDPOINTS):
            raise provider_away("the configuration lacks an endpoint, or one is without TLS")

    def _is_endpoint(self, url: object) -> bool:
        """Tell whether an address of the configuration is one, and has TLS if the issuer has it."""
        if not isinstance(url, str):
            return False
        try:
            scheme = read_target(url).scheme
        except ValueError:
            return False
        return scheme == "https" or self._config.issuer.startswith("http:")


def _is_header_text(token: object) -> bool:
    return isinstance(token, str) and re.fullmatch(r"[!-~]{1,8192}", token) is not None
