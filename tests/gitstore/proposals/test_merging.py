"""Merges of proposals: by rule, all projects or none, once, and under the policy of each project."""

import os
import signal
import threading

import pytest

from content.records.vocabulary import Kind
from gitstore.errors import (
    ApprovalRequired,
    Conflicts,
    Invalid,
    NotAllowed,
    NotFound,
    NothingToChange,
    NothingToPublish,
    StaleProposal,
    StoreError,
)
from gitstore.git import refs
from gitstore.git.repository import Author
from gitstore.layout import CommitId, proposal_id
from gitstore.proposals.branches import UpdateRequest
from gitstore.proposals.publishing import MergeResult, Scopes
from gitstore.publish.approval import Verdict
from gitstore.publish.authorship import ReviewSubject
from gitstore.pushes.push import Scope
from tests.gitstore.fixtures import ADA, BOB, SHOP, SPACE, Place, git, put, redirect, yaml
from tests.gitstore.proposals.branches import ALL, branches, merge, propose, state

KIM = Author("Kim", "kim@shop.example")
BOTH = {"shop/redirects.yaml": yaml([("/a", "/b")]), "blog/redirects.yaml": yaml([("/x", "/y")])}


@pytest.fixture
def two(place: Place) -> Place:
    """Return the namespace with the projects `shop` and `blog`."""
    return place.begin("blog")


def test_all_projects_are_published_as_one_commit(two: Place) -> None:
    """Each project has its own next number; the parents are release and the head; the branch goes."""
    before, head = two.tip, propose(two, "both", BOTH, text="Two at once\n\nWith a reason.")
    merged = merge(two, "both", by=BOB)
    assert two.git("rev-list", "--parents", "-1", "release").split() == [merged.commit, before, head]
    assert {name: (each.version, each.number) for name, each in merged.projects.items()} == {
        "blog": (merged.commit, 2),
        "shop": (merged.commit, 2),
    }
    assert (two.targets(), two.targets("blog")) == ({"/a": "/b"}, {"/x": "/y"})
    assert (two.state(), two.state("blog")) == ((merged.commit, 2), (merged.commit, 2))
    assert branches(two) == ["release"]
    assert two.git("log", "-1", "--format=%s|%an", "release") == "Two at once|Bob"
    assert two.git("log", "-1", "--format=%(trailers:key=Written-by,valueonly)", "release") == (
        "Plain Git <git@shop.example>"
    )
    two.fsck()


def test_numbers_of_all_projects_are_the_same_for_a_process_that_begins(two: Place) -> None:
    """The manifest of such a commit is the one that a process builds from Git alone."""
    propose(two, "both", BOTH)
    merge(two, "both")
    two.publish(put(redirect("/later")))
    state_of = {name: two.state(name) for name in (SHOP, "blog")}
    for path in sorted(two.paths.compiled.rglob("*")):
        if path.is_file():
            path.unlink()
    fresh = two.fresh()
    assert {name: fresh.state(name) for name in (SHOP, "blog")} == state_of
    history, total = fresh.store.publishes.history(SPACE, "blog", 0, 10)
    assert (total, [each.number for each in history]) == (2, [2, 1])


def test_one_invalid_project_stops_all(two: Place) -> None:
    """The problems of all projects are in the error, and nothing moves."""
    propose(two, "both", {**BOTH, "blog/redirects.yaml": yaml([("/x", "/x")]), "shop/pages.yaml": "pages: [\n"})
    before = two.git("for-each-ref")
    with pytest.raises(Invalid) as caught:
        merge(two, "both")
    assert {problem.file.partition("/")[0] for problem in caught.value.problems} == {"blog", "shop"}
    assert two.git("for-each-ref") == before
    assert two.targets() == {}


def test_a_conflict_in_one_project_stops_all(two: Place) -> None:
    two.publish(put(redirect("/a", "/old")))
    propose(two, "both", {**BOTH, "shop/redirects.yaml": yaml([("/a", "/mine")])})
    two.publish(put(redirect("/a", "/theirs")))
    before = two.git("for-each-ref")
    with pytest.raises(Conflicts) as caught:
        merge(two, "both")
    assert [(each["project"], each["kind"], each["field"]) for each in caught.value.conflicts] == [
        (SHOP, "redirect", "target")
    ]
    assert two.git("for-each-ref") == before


