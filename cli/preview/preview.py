"""`waypost preview`: a working directory served on this machine, as it is saved."""

import ipaddress
import json
import re
import secrets
import shlex
import signal
import threading
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import click

from api import logs
from api.app.data_directory import create_data, open_data
from api.app.services import Services
from api.auth.accounts import NewUser
from api.auth.permissions.principal import OPERATOR
from api.data.preview import Preview
from api.settings import Settings
from cli.console.exits import CommandFailed, InvalidUsage
from cli.console.git import is_bare
from cli.console.output import print_lines
from cli.console.setup import note_settings_file, operator, read_settings, setting_options
from cli.preview.saves import follow_saves
from cli.preview.server_process import ServerProcess
from cli.preview.session import Session
from cli.preview.temporary_data import TemporaryData, make_temporary_data
from cli.server.listener import Listener, listen
from content.records.names import is_name
from gitstore.namespaces.working_directory import WorkingDirectory
from gitstore.store.store import store_at

PORT = 8090
_LARGEST_PORT = 65535
_LONGEST_NAME = 50
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _require_loopback(_context: click.Context, _parameter: click.Parameter, host: str) -> str:
    """Return an address of this machine alone; a preview has no login."""
    text = host.strip("[]")
    if text == "localhost":
        return "127.0.0.1"
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        address = None
    if address is None or not address.is_loopback or "%" in text:
        raise click.BadParameter(
            f"{host!r} can be reached from other machines, and a preview has no login: use 127.0.0.1, ::1 or localhost. "
            "To serve others, use `waypost serve`."
        )
    return f"[{text}]" if address.version == 6 else text  # noqa: PLR2004 - IPv6


@click.command("preview")
@click.argument("path", metavar="[DIR]", type=click.Path(path_type=Path, exists=True, file_okay=False), default=".")
@click.option("--name", metavar="NAME", help="The name of the namespace; by default that of the folder.")
@click.option(
    "--port",
    type=click.IntRange(0, _LARGEST_PORT),
    default=PORT,
    show_default=True,
    metavar="PORT",
    help="The port; 0 takes a free one.",
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    metavar="ADDRESS",
    callback=_require_loopback,
    help="The address, of this machine only: 127.0.0.1, ::1 or localhost.",
)
@click.option("--open", "opens", is_flag=True, help="Open what is served in the browser.")
@setting_options("log_level")
def command(path: Path, name: str | None, port: int, host: str, *, opens: bool, log_level: str | None) -> None:
    """Serve a working directory on this machine, as it is saved.

    DIR is the folder of a namespace or of one project; by default the current folder. Agents, tests and reads by the API
    get its last state without errors, with no login. Every save is checked as by `waypost validate`: one with errors is
    not served, and its problems are printed. Nothing is written in DIR. Ctrl-C stops the preview.
    """
    settings = read_settings({"log_level": "warning"}, log_level=log_level)
    note_settings_file()
    folder = _find_folder(path)
    namespace = _find_name(name, folder)
    logs.configure(settings.log_level)
    chosen = Settings(
        bind=f"{host}:{port}",
        workers=1,
        writes_per_minute=0,
        heavy_calls_per_minute=0,
        push_hooks=False,
        allowed_files=settings.allowed_files,
        regex_rule_limit=settings.regex_rule_limit,
        regex_project_limit=settings.regex_project_limit,
        regex_call_limit=settings.regex_call_limit,
        regex_call_seconds=settings.regex_call_seconds,
        log_level=settings.log_level,
    )
    listener = listen(chosen, option="--port")
    print_lines(f"Reading {folder} …")
    with _interrupted_by_signals(), make_temporary_data(folder) as temporary:
        listener = listener._replace(settings=replace(listener.settings, data=temporary.data))
        _run(listener, temporary, WorkingDirectory(folder, settings.allowed_files), namespace, opens=opens)


