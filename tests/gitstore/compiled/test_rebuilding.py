"""Compiled files are a cache: loss or damage of them does not change the answers."""

from collections.abc import Callable
from pathlib import Path

import pytest
from dulwich.objects import Commit

from content.checks import source_rules
from content.records.vocabulary import Kind, RedirectType
from gitstore.compiled.releases.canonical_list import Splice
from gitstore.drafts.drafts import DraftName
from gitstore.errors import Invalid
from gitstore.git.object_reader import ObjectReader
from gitstore.git.transaction import Transaction
from gitstore.history.manifests import ensure_manifest
from gitstore.store.store import Store
from tests.gitstore.fixtures import ADA, SHOP, SPACE, Place, page, put, redirect, seeded_random
from tests.gitstore.folders import join_window


def _replace(path: Path, data: bytes) -> None:
    """Replace a file by a new file with other bytes: the old one may be mapped."""
    path.unlink()
    path.write_bytes(data)


def _flip(path: Path) -> None:
    data = path.read_bytes()
    chance = seeded_random()
    at = chance.randrange(len(data)) if data else 0
    _replace(path, data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :] if data else b"x")


def _cut(path: Path) -> None:
    data = path.read_bytes()
    _replace(path, data[: seeded_random().randrange(len(data))] if data else b"x")


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
    """Return two projects with some history: publishes, a deletion, a rollback."""
    place.begin("docs", "old")
    for number in range(3):
        place.publish(put(redirect("/a", f"/{number}")), put(page(f"/{number}")))
    place.store.projects.delete(SPACE, "old", ADA)
    place.store.publishes.roll_back(SPACE, SHOP, "2", ADA)
    return place


def _answers(place: Place) -> list[object]:
    """Return the answers to all queries of compiled state, from another process."""
    store = place.fresh().store
    found: list[object] = []
    for project in (SHOP, "docs"):
        live = store.releases.project(SPACE, project)
        found += [live.version, live.number, live.release.settings]
        found += [join_window(live.release.listings[kind]) for kind in Kind]
        found += [store.publishes.history(SPACE, project, 0, 10), store.revisions.lint(SPACE, project)]
        found += [store.publishes.version(SPACE, project, str(number)) for number in range(1, live.number + 1)]
    found += [
        store.publishes.rule_history(SPACE, SHOP, Kind.REDIRECTS, "/a", slice(9)),
        store.publishes.rule_history(SPACE, SHOP, Kind.PAGES, "/1", slice(9)),
    ]
    versions = (
        store.publishes.version(SPACE, SHOP, publish.version)
        for publish in store.publishes.history(SPACE, SHOP, 0, 10)[0]
    )
    return [*found, *versions, store.releases.failures()]


def _files(place: Place, group: str) -> list[Path]:
    folder = place.paths.compiled / group
    return [path for path in (folder, *folder.rglob("*")) if path.is_file()]


