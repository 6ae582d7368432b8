"""Reports on many problems: filters, windows, and counts by code."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from content.records.problem import Problem, Severity
from content.records.problem_codes import count_never_answering


@dataclass(frozen=True, slots=True)
class ProblemFilter:
    """The wanted problems: of any of the codes, of a severity, and in a file or below a folder; empty for all."""

    codes: Collection[str] = ()
    severity: str = ""
    file: str = ""

    def select(self, problems: Sequence[Problem]) -> list[Problem]:
        """Return the wanted problems, in their order."""
        return [problem for problem in problems if self._wants(problem)]

    def _wants(self, problem: Problem) -> bool:
        return (
            (not self.codes or problem.code in self.codes)
            and (not self.severity or problem.severity == self.severity)
            and (not self.file or problem.file == self.file or problem.file.startswith(f"{self.file.rstrip('/')}/"))
        )


def count_by_code(problems: Sequence[Problem]) -> list[tuple[str, str, int]]:
    """Return severity, code and number of the problems of each code: errors first, then the most frequent ones."""
    counts = Counter((problem.severity.value, problem.code) for problem in problems)
    rows = sorted(counts.items(), key=lambda row: (row[0][0], -row[1], row[0][1]))
    return [(severity, code, count) for (severity, code), count in rows]


def summarize(problems: Sequence[Problem]) -> dict[str, object]:
    """Return the numbers of problems: of errors, of warnings, by code, and of rules that can never answer."""
    errors = sum(problem.severity is Severity.ERROR for problem in problems)
    return {
        "errors": errors,
        "warnings": len(problems) - errors,
        "counts": [
            {"code": code, "severity": severity, "count": count} for severity, code, count in count_by_code(problems)
        ],
        "neverAnswer": count_never_answering(problems),
    }


def never_answer_text(number: int) -> str:
    """Describe the rules that can never answer, as `3 rules can never answer`."""
    return f"{number:,} {'rule' if number == 1 else 'rules'} can never answer"
