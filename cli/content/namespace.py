"""`waypost namespace`: create, list and remove namespaces."""

from pathlib import Path

import click

from api.http.response import json_views
from cli.console.exits import CommandFailed
from cli.console.output import print_json, print_lines, print_notes, print_rows
from cli.console.progress import show_status
from cli.console.setup import (
    confirm,
    data_option,
    json_option,
    namespace_argument,
    open_store,
    operator,
    yes_option,
)
from gitstore.errors import StoreError
from gitstore.store.store import Store


@click.group("namespace")
def command() -> None:
    """Create, list and remove namespaces.

    Each is one bare Git repository below the data directory, and holds projects.
    """


@command.command()
@namespace_argument
@click.option("--description", default="", metavar="TEXT", help="A sentence for people.")
@click.option(
    "--from",
    "folder",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Import the projects of this folder, and publish them.",
)
@json_option
@data_option
def create(namespace: str, description: str, folder: Path | None, *, as_json: bool, data: str | None) -> None:
    """Create a namespace, empty or from a folder of projects.

    Prints the path of its repository, which Git can clone.
    """
    store = open_store(data)
    if folder:
        with show_status(f"Reading {folder}") as watch:
            store.namespaces.import_folder(namespace, description, folder, operator(), watch)
    else:
        store.namespaces.create(namespace, description, operator())
    repository = str(store.directory.namespace(namespace).repository)
    if as_json:
        print_json({**_to_json(store, namespace), "repository": repository})
    else:
        print_lines(repository)
    print_notes(f"Created the namespace {namespace}. Git can clone it from that path.")


@command.command("list")
@json_option
@data_option
def list_(*, as_json: bool, data: str | None) -> None:
    """List the namespaces.

    One that is broken on disk is reported, and makes the exit code 3.
    """
    store, found, failures = open_store(data), [], []
    for name in store.namespaces.names():
        try:
            found.append(_to_json(store, name))
        except StoreError as ex:
            failures.append(f"{name}: {ex}")
    if as_json:
        print_json(found)
    else:
        rows = [(each["name"], each["projects"], each["description"]) for each in found]
        print_rows(("NAMESPACE", "PROJECTS", "DESCRIPTION"), rows)
    if failures:
        raise CommandFailed("\n".join(failures))


@command.command()
@namespace_argument
@yes_option
@data_option
def delete(namespace: str, *, yes: bool, data: str | None) -> None:
    """Archive a namespace; nothing is erased.

    Prints the folder that it was moved to.
    """
    store = open_store(data)
    count = len(store.releases.namespace(namespace).projects)
    confirm(f"Take the namespace {namespace} and its projects ({count}) offline?", yes=yes)
    print_lines(str(store.namespaces.delete(namespace)))
    print_notes(f"Moved the namespace {namespace} to that folder.")


def _to_json(store: Store, name: str) -> dict[str, object]:
    return json_views.namespace(store.namespaces.read(name), len(store.releases.namespace(name).projects))
