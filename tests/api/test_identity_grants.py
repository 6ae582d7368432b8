"""Grants cover what they say and nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.identity.grants import ACTIONS, BUILT_IN_ROLES, EVERY, Grant, covers, grant_problems, load_grant, missing
from api.identity.principal import OPERATOR, Principal, PrincipalKind

scopes = st.sampled_from([EVERY, "shop", "docs"])
grants = st.builds(
    Grant, scopes, scopes, st.sampled_from([EVERY, *ACTIONS]), st.sampled_from([EVERY, "read", "write", "publish"])
)


def principal(*held: Grant) -> Principal:
    return Principal(PrincipalKind.USER, 1, "ada", "Ada", held)


def questions(grant: Grant) -> list[Grant]:
    """Every concrete permission that a grant stands for, over a small world."""
    places = ["shop", "docs", "other"]
    return [
        Grant(namespace, project, resource, action)
        for namespace in (places if grant.namespace == EVERY else [grant.namespace])
        for project in (places if grant.project == EVERY else [grant.project])
        for resource in (ACTIONS if grant.resource == EVERY else [grant.resource])
        for action in (["read", "write", "publish"] if grant.action == EVERY else [grant.action])
    ]


@given(grants)
def test_a_grant_covers_itself(grant: Grant) -> None:
    assert grant.covers(grant)


@given(grants, grants, grants)
def test_covering_is_transitive(one: Grant, two: Grant, three: Grant) -> None:
    if one.covers(two) and two.covers(three):
        assert one.covers(three)


@given(grants, grants)
def test_what_is_covered_allows_nothing_more(one: Grant, two: Grant) -> None:
    """A grant covers another exactly where it allows everything that the other allows, and is as wide as its stars."""
    allowed = all(one.covers(question) for question in questions(two))
    assert not one.covers(two) or allowed
    if not one.covers(two):
        stars = [have != EVERY and want == EVERY for have, want in zip(one, two, strict=True)]
        assert any(stars) or not allowed


@given(st.lists(grants, max_size=4), st.lists(grants, max_size=4))
def test_what_is_missing_is_what_is_not_covered(held: list[Grant], wanted: list[Grant]) -> None:
    assert covers(held, wanted) == (not missing(held, wanted))
    assert covers(held, [grant for grant in wanted if grant not in missing(held, wanted)])


@given(st.lists(grants, max_size=4), grants)
def test_a_principal_may_what_one_grant_covers(held: list[Grant], asked: Grant) -> None:
    may = principal(*held).may(asked.resource, asked.action, asked.namespace, asked.project)
    assert may == any(grant.covers(asked) for grant in held)


def test_a_grant_for_one_project_does_not_reach_the_next() -> None:
    caller = principal(Grant("acme", "shop", "redirect", "read"))
    assert caller.may("redirect", "read", "acme", "shop")
    assert not caller.may("redirect", "read", "acme", "docs")
    assert not caller.may("redirect", "read", "other", "shop")
    assert not caller.may("redirect", "read")
    assert not caller.may("redirect", "write", "acme", "shop")


def test_writing_does_not_allow_to_publish_and_only_admins_override() -> None:
    held = {name: principal(*found) for name, (_, found) in BUILT_IN_ROLES.items()}
    assert [name for name in held if held[name].may("project", "publish", "a", "b")] == ["admin", "publisher"]
    assert [name for name in held if held[name].may("project", "override", "a", "b")] == ["admin"]
    assert [name for name in held if held[name].may("user", "write")] == ["admin"]
    assert [name for name in held if held[name].may("redirect", "write", "a", "b")] == ["admin", "publisher", "editor"]


def test_an_agent_fetches_and_reports_and_can_do_nothing_else() -> None:
    agent = principal(*BUILT_IN_ROLES["agent"][1])
    allowed = {(name, action) for name, actions in ACTIONS.items() for action in actions if agent.may(name, action)}
    assert allowed == {("redirect", "read"), ("page", "read"), ("agent", "write")}


def test_the_grants_of_built_in_roles_are_grants_that_there_are() -> None:
    assert [grant_problems(found) for _, found in BUILT_IN_ROLES.values()] == [[]] * len(BUILT_IN_ROLES)


@pytest.mark.parametrize(
    ("grant", "complaint"),
    [
        (Grant("*", "*", "rule", "read"), "no resource 'rule'"),
        (Grant("*", "*", "redirect", "publish"), "'redirect' has no action 'publish'"),
        (Grant("*", "*", "user", "review"), "'user' has no action 'review'"),
        (Grant("*", "*", "*", "fly"), "'*' has no action 'fly'"),
        (Grant("*", "shop", "redirect", "read"), "names its namespace too"),
        (Grant("acme", "shop", "namespace", "read"), "leave the project out"),
        (Grant("acme", "*", "user", "read"), "belongs to the whole service"),
    ],
)
def test_a_grant_that_cannot_be_is_named_with_its_place(grant: Grant, complaint: str) -> None:
    [problem] = grant_problems([Grant("*", "*", "page", "read"), grant])
    assert complaint in problem.message
    assert (problem.code, problem.pointer) == ("invalid_grant", "/grants/1")


@pytest.mark.parametrize(
    "grant",
    [Grant("*", "*", "*", "*"), Grant("acme", "*", "namespace", "read"), Grant("acme", "shop", "project", "override")],
)
def test_a_grant_that_can_be_is_taken(grant: Grant) -> None:
    assert grant_problems([grant]) == []


def test_a_scope_that_is_left_out_is_every_one() -> None:
    assert load_grant({"resource": "page", "action": "read"}) == Grant(EVERY, EVERY, "page", "read")
    assert load_grant(Grant("a", "b", "page", "read").wire()) == Grant("a", "b", "page", "read")


def test_a_commit_cannot_be_forged_by_a_name() -> None:
    """What could end a header, or begin a trailer or another address, is gone."""
    forged = Principal(PrincipalKind.USER, 7, "eve", "Eve>\n<root@x>%an\x00\u202e", ())
    assert forged.author == "Everoot@xan <user-7@waypost.invalid>"
    assert Principal(PrincipalKind.TOKEN, 8, "\n", "\n", ()).author == "token <token-8@waypost.invalid>"


def test_what_anybody_sees_of_a_namespace_is_what_they_may_read_in_it() -> None:
    caller = principal(Grant("acme", "shop", "page", "read"), Grant("other", "*", "redirect", "write"))
    assert caller.sees("acme")
    assert caller.sees("acme", "shop")
    assert not caller.sees("acme", "docs")
    assert not caller.sees("other")
    assert OPERATOR.sees("anything", "at-all")


@pytest.mark.parametrize("resource", ["user", "role", "token", "audit"])
def test_who_reads_what_belongs_to_the_service_sees_no_namespace_for_that(resource: str) -> None:
    caller = principal(Grant(EVERY, EVERY, resource, "read"))
    assert not caller.sees("acme")
    assert not caller.sees("acme", "shop")
