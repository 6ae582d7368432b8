"""Decisions on conflicts in the commits of a draft: written as trailers, and read back since the last merge."""

from content.changes.decision import Decision, digest
from content.records.record import identity_id
from gitstore.drafts.decisions import dump_decisions, read_decisions
from gitstore.git.repository import open_repository
from gitstore.git.transaction import update
from gitstore.layout import CommitId
from tests.gitstore.fixtures import ADA, Place

_ONE = Decision("redirect", identity_id("/a"), "target", digest("/x"))
_WHOLE = Decision("page", identity_id("/b"), "", digest(None))
_FILE = Decision("file", identity_id("shop/project.yaml"), "", digest("1" * 40))


def commit(place: Place, message: str, *parents: CommitId) -> CommitId:
    """Write a commit with a message."""
    with update(place.repo) as opened:
        written = opened.write_commit(opened.commit(place.tip).tree, parents, ADA, message)
        opened._writer.sync()
        return written


def read(place: Place, head: CommitId | None, base: CommitId, *ids: str) -> set[Decision]:
    with open_repository(place.repo) as repository:
        return set(read_decisions(repository, head, base, ids))


def test_message_has_a_trailer_for_each_decision_that_git_reads_too(place: Place) -> None:
    head = commit(place, dump_decisions("Resolve 3 conflicts", [_WHOLE, _ONE, _FILE, _ONE]), place.tip)
    assert read(place, head, place.tip) == {_ONE, _WHOLE, _FILE}
    trailers = place.git("log", "-1", "--format=%(trailers:valueonly)", head).splitlines()
    assert len([line for line in trailers if line]) == 3
    assert place.git("log", "-1", "--format=%s", head) == "Resolve 3 conflicts"


def test_decisions_on_some_records_are_read_alone(place: Place) -> None:
    head = commit(place, dump_decisions("Resolve", [_ONE, _WHOLE]), place.tip)
    assert read(place, head, place.tip, _WHOLE.id, "0" * 16) == {_WHOLE}


def test_decisions_of_all_commits_since_the_base_count_and_no_older_ones(place: Place) -> None:
    """Guard: a decision is about a merge with release that has not happened yet."""
    base = commit(place, dump_decisions("Older", [_FILE]), place.tip)
    first = commit(place, dump_decisions("First", [_ONE]), base)
    head = commit(place, dump_decisions("Second", [_WHOLE]), first)
    assert read(place, head, base) == {_ONE, _WHOLE}
    assert read(place, base, base) == set()
    assert read(place, None, base) == set()


def test_decisions_before_a_merge_of_release_are_done_with(place: Place) -> None:
    first = commit(place, dump_decisions("First", [_ONE]), place.tip)
    release = commit(place, "Release", place.tip)
    merge = commit(place, dump_decisions("Merge release", [_WHOLE]), first, release)
    head = commit(place, dump_decisions("After", [_FILE]), merge)
    assert read(place, head, release) == {_WHOLE, _FILE}


def test_text_that_only_looks_like_a_trailer_is_none(place: Place) -> None:
    """Guard: a line is a decision as a whole, or not at all."""
    line = next(line for line in dump_decisions("x", [_ONE]).splitlines() if "redirect" in line)
    head = commit(place, "\n".join(["Text", "", f"{line}0", f" {line}", line.upper(), f"x {line}"]), place.tip)
    assert read(place, head, place.tip) == set()
