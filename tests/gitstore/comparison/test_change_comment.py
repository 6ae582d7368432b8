"""The comment on a pull request: counts, the riskiest first, all others folded, within a limit, and text as it is."""

import re
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from content.changes.diff import Change, ChangeType, diff
from content.changes.impact import Impact, RuleSet, find_impact
from content.changes.risk import Risk, response_risk
from content.matching.matcher import Matcher
from content.matching.rule_book import RuleBook
from content.records.problem import Problem
from content.records.record import Placed, Redirect
from content.records.vocabulary import Kind, RedirectStatus, RedirectType
from gitstore.comparison.change_comment import MAX_BYTES, comment_marker, render_comment
from gitstore.comparison.file_changes import FileChange, describe_file
from gitstore.comparison.project_changes import ProjectChanges


def redirect(source: str, target: str, status: str = "FOUND", of_type: str = "BASIC", note: str = "") -> Redirect:
    return Redirect(RedirectType(of_type), source, target, RedirectStatus(status), note)


def rules(redirects: Sequence[Redirect]) -> RuleSet:
    placed = [Placed(each, "shop/redirects.yaml", number + 2, number) for number, each in enumerate(redirects)]
    return RuleSet(Matcher(RuleBook(placed, ())), placed, ())


def compare(
    old: Sequence[Redirect],
    new: Sequence[Redirect],
    name: str = "shop",
    problems: Sequence[Problem] = (),
    tests: int = 0,
) -> ProjectChanges:
    changes = diff(Kind.REDIRECTS, *({each.source: each for each in side} for side in (old, new)))
    impact = find_impact(rules(old), rules(new), changes)
    return ProjectChanges(name, ChangeType.CHANGED, changes, (), impact, problems, tests)


def only(*changes: Change, files: Sequence[FileChange] = ()) -> ProjectChanges:
    return ProjectChanges("shop", ChangeType.CHANGED, changes, files, Impact((), (), ()), (), 0)


OLD = [
    redirect("/lost", "/a"),
    redirect("/host", "/b"),
    redirect("/kept", "/c"),
    redirect("/plain", "/d"),
    redirect("^/r/(.*)$", "/e/$1", of_type="REGEX"),
    redirect("/chained", "/f"),
]
NEW = [
    redirect("/host", "https://other.example/b"),
    redirect("/kept", "/c", "MOVED_PERMANENT"),
    redirect("/plain", "/d2"),
    redirect("^/r/(.*)$", "/e2/$1", of_type="REGEX"),
    redirect("/chained", "/f"),
    redirect("/f", "/g"),
]


def test_the_riskiest_changes_come_first() -> None:
    comment = render_comment([compare(OLD, NEW, tests=3)])
    assert comment.startswith(
        "<!-- waypost-diff: . -->\n\n### Redirects and pages: 1 redirect added, 4 redirects changed, 1 redirect removed\n"
    )
    assert (
        "| `shop` | 1 redirect added, 4 redirects changed, 1 redirect removed | 5 (1 lost) | 1 chain | 3 passed |"
        in comment
    )
    table = comment.split("| risk |")[1].split("<details>")[0]
    assert re.findall(r"^\| ([a-z ]+?) \|", table, re.MULTILINE) == [
        "no answer any more",
        "leads to another host",
        "regular expression changed",
        "permanent now",
        "chain",
        "another answer",
    ]
    assert "| no answer any more | `/lost` | `302 /a` → nothing |" in table
    assert "| regular expression changed | `^/r/(.*)$` in `shop` | target `/e/$1` → `/e2/$1` |" in table


def test_errors_and_failed_tests_are_above_all() -> None:
    problems = [
        Problem("test_failed", "/a should get 301, but gets 404: no rule matches", "shop/tests.yaml", 4),
        Problem("bad_host", "the host is missing", "shop/redirects.yaml", 7),
    ]
    broken = ProjectChanges("shop", ChangeType.CHANGED, (), (), None, problems, 5, is_compared=False)
    comment = render_comment([broken, compare(OLD, NEW, "docs", problems[:1], tests=5)])
    assert ", 1 error, 2 failed tests\n" in comment
    assert "| `shop` | unknown: a changed file has errors | unknown | 1 error | not run: errors |" in comment
    assert "| `docs` | " in comment
    assert "| **1 of 5 failed** |" in comment
    risks = re.findall(r"^\| (failed test|error|no answer any more)", comment.split("| risk |")[1], re.MULTILINE)
    assert risks[:4] == ["failed test", "error", "failed test", "no answer any more"]


def test_a_comment_with_10_000_changes_fits_and_tells_how_many_more() -> None:
    new = [redirect(f"/old/{n}", f"https://é.example/{'x' * 150}/{n}") for n in range(10_000) if n % 10]
    old = [redirect(f"/old/{n}", f"/t/{n}") for n in range(10_000)]
    comment = render_comment([compare(old, new)])
    assert len(comment.encode()) <= MAX_BYTES
    assert len(comment) < 65_536
    assert "| no answer any more | … and 992 more | |" in comment
    assert "<summary>10,000 requests with another answer</summary>" in comment
    assert comment.count("<details>") == comment.count("</details>") == 2
    shown = comment.count("\n| changed | `/old/") + comment.count("\n| removed | `/old/")
    assert f"… and {10_000 - shown:,} more." in comment
    assert shown > 20
    head = comment.partition("<details>")[0]
    assert len(head.splitlines()) < 40


