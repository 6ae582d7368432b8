"""The page at `/` of a preview where the dashboard is not built."""

from dataclasses import replace
from pathlib import Path

from api.app.app import create_app
from api.data.preview import Preview, PreviewState
from tests.api.asgi import call
from tests.api.fakes import dependencies

HOST = "127.0.0.1:8090"


def test_it_shows_the_projects_and_the_problems_of_the_last_save(tmp_path: Path) -> None:
    preview = Preview("/home/kim/<rules>", "rules", frozenset({f"http://{HOST}"}), 1, tmp_path / "state.json")
    problem = {"file": "shop/redirects.yaml", "line": 3, "message": "'<b>' is no source"}
    preview.write(PreviewState("2026-11-27T14:03:22+01:00", {"shop": {"redirects": 67, "pages": 4}}, 1, 0, [problem]))
    app = create_app(replace(dependencies(), preview=preview))
    page = call(app, "GET", "/", {"Host": HOST, "Accept": "text/html"}).body.decode()
    assert "script" not in page
    for path in ("redirects", "pages", "version", "lint"):
        assert f'href="/api/namespace/rules/project/shop/{path}"' in page
    assert "/home/kim/&lt;rules&gt;" in page
    assert "<code>shop/redirects.yaml:3</code> &#x27;&lt;b&gt;&#x27; is no source" in page
    assert "Run <code>make dashboard</code>" in page
    assert call(app, "GET", "/", {"Host": HOST}).json()["preview"]["errors"] == 1
