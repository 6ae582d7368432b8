"""Texts with the form of API tokens that a hook found, noted for the service, which revokes the valid ones.

A note has the SHA-256 of each text, which is what the service stores of a token, so that the repository never has the token itself.
"""

from collections.abc import Iterator
from pathlib import Path

from gitstore.pushes.hook_notes import NoteFolder

FOLDER = "waypost-found-tokens"
MOST_FOUND = 1_000_000  # in a push
_SIZE = 32  # bytes of a digest
_WINDOW = 1_000  # digests
_MOST_RECENT = 100_000  # that are known, so that one text that is repeated takes no room


class FoundTokens:
    """The digests of the texts that are found in a push, up to a number that no reader of it would look through."""

    def __init__(self) -> None:
        self._digests = bytearray()
        self._recent = set[bytes]()

    def __len__(self) -> int:
        """Return the number of digests."""
        return len(self._digests) // _SIZE

    @property
    def is_full(self) -> bool:
        """True if no more are kept."""
        return len(self) >= MOST_FOUND

    def add(self, digest: str) -> None:
        """Add a digest, in hex."""
        found = bytes.fromhex(digest)
        if found in self._recent or self.is_full:
            return
        if len(self._recent) >= _MOST_RECENT:
            self._recent.clear()
        self._recent.add(found)
        self._digests += found

    def note(self, repository: Path) -> str:
        """Note them for the service; return why not, empty if they were noted."""
        return found_tokens(repository).write(bytes(self._digests))


def found_tokens(repository: Path) -> NoteFolder:
    """Return the notes of a repository."""
    return NoteFolder(repository, FOLDER, MOST_FOUND * _SIZE)


def read_found(notes: NoteFolder, name: str) -> Iterator[frozenset[str]]:
    """Yield the digests of a note in windows, in hex."""
    with notes.open(name) as note:
        while note and (window := note.file.read(_WINDOW * _SIZE)):
            whole = len(window) - len(window) % _SIZE
            yield frozenset(window[at : at + _SIZE].hex() for at in range(0, whole, _SIZE))
