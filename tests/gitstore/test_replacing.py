"""Replacing while others write: what takes long needs no lock, and nothing that came in between is lost."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from content.replacement import Replacement
from gitstore.errors import Invalid, StaleDraft
from gitstore.lock import FILE_NAME, hold
from gitstore.replacement_plan import ReplaceOrder
from gitstore.replacing import Replacing, commit_replacement, prepare_replacement
from gitstore.update import update
from tests.gitstore.places import ADA, BOB, MAIN, SHOP, SPACE, Place, git, put, redirect, yaml
from tests.service import wait_until

TARGETS = frozenset({"target"})


def order(find: str = "/new", replacement: str = "/newer", head: str = "") -> ReplaceOrder:
    return ReplaceOrder(MAIN, Replacement(find, replacement, regex=False), TARGETS, head=head)


def targets(place: Place) -> dict[str, str]:
    found = place.store.snapshot(SPACE, SHOP, "draft").redirects()
    return {placed.record.source: placed.record.target for placed in found}


def waits(repository: Path) -> bool:
    """Tell whether the lock is open twice in this process: held by the test, and waited for."""
    lock = str((repository / FILE_NAME).resolve())
    return sum(_target(path) == lock for path in Path("/proc/self/fd").iterdir()) > 1


def _target(path: Path) -> str:
    try:
        return str(path.readlink())
    except OSError:
        return ""


def replace_while(place: Place, happens: Callable[[], object], wanted: ReplaceOrder) -> Replacing:
    """Replace, and let something happen when all is prepared and only the lock is waited for."""
    with ThreadPoolExecutor(1) as pool:
        with hold(place.repo):
            done = pool.submit(place.store.replace_all, SPACE, wanted, ADA)
            wait_until(lambda: waits(place.repo), 60, "the replacement to wait for the lock")
            happens()
        return done.result()


def push(place: Place, target: str) -> None:
    """Change the draft by plain git, which does not ask for the lock."""
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


def test_what_would_be_wrong_is_told_without_waiting_for_anybody(place: Place) -> None:
    place.save(put(redirect("/a")))
    with hold(place.repo), pytest.raises(Invalid):
        place.store.replace_all(SPACE, order(replacement=" "), ADA)


def test_a_head_that_does_not_hold_any_more_stops_it(place: Place) -> None:
    head = place.save(put(redirect("/a")))
    with pytest.raises(StaleDraft):
        replace_while(place, lambda: push(place, "/new"), order(head=head))
    assert targets(place) == {"/a": "/new", "/b": "/new"}


def test_what_was_prepared_is_committed_to_that_state_alone(place: Place) -> None:
    """Also where the draft was discarded or begun since; a publish of another project does not matter."""
    place.publish(put(redirect("/a")))
    place.begin("other")
    happenings: list[tuple[Callable[[], object], bool]] = [
        (lambda: place.begin("third"), True),
        (lambda: place.save(put(redirect("/c"))), False),
        (lambda: place.store.discard(SPACE, MAIN), False),
        (lambda: place.publish(put(redirect("/d")), publisher=BOB), False),
    ]
    for happens, is_done in happenings:
        with place.store._reading(SPACE) as compiler:
            prepared = prepare_replacement(compiler, compiler.repository, order())
        happens()
        with update(place.repo) as opened:
            assert (commit_replacement(opened, prepared, ADA) is not None) is is_done
    place.fsck()
