"""Grants cover exactly their permissions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.auth.permissions.grants import (
    ACTIONS,
    BUILT_IN_ROLES,
    EVERY,
    Grant,
    common,
    covers,
    grant_problems,
    load_grant,
    missing,
)
from api.auth.permissions.principal import OPERATOR, Principal, PrincipalKind

scopes = st.sampled_from([EVERY, "shop", "docs"])
grants = st.builds(
    Grant, scopes, scopes, st.sampled_from([EVERY, *ACTIONS]), st.sampled_from([EVERY, "read", "write", "publish"])
)


def principal(*held: Grant) -> Principal:
    return Principal(PrincipalKind.USER, 1, "ada", "Ada", held)


def questions(grant: Grant) -> list[Grant]:
    """Return every concrete permission of a grant, over a small world."""
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
    """A grant covers another exactly if it allows everything that the other allows, and its wildcards are as wide."""
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
    can = principal(*held).can(asked.resource, asked.action, asked.namespace, asked.project)
    assert can == any(grant.covers(asked) for grant in held)


def test_a_grant_for_one_project_does_not_reach_the_next() -> None:
    caller = principal(Grant("acme", "shop", "redirect", "read"))
    assert caller.can("redirect", "read", "acme", "shop")
    assert not caller.can("redirect", "read", "acme", "docs")
    assert not caller.can("redirect", "read", "other", "shop")
    assert not caller.can("redirect", "read")
    assert not caller.can("redirect", "write", "acme", "shop")


def test_writing_does_not_allow_to_publish_and_only_admins_override() -> None:
    held = {name: principal(*found) for name, (_, found) in BUILT_IN_ROLES.items()}
    assert [name for name in held if held[name].can("project", "publish", "a", "b")] == ["admin", "publisher"]
    assert [name for name in held if held[name].can("project", "override", "a", "b")] == ["admin"]
    assert [name for name in held if held[name].can("user", "write")] == ["admin"]
    assert [name for name in held if held[name].can("redirect", "write", "a", "b")] == ["admin", "publisher", "editor"]


def test_an_agent_fetches_and_reports_and_can_do_nothing_else() -> None:
    agent = principal(*BUILT_IN_ROLES["agent"][1])
    allowed = {(name, action) for name, actions in ACTIONS.items() for action in actions if agent.can(name, action)}
    assert allowed == {("redirect", "read"), ("page", "read"), ("agent", "write")}


def test_the_grants_of_built_in_roles_are_grants_that_there_are() -> None:
    assert [grant_problems(found) for _, found in BUILT_IN_ROLES.values()] == [[]] * len(BUILT_IN_ROLES)


@pytest.mark.parametrize(
    ("grant", "complaint"),
    [
        (Grant("*", "*", "rule", "read"), "Unknown resource 'rule'"),
        (Grant("*", "*", "redirect", "publish"), "Unknown action 'publish' of 'redirect'"),
        (Grant("*", "*", "user", "review"), "Unknown action 'review' of 'user'"),
        (Grant("*", "*", "*", "fly"), "Unknown action 'fly' of '*'"),
        (Grant("*", "shop", "redirect", "read"), "needs its namespace too"),
        (Grant("acme", "shop", "namespace", "read"), "Leave the project out"),
        (Grant("acme", "*", "user", "read"), "belongs to the whole service"),
    ],
)
def test_an_invalid_grant_is_reported_with_its_pointer(grant: Grant, complaint: str) -> None:
    [problem] = grant_problems([Grant("*", "*", "page", "read"), grant])
    assert complaint in problem.message
    assert (problem.code, problem.pointer) == ("invalid_grant", "/grants/1")


@pytest.mark.parametrize(
    "grant",
    [Grant("*", "*", "*", "*"), Grant("acme", "*", "namespace", "read"), Grant("acme", "shop", "project", "override")],
)
def test_a_valid_grant_is_accepted(grant: Grant) -> None:
    assert grant_problems([grant]) == []


def test_a_scope_that_is_left_out_is_every_one() -> None:
    assert load_grant({"resource": "page", "action": "read"}) == Grant(EVERY, EVERY, "page", "read")
    assert load_grant(Grant("a", "b", "page", "read").wire()) == Grant("a", "b", "page", "read")


def test_a_commit_cannot_be_forged_by_a_name() -> None:
    """Line breaks, angle brackets and other characters that start a header, trailer or address are removed."""
    forged = Principal(PrincipalKind.USER, 7, "eve", "Eve>\n<root@x>%an\x00\u202e", ())
    assert forged.author == "Everoot@xan <user-7@waypost.invalid>"
    assert Principal(PrincipalKind.TOKEN, 8, "\n", "\n", ()).author == "token <token-8@waypost.invalid>"


def test_what_anybody_sees_of_a_namespace_is_what_they_may_read_in_it() -> None:
    caller = principal(Grant("acme", "shop", "page", "read"), Grant("other", "*", "redirect", "write"))
    assert caller.can_see("acme")
    assert caller.can_see("acme", "shop")
    assert not caller.can_see("acme", "docs")
    assert not caller.can_see("other")
    assert OPERATOR.can_see("anything", "at-all")


@pytest.mark.parametrize("resource", ["user", "role", "token", "audit"])
def test_who_reads_what_belongs_to_the_service_sees_no_namespace_for_that(resource: str) -> None:
    caller = principal(Grant(EVERY, EVERY, resource, "read"))
    assert not caller.can_see("acme")
    assert not caller.can_see("acme", "shop")


@given(st.lists(grants, max_size=4), st.lists(grants, max_size=4), grants)
def test_common_grants_are_exactly_what_both_lists_cover(some: list[Grant], others: list[Grant], asked: Grant) -> None:
    both = principal(*common(some, others))
    for question in questions(asked):
        wanted = (question.resource, question.action, question.namespace, question.project)
        assert both.can(*wanted) is (principal(*some).can(*wanted) and principal(*others).can(*wanted))
    assert covers(some, both.grants)
    assert covers(others, both.grants)
