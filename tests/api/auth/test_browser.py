"""The name of a browser, as a person recognizes it."""

import pytest

from api.auth.logins.browser import Client, describe_browser
from api.auth.tokens.api_token import mint
from api.logs import REMOVED

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0"
CHROME = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36"
)
EDGE = f"{CHROME} Edg/142.0.0.0"
SAFARI = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 "
    "Mobile/15E148 Safari/604.1"
)


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        (FIREFOX, "Firefox on Linux"),
        (CHROME, "Chrome on Windows"),
        (EDGE, "Edge on Windows"),
        (SAFARI, "Safari on iOS"),
        ("curl/8.5.0", "curl"),
        ("", ""),
        ("\x00\n<script>", ""),
    ],
)
def test_a_browser_is_named_with_its_system(agent: str, name: str) -> None:
    assert describe_browser(agent) == name


def test_what_is_stored_of_a_client_is_short_and_printable() -> None:
    stored = Client("x" * 500, "a\x00\x1b[31m\n" + "b" * 500).stored()
    assert stored == {"user_agent": "a??[31m?" + "b" * 192, "address": "x" * 64}


def test_no_token_of_a_user_agent_is_stored() -> None:
    value = mint().value
    for before in ("", "curl/8 ", "x" * 170):  # the last one reaches beyond what is stored
        stored = Client(None, f"{before}{value} Firefox/145.0").stored()["user_agent"]
        assert stored == f"{before}{REMOVED} Firefox/145.0"[:200]
