"""The rules of a snapshot, looked up in its files: they answer as the same rules in memory do."""

from hypothesis import given
from hypothesis import strategies as st

from content.matching.matcher import Matcher
from content.matching.request import parse_request
from content.records.record import Page, Redirect
from gitstore.compiled.validation.checks import build_matcher
from gitstore.compiled.validation.snapshot_rules import SnapshotRules
from tests.gitstore.rule_states import page_lists, some_redirect, state

_REQUESTS = [
    parse_request(f"{host}{path}")
    for host in ("", "https://h.example", "https://other.example", "https://out.example")
    for path in ("/a", "/b", "/b?q", "/c", "/d", "/%C3%A9", "/x/1", "/x/2", "/end", "/none")
]


@given(st.lists(some_redirect(), max_size=12), page_lists, st.integers(0, 12))
def test_every_request_gets_the_same_answer_and_chain(redirects: list[Redirect], pages: list[Page], split: int) -> None:
    """Also for a state with the same source twice, which a push may have brought to a branch."""
    snapshot = state(redirects, pages, split)
    looked_up, in_memory = Matcher(SnapshotRules(snapshot)), build_matcher(snapshot)
    for request in _REQUESTS:
        assert looked_up.answer(request) == in_memory.answer(request)
        assert looked_up.follow(request) == in_memory.follow(request)
