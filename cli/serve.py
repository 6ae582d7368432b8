"""`waypost serve`: the HTTP service."""

import click

from api.settings import FORMS
from cli.listener import listen, run_server
from cli.services import start_services
from cli.setup import made_data, read_settings, setting_options


@click.command("serve")
@setting_options(*FORMS)
def command(**options: str | None) -> None:
    """Serve the data directory over HTTP until stopped.

    Logs are lines of JSON on standard error. A signal to stop (Ctrl-C, SIGTERM) lets requests that have begun come to their end. /health/ready says whether
    all is well.
    """
    settings = read_settings(**options)
    made_data(settings)
    listener = listen(settings)
    start_services(settings).close()  # tables and keys once, before the workers
    run_server(listener)
