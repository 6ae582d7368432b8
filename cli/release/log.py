"""`waypost log`: list the publishes of a project, or of one rule."""

import re
from typing import Any

import click

from api.http.response import json_views
from cli.console.output import count_noun, print_json, print_notes, print_rows
from cli.console.setup import data_option, json_option, namespace_argument, open_store, project_argument
from content.records.vocabulary import Kind
from gitstore.comparison.descriptions import count_text
from gitstore.history.history import PublishRecord
from gitstore.history.rule_history import RuleEvent

_SHORT_SHA_LENGTH = 12
_MAX_LENGTH = 60


@click.command("log")
@namespace_argument
@project_argument
@click.option("--source", metavar="SOURCE", help="Only publishes that changed the redirect with this source.")
@click.option("--path", metavar="PATH", help="Only publishes that changed the page with this path.")
@click.option(
    "--limit",
    "-n",
    type=click.IntRange(1, 1_000_000),
    default=20,
    show_default=True,
    metavar="COUNT",
    help="How many to show.",
)
@click.option(
    "--offset",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    metavar="COUNT",
    help="How many newer ones to skip.",
)
@json_option
@data_option
def command(  # noqa: PLR0913 - one parameter an option
    namespace: str,
    project: str,
    source: str | None,
    path: str | None,
    limit: int,
    offset: int,
    *,
    as_json: bool,
    data: str | None,
) -> None:
    """List the publishes of a project, newest first.

    With --source or --path only those of PROJECT that added, changed or removed that rule, with the changes of it.
    """
    if source is not None and path is not None:
        raise click.UsageError("Give --source or --path, not both.")
    store = open_store(data)
    if source is None and path is None:
        found, _ = store.publishes.history(namespace, project, offset, limit)
        _print(
            ("CHANGES", "MESSAGE"), [(json_views.publish_record(each), _row(each)) for each in found], as_json=as_json
        )
        return
    kind, identity = (Kind.REDIRECTS, source) if source is not None else (Kind.PAGES, path)
    life, total = store.publishes.rule_history(namespace, project, kind, identity or "", slice(offset, offset + limit))
    if not total:
        print_notes(f"No publish changed the {kind.removesuffix('s')} {identity!r}.")
    _print(
        ("AUTHOR", "WHAT", "FIELDS", "MESSAGE"),
        [(json_views.lived(each), _history_row(each)) for each in life],
        as_json=as_json,
    )


def _print(columns: tuple[str, ...], rows: list[tuple[dict[str, Any], tuple[object, ...]]], *, as_json: bool) -> None:
    if as_json:
        print_json([found for found, _ in rows])
    else:
        print_rows(("PUBLISH", "VERSION", "WHEN", "BY", *columns), [row for _, row in rows])


def _row(found: PublishRecord) -> tuple[object, ...]:
    changes = _changes(found) if found.served else "never served (invalid)"
    return *_head(found), changes, _title(found)


def _changes(found: PublishRecord) -> str:
    """Format the counts of changed rules; if there are none, that of changed files (comments, settings or tests)."""
    files = sum(found.files or ())
    beside = "" if any(map(any, found.counts.values())) or not files else f", {count_noun(files, 'file')}"
    return f"{count_text(found.counts)}{beside}"


def _history_row(found: RuleEvent) -> tuple[object, ...]:
    fields = "; ".join(
        f"{name}: {_format_value(values['old'])} -> {_format_value(values['new'])}"
        for name, values in found.change["fields"].items()
        if found.change["change"] == "changed"
    )
    served = "" if found.publish.served else "never served (invalid); "
    what = served + (fields or _describe_fields(found.change["fields"]))
    return (
        *_head(found.publish),
        _strip_addresses(found.publish.author),
        found.change["change"],
        what,
        _title(found.publish),
    )


def _describe_fields(fields: dict[str, dict[str, object]]) -> str:
    """Format an added or removed rule, field by field."""
    sides = {name: values["old"] if values["new"] is None else values["new"] for name, values in fields.items()}
    return ", ".join(f"{name}: {_format_value(value)}" for name, value in sides.items())


def _format_value(value: object) -> str:
    text = "nothing" if value is None else " ".join(str(value).split())
    return text if len(text) <= _MAX_LENGTH else f"{text[: _MAX_LENGTH - 1]}…"


def _title(found: PublishRecord) -> str:
    overridden = f" (approval overridden: {_format_value(found.override)})" if found.override else ""
    return found.message.partition("\n")[0] + overridden


def _strip_addresses(people: str) -> str:
    """Remove the mail addresses from a list of authors."""
    return re.sub(r" <[^<>]*>", "", people)


def _head(found: PublishRecord) -> tuple[object, ...]:
    by = found.published_by.partition(" <")[0]
    return found.number, found.version[:_SHORT_SHA_LENGTH], json_views.dump_timestamp(found.time), by
