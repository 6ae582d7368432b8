"""Proposals in lists and reports: which branches they are, what they change, and their states."""

import hashlib
import time

import pytest

from content.changes.diff import Counts
from content.records.vocabulary import Kind
from gitstore.drafts.drafts import DraftName
from gitstore.errors import AlreadyExists, BadRequest, NotFound, StaleDraft, StaleProposal
from gitstore.layout import proposal_id
from gitstore.proposals.branches import UpdateRequest
from gitstore.proposals.report import ProposalState
from tests.gitstore.fixtures import ADA, MAIN, SHOP, SPACE, Place, git, put, redirect, yaml
from tests.gitstore.proposals.branches import ALL, branches, merge, propose, report, state


def test_every_branch_but_release_and_drafts_is_a_proposal(place: Place) -> None:
    """The id is the first 16 hex digits of the SHA-256 of the branch's name; packed branches are listed too."""
    place.save(put(redirect("/draft")))
    propose(place, "sale", {"shop/redirects.yaml": yaml([("/a", "/b")])})
    propose(place, "team/drafts", {"shop/redirects.yaml": yaml([("/c", "/d")])})
    place.git("pack-refs", "--all")
    propose(place, "later", {"README.md": "Hello\n"})
    place.git("symbolic-ref", "refs/heads/alias", "refs/heads/release")
    found = {each.branch: each.id for each in place.store.proposals.all(SPACE)}
    assert found == {name: hashlib.sha256(name.encode()).hexdigest()[:16] for name in ("sale", "team/drafts", "later")}


def test_the_newest_is_first(place: Place) -> None:
    """By the time of the head; title and author are those of the oldest commit that is not a merge."""
    clone = place.clone()
    for name, day in (("new", 3), ("old", 1), ("middle", 2)):
        git(clone, "checkout", "--quiet", "--detach", "origin/release")
        (clone / "shop/redirects.yaml").write_text(yaml([(f"/{name}", "/b")]))
        date = f"2024-01-0{day}T00:00:00Z"
        git(clone, "add", "--all")
        tree = git(clone, "write-tree")
        data = (
            f"tree {tree}\nparent {place.tip}\nauthor Kim <kim@shop.example> {1_704_067_200 + day * 86_400} +0000\n"
            f"committer Kim <kim@shop.example> {1_704_067_200 + day * 86_400} +0000\n\nThe {name}\n\nMore of {date}\n"
        )
        commit = git(clone, "hash-object", "-t", "commit", "-w", "--stdin", data=data.encode())
        git(clone, "push", "--quiet", "origin", f"{commit}:refs/heads/{name}")
    found = place.store.proposals.all(SPACE)
    assert [(each.branch, each.title, each.author.name) for each in found] == [
        ("new", "The new", "Kim"),
        ("middle", "The middle", "Kim"),
        ("old", "The old", "Kim"),
    ]


def test_a_proposal_has_the_title_of_its_first_commit_and_lists_all(place: Place) -> None:
    """Also after a merge of release into it: what others have published before is no commit of the branch."""
    first = propose(place, "sale", {"shop/redirects.yaml": yaml([("/a", "/b")])}, text="The sale\n\nFor May.")
    second = propose(place, "sale", {"shop/redirects.yaml": yaml([("/a", "/c")])}, text="Fix tests")
    for number in range(3):
        place.publish(put(redirect(f"/other-{number}")))
    place.store.proposals.update(SPACE, UpdateRequest(proposal_id("refs/heads/sale"), ADA, ALL))
    found = report(place, "sale")
    assert (found.proposal.title, found.message) == ("The sale", "The sale\n\nFor May.")
    assert [(each.id, each.subject) for each in found.newest if each.subject != "Merge release into sale"] == [
        (second, "Fix tests"),
        (first, "The sale"),
    ]
    assert found.commits == len(found.newest) == 3
    assert found.merge_message == "The sale\n\nFor May.\n\nMerge the branch sale."
    published = merge(place, "sale").commit
    assert place.git("log", "-1", "--format=%B", published).startswith(found.merge_message)


