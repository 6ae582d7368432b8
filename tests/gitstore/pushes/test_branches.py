"""Pushes to drafts, proposals and tags, and to refs that cannot be pushed to."""

import pytest

from gitstore.layout import proposal_id
from gitstore.pushes.push import Pusher, PushRules, Scope
from tests.gitstore.fixtures import Place
from tests.gitstore.pushes.pushed import EDITOR, EVE, EVERYWHERE, Clone, rules

DRAFT = "refs/heads/draft/shop/main"
TOPIC = "refs/heads/topic/one"
SHOP_ONLY = Scope(projects=frozenset({"shop"}))
SHOP_EDITOR = Pusher(EVE, SHOP_ONLY, SHOP_ONLY)


@pytest.fixture
def clone(place: Place) -> Clone:
    """Return a clone of a namespace with two projects, by an editor."""
    place.begin("docs")
    clone = Clone.of(place)
    clone.pusher = EDITOR
    return clone


def test_a_draft_says_how_it_is_published(clone: Clone) -> None:
    clone.commit({"shop/redirects.yaml": rules(("/a", "/b"))})
    assert clone.push(DRAFT).lines == ("Draft main of shop: to publish it, waypost publish acme shop",)
    assert clone.check("refs/heads/draft/shop/other").lines[0].endswith("waypost publish acme shop --draft other")


def test_a_draft_may_be_invalid_forced_and_removed(clone: Clone) -> None:
    clone.commit({"shop/redirects.yaml": "redirects: ["})
    clone.push(DRAFT)
    clone.git("reset", "-q", "--hard", "HEAD~1")
    clone.commit({"shop/redirects.yaml": rules(("/a", "/b"))})
    clone.push(DRAFT)
    assert not clone.check(DRAFT, None).refusal


@pytest.mark.parametrize(("ref", "verb"), [(DRAFT, "published"), (TOPIC, "merged")])
def test_a_branch_with_problems_is_accepted_and_says_them(clone: Clone, ref: str, verb: str) -> None:
    clone.commit({"shop/redirects.yaml": rules(("/a", "/b"), ("/a", "/c"))})
    verdict = clone.check(ref)
    assert verdict.refusal == ""
    assert verdict.lines[0].startswith('shop/redirects.yaml:6:5: duplicate_source: "/a" is already at')
    assert verdict.lines[1] == f"1 problem; it cannot be {verb} until it is fixed."
    clone.commit({"shop/redirects.yaml": rules(*((f"/{n}", "nowhere") for n in range(60)))})
    lines = clone.check(ref).lines
    assert lines[49].startswith("shop/redirects.yaml:200:")
    assert lines[50:52] == ("… and 10 more", f"60 problems; it cannot be {verb} until they are fixed.")
    clone.commit({"shop/redirects.yaml": "redirects: [\n"})
    assert "shop/redirects.yaml:" in clone.check(ref).lines[0]


def test_a_branch_with_too_many_changes_is_not_checked(clone: Clone) -> None:
    """Its push would take long, and nothing is published by it."""
    padding = "# " + "x" * 98 + "\n"
    clone.commit({"shop/redirects.yaml": padding * 90_000 + rules(("/a", "/b"), ("/a", "/c"))})
    assert clone.check(TOPIC).lines[0] == "shop has too many changes to be checked here, so it may have problems."


@pytest.mark.parametrize("path", ["docs/redirects.yaml", "README.md"])
def test_a_draft_changes_its_own_project_only(clone: Clone, path: str) -> None:
    clone.pusher = clone.pusher._replace(settings=EVERYWHERE)
    clone.commit({"shop/redirects.yaml": rules(("/a", "/b")), path: "redirects: []\n# more\n"})
    verdict = clone.check(DRAFT)
    assert verdict.refusal == "changes more than its project"
    assert verdict.lines[1] == "Push it as a proposal: git push origin HEAD:refs/heads/<name>"


def test_a_draft_may_merge_release(clone: Clone) -> None:
    clone.commit({"shop/redirects.yaml": rules(("/a", "/b"))})
    clone.push(DRAFT)
    clone.git("checkout", "-q", "-b", "other", "origin/release")
    clone.commit({"docs/redirects.yaml": rules(("/d", "/e"))})
    clone.git("push", "-q", "origin", "HEAD:release")
    clone.git("checkout", "-q", "release")
    clone.git("merge", "-q", "-m", "Merge release", "other")
    clone.pusher = SHOP_EDITOR
    assert not clone.check(DRAFT).refusal


