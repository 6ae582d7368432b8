"""The installation of a push's objects: few become loose objects, as those of an edit; many stay a pack."""

from collections.abc import Collection

from gitstore.git.packs.new_pack import TYPES, write_pack
from gitstore.git.quarantine import Quarantine
from gitstore.git.transaction import Transaction
from gitstore.layout import CommitId
from gitstore.wire.push.connectivity import list_new
from gitstore.wire.push.pack_reader import ReceivedPack

# As C git's `receive.unpackLimit`: a pack for each small push would be thousands, and every reader opens each of them.
MOST_LOOSE = 100
MOST_LOOSE_BYTES = 4 << 20
_NAMES = {number: name for name, number in TYPES.items()}


def install(
    transaction: Transaction,
    quarantine: Quarantine,
    pack: ReceivedPack,
    tips: Collection[CommitId],
    *,
    all_accepted: bool,
) -> None:
    """Put the objects that these commits and tags need into the repository, durably by the time that a ref moves.

    Unless all refs are accepted, the objects that only a refused one needs are left out. The caller holds the
    repository's lock.
    """
    needed = set(pack.kinds if all_accepted else list_new(transaction, pack.kinds, tips)) - pack.bases
    if len(needed) <= MOST_LOOSE and pack.inflated <= MOST_LOOSE_BYTES:
        for object_id in needed:
            kind, data = transaction.raw(object_id.hex())
            transaction.write_object(_NAMES[kind], data)
    elif all_accepted:
        quarantine.install(pack.path.name)
    else:
        chosen = [[each] for each in pack.kinds if each in needed]
        quarantine.install(write_pack(quarantine.packs, chosen, lambda each: transaction.raw(each.hex())))
