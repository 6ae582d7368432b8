"""The envelope of paged lists."""

from collections.abc import Sequence

from falcon.asgi import Request, Response

from api.http.request.parameters import read_window


def write_list(req: Request, resp: Response, items: Sequence[object]) -> None:
    """Respond with the requested window of `items`."""
    limit, offset = read_window(req)
    write_window(resp, items[offset : offset + limit], len(items), limit, offset)


def write_window(resp: Response, items: Sequence[object], total: int, limit: int, offset: int, **more: object) -> None:
    """Respond with a window and `more` fields; `items` holds the window only."""
    resp.media = {"items": items, "total": total, "limit": limit, "offset": offset, **more}
