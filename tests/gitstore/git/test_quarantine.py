"""Packs that move from a quarantine into the repository, and are withdrawn."""

from gitstore.git.quarantine import Quarantine, open_quarantine
from tests.gitstore.fixtures import Place

PACK = f"pack-{'1' * 40}"


def fill(quarantine: Quarantine) -> None:
    for suffix in (".pack", ".idx"):
        (quarantine.packs / f"{PACK}{suffix}").write_text(suffix, encoding="utf-8")


def installed(place: Place) -> list[str]:
    return sorted(path.suffix for path in (place.repo / "objects/pack").glob(f"{PACK}*"))


def test_a_pack_is_withdrawn(place: Place) -> None:
    with open_quarantine(place.repo) as quarantine:
        fill(quarantine)
        quarantine.install(PACK)
        assert installed(place) == [".idx", ".keep", ".pack"]
        quarantine.withdraw()
    assert installed(place) == []


def test_a_pack_that_another_push_brought_is_not_withdrawn(place: Place) -> None:
    with open_quarantine(place.repo) as first, open_quarantine(place.repo) as second:
        fill(first)
        fill(second)
        first.install(PACK)
        first.release()
        second.install(PACK)
        second.withdraw()
    assert installed(place) == [".idx", ".pack"]