def test_changes_of_both_sides_are_kept_rule_by_rule(place: Place) -> None:
    """Another field of the same rule, and a new rule beside it."""
    place.publish(put(redirect("/a", "/old")), put(redirect("/b", "/old")))
    text = place.file("shop/redirects.yaml").replace("target: /old", "target: /mine", 1)
    propose(place, "sale", {"shop/redirects.yaml": text})
    place.publish(put(redirect("/b", "/theirs")), put(redirect("/c", "/new")))
    merge(place, "sale")
    assert place.targets() == {"/a": "/mine", "/b": "/theirs", "/c": "/new"}


def test_projects_are_added_and_removed(two: Place) -> None:
    two.publish(put(redirect("/a")))
    files = dict.fromkeys(two.git("ls-tree", "-r", "--name-only", "release", "blog/").split())
    propose(two, "move", {**files, "news/project.yaml": "project: {title: News}\n"})
    merged = merge(two, "move")
    assert {name: each.number for name, each in merged.projects.items()} == {"blog": 2, "news": 1}
    assert two.state("news") == (merged.commit, 1)
    with pytest.raises(NotFound):
        two.state("blog")


def test_the_removal_of_a_changed_project_is_a_conflict(two: Place) -> None:
    files = dict.fromkeys(two.git("ls-tree", "-r", "--name-only", "release", "blog/").split())
    propose(two, "drop", files)
    two.push({"blog/redirects.yaml": yaml([("/x", "/y")])})
    with pytest.raises(Conflicts) as caught:
        merge(two, "drop")
    assert [(each["project"], each["kind"], each["file"]) for each in caught.value.conflicts] == [
        ("blog", "file", "blog")
    ]


def test_files_beside_the_projects_are_merged_whole(two: Place) -> None:
    """They make no version; one that both changed is a conflict."""
    two.push({"README.md": "Base\n", "LICENSE": "Base\n", ".github/CODEOWNERS": "* @a\n"})
    number = two.state()[1]
    propose(two, "words", {"README.md": "Mine\n", ".github/CODEOWNERS": None})
    propose(two, "more", {"README.md": "Other\n"})
    two.push({"LICENSE": "Theirs\n"})
    merged = merge(two, "words")
    assert merged.projects == {}
    assert (two.file("README.md"), two.file("LICENSE")) == ("Mine\n", "Theirs\n")
    assert ".github" not in two.git("ls-tree", "--name-only", "release").split()
    assert two.state()[1] == number
    with pytest.raises(Conflicts) as caught:
        merge(two, "more")
    assert [each["file"] for each in caught.value.conflicts] == ["README.md"]


def test_a_link_beside_the_projects_is_refused(place: Place) -> None:
    clone = place.clone()
    (clone / "README.md").unlink()
    (clone / "README.md").symlink_to("/etc/passwd")
    git(clone, "add", "--all")
    git(clone, "commit", "--quiet", "--message", "Link")
    git(clone, "push", "--quiet", "origin", "HEAD:refs/heads/link")
    assert state(place, "link").value == "invalid"
    with pytest.raises(Invalid) as caught:
        merge(place, "link")
    assert [problem.code for problem in caught.value.problems] == ["not_a_file"]


def test_a_file_in_the_place_of_a_project_is_refused(place: Place) -> None:
    clone = place.clone()
    git(clone, "rm", "--quiet", "-r", "shop")
    (clone / "shop").write_text("no folder\n")
    git(clone, "add", "--all")
    git(clone, "commit", "--quiet", "--message", "File")
    git(clone, "push", "--quiet", "origin", "HEAD:refs/heads/file")
    assert state(place, "file").value == "invalid"
    with pytest.raises(Invalid, match="not a folder"):
        merge(place, "file")


def test_projects_that_differ_in_case_are_refused(place: Place) -> None:
    propose(place, "two", {"news/project.yaml": "project: {}\n", "News/project.yaml": "project: {}\n"})
    with pytest.raises(Invalid, match="differ only in case"):
        merge(place, "two")


@pytest.mark.parametrize(
    ("scopes", "grant"),
    [
        (Scopes(Scope(projects=frozenset({SHOP})), ALL, ALL), "project:publish in blog"),
        (Scopes(ALL, Scope(projects=frozenset({SHOP})), ALL), "project:override in blog"),
    ],
)
def test_a_grant_is_needed_in_every_project(two: Place, scopes: Scopes, grant: str) -> None:
    propose(two, "both", BOTH)
    with pytest.raises(NotAllowed, match=grant):
        merge(two, "both", scopes=scopes, override="urgent")
    assert two.targets() == {}


