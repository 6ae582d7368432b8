"""Rollback: nothing is parsed or checked a second time, and every byte equals the earlier publish."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from content.records.problem import Problem
from content.records.record import identity_id
from content.records.vocabulary import Kind
from gitstore.compiled.releases.release_file import release_path
from gitstore.compiled.segments.snapshot import Snapshot
from gitstore.compiled.validation import checks
from gitstore.drafts.editing.edits import Delete
from gitstore.errors import Invalid
from gitstore.git.atomic_io import TEMPORARY_PREFIX
from gitstore.history.upkeep.gc import clean_daily
from tests.gitstore.compiled.test_rebuilding import DAMAGES
from tests.gitstore.fixtures import ADA, SHOP, SPACE, Place, git, page, put, redirect, yaml
from tests.gitstore.folders import join_window

_RULES = 120
_FILES = {
    "shop/pages.yaml": "pages:\n  - {type: BASIC, path: /robots.txt, file: robots.txt, contentType: TEXT_PLAIN}\n",
    "shop/robots.txt": "one\n",
}


@pytest.fixture
def grown(place: Place) -> Place:
    """Return publishes 2: a page with a file, 3: many rules, 4: other targets of all, 5: one note, another body."""
    place.push(_FILES)
    place.publish(*(put(redirect(f"/{number}", "/a")) for number in range(_RULES)))
    place.publish(*(put(redirect(f"/{number}", f"/b/{number}")) for number in range(_RULES)))
    place.push({"shop/robots.txt": "two\n"})
    place.publish(put(redirect("/7", "/c", note="why", tags=("x",))))
    assert place.state()[1] == 6
    return place


def _compiled(place: Place) -> bytes:
    """Return the compiled file of the live version."""
    tree = place.fresh().store.releases.project(SPACE, SHOP).entry.tree
    assert tree
    return release_path(place.paths.releases, tree).read_bytes()


def remove(*folders: Path) -> None:
    """Remove all files but those that are being written, which the clean-up never touches."""
    for file in (file for folder in folders for file in folder.rglob("*")):
        with suppress(FileNotFoundError, IsADirectoryError):
            if not file.name.startswith(TEMPORARY_PREFIX):
                file.unlink()


def weeks_later(place: Place) -> None:
    """Reduce the files to those that the clean-up leaves: the packed segments and the small files."""
    remove(place.paths.releases, place.paths.segments)


def roll_back(place: Place, version: int) -> Any:
    return place.fresh().store.publishes.roll_back(SPACE, SHOP, str(version), ADA)


@contextmanager
def nothing_read_again() -> Iterator[None]:
    """Fail if any YAML of rules is parsed, or any set of rules checked, within the context."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("segments.segment_store.compile_segment", "compiler.check_snapshot", "compiler.check_change"):
            patch.setattr(f"gitstore.compiled.{name}", lambda *_, name=name: pytest.fail(f"{name} was called"))
        yield


def test_a_release_that_was_cleaned_away_comes_back_to_the_byte(grown: Place) -> None:
    """The lists, tables and lines equal those of the publish; also from the packed segments alone."""
    published = {}
    for version in (3, 4, 6, 2):
        with suppress(Exception):
            roll_back(grown, version)
        published[version] = _compiled(grown)
    for folders in ((grown.paths.releases,), (grown.paths.releases, grown.paths.segments)):
        for version, compiled in published.items():
            remove(*folders)
            roll_back(grown, version)
            assert _compiled(grown) == compiled


def test_nothing_is_parsed_or_checked_to_go_back(grown: Place) -> None:
    """The rollback is to any publish, with every compiled release and segment removed, also under newer settings."""
    items = {version: sent(grown, version) for version in range(1, 7)}
    grown.store.projects.change(SPACE, SHOP, {"title": "Other"}, ADA)
    with nothing_read_again():
        for version in (3, 4, 1, 5, 2, 6):
            weeks_later(grown)
            roll_back(grown, version)
            assert sent(grown) == items[version]


