"""Snapshots that are kept or derived are those that are read, and an edit and a publish read what changed."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest

from content.records.vocabulary import Kind, RedirectType
from gitstore.compiled import compiler as compilers
from gitstore.compiled.segments import snapshot_cache, snapshot_reader
from gitstore.compiled.segments.segment_store import SegmentStore
from gitstore.compiled.segments.snapshot import Snapshot, take_snapshot
from gitstore.compiled.segments.snapshot_cache import SnapshotCache
from gitstore.drafts.drafts import read_draft
from gitstore.drafts.editing.edits import Delete, Edit
from gitstore.layout import CommitId
from tests.gitstore.fixtures import ADA, MAIN, SHOP, SPACE, Place, page, put, redirect
from tests.gitstore.folders import Folder

FEW, MANY = 80, 400


def fill(place: Place, files: int) -> Place:
    """Publish a project with so many files of rules, two in each."""
    place.publish(
        *(
            put(redirect(f"/{file}-{number}"), file=f"redirects/{file:03}.yaml")
            for file in range(files)
            for number in range(2)
        )
    )
    return place


@pytest.fixture
def filled(place: Place) -> Place:
    """Return a published project with enough files of rules for outlines."""
    return fill(place, FEW)


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the trees of which snapshots are read as a whole from now on."""
    found: list[str] = []

    def note(*arguments: object) -> Snapshot:
        found.extend([str(arguments[1])] if arguments[1] else [])  # else some files only
        return take_snapshot(*arguments)  # type: ignore[arg-type]  # passed on as they come

    monkeypatch.setattr(snapshot_reader, "take_snapshot", note)
    return found


def snapshots(place: Place) -> tuple[Snapshot, Snapshot]:
    """Return the snapshot of the draft, as this process has it, and as another one reads it."""
    found = []
    for each in (place, place.fresh()):
        with each.store.drafts._access.reading(SPACE) as compiler:
            tree = read_draft(compiler.repository, MAIN).tree
            assert tree
            found.append(compiler.snapshot(SHOP, tree))
    return found[0], found[1]


def require_equal(place: Place) -> None:
    """Compare all that a snapshot has with what another process reads."""
    here, read = snapshots(place)
    for kind in Kind:
        assert [file[:2] for file in here.rule_files[kind]] == [file[:2] for file in read.rule_files[kind]]
        placed = [*read.placed(kind)]
        assert [*here.placed(kind)] == placed
        assert [here.find(kind, each.record.id) for each in placed] == [
            read.find(kind, each.record.id) for each in placed
        ]
        assert [here.find_record(kind, each.record.id) for each in placed] == [
            read.find_record(kind, each.record.id) for each in placed
        ]
    names = (
        *("settings", "expectations", "bodies", "problems", "hosts", "target_hosts"),
        *("pattern_cost", "tree", "counts", "canonical_kinds", "has_host_patterns"),
    )
    assert [getattr(here, name) for name in names] == [getattr(read, name) for name in names]
    assert [*here.costly_rules()] == [*read.costly_rules()]


def test_each_change_leaves_the_snapshot_that_a_new_process_reads(filled: Place) -> None:
    """With rules changed, added and removed, hosts, patterns, new and emptied files, and pages."""
    gone = redirect("/7-0").id
    changes: list[list[Edit]] = [
        [put(redirect("/3-1", "/edited"))],
        [put(redirect("www.shop.example/x", "https://shop.example/y"), file="redirects/005.yaml")],
        [put(redirect("^/pattern/.*", "/there", type=RedirectType.REGEX), file="redirects/006.yaml")],
        [Delete(Kind.REDIRECTS, gone)],
        [put(redirect("/moved", "/7-0"), replaces=redirect("/8-0").id)],
        [Delete(Kind.REDIRECTS, redirect("/9-0").id), Delete(Kind.REDIRECTS, redirect("/9-1").id)],
        [put(redirect("/added", "/there"), file="redirects/900.yaml")],
        [put(page("/robots.txt"))],
        [put(redirect("/3-1", "/edited-again"))],
        [Delete(Kind.REDIRECTS, redirect("^/pattern/.*").id)],
        [put(redirect("/größe"), file="redirects/010.yaml")],
        [Delete(Kind.REDIRECTS, redirect("/größe").id)],
    ]
    for edits in changes:
        filled.save(*edits)
        require_equal(filled)
    filled.publish()
    filled.save(put(redirect("/3-1", "/after")))
    require_equal(filled)


def push(place: Place, path: str, text: str, mode: str = "100644") -> CommitId:
    """Commit a file to release with C git."""
    blob = place.git("hash-object", "-w", "--stdin", data=text.encode())
    lines = place.git("ls-tree", "-r", "release").splitlines()
    listed = [line for line in lines if not line.endswith(f"\t{path}")] + [f"{mode} blob {blob}\t{path}"]
    tree = _write_tree(place, listed)
    commit = place.git("commit-tree", tree, "-p", "release", "-m", "Push")
    place.git("update-ref", "refs/heads/release", commit)
    return CommitId(commit)