def test_new_projects_and_files_beside_need_more_than_publishing(two: Place) -> None:
    none = Scope()
    propose(two, "new", {"news/project.yaml": "project: {}\n"})
    propose(two, "words", {"README.md": "Mine\n"})
    for branch in ("new", "words"):
        with pytest.raises(NotAllowed, match="project:write"):
            merge(two, branch, scopes=Scopes(ALL, none, none))
    merge(two, "new", scopes=Scopes(ALL, none, Scope(projects=frozenset({"news"}))))


def test_an_override_for_files_beside_needs_its_grant_everywhere(two: Place) -> None:
    """They hold the signers of all projects, so the projects that a proposal changes tell nothing."""
    propose(two, "words", {"README.md": "Mine\n"})
    propose(two, "more", {"README.md": "Mine\n", **BOTH})
    some = Scopes(ALL, Scope(projects=frozenset({SHOP, "blog"})), ALL)
    before = two.tip
    for branch in ("words", "more"):
        with pytest.raises(NotAllowed, match="project:override in every project"):
            merge(two, branch, scopes=some, override="urgent")
    assert two.tip == before
    merge(two, "words", override="urgent")
    assert two.git("log", "-1", "--format=%(trailers:key=Override-reason,valueonly)", "release") == "urgent"


def test_a_policy_cannot_be_changed_without_the_grant(place: Place) -> None:
    text = "project:\n  title: Shop\n  policy: {lint: strict}\n"
    propose(place, "policy", {"shop/project.yaml": text})
    with pytest.raises(NotAllowed, match="policy"):
        merge(place, "policy", scopes=Scopes(ALL, Scope(), ALL))
    merge(place, "policy")


class Approvals:
    """Verdicts by project, with the subjects that they were asked for."""

    def __init__(self, *verdicts: tuple[str, Verdict]) -> None:
        self._verdicts = verdicts
        self.asked: list[tuple[str, ReviewSubject]] = []

    def __call__(self, project: str, subject: ReviewSubject) -> tuple[Verdict, ...]:
        """Return the verdicts on a project."""
        self.asked.append((project, subject))
        return tuple(verdict for name, verdict in self._verdicts if name == project)


def test_each_project_that_requires_it_needs_an_approval_of_this_head(two: Place) -> None:
    two.store.projects.change(SPACE, SHOP, {"review": "required"}, ADA)
    old = propose(two, "both", {"shop/redirects.yaml": yaml([("/a", "/z")])})
    head = propose(two, "both", BOTH)
    yes = Verdict(head, KIM, approves=True)
    own = Verdict(head, Author("Plain Git", "git@shop.example"), approves=True)
    for verdicts in ((), (("blog", yes),), ((SHOP, yes._replace(head=old)),), ((SHOP, own),)):
        with pytest.raises(ApprovalRequired, match="proposal"):
            merge(two, "both", verdicts=Approvals(*verdicts))
    approvals = Approvals((SHOP, yes))
    merge(two, "both", verdicts=approvals)
    assert {name for name, _ in approvals.asked} == {SHOP, "blog"}
    assert two.git("log", "-1", "--format=%(trailers:key=Approved-by,valueonly)", "release") == (
        "Kim <kim@shop.example>"
    )


def test_a_missing_approval_is_reported_before_conflicts(place: Place) -> None:
    """So a caller who may not merge it anyway need not resolve them first."""
    place.publish(put(redirect("/a", "/old")))
    place.store.projects.change(SPACE, SHOP, {"review": "required"}, ADA)
    propose(place, "sale", {"shop/redirects.yaml": yaml([("/a", "/mine")])})
    place.push({"shop/redirects.yaml": yaml([("/a", "/theirs")])})
    with pytest.raises(ApprovalRequired):
        merge(place, "sale")
    with pytest.raises(Conflicts):
        merge(place, "sale", override="outage")


def test_an_override_is_in_the_commit(place: Place) -> None:
    place.store.projects.change(SPACE, SHOP, {"review": "required"}, ADA)
    propose(place, "sale", {"shop/redirects.yaml": yaml([("/a", "/b")])})
    merge(place, "sale", override="outage")
    assert place.git("log", "-1", "--format=%(trailers:key=Override-reason,valueonly)", "release") == "outage"


