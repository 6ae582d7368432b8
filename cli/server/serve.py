"""`waypost serve`: the HTTP service."""

from functools import partial

import click

from api.app.data_directory import create_data
from api.settings import SECRET_SETTINGS, SETTING_FORMATS
from cli.console.services import prepare_data
from cli.console.setup import read_settings, require_directory, setting_options
from cli.server.administrator import check_new_password, create_administrator
from cli.server.listener import listen, run_server
from cli.server.service_log import configure_log


@click.command("serve")
@setting_options(*(name for name in SETTING_FORMATS if name not in SECRET_SETTINGS))
def command(**options: str | None) -> None:
    """Serve the data directory over HTTP until stopped.

    The directory must exist; --init creates it, and an administrator. As root, the service continues as the owner of the
    directory. Logs are lines of JSON on standard error. Ctrl-C and SIGTERM stop the service after its running requests.
    /health/ready shows whether all parts work.
    """
    settings = read_settings(**options)
    configure_log(settings)
    require_directory(settings.data.absolute())
    if settings.init:
        check_new_password(settings)
    listener = listen(settings)
    create = partial(create_data, prepare=partial(create_administrator, settings)) if settings.init else None
    run_server(listener, prepare_data(settings, create))
