"""Problems as a Code Quality report of GitLab, which shows them in a merge request.

The format: https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format
"""

from collections.abc import Sequence

from content.formats.fingerprint import fingerprint_all
from content.records.problem import Problem, Severity

_SEVERITIES = {Severity.ERROR: "major", Severity.WARNING: "minor"}


def code_quality(problems: Sequence[Problem]) -> list[dict[str, object]]:
    """Return the report, as data for JSON."""
    return [
        {
            "description": each.message,
            "check_name": each.code,
            "fingerprint": fingerprint,
            "severity": _SEVERITIES[each.severity],
            "location": {"path": each.file, "lines": {"begin": each.line or 1}},
        }
        for each, fingerprint in zip(problems, fingerprint_all(problems), strict=True)
    ]