def _write_tree(place: Place, listed: list[str]) -> str:
    """Write nested folders from lines of `ls-tree -r`."""
    folders: dict[str, list[str]] = {}
    for line in listed:
        head, _, path = line.partition("\t")
        first, slash, rest = path.partition("/")
        folders.setdefault(first if slash else "", []).append(f"{head}\t{rest if slash else path}")
    lines = folders.pop("", [])
    lines += [f"040000 tree {_write_tree(place, inner)}\t{name}" for name, inner in folders.items()]
    return place.git("mktree", data="\n".join(lines).encode())


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (f"{SHOP}/redirects/004.yaml", "redirects:\n- {type: BASIC, source: /4-0, target: /a, status: FOUND}\n"),
        (f"{SHOP}/redirects/004.yaml", "redirects: oops\n"),
        (f"{SHOP}/redirects/004.yaml", "pages: []\n"),
        (f"{SHOP}/redirects/004.yaml", "redirects:\n- {type: BASIC, source: /5-0, target: /a, status: FOUND}\n"),
        (f"{SHOP}/project.yaml", "project: {title: Other, lint: strict}\n"),
        (f"{SHOP}/tests.yaml", "tests: []\n"),
        (f"{SHOP}/unknown.txt", "nothing reads this"),
    ],
)
def test_pushed_files_are_in_the_snapshot(filled: Place, path: str, text: str) -> None:
    """Also with problems, which a state derived from another one must not lose or keep."""
    snapshots(filled)
    push(filled, path, text)
    require_equal(filled)
    push(filled, f"{SHOP}/redirects/004.yaml", "redirects:\n- {type: BASIC, source: /4-1, target: /b, status: FOUND}\n")
    require_equal(filled)


def test_a_file_that_becomes_executable_is_a_problem_and_stays_one(filled: Place) -> None:
    """Its content is the same, and a state that differs in contents only would have the problems of the state before."""
    path = f"{SHOP}/redirects/004.yaml"
    text = filled.file(path)
    for mode in ("100755", "100644", "120000"):
        snapshots(filled)
        push(filled, path, text, mode)
        require_equal(filled)
        assert [each.code for each in snapshots(filled)[0].problems] == ["not_a_file"] * (mode != "100644")


def test_further_edits_and_publishes_read_no_state_as_a_whole(filled: Place, taken: list[str]) -> None:
    filled.save(put(redirect("/1-0", "/first")))
    filled.publish()
    taken.clear()
    for turn in range(3):
        filled.save(put(redirect(f"/{turn}-1", f"/turn-{turn}")))
        filled.publish()
    assert taken == []


def test_files_in_memory_stay_few(filled: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond a number, the state is read again, with outlines of the files that changed."""
    monkeypatch.setattr(snapshot_cache, "MOST_FILES", 5)
    for turn in range(12):
        filled.save(put(redirect(f"/{turn}-0", "/edited")))
        snapshot = snapshots(filled)[0]
        assert len(snapshot.finder(Kind.REDIRECTS).unindexed) <= FEW
    here, read = snapshots(filled)
    assert len(here.finder(Kind.REDIRECTS).unindexed) == len(read.finder(Kind.REDIRECTS).unindexed)


def test_kept_snapshots_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot_cache, "CACHED_RULES", 100)
    cache = SnapshotCache()
    trees = [f"{number:040}" for number in range(30)]
    for tree in trees:
        snapshot = Folder({"redirects.yaml": b"redirects:\n- {type: BASIC, source: /a, target: /b, status: FOUND}\n"})
        cache.put(tmp_path, Snapshot(**{**vars(snapshot.snapshot), "tree": tree}))
    kept = [tree for tree in trees if cache.find(tmp_path, SHOP, tree)]  # type: ignore[arg-type]  # a tree's id
    assert 0 < len(kept) < 10
    assert kept == trees[-len(kept) :]


@contextmanager
def counted_calls() -> Iterator[list[int]]:
    """Count the calls of Python functions."""
    count = [0]

    def note(_frame: FrameType, event: str, _argument: object) -> None:
        if event == "call":
            count[0] += 1

    sys.setprofile(note)
    try:
        yield count
    finally:
        sys.setprofile(None)


def test_calls_of_an_edit_and_a_publish_hardly_grow_with_the_files(place: Place) -> None:
    """Five times as many files: they are counted and compared, but none is read."""
    fill(place, FEW)
    few = _calls(place)
    fill(place, MANY)
    many = _calls(place)
    assert many[0] < 1.5 * few[0]
    assert many[1] < 1.5 * few[1]


def _calls(place: Place) -> tuple[int, int]:
    """Return the calls of an edit and of its publish, when others were before."""
    for turn in range(3):
        with counted_calls() as edit:
            place.save(put(redirect(f"/{turn}-0", f"/turn-{turn}")))
        with counted_calls() as publish:
            place.publish()
    return edit[0], publish[0]


def test_archived_segments_are_looked_for_once(filled: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    real = SegmentStore.is_archived

    def note(self: SegmentStore, blob: object) -> bool:
        looked.append(str(blob))
        return real(self, blob)  # type: ignore[arg-type]  # passed on as it comes

    monkeypatch.setattr(SegmentStore, "is_archived", note)
    filled.publish(put(redirect("/1-0", "/first")))
    looked.clear()
    filled.publish(put(redirect("/1-0", "/second")))
    assert len(looked) == 1


def test_a_large_project_is_counted_where_its_state_was_checked(filled: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules that never answer: a publish of a draft that was reported has the number, and no other state is checked for it."""
    monkeypatch.setattr(compilers, "MAX_UNLINTED_RULES", 1)
    filled.save(put(redirect("/1-0?x=1#part", "/there")))
    filled.store.drafts.report(SPACE, MAIN)
    assert filled.publish().never_answer == 1
    assert filled.publish(put(redirect("/2-0", "/there"))).never_answer is None


def test_a_recreated_namespace_has_none_of_the_states_before(place: Place) -> None:
    """Guard: a state was derived from one of the archived repository, whose objects are not in the new one."""
    place.publish(put(redirect("/before")))
    place.store.namespaces.delete(SPACE)
    place.store.namespaces.create(SPACE, "", ADA)
    place.begin(SHOP)
    place.publish(put(redirect("/after")))
    assert place.targets() == {"/after": "/new"}
