"""Conflicts of a proposal with release are resolved by choices, all at once, by the rules of a draft's conflicts."""

import random
import threading
from collections.abc import Mapping
from cProfile import Profile
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from content.records.vocabulary import Kind
from gitstore.drafts.editing.edits import Delete, Edit
from gitstore.errors import Conflicts, Invalid, NotFound, NothingToChange, StaleProposal, StaleVersion, StoreError
from gitstore.layout import CommitId, proposal_id
from gitstore.merge.choices import Choice, key_of
from gitstore.merge.resolving import ResolveRequest
from gitstore.proposals.branches import UpdateRequest
from gitstore.proposals.proposal import require_intact
from tests.gitstore.fixtures import BOB, MAIN, SHOP, SPACE, Place, create_place, put, redirect, yaml
from tests.gitstore.merge.test_resolving import OTHER, decided, fields_of, naive, side
from tests.gitstore.proposals.branches import ALL, merge, propose, report
from tests.rounds import rounds

Conflict = Mapping[str, Any]
PAGE = "pages:\n  - {type: BASIC, path: /a, contentType: TEXT_PLAIN, "


@pytest.fixture
def two(place: Place) -> Place:
    """Return two projects and a file beside them which the branch `sale` and release have changed differently."""
    rules = yaml([(f"/{letter}", "/base") for letter in "abc"])
    place.begin("blog").push({"shop/redirects.yaml": rules, "blog/redirects.yaml": rules, "README.md": "Base\n"})
    mine = {
        "shop/redirects.yaml": rules.replace("/base", "/mine", 2),
        "blog/redirects.yaml": rules.replace("/base", "/mine", 1),
    }
    propose(place, "sale", {**mine, "README.md": "Mine\n"})
    theirs = rules.replace("/base", "/theirs")
    place.push({"shop/redirects.yaml": theirs, "blog/redirects.yaml": theirs, "README.md": "Theirs\n"})
    return place


def conflicts(place: Place, branch: str = "sale") -> list[Conflict]:
    found = report(place, branch)
    return [*found.conflicts, *(each for project in found.projects for each in project.conflicts)]


def choice(conflict: Conflict, take: str, value: Any = None) -> Choice:
    return Choice(*key_of(conflict), take, value, conflict.get("project", ""))


def update(place: Place, *choices: Choice, branch: str = "sale", head: str = "", release: str = "") -> CommitId:
    wanted = proposal_id(f"refs/heads/{branch}")
    return require_intact(place.store.proposals.update(SPACE, UpdateRequest(wanted, BOB, ALL, head, release, choices)))[
        1
    ]


def targets(place: Place, project: str, at: str) -> dict[str, str]:
    records = (each.wire() for each in place.store.revisions.records(SPACE, project, Kind.REDIRECTS, at))
    return {each["source"]: each["target"] for each in records}


def test_all_choices_are_one_merge_of_release_into_the_branch(two: Place) -> None:
    """It has two parents, and each choice; what release alone changed is as there, and the branch merges after that."""
    head = two.git("rev-parse", "sale")
    readme, blog_a, shop_a, shop_b = conflicts(two)
    assert [each.get("project") for each in (readme, blog_a, shop_a, shop_b)] == [None, "blog", SHOP, SHOP]
    chosen = (
        choice(shop_b, "value", "/third"),
        choice(readme, "draft"),
        choice(blog_a, "release"),
        choice(shop_a, "draft"),
    )
    new = update(two, *chosen, head=head, release=two.tip)
    assert two.git("log", "-1", "--format=%H %P %an", "sale") == f"{new} {head} {two.tip} Bob"
    assert two.git("log", "-1", "--format=%s", "sale") == "Merge release into sale; 4 conflicts resolved"
    assert targets(two, SHOP, "sale") == {"/a": "/mine", "/b": "/third", "/c": "/theirs"}
    assert two.git("rev-parse", "sale:blog") == two.git("rev-parse", "release:blog")
    assert two.file("README.md", "sale") == "Mine\n"
    assert conflicts(two) == []
    merge(two, "sale", head=new)
    assert two.targets() == {"/a": "/mine", "/b": "/third", "/c": "/theirs"}
    assert (two.targets("blog")["/a"], two.file("README.md")) == ("/theirs", "Mine\n")
    two.fsck()


def test_what_is_left_stops_all(two: Place) -> None:
    """The rest is in the error, and no branch moves: one commit cannot be a part of a merge."""
    before, (readme, blog_a, shop_a, shop_b) = two.git("for-each-ref"), conflicts(two)
    with pytest.raises(Conflicts) as caught:
        update(two, choice(shop_a, "draft"), choice(blog_a, "release"))
    assert list(caught.value.conflicts) == [readme, shop_b]
    assert two.git("for-each-ref") == before


