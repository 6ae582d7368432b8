"""Notes and tags of tables: each comes back as it was written, columns that are left out are named, and limits hold."""

import json
from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from content.checks.record_rules import record_problems
from content.formats.annotations import MAX_NOTE_LENGTH, MAX_TAG_LENGTH, MAX_TAGS, dump_tags, parse_tags
from content.formats.import_plan import ImportPlan, plan_import
from content.formats.tsv import read_rows, write_rows
from content.formats.unused_columns import UnusedColumn
from content.records.problem import errors
from content.records.record import Redirect
from content.records.vocabulary import RedirectStatus, RedirectType
from tests.content.rules import redirects

RULE = Redirect(RedirectType.BASIC, "/a", "/b", RedirectStatus.MOVED_PERMANENT)
KNOWN = replace(RULE, note="why", tags=("shop",))

_NOTES = st.text(st.characters(exclude_categories=["Cs"])) | st.text('"\t\r\n ,;\\a')
_TAGS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1) | st.text(' ,;\\"a', min_size=1)
_RULES = st.lists(
    st.builds(
        lambda rule, note, tags: replace(rule, note=note, tags=tuple(tags)),
        redirects().filter(lambda rule: not errors(record_problems(rule))),
        _NOTES,
        st.lists(_TAGS, max_size=3),
    ),
    unique_by=lambda rule: rule.source,
)


def planned(table: str, *present: Redirect, overwrite: bool = True) -> ImportPlan:
    """Return the plan for a table."""
    return plan_import({rule.source: rule for rule in present}, read_rows(table.encode()), overwrite=overwrite)


def wanted(table: str, *present: Redirect) -> list[tuple[str, Sequence[str]]]:
    """Return the note and tags of each redirect that a table writes."""
    return [(placed.record.note, placed.record.tags) for placed in planned(table, *present).wanted]


@given(st.lists(_TAGS))
def test_tags_come_back_as_they_were_written(tags: list[str]) -> None:
    assert parse_tags(dump_tags(tags)) == tuple(tags)


@given(_RULES)
@example([replace(KNOWN, note=' \r\n\n\t,x"', tags=(" a, \\ ", '"b'))])
@example([replace(KNOWN, note=" ")])
def test_an_export_has_everything_that_redirects_have(rules: list[Redirect]) -> None:
    assert [row.fields for row in read_rows(write_rows(rules))] == rules


def test_the_longest_note_comes_back() -> None:
    for note in ("\n" * MAX_NOTE_LENGTH, "\U0001f600" * MAX_NOTE_LENGTH):
        rule = replace(RULE, note=note, tags=("\U0001f600" * MAX_TAG_LENGTH,) * MAX_TAGS)
        rule = replace(rule, source="/" + "é" * 8_191, target="/" + "é" * 8_191)
        assert [row.fields for row in read_rows(write_rows([rule]))] == [rule]


def test_redirects_without_notes_and_tags_are_written_in_the_strict_format() -> None:
    assert b"".join(write_rows([RULE])) == b"type\tsource\ttarget\tstatus\nBASIC\t/a\t/b\tMOVED_PERMANENT\n"
    expected = b"type\tsource\ttarget\tstatus\tnote\ttags\nBASIC\t/a\t/b\tMOVED_PERMANENT\twhy\tshop\n"
    assert b"".join(write_rows([KNOWN])) == expected


