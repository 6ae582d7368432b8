"""Valid API tokens in what a command writes: it is refused, and they are revoked, as by the service."""

from collections.abc import Iterable
from pathlib import Path

from api.auth.tokens.api_token import find_any
from cli.console.output import count_noun
from cli.console.services import open_existing_services, operator_actor
from content.records.problem import Problem
from gitstore.errors import Invalid
from gitstore.git.file_paths import printable_path

_MESSAGE = "There is a valid API token here. It is revoked now. Remove it, and create another token."
_GIT = ".git"


def refuse_tokens(data: str | None, database: str | None, texts: Iterable[tuple[str, bytes]]) -> None:
    """Raise Invalid if one of the texts, each with its name, has a valid token; the database is opened only for candidates."""
    suspects = [(name, content) for name, content in texts if find_any(content) is not None]
    if not suspects:
        return
    problems = list[Problem]()
    with open_existing_services(data, database) as services:
        search = services.leaked_tokens(operator_actor(), "found at the command line")
        for name, content in suspects:
            at = search.find(content)
            if at is not None:
                problems.append(Problem("api_token", _MESSAGE, file=name, line=content.count(b"\n", 0, at) + 1))
    if problems:
        raise Invalid(f"{count_noun(len(problems), 'problem')}; nothing changed.", problems)


def refuse_words(data: str | None, database: str | None, **words: str | None) -> None:
    """Raise Invalid if an option or argument has a valid token; `words` are by the names of the parameters."""
    texts = ((name, text.encode(errors="replace")) for name, text in words.items() if text)
    refuse_tokens(data, database, texts)


def files_below(folder: Path) -> Iterable[tuple[str, bytes]]:
    """Yield the files of a folder with their paths in it, except those of Git; what cannot be read is left out."""
    for path in sorted(folder.rglob("*")):
        inner = path.relative_to(folder)
        if _GIT in inner.parts or path.is_symlink() or not path.is_file():
            continue
        try:
            yield printable_path(str(inner)), path.read_bytes()
        except OSError:  # the import itself reports it
            continue
