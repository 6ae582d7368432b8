"""Routes: exactly those of the contract, with exactly its grants."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

import pytest

import schemas
from api.app.composition import make_service
from api.app.data_directory import create_data, open_data
from api.http.guard.access import Access
from api.http.routing import AccessRouter
from api.settings import Settings

CONTRACT = {(operation.method, operation.path): operation for operation in schemas.operations()}


@cache
def served() -> Mapping[tuple[str, str], Access]:
    """Return the declarations of every responder of the service, by method and path; HEAD goes with GET."""
    with TemporaryDirectory() as data:
        settings = Settings(data=Path(data))
        create_data(settings)
        router = cast("AccessRouter", make_service(settings, open_data(settings))._router)
    return {
        (method, path.replace(":path}", "}")): access
        for path, methods in router.declared.items()
        for method, access in methods.items()
        if method != "HEAD"
    }


def test_every_route_is_in_the_contract_and_every_operation_of_it_is_served() -> None:
    assert set(served()) - set(CONTRACT) == set()
    assert set(CONTRACT) - set(served()) == set()


@pytest.mark.parametrize("operation", CONTRACT, ids=" ".join)
def test_a_responder_asks_for_the_grant_that_the_contract_names(operation: tuple[str, str]) -> None:
    access, wanted = served()[operation], CONTRACT[operation]
    assert access.audience.value == wanted.audience
    assert set(access.accepted) == set(wanted.accepted)
    assert access.scheme.value == wanted.scheme
