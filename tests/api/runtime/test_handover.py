"""Bytes for a job: they arrive as they were, and are not kept on the way."""

import pickle
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.runtime import handover
from api.runtime.handover import Handover


@given(st.binary())
def test_bytes_arrive_in_another_process_and_are_read_once(data: bytes) -> None:
    sent = Handover(data)
    arrived = pickle.loads(pickle.dumps(sent))  # noqa: S301 - our own
    assert b"".join(arrived.chunks()) == data
    for each in (sent, arrived):
        with pytest.raises(ValueError, match="passed on"):
            list(each.chunks())


def test_neither_side_keeps_what_it_has_passed_on() -> None:
    data = bytes(3 * handover._CHUNK)
    own = sys.getrefcount(data)
    sent = Handover(data)
    assert sys.getrefcount(data) == own + 1
    chunks = sent.chunks()
    first = next(chunks)
    assert len(first) == handover._CHUNK
    assert sys.getrefcount(data) == own
    own_of_first = sys.getrefcount(first)
    del chunks
    assert sys.getrefcount(first) == own_of_first, "the reader alone had it"
