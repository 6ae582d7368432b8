"""Pushes to release: each commit passes the gate of a publish, or the whole push is refused."""

import pytest

from gitstore.pushes.push import Pusher, Scope
from tests.gitstore.fixtures import Place, put, redirect
from tests.gitstore.pushes.pushed import EVE, EVERYWHERE, PUBLISHER, RULE, Clone, rules

BOTH = Scope(projects=frozenset({"docs", "shop"}))
STRICT = "project:\n  title: Shop\n  policy:\n    lint: strict\n"
REVIEWED = "project:\n  title: Shop\n  policy:\n    review: required\n"
SIGNED = "project:\n  title: Shop\n  policy:\n    signatures: required\n"


@pytest.fixture
def clone(place: Place) -> Clone:
    """Return a clone of a namespace with two projects."""
    place.begin("docs")
    return Clone.of(place)


def test_a_valid_commit_is_a_publish(clone: Clone) -> None:
    clone.commit({"shop/redirects.yaml": rules(("/old", "/new"))})
    verdict = clone.push()
    assert verdict.lines == (
        "Publish 2 of shop: 1 redirect added.",
        f"  version {clone.head}",
        "  + redirect /old",
        "      type: BASIC",
        "      target: /new",
        "      status: MOVED_PERMANENT",
        "  answers: /old: nothing -> 301 /new",
    )
    assert [(each.project, each.number, each.commit) for each in verdict.publishes] == [("shop", 2, clone.head)]
    assert clone.place.fresh().targets() == {"/old": "/new"}


def test_each_problem_has_its_place_and_what_to_do(clone: Clone) -> None:
    clone.commit({"shop/redirects.yaml": rules(("/old", "/new"))})
    clone.push()
    clone.commit({"shop/redirects/2024.yaml": rules(("/x", "/y"), ("/z", "/y"), ("/w", "/y"), ("/old", "/other"))})
    verdict = clone.check()
    assert verdict.refusal == "invalid content"
    assert verdict.lines == (
        'shop/redirects/2024.yaml:14:5: duplicate_source: "/old" is already at shop/redirects.yaml:2',
        f"1 problem in commit {clone.head[:12]}. Fix it, then: git commit --amend",
    )


def test_a_removed_project_is_told_apart_from_removed_rules(clone: Clone) -> None:
    clone.git("rm", "-rq", "docs")
    clone.git("commit", "-q", "-m", "Remove the project")
    assert "  The project docs is removed; its agents get 404." in clone.push().lines


def test_rules_that_can_never_answer_are_counted(clone: Clone) -> None:
    first = RULE.format("/b", "/a")
    second = RULE.format("^/b$", "/z").replace("BASIC", "REGEX")
    clone.commit({"shop/redirects.yaml": f"redirects:\n{first}{second}"})
    assert clone.push().lines[-1] == "  1 rule can never answer: waypost validate --never-answer"


def test_at_most_fifty_problems_are_listed(clone: Clone) -> None:
    clone.commit({"shop/redirects.yaml": rules(*[(f"/{at}", "ftp://a/b") for at in range(60)])})
    verdict = clone.check()
    assert len(verdict.lines) == 52
    assert verdict.lines[0].startswith("shop/redirects.yaml:4:13: ")
    assert verdict.lines[50:] == (
        "… and 10 more",
        f"60 problems in commit {clone.head[:12]}. Fix them, then: git commit --amend",
    )


def test_text_from_content_cannot_control_the_terminal(clone: Clone) -> None:
    clone.commit({"shop/redirects.yaml": rules(("/\u202eevil", "/a"), ("/\u202eevil", "/b"))})
    verdict = clone.check()
    assert '"/\\u202eevil" is already' in verdict.lines[0]
    assert all(line.isprintable() for line in verdict.lines)
    clone.git("reset", "-q", "--hard", "HEAD~1")
    clone.commit({"shop/redirects.yaml": rules(("/\u202eevil", "/a"))})
    assert all(line.isprintable() for line in clone.check().lines)