def test_a_report_has_the_changes_of_each_project(place: Place) -> None:
    place.begin("blog")
    propose(
        place,
        "both",
        {
            "shop/redirects.yaml": yaml([("/a", "/b"), ("/c", "/d")]),
            "blog/redirects.yaml": yaml([("/x", "/y")]),
            "README.md": "Hello\n",
        },
    )
    found = report(place, "both")
    assert {each.name: (each.counts or {}).get(Kind.REDIRECTS) for each in found.projects} == {
        "blog": Counts(1, 0, 0),
        "shop": Counts(2, 0, 0),
    }
    assert [(each.file, each.change.value) for each in found.files] == [("README.md", "changed")]
    assert [author.email for author in found.authors] == ["git@shop.example"]
    assert (found.commits, found.state(0.0)) == (1, ProposalState.OPEN)


def test_changes_on_release_since_are_not_the_proposals(place: Place) -> None:
    propose(place, "sale", {"shop/redirects.yaml": yaml([("/a", "/b")])})
    place.begin("blog").publish(put(redirect("/other")))
    found = report(place, "sale")
    assert [(each.name, (each.counts or {}).get(Kind.REDIRECTS)) for each in found.projects] == [
        ("shop", Counts(1, 0, 0))
    ]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"shop/redirects.yaml": yaml([("/a", "/b")])}, ProposalState.OPEN),
        ({"shop/redirects.yaml": "redirects: [\n"}, ProposalState.INVALID),
        ({"shop/redirects.yaml": yaml([("/a", "/a")])}, ProposalState.INVALID),
        ({"README.md": "Hello\n"}, ProposalState.OPEN),
        ({"blog/project.yaml": "project: {title: Blog}\n"}, ProposalState.OPEN),
    ],
)
def test_the_state_says_whether_it_can_be_merged(place: Place, files: dict[str, str], expected: ProposalState) -> None:
    propose(place, "sale", files)
    assert state(place, "sale") is expected
    if expected is ProposalState.OPEN:
        merge(place, "sale")


def test_a_field_that_both_changed_is_a_conflict(place: Place) -> None:
    place.publish(put(redirect("/a", "/old")))
    propose(place, "sale", {"shop/redirects.yaml": yaml([("/a", "/mine")])})
    assert state(place, "sale") is ProposalState.OPEN
    place.publish(put(redirect("/a", "/theirs")))
    assert state(place, "sale") is ProposalState.CONFLICTS
    [conflict] = report(place, "sale").projects[0].conflicts
    assert (conflict["project"], conflict["source"], conflict["field"]) == (SHOP, "/a", "target")
    assert (conflict["base"], conflict["release"], conflict["draft"]) == ("/old", "/theirs", "/mine")


def test_only_the_report_on_one_proposal_has_the_texts_of_files_in_conflict(place: Place) -> None:
    place.push({"shop/page.html": "Old\n"})
    propose(place, "sale", {"shop/page.html": "Mine\n"})
    place.push({"shop/page.html": "Theirs\n"})
    proposal = place.store.proposals.read(SPACE, proposal_id("refs/heads/sale"))
    [[listed]] = [each.projects for each in place.store.proposals.reports(SPACE, [proposal])]
    [shown] = place.store.proposals.report_with_texts(SPACE, proposal).projects
    assert [each.get("texts") for each in listed.conflicts] == [None]
    assert [each["texts"] for each in shown.conflicts] == [{"base": "Old\n", "release": "Theirs\n", "draft": "Mine\n"}]


def test_a_file_that_cannot_be_read_has_no_counts(place: Place) -> None:
    """Its rules are not removed; the problem has its place."""
    place.publish(put(redirect("/a", "/old")))
    propose(place, "sale", {"shop/redirects.yaml": "redirects: [\n"})
    [found] = report(place, "sale").projects
    assert found.counts is None
    assert [problem.file for problem in found.problems] == ["shop/redirects.yaml"]
    assert all(problem.line for problem in found.problems)


def test_an_old_head_is_stale_and_merges_all_the_same(place: Place) -> None:
    propose(place, "sale", {"shop/redirects.yaml": yaml([("/a", "/b")])})
    assert state(place, "sale", time.time() + 60) is ProposalState.STALE
    assert state(place, "sale", time.time() - 60) is ProposalState.OPEN
    merge(place, "sale")


