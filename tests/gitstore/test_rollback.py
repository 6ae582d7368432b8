"""Going back: nothing is parsed or checked a second time, and never is a byte other than what was published."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from content.problem import Problem
from content.record import identity_id
from content.vocabulary import Kind
from gitstore import checks
from gitstore.cleaning import clean_daily
from gitstore.durable import TEMPORARY_PREFIX
from gitstore.edits import Delete
from gitstore.errors import Invalid
from gitstore.release import release_path
from gitstore.snapshot import Snapshot
from tests.gitstore.places import ADA, SHOP, SPACE, Place, git, page, put, redirect, yaml
from tests.gitstore.test_rebuilding import DAMAGES

_RULES = 120
_FILES = {
    "shop/pages.yaml": "pages:\n  - {type: BASIC, path: /robots.txt, file: robots.txt, contentType: TEXT_PLAIN}\n",
    "shop/robots.txt": "one\n",
}


@pytest.fixture
def grown(place: Place) -> Place:
    """Publish 2: a page with a file. 3: many rules too. 4: other targets of all. 5: one of them with a note, another body."""
    place.push(_FILES)
    place.publish(*(put(redirect(f"/{number}", "/a")) for number in range(_RULES)))
    place.publish(*(put(redirect(f"/{number}", f"/b/{number}")) for number in range(_RULES)))
    place.push({"shop/robots.txt": "two\n"})
    place.publish(put(redirect("/7", "/c", note="why", tags=("x",))))
    assert place.state()[1] == 6
    return place


def _compiled(place: Place) -> bytes:
    """The compiled file of what is served."""
    tree = place.fresh().store.project(SPACE, SHOP).entry.tree
    assert tree
    return release_path(place.paths.releases, tree).read_bytes()


def remove(*folders: Path) -> None:
    """Remove all files but those that are being written, which no cleaning touches."""
    for file in (file for folder in folders for file in folder.rglob("*")):
        with suppress(FileNotFoundError, IsADirectoryError):
            if not file.name.startswith(TEMPORARY_PREFIX):
                file.unlink()


def weeks_later(place: Place) -> None:
    """Only what cleaning leaves is there: the packed parts and what is small."""
    remove(place.paths.releases, place.paths.parts)


def roll_back(place: Place, version: int) -> Any:
    return place.fresh().store.roll_back(SPACE, SHOP, str(version), ADA)


@contextmanager
def nothing_read_again() -> Iterator[None]:
    """Within, no YAML of rules may be parsed, and no set of rules checked."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("part_store.compile_part", "compiler.check_snapshot", "compiler.check_change"):
            patch.setattr(f"gitstore.{name}", lambda *_, name=name: pytest.fail(f"{name} was called"))
        yield


def test_a_release_that_was_cleaned_away_comes_back_to_the_byte(grown: Place) -> None:
    """The same lists, tables and lines as the publish made; also from the packed parts alone."""
    published = {}
    for version in (3, 4, 6, 2):
        with suppress(Exception):
            roll_back(grown, version)
        published[version] = _compiled(grown)
    for folders in ((grown.paths.releases,), (grown.paths.releases, grown.paths.parts)):
        for version, compiled in published.items():
            remove(*folders)
            roll_back(grown, version)
            assert _compiled(grown) == compiled


def test_nothing_is_parsed_or_checked_to_go_back(grown: Place) -> None:
    """To any publish, with every compiled release and every part gone, also under settings that came since."""
    items = {version: sent(grown, version) for version in range(1, 7)}
    grown.store.change_project(SPACE, SHOP, {"title": "Other"}, ADA)
    with nothing_read_again():
        for version in (3, 4, 1, 5, 2, 6):
            weeks_later(grown)
            roll_back(grown, version)
            assert sent(grown) == items[version]


def sent(place: Place, version: int = 0) -> list[bytes]:
    """What agents get of a publish; of the newest without a number."""
    store = place.fresh().store
    _, release = store.release(SPACE, SHOP, str(version or store.project(SPACE, SHOP).number))
    return [bytes(release.listings[kind].items) for kind in Kind]


