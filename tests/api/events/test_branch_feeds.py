"""Edits that are sent and not recorded: to whom, how many, and at what cost."""

import asyncio
from collections.abc import Iterable
from pathlib import Path

import pytest

from api.db.state_store import open_state_store
from api.events import branch_feeds
from api.events.branch_feeds import BranchFeeds, Edit, Feed
from api.events.streams import Streams, StreamStart
from gitstore.git.branch_moves import BranchMoves
from gitstore.layout import proposal_id
from tests.api.fakes import FakeDirectory, FakePrincipal

PATIENCE = 30
HEAD = "a" * 40
Sent = list[tuple[str, str, str, object]]


def reader(namespace: str = "*", project: str = "*", resource: str = "project") -> FakePrincipal:
    return FakePrincipal("reader", ((resource, "read", namespace, project),))


def put(root: Path, namespace: str, branch: str, head: str = HEAD) -> None:
    path = root / f"{namespace}.git/refs/heads" / branch
    path.parent.mkdir(parents=True, exist_ok=True)
    (path.parent / "new.lock").write_text(f"{head}\n", "ascii")
    (path.parent / "new.lock").rename(path)


def sent(edits: Iterable[Edit]) -> Sent:
    return sorted(
        (each.type.value, each.namespace, each.project, each.body.get("draft") or each.body.get("branch"))
        for each in edits
    )


async def take(feed: Feed, wake: asyncio.Event) -> list[Edit]:
    """Wait for the next look with an edit."""
    async with asyncio.timeout(PATIENCE):
        await wake.wait()
    wake.clear()
    return feed.take()


@pytest.mark.parametrize(
    ("caller", "expected"),
    [
        (
            reader(),
            [
                ("draft.changed", "a", "docs", "main"),
                ("draft.changed", "a", "shop", "main"),
                ("draft.changed", "b", "shop", "main"),
                ("proposal.changed", "a", "*", "feature/one"),
            ],
        ),
        (reader("a", "shop"), [("draft.changed", "a", "shop", "main")]),
        (reader("b"), [("draft.changed", "b", "shop", "main")]),
        (reader("a", "shop", "page"), []),
        (FakePrincipal("nobody"), []),
    ],
)
def test_only_edits_of_projects_that_the_caller_may_read_are_told(
    tmp_path: Path, caller: FakePrincipal, expected: Sent
) -> None:
    for namespace in ("a", "b"):
        put(tmp_path, namespace, "release")

    async def run() -> Sent:
        feeds, wake, all_seen = BranchFeeds(tmp_path), asyncio.Event(), asyncio.Event()
        mine = await feeds.open(None, caller, wake.set)
        every = await feeds.open(None, reader(), all_seen.set)
        for namespace, branch in (
            ("a", "draft/shop/main"),
            ("a", "draft/docs/main"),
            ("b", "draft/shop/main"),
            ("a", "feature/one"),
        ):
            put(tmp_path, namespace, branch)
        found = list[Edit]()
        while len(found) < 4:  # all that there is
            found += await take(every, all_seen)
        await feeds.stop()
        return sent(mine.take())

    assert asyncio.run(run()) == expected


def test_one_stream_of_a_namespace_has_no_other(tmp_path: Path) -> None:
    async def run() -> None:
        feeds, wake = BranchFeeds(tmp_path), asyncio.Event()
        put(tmp_path, "a", "release")
        feed = await feeds.open("a", reader(), wake.set)
        put(tmp_path, "b", "draft/shop/main")
        put(tmp_path, "a", "feature")
        (edit,) = await take(feed, wake)
        data = edit.wire()["data"]
        assert data == {
            "namespace": "a",
            "project": "*",
            "proposal": proposal_id("refs/heads/feature"),
            "branch": "feature",
            "head": HEAD,
        }
        await feeds.stop()

    asyncio.run(run())


