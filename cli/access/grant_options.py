"""Grants in options: those of a built-in role, and single ones, in a namespace and project."""

from collections.abc import Iterable

import click

from api.auth.permissions.grants import ACTIONS, BUILT_IN_ROLES, EVERY, Grant
from cli.console.exits import InvalidUsage
from cli.console.output import print_notes
from cli.console.setup import open_store
from cli.console.suggestion import suggest
from gitstore.git.after_commit import after_commit
from gitstore.store.store import Store

PERMISSIONS = "; ".join(
    f"{', '.join(name for name in ACTIONS if ACTIONS[name] == actions)}: {', '.join(actions)}"
    for actions in dict.fromkeys(ACTIONS.values())
)
"""The resources with their actions, for people."""
grant_option = click.option(
    "--grant",
    "grants",
    multiple=True,
    metavar="RESOURCE:ACTION",
    help=f"A single grant, such as redirect:read (repeatable). Resources and their actions: {PERMISSIONS}. * means every one.",
)
namespace_option = click.option(
    "--namespace",
    "namespaces",
    multiple=True,
    default=[EVERY],
    show_default=True,
    metavar="NAME",
    help="The namespace that the grants cover (repeatable).",
)
project_option = click.option(
    "--project", default=EVERY, show_default=True, help="The project of --namespace that the grants cover."
)


def read_grants(role: str | None, words: tuple[str, ...], namespaces: tuple[str, ...], project: str) -> list[Grant]:
    """Read the grants in each namespace; InvalidUsage if none are given. A grant on a namespace covers all its projects."""
    found = [(grant.resource, grant.action) for grant in BUILT_IN_ROLES[role][1]] if role else []
    found += [_parse_permission(word) for word in words]
    if not found:
        raise InvalidUsage(
            "No grants are given; add --role (such as agent) or --grant (such as redirect:read). Resources and their "
            f"actions: {PERMISSIONS}."
        )
    return [
        Grant(namespace, EVERY if role and resource == "namespace" else project, resource, action)
        for namespace in dict.fromkeys(namespaces)
        for resource, action in found
    ]


def note_unknown_scopes(data: str | None, namespaces: Iterable[str], project: str) -> None:
    """Print a notice for each namespace and project of grants that does not exist: they may come before it.

    Called when the grants are given: a namespace that cannot be read fails nothing.
    """
    with after_commit("looking for the namespaces and projects of the grants"):
        _note_unknown(open_store(data), namespaces, project)


def _note_unknown(store: Store, namespaces: Iterable[str], project: str) -> None:
    known = store.namespaces.names()
    for namespace in dict.fromkeys(namespaces):
        if namespace not in {EVERY, *known}:
            print_notes(f"The namespace {namespace} does not exist yet.{suggest(namespace, known)}")
        elif EVERY not in {namespace, project}:
            projects = store.releases.namespace(namespace).projects
            if project not in projects:
                print_notes(f"The project {namespace}/{project} does not exist yet.{suggest(project, projects)}")


def _parse_permission(word: str) -> tuple[str, str]:
    resource, colon, action = word.partition(":")
    if not colon:
        message = f"{word!r} is not of the form RESOURCE:ACTION, such as redirect:read."
        raise click.BadParameter(message, param_hint="--grant")
    return resource, action
