"""`waypost upstream`: the upstream of a namespace, and its syncs."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from api.auth.tokens.leaked_tokens import UPSTREAM_LEAK, LeakedTokens
from api.data.restored_copy import RESUME, RestoredCopy
from api.db.namespaces.upstreams import StoredUpstream
from api.errors import ApiError
from api.resources.service.upstreams import show_upstream
from api.upstreams.hosts.git_host import HostKind
from api.upstreams.upstreams import BY_PULL_REQUEST, KnownUpstream, Upstreams
from cli.care.upstream_lines import describe_upstream
from cli.console.exits import CommandFailed, ProblemsFound
from cli.console.output import print_json, print_lines, print_notes
from cli.console.services import open_existing_services, operator_actor, operator_principal, state_options
from cli.console.setup import confirm, json_option, namespace_argument, open_store, read_settings, yes_option
from gitstore.errors import NotFound
from gitstore.upstream.difference import Difference
from gitstore.upstream.upstream_settings import DraftsPlace, ProposalsFrom, UpstreamMode
from gitstore.wire.client.remote_url import Transport, parse_url

PASSWORD = "WAYPOST_UPSTREAM_PASSWORD"  # noqa: S105 - the name of a variable
SSH_KEY = "WAYPOST_UPSTREAM_SSH_KEY"
HOST_TOKEN = "WAYPOST_UPSTREAM_HOST_TOKEN"  # noqa: S105 - the name of a variable
HOOK_SECRET = "WAYPOST_UPSTREAM_HOOK_SECRET"  # noqa: S105 - the name of a variable
_SECRETS = {PASSWORD: "password", SSH_KEY: "sshKey", HOOK_SECRET: "hookSecret", HOST_TOKEN: "hostToken"}
_NAMES = {each: variable for variable, each in _SECRETS.items()} | {
    "url": "URL"
}  # of the API's fields, where not an option's
_SYNC_SECONDS = 60.0  # for a sync of the service that runs already


# The options of `set` that have a default, by their parameter.
_RESET = {
    "branch": "--branch",
    "folder": "--path",
    "proposals": "--proposals",
    "drafts": "--drafts",
    "trusted_authors": "--trusted-authors",
    "username": "--username",
    "poll": "--poll",
    "host": "--host",
    "host_url": "--host-url",
    "publish": "--publish",
}


@click.group("upstream")
def command() -> None:
    """Follow another repository, or send publishes to it."""


@command.command()
@namespace_argument
@json_option
@state_options
def show(namespace: str, *, as_json: bool, data: str | None, database: str | None) -> None:
    """Show the upstream, and how it differs from release.

    The exit code is 1 if the last sync on this node failed.
    """
    with _open(data, database, namespace) as upstreams:
        known = upstreams.find(namespace)
        difference = upstreams.store.upstreams.difference(namespace)
    _print(known, as_json=as_json, difference=difference)


@command.command("set")
@namespace_argument
@click.argument("url")
@click.option(
    "--mode",
    type=click.Choice([mode.value for mode in UpstreamMode]),
    required=True,
    help="source: follow it, and publish to it. mirror: it receives what is published here.",
)
@click.option("--branch", default="release", show_default=True, help="Its branch that is release here.")
@click.option("--path", "folder", default="", help="The folder there that has the content, such as redirects/.")
@click.option(
    "--proposals",
    type=click.Choice([each.value for each in ProposalsFrom]),
    help="The refs of a source that are proposals here; branches unless set.",
)
@click.option(
    "--drafts",
    type=click.Choice([each.value for each in DraftsPlace]),
    default=DraftsPlace.LOCAL.value,
    show_default=True,
    help="push: drafts are also pushed to the upstream, under draft/.",
)
@click.option(
    "--trusted-authors",
    is_flag=True,
    help="Approvals here of the upstream's branches count: the host checks who an author is.",
)
@click.option(
    "--create",
    is_flag=True,
    help="Create the branch or folder of a source if the host does not have it.",
)
@click.option("--username", default="", help="The user name for HTTP.")
@click.option(
    "--known-hosts",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="For SSH: a file with the host's public keys.",
)
@click.option(
    "--poll", type=click.IntRange(5, 86_400), default=60, show_default=True, help="Seconds between two syncs."
)
@click.option(
    "--host",
    type=click.Choice([kind.value for kind in HostKind]),
    help="The kind of the Git host, for its API; by default guessed for github.com and gitlab.com.",
)
@click.option("--host-url", default="", help="The address of the host, if it is not that of the URL.")
@click.option(
    "--publish",
    type=click.Choice(["push", BY_PULL_REQUEST]),
    default="push",
    show_default=True,
    help="What a publish does on a source: push to the branch, or open a pull request.",
)
@json_option
@state_options
def set_(  # noqa: PLR0913 - one parameter an option
    namespace: str,
    url: str,
    *,
    mode: str,
    branch: str,
    folder: str,
    proposals: str | None,
    drafts: str,
    trusted_authors: bool,
    create: bool,
    username: str,
    known_hosts: Path | None,
    poll: int,
    host: str | None,
    host_url: str,
    publish: str,
    as_json: bool,
    data: str | None,
    database: str | None,
) -> None:
    """Set the upstream of a namespace.

    Options that are not named have their defaults again.

    The password or token comes from the variable WAYPOST_UPSTREAM_PASSWORD, the private key for SSH from
    WAYPOST_UPSTREAM_SSH_KEY, the secret of the host's webhook from WAYPOST_UPSTREAM_HOOK_SECRET, the token for the host's API
    from WAYPOST_UPSTREAM_HOST_TOKEN (else it is the password); where they are not set, those of the same URL stay.
    """
    fields: dict[str, Any] = {"url": url, "mode": mode, "branch": branch, "username": username, "poll": poll}
    fields |= {"host": host, "hostUrl": host_url or None, "publish": publish}
    fields |= {"path": folder, "drafts": drafts, "trustedAuthors": trusted_authors, "create": create}
    if proposals:
        fields["proposals"] = proposals
    for variable, name in _SECRETS.items():
        if variable in os.environ:
            fields[name] = os.environ[variable]
    if known_hosts:
        fields["knownHosts"] = known_hosts.read_text("utf-8", "replace")
    with _open(data, database, namespace) as upstreams, _naming_options():
        before = _find_set(upstreams, namespace)
        known = upstreams.put(operator_principal(), namespace, fields)
    if as_json:
        print_json(show_upstream(known))
    print_notes(
        f"Set the upstream of {namespace}. To sync now: waypost upstream sync {namespace}",
        *_list_reset(before, known.upstream),
        *_list_missing(known.upstream),
    )


@contextmanager
def _naming_options() -> Iterator[None]:
    """Put the option of this command before each problem, where the API has a field."""
    try:
        yield
    except ApiError as ex:
        ex.problems = tuple(replace(each, file=_option_of(each.pointer)) for each in ex.problems)
        raise


def _option_of(pointer: str) -> str:
    name = pointer.strip("/")
    option = "--" + re.sub(r"([A-Z])", r"-\1", name).lower()
    return _NAMES.get(name, option if name else "")


def _find_set(upstreams: Upstreams, namespace: str) -> StoredUpstream | None:
    try:
        return upstreams.find(namespace).upstream
    except NotFound:
        return None


def _list_reset(before: StoredUpstream | None, now: StoredUpstream) -> Iterator[str]:
    """Yield the options that were not named, and so have their defaults again."""
    source = click.get_current_context().get_parameter_source
    for parameter, option in _RESET.items() if before else ():
        field = "path" if parameter == "folder" else parameter
        old, new = getattr(before, field), getattr(now, field)
        if old != new and source(parameter) is ParameterSource.DEFAULT:
            yield f"{option} was not named, so it is {new or 'unset'} again; it was {old or 'unset'}."


def _list_missing(upstream: StoredUpstream) -> Iterator[str]:
    """Yield what a sync will miss as things are now; it may come later, so nothing is refused for it."""
    url = parse_url(upstream.url)
    if url.transport is Transport.PATH and not os.path.isdir(url.path):  # noqa: PTH112 - that of Path raises where a folder above cannot be read
        yield f"There is no folder {url.path} on this machine now; syncs fail until there is."
    if url.transport is Transport.SSH and not upstream.known_hosts:
        yield (
            "It has no known hosts, so every sync is refused. Save the keys of the host to a file with ssh-keyscan, compare "
            "them with those that the host publishes, and set the upstream again with --known-hosts and the file."
        )


@command.command()
@namespace_argument
@yes_option
@state_options
def remove(namespace: str, *, yes: bool, data: str | None, database: str | None) -> None:
    """Remove the upstream; content stays as it is on both sides."""
    with _open(data, database, namespace) as upstreams:
        known = upstreams.find(namespace)
        confirm(f"Stop syncing {namespace} with {known.upstream.url}?", yes=yes)
        upstreams.remove(operator_principal(), namespace)
    print_notes(f"Removed the upstream of {namespace}.")


@command.command()
@namespace_argument
@state_options
def suspend(namespace: str, *, data: str | None, database: str | None) -> None:
    """Stop syncing. While a source is suspended, nothing can be published."""
    _set_suspended(namespace, data, database, suspended=True)


@command.command()
@namespace_argument
@state_options
def resume(namespace: str, *, data: str | None, database: str | None) -> None:
    """Sync again after a suspension."""
    _set_suspended(namespace, data, database, suspended=False)


def _set_suspended(namespace: str, data: str | None, database: str | None, *, suspended: bool) -> None:
    with _open(data, database, namespace) as upstreams:
        upstreams.suspend(operator_principal(), namespace, suspended=suspended)
    print_notes(f"{'Suspended' if suspended else 'Resumed'} the upstream of {namespace}.")


@command.command()
@namespace_argument
@json_option
@state_options
def sync(namespace: str, *, as_json: bool, data: str | None, database: str | None) -> None:
    """Sync now on this node, and show the result.

    It works without a running service too.

    The exit code is 1 if the upstream and release are not the same afterwards.
    """
    with _open(data, database, namespace) as upstreams:
        known = upstreams.find(namespace)
        if known.upstream.suspended:
            raise CommandFailed(
                f"The upstream of {namespace} is suspended. Resume it: waypost upstream resume {namespace}"
            )
        if upstreams.is_paused():
            raise CommandFailed(
                f"The upstream of {namespace} is not synced in a copy restored from a backup. If the copy replaces the original: "
                f"{RESUME}"
            )
        upstreams.apply(known.upstream)
        tokens = LeakedTokens(upstreams.state, upstreams.clock, operator_actor(), UPSTREAM_LEAK, namespace)
        found = upstreams.store.upstreams.sync(
            namespace, wait=_SYNC_SECONDS, requests=known.upstream.requests, find_token=tokens.find
        )
        if found is None:
            raise CommandFailed(
                f"The service has been syncing {namespace} for {_SYNC_SECONDS:g} seconds, or the upstream was changed "
                "meanwhile. Try again."
            )
        known = upstreams.find(namespace)
    _print(known, as_json=as_json)


@contextmanager
def _open(data: str | None, database: str | None, namespace: str) -> Iterator[Upstreams]:
    store = open_store(data)
    store.live.require_namespace(namespace)
    with open_existing_services(data, database) as services:
        rules = read_settings(data=data, database=database).upstream_rules
        is_paused = RestoredCopy(store.directory.root).is_paused
        yield Upstreams(store, services.state, services.clock, rules, is_paused)


def _print(known: KnownUpstream, *, as_json: bool, difference: Difference | None = None) -> None:
    shown = show_upstream(known, difference)
    if as_json:
        print_json(shown)
    else:
        print_lines(*describe_upstream(shown))
    if shown["fault"]:
        raise ProblemsFound
