"""`waypost serve`: the HTTP service."""

import click

from api.settings import SETTING_FORMATS
from cli.console.services import start_services
from cli.console.setup import ensure_data, read_settings, setting_options
from cli.server.listener import listen, run_server


@click.command("serve")
@setting_options(*SETTING_FORMATS)
def command(**options: str | None) -> None:
    """Serve the data directory over HTTP until stopped.

    Logs are lines of JSON on standard error. Ctrl-C and SIGTERM stop the service after its running requests.
    /health/ready shows whether all parts work.
    """
    settings = read_settings(**options)
    ensure_data(settings)
    listener = listen(settings)
    start_services(settings).close()  # creates tables and keys once, before the workers start
    run_server(listener)
