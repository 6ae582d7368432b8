"""The advertisement of a repository: its refs and what the service can do, in both versions of Git's protocol.

Only branches, tags and notes are advertised; every other ref is internal, and so is what only it reaches.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from gitstore.errors import Broken
from gitstore.git.packs.new_pack import TAG
from gitstore.git.refs import is_ref, list_refs, signature
from gitstore.git.repository import Repository
from gitstore.layout import RELEASE_REF, CommitId
from gitstore.wire.pkt_lines import FLUSH, join_lines, pkt_line, text_line
from gitstore.wire.push.push_request import CAPABILITIES

AGENT = "agent=waypost"
_FORMAT = "object-format=sha1"
_PREFIXES = ("refs/heads/", "refs/tags/", "refs/notes/")
_HEAD = "HEAD"
_NO_OBJECT = "0" * 40
_TAGGED = re.compile(rb"object ([0-9a-f]{40})\n")
_ATTEMPTS = 5
_MOST_TAGS = 20  # of tags that name one another
FETCH_CAPABILITIES = (
    "multi_ack multi_ack_detailed no-done side-band side-band-64k thin-pack ofs-delta shallow deepen-since deepen-not "
    "deepen-relative no-progress include-tag filter allow-tip-sha1-in-want allow-reachable-sha1-in-want "
    f"symref={_HEAD}:{RELEASE_REF} {_FORMAT} {AGENT}"
)
"""What a fetch by the first version of the protocol can ask for."""


class AdvertisedRefs(NamedTuple):
    """The refs that a client sees, by name in Git's order, and the object behind each annotated tag."""

    refs: Mapping[str, CommitId]
    peeled: Mapping[str, CommitId]

    @property
    def tips(self) -> frozenset[str]:
        """All objects that a ref names."""
        return frozenset(self.refs.values())


def read_advertised(repository: Repository) -> AdvertisedRefs:
    """Read the refs that clients may see, without those whose object is missing. Raises Broken if release cannot be read."""
    found = _list_whole(repository.path)
    if RELEASE_REF not in found:
        repository.release()  # raises the error that it has
        raise Broken(f"The repository {repository.path.name} has no release branch.")
    refs = {name: found[name] for name in sorted(found) if _is_shown(repository, name, found[name])}
    if RELEASE_REF not in refs:
        raise Broken(f"The commit {found[RELEASE_REF]} of the release branch is missing in {repository.path.name}.")
    return AdvertisedRefs(refs, dict(_peel(repository, refs)))


def _list_whole(path: Path) -> dict[str, CommitId]:
    """List all refs in a moment in which git did not pack them: a ref that it moves meanwhile could be missed."""
    for _ in range(_ATTEMPTS):
        before = signature(path, "packed-refs").loose
        found = list_refs(path, is_lenient=True)
        if signature(path, "packed-refs").loose == before:
            break
    return found


def _is_shown(repository: Repository, name: str, target: CommitId) -> bool:
    """Tell whether a ref is for clients, and can be sent: its name is UTF-8, and its object is there."""
    return name.startswith(_PREFIXES) and is_ref(name) and repository.has(target)


def _peel(repository: Repository, refs: Mapping[str, CommitId]) -> Iterator[tuple[str, CommitId]]:
    for name, target in refs.items():
        if name.startswith("refs/tags/"):
            with suppress(Broken):  # what it names is missing
                *_, last = follow_tags(repository, target)
                if last != target:
                    yield name, last


def follow_tags(repository: Repository, object_id: str) -> Iterator[CommitId]:
    """Yield an object, and where it is an annotated tag, what that names, and so on."""
    for _ in range(_MOST_TAGS):
        yield CommitId(object_id)
        kind, data = repository.raw(object_id)
        found = _TAGGED.match(data) if kind == TAG else None
        if found is None:
            return
        object_id = found[1].decode()


PUSH_CAPABILITIES = " ".join((*CAPABILITIES, AGENT))
"""What a push can ask for."""


def advertise(service: str, advertised: AdvertisedRefs, capabilities: str) -> bytes:
    """Return the first response of the first version: the service, then all refs; the first line has the capabilities.

    A fetch also gets HEAD, and the objects behind annotated tags; a push wants neither.
    """
    rows = (
        list(_rows(advertised))
        if service == "git-upload-pack"
        else [(oid, ref) for ref, oid in advertised.refs.items()]
    )
    first, *others = rows or [(_NO_OBJECT, "capabilities^{}")]
    lines = [pkt_line(f"{first[0]} {first[1]}\0{capabilities}\n".encode())]
    lines += [text_line(f"{oid} {ref}") for oid, ref in others]
    return text_line(f"# service={service}") + FLUSH + join_lines(lines)


def _rows(advertised: AdvertisedRefs) -> Iterator[tuple[str, str]]:
    yield advertised.refs[RELEASE_REF], _HEAD
    for ref, oid in advertised.refs.items():
        yield oid, ref
        if ref in advertised.peeled:
            yield advertised.peeled[ref], f"{ref}^{{}}"


def advertise_version_2() -> bytes:
    """Return the first response of the second version: the commands, without refs."""
    features = ("version 2", AGENT, "ls-refs=unborn", "fetch=shallow wait-for-done filter", "server-option", _FORMAT)
    return join_lines(map(text_line, features))


def list_refs_version_2(advertised: AdvertisedRefs, arguments: Iterable[str]) -> bytes:
    """Return the response to `ls-refs`; arguments that it does not know are ignored."""
    given = list(arguments)
    prefixes = tuple(each.removeprefix("ref-prefix ") for each in given if each.startswith("ref-prefix "))
    wanted = [line for line in _described(advertised, given) if not prefixes or line[1].startswith(prefixes)]
    return join_lines(text_line(" ".join(line)) for line in wanted)


def _described(advertised: AdvertisedRefs, given: list[str]) -> Iterator[tuple[str, ...]]:
    symref = (f"symref-target:{RELEASE_REF}",) if "symrefs" in given else ()
    yield advertised.refs[RELEASE_REF], _HEAD, *symref
    for ref, oid in advertised.refs.items():
        peeled = (f"peeled:{advertised.peeled[ref]}",) if "peel" in given and ref in advertised.peeled else ()
        yield oid, ref, *peeled
