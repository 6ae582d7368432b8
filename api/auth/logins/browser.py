"""The client of a session: its address and what it calls itself, reduced to a name that a person recognizes."""

import re
from typing import NamedTuple, TypedDict

from api.logs import remove_secrets

_MOST = 200  # characters of a User-Agent, as the database has them
_MOST_ADDRESS = 64
# The first match decides: most browsers also name the browsers that they descend from.
# https://developer.mozilla.org/docs/Web/HTTP/Guides/Browser_detection_using_the_user_agent
_BROWSERS = (
    (r"Edg(e|A|iOS)?/", "Edge"),
    (r"OPR/|Opera", "Opera"),
    (r"SamsungBrowser/", "Samsung Internet"),
    (r"Firefox/|FxiOS/", "Firefox"),
    (r"Chrome/|CriOS/|Chromium/", "Chrome"),
    (r"Safari/", "Safari"),
    (r"curl/", "curl"),
    (r"[Pp]ython", "Python"),
)
_SYSTEMS = (
    (r"Windows", "Windows"),
    (r"iPhone|iPad", "iOS"),
    (r"Android", "Android"),
    (r"Mac OS X|Macintosh", "macOS"),
    (r"CrOS", "ChromeOS"),
    (r"Linux|X11", "Linux"),
)


class StoredClient(TypedDict):
    """The columns of a session that tell its client."""

    user_agent: str
    address: str | None


class Client(NamedTuple):
    """The client of a login or refresh; `address` is None at the command line."""

    address: str | None = None
    user_agent: str = ""

    def stored(self) -> StoredClient:
        """Return the columns of a session, within their lengths, without tokens and characters that cannot be stored."""
        shown = remove_secrets(self.user_agent)[:_MOST]
        agent = "".join(each if each.isprintable() else "?" for each in shown)
        return StoredClient(user_agent=agent, address=self.address and self.address[:_MOST_ADDRESS])


NO_CLIENT = Client()


def describe_browser(user_agent: str) -> str:
    """Return the browser and system of a User-Agent: `Firefox on Linux`; empty if both are unknown."""
    found = [_first(table, user_agent) for table in (_BROWSERS, _SYSTEMS)]
    return " on ".join(name for name in found if name)


def _first(table: tuple[tuple[str, str], ...], text: str) -> str:
    return next((name for pattern, name in table if re.search(pattern, text)), "")
