"""Commit messages: text for people, and trailers that read back exactly as written."""

from hypothesis import given
from hypothesis import strategies as st

from content.changes.decision import Decision
from gitstore.drafts.decisions import dump_decisions
from gitstore.git.repository import Author
from gitstore.history.messages import APPROVED_BY, OVERRIDE, PUBLISHED_BY, dump_message, load_message, signature

_lines = st.lists(
    st.one_of(
        st.text(max_size=20),
        st.sampled_from(["Published-by: x", "Approved-by:", " Published-by: x", "", "a\x85b", "\u2028"]),
    ),
    max_size=6,
).map("\n".join)


@given(_lines, st.text(max_size=20), st.text(max_size=20))
def test_trailers_are_ours_alone(text: str, publisher: str, reason: str) -> None:
    """Only values given as trailers are read as trailers, for any text, and the text is unchanged."""
    found = load_message(dump_message(text, {PUBLISHED_BY: publisher, OVERRIDE: reason}))
    wanted = {PUBLISHED_BY: " ".join(publisher.split()), OVERRIDE: " ".join(reason.split())}
    assert {name: found.trailers.get(name, "") for name in wanted} == wanted
    assert APPROVED_BY not in found.trailers
    assert found.text.split() == text.split()


@given(_lines)
def test_no_words_resolve_a_conflict(text: str) -> None:
    """A line of free text that reads like a decision does not count as one."""
    line = dump_decisions("", [Decision("redirect", "0" * 16, "target", "1" * 16)]).strip()
    lines = dump_message(f"{text}\n{line}\n{text}", {}).splitlines()
    assert line not in lines
    assert f" {line}" in lines


def test_several_trailers_of_one_name_have_a_line_each_and_are_read_together() -> None:
    message = dump_message("Sale", {PUBLISHED_BY: "Ada", APPROVED_BY: ("Kim", "Lee\nOverride-reason: x"), OVERRIDE: ()})
    assert message == "Sale\n\nPublished-by: Ada\nApproved-by: Kim\nApproved-by: Lee Override-reason: x\n"
    assert load_message(message).trailers == {PUBLISHED_BY: "Ada", APPROVED_BY: "Kim, Lee Override-reason: x"}


def test_person_has_the_format_of_git() -> None:
    """The name has no characters that would break a header."""
    assert signature(Author("A <b>\n", "c>d")) == "A b <cd>"
    assert signature(Author("", "")) == "unknown <unknown@waypost.invalid>"