@pytest.mark.parametrize(
    ("ref", "refusal"),
    [
        ("refs/heads/draft/shop", "not a draft"),
        ("refs/heads/draft/shop/a/b", "not a draft"),
        ("refs/heads/draft/sh.op/a", "not a draft"),
        ("refs/heads/draft/lost/a", "no such project"),
        ("refs/heads/draft", "bad name"),
        ("refs/heads/Release", "bad name"),
        ("refs/heads/HEAD", "bad name"),
        ("refs/heads/a..b", "bad name"),
        ("refs/notes/waypost", "not a branch"),
        ("refs/replace/0123456789012345678901234567890123456789", "not a branch"),
        ("HEAD", "not a branch"),
        ("refs/heads/../heads/release", "bad name"),
    ],
)
def test_refs_that_cannot_be_pushed_to(clone: Clone, ref: str, refusal: str) -> None:
    assert clone.check_new(ref).refusal == refusal


def test_a_proposal_says_where_to_review_it(clone: Clone) -> None:
    clone.commit({"shop/redirects.yaml": rules(("/a", "/b")), "docs/redirects.yaml": rules(("/d", "/e"))})
    found = proposal_id(TOPIC)
    assert clone.check(TOPIC).lines == (
        f"Proposal {found} (topic/one) changes docs, shop.",
        f"Agents do not get it until it is merged. Review it: waypost proposal show acme {found}",
    )
    clone.rules = PushRules(proposal_address="https://w.example/proposal/{id}")
    assert (
        clone.check(TOPIC).lines[1]
        == f"Agents do not get it until it is merged. Review it: https://w.example/proposal/{found}"
    )


def test_the_grants_are_those_of_what_a_push_changes(clone: Clone) -> None:
    clone.commit({"docs/redirects.yaml": rules(("/d", "/e"))})
    clone.push(TOPIC)
    clone.pusher = SHOP_EDITOR
    assert clone.check(TOPIC, None).lines == (
        "The branch topic/one needs redirect:write on docs, which you do not have. Ask for it.",
    )
    clone.commit({"shop/redirects.yaml": rules(("/a", "/b"))})
    assert not clone.check(TOPIC).refusal, "docs is as it was pushed before"
    clone.commit({"docs/redirects.yaml": rules(("/d", "/f"))})
    assert clone.check(TOPIC).refusal == "not allowed"
    assert clone.check(TOPIC, "origin/release").refusal == "not allowed", "that removes the change of docs"
    assert clone.check("refs/heads/new", "HEAD").lines == (
        "The branch new needs redirect:write on docs, which you do not have. Ask for it.",
    )


def test_a_merge_of_release_needs_no_grant_for_other_files_of_the_same_project(clone: Clone) -> None:
    clone.commit({"shop/redirects.yaml": rules(("/a", "/b"))})
    clone.push(TOPIC)
    clone.git("checkout", "-q", "-b", "other", "origin/release")
    clone.commit({"shop/pages/x.txt": "x"})
    clone.git("push", "-q", "origin", "HEAD:release")
    clone.git("checkout", "-q", "release")
    clone.git("merge", "-q", "-m", "Merge release", "other")
    clone.pusher = Pusher(EVE, SHOP_ONLY)
    assert not clone.check(TOPIC).refusal


def test_a_rebase_needs_no_grant_for_what_release_changed(clone: Clone) -> None:
    clone.commit({"shop/redirects.yaml": rules(("/a", "/b"))})
    clone.push(TOPIC)
    clone.git("checkout", "-q", "-b", "other", "origin/release")
    clone.commit({"docs/redirects.yaml": rules(("/d", "/e"))})
    clone.git("push", "-q", "origin", "HEAD:release")
    clone.git("checkout", "-q", "release")
    clone.git("rebase", "-q", "other")
    clone.pusher = SHOP_EDITOR
    assert not clone.check(TOPIC).refusal


@pytest.mark.parametrize(
    ("path", "missing"),
    [
        ("shop/redirects/a.yaml", "redirect:write"),
        ("shop/pages/a.html", "page:write"),
        ("shop/robots.txt", "page:write"),
        ("shop/project.yaml", "project:write"),
        ("shop/tests.yaml", "redirect:write or page:write or project:write"),
        ("README.md", "project:write on every project (*)"),
    ],
)
def test_each_file_has_its_grant(clone: Clone, path: str, missing: str) -> None:
    clone.commit({path: "x"})
    clone.pusher = Pusher(EVE)
    assert clone.check(TOPIC).lines[0].startswith(f"The branch topic/one needs {missing}")
    scopes = {"redirect": 0, "page": 1, "project": 2}
    clone.pusher = Pusher(
        EVE, *[EVERYWHERE if at == scopes[missing.split(":", maxsplit=1)[0]] else Scope() for at in range(3)]
    )
    assert not clone.check(TOPIC).refusal


