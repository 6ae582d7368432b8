"""The values of API tokens: shape, checksum, and the stored hash."""

import re
from hashlib import sha256
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.auth.tokens.api_token import PATTERN, digest, find_any, find_values, is_well_formed, mint
from gitstore.yamlfiles.yaml_node import MappingNode, ScalarNode
from gitstore.yamlfiles.yaml_reader import read

MINTED, OTHER = mint(), mint()
LENGTH = len(MINTED.value)


def test_a_token_has_the_shape_of_the_contract_and_a_valid_checksum() -> None:
    for minted in (mint() for _ in range(200)):
        assert re.fullmatch(r"svc_[0-9A-Za-z]{49}", minted.value)
        assert re.fullmatch(PATTERN, minted.value)
        assert is_well_formed(minted.value)


def test_tokens_differ_and_use_every_sign() -> None:
    values = [mint().value for _ in range(300)]
    assert len(set(values)) == 300
    assert len(set("".join(value[4:47] for value in values))) == 62


def test_only_the_hash_and_the_first_signs_are_kept() -> None:
    assert MINTED.hash == digest(MINTED.value) == sha256(MINTED.value.encode()).hexdigest()
    assert MINTED.preview == MINTED.value[:8] + "…"


@given(st.integers(4, 52), st.sampled_from("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"))
def test_one_changed_character_is_detected_without_a_look_up(place: int, sign: str) -> None:
    changed = MINTED.value[:place] + sign + MINTED.value[place + 1 :]
    assert is_well_formed(changed) == (changed == MINTED.value)


@given(st.text())
def test_no_other_text_is_a_token(text: str) -> None:
    assert not is_well_formed(text)
    assert not is_well_formed("svc_" + text)


def test_what_surrounds_a_token_is_not_overlooked() -> None:
    for text in (f" {MINTED.value}", f"{MINTED.value}\n", MINTED.value.upper(), MINTED.value[:-1], MINTED.value + "0"):
        assert not is_well_formed(text)


@given(st.lists(st.sampled_from(["svc_", "svc", "_", "a" * 46, "a" * 49, MINTED.value, OTHER.value, "\n"])))
def test_each_token_in_a_text_is_found_whatever_is_before_it(parts: list[str]) -> None:
    text = "".join(parts)
    expected = [
        (at, text[at : at + LENGTH]) for at in range(len(text)) if text[at : at + LENGTH] in {MINTED.value, OTHER.value}
    ]
    assert list(find_values(text.encode())) == expected


ESCAPES = st.sampled_from(
    ["{1}", "\\x{:02x}", "\\x{:02X}", "\\u{:04x}", "\\U{:08x}", "{1}\\\n", "{1}\\\r\n \t ", "{1}\\\u2028 "]
)


@given(st.lists(ESCAPES, min_size=LENGTH, max_size=LENGTH), st.sampled_from(["", "/a?b=", "\\\\", "\\n", "\\x2f"]))
def test_a_token_is_found_as_yaml_decodes_it(spellings: list[str], before: str) -> None:
    parts = [spelling.format(ord(each), each) for spelling, each in zip(spellings, MINTED.value, strict=True)]
    text = f'a: "{before}{"".join(parts)}"\n'
    root = read(text.encode(), "a.yaml").root
    assert isinstance(root, MappingNode)
    scalar = root.entries["a"][1]
    assert isinstance(scalar, ScalarNode)
    assert MINTED.value in scalar.text
    [(at, value), *_] = find_values(text.encode())
    assert value == MINTED.value
    assert text.index('"') < at <= text.index(parts[0], 4)


@pytest.mark.parametrize("between", [" ", "\n  ", "\\\n\n", "\\ \n", "\\n", "\\x2f", "\\u1073", "\\xg3"])
def test_what_yaml_does_not_join_is_no_token(between: str) -> None:
    assert find_any(f'a: "{MINTED.value[:9]}{between}{MINTED.value[9:]}"\n'.encode()) is None


def test_escapes_of_megabytes_are_read_in_a_time_that_grows_with_them() -> None:
    for text in ("a" * 8_000_000 + "\\x73", "\\x73" * 2_000_000, "\\x73 " * 2_000_000, "\\" * 8_000_000 + "x73"):
        begun = process_time()
        assert find_any(text.encode()) is None
        assert process_time() - begun < 5


def test_a_token_is_found_behind_the_shape_of_another() -> None:
    hidden = f"svc_{'a' * 46}{MINTED.value}"
    assert (find_any(hidden.encode()), find_any(hidden[1:].encode())) == (50, 49)
