"""Reports of problems for CI services: valid by the published schemas, for any problem, and read back as it."""

import json
import re

from hypothesis import given
from hypothesis import strategies as st

from content.checks.expectations import Expectation
from content.formats.fingerprint import fingerprint_all
from content.formats.github_annotations import annotation_lines
from content.formats.gitlab_code_quality import code_quality
from content.formats.junit import ProjectReport, junit_xml
from content.formats.sarif import sarif_log
from content.records.problem import Problem, Severity
from tests.content.formats.schemas import code_quality_faults, junit_faults, parse_xml, sarif_faults

WARNING = Problem("chain", "redirect to /c directly", "shop/redirects.yaml", 4, severity=Severity.WARNING)
ERROR = Problem("bad_host", "the host is missing", "shop/redirects.yaml", 7, 13, "/redirects/2/source")
STRAY = Problem("unknown_file", "Nothing reads this file; remove it.", "shop/no tes,50%: x.txt")

_texts = st.text(min_size=1, max_size=20)
problems = st.lists(
    st.builds(
        Problem,
        st.sampled_from(["chain", "bad_host", "unknown_field"]),
        _texts,
        st.text(st.characters(exclude_characters="/", exclude_categories=["Cs"]), min_size=1, max_size=8).map(
            lambda name: f"shop/{name}"
        ),
        st.integers(0, 9),
        st.integers(0, 9),
        severity=st.sampled_from(Severity),
    ),
    max_size=6,
)


def test_an_annotation_has_place_title_and_message_and_cannot_end_early() -> None:
    found = annotation_lines([WARNING, ERROR, STRAY, Problem("bad_syntax", "100%\r\n::error::x", "a", 1)])
    assert found == [
        "::warning title=Waypost (chain),file=shop/redirects.yaml,line=4::shop/redirects.yaml:4: redirect to /c directly",
        "::error title=Waypost (bad_host),file=shop/redirects.yaml,line=7,col=13::shop/redirects.yaml:7:13: the host is missing",
        "::error title=Waypost (unknown_file),file=shop/no tes%2C50%25%3A x.txt::shop/no tes,50%25: x.txt: Nothing reads this file; remove it.",
        "::error title=Waypost (bad_syntax),file=a,line=1::a:1: 100%25%0D%0A::error::x",
    ]


def _read_annotation(line: str) -> tuple[str, dict[str, str], str]:
    """Read a workflow command as the runner does: https://github.com/actions/runner (ActionCommand.cs)."""
    found = re.fullmatch(r"::(\w+) ([^\r\n]*?)::([^\r\n]*)", line)
    assert found, line
    escapes = {"%25": "%", "%0D": "\r", "%0A": "\n", "%3A": ":", "%2C": ","}

    def plain(text: str) -> str:
        return re.sub("%(?:25|0D|0A|3A|2C)", lambda escape: escapes[escape[0]], text)

    pairs = (pair.partition("=") for pair in found[2].split(","))
    return found[1], {name: plain(value) for name, _, value in pairs}, plain(found[3])


@given(problems)
def test_annotations_read_back_as_their_problems(found: list[Problem]) -> None:
    for problem, line in zip(found, annotation_lines(found), strict=True):
        severity, properties, message = _read_annotation(line)
        assert severity == problem.severity
        assert properties["file"] == problem.file
        assert message.endswith(problem.message)


@given(problems)
def test_code_quality_is_valid_for_any_problem(found: list[Problem]) -> None:
    report = json.loads(json.dumps(code_quality(found)))
    assert code_quality_faults(report) == []
    assert [(each["check_name"], each["location"]["path"]) for each in report] == [(p.code, p.file) for p in found]


def test_code_quality_has_the_severity_and_the_line() -> None:
    report = code_quality([WARNING, ERROR, STRAY])
    assert [each["severity"] for each in report] == ["minor", "major", "major"]
    assert [each["location"]["lines"]["begin"] for each in report] == [4, 7, 1]  # type: ignore[index]  # JSON, as object


