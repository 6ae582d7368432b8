"""Packs that are not what Git sends: each is refused with a reason, in bounded memory, and leaves nothing behind."""

import resource
import struct
import zlib

import pytest

from gitstore.wire.push.push_limits import MIB, PushLimits
from tests.gitstore.fixtures import SHOP, Place, git
from tests.gitstore.wire.push.pushing import (
    BLOB,
    COMMIT,
    OFS,
    REF,
    TAG,
    TREE,
    Pushed,
    commit,
    delta,
    distance,
    entry,
    object_id,
    pack,
    tree,
)

FILE = b"redirects: []\n"
FILE_ID = object_id(BLOB, FILE)
ROOT = tree((b"100644", b"README.md", FILE_ID))
ROOT_ID = object_id(TREE, ROOT)
TIP = commit(ROOT_ID)
TIP_ID = object_id(COMMIT, TIP)
VALID = (entry(BLOB, FILE), entry(TREE, ROOT), entry(COMMIT, TIP))


@pytest.fixture
def pushed(place: Place) -> Pushed:
    """Return a namespace to push to."""
    return Pushed(place, PushLimits(objects=1_000, inflated_bytes=64 * MIB, object_bytes=8 * MIB))


def with_tree(*entries: tuple[bytes, bytes, bytes]) -> bytes:
    """Return a pack with a commit of a folder."""
    root = tree(*entries)
    return pack(entry(BLOB, FILE), entry(TREE, root), entry(COMMIT, commit(object_id(TREE, root))))


def with_commit(data: bytes) -> bytes:
    """Return a pack with these bytes as a commit."""
    return pack(*VALID[:2], entry(COMMIT, data))


def test_a_pack_by_hand_is_accepted(pushed: Pushed) -> None:
    pushed.accept(pack(*VALID), TIP_ID)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        pytest.param(b"", "ends early", id="no pack"),
        pytest.param(b"PACK", "ends early", id="half a header"),
        pytest.param(b"PUCK" + bytes(28), "not a pack", id="another magic"),
        pytest.param(b"PACK" + struct.pack(">II", 9, 0) + bytes(20), "not a pack", id="another version"),
        pytest.param(pack(*VALID)[:-1], "damaged", id="a byte of the checksum is missing"),
        pytest.param(pack(*VALID)[:-30], "ends early", id="truncated"),
        pytest.param(pack(*VALID) + b"x", "follow the end", id="trailing garbage"),
        pytest.param(pack(*VALID)[:-20] + bytes(20), "checksum", id="another checksum"),
        pytest.param(pack(*VALID, count=4), "", id="announces one more"),
        pytest.param(pack(*VALID, count=2), "", id="announces one less"),
        pytest.param(pack(*VALID, count=2**32 - 1), "announces 4,294,967,295 objects", id="announces four billion"),
        pytest.param(pack(VALID[0], *VALID), "twice", id="an object twice"),
        pytest.param(pack(entry(BLOB, FILE, size=5), *VALID[1:]), "size that it claims", id="claims less"),
        pytest.param(pack(entry(BLOB, FILE, size=50), *VALID[1:]), "size that it claims", id="claims more"),
        pytest.param(pack(entry(BLOB, FILE, size=2**40), *VALID[1:]), "at most 8,388,608", id="claims a terabyte"),
        pytest.param(pack(entry(5, FILE), *VALID[1:]), "unknown type 5", id="another type"),
        pytest.param(pack(b"\xb0" + b"\x80" * 30), "endless size", id="endless size"),
        pytest.param(pack(bytes([0x33]) + b"not zlib", *VALID[1:]), "cannot be read", id="not zlib"),
        pytest.param(pack(entry(OFS, delta(9, 9), distance(4)), *VALID), "no base", id="delta before the pack"),
        pytest.param(
            pack(*VALID, entry(OFS, delta(9, 9), distance(3))), "no base", id="delta of the middle of an object"
        ),
        pytest.param(pack(entry(OFS, delta(9, 9), b"\0"), *VALID), "no base", id="delta of itself"),
        pytest.param(pack(entry(OFS, delta(9, 9), b"\xff" * 20), *VALID), "no base", id="endless distance"),
        pytest.param(pack(entry(REF, delta(9, 9), b"\1" * 20), *VALID), "missing", id="delta of an unknown object"),
        pytest.param(pack(*VALID, entry(REF, b"", FILE_ID)), "no size", id="empty delta"),
        pytest.param(
            pack(*VALID, entry(REF, delta(len(FILE), 2**40), FILE_ID)), "at most 8,388,608", id="a delta to a terabyte"
        ),
        pytest.param(
            pack(*VALID, entry(REF, delta(3, 3, b"\x03abc"), FILE_ID)), "not fit its base", id="another base size"
        ),
        pytest.param(
            pack(*VALID, entry(REF, delta(len(FILE), 9, b"\x03abc"), FILE_ID)), "not fit its base", id="another result"
        ),
        pytest.param(
            pack(*VALID, entry(REF, delta(len(FILE), 9, b"\x91\xff\x09"), FILE_ID)),
            "not fit",
            id="copies what is not there",
        ),
        pytest.param(pack(*VALID, entry(REF, delta(len(FILE), 3, b"\0"), FILE_ID)), "not fit", id="an unknown step"),
        pytest.param(
            pack(*VALID, entry(REF, delta(len(FILE), 4, b"\x90\x04", b"\x90\x04"), FILE_ID)),
            "not fit",
            id="copies more than its result",
        ),
        pytest.param(
            pack(*VALID, entry(REF, delta(len(FILE), 0, b"\x90\x04"), FILE_ID)), "not fit", id="more than nothing"
        ),
        pytest.param(pack(*VALID, entry(REF, delta(len(FILE), 0), FILE_ID)), "not fit", id="shorter than any delta"),
    ],
)
def test_a_damaged_pack_is_refused(pushed: Pushed, data: bytes, reason: str) -> None:
    assert reason in pushed.refused(data, TIP_ID.hex())


