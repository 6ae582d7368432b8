"""Publishes of very many rules: the same counts, history and refusals as of few, without the records in memory."""

import sys
from types import FrameType

import pytest

from content.formats.tsv import read_rows
from content.records.problem import Severity
from content.records.vocabulary import Kind, RedirectType
from gitstore.compiled.validation import checks, lint_cache
from gitstore.compiled.validation.checks import check_snapshot
from gitstore.drafts.bulk.importing import ImportOptions
from gitstore.drafts.drafts import DraftName, read_draft
from gitstore.errors import Invalid
from gitstore.layout import RULES_PER_FILE
from gitstore.publish import gate
from tests.gitstore.fixtures import ADA, MAIN, SHOP, SPACE, Place, put, redirect, seeded_random, yaml

_COUNT = 3 * RULES_PER_FILE
_HEADER = b"type\tsource\ttarget\tstatus\n"


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the way of many rules for a thousand."""
    for module in (gate, checks):
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


def test_the_publish_of_an_import_into_an_empty_project_does_not_check_its_rules_again(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    _import(place, "a")
    with monkeypatch.context() as patch:
        patch.setattr(checks, "listed_problems", lambda *_: pytest.fail("checked again"))
        place.publish()
    assert len(place.targets()) == _COUNT
    place.save(put(redirect("/loop", "/loop")))
    with pytest.raises(Invalid) as refused:
        place.publish()
    assert {problem.code for problem in refused.value.problems} == {"redirect_loop"}


_RULES = [
    *(f"BASIC\t{source}\t{target}\tFOUND" for source in ("/a", "/%61", "/b", "/c") for target in ("/b", "/c", "/end")),
    *("REGEX\t^/(b|c)$\t/c\tFOUND", "REGEX\t(\t/x\tFOUND", "BASIC_HOST\th.example/a\thttps://h.example/b\tFOUND"),
]


def _is_recorded(place: Place, project: str) -> tuple[bool, list[str]]:
    """Return whether the rules of a draft are recorded as valid, and the codes of their errors."""
    with place.store.drafts._access.reading(SPACE) as compiler:
        tree = read_draft(compiler.repository, DraftName(project, "main")).tree
        assert tree
        errors = [
            each.code for each in check_snapshot(compiler.snapshot(project, tree)) if each.severity is Severity.ERROR
        ]
        return compiler.is_validated(tree), errors


def test_only_valid_imports_are_recorded_as_valid(place: Place) -> None:
    chosen, recorded = seeded_random(), set()
    for number in range(60):
        project = f"p{number}"
        place.begin(project)
        rows = [row.encode() + b"\n" for row in chosen.sample(_RULES, chosen.randint(1, 4))]
        options = ImportOptions(skip_errors=True, overwrite=chosen.random() < 0.5)
        name = DraftName(project, "main")
        done = place.store.drafts.import_rows(SPACE, name, read_rows(_HEADER + b"".join(rows)), options, ADA)
        if done.head:
            is_recorded, errors = _is_recorded(place, project)
            assert not (is_recorded and errors), (rows, errors)
            assert is_recorded or done.plan.wrong  # another import may have recorded the same rules
            recorded.add(is_recorded)
    assert recorded == {True, False}


@pytest.mark.parametrize(
    "there",
    [
        {"pages.yaml": "pages:\n  - {type: BASIC, path: /p, content: x, contentType: TEXT_PLAIN}\n"},
        {"tests.yaml": "tests:\n  - {url: /never, status: 302, location: /x}\n"},
        {"redirects/other.yaml": "redirects:\n"},
        {"redirects/other.yaml": yaml([("/a/0", "/x")])},
    ],
    ids=lambda files: next(iter(files)),
)
def test_an_import_beside_anything_else_is_checked_by_its_publish(place: Place, there: dict[str, str]) -> None:
    place.push({f"{SHOP}/{path}": text for path, text in there.items()}, to="draft/shop/main")
    _import(place, "a")
    assert not _is_recorded(place, SHOP)[0]


def test_after_a_new_pattern_the_next_publish_counts_by_what_changed(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pattern has the whole state linted, which the next publish starts from."""
    _import(place, "a")
    place.publish()
    place.publish(put(redirect("^/p/(.*)$", "/x", type=RedirectType.REGEX)))
    monkeypatch.setattr(lint_cache, "lint_snapshot", lambda *_: pytest.fail("linted as a whole"))
    assert place.publish(put(redirect("/after", "/x"))).never_answer == 0
