"""The rule that makes a node unavailable through its content: only if it can serve none of its projects."""

import shutil
from pathlib import Path

import pytest

from api.readiness import Status, worst
from api.runtime.health.content_faults import NodeContent, find_faults_of
from gitstore.compiled.indexes.manifest import UNREADABLE
from gitstore.history.live import ContentFault
from gitstore.store.releases import NamespaceFaults
from gitstore.store.store import Store
from gitstore.yamlfiles.project_file import ProjectFile
from tests.gitstore.fixtures import ADA, SHOP, SPACE, Place, create_place, put, redirect

OTHER = "other"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """Return a node with two namespaces, each with a project that has a rule."""
    found = create_place(tmp_path / "data").begin(SHOP)
    found.publish(put(redirect("/a")))
    found.store.namespaces.create(OTHER, "", ADA)
    found.store.projects.create(OTHER, SHOP, ProjectFile(), ADA)
    return found


def lose(place: Place, namespace: str, *, compiled: bool = True) -> None:
    """Lose the objects of a namespace and, by default, its compiled files."""
    paths = place.store.directory.namespace(namespace)
    shutil.rmtree(paths.repository / "objects")
    if compiled:
        shutil.rmtree(paths.compiled)


def state(place: Place) -> tuple[Status, set[tuple[str, str]]]:
    """Return the state of a node that starts now, and the code and namespace of each fault."""
    store, content = Store(place.root), NodeContent()
    for name in store.namespaces.names():
        content.note(name, find_faults_of(store, name))
    faults = content.faults()
    return worst(fault.status for fault in faults), {(fault.code, fault.namespace) for fault in faults}


def test_node_without_projects_is_ready(tmp_path: Path) -> None:
    assert state(create_place(tmp_path / "data")) == (Status.READY, set())


def test_last_good_state_of_every_project_leaves_the_node_in_the_balancer(place: Place) -> None:
    for name in (SPACE, OTHER):
        lose(place, name, compiled=False)
    assert state(place) == (Status.DEGRADED, {("unreadable", SPACE), ("unreadable", OTHER)})


def test_one_project_that_is_served_keeps_the_node_in_the_balancer(place: Place) -> None:
    lose(place, OTHER)
    assert state(place) == (Status.DEGRADED, {("unreadable", OTHER)})


def test_node_that_can_serve_none_of_its_projects_is_unavailable(place: Place) -> None:
    """Guard: a balancer would send it requests, and each would be 503."""
    for name in (SPACE, OTHER):
        lose(place, name)
    status, found = state(place)
    assert status is Status.UNAVAILABLE
    assert found == {("nothing_served", ""), ("unreadable", SPACE), ("unreadable", OTHER)}


def test_first_push_that_is_invalid_is_no_loss(tmp_path: Path) -> None:
    """Guard: nothing was ever served, so no other node could serve more."""
    place = create_place(tmp_path / "data")
    place.push({"shop/redirects.yaml": "redirects: [\n"})
    status, found = state(place)
    assert status is Status.DEGRADED
    assert found == {("invalid_content", SPACE)}


def test_findings_of_removed_and_restored_namespaces_do_not_count() -> None:
    """Guard: the sums are kept, not computed again."""
    good = NamespaceFaults([], 2, 2)
    lost = NamespaceFaults([ContentFault(UNREADABLE, "it is gone")], 0, 2)
    content = NodeContent()
    for finding in (lost, good, lost):
        content.note(SPACE, finding)
    assert [fault.code for fault in content.faults()] == ["nothing_served", "unreadable"]
    content.note(OTHER, good)
    assert [fault.code for fault in content.faults()] == ["unreadable"]
    content.keep({SPACE})
    assert [fault.code for fault in content.faults()] == ["nothing_served", "unreadable"]
    content.keep(())
    assert list(content.faults()) == []
