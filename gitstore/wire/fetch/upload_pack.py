"""A fetch, from its request to the order for its pack: the `upload-pack` of Git's protocol.

`answer_refs` and `answer_fetch` read refs and commits; `fetch_pack.make_pack` then makes the pack that an answer orders.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from gitstore.git.repository import Repository, open_repository
from gitstore.wire.advertisement import (
    FETCH_CAPABILITIES,
    PUSH_CAPABILITIES,
    AdvertisedRefs,
    advertise,
    list_refs_version_2,
    read_advertised,
)
from gitstore.wire.fetch.fetch_pack import PackOrder
from gitstore.wire.fetch.fetch_request import Command, FetchRequest, read_command, read_fetch, read_first_version
from gitstore.wire.fetch.negotiation import Common, agree, agree_first_version
from gitstore.wire.fetch.shallow import Cut, find_cut
from gitstore.wire.packs.commit_graph import CommitGraph
from gitstore.wire.packs.object_source import ObjectSource
from gitstore.wire.packs.selection import Selection, find_below
from gitstore.wire.packs.sent_pack import PackFormat
from gitstore.wire.pkt_lines import (
    DELIMITER,
    FLUSH,
    MAX_DATA,
    MalformedRequest,
    UnsupportedRequest,
    error_line,
    text_line,
)

UPLOAD_PACK, RECEIVE_PACK = "git-upload-pack", "git-receive-pack"
_SMALL_LINE = 996  # bytes of data, with the band, in a line of the older form of bands


class FetchAnswer(NamedTuple):
    """The answer to a fetch: the bytes before the pack, and what the pack is made of; None if none follows.

    The pack is sent in lines of `line_bytes` with a band, or (0) as it is.
    """

    head: bytes
    order: PackOrder | None = None
    line_bytes: int = MAX_DATA


def answer_refs(repository: Path, service: str) -> bytes:
    """Return the first response to a push, or to a fetch of the first version. Raises Broken."""
    capabilities = PUSH_CAPABILITIES if service == RECEIVE_PACK else FETCH_CAPABILITIES
    with open_repository(repository) as opened:
        return advertise(service, read_advertised(opened), capabilities)


def answer_fetch(repository: Path, body: bytes, *, is_version_2: bool) -> FetchAnswer:
    """Return the answer to a request; one that is refused is answered by an error line.

    Raises MalformedRequest for a request that is not Git's protocol, and Broken.
    """
    try:
        with open_repository(repository) as opened:
            if not is_version_2:
                request = read_first_version(body)
                return FetchAnswer(b"") if request is None else _answer_request(opened, request, _answer_first_version)
            command = read_command(body)
            return FetchAnswer(b"") if command is None else _answer_command(opened, command)
    except UnsupportedRequest as ex:  # C git prints no body of an HTTP error
        return FetchAnswer(error_line(str(ex)))


class _Fetch(NamedTuple):
    """A fetch that is allowed: its request, the graph of commits, and where the client's history will be cut off."""

    request: FetchRequest
    graph: CommitGraph
    wants: Sequence[bytes]
    cut: Cut
    tags: tuple[bytes, ...]

    def common(self) -> Common:
        """Return the record of the commits that both sides have: none yet."""
        return Common(self.graph, [self.graph.follow(want).target for want in self.wants], self.cut)

    def order(self, common: tuple[bytes, ...]) -> PackOrder:
        """Return the order for the pack."""
        features = self.request.features
        form = PackFormat("ofs-delta" in features, "thin-pack" in features)
        tags = self.tags if "include-tag" in features else ()
        return PackOrder(tuple(self.wants), common, self.cut, self.request.filter, form, tags)

    def cut_lines(self) -> bytes:
        """Return the lines on the commits that become shallow, and on those that are so no more."""
        lines = [f"shallow {each.hex()}" for each in sorted(self.cut.added)]
        return b"".join(map(text_line, lines + [f"unshallow {each.hex()}" for each in sorted(self.cut.removed)]))


