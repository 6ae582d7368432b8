"""The envelope of lists that are small enough to be made whole and then cut."""

from collections.abc import Sequence

from falcon.asgi import Request, Response

from api.parameters import read_window


def write_list(req: Request, resp: Response, items: Sequence[object]) -> None:
    """Answer with the window of `items` that the request asks for."""
    limit, offset = read_window(req)
    write_window(resp, items[offset : offset + limit], len(items), limit, offset)


def write_window(resp: Response, items: Sequence[object], total: int, limit: int, offset: int) -> None:
    """Answer with a window that is cut already."""
    resp.media = {"items": items, "total": total, "limit": limit, "offset": offset}
