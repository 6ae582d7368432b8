"""The file of a pack while it is sent: read in pieces, each framed for the client."""

from hashlib import sha1
from pathlib import Path

from gitstore.wire.fetch.fetch_pack import MadePack
from gitstore.wire.packs.kept_packs import KeptPacks
from gitstore.wire.pkt_lines import FLUSH, PACK_BAND, band_lines

_PIECE = 1 << 20
_CHECKSUM = 20


class PackFile:
    """An open pack. One that is not kept has no name any more, so that nothing is left of it after the response."""

    def __init__(self, made: MadePack, line_bytes: int) -> None:
        """Open a pack, to be sent in lines of `line_bytes` or (0) as it is. Raises FileNotFoundError if it is gone."""
        self._made = made
        self._line_bytes = line_bytes
        self._file = made.path.open("rb", buffering=0)
        self._digest = sha1(usedforsecurity=False)
        self._end = b""
        if not made.is_kept:
            made.path.unlink(missing_ok=True)

    def read(self) -> bytes:
        """Return the next piece of the response, about a megabyte; empty at the end."""
        piece = self._file.read(_PIECE)
        if not piece:
            self._check()
            return b""
        whole = self._end + piece
        self._digest.update(whole[:-_CHECKSUM])
        self._end = whole[-_CHECKSUM:]
        return b"".join(band_lines(PACK_BAND, piece, self._line_bytes)) if self._line_bytes else piece

    @property
    def ending(self) -> bytes:
        """The line after the last piece."""
        return FLUSH if self._line_bytes else b""

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _check(self) -> None:
        """Drop a kept pack with damaged bytes: its client sees that, and the next one gets another pack."""
        if self._made.is_kept and self._digest.digest() != self._end:
            KeptPacks(Path(self._made.path).parent).drop(self._made.path)