@pytest.mark.parametrize("at", range(0, len(pack(*VALID)), 7))
def test_a_flipped_byte_is_found(pushed: Pushed, at: int) -> None:
    data = bytearray(pack(*VALID))
    data[at] ^= 0x20
    pushed.refused(bytes(data), TIP_ID.hex())


@pytest.mark.parametrize(
    ("entries", "reason"),
    [
        pytest.param([(b"100644", b".git", FILE_ID)], "Git's own folder", id=".git"),
        pytest.param([(b"40000", b".GIT", ROOT_ID)], "Git's own folder", id=".GIT"),
        pytest.param([(b"100644", b"git~1", FILE_ID)], "Git's own folder", id="git~1"),
        pytest.param([(b"100644", b".git. ", FILE_ID)], "Git's own folder", id=".git with a point and a space"),
        pytest.param([(b"100644", b".git::$INDEX_ALLOCATION", FILE_ID)], "Git's own folder", id="a stream of NTFS"),
        pytest.param([(b"100644", b"a\\.git", FILE_ID)], "Git's own folder", id="behind a backslash"),
        pytest.param(
            [(b"100644", ".g\u200cit".encode(), FILE_ID)], "Git's own folder", id="a letter that HFS+ ignores"
        ),
        pytest.param([(b"40000", b"..", ROOT_ID)], "not allowed", id="two points"),
        pytest.param([(b"40000", b".", ROOT_ID)], "not allowed", id="one point"),
        pytest.param([(b"100644", b"a/b", FILE_ID)], "slash", id="a slash"),
        pytest.param([(b"100644", b"", FILE_ID)], "cannot be read", id="no name"),
        pytest.param([(b"100644", b"b", FILE_ID), (b"100644", b"a", FILE_ID)], "order", id="unsorted"),
        pytest.param([(b"100644", b"a", FILE_ID), (b"100644", b"a", FILE_ID)], "twice", id="twice"),
        pytest.param(
            [(b"100644", b"a", FILE_ID), (b"100644", b"a.b", FILE_ID), (b"40000", b"a", ROOT_ID)],
            "same name",
            id="a file and a folder",
        ),
        pytest.param([(b"100664", b"a", FILE_ID)], "mode 100664", id="a mode of old"),
        pytest.param([(b"040000", b"a", ROOT_ID)], "mode 040000", id="a mode with a zero"),
        pytest.param([(b"100644", b"a", bytes(20))], "names no object", id="the null id"),
        pytest.param([(b"100644", b"a", ROOT_ID)], "is a tree, and is used as a blob", id="a folder as a file"),
        pytest.param([(b"40000", b"a", FILE_ID)], "is a blob, and is used as a tree", id="a file as a folder"),
        pytest.param([(b"100644", b"a", b"\1" * 20)], "is missing", id="a missing file"),
        pytest.param([(b"120000", b".gitmodules", FILE_ID)], "symbolic link", id=".gitmodules as a link"),
        pytest.param([(b"100644", b".gitmodules", FILE_ID)], "submodules", id=".gitmodules"),
    ],
)
def test_an_invalid_folder_is_refused(pushed: Pushed, entries: list[tuple[bytes, bytes, bytes]], reason: str) -> None:
    data = tree(*entries)
    tip = commit(object_id(TREE, data))
    objects = {object_id(TREE, each): entry(TREE, each) for each in (ROOT, data)}
    found = pushed.refused(pack(VALID[0], *objects.values(), entry(COMMIT, tip)), object_id(COMMIT, tip).hex())
    assert reason in found


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        pytest.param((b"tree ", b"tree %b\ntree " % ROOT_ID.hex().encode()), "one tree", id="two trees"),
        pytest.param((b"tree ", b"three "), "one tree", id="no tree"),
        pytest.param((b"author", b"parent 12\nauthor"), "parents", id="half a parent"),
        pytest.param(
            (b"author Ada <ada@shop.example> ", b"author Ada <a<b> "), "author", id="an address in an address"
        ),
        pytest.param((b"author Ada <", b"author <"), "author", id="no name"),
        pytest.param((b"author Ada <", b"author Ada<"), "author", id="no space before the address"),
        pytest.param(
            (b"1700000000 +0000\ncommitter", b"01700000000 +0000\ncommitter"), "dates", id="a zero before the date"
        ),
        pytest.param(
            (b"1700000000 +0000\ncommitter", b"9300000000000000000 +0000\ncommitter"), "range", id="a late date"
        ),
        pytest.param((b"+0000\ncommitter", b"0000\ncommitter"), "dates", id="a zone without a sign"),
        pytest.param((b"committer", b"author A <a@b> 1 +0000\ncommitter"), "one tree", id="two authors"),
        pytest.param(
            (b"\n\nChange", b"\nauthor A <a@b> 1 +0000\n\nChange"), "one tree", id="an author after the committer"
        ),
        pytest.param((b"Change", b"Cha\0nge"), "one tree", id="a zero byte"),
    ],
)
def test_an_invalid_commit_is_refused(pushed: Pushed, change: tuple[bytes, bytes], reason: str) -> None:
    data = TIP.replace(*change, 1)
    assert data != TIP
    assert reason in pushed.refused(with_commit(data), object_id(COMMIT, data).hex())


