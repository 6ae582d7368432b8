"""JWTs of sessions: accepted if valid, current and of the right use, otherwise refused without a reason."""

import base64
import hashlib
import hmac
import json
from typing import Any

import jwt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.auth.logins.jwt_token import CLOCK_DRIFT, ISSUER, MAX_TOKEN_LENGTH, Claims, TokenUse, mint, verify
from api.auth.logins.keyring import Key, Ring
from api.errors import Unauthenticated
from tests.api.world import START, ManualClock

NOW = int(START.timestamp())
KEY = Key("first", 0, b"1" * 32)
NEXT = Key("next", NOW + 10**6, b"2" * 32)
RING = Ring((KEY, NEXT))
CLAIMS = Claims(7, "session", "jti", NOW, NOW + 900)
PAYLOAD: dict[str, Any] = {
    "iss": ISSUER,
    "aud": "waypost-access",
    "sub": "7",
    "sid": "session",
    "jti": "jti",
    "iat": NOW,
    "exp": NOW + 900,
    "token_use": "access",
}
HEADER: dict[str, Any] = {"alg": "HS256", "typ": "JWT", "kid": "first"}


def encode(part: object) -> str:
    data = part if isinstance(part, bytes) else json.dumps(part).encode()
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def forge(header: object, payload: object, secret: bytes = KEY.secret, algorithm: str = "sha256") -> str:
    """Return a token of any header and payload, signed with HMAC."""
    head = f"{encode(header)}.{encode(payload)}"
    return f"{head}.{encode(hmac.digest(secret, head.encode(), algorithm))}"


def accepted(token: str, use: TokenUse = TokenUse.ACCESS, now: float = NOW) -> Claims | None:
    clock = ManualClock()
    clock.advance(seconds=now - NOW)
    try:
        return verify(token, use, RING, clock())
    except Unauthenticated:
        return None


def test_what_is_minted_is_verified() -> None:
    for use in TokenUse:
        for key in RING.keys:
            assert accepted(mint(CLAIMS, use, key), use) == CLAIMS


def test_the_forger_of_these_tests_can_make_a_token_that_is_accepted() -> None:
    """Without this the refusals below would prove nothing."""
    assert accepted(forge(HEADER, PAYLOAD)) == CLAIMS
    assert forge(HEADER, PAYLOAD) != forge(HEADER, PAYLOAD | {"jti": "other"})


def test_a_refusal_never_names_the_invalid_part() -> None:
    for token in ("", "a.b.c", forge(HEADER | {"alg": "none"}, PAYLOAD), forge(HEADER, PAYLOAD | {"exp": 1})):
        with pytest.raises(Unauthenticated, match=r"^The token is invalid or expired\.$") as caught:
            verify(token, TokenUse.ACCESS, RING, START)
        assert caught.value.status == 401


def test_the_same_claims_give_the_same_token() -> None:
    assert mint(CLAIMS, TokenUse.REFRESH, KEY) == mint(CLAIMS, TokenUse.REFRESH, KEY)


@pytest.mark.parametrize("minted", TokenUse)
@pytest.mark.parametrize("asked", TokenUse)
def test_a_token_is_good_for_its_own_use_only(minted: TokenUse, asked: TokenUse) -> None:
    assert (accepted(mint(CLAIMS, minted, KEY), asked) is not None) == (minted is asked)


@pytest.mark.parametrize("claim", ["aud", "token_use"])
def test_audience_and_use_must_both_fit(claim: str) -> None:
    other = {"aud": "waypost-refresh", "token_use": "refresh"}
    assert accepted(forge(HEADER, PAYLOAD | {claim: other[claim]})) is None
    assert accepted(forge(HEADER, PAYLOAD | {claim: other[claim]}), TokenUse.REFRESH) is None


@pytest.mark.parametrize("claim", sorted(PAYLOAD))
def test_every_claim_is_required(claim: str) -> None:
    assert accepted(forge(HEADER, {name: value for name, value in PAYLOAD.items() if name != claim})) is None


@pytest.mark.parametrize(
    ("claim", "value"),
    [
        ("iss", "waypos"),
        ("iss", "waypost2"),
        ("iss", ["waypost"]),
        ("iss", None),
        ("aud", ["waypost-access"]),
        ("aud", ["waypost-access", "other"]),
        ("aud", "waypost"),
        ("aud", ""),
        ("sub", 7),
        ("sub", "seven"),
        ("sub", "-7"),
        ("sub", "\u0667"),
        ("sub", ""),
        ("sid", 1),
        ("sid", None),
        ("jti", 1),
        ("exp", "tomorrow"),
        ("exp", str(NOW + 900)),
        ("exp", NOW + 900.5),
        ("exp", True),
        ("exp", None),
        ("exp", NOW),
        ("exp", NOW - 1),
        ("exp", -1),
        ("iat", "now"),
        ("iat", False),
        ("iat", NOW + CLOCK_DRIFT + 1),
        ("nbf", NOW + CLOCK_DRIFT + 1),
        ("nbf", "now"),
        ("token_use", "refresh"),
        ("token_use", ["access"]),
        ("token_use", None),
    ],
)
def test_a_claim_of_another_value_or_type_is_refused(claim: str, value: object) -> None:
    assert accepted(forge(HEADER, PAYLOAD | {claim: value})) is None


