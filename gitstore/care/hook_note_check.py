"""The check of the folders of notes in a repository, in which the hooks of pushes by path and SSH leave word for the service."""

from collections.abc import Iterator

from gitstore.care.findings import Finding, Severity
from gitstore.directory import NamespacePaths
from gitstore.pushes.found_tokens import found_tokens
from gitstore.pushes.push_notes import push_notes


def check_hook_notes(paths: NamespacePaths) -> Iterator[Finding]:
    """Yield the folders without room, and those with files that no hook has made."""
    lost = {push_notes: "are not in the audit trail", found_tokens: "revoke no API token"}
    for open_folder, meaning in lost.items():
        notes = open_folder(paths.repository)
        if not notes.has_room():
            yield Finding(
                Severity.WARNING,
                "notes_full",
                notes.name,
                f"The folder has no room for more notes: further pushes by path and SSH {meaning}.",
                "Start the service, which reads and removes them. If it runs already, let its user remove files in the folder.",
                paths.name,
            )
        foreign = notes.list_foreign()
        if foreign:
            yield Finding(
                Severity.WARNING,
                "notes_foreign",
                notes.name,
                f"The folder has files that are no notes, such as {foreign[0][:100]!r}. The service leaves them there.",
                "Find out who left them there, then remove them.",
                paths.name,
            )
