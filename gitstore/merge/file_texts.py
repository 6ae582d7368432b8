"""The texts of files in conflict, for those who resolve them: a merge itself has only the ids of the contents."""

from collections.abc import Collection, Sequence

from gitstore.git.repository import Repository
from gitstore.layout import BlobId

_SIDES = ("base", "release", "draft")
_MOST_TEXT = 65_536  # bytes of a file that is shown
_MOST_FILES = 20
_MOST_READ = 4 << 20  # bytes of all that is read, also of files that are then too long to be shown

Conflict = dict[str, object]


class FileTexts:
    """The texts for one answer: of its first files, until enough was read."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._files = 0
        self._bytes = 0

    def add(self, project: str, conflicts: Sequence[Conflict]) -> list[Conflict]:
        """Return conflicts of a project, those of its files with the contents of each side, unless one is long or no text."""
        return [self._add(each) if _is_file(project, each) else each for each in conflicts]

    def add_beside(self, conflicts: Sequence[Conflict], plain: Collection[str]) -> list[Conflict]:
        """Return conflicts of files beside the projects in the same way, those of the `plain` ones, which are no links."""
        return [self._add(each) if each["file"] in plain else each for each in conflicts]

    def _add(self, conflict: Conflict) -> Conflict:
        texts = self._read(conflict) if self._files < _MOST_FILES else None
        if texts is None:
            return conflict
        self._files += 1
        return {**conflict, "texts": texts}

    def _read(self, conflict: Conflict) -> dict[str, str | None] | None:
        texts: dict[str, str | None] = {}
        for side in _SIDES:
            blob = conflict[side]
            data = b"" if blob is None else self._read_blob(str(blob))
            if data is None or len(data) > _MOST_TEXT:
                return None
            try:
                texts[side] = None if blob is None else data.decode()
            except UnicodeDecodeError:
                return None
        return texts

    def _read_blob(self, blob: str) -> bytes | None:
        if self._bytes >= _MOST_READ:
            return None
        data = self._repository.blob(BlobId(blob))
        self._bytes += len(data)
        return data


def _is_file(project: str, conflict: Conflict) -> bool:
    """Tell whether a conflict is of a file of the project: of the whole project, its ids are folders."""
    return conflict["kind"] == "file" and str(conflict["file"]).startswith(f"{project}/")