def test_what_release_has_already_is_merged(place: Place) -> None:
    """A branch whose head release has is merged, and one whose changes release has."""
    head = propose(place, "copied", {"shop/redirects.yaml": yaml([("/a", "/b")])})
    place.push({"shop/redirects.yaml": yaml([("/a", "/b")])})
    place.git("update-ref", "refs/heads/begun", "release")
    place.git("update-ref", "refs/heads/same", head)
    assert state(place, "begun") is ProposalState.MERGED
    assert state(place, "copied") is ProposalState.MERGED


def test_a_branch_of_another_history_is_invalid(place: Place) -> None:
    commit = place.git("commit-tree", "-m", "Alone", place.git("rev-parse", "release^{tree}"))
    place.git("update-ref", "refs/heads/alone", commit)
    found = report(place, "alone")
    assert found.state(0.0) is ProposalState.INVALID
    assert "shares no history" in found.fault


def test_a_damaged_branch_hides_no_other(place: Place) -> None:
    propose(place, "sale", {"shop/redirects.yaml": yaml([("/a", "/b")])})
    (place.repo / "refs/heads/broken").write_text("")
    (place.repo / "refs/heads/missing").write_text("1" * 40 + "\n")
    found = {each.branch: bool(each.fault) for each in place.store.proposals.all(SPACE)}
    assert found == {"sale": False, "broken": True, "missing": True}
    assert state(place, "broken") is ProposalState.INVALID


def test_a_proposal_is_a_state_wherever_one_is_named(place: Place) -> None:
    """`proposal/ID` names it in matches, lints and differences."""
    propose(place, "sale", {"shop/redirects.yaml": yaml([("/a", "/b")])})
    at = f"proposal/{proposal_id('refs/heads/sale')}"
    revisions = place.store.revisions
    assert [each.identity for each in revisions.records(SPACE, SHOP, Kind.REDIRECTS, at)] == ["/a"]
    assert [each.identity for each in revisions.diff(SPACE, SHOP, "base", at)[Kind.REDIRECTS]] == ["/a"]
    assert revisions.lint(SPACE, SHOP, at) == []
    with pytest.raises(NotFound, match="no proposal"):
        revisions.lint(SPACE, SHOP, "proposal/0123456789abcdef")


def test_a_draft_becomes_a_proposal(place: Place) -> None:
    """The branch is at the draft's head; the draft stays, and ends with the merge."""
    head = place.save(put(redirect("/a")))
    made = place.store.proposals.create(SPACE, "team/sale", MAIN, head)
    assert (made.head, made.branch, made.projects) == (head, "team/sale", (SHOP,))
    with pytest.raises(AlreadyExists):
        place.store.proposals.create(SPACE, "team/sale", MAIN)
    with pytest.raises(AlreadyExists):
        place.store.proposals.create(SPACE, "Team/Sale", MAIN)
    merge(place, "team/sale", head=head)
    assert place.targets() == {"/a": "/new"}
    assert place.store.drafts.report(SPACE, MAIN).state.head is None


@pytest.mark.parametrize("name", ["release", "draft", "draft/shop/x", "", "a..b", "a b", "-", "x.lock", "/x", "x\x7f"])
def test_some_names_are_no_branch_of_a_proposal(place: Place, name: str) -> None:
    place.save(put(redirect("/a")))
    before = branches(place)
    if name == "-":
        name = "refs~"
    with pytest.raises(BadRequest):
        place.store.proposals.create(SPACE, name, MAIN)
    assert branches(place) == before


def test_a_proposal_needs_the_draft_at_its_head(place: Place) -> None:
    with pytest.raises(NotFound):
        place.store.proposals.create(SPACE, "sale", MAIN)
    old = place.save(put(redirect("/a")))
    place.save(put(redirect("/b")))
    with pytest.raises(StaleDraft):
        place.store.proposals.create(SPACE, "sale", MAIN, old)
    with pytest.raises(NotFound):
        place.store.proposals.create(SPACE, "sale", DraftName("none", "main"))


def test_a_report_names_the_head_that_it_is_of(place: Place) -> None:
    old = propose(place, "sale", {"shop/redirects.yaml": yaml([("/a", "/b")])})
    new = propose(place, "sale", {"shop/redirects.yaml": yaml([("/a", "/c")])})
    assert report(place, "sale").proposal.head == new
    with pytest.raises(StaleProposal):
        place.store.proposals.read(SPACE, proposal_id("refs/heads/sale"), old)
