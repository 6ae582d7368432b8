"""Problems as a SARIF log, the format of code scanning: https://docs.oasis-open.org/sarif/sarif/v2.1.0/."""

from collections.abc import Sequence
from urllib.parse import quote

from content.formats.fingerprint import fingerprint_all
from content.records.problem import Problem, Severity
from content.records.problem_codes import CODES

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_NO_LINK = str.maketrans({"\\": r"\\", "[": r"\[", "]": r"\]"})  # SARIF 3.11.6: else `[text](address)` is a link
_ROOT = "%SRCROOT%"  # the root of the sources, which the reader of the log knows: SARIF 3.14.14


def sarif_log(problems: Sequence[Problem], version: str) -> dict[str, object]:
    """Return the log of one run, as data for JSON; `version` is that of Waypost."""
    rules = sorted({(each.code, each.severity) for each in problems})
    index = {code: number for number, code in enumerate(dict.fromkeys(code for code, _ in rules))}
    severities = dict(reversed(rules))
    driver = {
        "name": "Waypost",
        "version": version,
        "rules": [_rule(code, severities[code]) for code in index],
    }
    results = [
        _result(each, index[each.code], fingerprint)
        for each, fingerprint in zip(problems, fingerprint_all(problems), strict=True)
    ]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(code: str, severity: Severity) -> dict[str, object]:
    meaning = CODES[code][1] if code in CODES else code.replace("_", " ")
    return {
        "id": code,
        "shortDescription": {"text": f"{meaning[:1].upper()}{meaning[1:]}."},
        "defaultConfiguration": {"level": severity.value},
    }


def _result(problem: Problem, rule: int, fingerprint: str) -> dict[str, object]:
    region = {"startLine": problem.line or 1, **({"startColumn": problem.column} if problem.column else {})}
    artifact = {"uri": quote(problem.file.encode(errors="surrogatepass")), "uriBaseId": _ROOT}
    place = {"physicalLocation": {"artifactLocation": artifact, "region": region}}
    return {
        "ruleId": problem.code,
        "ruleIndex": rule,
        "level": problem.severity.value,
        "message": {"text": problem.message.translate(_NO_LINK)},
        **({"locations": [place]} if problem.file else {}),
        "partialFingerprints": {"problem/v1": fingerprint},
    }
