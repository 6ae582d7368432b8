"""The notes on rules that can never answer, with the command that lists them."""

from shlex import quote

from content.records.problem_report import never_answer_text
from gitstore.drafts.drafts import DraftName
from gitstore.store.store import Store


def never_answer_notes(store: Store, namespace: str, project: str, number: int | None, draft: str = "") -> list[str]:
    """Return the note, with the command that lists the rules of a draft or of release; empty for none of them."""
    if not number:
        return []
    repository = quote(str(store.directory.namespace(namespace).repository))
    ref = f" --ref {DraftName(project, draft).ref.removeprefix('refs/heads/')}" if draft else ""
    command = f"waypost validate {repository}{ref} --file {project} --never-answer"
    return [f"{never_answer_text(number)}; to list them: {command}"]
