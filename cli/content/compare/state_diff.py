"""The difference between two states of a project in the store, for `waypost diff`."""

from api.http.response import json_views
from cli.console.named_draft import require_draft
from cli.console.output import print_json, print_lines, print_notes
from content.changes.diff import count
from content.formats.markdown import as_code
from content.records.vocabulary import Kind
from gitstore.comparison.change_comment import render_comment
from gitstore.comparison.change_lines import file_lines, text_lines
from gitstore.comparison.descriptions import change_text, count_text
from gitstore.drafts.drafts import DraftName
from gitstore.drafts.revisions import DRAFT
from gitstore.store.store import Store


def print_difference(store: Store, place: tuple[str, str], ends: tuple[str, str], draft: str, form: str) -> bool:
    """Print how two states of a project differ; return whether they do. `place` is its namespace and name."""
    namespace, project = place
    if DRAFT in ends:
        require_draft(store, namespace, DraftName(project, draft))
    if form == "markdown":
        changes = store.revisions.project_changes(namespace, project, *ends, draft)
        old, new = (as_code(f"{state} {draft}" if state == DRAFT and draft != "main" else state) for state in ends)
        heading = f"In {as_code(f'{namespace}/{project}')} from {old} to {new}."
        print_lines(*render_comment([changes], heading).splitlines())
        return changes.differs
    found, files, _ = store.revisions.difference(namespace, project, *ends, draft)
    totals = {kind: count(changes) for kind, changes in found.items()}
    if form == "json":
        shown = {"files": json_views.files(files), "changes": json_views.changes(found)}
        print_json({"from": ends[0], "to": ends[1], "counts": json_views.counts(totals), **shown})
    else:
        print_lines(*file_lines(files), *text_lines([change for kind in Kind for change in found[kind]]))
        title = change_text(totals, files) if files else count_text(totals)
        print_notes(f"{title[:1].upper() if not files else title[:1]}{title[1:]}.")
    return bool(files or any(found.values()))
