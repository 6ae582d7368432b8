"""Costs in a namespace of many projects, counted: a first compile is linear, and a publish costs what its project costs."""

import cProfile
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pytest

from gitstore.compiled.indexes import manifest as manifests
from gitstore.compiled.indexes.manifest import Manifest, load_manifest, manifest_path, store_manifest
from gitstore.drafts.drafts import DraftName
from gitstore.history.upkeep.gc import KEPT_MANIFESTS, KEPT_RELEASES, MOST_PUT_OFF
from gitstore.layout import CommitId
from tests.gitstore.fixtures import SPACE, Place, bytes_read, create_place, put, redirect, yaml

FEW, MANY = 10, 200


def name_of(number: int) -> str:
    return f"project{number:05d}"


def push_projects(place: Place, count: int, rules: int = 1) -> Place:
    """Add projects with some rules each, in one commit by plain Git; return the place as another process opens it."""
    parts = [b"commit refs/heads/release\ncommitter Ada <a@shop.example> 1700000000 +0000\ndata 4\nMany\n"]
    parts.append(b"from refs/heads/release^0\n")
    for number in range(count):
        name = name_of(number)
        for file, text in (
            ("project.yaml", "project: {}\n"),
            ("redirects.yaml", yaml((f"/{at}", f"/{name}") for at in range(rules))),
        ):
            parts.append(f"M 644 inline {name}/{file}\ndata {len(text)}\n{text}\n".encode())
    place.git("fast-import", "--quiet", "--force", data=b"".join(parts))
    return place.fresh()


@dataclass(frozen=True)
class Cost:
    """The calls of functions, the bytes that files in the data directory grew by, Git's objects apart, and the bytes read."""

    calls: int
    bytes: int
    read: int = 0


def count_cost(place: Place, work: Callable[[], object]) -> Cost:
    before, begin = sizes(place), bytes_read()
    profile = cProfile.Profile()
    profile.runcall(work)
    read = bytes_read() - begin
    after = sizes(place)
    written = sum(size - before.get(file, 0) for file, size in after.items() if size > before.get(file, 0))
    return Cost(sum(entry.callcount for entry in profile.getstats()), written, read)


def sizes(place: Place) -> dict[tuple[str, int], int]:
    """Return the sizes of the compiled files, by path and inode: a file that is replaced is written as a whole."""
    found = {}
    for folder, _, names in os.walk(place.paths.compiled):
        for name in names:
            path = Path(folder) / name
            status = path.stat()
            found[str(path), status.st_ino] = status.st_size
    return found


def create_projects(root: Path, count: int, rules: int = 1) -> Place:
    """Return a namespace of projects that are served."""
    place = push_projects(create_place(root), count, rules)
    place.store.releases.compile(SPACE)
    return place


def publish(place: Place, number: int = 0, source: str = "/x") -> None:
    place.publish(put(redirect(source)), draft=DraftName(name_of(number), "main"))


def test_costs_follow_the_projects_that_change(tmp_path: Path) -> None:
    compiled, published, edited, refreshed = (dict[int, Cost]() for _ in range(4))
    for count in (FEW, MANY):
        place = push_projects(create_place(tmp_path / str(count)), count)
        compiled[count] = count_cost(place, partial(place.store.releases.compile, SPACE))
        for number in range(2):  # the first one imports and fills what a process keeps
            publish(place, number)
        draft = DraftName(name_of(2), "main")
        edited[count] = count_cost(place, partial(place.save, put(redirect("/x")), draft=draft))
        published[count] = count_cost(place, partial(place.publish, draft=draft))
        refreshed[count] = count_cost(place, partial(place.store.live.refresh, SPACE))
        root = int(place.git("cat-file", "-s", "release^{tree}"))
    assert compiled[MANY].calls <= 1.2 * MANY / FEW * compiled[FEW].calls
    assert compiled[MANY].bytes <= 1.2 * MANY / FEW * compiled[FEW].bytes
    assert edited[MANY].calls <= 1.25 * edited[FEW].calls
    assert refreshed[MANY].calls <= 1.25 * refreshed[FEW].calls, "a worker that serves the publish"
    assert published[MANY].calls <= 1.25 * published[FEW].calls
    assert published[MANY].bytes <= 2 * published[FEW].bytes
    assert published[MANY].read <= 1.25 * published[FEW].read + 4 * root, "two root folders, and the one written"


