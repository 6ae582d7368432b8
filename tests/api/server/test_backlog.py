"""Requests that are sent ahead: one at a time for the parser, in whatever pieces they arrive, and none of them lost."""

from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st

from api.server.backlog import Backlog

_HEADER = b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n"
_POST = b"POST /a HTTP/1.1\r\nContent-Length: %d\r\n\r\n"
_BODIES = st.binary(max_size=8) | st.sampled_from([b"\r\n\r\n", b"0\r\n\r\n", _HEADER])
_CUTS = st.lists(st.integers(0, 400), max_size=12)


def _pieces(stream: bytes, cuts: list[int]) -> list[bytes]:
    at = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    return [stream[begin:end] for begin, end in pairwise(at)]


@given(st.lists(_BODIES, min_size=1, max_size=6), _CUTS)
@example([b"", b"abc"], list(range(400)))
@example([b"", b"abc"], list(range(0, 400, 3)))
def test_each_request_passes_alone_with_its_body(bodies: list[bytes], cuts: list[int]) -> None:
    messages = [(_POST % len(body), body) for body in bodies]
    backlog, passed, answered = Backlog(), b"", 0
    for piece in _pieces(b"".join(head + body for head, body in messages), cuts):
        if backlog.pass_whole(piece):
            passed += piece
        else:
            backlog.add(piece)
            passed += backlog.take()
        while answered < len(messages) and not backlog.is_open:
            head, body = messages[answered]
            if passed == head:
                backlog.expect_body(len(body))
            passed += backlog.take()
            if passed != head + body:
                assert (head + body).startswith(passed)
                assert backlog.is_cut_off
                break
            assert not backlog.is_cut_off
            answered, passed = answered + 1, b""
            backlog.open()
            passed += backlog.take()
    assert answered == len(messages)
    assert (len(backlog), backlog.is_open, passed) == (0, True, b"")


@given(_CUTS, st.booleans())
def test_the_end_of_a_chunked_body_is_known(cuts: list[int], whole: bool) -> None:  # noqa: FBT001 - an example
    backlog = Backlog()
    assert backlog.pass_whole(_HEADER)
    backlog.expect_body(None)
    body = b"5\r\nhello\r\n0\r\n\r\n"
    for piece in _pieces(body if whole else body[:-1], cuts):
        backlog.add(piece)
        assert backlog.take() == piece
    assert backlog.is_cut_off is not whole