def test_every_commit_passes_not_only_the_last_one(clone: Clone) -> None:
    bad = clone.commit({"shop/redirects.yaml": rules(("/a", "ftp://a/b"))})
    clone.commit({"shop/redirects.yaml": rules(("/a", "/b"))})
    verdict = clone.check()
    assert verdict.refusal == "invalid content"
    assert verdict.lines[-1] == f"1 problem in commit {bad[:12]}. Fix it there: git rebase -i {bad}~1"


def test_several_commits_are_several_publishes(clone: Clone) -> None:
    clone.commit({"shop/redirects.yaml": rules(("/a", "/b")), "docs/redirects.yaml": rules(("/d", "/e"))})
    clone.commit({"shop/redirects.yaml": rules(("/a", "/c"))})
    verdict = clone.push()
    assert [(each.project, each.number) for each in verdict.publishes] == [("docs", 2), ("shop", 2), ("shop", 3)]
    assert "  answers: /a: 301 /b -> 301 /c" in verdict.lines
    assert clone.place.fresh().targets() == {"/a": "/c"}
    assert clone.place.fresh().state()[1] == 3


def test_failing_tests_strict_lint_and_costly_patterns_refuse(clone: Clone) -> None:
    clone.commit({"shop/tests.yaml": "tests:\n  - url: /a\n    status: 301\n    location: /b\n"})
    assert "test_failed" in clone.check().lines[0]
    clone.git("reset", "-q", "--hard", "HEAD~1")
    clone.commit({"shop/project.yaml": STRICT})
    clone.push()
    clone.commit(
        {"shop/redirects.yaml": rules(("/a", "/b"), ("/b", "/c")), "shop/project.yaml": "project: {title: S}\n"}
    )
    verdict = clone.check()
    assert verdict.refusal == "invalid content"
    assert "chain" in verdict.lines[0]
    clone.git("reset", "-q", "--hard", "HEAD~1")
    costly = "redirects:\n  - type: REGEX\n    source: ^/(?:ab){1000}(?:cd){1000}(?:ef){1000}$\n    target: /a\n    status: 301\n"
    clone.commit({"shop/redirects.yaml": costly})
    assert "regex_too_costly" in clone.check().lines[0]


def test_a_push_that_changes_no_project_makes_no_version(clone: Clone) -> None:
    clone.commit({"README.md": "Hello\n", ".gitignore": "*.swp\n"})
    verdict = clone.push()
    assert (verdict.lines, verdict.publishes) == (("No project changes; no version was made.",), ())
    assert clone.place.fresh().state()[1] == 1


def test_release_moves_forward_along_first_parents_only(clone: Clone) -> None:
    base = clone.head
    clone.git("checkout", "-q", "-b", "side")
    clone.commit({"shop/redirects.yaml": rules(("/side", "/b"))})
    clone.git("checkout", "-q", "release")
    clone.commit({"docs/redirects.yaml": rules(("/d", "/b"))})
    clone.push()
    assert clone.check(new="side").refusal == "rebase onto release"
    clone.git("checkout", "-q", "side")
    clone.git("merge", "-q", "-m", "Merge release", "release")  # the wrong way round
    verdict = clone.check()
    assert verdict.refusal == "rebase onto release"
    assert verdict.lines == (
        "Release is merged into these commits, so it is not their first parent. Rebase onto release:",
        "  git fetch origin",
        "  git rebase origin/release",
        "  git push origin HEAD:release",
    )
    assert clone.check(new=base).refusal == "rebase onto release"
    assert clone.check(new=None).refusal == "release cannot be deleted"
    clone.git("checkout", "-q", "release")
    clone.git("merge", "-q", "--no-ff", "-m", "Merge the side", "side~1")
    assert not clone.check().refusal


def test_a_lost_race_is_refused(clone: Clone) -> None:
    clone.commit({"shop/redirects.yaml": rules(("/a", "/b"))})
    clone.place.publish(put(redirect("/first", "/b")))
    verdict = clone.check_stale()
    assert verdict.refusal == "fetch first"