def test_an_invalid_tag_is_refused(pushed: Pushed) -> None:
    text = b"object %b\ntype commit\ntag v1\ntagger Ada <ada@shop.example> 1 +0000\n\nOne\n" % TIP_ID.hex().encode()
    pushed.accept(pack(*VALID, entry(TAG, text)), object_id(TAG, text), "refs/tags/v1")
    for old, new in ((b"type commit", b"type blob"), (b"tagger Ada", b"tagger"), (b"tag v1\n", b"")):
        data = text.replace(old, new)
        pushed.refused(pack(entry(TAG, data)), object_id(TAG, data).hex(), "refs/tags/v2")


def test_a_commit_without_an_empty_line_is_one_without_a_message(pushed: Pushed) -> None:
    data = TIP.partition(b"\n\n")[0] + b"\n"
    pushed.accept(with_commit(data), object_id(COMMIT, data))


@pytest.mark.parametrize("mode", [b"100644", b"40000"])
@pytest.mark.parametrize("kind", ["commit", "tree", "blob"])
def test_an_entry_names_an_object_of_its_type(pushed: Pushed, mode: bytes, kind: str) -> None:
    """The object is in the repository already, on release: its commit, its folder, or a file."""
    release = pushed.place.tip
    names = {"commit": release, "tree": f"{release}^{{tree}}", "blob": f"{release}:{SHOP}/project.yaml"}
    found = bytes.fromhex(git(pushed.repository, "rev-parse", names[kind]).strip())
    root = tree((mode, b"README.md", found))
    for parents in ((), (bytes.fromhex(release),)):
        tip = commit(object_id(TREE, root), *parents)
        data = pack(entry(TREE, root), entry(COMMIT, tip))
        if (mode, kind) in {(b"100644", "blob"), (b"40000", "tree")}:
            pushed.accept(data, object_id(COMMIT, tip), f"refs/heads/topic{len(parents)}")
        else:
            assert f"is a {kind}" in pushed.refused(data, object_id(COMMIT, tip).hex())


