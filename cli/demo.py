"""`waypost demo`: everything set up with sample content, and served."""

import sys
from pathlib import Path

import click

from cli.listener import Listener, listen, run_server
from cli.output import print_lines
from cli.sample import ADMIN, NAMESPACE, PASSWORD_VARIABLE, Secrets, made_sample
from cli.setup import made_data, read_settings, setting_options

_PROJECT = f"/api/namespace/{NAMESPACE}/project/shop"


@click.command("demo")
@setting_options("data", "bind", "workers", "public_url", "database", "log_level")
def command(**options: str | None) -> None:
    """Serve sample content: made at the first start, kept afterwards.

    Prints once: the password of the user admin (a random one, unless WAYPOST_ADMIN_PASSWORD says which), an agent's
    token, and three lines to try. To start over, remove the data directory.
    """
    settings = read_settings(**options)
    made_data(settings)
    listener = listen(settings)
    url, data = settings.public_url or listener.url, settings.data.absolute()
    with made_sample(settings) as found:
        if found:
            print_lines(*_welcome(found, url, str(data), listener).splitlines())
        else:
            print_lines(f"Waypost serves on {url}, and goes on with the data in {data}.", _forgotten())
    run_server(listener)


def _forgotten() -> str:
    """Names the command as it was started, for `make run` starts one that is not on the PATH."""
    started = sys.argv[0]
    command_name = started if Path(started).name == "waypost" else "waypost"
    return f"A forgotten password is replaced by the command: {command_name} user password {ADMIN}"


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

Keep the password and the token (an agent's): they are not shown again.
Three things that an agent may ask: the version, the rules, and what a URL is answered with.

{curl} {project}/version
{curl} '{project}/redirects?limit=2'
{curl} {project}/test -H 'Content-Type: application/json' -d '{{"urls": ["/product/1001.html"]}}'
"""
