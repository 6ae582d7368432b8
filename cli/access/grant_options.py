"""Grants in options: those of a built-in role, and single ones, in a namespace and project."""

import click

from api.auth.grants import BUILT_IN_ROLES, EVERY, Grant
from cli.console.exits import InvalidUsage


def read_grants(role: str | None, words: tuple[str, ...], namespace: str, project: str) -> list[Grant]:
    """Read the grants; InvalidUsage if none are given. A grant on a namespace covers all its projects."""
    found = [(grant.resource, grant.action) for grant in BUILT_IN_ROLES[role][1]] if role else []
    found += [_parse_permission(word) for word in words]
    if not found:
        raise InvalidUsage("No grants are given; add --role (such as agent) or --grant (such as redirect:read).")
    return [
        Grant(namespace, EVERY if role and resource == "namespace" else project, resource, action)
        for resource, action in found
    ]


def _parse_permission(word: str) -> tuple[str, str]:
    resource, colon, action = word.partition(":")
    if not colon:
        message = f"{word!r} is not of the form RESOURCE:ACTION, such as redirect:read."
        raise click.BadParameter(message, param_hint="--grant")
    return resource, action
