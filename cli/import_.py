"""`waypost import`: a TSV of redirects into a draft, or straight to agents."""

from collections.abc import Iterator
from pathlib import Path

import click

from api import wire
from cli.authoring import as_option, author_of
from cli.exits import Failed, ProblemsFound
from cli.next_command import next_command
from cli.output import count_noun, print_json, print_lines, print_notes
from cli.publishing import publish_draft, publisher_of
from cli.services import opened_services, state_options
from cli.setup import (
    draft_option,
    json_option,
    namespace_argument,
    open_store,
    project_argument,
)
from cli.status import shown_status
from content.import_plan import ImportPlan
from content.tsv import Row, read_rows
from gitstore.advance import Published
from gitstore.checkout import Watch
from gitstore.drafts import DraftName
from gitstore.importing import Imported, ImportOptions
from gitstore.publishing import PublishOrder


@click.command("import")
@namespace_argument
@project_argument
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False, allow_dash=True))
@click.option("--overwrite", is_flag=True, help="Update redirects that have the same source.")
@click.option("--skip-errors", is_flag=True, help="Leave wrong rows out instead of stopping.")
@click.option("--dry-run", is_flag=True, help="Say what would happen, and write nothing.")
@click.option("--publish", "publish_too", is_flag=True, help="Publish the draft afterwards, if the import changed it.")
@draft_option
@json_option
@as_option
@state_options
def command(  # noqa: PLR0913 - one parameter an option
    namespace: str,
    project: str,
    file: Path,
    *,
    overwrite: bool,
    skip_errors: bool,
    dry_run: bool,
    publish_too: bool,
    draft: str,
    as_json: bool,
    username: str | None,
    data: str | None,
    database: str | None,
) -> None:
    """Import redirects from a table into a draft.

    FILE (- for standard input) becomes one commit. The columns are separated by tabs; the first line is the header: type, source, target, status. Wrong rows are
    printed as FILE:LINE:COLUMN (the column of the table), stop the import, and make the exit code 1.
    """
    store, name = open_store(data), DraftName(project, draft)
    author, content = author_of(username, data, database), _read(file)
    if publish_too:  # asked before anything is imported for somebody who may not go on
        with opened_services(data, database) as services:
            publisher = publisher_of(services, username, namespace, project)
    with shown_status(f"Reading {file}") as watch:
        rows = _counted(read_rows(content), watch)
        options = ImportOptions(overwrite, dry_run, skip_errors)
        found = store.import_rows(namespace, name, rows, options, author)
        stops = bool(found.plan.wrong) and (not skip_errors or found.plan.is_unreadable)
        published = None
        if publish_too and found.head and not stops:
            watch(f"Publishing {project}")
            with opened_services(data, database) as services:
                order = PublishOrder(name, author, found.head)
                published = publish_draft(services, store, namespace, order, publisher)
    _print(found.plan, file, published, as_json=as_json)
    next_step = f"To make it live: {next_command('publish', namespace, name)}."
    print_notes(_outcome(found, published, next_step, dry_run=dry_run, stops=stops))
    if stops:
        raise ProblemsFound


def _read(file: Path) -> bytes:
    """All of it before anything is locked: whoever writes to standard input may take their time."""
    try:
        with click.open_file(str(file), "rb") as stream:
            content: bytes = stream.read()
    except OSError as ex:
        raise Failed(f"{file} cannot be read: {ex.strerror}.") from ex
    return content


def _counted(rows: Iterator[Row], watch: Watch) -> Iterator[Row]:
    for count, row in enumerate(rows, 1):
        watch(f"Read {count:,} rows")
        yield row
    watch("Checking and writing")


def _print(plan: ImportPlan, file: Path, published: Published | None, *, as_json: bool) -> None:
    report = plan.report()
    if as_json:
        print_json({**report, "published": wire.published(published) if published else None})
        return
    print_lines(*(problem.at(str(file), problem.line, problem.column).text() for problem in plan.errors))
    if plan.untold_errors:
        print_lines(
            f"… and {count_noun(plan.untold_errors, 'more error')} in {count_noun(plan.untold_rows, 'more row')}."
        )
    print_lines(", ".join(f"{report[name]:,} {name}" for name in ("added", "changed", "identical", "skipped", "wrong")))


def _outcome(found: Imported, published: Published | None, next_step: str, *, dry_run: bool, stops: bool) -> str:
    """What came of it, in a sentence, and what to do next."""
    if stops:
        skipping = "" if found.plan.is_unreadable else ", or leave them out with --skip-errors"
        nothing = "Nothing would be imported" if dry_run else "Nothing was imported"
        return f"{nothing}. Mend what is named above{skipping}."
    if dry_run:
        return "Nothing was written: this was a dry run."
    if published:
        return f"Publish {published.number}: {published.version}."
    return f"The draft is at {found.head}. {next_step}" if found.head else "There was nothing to import."