def _run(
    listener: Listener, temporary: TemporaryData, folder: WorkingDirectory, namespace: str, *, opens: bool
) -> None:
    settings, users = listener.settings, list[int]()
    temporary.data.mkdir()
    create_data(settings, lambda services: users.append(_create_user(services)))
    preview = Preview(
        str(folder.path), namespace, frozenset(_list_origins(listener.url)), users[0], temporary.folder / "state.json"
    )
    server = ServerProcess(listener, open_data(settings), preview, temporary.lock)
    server.start()
    try:
        store = store_at(settings.data, settings.pattern_limits)
        store.namespaces.create(namespace, f"A preview of {folder.path}", operator())
        session = Session(store, folder, preview)
        print_lines(f"Previewing {folder.path} as the namespace {namespace}. Nothing is written there.")
        session.look()
        if not server.wait_until_ready():
            raise CommandFailed("The service of the preview did not start; see the log above.")
        print_agents = partial(_print_agents, listener, session, namespace)
        if session.projects:
            print_agents()
        print_lines("", f"Ready: {listener.url}. Every save is served. Press Ctrl-C to stop.")
        if opens:
            threading.Thread(target=_open_browser, args=(listener.url,), daemon=True).start()
        for _ in follow_saves(folder.path, folder.list_folders):
            if not server.is_alive:
                raise CommandFailed("The service of the preview stopped after a fatal error; see the log above.")
            was_empty = not session.projects
            session.look()
            if was_empty and session.projects:
                print_agents()
    finally:
        _ignore_signals()
        server.stop()


def _open_browser(url: str) -> None:
    """Open a page in the browser, which may run until it is closed."""
    if not webbrowser.open(url):
        print_lines(f"No browser can be opened here. Open {url} in one.")


def _create_user(services: Services) -> int:
    """Create the local user, as whom every request is answered; no one knows its password."""
    return services.accounts.create(
        OPERATOR, NewUser("local", secrets.token_urlsafe(24), ("admin",), "Local", "user")
    ).id


def _print_agents(listener: Listener, session: Session, namespace: str) -> None:
    """Print how agents read what is served, and calls to try."""
    base, curl = f"{listener.url}/api/namespace/{namespace}/project", f"curl -sS -w '\\n' {listener.curl_options}"
    project = session.projects[0]
    print_lines(
        "",
        f"Agents read {base}/{project}, with any token or none. Try the version, the rules, and a URL:",
        "",
        f"{curl}{base}/{project}/version",
        f"{curl}{shlex.quote(f'{base}/{project}/redirects?limit=2')}",
        f"{curl}{base}/{project}/test -H 'Content-Type: application/json' -d {shlex.quote(json.dumps({'urls': [session.find_url()]}))}",
    )


def _list_origins(url: str) -> Iterator[str]:
    """Yield the origins under which a browser of this machine reaches the service."""
    address, _, port = url.removeprefix("http://").rpartition(":")
    for host in dict.fromkeys((address, "localhost", "127.0.0.1", "[::1]")):
        yield f"http://{host}:{port}"


def _find_folder(path: Path) -> Path:
    folder = path.resolve()
    if is_bare(path):
        raise InvalidUsage(f"{path} is a bare repository, without files to save. Clone it, and preview the clone.")
    return folder


def _find_name(name: str | None, folder: Path) -> str:
    """Return the name of the namespace: the given one, or the folder's with hyphens for what no name has."""
    if name is not None and not is_name(name):
        raise InvalidUsage("The name of a namespace is 1 to 50 letters, digits, hyphens and underscores.")
    made = re.sub(r"[^A-Za-z0-9_-]+", "-", folder.name).strip("-")[:_LONGEST_NAME]
    return name or (made if is_name(made) else "preview")


@contextmanager
def _interrupted_by_signals() -> Iterator[None]:
    """End the block by Ctrl-C or a signal to stop, which is the way to end a preview: no error."""
    for number in _SIGNALS:
        signal.signal(number, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        print_lines("", "Stopped. The temporary data is removed.")


def _ignore_signals() -> None:
    """Let no second Ctrl-C stop the removal of the temporary data."""
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)
