"""The change of the file `allowed_signers` between two states of a namespace: whose keys it takes in and out."""

from typing import NamedTuple

from gitstore.errors import Broken
from gitstore.git.repository import Repository
from gitstore.layout import TreeId
from gitstore.publish.signature_policy import load_signers
from gitstore.signatures.allowed_signers import FILE, AllowedSigner, InvalidSigners


class SignersChange(NamedTuple):
    """The lines that were added and removed, each as principals and fingerprint; a changed line is in both.

    `unreadable` says which of the two files cannot be read, so that its lines are not known: before, after, or both.
    """

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()


def find_signers_change(repository: Repository, before: TreeId | None, after: TreeId) -> SignersChange | None:
    """Return the change of the file between two root trees, or from none; None where it is the same."""
    old, new = (repository.named_entries(tree, FILE) if tree else [] for tree in (before, after))
    if old == new:
        return None
    before_lines, after_lines = _load(repository, before), _load(repository, after)
    lines = {"before": before_lines, "after": after_lines}
    return SignersChange(
        _names_only_in(after_lines, before_lines),
        _names_only_in(before_lines, after_lines),
        tuple(name for name, found in lines.items() if found is None),
    )


def _load(repository: Repository, tree: TreeId | None) -> tuple[AllowedSigner, ...] | None:
    """Return the lines of a state; none without the file, and None for a file that cannot be read."""
    try:
        return tuple(load_signers(repository, tree)) if tree else ()
    except (InvalidSigners, Broken):  # Broken: damaged, or a submodule
        return None


def _names_only_in(
    lines: tuple[AllowedSigner, ...] | None, others: tuple[AllowedSigner, ...] | None
) -> tuple[str, ...]:
    return tuple(dict.fromkeys(line.name for line in lines or () if line not in (others or ())))
