"""The public keys of the service, for those who verify signed manifests."""

from falcon.asgi import Request, Response

from api.http.guard.access import public
from api.http.response.signed_replies import ManifestSigner
from api.resources.service.contract import serve_document


class WebKeys:
    """The JSON Web Key set."""

    def __init__(self, signer: ManifestSigner) -> None:
        self._signer = signer

    @public
    async def on_get(self, req: Request, resp: Response) -> None:
        """Show the keys, or 304."""
        serve_document(req, resp, self._signer.web_keys, "application/jwk-set+json")
