"""Replacing while others write: the slow part needs no lock, and no concurrent edit is lost."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from content.changes.replacement import Replacement
from gitstore.drafts.bulk.replacement_plan import ReplaceRequest
from gitstore.drafts.bulk.replacing import ReplaceResult, commit_replacement, prepare_replacement
from gitstore.errors import Invalid, StaleDraft
from gitstore.git.lock import FILE_NAME, hold
from gitstore.git.transaction import update
from tests.gitstore.fixtures import ADA, BOB, MAIN, SHOP, SPACE, Place, git, put, redirect, yaml
from tests.service import wait_until

TARGETS = frozenset({"target"})


def order(find: str = "/new", replacement: str = "/newer", head: str = "") -> ReplaceRequest:
    return ReplaceRequest(MAIN, Replacement(find, replacement, regex=False), TARGETS, head=head)


def targets(place: Place) -> dict[str, str]:
    found = place.store.revisions.snapshot(SPACE, SHOP, "draft").redirects()
    return {placed.record.source: placed.record.target for placed in found}


def waits(repository: Path) -> bool:
    """Return whether the lock file is open twice in this process: held by the test, and awaited."""
    lock = str((repository / FILE_NAME).resolve())
    return sum(_target(path) == lock for path in Path("/proc/self/fd").iterdir()) > 1


def _target(path: Path) -> str:
    try:
        return str(path.readlink())
    except OSError:
        return ""


def replace_while(place: Place, happens: Callable[[], object], wanted: ReplaceRequest) -> ReplaceResult:
    """Replace, and call `happens` when the plan is ready and the operation waits for the lock."""
    with ThreadPoolExecutor(1) as pool:
        with hold(place.repo):
            done = pool.submit(place.store.drafts.replace, SPACE, wanted, ADA)
            wait_until(lambda: waits(place.repo), 60, "the replacement to wait for the lock")
            happens()
        return done.result()


def push(place: Place, target: str) -> None:
    """Change the draft by plain git, which does not take the lock."""
    clone = place.clone()
    git(clone, "checkout", "--quiet", "--force", "-B", "main", "origin/draft/shop/main")
    (clone / "shop/redirects.yaml").write_text(yaml([("/a", "/new"), ("/b", target)]))
    git(clone, "commit", "--quiet", "--all", "--message", "By hand")
    git(clone, "push", "--quiet", "origin", f"HEAD:{MAIN.ref}")


def test_an_edit_that_comes_between_is_neither_lost_nor_passed_over(place: Place) -> None:
    place.save(put(redirect("/a")))
    done = replace_while(place, lambda: push(place, "/new/too"), order())
    assert targets(place) == {"/a": "/newer", "/b": "/newer/too"}
    assert place.git("log", "-1", "--format=%H %s", MAIN.ref) == f"{done.head} Replace: 2 redirects changed"
    place.fsck()


def test_an_invalid_result_is_reported_without_waiting_for_the_lock(place: Place) -> None:
    place.save(put(redirect("/a")))
    with hold(place.repo), pytest.raises(Invalid):
        place.store.drafts.replace(SPACE, order(replacement=" "), ADA)


def test_a_stale_head_stops_it(place: Place) -> None:
    head = place.save(put(redirect("/a")))
    with pytest.raises(StaleDraft):
        replace_while(place, lambda: push(place, "/new"), order(head=head))
    assert targets(place) == {"/a": "/new", "/b": "/new"}


def test_what_was_prepared_is_committed_to_that_state_alone(place: Place) -> None:
    """The plan fails if the draft was discarded or begun since; a publish of another project does not matter."""
    place.publish(put(redirect("/a")))
    place.begin("other")
    happenings: list[tuple[Callable[[], object], bool]] = [
        (lambda: place.begin("third"), True),
        (lambda: place.save(put(redirect("/c"))), False),
        (lambda: place.store.drafts.discard(SPACE, MAIN), False),
        (lambda: place.publish(put(redirect("/d")), publisher=BOB), False),
    ]
    for happens, is_done in happenings:
        with place.store.drafts._access.reading(SPACE) as compiler:
            prepared = prepare_replacement(compiler, compiler.repository, order())
        happens()
        with update(place.repo) as opened:
            assert (commit_replacement(opened, prepared, ADA) is not None) is is_done
    place.fsck()
