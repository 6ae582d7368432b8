"""The smallest edit that makes a file hold the wanted rules.

Unchanged rules keep their bytes; a changed rule gets new text only for its changed fields; a removed rule goes with its
own comments; a new rule is written like its neighbours. Every other byte stays.
"""

from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from content.records.record import Page, Record
from content.records.vocabulary import Kind
from gitstore.errors import Invalid
from gitstore.layout import BlobId
from gitstore.yamlfiles.block_list import line_break_of
from gitstore.yamlfiles.block_rewrite import rewrite_block_list
from gitstore.yamlfiles.dump import Layout
from gitstore.yamlfiles.empty_list import begin_list, fill_list
from gitstore.yamlfiles.flow_list import rewrite_flow_list
from gitstore.yamlfiles.rule_file import RuleFile, is_null, list_of, load, load_document
from gitstore.yamlfiles.rule_window import RuleWindow, cut_window
from gitstore.yamlfiles.yaml_node import ScalarNode, SequenceNode
from gitstore.yamlfiles.yaml_reader import LINE_BREAK, Document, decode


class RewrittenFile(NamedTuple):
    """The bytes of a rewritten file, the rules parsed from them, and the blob that they replace, where it is known."""

    data: bytes
    rules: RuleFile
    before: BlobId | None = None


class RewriteFailed(AssertionError):
    """A rewritten file does not read back as the wanted rules: an internal error (a bug). Nothing was written."""


def rewrite(
    data: bytes,
    file: str,
    wanted: Sequence[Record],
    layout: Layout = "block",
    renamed: Mapping[str, str] | None = None,
    known: RuleFile | None = None,
) -> bytes:
    """Return the bytes of the rewritten file; see `rewrite_file`."""
    return rewrite_file(data, file, wanted, layout, renamed, known).data


def rewrite_file(
    data: bytes,
    file: str,
    wanted: Sequence[Record],
    layout: Layout = "block",
    renamed: Mapping[str, str] | None = None,
    known: RuleFile | None = None,
) -> RewrittenFile:
    """Rewrite a file to hold exactly the `wanted` rules, in that order; `renamed` maps new identities to old ones.

    Raises Invalid if the file has a rule that cannot be read (it would be lost), and RewriteFailed. `layout` is for a
    list without rules; otherwise a new rule is written like its neighbours. The content of a page that names a file is
    not written here. With `known`, what is read of the file already, only the lines of the changed rules are read where
    that gives the same bytes.
    """
    stored = tuple(map(_stored, wanted))
    window = cut_window(data, known, stored) if known else None
    return (window and _rewrite_window(window, file, layout, renamed)) or _rewrite_whole(
        data, file, stored, layout, renamed
    )


def _rewrite_window(
    window: RuleWindow, file: str, layout: Layout, renamed: Mapping[str, str] | None
) -> RewrittenFile | None:
    """Rewrite the lines of a window; None if they do not read as its rules by themselves."""
    try:
        if load_document(Document(decode(window.data, file), file)).records != window.records:
            return None
        rewritten = _rewrite_whole(window.data, file, tuple(window.wanted), layout, renamed)
    except (Invalid, RewriteFailed):
        return None
    return (
        RewrittenFile(*window.join(rewritten.data, rewritten.rules)) if rewritten.data.startswith(window.head) else None
    )


def _rewrite_whole(
    data: bytes, file: str, stored: tuple[Record, ...], layout: Layout, renamed: Mapping[str, str] | None
) -> RewrittenFile:
    document = Document(decode(data, file), file)
    found = load_document(document)
    if found.records == stored:
        return RewrittenFile(data, found)
    mark = BOM_UTF8 if data.startswith(BOM_UTF8) else b""
    for candidate in _candidates(document, found, stored, layout, renamed):
        for ending in _endings(candidate, document.text):
            rewritten = mark + ending.encode()
            read = load(rewritten, file)
            if read.records == stored:
                return RewrittenFile(rewritten, read)
    raise RewriteFailed(f"{file}: the edited file does not read back as the wanted rules")


def _stored(record: Record) -> Record:
    """Return the record as its file holds it."""
    return replace(record, content="") if isinstance(record, Page) and record.content_file else record


def _endings(candidate: str, text: str) -> tuple[str, ...]:
    """Return the candidate, first without the final line break if the file has none; a block scalar may need it."""
    bare = candidate.removesuffix(line_break_of(text))
    return (candidate,) if not text or LINE_BREAK.search(text[-1:]) else (bare, candidate)


def _candidates(
    document: Document, found: RuleFile, wanted: Sequence[Record], layout: Layout, renamed: Mapping[str, str] | None
) -> Iterator[str]:
    """Yield candidate texts, each less pretty and safer than the one before."""
    kind = found.kind or (Kind.PAGES if isinstance(wanted[0], Page) else Kind.REDIRECTS)
    node = list_of(document.root, kind)
    if isinstance(node, SequenceNode) and len(node.items) != len(found.records):
        raise Invalid(f"{document.file} has problems. Fix them, then edit it.", found.problems)
    if isinstance(node, SequenceNode) and node.items:
        rewrite_list = rewrite_flow_list if node.flow else rewrite_block_list
        yield from rewrite_list(document, kind, found.records, wanted, renamed)
    elif isinstance(node, SequenceNode) or (isinstance(node, ScalarNode) and is_null(node)):
        yield fill_list(document, kind, node, wanted, layout)
    elif isinstance(document.root, ScalarNode) and is_null(document.root):
        yield begin_list(document.text, kind, wanted, layout)
    else:
        raise Invalid(f"{document.file} has problems. Fix them, then edit it.", found.problems)