def _answer_command(repository: Repository, command: Command) -> FetchAnswer:
    if command.name == "ls-refs":
        return FetchAnswer(list_refs_version_2(read_advertised(repository), command.arguments))
    if command.name == "fetch":
        return _answer_request(repository, read_fetch(command.arguments), _answer_version_2)
    return FetchAnswer(error_line(f"unknown command {command.name[:80]!r}"))


def _answer_request(
    repository: Repository, request: FetchRequest, answer: Callable[[_Fetch], FetchAnswer]
) -> FetchAnswer:
    advertised = read_advertised(repository)
    wants = [bytes.fromhex(want) for want in dict.fromkeys(request.wants)]
    with closing(ObjectSource(repository)) as source:
        graph = CommitGraph(source)
        hidden = find_hidden(source, graph, advertised, wants)
        if hidden:
            return FetchAnswer(error_line(f"upload-pack: not our ref {hidden[0].hex()}"))
        targets = [graph.follow(want).target for want in wants]
        try:
            cut = find_cut(graph, request, targets, advertised.refs)
        except MalformedRequest as ex:
            return FetchAnswer(error_line(str(ex)))
        tags = tuple(bytes.fromhex(advertised.refs[name]) for name in advertised.peeled)
        return answer(_Fetch(request, graph, wants, cut, tags))


def _answer_version_2(fetch: _Fetch) -> FetchAnswer:
    """Answer `fetch`: what both sides have, where the history is cut off, and the order for the pack, as far as they are due."""
    request = fetch.request
    if not request.wants:
        return FetchAnswer(FLUSH)
    agreement = agree(request, fetch.common())
    if not agreement.has_pack:
        return FetchAnswer(agreement.lines or FLUSH)
    is_cut = request.is_deepening or request.shallow
    cut = text_line("shallow-info") + fetch.cut_lines() + DELIMITER if is_cut else b""
    head = agreement.lines + cut + text_line("packfile")
    return FetchAnswer(head, fetch.order(agreement.common), MAX_DATA)


def _answer_first_version(fetch: _Fetch) -> FetchAnswer:
    request = fetch.request
    cut = fetch.cut_lines() + FLUSH if request.is_deepening else b""
    if request.ends_early:
        return FetchAnswer(cut)
    agreement = agree_first_version(request, fetch.common())
    if not agreement.has_pack:
        return FetchAnswer(cut + agreement.lines)
    features = request.features
    line_bytes = MAX_DATA if "side-band-64k" in features else _SMALL_LINE if "side-band" in features else 0
    return FetchAnswer(cut + agreement.lines, fetch.order(agreement.common), line_bytes)


def find_hidden(
    source: ObjectSource, graph: CommitGraph, advertised: AdvertisedRefs, wants: Iterable[bytes]
) -> list[bytes]:
    """Return the first wanted object if no advertised ref reaches one of them, or one does not exist: the answer is the same."""
    tips = {bytes.fromhex(tip) for tip in (*advertised.tips, *advertised.peeled.values())}
    others = set(wants) - tips
    if not others:
        return []
    unknown = next((each for each in others if not source.is_here(each) and not source.has(each)), None)
    if unknown is not None:  # one is enough to refuse the request, and there may be very many
        return [min(others)]
    commits = {each for each in others if graph.is_commit(each)}
    starts = [tip for tip in tips if graph.is_commit(tip)]
    shown = graph.find_reached(starts, commits)
    rest = others - commits
    if rest:
        rest -= find_below(source, [graph.node(tip).tree for tip in starts], rest)
    if rest:
        everything = Selection(source)
        source.index_all()
        everything.add_commits(graph, graph.newest_first(starts, graph.parents), graph.parents)
        rest -= everything.ids.keys()
    return [min(others)] if commits - shown or rest else []
