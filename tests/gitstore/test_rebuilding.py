"""Compiled files are a cache: whatever happens to them, the answers stay the same."""

from collections.abc import Callable
from pathlib import Path

import pytest
from dulwich.objects import Commit

from content.vocabulary import Kind
from gitstore.errors import LostRace
from gitstore.layout import RELEASE_REF
from gitstore.numbering import ensure_manifest
from gitstore.store import Store
from gitstore.update import Update
from tests.gitstore.places import ADA, SHOP, SPACE, Place, dice, page, put, redirect


def _replace(path: Path, data: bytes) -> None:
    """Put other bytes in a file's place, as a new file: the old one may be mapped."""
    path.unlink()
    path.write_bytes(data)


def _flip(path: Path) -> None:
    data = path.read_bytes()
    chance = dice()
    at = chance.randrange(len(data)) if data else 0
    _replace(path, data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :] if data else b"x")


def _cut(path: Path) -> None:
    data = path.read_bytes()
    _replace(path, data[: dice().randrange(len(data))] if data else b"x")


DAMAGES: dict[str, Callable[[Path], None]] = {
    "deleted": Path.unlink,
    "empty": lambda path: _replace(path, b""),
    "flipped": _flip,
    "cut": _cut,
    "garbage": lambda path: _replace(path, b"\0" * 200),
    "longer": lambda path: _replace(path, path.read_bytes() + b"x" * 100),
}


@pytest.fixture
def full(place: Place) -> Place:
    """Two projects with some history: publishes, a deletion, a rollback."""
    place.begin("docs", "old")
    for number in range(3):
        place.publish(put(redirect("/a", f"/{number}")), put(page(f"/{number}")))
    place.store.delete_project(SPACE, "old", ADA)
    place.store.roll_back(SPACE, SHOP, "2", ADA)
    return place


def _answers(place: Place) -> list[object]:
    """All that can be asked of what is compiled, as another process would."""
    store = place.fresh().store
    found: list[object] = []
    for project in (SHOP, "docs"):
        live = store.project(SPACE, project)
        found += [live.version, live.number, live.release.settings]
        found += [bytes(live.release.listings[kind].items) for kind in Kind]
        found += [store.history(SPACE, project, 0, 10), store.lint(SPACE, project)]
        found += [store.version(SPACE, project, str(number)) for number in range(1, live.number + 1)]
    found += [
        store.life(SPACE, SHOP, Kind.REDIRECTS, "/a", slice(9)),
        store.life(SPACE, SHOP, Kind.PAGES, "/1", slice(9)),
    ]
    versions = (store.version(SPACE, SHOP, publish.version) for publish in store.history(SPACE, SHOP, 0, 10)[0])
    return [*found, *versions, store.failures()]


def _files(place: Place, group: str) -> list[Path]:
    folder = place.paths.compiled / group
    return [path for path in (folder, *folder.rglob("*")) if path.is_file()]