def test_a_chain_of_manifests_is_read_as_it_was_written(tmp_path: Path) -> None:
    """Another process reads each manifest, without what this one keeps; a new chain begins after a while."""
    place = create_projects(tmp_path / "root", FEW)
    lengths, known = list[int](), dict[CommitId, Manifest]()
    for number in range(12):
        publish(place, number % FEW, f"/chain{number}")
        found = known[place.tip] = load_manifest(place.paths.manifests, place.tip) or pytest.fail("not stored")
        lengths.append(len(found.chain))
    assert max(lengths) == 8
    assert 0 in lengths
    assert lengths != sorted(lengths)
    manifests._cache.clear()
    assert {commit: load_manifest(place.paths.manifests, commit) for commit in known} == known
    assert {name for each in known.values() for name in each.projects} == {name_of(number) for number in range(FEW)}


@pytest.mark.parametrize("lost", ["newest", "middle", "oldest"])
def test_a_chain_with_a_missing_manifest_is_built_again(tmp_path: Path, lost: str) -> None:
    place = create_projects(tmp_path / "root", FEW)
    for number in range(5):
        publish(place, number)
    whole = load_manifest(place.paths.manifests, place.tip) or pytest.fail("not stored")
    chain = (*whole.chain, whole.commit)
    manifest_path(place.paths.manifests, chain[{"newest": -1, "middle": -2, "oldest": 0}[lost]]).unlink()
    manifests._cache.clear()
    assert load_manifest(place.paths.manifests, place.tip) is None
    assert place.fresh().store.releases.manifest(SPACE).projects == whole.projects
    publish(place, 5)
    manifests._cache.clear()
    assert load_manifest(place.paths.manifests, place.tip), "the next publish builds on files that are there"


def test_a_manifest_that_is_completed_later_changes_none_that_builds_on_it(tmp_path: Path) -> None:
    """Unfinished entries are written again with the next manifest, so both mean the same after one is completed."""
    place = create_projects(tmp_path / "root", FEW)
    publish(place)
    whole = load_manifest(place.paths.manifests, place.tip) or pytest.fail("not stored")
    pending = replace(whole.projects[name_of(1)], failed="it is being compiled.", fault=manifests.PENDING)
    first = whole.with_projects(CommitId("1" * 40), {name_of(1): pending})
    first = store_manifest(place.paths.manifests, first, whole, [name_of(1)])
    second = first.with_projects(CommitId("2" * 40), {name_of(2): whole.projects[name_of(2)]})
    store_manifest(place.paths.manifests, second, first, [name_of(2)])
    store_manifest(place.paths.manifests, whole.with_projects(first.commit, {}))
    manifests._cache.clear()
    found = load_manifest(place.paths.manifests, second.commit)
    assert found
    assert (found.unfinished, found.projects) == ([name_of(1)], second.projects)


def test_manifests_of_the_format_before_are_read(tmp_path: Path) -> None:
    place = create_projects(tmp_path / "root", FEW)
    path = manifest_path(place.paths.manifests, place.tip)
    manifests._cache.clear()
    path.rename(path.with_name(path.name.replace(".2.json", ".1.json")))
    found = load_manifest(place.paths.manifests, place.tip)
    assert found
    assert len(found.projects) == FEW
    publish(place)
    assert place.fresh().store.releases.project(SPACE, name_of(0)).number == 2


def test_old_releases_and_manifests_are_removed_in_time_among_many_projects(tmp_path: Path) -> None:
    """The clean-up waits for some publishes, as many as a twentieth of the projects, and no more."""
    count = 200
    place = create_projects(tmp_path / "root", count)
    waits = count // 20
    assert waits > MOST_PUT_OFF
    for number in range(KEPT_MANIFESTS + 3 * waits):
        publish(place, 0, f"/clean{number}")
    assert len(list(place.paths.releases.iterdir())) <= count + KEPT_RELEASES + waits
    assert len(list(place.paths.manifests.iterdir())) <= KEPT_MANIFESTS + count // 8 + waits + 2
    manifests._cache.clear()
    assert load_manifest(place.paths.manifests, place.tip), "the chain of what is served stays"
