"""The page at `/`: where to go next, as HTML for a browser and as JSON for other clients."""

import base64
from functools import lru_cache
from hashlib import sha256
from html import escape
from typing import NamedTuple

import orjson
from falcon.asgi import Request, Response

from api.http.guard.access import public

JSON = "application/json"
HTML = "text/html"
_CACHE = "public, max-age=300"


class _Link(NamedTuple):
    """A path of the service; only those that answer a browser without a token are links."""

    name: str
    path: str
    about: str
    is_open: bool = True


_LINKS = (
    _Link("readiness", "/health/ready", "whether all parts of the service work, and the reasons if not"),
    _Link("liveness", "/health/ping", "204 as long as the service runs"),
    _Link("contract", "/openapi.json", "every call with its parameters, bodies and errors, as OpenAPI 3.1"),
    _Link(
        "login", "/auth/login", "POST a username and password, for the access token of all other calls", is_open=False
    ),
    _Link("namespaces", "/api/namespaces", "the content, with an access token or an API token", is_open=False),
    _Link("metrics", "/metrics", "counters for Prometheus, with any API token", is_open=False),
)
_NEXT = (
    ("See all commands.", "waypost --help"),
    ("Create a namespace, from a folder with your rules or empty.", "waypost namespace create acme --from FOLDER"),
    ("Create a token for its agents.", "waypost token create edge-1 --role agent --namespace acme"),
    (
        "Point an agent at a project: it polls the version, and reads the rules when that changes.",
        "GET /api/namespace/acme/project/www/version",
    ),
)
_DOCUMENTS = "The documentation is in the folder docs/ of the project: begin with README.md and docs/README.md."
_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:3rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}"
    "code{background:#eee;padding:.1em .3em;border-radius:3px}dt{margin-top:.6rem}a{color:#0645ad}"
    "@media(prefers-color-scheme:dark){body{color:#ddd;background:#1a1a1a}code{background:#333}a{color:#8ab4f8}}"
)


class StartPage:
    """The start page; it does not depend on the data directory."""

    @public
    async def on_get(self, req: Request, resp: Response) -> None:
        """Show where to go next, as HTML if the client prefers it."""
        resp.set_header("Cache-Control", _CACHE)
        resp.set_header("Vary", "Accept")
        if req.client_prefers((JSON, HTML)) == HTML:
            resp.set_header("Content-Security-Policy", page_policy())
            resp.set_header("Referrer-Policy", "no-referrer")
            resp.content_type = f"{HTML}; charset=utf-8"
            resp.data = _page()
        else:
            resp.content_type = JSON
            resp.data = _document()


@lru_cache(1)
def page_policy() -> str:
    """Return the policy: nothing but this page's own style is loaded or run, and no other page can frame it."""
    digest = base64.b64encode(sha256(_STYLE.encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


@lru_cache(1)
def _document() -> bytes:
    return orjson.dumps(list_links())


def list_links() -> dict[str, object]:
    """Return the paths of the service and the first steps, as JSON."""
    return {
        "service": "Waypost",
        "links": {link.name: link.path for link in _LINKS},
        "next": [{"step": step, "command": command} for step, command in _NEXT],
        "documentation": _DOCUMENTS,
    }


@lru_cache(1)
def _page() -> bytes:
    links = "".join(f"<dt>{_shown(link)}</dt><dd>{escape(link.about)}</dd>" for link in _LINKS)
    steps = "".join(f"<li>{escape(step)}<br><code>{escape(command)}</code></li>" for step, command in _NEXT)
    return write_page(
        "Waypost",
        "<p>This service stores redirects and small pages in Git, and serves the published rules to agents. "
        "Its dashboard is not built: npm or the packages that it installs are missing; run <code>make dashboard</code>. "
        "Until then, use the API, the command line, or Git.</p>"
        f"<h2>Go to</h2><dl>{links}</dl><h2>Do next</h2><ol>{steps}</ol><p>{escape(_DOCUMENTS)}</p>",
    )


def write_page(title: str, body: str) -> bytes:
    """Return a page in the style of the start page, for `page_policy`."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{title}</title><style>{_STYLE}</style></head><body><h1>{title}</h1>{body}</body></html>\n"
    ).encode()


def _shown(link: _Link) -> str:
    path = escape(link.path)
    return f'<a href="{path}"><code>{path}</code></a>' if link.is_open else f"<code>{path}</code>"
