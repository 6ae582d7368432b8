"""The upkeep of one namespace's files in the background.

Objects are packed and pruned, the log of new objects is emptied, unused files are removed, releases get new bases, and the
record of the commits on release is completed, as is the list of the objects for clones. What killed pushes left is
finished or removed. Each step goes on where another one fails.
"""

from functools import partial

from gitstore.compiled.indexes.served_record import read_served
from gitstore.directory import NamespacePaths
from gitstore.errors import run_each
from gitstore.git.object_log import empty_log, is_log_due
from gitstore.git.packs.packing import hold_packing, is_git_packing, is_packing_due, pack_loose
from gitstore.git.packs.pruning import is_prune_due, prune
from gitstore.git.quarantine import has_abandoned, sweep_quarantines
from gitstore.git.ref_moves import has_unfinished_moves
from gitstore.git.transaction import update
from gitstore.history.reached import complete_record, is_record_complete
from gitstore.history.upkeep.folding import fold_releases, is_folding_due
from gitstore.history.upkeep.gc import clean_daily, is_clean_up_due
from gitstore.wire.packs.release_list import is_list_due, update_list


def needs_upkeep(paths: NamespacePaths) -> bool:
    """Tell whether there is anything to do, and no other process does it: a few dozen system calls."""
    repository = paths.repository
    is_due = (
        has_unfinished_moves(repository)
        or has_abandoned(repository)
        or not is_record_complete(repository)
        or is_packing_due(repository)
        or is_log_due(repository)
        or is_prune_due(repository)
        or is_clean_up_due(paths)
        or is_folding_due(paths)
        or is_list_due(repository)
    )
    if not is_due:
        return False
    with hold_packing(repository) as is_held:
        return is_held


def keep_up(paths: NamespacePaths) -> None:
    """Pack, prune, clean up, fold and complete as far as it is due; nothing if another process does it.

    Raises OutOfSpace, Broken, Busy, or FileNotFoundError where another program packs at the same time, after all steps. They
    can be killed at any time, and are continued by the next call.
    """
    with hold_packing(paths.repository) as is_held:
        if not is_held or is_git_packing(paths.repository):
            return
        run_each(partial(step, paths) for step in (_finish_pushes, _pack, _clean_up, _prune, _fold, _complete, _list))


def _finish_pushes(paths: NamespacePaths) -> None:
    if has_unfinished_moves(paths.repository):
        with update(paths.repository):
            pass  # finished as by any writer
    sweep_quarantines(paths.repository)


def _pack(paths: NamespacePaths) -> None:
    packs = is_packing_due(paths.repository)
    if packs:
        pack_loose(paths.repository)
    if packs or is_log_due(paths.repository):
        empty_log(paths.repository)


def _clean_up(paths: NamespacePaths) -> None:
    if is_clean_up_due(paths):
        clean_daily(paths)


def _prune(paths: NamespacePaths) -> None:
    if is_prune_due(paths.repository):
        served = read_served(paths)
        prune(paths.repository, kept=[served] if served else [])


def _fold(paths: NamespacePaths) -> None:
    if is_folding_due(paths):
        fold_releases(paths)


def _complete(paths: NamespacePaths) -> None:
    if not is_record_complete(paths.repository):
        complete_record(paths.repository)


def _list(paths: NamespacePaths) -> None:
    if is_list_due(paths.repository):
        update_list(paths.repository)