def sent(place: Place, version: int = 0) -> list[bytes]:
    """Return the content that agents get of a publish; of the newest without a number."""
    store = place.fresh().store
    _, release = store.releases.read(SPACE, SHOP, str(version or store.releases.project(SPACE, SHOP).number))
    return [join_window(release.listings[kind]) for kind in Kind]


def test_the_history_of_a_rollback_agrees_with_git(grown: Place) -> None:
    """Counts, and the histories of rules and pages, are the same if both are rebuilt."""
    for version in (4, 3, 6, 1, 5, 2):
        roll_back(grown, version)

    def reported() -> list[object]:
        store = grown.fresh().store
        lives = [(Kind.REDIRECTS, f"/{number}") for number in (0, 7, _RULES - 1)] + [(Kind.PAGES, "/robots.txt")]
        return [
            store.publishes.history(SPACE, SHOP, 0, 20),
            *(store.publishes.rule_history(SPACE, SHOP, kind, identity, slice(20)) for kind, identity in lives),
        ]

    before = reported()
    remove(grown.paths.changes, grown.paths.versions, grown.paths.manifests)
    assert reported() == before


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_packed_segments_are_read_from_git_and_packed_again(grown: Place, damage: str) -> None:
    """Guard: their checksums, and that damaged files are replaced."""
    items = sent(grown, 3)
    for file in grown.paths.archive.glob("*/*"):
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


