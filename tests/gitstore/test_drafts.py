"""Drafts: what they show of their work, in windows and filtered, and what an import makes of them."""

from itertools import product

import pytest

from content.diff import ChangeType
from content.tsv import read_rows
from content.vocabulary import Kind, RedirectStatus
from gitstore.drafts import DraftName
from gitstore.edits import Delete, Put
from gitstore.errors import BadRequest, Invalid, NotFound
from gitstore.importing import ImportOptions
from gitstore.listing import Query, Span
from tests.gitstore.places import ADA, MAIN, SHOP, SPACE, Place, put, redirect

_ALL = Query()
HEAD = b"type\tsource\ttarget\tstatus\n"


@pytest.fixture
def drafted(place: Place) -> Place:
    """Five published rules, and a draft that changes one, removes one and adds one."""
    place.publish(
        *(put(redirect(f"/{number}", f"/t{9 - number}", tags=("odd",) if number % 2 else ())) for number in range(5))
    )
    place.save(put(redirect("/1", "/changed", status=RedirectStatus.MOVED_PERMANENT)))
    place.save(Delete(Kind.REDIRECTS, redirect("/2").id), put(redirect("/added", note="Please")))
    return place


def _listed(place: Place, query: Query = _ALL, offset: int = 0, limit: int = 100) -> list[str]:
    items = place.store.items(SPACE, MAIN, Kind.REDIRECTS, query, Span(offset, limit)).items
    return [f"{item.placed.record.identity} {item.change or '-'}" for item in items]


def test_every_item_says_what_the_draft_did_to_it(drafted: Place) -> None:
    """Removed ones last."""
    assert _listed(drafted) == ["/0 -", "/1 changed", "/3 -", "/4 -", "/added added", "/2 removed"]
    assert drafted.store.items(SPACE, MAIN, Kind.REDIRECTS, Query(), Span(0, 1)).total == 6


@pytest.mark.parametrize("query", [{}, {"sort": "source"}, {"sort": "-target"}, {"text": "/"}])
def test_windows_joined_are_the_whole_list(drafted: Place, query: dict[str, str]) -> None:
    """In every order, for every size of window."""
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
    """All conditions together."""
    assert _listed(drafted, Query(**query)) == expected


def test_order_that_is_none_is_a_bad_request(drafted: Place) -> None:
    """Named in the message."""
    with pytest.raises(BadRequest, match="'sort'"):
        _listed(drafted, Query(sort="colour"))


def test_one_item_is_found_by_id_with_an_etag_that_follows_its_fields(drafted: Place) -> None:
    """The removed one is not there any more."""
    item = drafted.store.item(SPACE, MAIN, Kind.REDIRECTS, redirect("/1").id)
    assert (item.placed.record.identity, item.change) == ("/1", ChangeType.CHANGED)
    drafted.save(put(redirect("/1", "/again")))
    assert drafted.store.item(SPACE, MAIN, Kind.REDIRECTS, redirect("/1").id).etag != item.etag
    with pytest.raises(NotFound):
        drafted.store.item(SPACE, MAIN, Kind.REDIRECTS, redirect("/2").id)


def test_report_tells_what_publishing_would_do(drafted: Place) -> None:
    """Counts, and no problems; without a draft, nothing."""
    report = drafted.store.report(SPACE, MAIN)
    assert report.counts[Kind.REDIRECTS] == (1, 1, 1)
    assert (report.problems, report.conflicts) == ([], [])
    empty = drafted.store.report(SPACE, DraftName(SHOP, "none"))
    assert empty.state.head is None
    assert set(empty.counts.values()) == {(0, 0, 0)}


def _rows(*rows: str) -> bytes:
    return HEAD + "".join(f"BASIC\t{row}\tFOUND\n" for row in rows).encode()


