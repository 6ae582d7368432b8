"""The pages that hosts link to. The dashboard shows those of its views in tests/dashboard/test_links_of_hosts.py."""

from api.page_links import PageLinks, is_dashboard_built

PUBLIC = "https://waypost.example"
PATHS = [
    "/api/namespace/acme/upstream",
    "/api/namespace/acme/project/shop/history/abc",
    "/api/namespace/acme/proposal/0123",
    "/api/namespace/acme/project/shop/draft?draft=main",
]


def find_all(links: PageLinks) -> list[str]:
    """Return an address of each kind."""
    return [
        links.upstream("acme"),
        links.publish("acme", "shop", "abc"),
        links.proposal("acme", "0123"),
        links.draft("acme", "shop", "main"),
    ]


def test_they_are_pages_of_the_dashboard_where_it_is_built() -> None:
    assert is_dashboard_built()
    found = find_all(PageLinks(PUBLIC, has_dashboard=True))
    assert [each.startswith(f"{PUBLIC}/dashboard/") for each in found] == [True] * len(PATHS)


def test_they_are_those_of_the_api_where_it_is_not() -> None:
    assert find_all(PageLinks(PUBLIC)) == [PUBLIC + path for path in PATHS]


def test_a_service_without_a_public_address_has_none() -> None:
    assert find_all(PageLinks(has_dashboard=True)) == [""] * len(PATHS)