def test_the_history_tells_of_a_rollback_what_git_tells(grown: Place) -> None:
    """Counts, and the lives of rules and pages, as they are when both are made from nothing."""
    for version in (4, 3, 6, 1, 5, 2):
        roll_back(grown, version)

    def told() -> list[object]:
        store = grown.fresh().store
        lives = [(Kind.REDIRECTS, f"/{number}") for number in (0, 7, _RULES - 1)] + [(Kind.PAGES, "/robots.txt")]
        return [
            store.history(SPACE, SHOP, 0, 20),
            *(store.life(SPACE, SHOP, kind, identity, slice(20)) for kind, identity in lives),
        ]

    before = told()
    remove(grown.paths.changes, grown.paths.versions, grown.paths.manifests)
    assert told() == before


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_packed_parts_are_read_from_git_and_packed_anew(grown: Place, damage: str) -> None:
    """Guard: their checksums, and that what is damaged does not stay in the way."""
    items = sent(grown, 3)
    for file in grown.paths.kept.glob("*/*"):
        DAMAGES[damage](file)
    weeks_later(grown)
    roll_back(grown, 3)
    assert sent(grown) == items
    weeks_later(grown)
    roll_back(grown, 4)
    with nothing_read_again():
        weeks_later(grown)
        roll_back(grown, 3)
    assert sent(grown) == items


