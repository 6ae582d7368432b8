"""The pages of files and of dependencies: complete by the schemas, the layout and the package."""

import re
import tomllib
from collections import Counter

import pytest

import schemas
from gitstore.layout import is_root_file
from tests.docs.blocks import blocks, code, codes, rows
from tests.docs.reference import page
from tests.service import ROOT


def test_every_schema_of_a_file_is_named_and_its_fields_are_listed() -> None:
    text = page("repository.md")
    for name, entry in (("redirects", "redirect-entry"), ("pages", "page-entry"), ("project", ""), ("tests", "")):
        assert f"/schemas/{name}" in text
        document = schemas.openapi()["components"]["schemas"][entry or name]
        assert [field for field in fields_of(document) if field not in " ".join(codes(text))] == []


def fields_of(document: dict[str, object]) -> set[str]:
    found: set[str] = set()
    waiting: list[object] = [document]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            properties = node.get("properties")
            found |= set(properties) if isinstance(properties, dict) else set()
            waiting += list(node.values())
        elif isinstance(node, list):
            waiting += node
    return found


def test_the_files_beside_projects_are_listed() -> None:
    cell = next(row[0] for row in rows(page("repository.md")) if "CODEOWNERS" in row[0])
    names = {name.removesuffix("/**") for name in re.findall(r"`([^`]+)`", cell)}
    assert names
    assert all(is_root_file(name) for name in names)
    assert not is_root_file("Makefile")


def test_every_dependency_is_listed_with_the_floor_that_the_package_asks_for() -> None:
    listed = {code(row[0]).lower(): row[1] for row in rows(page("dependencies.md")) if len(row) == 4 and code(row[0])}
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    floors = (requirement.partition(",")[0].split(">=") for requirement in asked)
    assert listed == {name.lower(): floor for name, floor in floors}


@pytest.mark.parametrize("name", ["grants.md", "error-codes.md"])
def test_no_pair_is_listed_twice(name: str) -> None:
    listed = [tuple(row[:2]) for row in rows(page(name)) if code(row[1])]
    assert [pair for pair, count in Counter(listed).items() if count > 1] == []


@pytest.mark.parametrize("name", ["settings.md", "http-api.md", "problems.md", "metrics.md", "dependencies.md"])
def test_nothing_is_listed_twice(name: str) -> None:
    listed = [row[0] for row in rows(page(name)) if code(row[0])]
    assert [cell for cell, count in Counter(listed).items() if count > 1] == []


def test_the_files_for_ci_are_those_of_the_sample_namespace() -> None:
    guides = {
        "review-rules-in-pull-requests.md": [".github/workflows/waypost.yml", ".gitlab-ci.yml"],
        "validate-in-ci.md": [".pre-commit-config.yaml"],
    }
    for guide, names in guides.items():
        text = (ROOT / "docs" / "how-to" / guide).read_text("utf-8")
        shown = [block.text for block in blocks(text) if block.words == ("yaml",)]
        assert shown[: len(names)] == [(ROOT / "sample-repo" / name).read_text("utf-8") for name in names]
