"""Open drafts of projects of 100,000 rules: one that changes some of them, and one in which all are new."""

from collections.abc import Sequence

from bench.rules import FEW, MANY, exact_rules, sample_evenly, table
from bench.workbench import AUTHOR, NAMESPACE
from content.formats.tsv import read_rows
from content.records.names import DEFAULT_DRAFT
from content.records.record import Redirect
from content.records.vocabulary import Kind
from gitstore.drafts.bulk.importing import ImportOptions
from gitstore.drafts.drafts import DraftName
from gitstore.drafts.editing.edits import Delete, Edit, Put
from gitstore.drafts.revisions import DRAFT
from gitstore.store.store import Store
from gitstore.yamlfiles.project_file import ProjectFile

TAG = "sale"


def change_some(store: Store, rules: Sequence[Redirect], name: DraftName) -> None:
    """Tag 1,000 rules in a draft, remove 100 and add 100."""
    chosen = sample_evenly(rules, FEW + FEW // 10)
    edits: list[Edit] = [
        Put(Kind.REDIRECTS, Redirect(rule.type, rule.source, rule.target, rule.status, "Seen", (TAG,)))
        for rule in chosen[:FEW]
    ]
    edits += [Delete(Kind.REDIRECTS, rule.id) for rule in chosen[FEW:]]
    edits += [
        Put(Kind.REDIRECTS, Redirect(rule.type, f"{rule.source}/new", rule.target, rule.status))
        for rule in chosen[FEW:]
    ]
    store.drafts.edit(NAMESPACE, name, edits, AUTHOR)
    _compile(store, name)


def import_all(store: Store, project: str) -> None:
    """Create a project whose 100,000 rules are all in its draft."""
    store.projects.create(NAMESPACE, project, ProjectFile(), AUTHOR)
    name = DraftName(project, DEFAULT_DRAFT)
    store.drafts.import_rows(NAMESPACE, name, read_rows(table(exact_rules(MANY))), ImportOptions(), AUTHOR)
    _compile(store, name)


def _compile(store: Store, name: DraftName) -> None:
    """Leave the compiled files on disk, as the first list after an import does."""
    store.revisions.snapshot(NAMESPACE, name.project, DRAFT, name.draft)
