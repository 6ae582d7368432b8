"""Lists of namespaces and projects while some of them come and go: each list is one, whatever is removed meanwhile."""

from concurrent.futures import ThreadPoolExecutor

from tests.e2e.world import World
from tests.rounds import rounds


def test_lists_are_answered_while_what_they_list_is_removed(world: World) -> None:
    """Guard: a project or namespace that was removed between two steps of a list made it 404."""
    place = world.place()
    extra = f"{place.space}/project/extra"

    def come_and_go() -> None:
        for _ in range(rounds(12, 200)):
            place.root.ask("POST", f"{place.space}/projects", 201, json={"name": "extra"})
            place.root.ask("DELETE", extra, 204, params={"confirm": "extra"})
            name = world.namespace()
            place.root.ask("DELETE", f"/api/namespace/{name}", 204, params={"confirm": name})

    with ThreadPoolExecutor(1) as pool:
        going = pool.submit(come_and_go)
        while not going.done():
            listed = [each["name"] for each in place.root.get(f"{place.space}/projects")["items"]]
            assert listed in (["extra", "shop"], ["shop"])
            assert place.namespace in [each["name"] for each in place.root.get("/api/namespaces", limit=1000)["items"]]
        going.result()
