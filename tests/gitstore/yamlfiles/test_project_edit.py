"""Changing settings leaves the other text of project.yaml unchanged."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitstore.yamlfiles.project_edit import rewrite_project
from gitstore.yamlfiles.project_file import ProjectFile, dump_project, load_project
from tests.gitstore.written import any_text

WRITTEN = b"""\
# Owned by the shop team.
project:
  description: 'Redirects of the shop'  # ask us
  title: "Shop"

  # two pairs of eyes
  policy: {review: required}  # since May
"""

settings = st.builds(
    ProjectFile,
    any_text.map(lambda text: text[:100]),
    any_text.map(lambda text: text[:100]),
    st.sampled_from(["optional", "required"]),
    st.sampled_from(["normal", "strict"]),
).filter(lambda found: load_project(dump_project(found), "") == (found, []))
files = st.one_of(
    settings.map(dump_project),
    st.sampled_from(
        [
            WRITTEN,
            b"",
            b"project:\n",
            b"\xef\xbb\xbf# Ours.\nproject: {}\n",
            b"project: [",
            b"\xff",
            b"project: {title: x}",
        ]
    ),
)


def test_one_changed_setting_changes_its_own_value_alone() -> None:
    old, _ = load_project(WRITTEN, "")
    found = rewrite_project(WRITTEN, replace(old, title="Our shop", lint="strict"))
    expected = WRITTEN.replace(b'"Shop"', b'"Our shop"').replace(b"required}", b'required, lint: "strict"}')
    assert found == expected


def test_a_policy_that_was_not_there_comes_below_the_rest() -> None:
    data = b"# Ours.\r\nproject:\r\n  title: Shop # the name\r\n"
    found = rewrite_project(data, ProjectFile("Shop", review="required"))
    assert found == data + b"  policy:\r\n    review: required\r\n    lint: normal\r\n"


@pytest.mark.parametrize("data", [b"# Ours.\n\nproject: {}\n", b"# Ours.\n\nproject:\n", b"# Ours.\n\nproject: [wrong"])
def test_without_room_the_first_comments_stay(data: bytes) -> None:
    assert rewrite_project(data, ProjectFile("Shop")) == b"# Ours.\n\nproject:\n  title: Shop\n"


@given(files, settings)
def test_whatever_was_there_the_file_reads_back_as_the_new_settings(data: bytes, new: ProjectFile) -> None:
    assert load_project(rewrite_project(data, new), "") == (new, [])


@given(files)
def test_settings_that_stay_leave_every_byte(data: bytes) -> None:
    old, problems = load_project(data, "")
    assert problems or rewrite_project(data, old) == data