@pytest.mark.parametrize(("overwrite", "dry", "skip"), list(product([False, True], repeat=3)))
def test_import_does_what_its_report_says(place: Place, overwrite: bool, dry: bool, skip: bool) -> None:  # noqa: FBT001 - a table
    """All or nothing, unless wrong rows are to be left out; a dry run only tells."""
    place.publish(put(redirect("/old", "/1", note="why")), put(redirect("/same", "/1")))
    rows = read_rows(_rows("/new\t/1", "/old\t/2", "/same\t/1", "/bad\tjavascript:x"))
    done = place.store.import_rows(SPACE, MAIN, rows, ImportOptions(overwrite, dry, skip), ADA)
    report = done.plan.report()
    told = {name: report[name] for name in ("total", "added", "changed", "identical", "skipped")}
    assert told == {"total": 4, "added": 1, "changed": int(overwrite), "identical": 1, "skipped": int(not overwrite)}
    assert len(done.plan.errors) == 1
    written = skip and not dry
    assert (done.head is not None) == written
    assert place.store.drafts(SPACE, SHOP) == (["main"] if written else [])
    if written:
        place.publish()
        assert place.targets() == {"/old": "/2" if overwrite else "/1", "/same": "/1", "/new": "/1"}
        assert "note: why" in place.file("shop/redirects.yaml")


def test_import_names_rows_that_are_wrong_only_together(place: Place) -> None:
    """A loop among rows, or with rules that are there."""
    place.publish(put(redirect("/there", "/row")))
    rows = read_rows(_rows("/row\t/there", "/one\t/two", "/two\t/one", "/fine\t/end"))
    done = place.store.import_rows(SPACE, MAIN, rows, ImportOptions(skip_errors=True), ADA)
    assert {problem.code for problem in done.plan.errors} == {"redirect_loop"}
    place.publish()
    assert place.targets()["/fine"] == "/end"
    assert "/row" not in place.targets()


def test_import_writes_one_rule_a_line_in_files_of_500(place: Place) -> None:
    """One line of diff per rule; what comes out is what went in."""
    rows = _rows(*(f"/{number}\t/t/{number}" for number in range(1200)))
    place.store.import_rows(SPACE, MAIN, read_rows(rows), ImportOptions(), ADA)
    place.publish()
    files = place.git("ls-tree", "-r", "--name-only", "release", "shop/").split()
    assert [path for path in files if "redirects" in path] == [
        "shop/redirects.yaml",
        "shop/redirects/00001.yaml",
        "shop/redirects/00002.yaml",
    ]
    assert [item["source"] for item in place.items()] == [f"/{number}" for number in range(1200)]
    assert place.git("log", "-1", "--format=%s", "release^2") == "Import: 1200 redirects added"


@pytest.mark.parametrize("edit", [put(redirect("/new")), put(redirect("/new"), file="redirects.yaml")])
def test_a_file_of_the_wrong_kind_is_not_written_to(place: Place, edit: Put) -> None:
    """It is told, with its path, and left as it is for a person to mend in Git."""
    place.publish(put(redirect("/a")))
    text = "pages:\n  - {type: BASIC, path: /p, content: x, contentType: XML}\n"
    tip = place.push({"shop/redirects.yaml": text}, to="draft/shop/main")
    with pytest.raises(Invalid, match=r"shop/redirects\.yaml has to be mended") as caught:
        place.save(edit)
    assert [(problem.file, problem.code) for problem in caught.value.problems] == [
        ("shop/redirects.yaml", "wrong_kind")
    ]
    assert place.git("rev-parse", "draft/shop/main") == tip


def test_no_two_drafts_begin_with_the_same_commit(place: Place) -> None:
    """Discarded and made again in the same second, also when what was discarded stands in a pack."""
    heads = []
    for _ in range(4):
        heads.append(place.save(put(redirect("/a"))))
        place.git("repack", "-adkq")
        place.store.discard(SPACE, MAIN)
    assert len(set(heads)) == len(heads)
    times = [int(place.git("log", "-1", "--format=%ct", head)) for head in heads]
    assert times == sorted(times)
    place.fsck()