@pytest.mark.parametrize(
    ("pusher", "missing"),
    [
        (Pusher(EVE, redirects=EVERYWHERE, settings=EVERYWHERE), "project:publish on shop"),
        (Pusher(EVE, pages=EVERYWHERE, settings=EVERYWHERE, publish=EVERYWHERE), "redirect:write on shop"),
        (Pusher(EVE, redirects=EVERYWHERE, publish=EVERYWHERE), "page:write on shop, project:write on shop"),
        (
            Pusher(EVE, BOTH, BOTH, BOTH, publish=Scope(projects=frozenset({"docs"}))),
            "project:publish on shop, project:write on every project (*)",
        ),
    ],
)
def test_a_push_needs_the_grants_of_all_that_it_changes(clone: Clone, pusher: Pusher, missing: str) -> None:
    clone.pusher = pusher
    settings = {"shop/pages/a.yaml": "pages: []\n", "shop/project.yaml": "project: {title: New}\n"}
    beside = {"README.md": "x"} if "(*)" in missing else {}
    more = settings if "page" in missing else {}
    clone.commit({"shop/redirects.yaml": rules(("/a", "/b")), **more, **beside})
    verdict = clone.check()
    assert verdict.refusal == "not allowed"
    why = f"This push to release needs {missing}, which you do not have. Ask for it"
    propose = (f"{why}, or propose the change:", "  git push origin HEAD:refs/heads/<name>")
    is_proposal_allowed = not clone.check("refs/heads/idea").refusal
    assert verdict.lines == (propose if is_proposal_allowed else (f"{why}.",))
    assert is_proposal_allowed == (missing == "project:publish on shop")


@pytest.mark.parametrize("text", [REVIEWED, STRICT, SIGNED], ids=["review", "lint", "signatures"])
def test_a_changed_policy_needs_the_override_grant(clone: Clone, text: str) -> None:
    clone.commit({"shop/project.yaml": text})
    clone.pusher = PUBLISHER
    verdict = clone.check()
    assert verdict.refusal == "policy"
    assert "project:override" in verdict.lines[0]


def test_a_message_cannot_claim_a_publish_of_the_service(clone: Clone) -> None:
    clone.commit({"shop/redirects.yaml": rules(("/a", "/b"))}, "Add a\n\nApproved-by: Ada <ada@shop.example>")
    assert clone.check().refusal == "reserved trailer"


def test_names_of_projects_ignore_case(clone: Clone) -> None:
    clone.commit({"SHOP/project.yaml": "project: {title: Shop}\n"})
    verdict = clone.check()
    assert verdict.refusal == "invalid files"
    assert verdict.lines[0].startswith("SHOP: path_taken: ")


def test_a_project_is_renamed_in_case_only(clone: Clone) -> None:
    clone.git("mv", "docs", "docs2")
    clone.git("mv", "docs2", "Docs")
    clone.git("commit", "-q", "-m", "Rename the project")
    assert [each.project for each in clone.push().publishes] == ["Docs", "docs"]
    assert clone.place.fresh().state("Docs") == (clone.head, 1)
    assert clone.check().refusal == ""


def test_a_rewound_release_is_not_pushed_to(clone: Clone) -> None:
    clone.commit({"shop/redirects.yaml": rules(("/a", "/b"))})
    clone.push()
    assert clone.place.fresh().targets() == {"/a": "/b"}
    clone.place.git("update-ref", "refs/heads/release", "release~1")
    clone.git("reset", "-q", "--hard", "HEAD~1")
    clone.commit({"shop/redirects.yaml": rules(("/b", "/c"))})
    assert clone.check().refusal == "release was rewound"


def test_a_large_push_says_what_is_checked(clone: Clone) -> None:
    clone.commit({"shop/redirects.yaml": rules(("/a", "/b"))})
    assert not clone.check().refusal
    assert clone.progress == []
    padding = ("# " + "x" * 98 + "\n") * 45_000
    clone.commit({"shop/redirects.yaml": padding + rules(("/a", "/b"), ("/c", "/d"))})
    clone.git("reset", "-q", "--soft", "origin/release")
    clone.commit({})
    assert not clone.check().refusal
    assert clone.progress == ["Reading the rules of shop", "Checking 2 rules of shop"]