def test_a_comment_on_many_projects_fits() -> None:
    comment = render_comment([compare(OLD, NEW, f"project-{number}") for number in range(500)])
    assert len(comment.encode()) <= MAX_BYTES
    assert "… and 460 other projects." in comment
    assert "other tables." in comment


def test_without_changes_the_comment_says_so() -> None:
    same = compare(OLD, OLD)
    assert (
        render_comment([same], "Since `abc`.")
        == "<!-- waypost-diff: . -->\n\n### Redirects and pages: no rule changed\n\nSince `abc`.\n"
    )


def test_settings_and_other_files_are_listed() -> None:
    files = [FileChange("shop/project.yaml", ChangeType.CHANGED, {"title": ("Shop", "@all")})]
    assert "| changed | `shop/project.yaml` | title `Shop` → `@all` |" in render_comment([only(files=files)])


def test_tests_are_listed_with_what_they_expect() -> None:
    old = b"tests:\n- {url: /a, status: 301, location: /b}\n- {url: /gone, status: 404}\n"
    new = b"tests:\n- {url: /a, status: 302}\n"
    comment = render_comment([only(files=[describe_file("shop/tests.yaml", ChangeType.CHANGED, old, new)])])
    assert "<summary>2 tests changed</summary>" in comment
    assert "| changed | `/a` | `301 /b` → `302` | `shop/tests.yaml` |" in comment
    assert "| removed | `/gone` | `404` | `shop/tests.yaml` |" in comment


def test_the_marker_is_one_word_in_a_comment() -> None:
    assert comment_marker("a b--c/-->d") == "<!-- waypost-diff: a%20b-%2Dc/-%2D%3Ed -->"
    assert comment_marker("") == "<!-- waypost-diff: . -->"


def test_risks_of_answers() -> None:
    def risk(before: Redirect | None, after: Redirect | None) -> Risk:
        project = compare([before] if before else [], [after] if after else [])
        assert project.impact
        (response,) = project.impact.changed_responses
        return response_risk(response)

    own, other = "https://a.example/x", "https://b.example/x"
    assert risk(redirect("/a", own), redirect("/a", other)) is Risk.HOST
    assert risk(redirect("/a", own), redirect("/a", "https://A.example/y")) is Risk.CHANGED
    host = redirect("s.example/a", "https://t.example/", of_type="BASIC_HOST")
    assert risk(host, redirect("s.example/a", "https://s.example/b", of_type="BASIC_HOST")) is Risk.CHANGED
    assert risk(None, redirect("/a", other)) is Risk.NEW_HOST
    assert risk(None, redirect("/a", "/x")) is Risk.ADDED
    assert risk(redirect("/a", "/x"), redirect("/a", "/x", "PERMANENT_REDIRECT")) is Risk.PERMANENT
    assert risk(redirect("/a", "/x", "MOVED_PERMANENT"), redirect("/a", "/x", "PERMANENT_REDIRECT")) is Risk.CHANGED


NASTY = st.text(st.sampled_from(list("a`|<>&@#*_[]()!\\\n\r\t\x1b\u202e/~$:-\"' é")), min_size=1, max_size=20)


def without_code(comment: str) -> str:
    """Remove all code, as a host does before it looks for mentions, links and markup: what is left is ours."""
    left = re.sub(r"<code>[A-Za-z0-9 /.&#;]*</code>", "", comment)
    return re.sub(r"`[^`\n]+`", "", left)


@given(st.lists(st.tuples(NASTY, NASTY, NASTY), min_size=1, max_size=5, unique_by=lambda each: each[0]))
def test_no_text_of_a_rule_is_markup(texts: list[tuple[str, str, str]]) -> None:
    changes = [Change(Kind.REDIRECTS, None, redirect(*text[:2], note=text[2])) for text in texts]
    problem = Problem("bad_host", texts[0][2], texts[0][1], 3)
    files = [FileChange(texts[0][0], ChangeType.ADDED)]
    project = ProjectChanges(texts[0][0], ChangeType.CHANGED, changes, files, None, [problem], 0)
    comment = render_comment([project])
    for line in without_code(comment).splitlines():
        assert not re.search(r"[`@\[\]*_\\~\x1b\u202e]", line.replace("**", "")), line
        assert re.match(r"(\||#|<!-- |<details>|</details>|… |$)", line), line
    added = [line for line in comment.splitlines() if line.startswith("| added |")]
    assert {line.count("|") for line in added} == {4}  # also in code, a | would end the cell
    assert re.sub(r"</?(details|summary)>|<!-- waypost-diff: \. -->", "", without_code(comment)).count("<") == 0