def test_a_branch_that_moved_since_it_was_read_is_not_merged(place: Place) -> None:
    old = propose(place, "sale", {"shop/redirects.yaml": yaml([("/a", "/b")])})
    propose(place, "sale", {"shop/redirects.yaml": yaml([("/a", "/c")])})
    with pytest.raises(StaleProposal):
        merge(place, "sale", head=old)
    assert place.targets() == {}


def test_a_push_during_the_merge_is_kept(place: Place) -> None:
    """The branch with the new commit stays, and holds only the rest."""
    head = propose(place, "sale", {"shop/redirects.yaml": yaml([("/a", "/b")])})

    class Pushing(Approvals):
        def __call__(self, project: str, subject: ReviewSubject) -> tuple[Verdict, ...]:
            if "sale" not in pushed:
                pushed["sale"] = propose(place, "sale", {"shop/redirects.yaml": yaml([("/a", "/b"), ("/c", "/d")])})
            return super().__call__(project, subject)

    pushed: dict[str, CommitId] = {}
    merge(place, "sale", head=head, verdicts=Pushing())
    assert place.targets() == {"/a": "/b"}
    assert place.git("rev-parse", "sale") == pushed["sale"]
    merge(place, "sale")
    assert place.targets() == {"/a": "/b", "/c": "/d"}


def test_a_push_to_release_during_the_merge_is_merged_with(place: Place) -> None:
    """The merge is made again on top of it, under the same lock."""
    propose(place, "sale", {"shop/redirects.yaml": yaml([("/a", "/b")])})
    tips: list[str] = []

    class Pushing(Approvals):
        def __call__(self, project: str, subject: ReviewSubject) -> tuple[Verdict, ...]:
            if not tips:
                tips.append(place.push({"shop/pages.yaml": "pages: []\n", "README.md": "Pushed\n"}))
            return super().__call__(project, subject)

    merged = merge(place, "sale", verdicts=Pushing())
    assert place.git("rev-list", "--parents", "-1", merged.commit).split()[1] == tips[0]
    assert place.targets() == {"/a": "/b"}
    assert place.file("README.md") == "Pushed\n"


def test_a_repeated_merge_returns_the_same_publish(two: Place) -> None:
    head = propose(two, "both", BOTH)
    first = merge(two, "both", head=head)
    two.publish(put(redirect("/later")))
    for again in (merge(two, "both", head=head), merge(two, "both")):
        assert (again.commit, {name: each.number for name, each in again.projects.items()}) == (
            first.commit,
            {"blog": 2, "shop": 2},
        )
    with pytest.raises(NotFound):
        merge(two, "both", head="0" * 40)


def test_two_merges_at_once_are_one_publish(two: Place) -> None:
    head = propose(two, "both", BOTH)
    found: list[MergeResult | StoreError] = []

    def run() -> None:
        try:
            found.append(merge(two.fresh(), "both", head=head))
        except StoreError as ex:
            found.append(ex)

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({each.commit for each in found if isinstance(each, MergeResult)}) == 1
    assert [each for each in found if isinstance(each, StoreError)] == []
    assert two.git("rev-list", "--first-parent", "--count", "release", "--", "shop") == "2"


