"""Which file each page's content stands in once pages changed, so that every page says what it is meant to say.

Several pages may name one file. Where they are meant to say different things, the file goes on for some of them, and
the others get their content inline: no edit of one page reaches another.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from content.record import Page, Record
from content.vocabulary import Kind
from gitstore.layout import Role, is_safe_name, role_of
from gitstore.page_bodies import is_in_reach
from gitstore.snapshot import Snapshot, body_path

Lists = Mapping[str, Sequence[Record]]
"""The records of files of pages, by path in the project."""


class Settled(NamedTuple):
    """The records as they are to be written, and the contents that change: None for one that nobody names any more."""

    lists: dict[str, list[Record]]
    bodies: dict[str, bytes | None]


class _Want(NamedTuple):
    """What a page wants the file to hold that it names; None where that cannot be read and shall stay as it is."""

    body: str
    text: str | None
    identity: str


@dataclass(frozen=True, slots=True)
class ContentFiles:
    """The files with contents of a project whose lists of pages change from `before` to `after`.

    The pages of `first` keep their file where pages disagree; else those do whose content the file has already.
    """

    snapshot: Snapshot
    before: Lists
    after: Lists
    known: Collection[str] | None = None
    """The contents that could be read, so that an empty one is meant; None where each is."""
    first: Collection[str] = ()

    def settle(self) -> Settled:
        """Give each page its content, where no other page is touched by it."""
        wants = {path: list(self._wants(path)) for path in self.after}
        held = self._held([want for of_list in wants.values() for want in of_list if want])
        lists = {
            path: [_placed(each, want, held) for each, want in zip(self.after[path], wants[path], strict=True)]
            for path in self.after
        }
        named = _named(lists) | self._elsewhere
        texts = self.snapshot.bodies
        written = {body: text.encode() for body, text in held.items() if text is not None and texts.get(body) != text}
        return Settled(lists, {**written, **dict.fromkeys(filter(_is_content, _named(self.before) - named))})

    @property
    def _elsewhere(self) -> set[str]:
        """The contents that pages name in files which do not change."""
        files = [file for file in self.snapshot.rule_files[Kind.PAGES] if file.path not in self.after]
        named = ((file.path, extra.get("file")) for file in files for extra in file.part.extras.values())
        return {body_path(path, name) for path, name in named if name}

    def _wants(self, path: str) -> Iterator[_Want | None]:
        there = {each.identity: each for each in self.before.get(path, ())}
        for each in self.after[path]:
            if not (isinstance(each, Page) and each.content_file):
                yield None
                continue
            body = body_path(path, each.content_file)
            is_new = there.get(each.identity) != each
            is_read = bool(each.content) or self.known is None or body in self.known
            text = each.content if is_new and is_read else self.snapshot.bodies.get(body)
            may_stand = not is_new or (_is_content(body) and is_in_reach(path, body))
            yield _Want(body if may_stand else "", text, each.identity)

    def _held(self, wants: Iterable[_Want]) -> dict[str, str | None]:
        """What each file that a page names shall hold."""
        by_body: dict[str, list[_Want]] = {}
        for want in wants:
            by_body.setdefault(want.body, []).append(want)
        elsewhere = self._elsewhere if by_body else set()
        return {body: self._text(body, of_body, body in elsewhere) for body, of_body in by_body.items() if body}

    def _text(self, body: str, wants: Sequence[_Want], is_elsewhere: bool) -> str | None:  # noqa: FBT001 - private
        now = self.snapshot.bodies.get(body)
        first = [want.text for want in wants if want.identity in self.first]
        if is_elsewhere or (not first and any(want.text == now for want in wants)):
            return now
        return (first or [want.text for want in wants])[0]


def _placed(record: Record, want: _Want | None, held: Mapping[str, str | None]) -> Record:
    """The record with its content inline where its file holds something else."""
    if want and isinstance(record, Page) and (want.body not in held or held[want.body] != want.text):
        return replace(record, content=want.text or "", content_file="")
    return record


def _is_content(body: str) -> bool:
    """Tell whether a file of this path may hold the content of a page."""
    return role_of(body) is Role.CONTENT and all(map(is_safe_name, body.split("/")))


def _named(lists: Lists) -> set[str]:
    """The contents that the pages of lists name."""
    pages = ((path, each) for path, records in lists.items() for each in records if isinstance(each, Page))
    return {body_path(path, page.content_file) for path, page in pages if page.content_file}