@pytest.mark.parametrize("most_pending", [1000, 30])
def test_many_edits_at_once_are_told_once_for_each_namespace_of_the_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most_pending: int
) -> None:
    monkeypatch.setattr(branch_feeds, "_MOST_PENDING", most_pending)
    for namespace in ("a", "b"):
        put(tmp_path, namespace, "release")
    feed = Feed(None, reader("a"), lambda: None)
    edits = {
        name: dict(branch_feeds._edits(name, ((f"refs/heads/draft/shop/d{each}", None) for each in range(50))))
        for name in ("a", "b")
    }
    for name, found in edits.items():
        feed.put(name, found)
    assert sent(feed.take()) == [("drafts.changed", "a", "*", None)]
    feed.put("a", dict(list(edits["a"].items())[:3]))
    assert [each[0] for each in sent(feed.take())] == ["draft.changed"] * 3
    assert feed.take() == []


def test_a_draft_that_changes_again_and_again_is_told_once_a_look_with_its_newest_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(branch_feeds, "_LOOK_INTERVAL", 0.2)

    async def run() -> None:
        put(tmp_path, "a", "release")
        feeds, wake = BranchFeeds(tmp_path), asyncio.Event()
        feed = await feeds.open(None, reader(), wake.set)
        for number in range(100):
            put(tmp_path, "a", "draft/shop/main", f"{number:040x}")
        found = list[Edit]()
        while not found or found[-1].body["head"] != f"{99:040x}":
            found += await take(feed, wake)
        assert len(found) < 50
        await feeds.stop()

    asyncio.run(run())


def test_nothing_is_looked_at_without_streams_and_nothing_that_nobody_may_see(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(branch_feeds, "_LOOK_INTERVAL", 0.02)
    looked, look = set[str](), BranchMoves.look

    def noted(moves: BranchMoves) -> dict[str, object]:
        found = look(moves)  # first: the look that begins is not over yet
        looked.add(moves._repository.name)
        return found  # type: ignore[return-value]  # passed on

    monkeypatch.setattr(BranchMoves, "look", noted)

    async def run() -> None:
        for namespace in ("a", "b"):
            put(tmp_path, namespace, "release")
        feeds, wake = BranchFeeds(tmp_path), asyncio.Event()
        assert feeds._task is None
        feed = await feeds.open(None, reader("a"), wake.set)
        put(tmp_path, "a", "draft/shop/main")
        assert sent(await take(feed, wake)) == [("draft.changed", "a", "shop", "main")]
        assert looked == {"a.git"}
        feed.principal = reader("b")  # the grants of its caller have changed
        while "b.git" not in looked:
            await asyncio.to_thread(put, tmp_path, "b", "release")
        put(tmp_path, "b", "draft/shop/main")
        assert sent(await take(feed, wake)) == [("draft.changed", "b", "shop", "main")]
        feeds.close(feed)
        async with asyncio.timeout(PATIENCE):
            await asyncio.gather(*([feeds._task] if feeds._task else []))
        assert feeds._task is None

    asyncio.run(run())


def test_a_stream_tells_an_edit_after_its_start_unless_the_grant_is_lost(tmp_path: Path) -> None:
    async def run() -> None:
        state, directory = open_state_store(tmp_path), FakeDirectory({"t": reader("a")})
        put(tmp_path / "repos", "a", "release")
        streams = Streams(state.database, state.database.notifier, directory, BranchFeeds(tmp_path / "repos"))
        await streams.start()
        items = streams.follow(None, "t", 0, await streams.newest())
        assert await anext(items) == StreamStart(0)
        put(tmp_path / "repos", "a", "draft/shop/main")
        async with asyncio.timeout(PATIENCE):
            edit = await anext(items)
            assert isinstance(edit, Edit)
            directory.tokens["t"] = reader("a", "docs")
            put(tmp_path / "repos", "a", "draft/shop/main", "b" * 40)
            put(tmp_path / "repos", "a", "draft/docs/main")
            after = await anext(items)
        assert isinstance(after, Edit)
        assert (edit.project, after.project) == ("shop", "docs")
        await streams.stop()

    asyncio.run(run())
