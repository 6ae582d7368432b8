"""The least edit that makes a file hold the rules that are wanted.

Rules that stay keep their bytes, a changed rule only gets new text for the fields that changed, a removed one goes
with its own comments, and a new one is written as its neighbours are. Everything else survives to the byte.
"""

from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from content.record import Page, Record
from content.vocabulary import Kind
from gitstore.block_list import line_break_of
from gitstore.block_rewrite import rewrite_block
from gitstore.bracket_rewrite import rewrite_brackets
from gitstore.dump import Layout
from gitstore.empty_list import begin_list, fill_list
from gitstore.errors import Invalid
from gitstore.rule_file import RuleFile, is_null, list_of, load, load_document
from gitstore.yaml_node import ScalarNode, SequenceNode
from gitstore.yaml_reader import LINE_BREAK, Document, decode


class RewriteFailed(AssertionError):
    """A rewritten file does not read back as the rules that were wanted: a defect of ours. Nothing was written."""


def rewrite(
    data: bytes,
    file: str,
    wanted: Sequence[Record],
    layout: Layout = "block",
    renamed: Mapping[str, str] | None = None,
) -> bytes:
    """The bytes of the file holding exactly `wanted`, in that order; `renamed` gives the identity that one had before.

    Raises Invalid where the file has a rule that cannot be read (it would be lost), RewriteFailed as that says.
    `layout` is for a list without rules; elsewhere a new rule is written as its neighbours are. The content of a page
    that names a file is not written here.
    """
    document = Document(decode(data, file), file)
    found, stored = load_document(document), tuple(map(_stored, wanted))
    if found.records == stored:
        return data
    mark = BOM_UTF8 if data.startswith(BOM_UTF8) else b""
    for candidate in _candidates(document, found, stored, layout, renamed):
        for ending in _endings(candidate, document.text):
            rewritten = mark + ending.encode()
            if load(rewritten, file).records == stored:
                return rewritten
    raise RewriteFailed(f"{file}: the edited file does not read back as the rules that were wanted")


def _stored(record: Record) -> Record:
    """The record as its file gives it."""
    return replace(record, content="") if isinstance(record, Page) and record.content_file else record


def _endings(candidate: str, text: str) -> tuple[str, ...]:
    """The candidate, first without line break at its end where the file has none; a block scalar may need it."""
    bare = candidate.removesuffix(line_break_of(text))
    return (candidate,) if not text or LINE_BREAK.search(text[-1:]) else (bare, candidate)


def _candidates(
    document: Document, found: RuleFile, wanted: Sequence[Record], layout: Layout, renamed: Mapping[str, str] | None
) -> Iterator[str]:
    """Texts that should do; each is worse to look at than the one before, and safer."""
    kind = found.kind or (Kind.PAGES if isinstance(wanted[0], Page) else Kind.REDIRECTS)
    node = list_of(document.root, kind)
    if isinstance(node, SequenceNode) and len(node.items) != len(found.records):
        raise Invalid(f"{document.file} has to be mended before it can be edited.", found.problems)
    if isinstance(node, SequenceNode) and node.items:
        rewrite_list = rewrite_brackets if node.flow else rewrite_block
        yield from rewrite_list(document, kind, found.records, wanted, renamed)
    elif isinstance(node, SequenceNode) or (isinstance(node, ScalarNode) and is_null(node)):
        yield fill_list(document, kind, node, wanted, layout)
    elif isinstance(document.root, ScalarNode) and is_null(document.root):
        yield begin_list(document.text, kind, wanted, layout)
    else:
        raise Invalid(f"{document.file} has to be mended before it can be edited.", found.problems)
