"""`waypost demo`: set up sample content and serve it."""

import sys
from pathlib import Path

import click

from cli.console.output import print_lines
from cli.console.setup import ensure_data, read_settings, setting_options
from cli.server.listener import Listener, listen, run_server
from cli.server.sample import ADMIN, NAMESPACE, PASSWORD_VARIABLE, Secrets, create_sample

_PROJECT = f"/api/namespace/{NAMESPACE}/project/shop"


@click.command("demo")
@setting_options("data", "bind", "workers", "public_url", "database", "log_level")
def command(**options: str | None) -> None:
    """Serve sample content, created at the first start.

    Prints once: the password of the user admin (from WAYPOST_ADMIN_PASSWORD, else a random one), an agent's token, and
    three commands to try. To start over, remove the data directory.
    """
    settings = read_settings(**options)
    ensure_data(settings)
    listener = listen(settings)
    url, data = settings.public_url or listener.url, settings.data.absolute()
    with create_sample(settings) as found:
        if found:
            print_lines(*_welcome(found, url, str(data), listener).splitlines())
        else:
            print_lines(f"Waypost serves on {url}, with its existing data in {data}.", _password_hint())
    run_server(listener)


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
