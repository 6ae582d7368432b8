"""Problems and tests as a JUnit report: a suite for each project, with a case for each problem and each of its tests.

The elements and attributes are those of https://github.com/jenkinsci/xunit-plugin (junit-10.xsd), in its order.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from content.checks.expectations import Expectation
from content.records.problem import Problem, Severity

_TEST_FAILED = "test_failed"
_NOT_RUN = "not run, since the project has errors"
# The characters that XML 1.0 can hold: https://www.w3.org/TR/xml/#charsets
_NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class ProjectReport:
    """The report of one project: its problems and its tests; `were_tested` if the tests were run."""

    name: str
    problems: Sequence[Problem]
    tests: Sequence[Expectation]
    were_tested: bool


def junit_xml(projects: Sequence[ProjectReport], *, strict: bool) -> str:
    """Return the report. Errors are failures; warnings are too if `strict`, else they are output of a passed case."""
    suites = [_suite(each, strict=strict) for each in projects]
    totals = {name: str(sum(int(suite.get(name, "0")) for suite in suites)) for name in ("tests", "failures", "errors")}
    root = Element("testsuites", {"name": "waypost validate", **totals})
    root.extend(suites)
    indent(root)
    text = tostring(root, "us-ascii").decode()  # other characters as references: right in the encoding of any terminal
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _suite(project: ProjectReport, *, strict: bool) -> Element:
    cases = list(chain(_problem_cases(project, strict=strict), _test_cases(project)))
    if not cases:
        cases = [_case(project.name, "no problems")]
    counts = {name: str(sum(case.find(name) is not None for case in cases)) for name in ("failure", "skipped")}
    suite = Element(
        "testsuite",
        name=project.name,
        tests=str(len(cases)),
        failures=counts["failure"],
        errors="0",
        skipped=counts["skipped"],
    )
    suite.extend(cases)
    return suite


def _problem_cases(project: ProjectReport, *, strict: bool) -> Iterator[Element]:
    for each in project.problems:
        if each.code == _TEST_FAILED:
            continue
        place = ":".join(str(part) for part in (each.file, each.line, each.column) if part)
        case = _case(project.name, f"{each.code} at {place}")
        if strict or each.severity is Severity.ERROR:
            _add_failure(case, each)
        else:
            SubElement(case, "system-out").text = _xml_text(each.text())
        yield case


def _test_cases(project: ProjectReport) -> Iterator[Element]:
    failed = {(each.file, each.line): each for each in project.problems if each.code == _TEST_FAILED}
    for test in project.tests:
        expected = f"{test.status} {test.location}".rstrip()
        case = _case(project.name, f"{test.url} gets {expected} ({test.file}:{test.line})")
        if not project.were_tested:
            SubElement(case, "skipped", message=_NOT_RUN)
        elif problem := failed.get((test.file, test.line)):
            _add_failure(case, problem)
        yield case


def _case(project: str, name: str) -> Element:
    return Element("testcase", {"name": _xml_text(name), "classname": project})


def _add_failure(case: Element, problem: Problem) -> None:
    failure = SubElement(case, "failure", type=problem.code, message=_xml_text(problem.message))
    failure.text = _xml_text(problem.text())


def _xml_text(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