@pytest.mark.parametrize("group", ["parts", "kept", "judged", "releases", "manifests", "versions", "changes"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_files_are_made_anew_and_give_the_same_answers(full: Place, group: str, damage: str) -> None:
    """Guards: the checksums, and that a reader makes anew what does not hold. Never a wrong answer, never an error."""
    expected = _answers(full)
    assert _files(full, group)
    for _ in range(2):
        for path in _files(full, group):
            DAMAGES[damage](path)
        assert _answers(full) == expected


def test_everything_compiled_may_go_at_once(full: Place) -> None:
    """Also while a process serves from it, and publishing goes on with the right numbers."""
    expected = _answers(full)
    for group in ("parts", "kept", "judged", "releases", "manifests", "versions", "changes"):
        for path in _files(full, group):
            path.unlink()
    assert full.items() == full.fresh().items()
    assert _answers(full) == expected
    for path in _files(full, "versions"):
        path.unlink()
    assert full.publish(put(redirect("/next"))).number == 6
    assert full.fresh().store.history(SPACE, SHOP, 0, 10)[1] == 6


def test_index_that_a_lost_publish_wrote_over_is_mended_by_the_reader(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guard: the newest entry is compared with the manifest.

    Plain git pushes, a reader numbers that push, and a publish that began before it then writes its own commit at the
    same number, and loses the race.
    """
    head = place.save(put(redirect("/ours")))
    real = Update.write_commit

    def overtaken(opened: Update, *arguments: object) -> object:
        commit = real(opened, *arguments)  # type: ignore[arg-type] # passed on as it came
        monkeypatch.undo()
        pushed.append(place.push({"shop/redirects.yaml": "redirects: []\n# by hand\n"}))
        assert place.fresh().state() == (pushed[0], 2)
        return commit

    pushed: list[str] = []
    monkeypatch.setattr(Update, "write_commit", overtaken)
    with pytest.raises(LostRace):
        place.publish(head=head)
    assert place.fresh().store.history(SPACE, SHOP, 0, 1)[0][0].version == pushed[0]
    assert place.fresh().store.version(SPACE, SHOP, pushed[0]).number == 2
    assert place.publish(head=head).number == 3
    assert [publish.version for publish in place.store.history(SPACE, SHOP, 0, 3)[0]][::-1] == place.chain(SHOP)


def test_manifest_made_from_nothing_is_the_one_made_step_by_step(full: Place) -> None:
    """Numbers are derived from the history alone."""
    step_by_step = full.store.served(SPACE).manifest
    for path in _files(full, "manifests"):
        path.unlink()
    with full.store._reading(SPACE) as compiler:
        assert ensure_manifest(compiler, full.tip) == step_by_step


def test_history_that_was_turned_back_is_numbered_anew(place: Place) -> None:
    """An administrator's `git update-ref` is believed, forwards and backwards."""
    place.publish(put(redirect("/a")))
    before = place.tip
    place.publish(put(redirect("/b")))
    dropped = place.tip
    place.git("update-ref", RELEASE_REF, before)
    assert place.state() == (before, 2)
    assert place.publish(put(redirect("/c"))).number == 3
    place.git("update-ref", RELEASE_REF, dropped)
    assert place.state() == (dropped, 3)
    assert place.store.history(SPACE, SHOP, 0, 1)[0][0].version == dropped


def test_two_projects_of_equal_content_share_a_release_and_keep_their_own_names(place: Place) -> None:
    """Guard: a compiled release names no project; where a rule stands is told with the project that was asked."""
    place.begin("docs")
    place.publish(put(redirect("/a")))
    place.push({"docs/redirects.yaml": place.file("shop/redirects.yaml")})
    one, other = (place.store.project(SPACE, project) for project in (SHOP, "docs"))
    assert one.entry.tree == other.entry.tree
    assert one.release.redirect(0).file == "shop/redirects.yaml"
    assert other.release.redirect(0).file == "docs/redirects.yaml"


def test_parts_without_rules_are_read_once(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guard: an empty part is a part. Taking it for none means to parse and write it again at every look."""
    store = Store(place.root)
    store.lint(SPACE, SHOP)
    files = {path: path.stat().st_mtime_ns for path in _files(place, "parts")}
    assert files
    for path in files:
        path.chmod(0o444)
    monkeypatch.setattr("gitstore.part_store.compile_part", lambda _: pytest.fail("compiled again"))
    Store(place.root).lint(SPACE, SHOP)
    store.lint(SPACE, SHOP)
    assert {path: path.stat().st_mtime_ns for path in _files(place, "parts")} == files


def test_publish_costs_the_same_however_long_the_history(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a publish reads of the history does not grow with it."""

    def reads() -> int:
        counted: list[str] = []
        real, commit = Update._read, Update.commit

        def read(opened: Update, object_id: str, kind: type[Commit], take: Callable[[Commit], object]) -> object:
            counted.append(object_id)
            return real(opened, object_id, kind, take)

        with monkeypatch.context() as patch:
            patch.setattr(Update, "_read", read)
            patch.setattr(Update, "commit", lambda opened, id_: counted.append(id_) or commit(opened, id_))  # type: ignore[func-returns-value] # None, then the commit
            place.publish(put(redirect(f"/{place.state()[1]}")))
        return len(counted)

    place.publish(put(redirect("/first")))
    early = reads()
    for _ in range(8):
        place.publish(put(redirect(f"/{place.state()[1]}")))
    assert reads() <= early


def test_a_release_that_workers_have_mapped_is_not_written_to_by_accident(place: Place) -> None:
    """A mapped file that is cut short in place ends whoever reads beyond its end."""
    place.publish(put(redirect("/a")))
    files = [path for path in place.paths.releases.iterdir() if path.is_file()]
    assert files
    assert [path for path in files if path.stat().st_mode & 0o222] == []
