"""Problems of content: a message with its code and location."""

from dataclasses import dataclass, replace
from enum import StrEnum


class Severity(StrEnum):
    """An error stops a publish; a warning does so only where the project's lint is strict."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem of content, with its location.

    `file` is the path in the namespace (empty for a request body); `line` and `column` count from 1
    (0: unknown); `pointer` is a JSON Pointer into the file or body; `code` is stable, `message` is
    a sentence for people.
    """

    code: str
    message: str
    file: str = ""
    line: int = 0
    column: int = 0
    pointer: str = ""
    severity: Severity = Severity.ERROR

    def at(self, file: str, line: int = 0, column: int = 0) -> "Problem":
        """Return the problem at a location in a file."""
        # a third of the time of `replace`, for the million invalid rows that an import may have
        return Problem(self.code, self.message, file, line, column, self.pointer, self.severity)

    def under(self, prefix: str) -> "Problem":
        """Return the problem with its pointer below `prefix`, such as `/redirects/4`."""
        return replace(self, pointer=prefix + self.pointer)

    def as_warning(self) -> "Problem":
        """Return the problem as a warning."""
        return replace(self, severity=Severity.WARNING)

    def wire(self) -> dict[str, object]:
        """Return the JSON shape of the API's `problems`, without unknown locations."""
        shown = {
            "file": self.file,
            "line": self.line,
            "column": self.column,
            "pointer": self.pointer,
        }
        known: dict[str, object] = {key: value for key, value in shown.items() if value}
        return {
            **known,
            "code": self.code,
            "severity": self.severity.value,
            "message": self.message,
        }

    def text(self) -> str:
        """Return a line for a terminal: `file:line:column: severity: message [code]`."""
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part)
        head = f"{place}: " if place else ""
        return f"{head}{self.severity.value}: {self.message} [{self.code}]"


def errors(problems: list[Problem]) -> list[Problem]:
    """Return the problems that stop a publish under every policy: the errors."""
    return [problem for problem in problems if problem.severity is Severity.ERROR]