def test_who_may_write_nothing_may_push_nothing(clone: Clone) -> None:
    clone.pusher = Pusher(EVE)
    assert clone.check(TOPIC).refusal == "not allowed"
    assert clone.check("refs/tags/v1").refusal == "not allowed"


def test_unrelated_histories_are_refused(clone: Clone) -> None:
    clone.git("checkout", "-q", "--orphan", "alone")
    clone.commit({"shop/redirects.yaml": rules(("/a", "/b"))})
    assert clone.check(TOPIC).refusal == "no common history"


@pytest.mark.parametrize("name", ["release", "draft/shop/main", "topic/one"])
def test_a_tag_cannot_have_the_name_of_a_branch(clone: Clone, name: str) -> None:
    clone.commit({"shop/redirects.yaml": rules(("/a", "/b"))})
    clone.push(TOPIC)
    assert clone.check(f"refs/tags/{name}").refusal == "name is taken"


def test_a_branch_cannot_have_the_name_of_a_tag(clone: Clone) -> None:
    clone.push("refs/tags/topic/one")
    clone.commit({"shop/redirects.yaml": rules(("/a", "/b"))})
    assert clone.check(TOPIC).lines == ("There is a tag topic/one. Choose another name for the branch.",)


@pytest.mark.parametrize("name", ["a" * 40, "-x", "refs/heads/release", "HEAD", "@", "x\u202ey", "FETCH_HEAD"])
@pytest.mark.parametrize("kind", ["refs/heads/", "refs/tags/"])
def test_names_that_git_or_a_terminal_takes_for_something_else(clone: Clone, kind: str, name: str) -> None:
    clone.commit({"shop/redirects.yaml": rules(("/a", "/b"))})
    verdict = clone.check(f"{kind}{name}")
    assert verdict.refusal == "bad name"
    assert "\u202e" not in "".join(verdict.lines)


def test_a_removed_branch_says_how_to_bring_it_back(clone: Clone) -> None:
    head = clone.commit({"shop/redirects.yaml": rules(("/a", "/b"))})
    clone.push(TOPIC)
    assert clone.check(TOPIC, None).lines == (
        f"Removed topic/one, which was at {head}. To bring it back: git push origin {head}:{TOPIC}",
    )


@pytest.mark.parametrize(
    ("known", "other"),
    [
        (TOPIC, "refs/heads/Topic/one"),
        (DRAFT, "refs/heads/draft/shop/Main"),
        ("refs/heads/\u00e9", "refs/heads/e\u0301"),
    ],
)
def test_branches_differ_in_more_than_case_and_unicode_form(clone: Clone, known: str, other: str) -> None:
    """Also within one push; the branch itself still moves."""
    clone.commit({"shop/redirects.yaml": rules(("/a", "/b"))})
    assert [each.refusal for each in clone.check_all({known: "HEAD", other: "HEAD"})] == ["", "name is taken"]
    clone.push(known)
    refused = clone.check(other)
    assert refused.refusal == "name is taken"
    assert refused.lines[0].startswith(f"There is a branch {known.removeprefix('refs/heads/')}: ")
    assert not clone.check(known).refusal


def test_tags_name_commits_and_stay(clone: Clone) -> None:
    clone.git("tag", "-a", "-m", "One", "one")
    assert not clone.check("refs/tags/one", "one").refusal
    assert clone.check("refs/tags/blob", "HEAD:shop/project.yaml").refusal == "not a commit"
    assert clone.check(TOPIC, "one").refusal == "not a commit"
    clone.git("push", "-q", "origin", "one")
    clone.commit({"shop/redirects.yaml": rules(("/a", "/b"))})
    assert clone.check("refs/tags/one").refusal == "not allowed"
    assert clone.check("refs/tags/one", None).refusal == "not allowed"
    clone.pusher = clone.pusher._replace(settings=EVERYWHERE)
    assert not clone.check("refs/tags/one").refusal


def test_an_atomic_push_is_all_or_nothing(clone: Clone) -> None:
    clone.commit({"shop/redirects.yaml": rules(("/a", "/b"))})
    refs = {TOPIC: "HEAD", "refs/notes/x": "HEAD"}
    assert [each.refusal for each in clone.check_all(refs)] == ["", "not a branch"]
    assert [each.refusal for each in clone.check_all(refs, is_atomic=True)] == [
        "another ref of this atomic push is refused",
        "not a branch",
    ]


def test_a_ref_that_names_another_one_cannot_be_moved(clone: Clone) -> None:
    clone.place.git("symbolic-ref", "refs/heads/alias", "refs/heads/release")
    clone.commit({"shop/redirects.yaml": rules(("/a", "/b"))})
    assert clone.check_new("refs/heads/alias").refusal == "damaged ref"
