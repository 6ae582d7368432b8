"""The publish of a folder's state: what changed, as one commit; a refused state changes nothing."""

from pathlib import Path

import pytest

from content.changes.diff import Counts
from content.records.problem import Severity
from content.records.vocabulary import Kind
from gitstore.git.repository import Author
from gitstore.namespaces.folder_publish import FolderPublish
from gitstore.namespaces.working_directory import WorkingDirectory
from gitstore.store.store import Store, create_store
from tests.cli.rule_folders import PROJECT, flow, project, write

_AUTHOR = Author("Kim", "kim@acme.example")
_STRICT = "project: {title: Shop, policy: {lint: strict}}\n"


class Followed:
    """A folder that a namespace follows."""

    def __init__(self, root: Path) -> None:
        self.path = root / "rules"
        self.folder = WorkingDirectory(self.path)
        self.store: Store = create_store(root / "data")
        self.store.namespaces.create("acme", "", _AUTHOR)

    def publish(self) -> FolderPublish:
        """Publish the present state."""
        state = self.folder.read()
        done = self.store.namespaces.publish_folder("acme", self.folder, state, _AUTHOR)
        if not done.was_refused:
            self.folder.forget_content(state)
        return done

    def sources(self) -> dict[str, list[str]]:
        """Return the sources that are served, by project."""
        found = self.store.namespaces.read_published("acme")
        return {name: [each.record.source for each in state.redirects()] for name, state in found.items()}


@pytest.fixture
def followed(tmp_path: Path) -> Followed:
    """Return a folder of one project, which is published."""
    project(tmp_path / "rules/shop")
    followed = Followed(tmp_path)
    assert list(followed.publish().published) == ["shop"]
    return followed


def test_only_changed_projects_are_published(followed: Followed) -> None:
    project(followed.path / "docs")
    (done,) = followed.publish().published.items()
    assert done[0] == "docs"
    assert followed.publish() == FolderPublish({})
    (followed.path / "shop/redirects.yaml").write_text(flow("/other"), encoding="utf-8")
    counts = followed.publish().published["shop"].counts
    assert counts[Kind.REDIRECTS] == Counts(added=1, changed=0, removed=1)
    assert followed.sources() == {"docs": ["/old"], "shop": ["/other"]}


def test_an_error_in_one_project_changes_none(followed: Followed) -> None:
    write(
        followed.path, {"shop/redirects.yaml": flow("/other"), "docs/project.yaml": PROJECT, "docs/redirects.yaml": "["}
    )
    done = followed.publish()
    assert done.was_refused
    assert {problem.file for problem in done.problems} == {"docs/redirects.yaml"}
    assert followed.sources() == {"shop": ["/old"]}
    (followed.path / "docs/redirects.yaml").write_text(flow("/docs"), encoding="utf-8")
    assert sorted(followed.publish().published) == ["docs", "shop"]
    assert followed.sources() == {"docs": ["/docs"], "shop": ["/other"]}


def test_a_file_beside_the_projects_that_nothing_reads_is_a_warning(followed: Followed) -> None:
    write(followed.path, {"notes.txt": "", "shop/redirects.yaml": flow("/other")})
    done = followed.publish()
    assert (sorted(done.published), followed.sources()) == (["shop"], {"shop": ["/other"]})
    (problem,) = followed.folder.read().problems
    assert (problem.code, problem.severity) == ("unknown_file", Severity.WARNING)
    assert problem.message.endswith("A publish refuses it.")


def test_an_executable_is_an_error_with_its_path(followed: Followed) -> None:
    (followed.path / "shop/redirects.yaml").chmod(0o755)
    (problem,) = followed.publish().problems
    assert (problem.code, problem.file) == ("not_a_file", "shop/redirects.yaml")


def test_a_project_gets_another_case_of_its_name(followed: Followed) -> None:
    (followed.path / "shop").rename(followed.path / "Shop")
    assert sorted(followed.publish().published) == ["Shop", "shop"]
    assert followed.sources() == {"Shop": ["/old"]}


def test_less_lint_and_new_warnings_follow_in_one_call(followed: Followed) -> None:
    chain = flow("/first", target="/second") + flow("/second").removeprefix("redirects:\n")
    write(followed.path, {"shop/project.yaml": _STRICT})
    assert not followed.publish().was_refused
    write(followed.path, {"shop/redirects.yaml": chain})
    assert followed.publish().was_refused
    write(followed.path, {"shop/project.yaml": PROJECT})
    assert not followed.publish().was_refused
    assert followed.sources() == {"shop": ["/first", "/second"]}


def test_less_lint_with_an_error_changes_nothing_at_all(followed: Followed) -> None:
    write(followed.path, {"shop/project.yaml": _STRICT})
    followed.publish()
    before = followed.store.namespaces.read_published("acme")
    write(followed.path, {"shop/project.yaml": PROJECT, "shop/redirects.yaml": flow("no path")})
    assert followed.publish().was_refused
    assert followed.store.namespaces.read_published("acme")["shop"].tree == before["shop"].tree


def test_changes_since_a_baseline(followed: Followed) -> None:
    namespaces = followed.store.namespaces
    baseline = namespaces.read_published("acme")
    project(followed.path / "docs")
    write(followed.path, {"shop/redirects.yaml": flow("/old", "/more")})
    followed.publish()
    found = namespaces.compare_published("acme", baseline)
    assert [change.identity for change in found["docs"][Kind.REDIRECTS]] == ["/old"]
    assert [(change.change.value, change.identity) for change in found["shop"][Kind.REDIRECTS]] == [("added", "/more")]
