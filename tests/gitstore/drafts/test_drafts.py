"""Drafts: their records in windows and filtered, and the result of an import."""

from itertools import product

import pytest

from content.changes.diff import ChangeType
from content.formats.tsv import read_rows
from content.records.vocabulary import Kind, RedirectStatus
from gitstore.drafts.bulk.importing import ImportOptions
from gitstore.drafts.drafts import DraftName
from gitstore.drafts.editing.edits import Delete, Put
from gitstore.drafts.listing import Query, Span
from gitstore.errors import BadRequest, Invalid, NotFound
from tests.gitstore.fixtures import ADA, MAIN, SHOP, SPACE, Place, put, redirect

_ALL = Query()
HEAD = b"type\tsource\ttarget\tstatus\n"


@pytest.fixture
def drafted(place: Place) -> Place:
    """Return five published rules, and a draft that changes one, removes one and adds one."""
    place.publish(
        *(put(redirect(f"/{number}", f"/t{9 - number}", tags=("odd",) if number % 2 else ())) for number in range(5))
    )
    place.save(put(redirect("/1", "/changed", status=RedirectStatus.MOVED_PERMANENT)))
    place.save(Delete(Kind.REDIRECTS, redirect("/2").id), put(redirect("/added", note="Please")))
    return place


def _listed(place: Place, query: Query = _ALL, offset: int = 0, limit: int = 100) -> list[str]:
    items = place.store.drafts.records(SPACE, MAIN, Kind.REDIRECTS, query, Span(offset, limit)).items
    return [f"{item.placed.record.identity} {item.change or '-'}" for item in items]


def test_every_item_says_what_the_draft_did_to_it(drafted: Place) -> None:
    """Removed items come last."""
    assert _listed(drafted) == ["/0 -", "/1 changed", "/3 -", "/4 -", "/added added", "/2 removed"]
    assert drafted.store.drafts.records(SPACE, MAIN, Kind.REDIRECTS, Query(), Span(0, 1)).total == 6


@pytest.mark.parametrize("query", [{}, {"sort": "source"}, {"sort": "-target"}, {"text": "/"}])
def test_windows_joined_are_the_whole_list(drafted: Place, query: dict[str, str]) -> None:
    """The windows join in every order, for every size."""
    whole = _listed(drafted, Query(**query))
    for limit in range(1, 8):
        assert [
            line for offset in range(0, 9, limit) for line in _listed(drafted, Query(**query), offset, limit)
        ] == whole


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"text": "PLEASE"}, ["/added added"]),
        ({"text": "/t9"}, ["/0 -"]),
        ({"tag": "odd"}, ["/3 -"]),
        ({"status": "MOVED_PERMANENT"}, ["/1 changed"]),
        ({"type": "REGEX"}, []),
        ({"change": "removed"}, ["/2 removed"]),
        ({"change": "none", "sort": "-source"}, ["/4 -", "/3 -", "/0 -"]),
    ],
)
def test_items_are_filtered(drafted: Place, query: dict[str, str], expected: list[str]) -> None:
    """An item has to meet all conditions."""
    assert _listed(drafted, Query(**query)) == expected


def test_unknown_order_is_a_bad_request(drafted: Place) -> None:
    """The message names the order."""
    with pytest.raises(BadRequest, match="'sort'"):
        _listed(drafted, Query(sort="colour"))


def test_one_item_is_found_by_id_with_an_etag_that_follows_its_fields(drafted: Place) -> None:
    """A removed item is not found."""
    item = drafted.store.drafts.record(SPACE, MAIN, Kind.REDIRECTS, redirect("/1").id)
    assert (item.placed.record.identity, item.change) == ("/1", ChangeType.CHANGED)
    drafted.save(put(redirect("/1", "/again")))
    assert drafted.store.drafts.record(SPACE, MAIN, Kind.REDIRECTS, redirect("/1").id).etag != item.etag
    with pytest.raises(NotFound):
        drafted.store.drafts.record(SPACE, MAIN, Kind.REDIRECTS, redirect("/2").id)


def test_report_shows_the_effect_of_publishing(drafted: Place) -> None:
    """The report has counts and no problems; without a draft, it is empty."""
    report = drafted.store.drafts.report(SPACE, MAIN)
    assert report.counts[Kind.REDIRECTS] == (1, 1, 1)
    assert (report.problems, report.conflicts) == ([], [])
    empty = drafted.store.drafts.report(SPACE, DraftName(SHOP, "none"))
    assert empty.state.head is None
    assert set(empty.counts.values()) == {(0, 0, 0)}


