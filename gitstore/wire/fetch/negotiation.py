"""The negotiation of a fetch: which of the client's commits are known here, and whether the pack can be made.

https://git-scm.com/docs/gitprotocol-pack#_packfile_negotiation for the first version of the protocol,
https://git-scm.com/docs/gitprotocol-v2#_fetch for the second.
"""

from collections.abc import Sequence
from typing import NamedTuple

from gitstore.wire.fetch.fetch_request import FetchRequest
from gitstore.wire.fetch.shallow import Cut
from gitstore.wire.packs.commit_graph import CommitGraph
from gitstore.wire.pkt_lines import DELIMITER, FLUSH, text_line


class Agreement(NamedTuple):
    """The lines that answer a client's haves, its commits that are known here, and whether a pack follows."""

    lines: bytes
    common: tuple[bytes, ...]
    has_pack: bool


class Common:
    """The commits that both sides have, as the client names them."""

    def __init__(self, graph: CommitGraph, wants: Sequence[bytes], cut: Cut) -> None:
        self._graph = graph
        self._wants = wants
        self._parents = cut.wanted_parents(graph)
        self._is_enough: bool | None = False
        self.commits: dict[bytes, None] = {}

    def add(self, have: bytes) -> bool:
        """Add a commit of the client; False if it is not known here."""
        if not self._graph.is_known_commit(have):
            return False
        self.commits[have] = None
        if not self._is_enough:
            self._is_enough = None
        return True

    @property
    def is_enough(self) -> bool:
        """True if each wanted commit has a common one among its ancestors: older ones would not change the pack."""
        if self._is_enough is None:
            self._is_enough = all(
                not self._graph.is_commit(want) or self._graph.reaches(want, self.commits, self._parents)
                for want in self._wants
            )
        return self._is_enough


def agree(request: FetchRequest, common: Common) -> Agreement:
    """Answer the haves of a request of the second version."""
    known = [have for have in request.haves if common.add(bytes.fromhex(have))]
    if request.is_done or not request.haves:
        return Agreement(
            b"", tuple(common.commits), has_pack=request.is_done or "wait-for-done" not in request.features
        )
    lines = [f"ACK {have}" for have in known] or ["NAK"]
    is_ready = common.is_enough and "wait-for-done" not in request.features
    text = b"".join(map(text_line, ["acknowledgments", *lines, *(["ready"] if is_ready else [])]))
    return Agreement(text + (DELIMITER if is_ready else FLUSH), tuple(common.commits), is_ready)


def agree_first_version(request: FetchRequest, common: Common) -> Agreement:
    """Answer the haves of a request of the first version, in the form that the client knows."""
    talk = _Talk(request, common)
    for have in request.haves:
        talk.hear(have)
    has_pack = talk.end()
    return Agreement(b"".join(map(text_line, talk.lines)), tuple(common.commits), has_pack)


class _Talk:
    """The answers of the first version, one for each have."""

    def __init__(self, request: FetchRequest, common: Common) -> None:
        self._request = request
        self._common = common
        self._is_detailed = "multi_ack_detailed" in request.features
        self._is_multiple = self._is_detailed or "multi_ack" in request.features
        self._last = ""
        self._has_other = self._is_ready = False
        self.lines: list[str] = []

    def hear(self, have: str) -> None:
        """Answer a have."""
        if not self._common.add(bytes.fromhex(have)):
            self._has_other = True
            if self._is_multiple and self._common.is_enough:
                self._is_ready = self._is_detailed
                self.lines.append(f"ACK {have} {'ready' if self._is_detailed else 'continue'}")
            return
        self._last = have
        if self._is_multiple:
            self.lines.append(f"ACK {have} {'common' if self._is_detailed else 'continue'}")
        elif len(self._common.commits) == 1:
            self.lines.append(f"ACK {have}")

    def end(self) -> bool:
        """Answer the end of the request; return whether the pack follows."""
        if self._request.is_done:
            if not self._last:
                self.lines.append("NAK")
            elif self._is_multiple:
                self.lines.append(f"ACK {self._last}")
            return True
        if self._is_detailed and self._last and not self._has_other and self._common.is_enough:
            self._is_ready = True
            self.lines.append(f"ACK {self._last} ready")
        if self._is_multiple or not self._last:
            self.lines.append("NAK")
        if "no-done" in self._request.features and self._is_ready and self._last:
            self.lines.append(f"ACK {self._last}")
            return True
        return False
