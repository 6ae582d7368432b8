"""Operations of the store in processes that `strace` can attach to; run as a program.

It takes the folder of the data that it creates, and lines of JSON as its input. For each line, a list of the data directory and the name of an operation, a child is forked, so that the libraries are
loaded once. It prints its process id and waits for SIGCONT. It ends with 0 for a success, 1 for an error that the store
raises on purpose or the system's, 2 for any other exception.
"""

import ctypes
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from content.changes.replacement import Replacement
from content.formats.tsv import Row, read_rows
from content.records.record import identity_id
from content.records.vocabulary import Kind
from gitstore.drafts.bulk.importing import ImportOptions
from gitstore.drafts.bulk.replacement_plan import ReplaceRequest
from gitstore.drafts.drafts import DraftName
from gitstore.drafts.editing.edits import Patch
from gitstore.drafts.reverting import RevertRequest
from gitstore.errors import StoreError
from gitstore.publish.publishing import PublishRequest
from gitstore.store.store import Store, create_store
from gitstore.yamlfiles.project_file import ProjectFile
from tests.gitstore.fixtures import ADA, MAIN, SHOP, SPACE, put, redirect

_PR_SET_PTRACER = 0x59616D61  # "Yama": https://www.kernel.org/doc/html/latest/admin-guide/LSM/Yama.html
_ANY_PROCESS = ctypes.c_ulong(-1)
_EMPTY = DraftName(SHOP, "new")


def _prepare(root: Path) -> None:
    """Create a data directory with a published project, a draft with two changes, and all folders of objects."""
    store = create_store(root)
    store.namespaces.create(SPACE, "Acme", ADA)
    for number in range(256):
        (root / f"repos/{SPACE}.git/objects/{number:02x}").mkdir(exist_ok=True)
    store.projects.create(SPACE, SHOP, ProjectFile(), ADA)
    store.drafts.edit(SPACE, MAIN, [put(redirect("/a")), put(redirect("/old"))], ADA)
    store.publishes.publish(SPACE, PublishRequest(MAIN, ADA))
    (root / "folder/first").mkdir(parents=True)
    (root / "folder/first/project.yaml").write_text("project:\n  title: First\n")
    store.drafts.edit(SPACE, MAIN, [put(redirect("/b")), put(redirect("/c")), put(redirect("/a", "/x"))], ADA)


def _publish(store: Store, *sources: str) -> object:
    return store.publishes.publish(SPACE, PublishRequest(MAIN, ADA, ids=frozenset(map(identity_id, sources))))


def _import(store: Store) -> object:
    rows: list[Row] = list(read_rows(b"type\tsource\ttarget\tstatus\nBASIC\t/imported\t/x\t301\n"))
    return store.drafts.import_rows(SPACE, _EMPTY, rows, ImportOptions(), ADA)


def _import_folder(store: Store) -> object:
    return store.namespaces.import_folder("other", "Other", store.directory.root / "folder", ADA)


OPERATIONS: dict[str, Callable[[Store], object]] = {
    "publish": _publish,
    "publish_selected": lambda store: _publish(store, "/b"),
    "publish_all_selected": lambda store: _publish(store, "/a", "/b", "/c"),
    "roll_back": lambda store: store.publishes.roll_back(SPACE, SHOP, "1", ADA),
    "edit_first": lambda store: store.drafts.edit(SPACE, _EMPTY, [put(redirect("/new"))], ADA),
    "edit": lambda store: store.drafts.edit(SPACE, MAIN, [put(redirect("/new"))], ADA),
    "write": lambda store: store.drafts.write(
        SPACE, MAIN, Patch(Kind.REDIRECTS, identity_id("/a"), {"target": "/y"}), ADA
    ),
    "import": _import,
    "revert": lambda store: store.drafts.revert(SPACE, RevertRequest(MAIN, frozenset({identity_id("/b")}), ADA)),
    "replace": lambda store: store.drafts.replace(
        SPACE, ReplaceRequest(MAIN, Replacement("/new", "/newer"), frozenset({"target"})), ADA
    ),
    "reopen": lambda store: store.drafts.reopen(SPACE, _EMPTY, "1", ADA),
    "discard": lambda store: store.drafts.discard(SPACE, MAIN),
    "create_project": lambda store: store.projects.create(SPACE, "second", ProjectFile(), ADA),
    "change_project": lambda store: store.projects.change(SPACE, SHOP, {"title": "New"}, ADA),
    "delete_project": lambda store: store.projects.delete(SPACE, SHOP, ADA),
    "create_namespace": lambda store: store.namespaces.create("other", "Other", ADA),
    "import_folder": _import_folder,
    "describe_namespace": lambda store: store.namespaces.describe(SPACE, "New"),
    "delete_namespace": lambda store: store.namespaces.delete(SPACE),
}


def _run(root: Path, operation: str) -> int:
    """Wait for the signal, run the operation, and return the exit code."""
    ctypes.CDLL(None).prctl(_PR_SET_PTRACER, _ANY_PROCESS, 0, 0, 0)
    store = Store(root)
    os.write(sys.stdout.fileno(), f"{os.getpid()}\n".encode())
    signal.sigwait({signal.SIGUSR1})
    try:
        OPERATIONS[operation](store)
    except (StoreError, OSError):
        return 1
    except BaseException:  # noqa: BLE001 - the exit code tells it apart
        traceback.print_exc()
        return 2
    return 0


def main() -> None:
    """Fork a child for each line of the input, and print its exit code after its process id."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    for line in sys.stdin:
        root, operation = json.loads(line)
        child = os.fork()
        if child == 0:
            os._exit(_run(Path(root), operation))
        status = os.waitpid(child, 0)[1]
        os.write(sys.stdout.fileno(), f"{os.waitstatus_to_exitcode(status)}\n".encode())


if __name__ == "__main__":
    _prepare(Path(sys.argv[1]))
    print("ready", flush=True)  # noqa: T201 - its output
    main()