@given(problems)
def test_sarif_is_valid_for_any_problem(found: list[Problem]) -> None:
    log = json.loads(json.dumps(sarif_log(found, "1.2.3")))
    assert sarif_faults(log) == []
    (run,) = log["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert [rules[each["ruleIndex"]] for each in run["results"]] == [problem.code for problem in found]


def test_sarif_names_tool_rule_place_and_level() -> None:
    (run,) = json.loads(json.dumps(sarif_log([WARNING, ERROR, STRAY], "1.2.3")))["runs"]
    assert (run["tool"]["driver"]["name"], run["tool"]["driver"]["version"]) == ("Waypost", "1.2.3")
    assert [each["level"] for each in run["results"]] == ["warning", "error", "error"]
    places = [each["locations"][0]["physicalLocation"] for each in run["results"]]
    assert [each["region"] for each in places] == [
        {"startLine": 4},
        {"startLine": 7, "startColumn": 13},
        {"startLine": 1},
    ]
    assert places[2]["artifactLocation"]["uri"] == "shop/no%20tes%2C50%25%3A%20x.txt"
    chain = next(rule for rule in run["tool"]["driver"]["rules"] if rule["id"] == "chain")
    assert chain["shortDescription"]["text"] == "A redirect whose target is redirected again."


def test_text_in_sarif_is_no_link() -> None:
    log = json.loads(json.dumps(sarif_log([Problem("chain", r"not '[a](https://b.example)\'", "shop/a.yaml")], "1")))
    assert log["runs"][0]["results"][0]["message"]["text"] == r"not '\[a\](https://b.example)\\'"


def test_a_sarif_schema_refuses_what_is_no_log() -> None:
    """The schema is really applied."""
    assert sarif_faults({"version": "2.1.0", "runs": [{}]})


@given(problems, st.booleans(), st.booleans())
def test_junit_is_valid_for_any_problem(found: list[Problem], strict: bool, were_tested: bool) -> None:  # noqa: FBT001 - drawn
    tests = [Expectation("/old\x00", 301, "/new", "shop/tests.yaml", 2)]
    report = junit_xml(
        [ProjectReport("shop", found, tests, were_tested), ProjectReport("docs", [], [], were_tested=True)],
        strict=strict,
    )
    assert junit_faults(report) == []
    failures = [p for p in found if strict or p.severity is Severity.ERROR]
    assert parse_xml(report).get("failures") == str(len(failures))


def test_junit_counts_warnings_as_failures_only_where_they_fail() -> None:
    shop = ProjectReport("shop", [WARNING, ERROR], [], were_tested=False)
    for strict, failed in ((False, ["bad_host"]), (True, ["chain", "bad_host"])):
        root = parse_xml(junit_xml([shop], strict=strict))
        assert [each.get("type") for each in root.iter("failure")] == failed
    assert "redirect to /c directly" in str(parse_xml(junit_xml([shop], strict=False)).findtext(".//system-out"))


def test_junit_has_a_case_for_each_test_of_the_rules() -> None:
    tests = [Expectation("/old", 301, "/new", "shop/tests.yaml", line) for line in (2, 5)]
    failed = Problem("test_failed", "/old should get 301", "shop/tests.yaml", 5)
    root = parse_xml(junit_xml([ProjectReport("shop", [failed], tests, were_tested=True)], strict=False))
    cases = list(root.iter("testcase"))
    assert [(each.get("name"), each.find("failure") is not None) for each in cases] == [
        ("/old gets 301 /new (shop/tests.yaml:2)", False),
        ("/old gets 301 /new (shop/tests.yaml:5)", True),
    ]
    unknown = parse_xml(junit_xml([ProjectReport("shop", [ERROR], tests, were_tested=False)], strict=False))
    assert len(list(unknown.iter("skipped"))) == 2


def test_a_fingerprint_stays_when_lines_move_and_repeated_problems_differ() -> None:
    moved = [ERROR.at(ERROR.file, 90, 2), WARNING]
    assert fingerprint_all([WARNING, ERROR]) == list(reversed(fingerprint_all(moved)))
    assert len(set(fingerprint_all([ERROR, ERROR.at(ERROR.file, 8), ERROR.at("other.yaml", 7)]))) == 3