def test_only_a_conflict_can_be_chosen(two: Place) -> None:
    before, found = two.git("for-each-ref"), conflicts(two)
    whole = [choice(each, "draft") for each in found]
    readme, blog_a, shop_a, _ = whole
    wrong = (
        shop_a._replace(field="status"),
        shop_a._replace(id=redirect("/c").id),
        shop_a._replace(kind="page"),
        blog_a._replace(project="none"),
        shop_a._replace(project=""),
        readme._replace(id="LICENSE"),
        readme._replace(project=SHOP),
    )
    for each in wrong:
        with pytest.raises(NotFound, match="The proposal has no conflict"):
            update(two, *whole, each)
    with pytest.raises(Invalid) as caught:
        update(two, *whole, shop_a._replace(take="release"))
    assert [(each.code, each.pointer) for each in caught.value.problems] == [("settled_twice", "/choices/4")]
    assert two.git("for-each-ref") == before


@pytest.mark.parametrize("value", [7, "", "no path", None, "/ok\n"])
def test_a_value_that_the_field_cannot_hold_is_refused_at_its_place(two: Place, value: Any) -> None:
    """The place is that in the request, whatever the projects of those before it."""
    before, found = two.git("for-each-ref"), conflicts(two)
    chosen = [choice(each, "draft") for each in found[:-1]]
    with pytest.raises(Invalid) as caught:
        update(two, *chosen, choice(found[-1], "value", value))
    assert {each.pointer for each in caught.value.problems} == {"/choices/3/value"}
    with pytest.raises(Invalid) as caught:
        update(two, *chosen[1:], choice(found[0], "value", 7))
    assert [each.pointer for each in caught.value.problems] == ["/choices/2/value"]
    assert two.git("for-each-ref") == before


@pytest.mark.parametrize(("take", "expected"), [("draft", "Mine\n"), ("release", "Theirs\n"), ("value", "Ours\n")])
def test_a_file_beside_the_projects_is_that_of_a_side_or_another(two: Place, take: str, expected: str) -> None:
    readme, *rules = conflicts(two)
    update(two, choice(readme, take, "Ours\n"), *(choice(each, "draft") for each in rules))
    assert two.file("README.md", "sale") == expected


@pytest.mark.parametrize("take", ["draft", "release"])
@pytest.mark.parametrize("removed_by", ["draft", "release"])
def test_a_project_that_one_side_removed_is_taken_whole(place: Place, take: str, removed_by: str) -> None:
    place.begin("blog").push({"blog/redirects.yaml": yaml([("/a", "/b")])})
    paths = place.git("ls-tree", "-r", "--name-only", "release", "blog/").split()
    changed, gone = {"blog/redirects.yaml": yaml([("/a", "/c")])}, dict.fromkeys(paths)
    propose(place, "sale", gone if removed_by == "draft" else changed)
    place.push(changed if removed_by == "draft" else gone)
    [found] = conflicts(place)
    with pytest.raises(Invalid) as caught:
        update(place, choice(found, "value", "text"))
    assert [each.pointer for each in caught.value.problems] == ["/choices/0/value"]
    update(place, choice(found, take))
    assert conflicts(place) == []
    left = place.git("ls-tree", "-r", "--name-only", "sale", "blog/").split()
    assert left == ([] if take == removed_by else paths)
    place.fsck()


def test_a_choice_is_between_the_values_that_were_shown(two: Place) -> None:
    """A publish of something else is no reason to refuse it; one of the same, or a push to the branch, is."""
    two.begin("news")
    seen, head = two.tip, two.git("rev-parse", "sale")
    chosen = [choice(each, "draft") for each in conflicts(two)]
    two.push({"news/redirects.yaml": yaml([("/x", "/y")])})
    for other in (two.git("rev-parse", "sale:shop"), "0" * 40):
        with pytest.raises(StaleVersion):
            update(two, *chosen, release=other)
    with pytest.raises(StaleProposal):
        update(two, *chosen, head=seen, release=seen)
    for files in ({"README.md": "Newer\n"}, {"shop/redirects.yaml": yaml([("/a", "/newer")])}):
        two.push(files)
        with pytest.raises(StaleVersion):
            update(two, *chosen, release=seen)
        two.git("update-ref", "refs/heads/release", "release^")
    assert two.git("rev-parse", "sale") == head
    update(two, *chosen, head=head, release=seen)
    with pytest.raises(NothingToChange):
        update(two, *chosen)


def test_a_conflict_that_only_comes_up_with_the_choices_is_resolved_with_them(place: Place) -> None:
    """The branch moves a page to where it cannot name the content file of release, and both change its note."""
    place.push({"shop/pages.yaml": PAGE + "content: old}\n"})
    propose(place, "sale", {"shop/pages.yaml": None, "shop/pages/deep/all.yaml": PAGE + "content: old, note: mine}\n"})
    place.push({"shop/pages.yaml": PAGE + "file: a.txt, note: theirs}\n", "shop/a.txt": "old"})
    [note] = conflicts(place)
    with pytest.raises(Conflicts) as caught:
        update(place, choice(note, "release"))
    [further] = caught.value.conflicts
    assert (note["field"], further["project"], further["field"]) == ("note", SHOP, "contentFile")
    update(place, choice(further, "draft"), choice(note, "release"))
    [page] = [each.fields() for each in place.store.revisions.records(SPACE, SHOP, Kind.PAGES, "sale")]
    assert (page["note"], page["content"]) == ("theirs", "old")
    place.git("update-ref", "refs/heads/sale", "sale^")
    with pytest.raises(NotFound):
        update(place, choice(further, "draft"))


