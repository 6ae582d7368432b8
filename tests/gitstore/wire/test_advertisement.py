"""The advertised refs: what is damaged or incomplete is left out, and without release there are none."""

import os

import pytest

from gitstore.errors import Broken
from gitstore.git.repository import open_repository
from gitstore.wire.advertisement import read_advertised
from tests.gitstore.fixtures import Place, put, redirect


def advertised(place: Place) -> set[str]:
    with open_repository(place.repo) as repository:
        return set(read_advertised(repository).refs)


@pytest.mark.parametrize("text", ["", "garbage\n", "ref: refs/heads/other\n", "1" * 40 + "\n"])
def test_a_damaged_release_is_an_error_and_not_the_older_one_in_packed_refs(place: Place, text: str) -> None:
    place.git("pack-refs", "--all")
    place.publish(put(redirect("/later")))
    (place.repo / "refs/heads/release").write_text(text, encoding="utf-8")
    with pytest.raises(Broken):
        advertised(place)


@pytest.mark.parametrize("text", ["", "garbage\n", "1" * 40 + "\n"])
def test_a_damaged_branch_is_left_out_and_the_others_stay(place: Place, text: str) -> None:
    place.git("branch", "topic", "release")
    place.git("pack-refs", "--all")
    assert advertised(place) == {"refs/heads/release", "refs/heads/topic"}
    (place.repo / "refs/heads/topic").write_text(text, encoding="utf-8")
    assert advertised(place) == {"refs/heads/release"}


def test_a_tag_of_a_missing_object_and_a_name_that_is_not_text_are_no_obstacle(place: Place) -> None:
    data = f"object {'1' * 40}\ntype commit\ntag lost\ntagger Ada <ada@shop.example> 1700000000 +0000\n\nLost\n"
    tag = place.git("hash-object", "-t", "tag", "-w", "--literally", "--stdin", data=data.encode()).strip()
    (place.repo / "refs/tags").mkdir(exist_ok=True)
    (place.repo / "refs/tags/lost").write_text(f"{tag}\n", encoding="utf-8")
    (place.repo / os.fsdecode(b"refs/heads/\xff")).write_text(f"{place.tip}\n", encoding="utf-8")
    assert advertised(place) == {"refs/heads/release", "refs/tags/lost"}
