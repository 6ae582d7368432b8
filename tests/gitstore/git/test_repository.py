"""Reading and writing a bare repository next to C git, intact and damaged."""

import cProfile
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from dulwich.object_store import DiskObjectStore
from hypothesis import given, settings
from hypothesis import strategies as st

from gitstore.errors import BadRequest, Broken
from gitstore.git.commit_parser import read_checked
from gitstore.git.repository import Author, Repository, open_repository
from gitstore.git.transaction import update
from gitstore.layout import BlobId, CommitId, TreeId
from tests.gitstore.fixtures import ADA, Place, git, put, redirect, seeded_random


def _objects(place: Place) -> list[Path]:
    return [path for path in (place.repo / "objects").rglob("*") if path.is_file() and len(path.parent.name) == 2]


def test_repo_that_lost_its_packs_is_reopened(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guard: one retry with a fresh Repo. dulwich raises KeyError if a pack is replaced between look-up and read."""
    real = DiskObjectStore.__getitem__

    def stale(store: DiskObjectStore, name: object) -> object:
        if store is first:
            raise KeyError(name)
        return real(store, name)  # type: ignore[arg-type] # passed on unchanged

    with open_repository(place.repo) as reader:
        first = reader._objects._store
        monkeypatch.setattr(DiskObjectStore, "__getitem__", stale)
        assert {entry.name for entry in reader.entries(reader.commit(reader.release()).tree)} >= {"shop"}
        assert reader._objects._store is not first


@pytest.mark.parametrize("packed", [False, True])
def test_a_folder_is_searched_and_changed_without_decoding_it(place: Place, *, packed: bool) -> None:
    """Guard: decoding takes 10 ms for a root folder of 10,000 projects, each time."""
    if packed:
        place.git("gc", "--quiet", "--prune=now")
    profile = cProfile.Profile()
    with update(place.repo) as opened:
        root = opened.commit(opened.release()).tree
        with profile:
            assert opened.folder(root, "shop")
            written = opened.put_folder(root, "shop", TreeId(f"{1:040x}"))
    called = [str(entry.code) for entry in profile.getstats()]
    assert not [name for name in called if "parse_tree" in name]
    assert place.git("ls-tree", written).split()[-2:] == [f"{1:040x}", "shop"]


def test_reads_survive_a_repack_between_and_during(place: Place) -> None:
    """A reader that stays open sees every object, and the current value of the ref."""
    place.publish(put(redirect("/a")))
    place.git("repack", "-adq")
    with open_repository(place.repo) as reader:
        tip = reader.release()
        reader.commit(tip)
        place.publish(put(redirect("/b")))
        place.git("gc", "--quiet", "--prune=now")
        place.git("pack-refs", "--all")
        for commit in reader.first_parents(reader.release()):
            assert all(reader.blob(BlobId(entry.id)) is not None for _, entry in reader.files(commit.tree))
        assert reader.release() != tip


def test_store_reads_through_maintenance(place: Place) -> None:
    """Answers stay the same during any maintenance, and publishing continues."""
    for number, command in enumerate(("repack -adq", "gc -q --prune=now", "pack-refs --all", "prune-packed -q")):
        place.publish(put(redirect(f"/{number}")))
        place.git(*command.split())
        assert len(place.fresh().items()) == number + 1
        assert place.store.publishes.history("acme", "shop", 0, 10)[1] == number + 2
    place.fsck()


@pytest.mark.parametrize("damage", ["missing", "empty", "flipped", "cut"])
def test_damaged_object_is_broken_and_never_absence(place: Place, damage: str) -> None:
    """Guard: every read error is reported as Broken. A KeyError passed on would end as 404, and agents drop rules."""
    place.publish(put(redirect("/a")))
    for path in _objects(place):
        _damage(path, damage)
    with open_repository(place.repo) as reader, pytest.raises(Broken):
        reader.commit(reader.release())
    with open_repository(place.repo) as reader, pytest.raises(Broken):
        reader.entries(TreeId("1" * 40))


def _damage(path: Path, damage: str) -> None:
    data = path.read_bytes()
    path.unlink()
    if damage != "missing":
        middle = len(data) // 2
        path.write_bytes(
            {"empty": b"", "flipped": data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]}.get(
                damage, data[:middle]
            )
        )


def test_any_flipped_byte_in_objects_and_packs_is_reported_or_harmless(place: Place) -> None:
    """Of 200 flips (the seed is in the failure), none changes an answer, and none raises anything but a StoreError."""
    for number in range(3):
        place.publish(put(redirect(f"/{number}")))
    place.git("repack", "-adq")
    place.publish(put(redirect("/loose")))
    expected = _everything(place.repo)
    chance = seeded_random()
    files = [path for path in (place.repo / "objects").rglob("*") if path.is_file()]
    for _ in range(200):
        path = chance.choice(files)
        data = path.read_bytes()
        at = chance.randrange(len(data))
        path.chmod(0o644)
        path.write_bytes(data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :])
        try:
            assert _everything(place.repo) == expected, f"{path.name} at {at}"
        except Broken:
            pass
        except Exception as ex:
            raise AssertionError(f"{path.name} at {at}") from ex
        finally:
            path.write_bytes(data)


def _everything(repository: Path) -> list[object]:
    with open_repository(repository) as reader:
        commits = list(reader.first_parents(reader.release()))
        blobs = [reader.blob(BlobId(entry.id)) for commit in commits for _, entry in reader.files(commit.tree)]
        return [*commits, *blobs]


def test_object_of_another_type_is_broken(place: Place) -> None:
    """A ref or tree that names an object of another type is damage."""
    with open_repository(place.repo) as reader:
        tree = reader.commit(reader.release()).tree
        with pytest.raises(Broken):
            reader.commit(CommitId(tree))
        with pytest.raises(Broken):
            reader.blob(BlobId(tree))


def test_a_repository_in_a_format_that_is_not_supported_is_broken(place: Place) -> None:
    """Guard: dulwich raises an error of its own for an extension that it does not know."""
    place.git("config", "extensions.preciousObjects", "true")
    with pytest.raises(Broken, match="cannot be opened"), open_repository(place.repo):
        pass


def test_repository_without_objects_cannot_be_opened(place: Place) -> None:
    """The error is Broken, not NotFound."""
    shutil.rmtree(place.repo / "objects")
    with pytest.raises(Broken):
        Repository(place.repo)


def test_release_that_is_missing_is_broken(place: Place) -> None:
    """Every namespace has a release; a missing one is damage."""
    (place.repo / "refs/heads/release").unlink()
    with open_repository(place.repo) as reader, pytest.raises(Broken):
        reader.release()


@pytest.mark.parametrize(
    "path", ["../a", "a/../b", "/a", "a//b", "a/", ".git/config", "a/.GIT/x", "a/git~1/x", ".", "a\nb", "a\\b"]
)
def test_no_tree_gets_an_entry_that_harms_a_checkout(place: Place, path: str) -> None:
    """Guard: names are checked when trees are written; git's own fsck refuses these."""
    with update(place.repo) as opened:
        blob = opened.write_blob(b"x")
        with pytest.raises(BadRequest):
            opened.write_files(None, {path: blob})
    place.fsck()


def test_names_that_are_not_utf8_stay_as_they_are(place: Place) -> None:
    """A file with a Latin-1 name next to the projects neither stops a publish nor is renamed by it."""
    blob = place.git("hash-object", "-w", "--stdin", data=b"x")
    entries = place.git("ls-tree", "release").encode().decode("unicode_escape").encode("latin-1")
    tree = place.git("mktree", data=b"100644 blob %b\tcaf\xe9\n" % blob.encode() + entries)
    commit = place.git("-c", "user.name=x", "-c", "user.email=x", "commit-tree", "-p", "release", "-m", "Odd", tree)
    place.git("update-ref", "refs/heads/release", commit)
    place.publish(put(redirect("/a")))
    assert place.git("ls-tree", "--name-only", "release").splitlines()[0] in {'"caf\\351"', "README.md"}
    assert '"caf\\351"' in place.git("ls-tree", "--name-only", "release").splitlines()
    place.fsck()


@settings(max_examples=25, deadline=None)
@given(name=st.text(max_size=20), email=st.text(max_size=20), message=st.text(st.characters(exclude_categories=["Cs"])))
def test_any_author_and_message_make_a_commit_that_git_accepts(
    tmp_path_factory: pytest.TempPathFactory, name: str, email: str, message: str
) -> None:
    """A name or a message can neither end a header nor add one."""
    repo = _bare(tmp_path_factory)
    clean = Author(*(text.encode(errors="replace").decode() for text in (name, email)))
    with update(repo) as opened:
        tree = opened.write_files(None, {"a": opened.write_blob(b"")})
        assert tree
        commit = opened.write_commit(tree, (), clean, message)
    git(repo, "fsck", "--strict", "--no-dangling", commit)
    assert git(repo, "cat-file", "commit", commit).split("\n\n")[0].count("\nauthor ") == 1
    with open_repository(repo) as reader:
        assert reader.commit(commit).message == message.replace("\0", "")


def _bare(factory: pytest.TempPathFactory) -> Path:
    path = factory.getbasetemp() / "authors.git"
    if not path.exists():
        git(factory.getbasetemp(), "init", "--quiet", "--bare", str(path))
    return path


def test_merge_base_is_the_one_that_git_finds(empty: Place) -> None:
    """The histories are random, as the product writes them, in one second, with release merged into some drafts."""
    chance = seeded_random()
    with update(empty.repo) as opened:
        tree = opened.write_files(None, {"a": opened.write_blob(b"")})
        assert tree
        release, drafts = empty.tip, [empty.tip]
        for number in range(60):
            start = chance.choice([release, *drafts])
            parents = (start, release) if chance.random() < 0.2 and start != release else (start,)
            drafts.append(opened.write_commit(tree, parents, ADA, f"{number}"))
            if chance.random() < 0.5:
                release = opened.write_commit(tree, (release, chance.choice(drafts)), ADA, f"publish {number}")
        for draft in drafts:
            bases = empty.git("merge-base", "--all", release, draft).split()
            assert opened.merge_base(release, draft) in bases


def test_unrelated_histories_have_no_base(place: Place) -> None:
    """The result is None, not an error."""
    with update(place.repo) as opened:
        tree = opened.write_files(None, {"a": opened.write_blob(b"")})
        assert tree
        assert opened.merge_base(place.tip, opened.write_commit(tree, (), ADA, "apart")) is None


def test_emptied_folder_goes(place: Place) -> None:
    """Git has no empty folders; empty ones are removed up to the top."""
    with update(place.repo) as opened:
        blob = opened.write_blob(b"x")
        tree = opened.write_files(None, {"a/b/c": blob, "d": blob})
        assert [path for path, _ in opened.files(tree or TreeId(""))] == ["a/b/c", "d"]
        rest = opened.write_files(tree, {"a/b/c": None})
        assert rest == opened.write_files(None, {"d": blob})
        assert opened.write_files(rest, {"d": None}) is None


PATHS = st.sampled_from(["a.yaml", "b.yaml", "r/a.yaml", "r/b.yaml", "r/s/a.yaml", "t/a.yaml"])
CONTENTS = st.sampled_from([b"", b"1", b"2"])


@settings(max_examples=40)
@given(st.dictionaries(PATHS, CONTENTS, min_size=1), st.dictionaries(PATHS, st.none() | CONTENTS, min_size=1))
def test_replaced_contents_make_the_folder_that_is_built_anew(
    old: dict[str, bytes], changes: dict[str, bytes | None]
) -> None:
    """The bytes of folders are patched, or each entry is decoded; and the changed files are found again."""
    with TemporaryDirectory() as folder:
        repository = Path(folder, "acme.git")
        git(Path(folder), "init", "-q", "--bare", str(repository))
        with update(repository) as opened:
            blobs = {path: opened.write_blob(data) for path, data in old.items()}
            base = opened.write_files(None, blobs)
            new = {path: opened.write_blob(data) if data is not None else None for path, data in changes.items()}
            state = {path: blob for path, blob in {**blobs, **new}.items() if blob is not None}
            after = opened.write_files(base, new)
            assert after == opened.write_files(None, state)
            if not base or not after:
                return
            assert all(
                opened.has_file(base, path) == (path in old) for path in ("a.yaml", "r", "r/a.yaml", "r/s/a.yaml")
            )
            found = opened.changed_files(base, after, 10)
            differing = {path for path in blobs.keys() | state.keys() if blobs.get(path) != state.get(path)}
            if blobs.keys() == state.keys():
                assert found is not None
                assert {path: pair[1].id for path, pair in found.items()} == {path: state[path] for path in differing}
                assert (opened.changed_files(base, after, max(len(differing) - 1, 0)) is None) == bool(differing)
            else:
                assert found is None


def test_bytes_of_a_changed_object_file_are_not_taken(place: Place) -> None:
    """A folder whose file on disk is that of another one is Broken, not read as the other."""
    place.publish(put(redirect("/a")))
    names = place.git("rev-parse", "release^{tree}", "release:shop").split()
    paths = [place.repo / "objects" / name[:2] / name[2:] for name in names]
    paths[0].chmod(0o644)
    paths[0].write_bytes(paths[1].read_bytes())
    with open_repository(place.repo) as reader:
        assert reader._read_tree(TreeId(names[1]))
        assert read_checked(place.repo, names[0], "tree") is None
        assert read_checked(place.repo, names[1], "blob") is None
