"""`waypost log`: the publishes of a project, or of one rule."""

import re
from typing import Any

import click

from api import wire
from cli.output import count_noun, print_json, print_notes, print_rows
from cli.setup import data_option, json_option, namespace_argument, open_store, project_argument
from content.vocabulary import Kind
from gitstore.history import Publish
from gitstore.lives import Lived
from gitstore.messages import count_text

_SHORT = 12
_SHOWN = 60


@click.command("log")
@namespace_argument
@project_argument
@click.option("--source", metavar="SOURCE", help="Only what changed the redirect with this source.")
@click.option("--path", metavar="PATH", help="Only what changed the page with this path.")
@click.option(
    "--limit", "-n", type=click.IntRange(1, 1_000_000), default=20, show_default=True, metavar="COUNT", help="How many."
)
@click.option(
    "--offset", type=click.IntRange(0), default=0, show_default=True, metavar="COUNT", help="How many newer to skip."
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

    With --source or --path only those of PROJECT that added, changed or removed that rule, each with what it did.
    """
    if source is not None and path is not None:
        raise click.UsageError("Give --source or --path, not both: the history is of one rule.")
    store = open_store(data)
    if source is None and path is None:
        found, _ = store.history(namespace, project, offset, limit)
        _print(("CHANGES", "MESSAGE"), [(wire.publish_record(each), _row(each)) for each in found], as_json=as_json)
        return
    kind, identity = (Kind.REDIRECTS, source) if source is not None else (Kind.PAGES, path)
    life, total = store.life(namespace, project, kind, identity or "", slice(offset, offset + limit))
    if not total:
        print_notes(f"No publish changed the {kind.removesuffix('s')} {identity!r}.")
    _print(
        ("AUTHOR", "WHAT", "FIELDS", "MESSAGE"),
        [(wire.lived(each), _lived_row(each)) for each in life],
        as_json=as_json,
    )


def _print(columns: tuple[str, ...], rows: list[tuple[dict[str, Any], tuple[object, ...]]], *, as_json: bool) -> None:
    if as_json:
        print_json([found for found, _ in rows])
    else:
        print_rows(("PUBLISH", "VERSION", "WHEN", "BY", *columns), [row for _, row in rows])


def _row(found: Publish) -> tuple[object, ...]:
    changes = _changes(found) if found.served else "never served, for it is wrong"
    return *_head(found), changes, _title(found)


def _changes(found: Publish) -> str:
    """How many rules changed; where none did, how many files: comments, settings or tests."""
    files = sum(found.files or ())
    beside = "" if any(map(any, found.counts.values())) or not files else f", {count_noun(files, 'file')}"
    return f"{count_text(found.counts)}{beside}"


def _lived_row(found: Lived) -> tuple[object, ...]:
    fields = "; ".join(
        f"{name}: {_shown(values['old'])} -> {_shown(values['new'])}"
        for name, values in found.change["fields"].items()
        if found.change["change"] == "changed"
    )
    served = "" if found.publish.served else "never served, for it is wrong; "
    what = served + (fields or _whole(found.change["fields"]))
    return *_head(found.publish), _names(found.publish.author), found.change["change"], what, _title(found.publish)


def _whole(fields: dict[str, dict[str, object]]) -> str:
    """A rule that came or went, field by field."""
    sides = {name: values["old"] if values["new"] is None else values["new"] for name, values in fields.items()}
    return ", ".join(f"{name}: {_shown(value)}" for name, value in sides.items())


def _shown(value: object) -> str:
    text = "nothing" if value is None else " ".join(str(value).split())
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def _title(found: Publish) -> str:
    overridden = f" (approval overridden: {_shown(found.override)})" if found.override else ""
    return found.message.partition("\n")[0] + overridden


def _names(people: str) -> str:
    """Those who wrote something, without their addresses."""
    return re.sub(r" <[^<>]*>", "", people)


def _head(found: Publish) -> tuple[object, ...]:
    by = found.published_by.partition(" <")[0]
    return found.number, found.version[:_SHORT], wire.moment(found.time), by
