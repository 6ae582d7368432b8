"""Publishes of very many rules: the same counts, history and refusals as of few, without the records in memory."""

import sys
from types import FrameType

import pytest

from content.formats.tsv import read_rows
from content.records.vocabulary import Kind
from gitstore.compiled.validation import checks
from gitstore.drafts.importing import ImportOptions
from gitstore.errors import Invalid
from gitstore.layout import RULES_PER_FILE
from gitstore.publish import advance
from tests.gitstore.fixtures import ADA, MAIN, SHOP, SPACE, Place, put, redirect

_COUNT = 3 * RULES_PER_FILE
_HEADER = b"type\tsource\ttarget\tstatus\n"


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the way of many rules for a thousand."""
    for module in (advance, checks):
        monkeypatch.setattr(module, "MANY_RULES", _COUNT // 2)


def _import(place: Place, prefix: str, target: str = "/t/", *more: bytes) -> None:
    rows = [b"BASIC\t/%b/%d\t%b%d\tFOUND\n" % (prefix.encode(), at, target.encode(), at) for at in range(_COUNT)]
    data = _HEADER + b"".join([*rows, *more])
    done = place.store.drafts.import_rows(SPACE, MAIN, read_rows(data), ImportOptions(overwrite=True), ADA)
    assert done.head


def test_an_import_of_many_rules_is_counted_and_logged_as_one_of_few(place: Place) -> None:
    place.publish(put(redirect("/before", "/x")))
    _import(place, "a")
    place.publish()
    _import(place, "a", "/other/")
    place.publish()
    newest, earlier, *_ = place.store.publishes.history(SPACE, SHOP, 0, 5)[0]
    assert newest.counts and newest.counts[Kind.REDIRECTS] == (0, _COUNT, 0)  # noqa: PT018 - for the type checker
    assert earlier.counts and earlier.counts[Kind.REDIRECTS] == (_COUNT, 0, 0)  # noqa: PT018 - as above
    assert place.targets() == {"/before": "/x", **{f"/a/{at}": f"/other/{at}" for at in range(_COUNT)}}


def test_many_rules_with_a_loop_are_refused(place: Place) -> None:
    place.publish(put(redirect("/before", "/x")))
    _import(place, "a")
    place.save(put(redirect("/one", "/two")), put(redirect("/two", "/one")))
    with pytest.raises(Invalid) as refused:
        place.publish()
    assert {problem.code for problem in refused.value.problems} >= {"redirect_loop"}


def test_what_an_import_writes_is_not_read_again_by_its_publish(place: Place) -> None:
    """Neither the import nor the publish reads a new file as YAML: its segment is made from the rows."""
    place.publish(put(redirect("/before", "/x")))
    read: list[str] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_name == "read_flow_lines":
            read.append(frame.f_code.co_name)

    sys.setprofile(note)
    try:
        _import(place, "a")
        place.publish()
    finally:
        sys.setprofile(None)
    assert len(read) <= 4  # the file that was there, before and after it got more rules
