"""The response to a fetch: what is sent, what is closed and removed, and what a client learns of a failure."""

import asyncio
from collections.abc import Awaitable, Callable
from hashlib import sha1
from pathlib import Path

import pytest

from api.errors import ApiError, Forbidden
from api.resources.git import pack_stream
from api.resources.git.pack_stream import PackStream
from gitstore.errors import Broken
from gitstore.wire.fetch.fetch_pack import MadePack, PackOrder
from gitstore.wire.fetch.upload_pack import FetchAnswer
from gitstore.wire.pkt_lines import ERROR_BAND, FLUSH, KEEP_ALIVE, MAX_DATA, PACK_BAND, band_lines

HEAD = b"0008NAK\n"
CONTENT = b"PACK" + bytes(2_000_000)
PACK = CONTENT + sha1(CONTENT, usedforsecurity=False).digest()

Make = Callable[[], Awaitable[MadePack]]


async def allow() -> None:
    """Let the caller in."""


async def forbid() -> None:
    """Refuse the caller."""
    raise Forbidden("Access ended.")


def maker(folder: Path, *, is_kept: bool = False) -> Make:
    """Return a function that makes a pack of its own at each call."""

    async def make() -> MadePack:
        path = folder / "made.pack"
        path.write_bytes(PACK)
        return MadePack(path, is_kept)

    return make


def failing(ex: Exception) -> Make:
    """Return a function that cannot make a pack."""

    async def make() -> MadePack:
        raise ex

    return make


def response(make: Make, check: Callable[[], Awaitable[None]] = allow, line_bytes: int = MAX_DATA) -> bytes:
    """Return the bytes that a client receives."""

    async def read() -> bytes:
        stream = PackStream(FetchAnswer(HEAD, PackOrder(()), line_bytes), make, check)
        try:
            return b"".join([piece async for piece in stream])
        finally:
            await stream.close()

    return asyncio.run(read())


def error(message: str) -> bytes:
    """Return the response that ends with an error for the client's terminal."""
    return HEAD + b"".join(band_lines(ERROR_BAND, f"{message}\n".encode())) + FLUSH


def open_files(folder: Path) -> list[str]:
    """Return the files of a folder that this process has open."""
    links = [link.readlink() for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
    return [str(target) for target in links if target.is_relative_to(folder)]


def test_the_pack_is_sent_in_bands_or_as_it_is(tmp_path: Path) -> None:
    plain = response(maker(tmp_path), line_bytes=0)
    assert plain == HEAD + PACK
    bands = response(maker(tmp_path))
    pieces = [PACK[at : at + (1 << 20)] for at in range(0, len(PACK), 1 << 20)]
    assert bands == HEAD + b"".join(line for piece in pieces for line in band_lines(PACK_BAND, piece)) + FLUSH


def test_a_pack_that_is_not_kept_leaves_nothing(tmp_path: Path) -> None:
    response(maker(tmp_path))
    assert not list(tmp_path.iterdir())
    assert not open_files(tmp_path)


def test_a_response_without_a_pack_is_its_head() -> None:
    async def read() -> list[bytes]:
        return [piece async for piece in PackStream(FetchAnswer(HEAD), failing(AssertionError()), forbid)]

    assert asyncio.run(read()) == [HEAD]


@pytest.mark.parametrize("is_kept", [True, False])
def test_a_caller_whose_access_ended_gets_nothing_of_the_pack(tmp_path: Path, *, is_kept: bool) -> None:
    assert response(maker(tmp_path, is_kept=is_kept), forbid) == error("Access ended.")
    assert len(list(tmp_path.iterdir())) == is_kept
    assert not open_files(tmp_path)


def test_without_bands_the_response_of_a_caller_without_access_breaks_off(tmp_path: Path) -> None:
    with pytest.raises(ApiError, match="Access ended"):
        response(maker(tmp_path), forbid, line_bytes=0)


def test_a_known_fault_is_named_and_any_other_only_logged() -> None:
    assert response(failing(Broken("An object is missing."))) == error("An object is missing.")
    hidden = "The pack cannot be made; the log of the service has the reason."
    assert response(failing(RuntimeError("a secret"))) == error(hidden)


def test_a_kept_pack_that_another_process_removed_is_made_again(tmp_path: Path) -> None:
    gone = MadePack(tmp_path / "gone.pack", is_kept=True)
    make_next, calls = maker(tmp_path), iter([gone, gone])

    async def make() -> MadePack:
        return next(calls, None) or await make_next()

    assert response(make, line_bytes=0) == HEAD + PACK


def test_a_client_that_waits_for_its_pack_gets_signs_of_life(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pack_stream, "KEEP_ALIVE_SECONDS", 0.001)

    async def read() -> list[bytes]:
        is_wanted = asyncio.Event()
        make_at_last = maker(tmp_path)

        async def make() -> MadePack:
            await is_wanted.wait()
            return await make_at_last()

        stream = PackStream(FetchAnswer(HEAD, PackOrder(())), make, allow)
        first = [await anext(stream) for _ in range(3)]
        is_wanted.set()
        await stream.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.gather(*others)
        await asyncio.sleep(0)  # for the callback that closes the pack
        return first

    assert asyncio.run(read()) == [HEAD, KEEP_ALIVE, KEEP_ALIVE]
    assert not list(tmp_path.iterdir())
    assert not open_files(tmp_path)
