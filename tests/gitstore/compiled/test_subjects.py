"""The subjects of problems: the rule at the place of one, the URL of a failed test, and none where rules may be unread."""

from content.records.problem import Problem
from content.records.record import identity_id
from content.records.vocabulary import Kind
from gitstore.compiled.validation.checks import check_snapshot
from gitstore.compiled.validation.subjects import Subject, find_subjects
from tests.gitstore.folders import Folder

_RULE = "  - {{type: BASIC, source: {}, target: {}, status: 301}}\n"


def _redirects(**targets: str) -> bytes:
    return ("redirects:\n" + "".join(_RULE.format(f"/{name}", target) for name, target in targets.items())).encode()


def _rule(source: str) -> Subject:
    return Subject(Kind.REDIRECTS, identity_id(source), source)


def test_a_problem_of_a_rule_is_about_the_rule_at_its_place() -> None:
    """Also in the second of two files, and where the place is a line within the rule."""
    block = b"redirects:\n  - type: BASIC\n    source: /d#x\n    target: /e\n    status: 301\n"
    snapshot = Folder({"redirects.yaml": _redirects(a="/b", b="/c"), "redirects/more.yaml": block}).snapshot
    found = check_snapshot(snapshot)
    subjects = find_subjects(snapshot, found)
    assert {problem.code: subject for problem, subject in zip(found, subjects, strict=True)} == {
        "chain": _rule("/a"),
        "fragment_in_source": _rule("/d#x"),
    }
    assert find_subjects(snapshot, [Problem("x", "", "shop/redirects/more.yaml", 4)]) == [_rule("/d#x")]


def test_a_failed_test_is_about_its_url() -> None:
    tests = b"tests:\n  - {url: /z, status: 404}\n  - {url: /a, status: 404}\n"
    snapshot = Folder({"redirects.yaml": _redirects(a="/b"), "tests.yaml": tests}).snapshot
    [failed] = check_snapshot(snapshot)
    assert find_subjects(snapshot, [failed]) == [Subject(None, "", "/a")]


def test_a_problem_of_a_file_or_beside_unread_rules_is_about_no_rule() -> None:
    """Guard: the rule before an unread one is not what its problem is about."""
    broken = _redirects(a="/b") + b"  - {type: BASIC, source: no slash, target: /c, status: 301}\n"
    snapshot = Folder({"redirects.yaml": broken, "a.xml": b""}).snapshot
    assert {problem.code for problem in snapshot.problems} >= {"unknown_file"}
    assert set(find_subjects(snapshot, snapshot.problems)) == {None}
    whole = Folder({"redirects.yaml": _redirects(a="/b")}).snapshot
    assert find_subjects(whole, [Problem("x", "", "shop/redirects.yaml", 1)]) == [None]  # before the first rule
