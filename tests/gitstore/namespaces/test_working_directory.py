"""A followed folder: only files that changed are read again, and any sequence of changes is read as if it were new."""

import time
from pathlib import Path

import pytest

from gitstore.compiled.segments.snapshot import File
from gitstore.errors import BadRequest, NotFound
from gitstore.layout import BlobId
from gitstore.namespaces.working_directory import FileStamp, KnownFile, WorkingDirectory, WorkingState, is_editor_file
from tests.cli.rule_folders import PROJECT, RULES, flow, project, write
from tests.service import wait_until


def new_state(folder: Path) -> WorkingState:
    """Read a folder without any knowledge of it."""
    return WorkingDirectory(folder).read()


def test_the_state_has_the_files_of_each_project(tmp_path: Path) -> None:
    write(tmp_path, {"shop/project.yaml": PROJECT, "shop/redirects/a.yaml": RULES, "README.md": "", "notes.txt": ""})
    state = new_state(tmp_path)
    assert [file.path for file in state.projects["shop"]] == ["project.yaml", "redirects/a.yaml"]
    assert [(problem.code, problem.file) for problem in state.problems] == [("unknown_file", "notes.txt")]
    assert state.root == tmp_path


def read_so_far() -> int:
    """Return the bytes that this process has read so far."""
    text = Path("/proc/self/io").read_text(encoding="ascii")
    return int(text.split("rchar: ")[1].split("\n")[0])


def test_unchanged_files_are_not_read_again(tmp_path: Path) -> None:
    names = [f"redirects/{number}.yaml" for number in range(4)]
    project(tmp_path / "shop", dict.fromkeys(names, flow(*(f"/{number}" for number in range(1_000)))))
    folder, size = WorkingDirectory(tmp_path), (tmp_path / "shop/redirects/0.yaml").stat().st_size
    last = max(path.stat().st_ctime_ns for path in (tmp_path / "shop/redirects").iterdir())
    wait_until(lambda: time.time_ns() - last > 100_000_000, 30, "a moment without changes")
    before, first = read_so_far(), folder.read()
    assert read_so_far() - before > len(names) * size
    before = read_so_far()
    assert folder.read() == first
    assert read_so_far() - before < size
    (tmp_path / "shop/redirects/0.yaml").write_text(flow("/other", target="/" + "n" * size), encoding="utf-8")
    before = read_so_far()
    assert folder.read() != first
    assert size < read_so_far() - before < 2 * size


def test_a_file_that_was_read_right_after_a_change_is_not_trusted() -> None:
    stamp, file = FileStamp(1, 0o100644, 10, modified=5_000, changed=4_000), File("a.yaml", 0o100644, BlobId("0" * 40))
    assert not KnownFile(stamp, 6_000, file).is_current(stamp)
    later = KnownFile(stamp, 1_000_000_000, file)
    assert later.is_current(stamp)
    assert not any(later.is_current(stamp._replace(**{name: 7})) for name in stamp._fields)


def test_content_is_kept_until_it_is_stored_elsewhere(tmp_path: Path) -> None:
    project(tmp_path / "shop")
    folder = WorkingDirectory(tmp_path)
    state = folder.read()
    blobs = {file.path: file.blob for file in state.projects["shop"]}
    assert folder.blob(blobs["redirects.yaml"]) == RULES.encode()
    (tmp_path / "shop/project.yaml").write_text("project:\n  title: Other\n", encoding="utf-8")
    later = folder.read()
    assert folder.blob(blobs["redirects.yaml"]) == RULES.encode()
    folder.forget_content(later)
    with pytest.raises(KeyError):
        folder.blob(blobs["redirects.yaml"])


def test_an_emptied_file_is_noticed_once(tmp_path: Path) -> None:
    path = project(tmp_path / "shop") / "redirects.yaml"
    folder = WorkingDirectory(tmp_path)
    folder.read()
    assert not folder.was_emptied
    path.write_bytes(b"")
    folder.read()
    assert folder.was_emptied
    folder.read()
    assert not folder.was_emptied


def test_links_and_executables_are_no_plain_files(tmp_path: Path) -> None:
    project(tmp_path / "shop")
    assert not new_state(tmp_path).has_other_files
    (tmp_path / "shop/redirects.yaml").chmod(0o755)
    assert new_state(tmp_path).has_other_files
    (tmp_path / "shop/redirects.yaml").unlink()
    (tmp_path / "shop/redirects.yaml").symlink_to("project.yaml")
    assert new_state(tmp_path).has_other_files


def test_a_folder_with_temporary_files_alone_is_no_project(tmp_path: Path) -> None:
    write(project(tmp_path / "shop").parent, {"draft/.a.yaml.swp": ""})
    assert list(new_state(tmp_path).projects) == ["shop"]


def test_the_folder_of_one_project_is_read_from_the_folder_above(tmp_path: Path) -> None:
    state = new_state(project(tmp_path / "shop"))
    assert list(state.projects) == ["shop"]
    assert state.root == tmp_path


def test_what_is_no_folder_of_projects(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="contains no project"):
        new_state(tmp_path)
    with pytest.raises(NotFound):
        new_state(tmp_path / "missing")
    with pytest.raises(BadRequest, match="preview the folder above"):
        new_state(project(tmp_path / "my shop"))


def test_folders_are_listed_without_links_and_git(tmp_path: Path) -> None:
    project(tmp_path / "shop", {"redirects/deep/a.yaml": RULES})
    (tmp_path / ".git/objects").mkdir(parents=True)
    (tmp_path / "shop/root").symlink_to("/")
    names = [folder.relative_to(tmp_path).as_posix() for folder in WorkingDirectory(tmp_path).list_folders()]
    assert names == [".", "shop", "shop/redirects", "shop/redirects/deep"]


@pytest.mark.parametrize("name", [".a.yaml.swp", "a.yaml~", "4913", ".#a.yaml", "#a.yaml#", "a.yaml___jb_tmp___"])
def test_temporary_files_of_editors(name: str) -> None:
    assert is_editor_file(f"shop/redirects/{name}")


@pytest.mark.parametrize("name", ["a.yaml", "seduction", "4913.yaml", "a~b.yaml", ".gitignore", "swp"])
def test_other_files(name: str) -> None:
    assert not is_editor_file(f"shop/redirects/{name}")
