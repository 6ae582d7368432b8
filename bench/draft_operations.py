"""What the operations on a draft of 100,000 redirects cost: replace, review view, revert and resolve, in seconds.

python -m bench.draft_operations [RULES]
"""

import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from content.record import Redirect
from content.replacement import Replacement
from content.vocabulary import Kind, RedirectStatus, RedirectType
from gitstore.choices import Choice
from gitstore.drafts import DraftName
from gitstore.edits import Put
from gitstore.lock import hold
from gitstore.project_file import ProjectFile
from gitstore.publishing import PublishOrder
from gitstore.replacement_plan import ReplaceOrder
from gitstore.repository import Author
from gitstore.resolving import ResolveOrder
from gitstore.reverting import RevertOrder
from gitstore.store import Store

ADA = Author("Ada", "ada@shop.example")
MAIN, OTHER = DraftName("shop", "main"), DraftName("shop", "other")
CHANGED = 10_000


def main(rules: int) -> None:
    """Print a line for each operation."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / "data")
        store.create_namespace("acme", "", ADA)
        store.create_project("acme", "shop", ProjectFile(), ADA)
        _timed("put all", lambda: store.edit("acme", MAIN, [_put(n, "/new") for n in range(rules)], ADA))
        store.publish("acme", PublishOrder(MAIN, ADA))
        _measure(store)


def _measure(store: Store) -> None:
    every = ReplaceOrder(MAIN, Replacement("/new/", "/newer/"), frozenset({"target"}))
    _timed("preview of replacing in every rule", lambda: store.preview_replacement("acme", every, 0, 100))
    regex = ReplaceOrder(MAIN, Replacement("^/new/(.*)$", "/$1", regex=True), frozenset({"target", "source"}))
    _timed("the same with a regular expression", lambda: store.preview_replacement("acme", regex, 0, 100))
    with _others(store.directory.namespace("acme").repository):
        _timed("replacing in every rule", lambda: store.replace_all("acme", every, ADA))
    store.discard("acme", MAIN)
    store.edit("acme", MAIN, [_put(n, "/mine") for n in range(CHANGED)], ADA)
    _timed("review view", lambda: store.view_draft("acme", MAIN, list(Kind), 0, 100))
    store.edit("acme", OTHER, [_put(n, "/theirs") for n in range(CHANGED)], ADA)
    store.publish("acme", PublishOrder(OTHER, ADA))
    found = store.report("acme", MAIN).conflicts
    choices = [Choice("redirect", str(each["id"]), "target", "draft") for each in found]
    _timed("settling half of the conflicts", lambda: store.resolve("acme", ResolveOrder(MAIN, choices[::2], ADA)))
    _timed("settling the rest", lambda: store.resolve("acme", ResolveOrder(MAIN, choices[1::2], ADA)))
    ids = frozenset(_redirect(n, "").id for n in range(CHANGED))
    _timed("reverting 10,000 changes", lambda: store.revert("acme", RevertOrder(MAIN, ids, ADA)))


def _put(number: int, target: str) -> Put:
    return Put(Kind.REDIRECTS, _redirect(number, target))


def _redirect(number: int, target: str) -> Redirect:
    return Redirect(RedirectType.BASIC, f"/old/{number}", f"{target}/{number}", RedirectStatus.FOUND)


@contextmanager
def _others(repository: Path) -> Iterator[None]:
    """Print how long another writer of the namespace waited at most for what is done inside."""
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
    print(f"{'  of which others waited at most':45} {max(waits):7.2f} s")


def _timed(name: str, work: Callable[[], object]) -> None:
    begun = time.perf_counter()
    work()
    print(f"{name:45} {time.perf_counter() - begun:7.2f} s")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
