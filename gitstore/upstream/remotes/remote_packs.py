"""The packs for another repository, and of one on this machine."""

from collections.abc import Sequence
from pathlib import Path

from gitstore.errors import OutOfSpace, StoreError, is_disk_full
from gitstore.git.quarantine import Quarantine
from gitstore.git.repository import open_repository
from gitstore.layout import CommitId
from gitstore.wire.client.remote_errors import RemoteGarbage
from gitstore.wire.fetch.fetch_pack import PackOrder, make_pack
from gitstore.wire.packs.sent_pack import PackFormat


def write_fetched(path: Path, quarantine: Quarantine, want: CommitId, haves: Sequence[CommitId]) -> None:
    """Write the pack of a commit of a repository on this machine into a quarantine's request file."""
    with open_repository(path) as theirs:
        common = tuple(bytes.fromhex(have) for have in haves if theirs.has(have))
    try:
        made = make_pack(path, quarantine.path / "made", PackOrder((bytes.fromhex(want),), common))
        made.path.rename(quarantine.request)
    except (OSError, StoreError) as ex:
        if is_disk_full(ex):
            raise OutOfSpace from ex
        raise RemoteGarbage("The upstream's repository is damaged, or cannot be read.") from ex


def make_pack_for(
    source: Path, quarantine: Quarantine, want: CommitId, theirs: Sequence[CommitId], *, is_thin: bool
) -> Path:
    """Make the pack of a commit of a repository for another one that has others, of which this one may not have all."""
    with open_repository(source) as own:
        common = tuple(bytes.fromhex(each) for each in dict.fromkeys(theirs) if own.has_commit(each))
    order = PackOrder((bytes.fromhex(want),), common, format=PackFormat(is_thin=is_thin))
    return make_pack(source, quarantine.path / "made", order).path
