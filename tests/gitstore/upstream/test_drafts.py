"""Drafts on the upstream, where a setting says so: pushed, moved and removed, and nothing of others is overwritten."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from gitstore.upstream.draft_sync import PushedDraft
from gitstore.upstream.remotes.folder_remote import FolderRemote
from gitstore.wire.client.conversation import PushedRef
from gitstore.wire.client.remote_errors import RemoteUnknown
from tests.gitstore.fixtures import MAIN, SHOP, SPACE, Place, create_place, git, put, redirect, yaml
from tests.gitstore.upstream.test_folders import PATH
from tests.gitstore.upstream.upstream_bed import MIRROR, SOURCE, UpstreamBed, fault_of, sync, sync_well
from tests.gitstore.wire.client.http_host import PASSWORD, USER, hosting

DRAFT = "refs/heads/draft/shop/main"
RULES = "shop/redirects.yaml"


@pytest.fixture
def bed(tmp_path: Path) -> UpstreamBed:
    """Return an upstream without a branch."""
    return UpstreamBed.create(tmp_path / "bed")


@pytest.fixture(params=["path", "http"])
def url(request: pytest.FixtureRequest, bed: UpstreamBed, web_server: None) -> Iterator[str]:
    """Return the address of the upstream."""
    del web_server
    if request.param == "path":
        yield str(bed.path)
    else:
        git(bed.path, "config", "http.receivepack", "true")
        with hosting(bed.folder) as host:
            yield f"{host.url}/up.git"


def drafts(bed: UpstreamBed) -> dict[str, str]:
    """Return the drafts on the upstream."""
    lines = git(bed.path, "for-each-ref", "--format=%(refname) %(objectname)", "refs/heads/draft").splitlines()
    return dict(tuple(line.split(" ")) for line in lines)  # type: ignore[misc]  # two words a line


def pushed(place: Place) -> PushedDraft:
    """Return what is known of the only draft."""
    (found,) = place.store.upstreams.pushed_drafts(SPACE)
    return found


def follow(bed: UpstreamBed, name: str = "node", mode: object = SOURCE, url: str = "", **fields: str) -> Place:
    """Return a node that pushes its drafts."""
    place = create_place(bed.folder / name)
    assert mode in {SOURCE, MIRROR}
    fields = {"drafts": "push", "username": USER, "password": PASSWORD} | fields
    bed.follow(place, SOURCE if mode is SOURCE else MIRROR, url, **fields)
    sync_well(place)
    return place


def test_a_draft_is_pushed_after_an_edit_and_removed_after_its_publish(bed: UpstreamBed, url: str) -> None:
    place = follow(bed, url=url).begin(SHOP)
    for number in range(2):
        head = place.save(put(redirect(f"/a{number}")))
        assert place.store.upstreams.has_unpushed_drafts(SPACE)
        sync_well(place)
        assert drafts(bed) == {DRAFT: head}
        assert pushed(place) == PushedDraft(DRAFT, head, head)
        assert not place.store.upstreams.has_unpushed_drafts(SPACE)
    place.publish()
    sync_well(place)
    assert not drafts(bed)
    assert not place.store.upstreams.pushed_drafts(SPACE)
    head = place.save(put(redirect("/again")))
    sync_well(place)
    assert drafts(bed) == {DRAFT: head}
    git(bed.path, "fsck", "--strict", "--full")


def test_by_default_a_draft_is_local(bed: UpstreamBed) -> None:
    place = follow(bed, drafts="local").begin(SHOP)
    place.save(put(redirect("/a")))
    sync_well(place)
    assert not drafts(bed)
    assert not place.store.upstreams.has_unpushed_drafts(SPACE)


def test_pushed_drafts_are_removed_once_they_are_local(bed: UpstreamBed) -> None:
    place = follow(bed).begin(SHOP)
    place.save(put(redirect("/a")))
    sync_well(place)
    assert drafts(bed)
    bed.follow(place, SOURCE, drafts="local")
    sync_well(place)
    assert not drafts(bed)


def test_of_a_source_what_somebody_else_pushed_stays(bed: UpstreamBed) -> None:
    place = follow(bed).begin(SHOP)
    place.save(put(redirect("/a")))
    sync_well(place)
    (theirs,) = bed.commit({RULES: yaml([("/b", "/theirs")])}, push=False)
    git(bed.folder / "work", "push", "--quiet", "--force", "origin", f"{theirs}:{DRAFT}")
    place.save(put(redirect("/c")))
    sync_well(place)
    assert drafts(bed) == {DRAFT: theirs}
    fault = pushed(place).fault
    assert fault
    assert fault.code == "upstream_draft_moved"
    assert not place.store.upstreams.has_unpushed_drafts(SPACE), "it is not tried again and again"
    place.publish()
    sync_well(place)
    assert drafts(bed) == {DRAFT: theirs}, "nor is it removed"


def test_a_draft_that_the_host_does_not_remove_waits_for_the_next_poll(bed: UpstreamBed, web_server: None) -> None:
    del web_server
    git(bed.path, "config", "http.receivepack", "true")
    git(bed.path, "config", "receive.denyDeletes", "true")
    with hosting(bed.folder) as host:
        place = follow(bed, url=f"{host.url}/up.git").begin(SHOP)
        place.save(put(redirect("/a")))
        sync_well(place)
        place.publish()
        assert place.store.upstreams.has_unpushed_drafts(SPACE), "its end is not known there"
        sync_well(place)
        assert drafts(bed)
        assert pushed(place).fault
        assert not place.store.upstreams.has_unpushed_drafts(SPACE)
        git(bed.path, "config", "receive.denyDeletes", "false")
        sync_well(place)
        assert not drafts(bed)


def test_a_draft_that_ends_while_the_upstream_is_away_waits_for_it(bed: UpstreamBed) -> None:
    place = follow(bed).begin(SHOP)
    place.save(put(redirect("/a")))
    sync_well(place)
    place.store.drafts.discard(SPACE, MAIN)
    bed.path.rename(bed.folder / "away.git")
    assert fault_of(place) == "upstream_unavailable"
    assert not place.store.upstreams.has_unpushed_drafts(SPACE)
    (bed.folder / "away.git").rename(bed.path)
    sync_well(place)
    assert not drafts(bed)
    assert not place.store.upstreams.pushed_drafts(SPACE)


def test_of_a_mirror_it_is_restored(bed: UpstreamBed) -> None:
    place = follow(bed, mode=MIRROR).begin(SHOP)
    sync_well(place)
    head = place.save(put(redirect("/a")))
    sync_well(place)
    (theirs,) = bed.commit({RULES: yaml([("/b", "/theirs")])}, push=False)
    git(bed.folder / "work", "push", "--quiet", "--force", "origin", f"{theirs}:{DRAFT}")
    sync_well(place)
    assert drafts(bed) == {DRAFT: head}


def test_while_the_upstream_is_away_it_waits(bed: UpstreamBed) -> None:
    place = follow(bed).begin(SHOP)
    away = bed.path.rename(bed.folder / "away.git")
    head = place.save(put(redirect("/a")))
    state = place.store.upstreams.sync(SPACE)
    assert state
    assert state.fault
    assert not place.store.upstreams.has_unpushed_drafts(SPACE), "the next poll tries it"
    assert pushed(place).fault
    away.rename(bed.path)
    sync_well(place)
    assert drafts(bed) == {DRAFT: head}


def test_a_draft_on_the_upstream_is_no_proposal(bed: UpstreamBed) -> None:
    place = follow(bed, proposals="branches").begin(SHOP)
    place.save(put(redirect("/a")))
    sync_well(place)
    sync_well(place)
    assert drafts(bed)
    assert not place.store.proposals.all(SPACE)


@pytest.mark.parametrize("ends", [False, True])
@pytest.mark.parametrize("error", [RemoteUnknown, KeyboardInterrupt])
def test_in_a_folder_a_push_without_an_answer_is_ours(
    bed: UpstreamBed,
    monkeypatch: pytest.MonkeyPatch,
    error: type[BaseException],
    ends: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    place = follow(bed, path=PATH).begin(SHOP)
    place.save(put(redirect("/a")))
    sync_well(place)
    place.save(put(redirect("/b")))
    push = FolderRemote.push

    def push_unanswered(self: FolderRemote, source: Path, move: PushedRef) -> None:
        push(self, source, move)
        raise error("The answer is lost.")

    with monkeypatch.context() as patch, suppress(KeyboardInterrupt):  # as a kill: nothing after the push is done
        patch.setattr(FolderRemote, "push", push_unanswered)
        sync(place)
    (arrived,) = drafts(bed).values()
    if ends:
        place.store.drafts.discard(SPACE, MAIN)
    else:
        place.save(put(redirect("/c")))
    sync_well(place)
    if ends:
        assert not drafts(bed)
    else:
        assert pushed(place).fault is None
        assert drafts(bed)[DRAFT] == pushed(place).pushed != arrived


def test_in_a_folder_it_is_one_commit_that_changes_the_folder_alone(bed: UpstreamBed) -> None:
    place = follow(bed, path=PATH).begin(SHOP)
    release = bed.tip
    place.save(put(redirect("/a")))
    place.save(put(redirect("/b")))
    sync_well(place)
    (tip,) = drafts(bed).values()
    assert git(bed.path, "rev-parse", f"{tip}^") == release
    assert git(bed.path, "diff", "--name-only", release, tip).split() == [f"{PATH}/{RULES}"]
    before = drafts(bed)
    sync_well(place)
    assert drafts(bed) == before
    place.publish()
    sync_well(place)
    assert not drafts(bed)
