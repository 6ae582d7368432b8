"""`waypost demo`: set up sample content and serve it."""

import sys
from pathlib import Path

import click

from api.app.data_directory import create_data
from cli.console.output import print_lines
from cli.console.services import prepare_data
from cli.console.setup import read_settings, require_directory, setting_options
from cli.server.administrator import ADMIN, PASSWORD_VARIABLE, check_new_password
from cli.server.listener import Listener, answers, listen, run_server
from cli.server.sample import NAMESPACE, Secrets, create_sample
from cli.server.service_log import configure_log

ACCESS_LIFETIME = 8 * 60 * 60
"""Seconds for which a login of the demo is valid, unless a setting says otherwise: longer than any tutorial takes."""
_PROJECT = f"/api/namespace/{NAMESPACE}/project/shop"


@click.command("demo")
@setting_options("data", "bind", "workers", "public_url", "database", "log_level")
def command(**options: str | None) -> None:
    """Serve sample content, created at the first start.

    Prints once: the password of the user admin (from WAYPOST_ADMIN_PASSWORD, else a random one), an agent's token, and
    three commands to try. To start over, remove the data directory.
    """
    settings = read_settings({"access_lifetime": ACCESS_LIFETIME}, **options)
    configure_log(settings)
    require_directory(settings.data.absolute())
    check_new_password(settings)
    listener = listen(settings)
    served = prepare_data(settings, create_data)
    url, data = settings.public_url or listener.url, settings.data.absolute()
    with create_sample(settings) as found:
        if found:
            print_lines(*_welcome(found, url, str(data), listener).splitlines())
        else:
            print_lines(f"Waypost serves on {url}, with its existing data in {data}.", _password_hint())
    run_server(listener, served, lambda: _print_ready(listener, url))


def _print_ready(listener: Listener, url: str) -> bool:
    """Print the last line as soon as the service answers; return whether it does."""
    if not answers(listener):
        return False
    print_lines("", f"Ready: {url}. Press Ctrl-C to stop.")
    return True


def _password_hint() -> str:
    """Return the hint, with the command as it was started: `make run` starts one that is not on the PATH."""
    started = sys.argv[0]
    command_name = started if Path(started).name == "waypost" else "waypost"
    return f"To replace a forgotten password, run: {command_name} user password {ADMIN}"


def _welcome(found: Secrets, url: str, data: str, listener: Listener) -> str:
    curl = f"curl -sS -w '\\n' {listener.curl_options}-H 'Authorization: Bearer {found.token}'"
    return _WELCOME.format(
        url=url,
        data=data,
        admin=ADMIN,
        password=found.password or f"(the one in {PASSWORD_VARIABLE})",
        token=found.token,
        curl=curl,
        project=f"{url}{_PROJECT}",
    )


_WELCOME = """\
Waypost serves on {url}, with its data in {data}.

  user      {admin}
  password  {password}
  token     {token}

Save the password and the token (for an agent); they are not shown again.
Three calls of an agent to try: the version, the rules, and how a URL resolves.

{curl} {project}/version
{curl} '{project}/redirects?limit=2'
{curl} {project}/test -H 'Content-Type: application/json' -d '{{"urls": ["/product/1001.html"]}}'
"""