def test_a_branch_needs_a_commit(pushed: Pushed) -> None:
    assert "a branch needs a commit" in pushed.refused(pack(*VALID), FILE_ID.hex())


def test_a_ref_to_an_object_that_is_not_there_is_refused(pushed: Pushed) -> None:
    assert "missing" in pushed.refused(pack(*VALID), "1" * 40)
    assert "missing" in pushed.refused(pack(), "1" * 40)


def test_a_commit_without_its_parent_is_refused(pushed: Pushed) -> None:
    data = commit(ROOT_ID, b"\1" * 20)
    assert "missing" in pushed.refused(with_commit(data), object_id(COMMIT, data).hex())


def test_a_long_line_of_git_attributes_is_refused(pushed: Pushed) -> None:
    data = b"* " + b"x" * 3_000
    root = tree((b"100644", b".gitattributes", object_id(BLOB, data)))
    tip = commit(object_id(TREE, root))
    found = pushed.refused(pack(entry(BLOB, data), entry(TREE, root), entry(COMMIT, tip)), object_id(COMMIT, tip).hex())
    assert ".gitattributes" in found


def test_a_chain_of_deltas_that_is_too_long_is_refused(pushed: Pushed) -> None:
    text, chain = FILE, list[bytes]()
    for number in range(300):
        following = text + b"%d" % (number % 10)
        step = delta(len(text), len(following), b"\xb0" + struct.pack("<H", len(text)), b"\x01%d" % (number % 10))
        chain.append(entry(REF, step, object_id(BLOB, text)))
        text = following
    assert "more than 250 deltas" in pushed.refused(pack(*VALID, *chain), TIP_ID.hex())
    pushed.accept(pack(*VALID, *chain[:200]), TIP_ID)


@pytest.mark.parametrize("count", [1, 12])
def test_a_bomb_is_refused_in_bounded_memory(pushed: Pushed, count: int) -> None:
    blob = bytes(8 * MIB)
    steps = [b"\xb0" + b"\0\0"] * (len(blob) >> 16) + [b""]
    deltas = [
        entry(REF, delta(len(blob), len(blob) + 4, *steps, struct.pack(">BI", 4, number)), object_id(BLOB, blob))
        for number in range(40)
    ]
    huge = zlib.compress(bytes(9 * MIB))
    bombs = {1: pack(*VALID, entry(BLOB, b"", size=9 * MIB)[:-8] + huge), 12: pack(*VALID, entry(BLOB, blob), *deltas)}
    assert len(bombs[count]) < MIB
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert "bytes" in pushed.refused(bombs[count], TIP_ID.hex())
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 << 10