def test_a_publish_at_the_same_time_is_merged_with(two: Place) -> None:
    """Both land, in either order."""
    propose(two, "both", BOTH)
    two.save(put(redirect("/draft")))
    results: list[object] = []
    threads = [
        threading.Thread(target=lambda: results.append(merge(two.fresh(), "both"))),
        threading.Thread(target=lambda: results.append(two.fresh().publish())),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 2
    assert two.targets() == {"/a": "/b", "/draft": "/new"}
    assert two.state()[1] == 3


def test_a_kill_before_the_branch_is_removed_is_finished_by_the_repeat(two: Place) -> None:
    """The repeated request returns the publish, and removes the branch; so does the sweep."""
    head = propose(two, "both", BOTH)
    propose(two, "other", {"shop/redirects.yaml": yaml([("/o", "/p")])})
    for branch in ("both", "other"):
        child = os.fork()
        if not child:  # pragma: no cover - in a child that is killed
            refs.remove_ref = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
            merge(two.fresh(), branch)
            os._exit(1)
        assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    assert branches(two) == ["both", "other", "release"]
    assert state(two, "both").value == "merged"
    again = merge(two, "both", head=head)
    assert two.git("rev-list", "--parents", "-1", again.commit).split()[2] == head
    assert branches(two) == ["other", "release"]
    assert two.store.proposals.sweep(SPACE) == ["other"]
    assert branches(two) == ["release"]
    two.fsck()


def test_the_sweep_leaves_what_has_changes(place: Place) -> None:
    propose(place, "sale", {"shop/redirects.yaml": yaml([("/a", "/b")])})
    place.git("update-ref", "refs/heads/begun", "release")
    assert place.store.proposals.sweep(SPACE) == []
    assert branches(place) == ["begun", "release", "sale"]


def test_nothing_new_is_no_publish(place: Place) -> None:
    propose(place, "copied", {"shop/redirects.yaml": yaml([("/a", "/b")])})
    place.push({"shop/redirects.yaml": yaml([("/a", "/b")])})
    place.git("update-ref", "refs/heads/begun", "release")
    for branch in ("copied", "begun"):
        with pytest.raises(NothingToPublish):
            merge(place, branch)


def test_release_is_merged_into_the_branch(two: Place) -> None:
    """With two parents, by rule; then the branch is compared with the newer release."""
    two.publish(put(redirect("/a", "/old")), put(redirect("/b", "/old")))
    text = two.file("shop/redirects.yaml").replace("target: /old", "target: /mine", 1)
    head = propose(two, "sale", {"shop/redirects.yaml": text, "README.md": "Mine\n"})
    with pytest.raises(NothingToChange):
        two.store.proposals.update(SPACE, UpdateRequest(_id("sale"), BOB, ALL))
    two.publish(put(redirect("/b", "/theirs")))
    updated = two.store.proposals.update(SPACE, UpdateRequest(_id("sale"), BOB, ALL, head))
    assert updated == two.store.proposals.read(SPACE, _id("sale")), "it is shown as it is then, whatever becomes of it"
    new = updated.head
    assert two.git("rev-list", "--parents", "-1", "sale").split() == [new, head, two.tip]
    assert two.git("diff", "--name-only", "release", "sale").split() == ["README.md", "shop/redirects.yaml"]
    records = [each.wire() for each in two.store.revisions.records(SPACE, SHOP, Kind.REDIRECTS, "sale")]
    assert {each["source"]: each["target"] for each in records} == {"/a": "/mine", "/b": "/theirs"}
    with pytest.raises(StaleProposal):
        two.store.proposals.update(SPACE, UpdateRequest(_id("sale"), BOB, ALL, head))
    subject = two.store.proposals.report(SPACE, _id("sale")).projects[0].review_subject
    assert [author.email for author in subject.authors] == ["git@shop.example"]
    merge(two, "sale", head=new)
    two.fsck()


def test_an_update_with_conflicts_changes_nothing(place: Place) -> None:
    place.publish(put(redirect("/a", "/old")))
    head = propose(place, "sale", {"shop/redirects.yaml": yaml([("/a", "/mine")])})
    place.publish(put(redirect("/a", "/theirs")))
    with pytest.raises(Conflicts):
        place.store.proposals.update(SPACE, UpdateRequest(_id("sale"), BOB, ALL))
    assert place.git("rev-parse", "sale") == head


def test_a_proposal_is_deleted_by_those_who_may_write_it(two: Place) -> None:
    head = propose(two, "both", BOTH)
    with pytest.raises(NotAllowed):
        two.store.proposals.delete(SPACE, _id("both"), Scope(projects=frozenset({SHOP})))
    with pytest.raises(StaleProposal):
        two.store.proposals.delete(SPACE, _id("both"), ALL, "0" * 40)
    two.store.proposals.delete(SPACE, _id("both"), Scope(projects=frozenset({SHOP, "blog"})), head)
    assert branches(two) == ["release"]
    with pytest.raises(NotFound):
        two.store.proposals.delete(SPACE, _id("both"), ALL)


def test_a_damaged_branch_can_be_deleted(place: Place) -> None:
    (place.repo / "refs/heads/missing").write_text("1" * 40 + "\n")
    with pytest.raises(NotAllowed):
        place.store.proposals.delete(SPACE, _id("missing"), Scope(projects=frozenset({SHOP})))
    place.store.proposals.delete(SPACE, _id("missing"), ALL)
    assert branches(place) == ["release"]


def _id(branch: str) -> str:
    return proposal_id(f"refs/heads/{branch}")