def test_notes_and_tags_of_a_table_are_read() -> None:
    table = 'TAGS,Source,target, Note \n" a, b\\,c ,,",/x,/y,"two\nlines, and ""quotes"""\n,/z,/y,\n'
    assert wanted(table) == [('two\nlines, and "quotes"', ("a", "b,c")), ("", ())]


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("source,target\n/a,/c\n", ("why", ("shop",))),
        ("source,target,note\n/a,/b,new\n", ("new", ("shop",))),
        ("source,target,note\n/a,/b,\n", ("", ("shop",))),
        ("source,target,tags\n/a,/b,\n", ("why", ())),
        ('source,target,tags,note\n/a,/b,"x,y",z\n', ("z", ("x", "y"))),
    ],
)
def test_an_overwritten_redirect_keeps_what_the_table_has_no_column_for(
    table: str, expected: tuple[str, Sequence[str]]
) -> None:
    plan = planned(table, KNOWN)
    assert [(placed.record.note, placed.record.tags) for placed in plan.wanted] == [expected]
    again = plan.planned_again({KNOWN.source: KNOWN}, overwrite=True)
    assert again == plan
    other = replace(KNOWN, note="theirs", tags=("theirs",))
    assert plan.planned_again({other.source: other}, overwrite=True) == planned(table, other)


def test_a_skipped_row_says_which_note_and_tags_are_kept() -> None:
    plan = planned('source,target,note,tags\n/a,/b,,"x,y"\n', KNOWN, overwrite=False)
    [skipped] = plan.listed_skipped
    fields = {"note": {"old": "why", "new": ""}, "tags": {"old": "shop", "new": "x, y"}}
    assert skipped.report() == {"line": 2, "source": "/a", "fields": fields}
    [skipped] = planned("source,target\n/a,/c\n", KNOWN, overwrite=False).listed_skipped
    assert skipped.report()["fields"] == {"target": {"old": "/b", "new": "/c"}}


@pytest.mark.parametrize(
    ("note", "tags", "field", "code", "part"),
    [
        ("n" * 2_001, "", "note", "too_long", "2,001 characters"),
        ("", ",".join("abcdefghijklmnopqrstu"), "tags", "too_long", "21 tags"),
        ("", "t" * 51, "tags", "too_long", "51 characters"),
        ("", '"a\nb"', "tags", "control_character", "U+000A; separate tags by commas"),
    ],
)
def test_a_note_or_tags_beyond_the_limits_are_errors(note: str, tags: str, field: str, code: str, part: str) -> None:
    tags = tags if tags.startswith('"') else f'"{tags}"'
    report: Any = planned(f"source,target,tags,note\n/a,/b,{tags},{note}\n").report()
    [error] = report["errors"]
    assert (error["field"], error["code"], error["column"]) == (field, code, {"tags": 3, "note": 4}[field])
    assert part in error["message"]


def test_the_limits_are_those_of_the_schema() -> None:
    fields = json.loads((files("schemas") / "fields.schema.json").read_text())["$defs"]
    tags = fields["tags"]
    assert (fields["note"]["maxLength"], tags["maxItems"]) == (MAX_NOTE_LENGTH, MAX_TAGS)
    assert tags["items"]["maxLength"] == MAX_TAG_LENGTH


def unused(table: str) -> list[UnusedColumn]:
    """Return the columns of a table that are not imported."""
    return list(planned(table).unused)


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("source,target,note,tags,type,status", []),
        (
            "source,target,Owner",
            [
                (
                    3,
                    "Owner",
                    'the column "Owner" is not imported; no column is named "status", so each redirect gets 301',
                )
            ],
        ),
        (
            "tag,source,target",
            [
                (
                    1,
                    "tag",
                    'the column "tag" is not imported; did you mean "tags"? No column is named "status", so each redirect gets 301',
                )
            ],
        ),
        ("source,target,Statsu", [(3, "Statsu", 'the column "Statsu" is not imported; did you mean "status"?')]),
        ("source,target,status,Statsu", [(4, "Statsu", 'the column "Statsu" is not imported')]),
        (
            "note,source,target,Note",
            [
                (
                    4,
                    "Note",
                    'the column "Note" is not imported: another column has this name; no column is named "status", so each redirect gets 301',
                )
            ],
        ),
    ],
)
def test_a_column_that_is_not_imported_is_named(header: str, expected: list[tuple[int, str, str]]) -> None:
    row = ["/a"] * len(header.split(","))
    row = [{"type": "", "status": ""}.get(name, text) for name, text in zip(header.split(","), row, strict=True)]
    assert unused(f"{header}\n{','.join(row)}\n") == expected


