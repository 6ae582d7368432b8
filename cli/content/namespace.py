"""`waypost namespace`: create, list, archive and restore namespaces."""

from itertools import chain
from pathlib import Path

import click

from api.db.audit import AuditEvent
from api.http.response import json_views
from cli.console.exits import CommandFailed
from cli.console.leaked_tokens import files_below, refuse_tokens
from cli.console.output import print_json, print_lines, print_notes, print_rows
from cli.console.progress import show_status
from cli.console.services import open_existing_services, open_namespace_records, operator_actor, state_options
from cli.console.setup import (
    confirm,
    data_option,
    json_option,
    namespace_argument,
    open_store,
    operator,
    read_settings,
    yes_option,
)
from gitstore.errors import StoreError
from gitstore.history.live import REWOUND
from gitstore.store.store import Store


@click.group("namespace")
def command() -> None:
    """Create, list, archive and restore namespaces.

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
@click.option("--keep-grants", is_flag=True, help="Keep grants that name an earlier namespace of this name.")
@json_option
@data_option
def create(
    namespace: str, description: str, folder: Path | None, *, keep_grants: bool, as_json: bool, data: str | None
) -> None:
    """Create a namespace, empty or from a folder of projects.

    Prints the path of its repository, which Git can clone. If the name was used before, publish numbers continue, and
    grants on the earlier namespace are removed from tokens and roles.
    """
    store = open_store(data)
    refuse_tokens(data, None, chain([("--description", description.encode())], files_below(folder) if folder else ()))
    with open_namespace_records(data, keep_grants=keep_grants) as records:
        if folder:
            with show_status(f"Reading {folder}") as watch:
                store.namespaces.import_folder(namespace, description, folder, operator(), watch, records)
        else:
            store.namespaces.create(namespace, description, operator(), records)
    repository = str(store.directory.namespace(namespace).repository)
    if as_json:
        print_json({**_to_json(store, namespace), "repository": repository})
    else:
        print_lines(repository)
    address, path = read_settings(data=data).public_url, f"/git/{namespace}.git"
    where = (
        f"Clone it from the service: {address}{path}" if address else f"Clone it from {path} at the service's address."
    )
    print_notes(f"Created the namespace {namespace}. {where}")


@command.command("list")
@json_option
@data_option
def list_(*, as_json: bool, data: str | None) -> None:
    """List the namespaces.

    One that is broken on disk is reported, and makes the exit code 3. It is listed if its last good state is served.
    """
    store, found, failures = open_store(data), [], []
    for name in store.namespaces.names():
        try:
            found.append(_to_json(store, name))
            failure = store.releases.namespace(name).failure
        except StoreError as ex:
            failure = str(ex)
        if failure:
            failures.append(f"{name}: {failure}")
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
    """Archive a namespace, with its webhooks and reviews.

    Prints the folder that it was moved to. `waypost namespace restore` restores it.
    """
    store = open_store(data)
    count = len(store.releases.namespace(namespace).projects)
    confirm(f"Take the namespace {namespace} and its projects ({count}) offline?", yes=yes)
    with open_namespace_records(data) as records:
        folder = store.namespaces.delete(namespace, records)
    print_lines(str(folder))
    print_notes(
        f"Moved the namespace {namespace} to that folder. "
        f"To restore it: waypost namespace restore {namespace} --archive {folder.name}"
    )


@command.command()
@click.argument("namespace", required=False)
@json_option
@data_option
def archived(namespace: str | None, *, as_json: bool, data: str | None) -> None:
    """List the archived namespaces, of one name or all."""
    found = open_store(data).namespaces.archived(namespace)
    views = [json_views.archived_namespace(each) for each in found]
    if as_json:
        print_json(views)
    else:
        rows = [
            (each["name"], each["id"], each["archivedAt"], each["projects"] or "", each["description"])
            for each in views
        ]
        print_rows(("NAMESPACE", "ARCHIVE", "ARCHIVED", "PROJECTS", "DESCRIPTION"), rows)


@command.command()
@namespace_argument
@click.option("--archive", default=None, metavar="ID", help="An id of `archived`; otherwise the last one of the name.")
@json_option
@data_option
def restore(namespace: str, archive: str | None, *, as_json: bool, data: str | None) -> None:
    """Restore an archived namespace, with its webhooks and reviews.

    Prints the path of its repository. It is refused where a namespace has the name by now.
    """
    store = open_store(data)
    with open_namespace_records(data) as records:
        restored = store.namespaces.restore(namespace, archive, operator(), records)
    repository = str(store.directory.namespace(namespace).repository)
    if as_json:
        print_json({**_to_json(store, namespace), "repository": repository})
    else:
        print_lines(repository)
    print_notes(f"Restored the namespace {namespace} from the archive {restored.id}.")


@command.command("accept-rewind")
@namespace_argument
@yes_option
@state_options
def accept_rewind(namespace: str, *, yes: bool, data: str | None, database: str | None) -> None:
    """Accept a release branch that was moved back.

    Until then the last good state is served, and nothing can be published. Adds a commit that continues from the state
    that was served last, so that publish numbers are not used again, and prints it. The audit trail records it.
    """
    store = open_store(data)
    for fault in store.releases.faults(namespace).faults:
        if fault.code == REWOUND:
            print_notes(fault.reason)
    confirm(f"Serve the release of {namespace} as it is on disk now?", yes=yes)
    with open_existing_services(data, database) as services:
        commit = store.namespaces.accept_rewind(namespace, operator())
        services.record(AuditEvent.REWIND_ACCEPTED, operator_actor(), namespace, {"commit": commit})
    print_lines(commit)
    print_notes(f"The release of {namespace} is served as it is on disk.")


def _to_json(store: Store, name: str) -> dict[str, object]:
    return json_views.namespace(store.namespaces.read(name), len(store.releases.namespace(name).projects))
