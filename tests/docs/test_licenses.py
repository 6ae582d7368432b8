"""The page of dependencies has the license of every package that runs, as the installed package states it."""

import re
from importlib.metadata import metadata

import pytest

from tests.docs.blocks import rows
from tests.docs.reference import page
from tests.service import ROOT

_CLASSIFIER = "License :: OSI Approved :: "
_OPTIONAL = ("psycopg", "psycopg-binary")
_NAMES = {  # the words of older metadata, and their SPDX identifiers: https://spdx.org/licenses/
    "MIT License": "MIT",
    "BSD License": "BSD-3-Clause",
    "Apache Software License": "Apache-2.0",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
}

# An MIT-licensed program may import unchanged packages under these. A new one needs a decision, and a line on the page.
_COMPATIBLE = {
    "Apache-2.0",
    "Apache-2.0 AND BSD-2-Clause",
    "Apache-2.0 OR BSD-2-Clause",
    "Apache-2.0 OR BSD-3-Clause",
    "Apache-2.0 OR GPL-2.0-or-later",
    "Apache-2.0 OR MIT",
    "BSD-3-Clause",
    "LGPL-3.0-only",
    "MIT",
    "MIT OR Apache-2.0",
    "MIT-0",
    "MPL-2.0",
    "MPL-2.0 AND (Apache-2.0 OR MIT)",
    "PSF-2.0",
}


def packages() -> list[str]:
    """Return the packages that run, with those of the extra `postgres`."""
    locked = re.findall(r"^([A-Za-z0-9._-]+)==", (ROOT / "requirements.lock").read_text("utf-8"), re.MULTILINE)
    return sorted([*locked, *_OPTIONAL])


def license_of(package: str) -> str:
    """Return the license of an installed package as an SPDX expression."""
    found = metadata(package)
    if "License-Expression" in found:
        return found["License-Expression"]
    classifiers = [text for text in found.get_all("Classifier") or () if text.startswith(_CLASSIFIER)]
    return " OR ".join(_NAMES[text.removeprefix(_CLASSIFIER)] for text in classifiers)


def listed() -> dict[str, str]:
    table = page("dependencies.md").partition("\n## Licenses\n")[2].partition("\n## ")[0]
    return {name: row[0] for row in rows(table)[1:] for name in re.findall(r"`([^`]+)`", row[1])}


def test_every_package_is_listed_with_its_license() -> None:
    assert listed() == {package: license_of(package) for package in packages()}


@pytest.mark.parametrize("package", packages())
def test_no_package_requires_waypost_to_be_under_its_license(package: str) -> None:
    assert license_of(package) in _COMPATIBLE


def test_waypost_itself_states_its_license() -> None:
    assert (ROOT / "LICENSE").read_text("utf-8").startswith("MIT License\n")
    assert 'license = "MIT"\nlicense-files = ["LICENSE"]\n' in (ROOT / "pyproject.toml").read_text("utf-8")
