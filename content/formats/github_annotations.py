"""Problems as GitHub annotations: workflow commands, which GitHub shows beside the lines of a pull request."""

from collections.abc import Sequence

from content.records.problem import Problem

# https://github.com/actions/toolkit/blob/main/packages/core/src/command.ts (escapeData, escapeProperty)
_DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY = _DATA | str.maketrans({":": "%3A", ",": "%2C"})


def annotation_lines(problems: Sequence[Problem]) -> list[str]:
    """Return one workflow command for each problem; its message repeats the place, which is all that a log shows."""
    return [_annotation(each) for each in problems]


def _annotation(problem: Problem) -> str:
    properties = {
        "title": f"Waypost ({problem.code})",
        "file": problem.file,
        "line": problem.line,
        "col": problem.column,
    }
    shown = ",".join(f"{name}={str(value).translate(_PROPERTY)}" for name, value in properties.items() if value)
    place = ":".join(str(part) for part in (problem.file, problem.line, problem.column) if part)
    message = f"{place}: {problem.message}" if place else problem.message
    return f"::{problem.severity.value} {shown}::{message.translate(_DATA)}"
