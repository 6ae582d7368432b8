"""Bulk import and export over HTTP: reports, options, both forms of upload, and the round trip."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.contract import describe
from tests.e2e.git import Clone
from tests.e2e.wire import send_raw
from tests.e2e.world import Place, World, page, redirect

HEADER = "type\tsource\ttarget\tstatus\n"
TSV = {"Content-Type": "text/tab-separated-values"}
GOOD = HEADER + "BASIC\t/a\t/x\t301\nBASIC\t/b\t/y\tFOUND\nREGEX\t^/r/(.*)\t/z/$1\t308\n"
MIXED = HEADER + "BASIC\t/a\t/x\t301\nBASIC\tno-slash\t/y\t301\nBASIC\t/c\t/y\t999\nBASIC\t/a\t/again\t301\n/short\n"


def import_(place: Place, text: str | bytes, status: int = 200, query: str = "") -> Any:
    """Return the response to a raw upload."""
    content = text.encode() if isinstance(text, str) else text
    return place.ask("POST", f"/import{query}", status, content=content, headers=TSV).json()


def places(report: Any) -> list[tuple[int, int, str]]:
    """Return line, column and code of each error."""
    return [(each["line"], each["column"], each["code"]) for each in report["errors"]]


def test_rows_become_rules_of_the_draft_as_one_commit(place: Place) -> None:
    report = import_(place, GOOD)
    assert report == {
        "total": 3, "added": 3, "changed": 0, "identical": 0, "skipped": 0, "wrong": 0, "errorsTotal": 0,
        "errors": [], "skippedRows": [], "unusedColumns": [], "head": place.get("/draft")["head"], "neverAnswer": 0,
    }  # fmt: skip
    assert place.sources() == []
    place.publish()
    assert place.sources() == ["/a", "/b", "^/r/(.*)"]
    assert [item["status"] for item in place.get("/redirects")["items"]] == [
        "MOVED_PERMANENT",
        "FOUND",
        "PERMANENT_REDIRECT",
    ]


def test_an_import_overwrites_no_edit_that_came_after_its_dry_run(place: Place) -> None:
    """Guard: the head of the dry run is that of the draft it looked at, and 40 zeros are for no draft."""
    rows = HEADER + "BASIC\t/a\t/imported\t301\n"
    first = import_(place, rows, query="?dryRun=true&overwrite=true")
    assert first["head"] is None
    made = place.add("/a", "/theirs")
    none = "0" * 40
    fault = import_(place, rows, 409, f"?overwrite=true&head={none}")
    assert fault["error"] == "stale_draft"
    assert "expects no draft" in fault["message"]
    second = import_(place, rows, query="?dryRun=true&overwrite=true")
    assert second["head"] == place.get("/draft")["head"]
    place.ask("PATCH", f"/draft/redirects/{made['id']}", 200, json={"note": "theirs too"})
    for dry in ("", "&dryRun=true"):
        assert import_(place, rows, 409, f"?overwrite=true&head={second['head']}{dry}")["error"] == "stale_draft"
    assert [each["target"] for each in place.get("/draft/redirects")["items"]] == ["/theirs"]
    now = place.get("/draft")["head"]
    done = import_(place, rows, query=f"?overwrite=true&head={now}")
    assert done["changed"] == 1
    assert done["head"] == place.get("/draft")["head"] != now
    place.ask("DELETE", "/draft", 204)
    assert import_(place, rows, query=f"?head={none}")["added"] == 1
    assert import_(place, rows, 400, "?head=main")["error"] == "bad_parameter"


def test_a_table_of_a_spreadsheet_is_imported(place: Place) -> None:
    table = 'Target;Source;Comment\r\n"/x;y";/a;"two\r\nlines"\r\n/y;no-slash;\r\n'
    report = import_(place, table.encode("utf-16"), 422)["report"]
    assert [(each["line"], each["column"], each["field"], each["text"]) for each in report["errors"]] == [
        (4, 2, "source", "/y;no-slash;")
    ]
    assert import_(place, table.encode("utf-16"), query="?skipErrors=true")["added"] == 1
    [rule] = place.get("/draft/redirects")["items"]
    assert (rule["source"], rule["target"], rule["type"], rule["status"]) == ("/a", "/x;y", "BASIC", "MOVED_PERMANENT")


@pytest.mark.parametrize("name", ["list.tsv", "list.csv", "LIST.TSV"])
def test_a_form_does_as_well(place: Place, name: str) -> None:
    answer = place.ask("POST", "/import", 200, files={"file": (name, GOOD.encode(), "text/csv")})
    assert answer.json()["added"] == 3


def test_a_form_without_the_file_or_with_another_kind_is_refused(place: Place) -> None:
    place.refused("POST", "/import", 400, "malformed_form", files={"other": ("a.tsv", b"x")})
    place.refused("POST", "/import", 422, "invalid_file", files={"file": ("a.xlsx", b"x")})
    broken = {"Content-Type": "multipart/form-data; boundary=x"}
    place.refused("POST", "/import", 400, "malformed_form", content=b"--y\r\nnonsense", headers=broken)
    place.ask("POST", "/import", 400, content=b"", headers={"Content-Type": "multipart/form-data"})
    twice = [("file", ("a.tsv", GOOD.encode())), ("file", ("b.tsv", GOOD.encode()))]
    place.refused("POST", "/import", 400, "malformed_form", files=twice)
    assert place.get("/draft")["head"] is None


def test_a_form_that_was_cut_off_is_refused_wherever_that_was(place: Place) -> None:
    """The form may also end after a row, where its content looks complete."""
    disposition = b'Content-Disposition: form-data; name="file"; filename="a.tsv"\r\n\r\n'
    data = b"--x\r\n" + disposition + GOOD.encode() + b"\r\n--x--\r\n"
    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    ends = [data.index(b"\n--x--") + 1, data.rindex(b"--"), *range(0, len(data) - len(b"--\r\n"), 40)]
    for end in [*ends, len(data) - len(b"--\r\n")]:
        place.refused("POST", "/import", 400, "malformed_form", content=data[:end], headers=headers)
    assert place.get("/draft")["head"] is None
    assert place.ask("POST", "/import", 200, content=data, headers=headers).json()["added"] == 3


@pytest.mark.parametrize("name", [b"\xff\xfe.tsv", b"caf\xe9.tsv"])
@pytest.mark.parametrize("header", [b'Content-Disposition: form-data; name="file"; filename="%b"', b"X-%b: 1"])
def test_a_form_whose_headers_are_no_text_is_refused(place: Place, header: bytes, name: bytes) -> None:
    """The response has a message, and is not an internal error."""
    data = b"--x\r\n" + header % name + b"\r\n\r\n" + GOOD.encode() + b"\r\n--x--\r\n"
    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    place.refused("POST", "/import", 400, "malformed_form", content=data, headers=headers)
    assert place.get("/draft")["head"] is None


def test_rows_in_error_stop_everything_and_are_named(place: Place) -> None:
    found = import_(place, MIXED, 422)
    assert found["error"] == "invalid_rows"
    assert places(found["report"]) == [
        (3, 2, "missing_slash"),
        (4, 4, "not_allowed"),
        (5, 2, "duplicate_source"),
        (6, 2, "wrong_columns"),
    ]
    assert place.get("/draft")["head"] is None


def test_of_very_many_rows_in_error_the_first_are_named_and_all_counted(place: Place) -> None:
    """The response is small for any number of errors."""
    found = import_(place, HEADER + "BASIC\tno\t/b\t301\n" * 3_000, 422)["report"]
    assert (found["total"], found["wrong"], found["errorsTotal"]) == (3_000, 3_000, 3_000)
    assert places(found) == [(line, 2, "missing_slash") for line in range(2, 1_002)]


def test_rows_in_error_can_be_left_out(place: Place) -> None:
    found = import_(place, MIXED, query="?skipErrors=true")
    assert (found["total"], found["added"], len(found["errors"])) == (5, 1, 4)
    assert [item["source"] for item in place.get("/draft/redirects")["items"]] == ["/a"]


def test_a_dry_run_reports_and_writes_nothing(place: Place) -> None:
    found = import_(place, MIXED, query="?dryRun=true")
    assert (found["added"], len(found["errors"])) == (1, 4)
    assert place.get("/draft")["head"] is None


def test_a_dry_run_lists_what_the_checks_would_find_and_an_import_does_not(place: Place) -> None:
    place.add("/old", "/next")
    found = import_(place, f"{HEADER}BASIC\t/new\t/old\t301\nBASIC\t/next\t/end\t301\n", query="?dryRun=true")
    assert found["findingsTotal"] == 2
    row, rule = found["findings"]
    message = row.pop("message")
    assert message.startswith("the target is redirected again: /new → /old → /next → /end")
    assert row == {"source": "/new", "line": 2, "column": 3, "code": "chain", "severity": "warning"}
    assert (rule["source"], rule["file"], rule["line"], rule["code"]) == ("/old", "shop/redirects.yaml", 2, "chain")
    writer = place.holder(("redirect", "write"), ("redirect", "read"))
    withheld = import_(writer, f"{HEADER}BASIC\t/new\t/old\t301\n", query="?dryRun=true")["findings"]
    assert [sorted(each) for each in withheld] == [["code", "column", "line", "message", "severity"]]
    assert "/next" not in str(withheld)
    assert "findings" not in import_(place, f"{HEADER}BASIC\t/new\t/old\t301\n")


def test_of_many_findings_the_first_are_listed_and_all_counted(place: Place) -> None:
    rows = "".join(f"BASIC\t/{number}\t/next\t301\n" for number in range(150))
    found = import_(place, f"{HEADER}BASIC\t/next\t/end\t301\n{rows}", query="?dryRun=true")
    assert found["findingsTotal"] == 150
    assert [each["line"] for each in found["findings"]] == list(range(3, 103))
    assert import_(place, MIXED, query="?dryRun=true")["findingsTotal"] is None  # nothing would be imported


def test_existing_rules_are_kept_unless_they_are_to_be_overwritten(place: Place) -> None:
    place.add("/a", "/mine", note="keep", tags=["t"])
    place.add("/b", "/y", status="FOUND")
    kept = import_(place, GOOD)
    assert (kept["added"], kept["skipped"], kept["identical"], kept["changed"]) == (1, 1, 1, 0)
    assert place.get("/draft/redirects")["items"][0]["target"] == "/mine"
    again = import_(place, GOOD, query="?overwrite=true")
    assert (again["added"], again["skipped"], again["identical"], again["changed"]) == (0, 0, 2, 1)
    item = place.get("/draft/redirects")["items"][0]
    assert (item["target"], item["note"], item["tags"]) == ("/x", "keep", ["t"])


def test_rows_that_are_invalid_only_together_are_named(place: Place) -> None:
    place.add("/there", "/here")
    place.add_page("/page.txt")
    text = HEADER + "BASIC\t/here\t/there\t301\nBASIC\t/page.txt\t/x\t301\nBASIC\t/fine\t/x\t301\n"
    found = import_(place, text, query="?skipErrors=true")
    assert {(line, code) for line, _, code in places(found)} == {(2, "redirect_loop"), (3, "page_unreachable")}
    assert found["added"] == 1
    place.publish()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b"source\tto\n",
        b"type,source,to,status\n",
        b"\xff\xfet\x00",
        b"BASIC\t/a\t/b\t301\n",
        b"\x00" * 50,
    ],
)
def test_a_file_that_cannot_be_read_imports_nothing_whatever_is_skipped(place: Place, data: bytes) -> None:
    for query in ("", "?skipErrors=true"):
        found = import_(place, data, 422, query=query)["report"]
        assert [code for _, _, code in places(found)] == ["bad_header"]
        assert (found["total"], found["added"]) == (0, 0)


@pytest.mark.parametrize(
    ("row", "code"),
    [
        (b"BASIC\t/\xff\t/b\t301", "bad_encoding"),
        (b"BASIC\t/a\x00\t/b\t301", "control_character"),
        (b"BASIC\t/" + b"x" * 9000 + b"\t/b\t301", "too_long"),
        (b'"BASIC"\t"/a"\t"/b"\t301', "not_allowed"),
        (b"BASIC\t/a\t/b\t301\textra", "wrong_columns"),
    ],
)
def test_a_hostile_row_is_one_error_and_no_more(place: Place, row: bytes, code: str) -> None:
    data = HEADER.encode() + b"BASIC\t/first\t/x\t301\n" + row + b"\nBASIC\t/last\t/x\t301\n"
    found = import_(place, data, query="?skipErrors=true")
    assert [(line, each) for line, _, each in places(found)] == [(3, code)]
    assert [item["source"] for item in place.get("/draft/redirects")["items"]] == ["/first", "/last"]


def test_byte_order_mark_line_ends_and_raw_unicode(place: Place) -> None:
    text = "\ufeff" + (HEADER + "BASIC\t/gr\u00fc\u00df\t/\u65e5\u672c\t302\n\n").replace("\n", "\r\n")
    import_(place, text)
    place.publish()
    assert place.get("/redirects")["items"] == [redirect("/gr\u00fc\u00df", "/\u65e5\u672c", status="FOUND")]


def test_an_import_goes_to_the_draft_that_was_named(place: Place) -> None:
    import_(place, GOOD, query="?draft=spring")
    assert place.get("/draft/redirects")["total"] == 0
    assert place.get("/draft/redirects?draft=spring")["total"] == 3


@pytest.mark.parametrize(
    "query", ["?skipErrors=1", "?dryRun=TRUE", "?overwrite=", "?dryRun=yes", "?draft=a/b", "?dryRun=true&dryRun=true"]
)
def test_an_option_is_true_or_false(place: Place, query: str) -> None:
    answer = place.root.send("POST", f"{place.path}/import{query}", content=GOOD.encode(), headers=TSV)
    assert answer.status_code == 400, describe(answer)


def test_the_export_goes_back_in_unchanged(world: World, place: Place) -> None:
    import_(place, GOOD)
    place.publish()
    exported = place.ask("GET", "/export", 200)
    assert exported.headers["Content-Type"].startswith("text/tab-separated-values")
    other = world.place(place.namespace, "other")
    assert import_(other, exported.content)["added"] == 3
    other.publish()
    assert other.get("/redirects") == place.get("/redirects")
    assert other.ask("GET", "/export", 200).content == exported.content


def test_notes_and_tags_of_an_export_are_imported(world: World, place: Place) -> None:
    place.add("/a", "/x", note='Two lines,\r\n\n\tand "quotes"', tags=["sale", "a,b"])
    place.add("/b", "/y")
    exported = place.ask("GET", "/export?at=draft", 200).content
    other = world.place(place.namespace, "other")
    assert import_(other, exported)["unusedColumns"] == []
    names = ("source", "target", "note", "tags")
    drafts = [
        [[item[name] for name in names] for item in each.get("/draft/redirects")["items"]] for each in (place, other)
    ]
    assert drafts[0] == drafts[1]
    assert drafts[1][0][2:] == ['Two lines,\r\n\n\tand "quotes"', ["sale", "a,b"]]
    assert other.ask("GET", "/export?at=draft", 200).content == exported
    assert import_(other, exported)["identical"] == 2
    other.publish()
    assert [sorted(item) for item in other.get("/redirects")["items"]] == [["source", "status", "target", "type"]] * 2


def test_a_column_that_is_not_imported_is_named(place: Place) -> None:
    for query in ("?dryRun=true", ""):
        assert import_(place, "source,target,status,tag\n/a,/b,302,x\n", query=query)["unusedColumns"] == [
            {"column": 4, "name": "tag", "message": 'the column "tag" is not imported; did you mean "tags"?'}
        ]


def test_any_state_is_exported_in_any_form(place: Place) -> None:
    import_(place, GOOD)
    place.add_page("/p.txt")
    for query, count in (("at=draft", 3), ("at=published", 0), ("at=1", 0)):
        assert place.ask("GET", f"/export?{query}", 200).text.count("\n") == count + 1
    found = place.get("/export", format="json", at="draft")
    assert (len(found["redirects"]), found["pages"]) == (3, [page("/p.txt")])
    yaml = place.ask("GET", "/export?format=yaml&at=draft", 200)
    assert yaml.text.startswith("redirects:\n")
    assert yaml.headers["Content-Disposition"] == 'attachment; filename="shop.yaml"'
    place.refused("GET", "/export?format=xml", 400, "bad_parameter")
    place.refused("GET", "/export?at=99", 404, "not_found")


def test_an_export_has_what_a_list_with_the_same_filters_shows(place: Place) -> None:
    place.add("/b", "/sale/1", tags=["sale"])
    place.add("/gone", "/sale/2")
    place.published("/a")
    gone = next(each for each in place.get("/draft/redirects")["items"] if each["source"] == "/gone")
    place.ask("DELETE", f"/draft/redirects/{gone['id']}", 204)
    place.add("/c", "/sale/3", status="FOUND")

    def sources(query: str) -> list[str]:
        return [line.split("\t")[1] for line in place.ask("GET", f"/export?{query}", 200).text.splitlines()[1:]]

    queries = "sort=-source q=SALE&sort=source status=302 tag=sale change=added change=removed type=REGEX"
    for query in queries.split():
        listed = place.get(f"/draft/redirects?{query}")["items"]
        shown = [item["source"] for item in listed if "removed" in query or item["change"] != "removed"]
        assert sources(f"at=draft&{query}") == shown, query
    assert sources("q=sale&sort=-source") == ["/gone", "/b"]  # published
    assert sources("at=2&tag=sale") == ["/b"]
    assert "/gone" not in place.ask("GET", "/export?format=yaml&at=draft&q=sale", 200).text
    place.refused("GET", "/export?change=added", 400, "bad_request")
    place.refused("GET", "/export?format=json&q=a", 400, "bad_parameter")
    place.refused("GET", "/export?sort=nothing", 400, "bad_parameter")


def test_an_export_has_the_pages_that_a_list_with_the_same_filters_shows(place: Place) -> None:
    place.add_page("/b.txt", "A sale\n\nof: \ttwo\n", tags=["sale"])
    place.add_page("/gone.txt", "sale")
    place.publish()
    gone = next(each for each in place.get("/draft/pages")["items"] if each["path"] == "/gone.txt")
    place.ask("DELETE", f"/draft/pages/{gone['id']}", 204)
    place.add_page("example.org/c.xml", "<sale/>", type="BASIC_HOST", contentType="XML", note="a sale")

    def exported(query: str) -> list[Any]:
        answer = place.ask("GET", f"/export?kind=page&{query}", 200)
        assert answer.headers["Content-Disposition"] == 'attachment; filename="shop-pages.yaml"'
        assert answer.headers["Content-Type"] == "application/yaml"
        found: list[Any] = yaml.safe_load(answer.content)["pages"]
        return found

    queries = "sort=-source q=SALE&sort=source tag=sale change=added change=removed type=BASIC_HOST q=none"
    for query in queries.split():
        listed = place.get(f"/draft/pages?{query}")["items"]
        shown = [item for item in listed if "removed" in query or item["change"] != "removed"]
        found = exported(f"at=draft&{query}")
        assert [each["path"] for each in found] == [each["path"] for each in shown], query
        assert [each["content"] for each in found] == [each["content"] for each in shown], query
    assert [each["path"] for each in exported("format=yaml&sort=-source")] == ["/gone.txt", "/b.txt"]  # published
    place.refused("GET", "/export?kind=page&change=added", 400, "bad_request")
    for query in ("format=tsv", "format=json", "status=301", "type=REGEX"):
        place.refused("GET", f"/export?kind=page&{query}", 400, "bad_parameter")
    place.refused("GET", "/export?kind=redirect&format=json", 400, "bad_parameter")
    place.refused("GET", "/export?kind=pages", 400, "bad_parameter")


def test_an_export_has_the_content_of_a_page_that_is_a_file_of_its_own(place: Place, tmp_path: Path) -> None:
    clone = Clone.of(place.repository, tmp_path / "clone")
    clone.write("shop/pages/a.txt", "the text\n")
    text = "pages:\n  - {type: BASIC, path: /a.txt, file: pages/a.txt, contentType: TEXT_PLAIN}\n"
    place.wait_for(clone.publish("shop/pages.yaml", text))
    assert yaml.safe_load(place.ask("GET", "/export?kind=page", 200).content) == {
        "pages": [page("/a.txt", "the text\n")]
    }


def test_each_form_needs_the_grants_for_its_records(place: Place) -> None:
    readers = {kind: place.holder((kind, "read")) for kind in ("redirect", "page")}
    for kind, other in (("redirect", "page"), ("page", "redirect")):
        readers[kind].ask("GET", f"/export?kind={kind}", 200)
        readers[kind].refused("GET", f"/export?kind={other}", 403, "forbidden")
        readers[kind].refused("GET", "/export?format=json", 403, "forbidden")
        readers[kind].refused("GET", f"/export?kind={kind}&at=draft", 403, "forbidden")
    readers["redirect"].ask("GET", "/export", 200)
    readers["page"].refused("GET", "/export", 403, "forbidden")


def test_a_file_over_the_limit_is_413_before_it_is_read(place: Place) -> None:
    service = place.world.service
    headers = {**TSV, "Authorization": f"Bearer {place.root.token}", "Content-Length": str(500 * 1024 * 1024)}
    answer = send_raw(service, "POST", f"{place.path}/import".encode(), {**headers, "Expect": "100-continue"})
    assert (answer.status_code, answer.json()["error"]) == (413, "body_too_large")


def test_the_first_skipped_rows_are_listed_with_what_is_kept_for_who_may_read_it(place: Place) -> None:
    for number in range(101):
        place.add(f"/{number}", "/mine", status="FOUND")
    rows = "".join(f"BASIC\t/{number}\t/theirs\t302\n" for number in range(101))
    for query in ("?dryRun=true", ""):
        found = import_(place, HEADER + rows, query=query)
        assert found["skipped"] == 101
        assert [each["line"] for each in found["skippedRows"]] == list(range(2, 102))
        assert found["skippedRows"][0] == {
            "line": 2, "source": "/0", "fields": {"target": {"old": "/mine", "new": "/theirs"}}
        }  # fmt: skip
    writer = place.holder(("redirect", "write"))
    withheld = import_(writer, f"{HEADER}BASIC\t/0\t/theirs\t301\n", query="?dryRun=true")
    assert withheld["skippedRows"] == [{"line": 2, "source": "/0", "fields": {}}]
    assert import_(place, HEADER + rows, query="?overwrite=true&dryRun=true")["skippedRows"] == []
