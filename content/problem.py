"""What is wrong with a piece of content: a value that says what, where, and what to do."""

from dataclasses import dataclass, replace
from enum import StrEnum


class Severity(StrEnum):
    """An error stops a publish; a warning does so only where the project's lint is strict."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong.

    `file` is the path in the namespace (empty for a request body); `line` and `column` count from 1
    (0: not known); `pointer` is a JSON Pointer into the file or body; `code` is stable, `message` is
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
        """The same problem at a place in a file."""
        # A third of the time that `replace` takes, for the million wrong rows that an import may have.
        return Problem(self.code, self.message, file, line, column, self.pointer, self.severity)

    def under(self, prefix: str) -> "Problem":
        """The same problem with its pointer below `prefix`, such as `/redirects/4`."""
        return replace(self, pointer=prefix + self.pointer)

    def as_warning(self) -> "Problem":
        """The same problem as a warning."""
        return replace(self, severity=Severity.WARNING)

    def wire(self) -> dict[str, object]:
        """The JSON shape of the API's `problems`; places that are not known are left out."""
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
        """One line for a terminal: `file:line:column: severity: message [code]`."""
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part)
        head = f"{place}: " if place else ""
        return f"{head}{self.severity.value}: {self.message} [{self.code}]"


def errors(problems: list[Problem]) -> list[Problem]:
    """Only the problems that stop a publish whatever the project's policy says."""
    return [problem for problem in problems if problem.severity is Severity.ERROR]