def test_a_token_lives_until_the_second_it_names() -> None:
    token = mint(CLAIMS, TokenUse.ACCESS, KEY)
    assert accepted(token, now=NOW + 899.9)
    assert accepted(token, now=NOW + 900) is None
    assert accepted(token, now=NOW + 10**8) is None


def test_a_clock_that_is_a_little_ahead_elsewhere_does_no_harm() -> None:
    assert accepted(mint(CLAIMS, TokenUse.ACCESS, KEY), now=NOW - CLOCK_DRIFT)
    assert accepted(mint(CLAIMS, TokenUse.ACCESS, KEY), now=NOW - CLOCK_DRIFT - 1) is None


HEADERS: list[dict[str, Any]] = [
    {"alg": "none"},
    {"alg": "None"},
    {"alg": "nOnE"},
    {"alg": "NONE"},
    {"alg": ""},
    {"alg": None},
    {"alg": ["HS256"]},
    {"alg": "HS384"},
    {"alg": "HS512"},
    {"alg": "hs256"},
    {"alg": "RS256"},
    {"alg": "ES256"},
    {"alg": "PS256"},
    {"alg": "EdDSA"},
    {"kid": "unknown"},
    {"kid": ""},
    {"kid": None},
    {"kid": 1},
    {"kid": ["first"]},
    {"kid": "../../etc/passwd"},
    {"kid": "first' OR '1'='1"},
    {"kid": "next"},
    {"b64": False},
    {"b64": False, "crit": ["b64"]},
    {"crit": ["exp"], "exp": 0},
    {"crit": []},
    {"crit": "b64"},
]


@pytest.mark.parametrize("change", HEADERS, ids=str)
def test_a_forged_header_is_refused(change: dict[str, Any]) -> None:
    assert accepted(forge(HEADER | change, PAYLOAD)) is None


@pytest.mark.parametrize("algorithm", ["none", "None", "HS256", "HS512", "RS256"])
def test_an_empty_signature_is_refused(algorithm: str) -> None:
    head = f"{encode(HEADER | {'alg': algorithm})}.{encode(PAYLOAD)}"
    assert accepted(f"{head}.") is None
    assert accepted(head) is None


@pytest.mark.parametrize("secret", [b"", b"secret", b"1" * 31, b"2" * 32, b"waypost"])
def test_a_signature_by_another_secret_is_refused(secret: bytes) -> None:
    assert accepted(forge(HEADER, PAYLOAD, secret)) is None


def test_a_signature_by_another_hash_is_refused() -> None:
    assert accepted(forge(HEADER | {"alg": "HS512"}, PAYLOAD, algorithm="sha512")) is None
    assert accepted(forge(HEADER, PAYLOAD, algorithm="sha512")) is None


def test_a_key_in_the_header_is_never_used() -> None:
    own = b"k" * 32
    for header in (
        {"jwk": {"kty": "oct", "k": encode(own)}},
        {"jku": "https://evil.example/keys"},
        {"x5u": "https://evil.example/cert"},
    ):
        assert accepted(forge(HEADER | header, PAYLOAD, own)) is None


def test_a_changed_payload_or_header_breaks_the_signature() -> None:
    head, payload, signature = mint(CLAIMS, TokenUse.ACCESS, KEY).split(".")
    assert accepted(f"{head}.{encode(PAYLOAD | {'sub': '1'})}.{signature}") is None
    assert accepted(f"{encode(HEADER | {'typ': 'other'})}.{payload}.{signature}") is None
    flipped = hashlib.sha256(signature.encode()).hexdigest()[:43]
    assert accepted(f"{head}.{payload}.{flipped}") is None


def test_encrypted_padded_nested_and_oversized_tokens_are_refused() -> None:
    token = mint(CLAIMS, TokenUse.ACCESS, KEY)
    inner = forge(HEADER | {"cty": "JWT"}, token.encode())
    nested = "[" * 2000 + "]" * 2000
    for other in (
        f"{token}.{encode(b'iv')}.{encode(b'tag')}",
        f"{token}=",
        f" {token}",
        f"{token}\n",
        token.replace(".", ".."),
        inner,
        forge(HEADER, nested.encode()),
        forge(HEADER, [PAYLOAD]),
        forge(HEADER, b"\xff\xfe"),
        forge([HEADER], PAYLOAD),
        forge(HEADER, PAYLOAD | {"filler": "x" * MAX_TOKEN_LENGTH}),
    ):
        assert accepted(other) is None


def test_the_library_accepts_a_token_without_an_end_by_default() -> None:
    """This is the reason why every claim is required."""
    endless = jwt.encode({"sub": "7"}, KEY.secret, "HS256")
    assert jwt.decode(endless, KEY.secret, ["HS256"]) == {"sub": "7"}
    assert accepted(endless) is None


@given(st.one_of(st.text(), st.from_regex(r"[A-Za-z0-9_-]{0,40}\.[A-Za-z0-9_-]{0,40}\.[A-Za-z0-9_-]{0,50}")))
def test_no_other_text_is_a_token_or_an_error(text: str) -> None:
    assert accepted(text) is None
    assert accepted(f"{encode(HEADER)}.{text}") is None
