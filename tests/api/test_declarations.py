"""The routes are those of the contract, no more and no fewer, and ask for what it says."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

import pytest

import schemas
from api.access import Access
from api.composition import make_service
from api.routing import DeclaringRouter
from api.settings import Settings

CONTRACT = {(operation.method, operation.path): operation for operation in schemas.operations()}


@cache
def served() -> Mapping[tuple[str, str], Access]:
    """By method and path, what every responder of the whole service declares; HEAD goes with GET."""
    with TemporaryDirectory() as data:
        router = cast("DeclaringRouter", make_service(Settings(data=Path(data)))._router)
    return {
        (method, path): access
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