def test_who_resolves_is_an_author_of_the_branch(two: Place) -> None:
    """Their choices are content, so they cannot approve them where a second person is required."""
    update(two, *(choice(each, "draft") for each in conflicts(two)))
    authors = {
        each.name: {author.name for author in each.review_subject.authors} for each in report(two, "sale").projects
    }
    assert authors == {"blog": {"Plain Git", "Bob"}, SHOP: {"Plain Git", "Bob"}}


def test_two_who_resolve_at_once_do_not_undo_each_other(two: Place) -> None:
    head, found = two.git("rev-parse", "sale"), conflicts(two)
    done: dict[str, CommitId | StoreError] = {}

    def run(take: str) -> None:
        try:
            done[take] = update(two.fresh(), *(choice(each, take) for each in found), head=head, release=two.tip)
        except StoreError as ex:
            done[take] = ex

    threads = [threading.Thread(target=run, args=(take,)) for take in ("draft", "release")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    [won] = [take for take, each in done.items() if not isinstance(each, StoreError)]
    assert isinstance(done["release" if won == "draft" else "draft"], StaleProposal)
    assert two.git("rev-list", "--parents", "-1", "sale").split() == [done[won], head, two.tip]
    assert two.file("README.md", "sale") == ("Mine\n" if won == "draft" else "Theirs\n")
    two.fsck()


@settings(max_examples=rounds(8, 30), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(side(), side(), st.integers(0, 2**32))
def test_the_same_choices_make_the_same_of_a_branch_and_a_draft(
    tmp_path_factory: pytest.TempPathFactory, mine: list[Edit], theirs: list[Edit], seed: int
) -> None:
    """All of them are in the publish of the branch, and nothing else is lost."""
    chance = random.Random(seed)  # noqa: S311 - test data
    place = create_place(tmp_path_factory.mktemp("law") / "data").begin(SHOP)
    place.push({"shop/redirects.yaml": yaml([(f"/{letter}", "/base") for letter in "abcd"])})
    base = fields_of(place, "published")
    place.save(*mine, put(redirect("/only-mine")))
    place.store.proposals.create(SPACE, "sale", MAIN)
    place.publish(*theirs, put(redirect("/only-theirs")), draft=OTHER)
    expected = naive(base, fields_of(place, "published"), fields_of(place, "draft"))
    chosen = [decided(each, chance, expected) for each in conflicts(place)]
    chance.shuffle(chosen)
    update(place, *(each._replace(project=SHOP) for each in chosen))
    wanted = {key: rule for key, rule in expected.items() if rule}
    assert fields_of(place, "sale") == wanted
    assert conflicts(place) == []
    if chosen:
        place.store.drafts.resolve(SPACE, ResolveRequest(MAIN, chosen, BOB))
        assert fields_of(place, "draft") == wanted
    merge(place, "sale")
    assert fields_of(place, "published") == wanted


def test_a_rule_that_one_side_removed_is_chosen_whole(place: Place) -> None:
    place.push({"shop/redirects.yaml": yaml([(f"/{letter}", "/base") for letter in "ab"])})
    propose(place, "sale", {"shop/redirects.yaml": yaml([("/b", "/base")])})
    place.publish(
        put(redirect("/a", "/theirs")), Delete(Kind.REDIRECTS, redirect("/b").id), put(redirect("/c", "/new"))
    )
    [found] = conflicts(place)
    rule = {"type": "BASIC", "source": "/a", "target": "/third", "status": 302}
    update(place, choice(found, "value", rule))
    assert targets(place, SHOP, "sale") == {"/a": "/third", "/c": "/new"}


def test_the_cost_of_many_choices_is_that_of_each(place: Place) -> None:
    """Also in one long file: the namespace is locked meanwhile. Counted in calls, which do not depend on the machine."""
    few, many = (_calls_of_choices(place, f"to-{number}", number) for number in (200, 800))
    assert many < 5 * few


def _calls_of_choices(place: Place, branch: str, number: int) -> int:
    """Return the number of calls of an update with a choice for each rule of a file, a third of which it puts back."""
    rules = [(f"/{each}", "/base") for each in range(number)]
    place.begin(branch).push({f"{branch}/redirects.yaml": yaml(rules)})
    mine = [(source, f"/{branch}") for source, _ in rules[number // 3 :]]
    propose(place, branch, {f"{branch}/redirects.yaml": yaml(mine)})
    place.push({f"{branch}/redirects.yaml": yaml(rules).replace("/base", "/theirs")})
    chosen = [choice(each, ("release", "draft")[at % 2]) for at, each in enumerate(conflicts(place, branch))]
    assert len(chosen) == number
    profile = Profile()
    profile.runcall(update, place, *chosen, branch=branch)
    return sum(each.callcount for each in profile.getstats())
