"""`waypost project`: create, list and remove projects."""

import click

from api.db.audit import AuditEvent
from api.http.response import json_views
from cli.console.audit_notes import note_done
from cli.console.leaked_tokens import refuse_words
from cli.console.output import print_json, print_lines, print_notes, print_rows
from cli.console.services import open_services_of
from cli.console.setup import (
    confirm,
    data_option,
    json_option,
    namespace_argument,
    open_store,
    operator,
    project_argument,
    yes_option,
)
from gitstore.yamlfiles.project_file import ProjectFile


@click.group("project")
def command() -> None:
    """Create, list and remove projects.

    Each is a folder of a namespace's repository, and has its own versions.
    """


@command.command()
@namespace_argument
@project_argument
@click.option("--title", default="", metavar="TEXT", help="The name for people; by default the project's name.")
@click.option("--description", default="", metavar="TEXT", help="A sentence for people.")
@json_option
@data_option
def create(namespace: str, project: str, title: str, description: str, *, as_json: bool, data: str | None) -> None:
    """Create a project with empty lists, and print its version."""
    refuse_words(data, None, title=title, description=description)
    settings = ProjectFile(title or project, description)
    with open_services_of(data) as services:
        created = open_store(data).projects.create(namespace, project, settings, operator())
        note_done(services, AuditEvent.PROJECT_CREATED, namespace, created.version, project)
    if as_json:
        print_json(json_views.published(created))
    else:
        print_lines(created.version)
    print_notes(f"Created the project {project}: publish {created.number}.")


@command.command("list")
@namespace_argument
@json_option
@data_option
def list_(namespace: str, *, as_json: bool, data: str | None) -> None:
    """List the projects of NAMESPACE with their versions and counts."""
    store = open_store(data)
    served = store.releases.namespace(namespace)
    found = [
        json_views.project(project, store.drafts.names(namespace, name))
        for name, project in sorted(served.projects.items())
    ]
    if as_json:
        print_json(found)
    else:
        columns = ("name", "publishNumber", "version", "redirects", "pages")
        rows = [[each[column] for column in columns] for each in found]
        print_rows(("PROJECT", "PUBLISH", "VERSION", "REDIRECTS", "PAGES"), rows)
    print_notes(*(f"waypost: {failure}" for failure in served.failures))


@command.command()
@namespace_argument
@project_argument
@yes_option
@data_option
def delete(namespace: str, project: str, *, yes: bool, data: str | None) -> None:
    """Publish the removal of a project.

    Its history remains; a new project of that name continues its publish numbers.
    """
    store = open_store(data)
    store.releases.project(namespace, project)
    confirm(f"Take all redirects and pages of {project} offline?", yes=yes)
    with open_services_of(data) as services:
        removed = store.projects.delete(namespace, project, operator(), may_change_policy=True)
        note_done(services, AuditEvent.PROJECT_DELETED, namespace, removed.version, project)
    print_notes(f"Removed the project {project}: publish {removed.number}.")
