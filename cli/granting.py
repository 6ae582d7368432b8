"""Grants as the command line names them: what a built-in role may do, and single ones, in a namespace and project."""

import click

from api.identity.grants import BUILT_IN_ROLES, EVERY, Grant
from cli.exits import WrongUse


def read_grants(role: str | None, words: tuple[str, ...], namespace: str, project: str) -> list[Grant]:
    """Everything that was asked for; WrongUse where that is nothing. A grant on a namespace is for all its projects."""
    found = [(grant.resource, grant.action) for grant in BUILT_IN_ROLES[role][1]] if role else []
    found += [_permission(word) for word in words]
    if not found:
        raise WrongUse("Say what it may do, with --role agent or such as --grant redirect:read.")
    return [
        Grant(namespace, EVERY if role and resource == "namespace" else project, resource, action)
        for resource, action in found
    ]


def _permission(word: str) -> tuple[str, str]:
    resource, colon, action = word.partition(":")
    if not colon:
        message = f"{word!r} is not of the form RESOURCE:ACTION, such as redirect:read."
        raise click.BadParameter(message, param_hint="--grant")
    return resource, action
