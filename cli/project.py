"""`waypost project`: make, list and remove projects."""

import click

from api import wire
from cli.output import print_json, print_lines, print_notes, print_rows
from cli.setup import (
    confirm,
    data_option,
    json_option,
    namespace_argument,
    open_store,
    operator,
    project_argument,
    yes_option,
)
from gitstore.project_file import ProjectFile


@click.group("project")
def command() -> None:
    """Make, list and remove projects.

    Each is a folder of a namespace's repository, with versions of its own.
    """


@command.command()
@namespace_argument
@project_argument
@click.option("--title", default="", metavar="TEXT", help="The name for people; the project's name if left out.")
@click.option("--description", default="", metavar="TEXT", help="A sentence for people.")
@json_option
@data_option
def create(namespace: str, project: str, title: str, description: str, *, as_json: bool, data: str | None) -> None:
    """Make a project with empty lists, and print its version."""
    settings = ProjectFile(title or project, description)
    made = open_store(data).create_project(namespace, project, settings, operator())
    if as_json:
        print_json(wire.published(made))
    else:
        print_lines(made.version)
    print_notes(f"Made the project {project}: publish {made.number}.")


@command.command("list")
@namespace_argument
@json_option
@data_option
def list_(namespace: str, *, as_json: bool, data: str | None) -> None:
    """List the projects of NAMESPACE with what they serve."""
    store = open_store(data)
    served = store.served(namespace)
    found = [wire.project(project, store.drafts(namespace, name)) for name, project in sorted(served.projects.items())]
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

    Its history stays; a new project of that name goes on counting its publishes.
    """
    store = open_store(data)
    store.project(namespace, project)
    confirm(f"Take all redirects and pages of {project} offline?", yes=yes)
    removed = store.delete_project(namespace, project, operator(), may_change_policy=True)
    print_notes(f"Removed the project {project}: publish {removed.number}.")
