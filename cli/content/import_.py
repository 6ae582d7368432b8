"""`waypost import`: import a table of redirects into a draft, and optionally publish it."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from api.http.response import json_views
from api.upstreams.pull_publishes import PulledPublish
from cli.console.authoring import as_option, author_of
from cli.console.exits import CommandFailed, ProblemsFound
from cli.console.leaked_tokens import refuse_tokens
from cli.console.never_answer import never_answer_notes
from cli.console.next_command import next_command
from cli.console.output import count_noun, print_json, print_lines, print_notes
from cli.console.progress import show_status
from cli.console.services import open_existing_services, state_options
from cli.console.setup import (
    draft_option,
    json_option,
    namespace_argument,
    open_store,
    project_argument,
)
from cli.content.edit_options import find_new_problems, problem_lines
from cli.release.publishing import publish_draft, publisher_of
from content.formats.spreadsheet import as_utf8
from content.formats.tsv import Row, read_rows
from content.records.problem import Problem
from content.records.vocabulary import Kind
from gitstore.drafts.bulk.importing import ImportOptions, ImportResult
from gitstore.drafts.drafts import DraftName
from gitstore.namespaces.checkout import ProgressCallback
from gitstore.publish.advance import PublishResult
from gitstore.publish.publishing import PublishRequest


@click.command("import")
@namespace_argument
@project_argument
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False, allow_dash=True))
@click.option("--overwrite", is_flag=True, help="Update redirects that have the same source.")
@click.option("--skip-errors", is_flag=True, help="Leave out invalid rows instead of stopping.")
@click.option("--dry-run", is_flag=True, help="Show the result, and write nothing.")
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

    FILE (- for standard input) becomes one commit. Its columns are separated by tabs, commas or semicolons; the first
    line is the header: type, source, target, status, note, tags. Without a type, rules are BASIC, without a status 301.
    Invalid rows are printed as FILE:LINE:COLUMN (the column of the table), stop the import, and make the exit code 1.
    """
    store, name = open_store(data), DraftName(project, draft)
    author, content = author_of(username, data, database), _read(file)
    refuse_tokens(data, database, [(str(file), as_utf8(content))])
    if publish_too:  # checked first, so that nothing is imported for a user who may not publish
        with open_existing_services(data, database) as services:
            publisher = publisher_of(services, username, namespace, project)
    with show_status(f"Reading {file}") as watch:
        rows = _count_rows(read_rows(content, budget=store.drafts.call_budget(namespace, name)), watch)
        options = ImportOptions(overwrite, dry_run, skip_errors)
        found = store.drafts.import_rows(namespace, name, rows, options, author)
        has_failed = bool(found.plan.wrong) and (not skip_errors or found.plan.is_unreadable)
        made = None
        if publish_too and found.head and not has_failed:
            watch(f"Publishing {project}")
            with open_existing_services(data, database) as services:
                made = publish_draft(services, store, namespace, PublishRequest(name, author, found.head), publisher)
    published = made if isinstance(made, PublishResult) else None
    changes = {Kind.REDIRECTS: found.plan.counts}
    problems = () if published else find_new_problems(store, namespace, name, found.head, changes)
    _print(found, file, published, problems, as_json=as_json)
    print_notes(*(f"{file}: {each.message}" for each in found.plan.unused))
    next_step = f"To make it live: {next_command('publish', namespace, name)}."
    if isinstance(made, PulledPublish):
        next_step = f"To make it live, merge its pull request: {made.url}."
    print_notes(_summary(found, published, next_step, dry_run=dry_run, has_failed=has_failed), *problem_lines(problems))
    state = "" if published else draft
    if found.head or dry_run:
        print_notes(*never_answer_notes(store, namespace, project, found.never_answer, state))
    if has_failed:
        raise ProblemsFound


def _read(file: Path) -> bytes:
    """Read the whole file before anything is locked, since standard input may be slow."""
    try:
        with click.open_file(str(file), "rb") as stream:
            content: bytes = stream.read()
    except OSError as ex:
        raise CommandFailed(f"{file} cannot be read: {ex.strerror}.") from ex
    return content


def _count_rows(rows: Iterator[Row], watch: ProgressCallback) -> Iterator[Row]:
    for count, row in enumerate(rows, 1):
        watch(f"Read {count:,} rows")
        yield row
    watch("Checking and writing")


def _print(
    found: ImportResult, file: Path, published: PublishResult | None, problems: Sequence[Problem], *, as_json: bool
) -> None:
    plan, report = found.plan, {**found.plan.report(), "neverAnswer": found.never_answer}
    if as_json:
        shown = {"draftProblems": [problem.wire() for problem in problems]}
        print_json({**report, **shown, "published": json_views.published(published) if published else None})
        return
    print_lines(*(problem.at(str(file), problem.line, problem.column).text() for problem in plan.errors))
    if plan.unreported_errors:
        print_lines(
            f"… and {count_noun(plan.unreported_errors, 'more error')} in {count_noun(plan.unreported_rows, 'more row')}."
        )
    counts = [f"{report[name]:,} {name}" for name in ("added", "changed", "identical", "skipped")]
    print_lines(", ".join([*counts, f"{report['wrong']:,} invalid"]))


def _summary(
    found: ImportResult, published: PublishResult | None, next_step: str, *, dry_run: bool, has_failed: bool
) -> str:
    """Return the result in a sentence, and the next step."""
    if has_failed:
        skipping = "" if found.plan.is_unreadable else ", or leave the rows out with --skip-errors"
        nothing = "Nothing would be imported" if dry_run else "Nothing was imported"
        return f"{nothing}. Fix the errors above{skipping}."
    if dry_run:
        return "Nothing was written: this was a dry run."
    if published:
        return f"Publish {published.number}: {published.version}."
    return f"The draft is at {found.head}. {next_step}" if found.head else "There was nothing to import."
