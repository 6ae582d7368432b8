"""Safe fixes of the rules in a folder, in place; see `drafts.file_fixes`."""

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from content.changes.fixes import FixKind
from content.changes.flattening import Flattening
from content.records.problem import Problem
from gitstore.compiled.validation.checks import build_matcher
from gitstore.drafts.bulk.file_fixes import fix_files, is_whole
from gitstore.git.atomic_io import replace_file
from gitstore.namespaces.checkout import Checkout

_PERMISSIONS = 0o777


@dataclass(slots=True)
class FolderFixes:
    """The number of fixes of each kind, and the changed files, relative to the folder."""

    counts: Counter[FixKind] = field(default_factory=Counter)
    files: list[str] = field(default_factory=list)


def fix_folder(folder: Path, checkout: Checkout) -> FolderFixes:
    """Fix the projects of a checkout in place; a file with rules that cannot be read is left alone."""
    found = FolderFixes()
    for snapshot in checkout.snapshots:
        fixes = fix_files(lambda path: (folder / path).read_bytes(), snapshot)
        for path, data in fixes.texts.items():
            file = folder / path
            replace_file(file, data, mode=file.stat().st_mode & _PERMISSIONS)
        found.files += fixes.texts
        found.counts += fixes.counts
    return found


def explain_chains(checkout: Checkout, problems: Collection[Problem]) -> Iterator[tuple[Problem, str]]:
    """Yield the problem of each chain that the fixes leave, with the reason, in the order of the projects."""
    chains = {(each.file, each.line): each for each in problems if each.code == "chain"}
    for snapshot in checkout.snapshots if chains else ():
        redirects = snapshot.redirects()
        found = [(each, chains[each.file, each.line]) for each in redirects if (each.file, each.line) in chains]
        if not found:
            continue
        if not is_whole(snapshot):
            yield from ((problem, "the project has rules that cannot be read") for _, problem in found)
            continue
        flattening = Flattening(build_matcher(snapshot), redirects, snapshot.expectations)
        for placed, problem in found:
            if obstacle := flattening.find_obstacle(placed):
                yield problem, obstacle.value
