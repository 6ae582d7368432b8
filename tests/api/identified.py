"""Identity and agents on the real server, with fakes for content only: `python -m tests.api.identified`."""

import os
from functools import partial

from api.app import Service, create_app
from api.collaborators import Collaborators
from api.identity.accounts import NewUser
from api.identity.principal import OPERATOR
from api.identity.service import open_services
from api.identity_routes import identity_routes
from api.server import serve
from api.settings import Settings
from tests.api.fakes import PROBES
from tests.api.world import PASSWORD, FakeProjects


def make(settings: Settings) -> Service:
    """The application of one worker."""
    services, projects = open_services(settings), FakeProjects()
    collaborators = Collaborators(
        settings,
        services.directory,
        None,
        services,
        ready_checks=(services.ready_check(),),
        companions=(services.upkeep(),),
    )
    return create_app(collaborators, [*identity_routes(services, projects, projects), *PROBES])


if __name__ == "__main__":
    found = Settings.read({}, os.environ)
    first = open_services(found)
    first.accounts.create(OPERATOR, NewUser("root", PASSWORD, ["admin"]))
    first.close()
    serve(found, partial(make, found))
