"""The times of operations on a draft of 100,000 redirects: replace, review view, revert and resolve, in seconds.

python -m bench.draft_operations [RULES]
"""

import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from content.changes.replacement import Replacement
from content.records.record import Redirect
from content.records.vocabulary import Kind, RedirectStatus, RedirectType
from gitstore.drafts.bulk.replacement_plan import ReplaceRequest
from gitstore.drafts.drafts import DraftName
from gitstore.drafts.editing.edits import Put
from gitstore.drafts.reverting import RevertRequest
from gitstore.git.lock import hold
from gitstore.git.repository import Author
from gitstore.merge.choices import Choice
from gitstore.merge.resolving import ResolveRequest
from gitstore.publish.publishing import PublishRequest
from gitstore.store.store import Store, create_store
from gitstore.yamlfiles.project_file import ProjectFile

ADA = Author("Ada", "ada@shop.example")
MAIN, OTHER = DraftName("shop", "main"), DraftName("shop", "other")
CHANGED = 10_000


def main(rules: int) -> None:
    """Print a line for each operation."""
    with tempfile.TemporaryDirectory() as folder:
        store = create_store(Path(folder) / "data")
        store.namespaces.create("acme", "", ADA)
        store.projects.create("acme", "shop", ProjectFile(), ADA)
        _print_time("put all", lambda: store.drafts.edit("acme", MAIN, [_put(n, "/new") for n in range(rules)], ADA))
        store.publishes.publish("acme", PublishRequest(MAIN, ADA))
        _measure(store)


def _measure(store: Store) -> None:
    every = ReplaceRequest(MAIN, Replacement("/new/", "/newer/"), frozenset({"target"}))
    _print_time("preview of replacing in every rule", lambda: store.drafts.preview_replacement("acme", every, 0, 100))
    regex = ReplaceRequest(MAIN, Replacement("^/new/(.*)$", "/$1", regex=True), frozenset({"target", "source"}))
    _print_time("the same with a regular expression", lambda: store.drafts.preview_replacement("acme", regex, 0, 100))
    with _concurrent_writer(store.directory.namespace("acme").repository):
        _print_time("replacing in every rule", lambda: store.drafts.replace("acme", every, ADA))
    store.drafts.discard("acme", MAIN)
    store.drafts.edit("acme", MAIN, [_put(n, "/mine") for n in range(CHANGED)], ADA)
    _print_time("review view", lambda: store.drafts.review_view("acme", MAIN, list(Kind), 0, 100))
    store.drafts.edit("acme", OTHER, [_put(n, "/theirs") for n in range(CHANGED)], ADA)
    store.publishes.publish("acme", PublishRequest(OTHER, ADA))
    found = store.drafts.report("acme", MAIN).conflicts
    choices = [Choice("redirect", str(each["id"]), "target", "draft") for each in found]
    _print_time(
        "resolving half of the conflicts", lambda: store.drafts.resolve("acme", ResolveRequest(MAIN, choices[::2], ADA))
    )
    _print_time("resolving the rest", lambda: store.drafts.resolve("acme", ResolveRequest(MAIN, choices[1::2], ADA)))
    ids = frozenset(_redirect(n, "").id for n in range(CHANGED))
    _print_time("reverting 10,000 changes", lambda: store.drafts.revert("acme", RevertRequest(MAIN, ids, ADA)))


def _put(number: int, target: str) -> Put:
    return Put(Kind.REDIRECTS, _redirect(number, target))


def _redirect(number: int, target: str) -> Redirect:
    return Redirect(RedirectType.BASIC, f"/old/{number}", f"{target}/{number}", RedirectStatus.FOUND)


@contextmanager
def _concurrent_writer(repository: Path) -> Iterator[None]:
    """Print the longest wait of another writer of the namespace during the block."""
    waits, ended = [0.0], threading.Event()

    def write() -> None:
        while not ended.wait(0.01):
            begun = time.perf_counter()
            with hold(repository):
                waits.append(time.perf_counter() - begun)

    other = threading.Thread(target=write)
    other.start()
    try:
        yield
    finally:
        ended.set()
        other.join()
    print(f"{'  longest wait of other writers':45} {max(waits):7.2f} s")


def _print_time(name: str, work: Callable[[], object]) -> None:
    begun = time.perf_counter()
    work()
    print(f"{name:45} {time.perf_counter() - begun:7.2f} s")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
