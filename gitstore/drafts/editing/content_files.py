"""The content files of changed pages, chosen so that every page keeps its intended content.

Several pages may name one file. Where their intended contents differ, the file is kept for some of them, and the
others get their content inline: an edit of one page never reaches another.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from content.records.record import Page, Record
from content.records.vocabulary import Kind
from gitstore.compiled.segments.snapshot import Snapshot, body_path
from gitstore.layout import FileRole, can_reference, is_safe_name, role_of

Lists = Mapping[str, Sequence[Record]]  # the records of files of pages, by path in the project


class ContentPlan(NamedTuple):
    """The records to write, and the content files that change: None for a file that no page names any more."""

    lists: dict[str, list[Record]]
    bodies: dict[str, bytes | None]


class _WantedContent(NamedTuple):
    """The intended text of a page's content file; None for an unreadable file, which is not changed."""

    body: str
    text: str | None
    identity: str


@dataclass(frozen=True, slots=True)
class ContentFiles:
    """The content files of a project whose lists of pages change from `before` to `after`.

    Where pages disagree on a file, those of `first` keep it, else those whose content is already in it. `known` lists
    the files that were read, so that empty content is intended; None where all were.
    """

    snapshot: Snapshot
    before: Lists
    after: Lists
    known: Collection[str] | None = None
    first: Collection[str] = ()

    def plan(self) -> ContentPlan:
        """Give each page its content, without a change of any other page."""
        wants = {path: list(self._wants(path)) for path in self.after}
        held = self._plan_texts([want for of_list in wants.values() for want in of_list if want])
        lists = {
            path: [
                _inline_if_needed(each, want, held) for each, want in zip(self.after[path], wants[path], strict=True)
            ]
            for path in self.after
        }
        named = _named_bodies(lists) | self._named_elsewhere
        texts = self.snapshot.bodies
        written = {body: text.encode() for body, text in held.items() if text is not None and texts.get(body) != text}
        return ContentPlan(lists, {**written, **dict.fromkeys(filter(_is_content, _named_bodies(self.before) - named))})

    @property
    def _named_elsewhere(self) -> set[str]:
        """The content files of pages in unchanged lists."""
        files = [file for file in self.snapshot.rule_files[Kind.PAGES] if file.path not in self.after]
        named = ((file.path, extra.get("file")) for file in files for extra in file.segment.extras.values())
        return {body_path(path, name) for path, name in named if name}

    def _wants(self, path: str) -> Iterator[_WantedContent | None]:
        there = {each.identity: each for each in self.before.get(path, ())}
        for each in self.after[path]:
            if not (isinstance(each, Page) and each.content_file):
                yield None
                continue
            body = body_path(path, each.content_file)
            is_new = there.get(each.identity) != each
            is_read = bool(each.content) or self.known is None or body in self.known
            text = each.content if is_new and is_read else self.snapshot.bodies.get(body)
            may_stand = not is_new or (_is_content(body) and can_reference(path, body))
            yield _WantedContent(body if may_stand else "", text, each.identity)

    def _plan_texts(self, wants: Iterable[_WantedContent]) -> dict[str, str | None]:
        """Return the text of each content file."""
        by_body: dict[str, list[_WantedContent]] = {}
        for want in wants:
            by_body.setdefault(want.body, []).append(want)
        elsewhere = self._named_elsewhere if by_body else set()
        return {body: self._text(body, of_body, body in elsewhere) for body, of_body in by_body.items() if body}

    def _text(self, body: str, wants: Sequence[_WantedContent], is_elsewhere: bool) -> str | None:  # noqa: FBT001 - private
        now = self.snapshot.bodies.get(body)
        first = [want.text for want in wants if want.identity in self.first]
        if is_elsewhere or (not first and any(want.text == now for want in wants)):
            return now
        return (first or [want.text for want in wants])[0]


def _inline_if_needed(record: Record, want: _WantedContent | None, held: Mapping[str, str | None]) -> Record:
    """Return the record with its content inline where its file holds another text."""
    if want and isinstance(record, Page) and (want.body not in held or held[want.body] != want.text):
        return replace(record, content=want.text or "", content_file="")
    return record


def _is_content(body: str) -> bool:
    """Return whether a file of this path may hold the content of a page."""
    return role_of(body) is FileRole.CONTENT and all(map(is_safe_name, body.split("/")))


def _named_bodies(lists: Lists) -> set[str]:
    """Return the content files that the pages of lists name."""
    pages = ((path, each) for path, records in lists.items() for each in records if isinstance(each, Page))
    return {body_path(path, page.content_file) for path, page in pages if page.content_file}