@pytest.mark.parametrize("group", ["parts", "kept", "judged", "releases", "manifests", "versions", "changes"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_files_are_rebuilt_and_give_the_same_answers(full: Place, group: str, damage: str) -> None:
    """Guards: the checksums, and the rebuilding of invalid files by readers. No answer is incorrect or an error."""
    expected = _answers(full)
    assert _files(full, group)
    for _ in range(2):
        for path in _files(full, group):
            DAMAGES[damage](path)
        assert _answers(full) == expected


def test_files_of_an_older_format_are_built_again(full: Place) -> None:
    """An update raises the format in the names; the files of the older program stay, and are not read."""
    expected = _answers(full)
    for path in [path for group in ("parts", "kept", "releases") for path in _files(full, group)]:
        _replace(path, b"of an older program")
        path.rename(path.with_suffix(f".{int(path.suffix[1:]) - 1}"))
    assert _answers(full) == expected
    assert full.publish(put(redirect("/größe", "/ü"))).number == 6
    listing = full.fresh().store.releases.project(SPACE, SHOP).release.canonical_listings[Kind.REDIRECTS]
    (window,), _ = listing.window(listing.total - 1, 1)
    assert isinstance(window, Splice)
    assert b"".join(window.pieces(100)).startswith(b'{"type":"BASIC","source":"/gr%C3%B6%C3%9Fe","target":"/%C3%BC"')


def test_a_warning_that_an_older_program_did_not_have_stops_no_strict_project(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A release from before an update is served as before, and may change; new rules are held to all checks."""
    place.begin("strict", lint="strict")
    with monkeypatch.context() as older:
        older.setattr(source_rules, "_check_encoding", lambda _: None)
        place.publish(put(redirect("^/%c3%b6$", type=RedirectType.REGEX)), draft=DraftName("strict", "main"))
    for path in [path for group in ("parts", "kept", "releases", "manifests") for path in _files(place, group)]:
        path.unlink()
    updated = place.fresh()
    assert [item["source"] for item in updated.items("strict")] == ["^/%c3%b6$"]
    assert updated.store.releases.failures() == []
    with pytest.raises(Invalid):
        updated.publish(put(redirect("^/%c3%9f$", type=RedirectType.REGEX)), draft=DraftName("strict", "main"))


def test_everything_compiled_may_go_at_once(full: Place) -> None:
    """Compiled files may go while a process serves from them, and publishes keep the correct numbers."""
    expected = _answers(full)
    for group in ("parts", "kept", "judged", "releases", "manifests", "versions", "changes"):
        for path in _files(full, group):
            path.unlink()
    assert full.items() == full.fresh().items()
    assert _answers(full) == expected
    for path in _files(full, "versions"):
        path.unlink()
    assert full.publish(put(redirect("/next"))).number == 6
    assert full.fresh().store.publishes.history(SPACE, SHOP, 0, 10)[1] == 6


def test_index_that_a_lost_publish_overwrote_is_fixed_by_the_reader(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guard: the newest entry is compared with the manifest.

    Plain git pushes, a reader numbers that push, and a publish that began before it then writes its own commit at the
    same number, and loses the race.
    """
    head = place.save(put(redirect("/ours")))
    real = Transaction.write_commit

    def overtaken(opened: Transaction, *arguments: object) -> object:
        commit = real(opened, *arguments)  # type: ignore[arg-type] # passed on unchanged
        monkeypatch.undo()
        pushed.append(place.push({"shop/redirects.yaml": "redirects: []\n# by hand\n"}))
        assert place.fresh().state() == (pushed[0], 2)
        return commit

    pushed: list[str] = []
    monkeypatch.setattr(Transaction, "write_commit", overtaken)
    assert place.publish(head=head).number == 3
    assert place.fresh().store.publishes.version(SPACE, SHOP, pushed[0]).number == 2
    assert [publish.version for publish in place.store.publishes.history(SPACE, SHOP, 0, 3)[0]][::-1] == place.chain(
        SHOP
    )


def test_manifest_built_from_nothing_is_the_one_built_step_by_step(full: Place) -> None:
    """Numbers are derived from the history alone."""
    step_by_step = full.store.releases.namespace(SPACE).manifest
    for path in _files(full, "manifests"):
        path.unlink()
    with full.store.drafts._access.reading(SPACE) as compiler:
        assert ensure_manifest(compiler, full.tip) == step_by_step


def test_two_projects_of_equal_content_share_a_release_and_keep_their_own_names(place: Place) -> None:
    """Guard: a compiled release names no project; a rule's location is reported with the requested project."""
    place.begin("docs")
    place.publish(put(redirect("/a")))
    place.push({"docs/redirects.yaml": place.file("shop/redirects.yaml")})
    one, other = (place.store.releases.project(SPACE, project) for project in (SHOP, "docs"))
    assert one.entry.tree == other.entry.tree
    assert one.release.redirect(0).file == "shop/redirects.yaml"
    assert other.release.redirect(0).file == "docs/redirects.yaml"


def test_segments_without_rules_are_read_once(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guard: an empty segment is a segment. Treating it as missing would parse and write it again on every access."""
    store = Store(place.root)
    store.revisions.lint(SPACE, SHOP)
    files = {path: path.stat().st_mtime_ns for path in _files(place, "parts")}
    assert files
    for path in files:
        path.chmod(0o444)
    monkeypatch.setattr(
        "gitstore.compiled.segments.segment_store.compile_segment", lambda _: pytest.fail("compiled again")
    )
    Store(place.root).revisions.lint(SPACE, SHOP)
    store.revisions.lint(SPACE, SHOP)
    assert {path: path.stat().st_mtime_ns for path in _files(place, "parts")} == files


def test_publish_costs_the_same_however_long_the_history(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of commits that a publish reads does not grow with the history."""

    def reads() -> int:
        counted: list[str] = []
        real, commit = ObjectReader.read, Transaction.commit

        def read(opened: ObjectReader, object_id: str, kind: type[Commit], take: Callable[[Commit], object]) -> object:
            counted.append(object_id)
            return real(opened, object_id, kind, take)

        with monkeypatch.context() as patch:
            patch.setattr(ObjectReader, "read", read)
            patch.setattr(Transaction, "commit", lambda opened, id_: counted.append(id_) or commit(opened, id_))  # type: ignore[func-returns-value] # None, then the commit
            place.publish(put(redirect(f"/{place.state()[1]}")))
        return len(counted)

    place.publish(put(redirect("/first")))
    early = reads()
    for _ in range(8):
        place.publish(put(redirect(f"/{place.state()[1]}")))
    assert reads() <= early


def test_a_release_that_workers_have_mapped_is_not_written_to_by_accident(place: Place) -> None:
    """Truncating a mapped file in place kills any process that reads beyond its new end."""
    place.publish(put(redirect("/a")))
    files = [path for path in place.paths.releases.iterdir() if path.is_file()]
    assert files
    assert [path for path in files if path.stat().st_mode & 0o222] == []