def _rows(*rows: str) -> bytes:
    return HEAD + "".join(f"BASIC\t{row}\tFOUND\n" for row in rows).encode()


@pytest.mark.parametrize(("overwrite", "dry", "skip"), list(product([False, True], repeat=3)))
def test_import_does_what_its_report_says(place: Place, overwrite: bool, dry: bool, skip: bool) -> None:  # noqa: FBT001 - a table
    """An import is all or nothing, unless invalid rows are skipped; a dry run only reports."""
    place.publish(put(redirect("/old", "/1", note="why")), put(redirect("/same", "/1")))
    rows = read_rows(_rows("/new\t/1", "/old\t/2", "/same\t/1", "/bad\tjavascript:x"))
    done = place.store.drafts.import_rows(SPACE, MAIN, rows, ImportOptions(overwrite, dry, skip), ADA)
    report = done.plan.report()
    reported = {name: report[name] for name in ("total", "added", "changed", "identical", "skipped")}
    assert reported == {
        "total": 4,
        "added": 1,
        "changed": int(overwrite),
        "identical": 1,
        "skipped": int(not overwrite),
    }
    assert len(done.plan.errors) == 1
    written = skip and not dry
    assert (done.head is not None) == written
    assert place.store.drafts.names(SPACE, SHOP) == (["main"] if written else [])
    if written:
        place.publish()
        assert place.targets() == {"/old": "/2" if overwrite else "/1", "/same": "/1", "/new": "/1"}
        assert "note: why" in place.file("shop/redirects.yaml")


def test_import_names_rows_that_are_invalid_only_together(place: Place) -> None:
    """A loop among the rows, or of rows and existing rules, is reported."""
    place.publish(put(redirect("/there", "/row")))
    rows = read_rows(_rows("/row\t/there", "/one\t/two", "/two\t/one", "/fine\t/end"))
    done = place.store.drafts.import_rows(SPACE, MAIN, rows, ImportOptions(skip_errors=True), ADA)
    assert {problem.code for problem in done.plan.errors} == {"redirect_loop"}
    place.publish()
    assert place.targets()["/fine"] == "/end"
    assert "/row" not in place.targets()


def test_import_writes_one_rule_a_line_in_files_of_500(place: Place) -> None:
    """A rule is one line of a diff, and the records read back unchanged."""
    rows = _rows(*(f"/{number}\t/t/{number}" for number in range(1200)))
    place.store.drafts.import_rows(SPACE, MAIN, read_rows(rows), ImportOptions(), ADA)
    place.publish()
    files = place.git("ls-tree", "-r", "--name-only", "release", "shop/").split()
    assert [path for path in files if "redirects" in path] == [
        "shop/redirects.yaml",
        "shop/redirects/00001.yaml",
        "shop/redirects/00002.yaml",
    ]
    assert [item["source"] for item in place.items()] == [f"/{number}" for number in range(1200)]
    assert place.git("log", "-1", "--format=%s", "release^2") == "Import: 1,200 redirects added"


@pytest.mark.parametrize("edit", [put(redirect("/new")), put(redirect("/new"), file="redirects.yaml")])
def test_a_file_of_another_kind_is_not_written_to(place: Place, edit: Put) -> None:
    """The problem names the file's path, and the file is left unchanged, to be fixed in Git."""
    place.publish(put(redirect("/a")))
    text = "pages:\n  - {type: BASIC, path: /p, content: x, contentType: XML}\n"
    tip = place.push({"shop/redirects.yaml": text}, to="draft/shop/main")
    with pytest.raises(Invalid, match=r"shop/redirects\.yaml has errors") as caught:
        place.save(edit)
    assert [(problem.file, problem.code) for problem in caught.value.problems] == [
        ("shop/redirects.yaml", "wrong_kind")
    ]
    assert place.git("rev-parse", "draft/shop/main") == tip


def test_no_two_drafts_begin_with_the_same_commit(place: Place) -> None:
    """A draft begun again in the second of its discard has another commit, also if the old one is packed."""
    heads = []
    for _ in range(4):
        heads.append(place.save(put(redirect("/a"))))
        place.git("repack", "-adkq")
        place.store.drafts.discard(SPACE, MAIN)
    assert len(set(heads)) == len(heads)
    times = [int(place.git("log", "-1", "--format=%ct", head)) for head in heads]
    assert times == sorted(times)
    place.fsck()