def test_content_without_a_cached_verdict_is_checked(grown: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a log, or with a log of other checks, the live version and the target are checked once each."""
    checked: list[str] = []
    real = checks.check_snapshot

    def check(snapshot: Snapshot) -> list[Problem]:
        checked.append(snapshot.tree)
        return real(snapshot)

    monkeypatch.setattr("gitstore.compiled.compiler.check_snapshot", check)
    grown.paths.validations.unlink()
    _back_and_forth(grown)
    assert len(checked) == len(set(checked)) == 3
    _back_and_forth(grown)
    assert len(checked) == 3
    monkeypatch.setattr("gitstore.compiled.validation.validation_cache.EDITION", checks.EDITION + 1)
    _back_and_forth(grown)
    assert len(checked[3:]) == len(set(checked[3:])) == 2


def test_stricter_checks_apply_to_compiled_releases(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """The live version is still served; a rollback to an invalid version, or a publish on top of it, is refused."""
    place.publish(put(redirect("/zz")))
    place.publish(delete("/zz"), put(redirect("/a")))
    monkeypatch.setattr("gitstore.compiled.validation.validation_cache.EDITION", checks.EDITION + 1)
    monkeypatch.setattr("gitstore.compiled.compiler.check_snapshot", _no_zz)
    for _ in range(2):
        with pytest.raises(Invalid) as stopped:
            roll_back(place, 2)
        assert [problem.code for problem in stopped.value.problems] == ["zz"]
    roll_back(place, 1)
    assert place.fresh().targets() == {}


def test_a_live_version_that_fails_stricter_checks_is_served_until_it_is_fixed(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guard: checking a change alone is not enough if an unchanged rule is invalid."""
    place.publish(put(redirect("/zz")), *(put(redirect(f"/{number}")) for number in range(_RULES)))
    monkeypatch.setattr("gitstore.compiled.validation.validation_cache.EDITION", checks.EDITION + 1)
    monkeypatch.setattr("gitstore.compiled.compiler.check_snapshot", _no_zz)
    with pytest.raises(Invalid):
        place.fresh().publish(put(redirect("/b")))
    assert "/zz" in place.fresh().targets()
    assert "/b" not in place.fresh().targets()
    place.fresh().publish(delete("/zz"))
    assert "/b" in place.fresh().targets()


def _no_zz(snapshot: Snapshot) -> list[Problem]:
    """Check more strictly than the product: a rule for /zz is an error."""
    wrong = any(int(identity_id("/zz"), 16) in file.segment.id_set for file in snapshot.rule_files[Kind.REDIRECTS])
    return [Problem("zz", "No rule may be for /zz.")] if wrong else []


def delete(source: str) -> Delete:
    """Return an edit that removes a redirect."""
    return Delete(Kind.REDIRECTS, identity_id(source))


def _back_and_forth(place: Place) -> None:
    for version in (3, 4):
        remove(place.paths.releases)
        roll_back(place, version)


def test_warnings_stop_a_rollback_once_the_project_is_strict(place: Place) -> None:
    """Guard: the cached verdict was given under another lint, and a valid version may have warnings."""
    place.publish(put(redirect("/a", "/b")), put(redirect("/b", "/c")))
    place.publish(put(redirect("/a", "/c")))
    place.store.projects.change(SPACE, SHOP, {"lint": "strict"}, ADA)
    before = place.fresh().state()
    for folders in ((), (place.paths.releases, place.paths.segments)):
        remove(*folders)
        with pytest.raises(Invalid) as stopped:
            roll_back(place, 2)
        assert [problem.code for problem in stopped.value.problems] == ["chain"]
        assert place.fresh().state() == before
    with nothing_read_again():
        place.store.projects.change(SPACE, SHOP, {"title": "Still strict"}, ADA)


def test_rollback_from_an_invalid_push(grown: Place) -> None:
    """A rollback is the usual answer to duplicate rules, loops or unreadable files."""
    items = sent(grown, 4)
    wrong = (yaml([("/7", "/x"), ("/7", "/y"), ("/z", "/z")]), "redirects: [", yaml([("/p", "/q"), ("/q", "/p")]))
    for text in wrong:
        grown.push({"shop/redirects.yaml": text, "shop/strange.bin": b"\0"})
        assert grown.fresh().store.releases.failures()
        remove(grown.paths.releases)
        with nothing_read_again():
            roll_back(grown, 4)
        assert sent(grown) == items
        assert grown.fresh().store.releases.failures() == []
    newest = grown.fresh().store.publishes.history(SPACE, SHOP, 0, 6)[0]
    reported = [publish.counts[Kind.REDIRECTS] for publish in newest if publish.rolled_back_to]
    assert [(each.added, each.changed, each.removed) for each in reported] == [
        (_RULES, 0, 2),
        (_RULES, 0, 0),
        (_RULES - 1, 1, 1),
    ]


def test_a_version_that_was_never_served_is_checked_before_it_is_gone_back_to(place: Place) -> None:
    """Guard: of several commits in one push only the newest is checked."""
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
    """Each rollback is whole and served at once during any clean-up."""
    items = {version: sent(grown, version) for version in (3, 4)}
    done, paths = threading.Event(), grown.paths

    def clean() -> None:
        while not done.is_set():
            remove(paths.releases, paths.segments, paths.archive)
            for file in (paths.validations, paths.compiled / "cleaned"):
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
    """Guard: the file of the page's own record is the same in both publishes, and so is its list of segments."""
    place.push(_FILES)
    place.push({"shop/robots.txt": "two\n"})
    found = roll_back(place, 2)
    assert found.counts[Kind.PAGES].changed == 1
    assert place.fresh().items(kind=Kind.PAGES)[0]["content"] == "one\n"
    place.publish(put(page("/other")))
    assert roll_back(place, 3).counts[Kind.PAGES] == (0, 1, 1)


def test_rollback_compares_tables_and_no_rules(grown: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guard: rule by rule it takes seconds for 100,000 rules. Its counts are those of the comparison of rules all the same."""
    found = grown.store.publishes.read(SPACE, SHOP, "4")[0].counts
    roll_back(grown, 3)
    monkeypatch.setattr("gitstore.publish.gate.changes_between", lambda *_: pytest.fail("rules were compared"))
    assert roll_back(grown, 4).counts == found
