"""Identity and agents on the real server, with fakes for content only: `python -m tests.api.identified`."""

import os
from functools import partial

from api.app.app import Application, create_app
from api.app.identity_routes import identity_routes
from api.app.services import open_services
from api.auth.accounts import NewUser
from api.auth.permissions.principal import OPERATOR
from api.interfaces import Dependencies
from api.server.server import serve
from api.settings import Settings
from tests.api.fakes import PROBES
from tests.api.world import PASSWORD, FakeProjects


def make(settings: Settings) -> Application:
    """Return the application of one worker."""
    services, projects = open_services(settings), FakeProjects()
    dependencies = Dependencies(
        settings,
        services.directory,
        ready_checks=(services.ready_check(),),
        background_services=(services.upkeep(),),
        csrf=services.csrf(),
    )
    return create_app(dependencies, [*identity_routes(services, projects, projects), *PROBES])


if __name__ == "__main__":
    found = Settings.read({}, os.environ)
    first = open_services(found)
    first.accounts.create(OPERATOR, NewUser("root", PASSWORD, ["admin"]))
    first.close()
    serve(found, partial(make, found))