def test_what_nobody_knows_to_be_right_is_checked(grown: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the log is gone, and where it is of other checks: what is live and what is gone back to, once each."""
    checked: list[str] = []
    real = checks.check_snapshot

    def check(snapshot: Snapshot) -> list[Problem]:
        checked.append(snapshot.tree)
        return real(snapshot)

    monkeypatch.setattr("gitstore.compiler.check_snapshot", check)
    grown.paths.judged.unlink()
    _back_and_forth(grown)
    assert len(checked) == len(set(checked)) == 3
    _back_and_forth(grown)
    assert len(checked) == 3
    monkeypatch.setattr("gitstore.judgements.EDITION", checks.EDITION + 1)
    _back_and_forth(grown)
    assert len(checked[3:]) == len(set(checked[3:])) == 2


def test_stricter_checks_are_asked_of_what_is_compiled_already(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is live goes on being served; nobody goes back to what is wrong now, or publishes on top of it."""
    place.publish(put(redirect("/zz")))
    place.publish(delete("/zz"), put(redirect("/a")))
    monkeypatch.setattr("gitstore.judgements.EDITION", checks.EDITION + 1)
    monkeypatch.setattr("gitstore.compiler.check_snapshot", _no_zz)
    for _ in range(2):
        with pytest.raises(Invalid) as stopped:
            roll_back(place, 2)
        assert [problem.code for problem in stopped.value.problems] == ["zz"]
    roll_back(place, 1)
    assert place.fresh().targets() == {}


def test_what_is_live_and_wrong_by_stricter_checks_is_served_until_it_is_mended(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guard: a change that leaves the wrong rule alone is not all that is looked at."""
    place.publish(put(redirect("/zz")), *(put(redirect(f"/{number}")) for number in range(_RULES)))
    monkeypatch.setattr("gitstore.judgements.EDITION", checks.EDITION + 1)
    monkeypatch.setattr("gitstore.compiler.check_snapshot", _no_zz)
    with pytest.raises(Invalid):
        place.fresh().publish(put(redirect("/b")))
    assert "/zz" in place.fresh().targets()
    assert "/b" not in place.fresh().targets()
    place.fresh().publish(delete("/zz"))
    assert "/b" in place.fresh().targets()


def _no_zz(snapshot: Snapshot) -> list[Problem]:
    """Checks that are stricter than ours: a rule for /zz is an error."""
    wrong = any(int(identity_id("/zz"), 16) in file.part.id_set for file in snapshot.rule_files[Kind.REDIRECTS])
    return [Problem("zz", "No rule may be for /zz.")] if wrong else []


def delete(source: str) -> Delete:
    """An edit that removes a redirect."""
    return Delete(Kind.REDIRECTS, identity_id(source))


def _back_and_forth(place: Place) -> None:
    for version in (3, 4):
        remove(place.paths.releases)
        roll_back(place, version)


def test_warnings_stop_a_rollback_once_the_project_is_strict(place: Place) -> None:
    """Guard: `right` was said under the lint of that day, and what was right may have warnings."""
    place.publish(put(redirect("/a", "/b")), put(redirect("/b", "/c")))
    place.publish(put(redirect("/a", "/c")))
    place.store.change_project(SPACE, SHOP, {"lint": "strict"}, ADA)
    before = place.fresh().state()
    for folders in ((), (place.paths.releases, place.paths.parts)):
        remove(*folders)
        with pytest.raises(Invalid) as stopped:
            roll_back(place, 2)
        assert [problem.code for problem in stopped.value.problems] == ["chain"]
        assert place.fresh().state() == before
    with nothing_read_again():
        place.store.change_project(SPACE, SHOP, {"title": "Still strict"}, ADA)


def test_back_from_a_push_that_is_wrong(grown: Place) -> None:
    """That is when people go back: rules that stand twice, lead in circles or cannot be read."""
    items = sent(grown, 4)
    wrong = (yaml([("/7", "/x"), ("/7", "/y"), ("/z", "/z")]), "redirects: [", yaml([("/p", "/q"), ("/q", "/p")]))
    for text in wrong:
        grown.push({"shop/redirects.yaml": text, "shop/strange.bin": b"\0"})
        assert grown.fresh().store.failures()
        remove(grown.paths.releases)
        with nothing_read_again():
            roll_back(grown, 4)
        assert sent(grown) == items
        assert grown.fresh().store.failures() == []
    newest = grown.fresh().store.history(SPACE, SHOP, 0, 6)[0]
    told = [publish.counts[Kind.REDIRECTS] for publish in newest if publish.rolled_back_to]
    assert [(each.added, each.changed, each.removed) for each in told] == [
        (_RULES, 0, 2),
        (_RULES, 0, 0),
        (_RULES - 1, 1, 1),
    ]


def test_a_version_that_was_never_served_is_checked_before_it_is_gone_back_to(place: Place) -> None:
    """Guard: of several commits that come by one push only the newest is looked at."""
    clone = place.clone()
    for text in (yaml([("/p", "/q"), ("/q", "/p")]), yaml([("/a", "/b")])):
        (clone / "shop" / "redirects.yaml").write_text(text)
        git(clone, "commit", "--quiet", "--all", "--message", "By hand")
    git(clone, "push", "--quiet", "origin", "HEAD:release")
    before = place.fresh().state()
    assert before[1] == 3
    with pytest.raises(Invalid):
        roll_back(place, 2)
    assert place.fresh().state() == before


def test_rolling_back_while_everything_compiled_is_removed(grown: Place) -> None:
    """Each rollback is whole and served at once, whoever cleans meanwhile, and however much."""
    items = {version: sent(grown, version) for version in (3, 4)}
    done, paths = threading.Event(), grown.paths

    def clean() -> None:
        while not done.is_set():
            remove(paths.releases, paths.parts, paths.kept)
            for file in (paths.judged, paths.compiled / "cleaned"):
                file.unlink(missing_ok=True)
            clean_daily(paths)

    cleaner = threading.Thread(target=clean)
    cleaner.start()
    try:
        for version in (3, 4) * 5:
            roll_back(grown, version)
            assert sent(grown) == items[version]
    finally:
        done.set()
        cleaner.join()


def test_a_page_goes_back_with_its_file(place: Place) -> None:
    """Guard: the file of the page's own record is the same in both publishes, and so is its list of parts."""
    place.push(_FILES)
    place.push({"shop/robots.txt": "two\n"})
    found = roll_back(place, 2)
    assert found.counts[Kind.PAGES].changed == 1
    assert place.fresh().items(kind=Kind.PAGES)[0]["content"] == "one\n"
    place.publish(put(page("/other")))
    assert roll_back(place, 3).counts[Kind.PAGES] == (0, 1, 1)