def test_a_column_without_a_name_is_named_once_a_row_has_a_text_there() -> None:
    assert unused(",source,target,,\n,/a,/b,,\n") == []
    message = "column 4 has no name in the first line, and is not imported"
    assert unused(",source,target,,\n,/a,/b,,\n,/c,/d,x,\n,/e,/f,y, \n") == [(4, "", message)]


def test_of_very_many_columns_the_first_are_named() -> None:
    names = ",".join(f"x{number}" for number in range(1_000))
    found = unused(f"source,target,{names}\n/a,/b\n")
    assert [name for _, name, _ in found] == [f"x{number}" for number in range(100)]


def test_of_very_many_columns_without_a_name_the_first_are_named() -> None:
    row = "/a,/b" + ",x" * 1_000
    found = unused(f"source,target,{',' * 999}\n/c,/d,,x,\n{row}\n{row.replace('a', 'e')}\n")
    assert [column for column, _, _ in found] == [4, 3, *range(5, 103)]
    assert found[99] == (102, "", "column 102 has no name in the first line, and is not imported")
    named = ",".join(f"x{number}" for number in range(98))
    found = unused(f"source,target,{named},,,\n/a,/b{',y' * 101}\n")
    assert [column for column, _, _ in found] == list(range(3, 103))


@pytest.mark.parametrize(
    "table", ["source,target,status,Owner", "source,target,status,Owner\n", "Owner,source,target,status\n,,,\n\n"]
)
def test_a_table_without_rows_names_its_columns_too(table: str) -> None:
    plan = planned(table)
    assert [name for _, name, _ in plan.unused] == ["Owner"]
    assert (plan.total, plan.report()["errors"], plan.wanted) == (0, [], [])
    assert plan.planned_again({}, overwrite=True).unused == plan.unused


@pytest.mark.parametrize(
    ("name", "field"),
    [
        *((name, "status") for name in ("Code", "Status code", "HTTP status", "http_code", "status-code")),
        *((name, "note") for name in ("Comment", "Description", "notes")),
        *((name, "tags") for name in ("Labels", "Categories", "tag")),
    ],
)
def test_the_usual_names_of_a_column_are_suggested(name: str, field: str) -> None:
    """They are never read as that column."""
    plan = planned(f"source,target,{name}\n/a,/b,302\n")
    said = f'the column "{name}" is not imported; did you mean "{field}"?'
    assert any(message.startswith(said) for *_, message in plan.unused)
    assert plan.wanted[0].record == RULE
    plan = planned(f"source,target,status,note,tags,{name}\n/a,/b,,,,302\n")
    assert [message for *_, message in plan.unused] == [f'the column "{name}" is not imported']


@pytest.mark.parametrize(
    ("header", "advice"),
    [
        ("From,To", 'rename "From" to source and "To" to target'),
        ('"Old URL";"New URL"', 'rename "Old URL" to source and "New URL" to target'),
        ("Old\tDestination\tNew", 'rename "Old" to source and "Destination" to target'),
        ("Path,Redirect to,Code", 'rename "Path" to source and "Redirect to" to target'),
        ("source,new_url", 'rename "new_url" to target'),
        ("Sources,Target", 'rename "Sources" to source'),
        ("a,b", ""),
        ("source,b", ""),
    ],
)
def test_a_header_without_source_or_target_says_which_columns_may_be_those(header: str, advice: str) -> None:
    [error] = planned(f"{header}\n/a,/b\n").errors
    assert error.code == "bad_header"
    assert advice in error.message
    assert ("rename" in error.message) == bool(advice)


def test_the_strict_format_has_no_other_columns() -> None:
    assert unused("type\tsource\ttarget\tstatus\nBASIC\t/a\t/b\t301\n") == []
