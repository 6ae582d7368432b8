"""Edits of settings in a project.yaml written by a person; its comments, order and quotes stay unchanged."""

from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from itertools import takewhile

from gitstore.yamlfiles.block_list import line_break_of
from gitstore.yamlfiles.dump import INDENT
from gitstore.yamlfiles.field_edit import RuleText, edit_values
from gitstore.yamlfiles.project_file import POLICY, ProjectFile, dump_project, load_project
from gitstore.yamlfiles.yaml_node import MappingNode, node_at
from gitstore.yamlfiles.yaml_reader import YamlRefused, decode, read

_TEXTS = ("title", "description")


def rewrite_project(data: bytes, new: ProjectFile) -> bytes:
    """Return the file with the new settings; if its layout has no room for them, a new one below its first comments."""
    try:
        text = decode(data, "")
    except YamlRefused:
        return dump_project(new)
    mark = BOM_UTF8 if data.startswith(BOM_UTF8) else b""
    return next(mark + edited for edited in _candidates(text, new) if load_project(edited, "") == (new, []))


def _candidates(text: str, new: ProjectFile) -> Iterator[bytes]:
    edited = _edit_mapping(text, "/project", _TEXTS, new)
    edited = edited and _with_policy(edited, new)
    if edited:
        yield edited.encode()
    yield _opening_comments(text).encode() + dump_project(new)
    yield dump_project(new)


def _with_policy(text: str, new: ProjectFile) -> str | None:
    """Return the text with the policy changed in place, or added below all other settings."""
    if load_project(text.encode(), "")[0] == new or _mapping(text, "/project/policy"):
        return _edit_mapping(text, "/project/policy", POLICY, new)
    written = [name for name in POLICY if name != "signatures" or new.needs_signature]  # which few projects have
    lines = [f"{INDENT}policy:", *(f"{INDENT * 2}{name}: {getattr(new, name)}" for name in written)]
    eol = line_break_of(text)
    return text + ("" if text.endswith(eol) else eol) + eol.join(lines) + eol


def _edit_mapping(text: str, pointer: str, names: Sequence[str], new: ProjectFile) -> str | None:
    """Return the text with the named fields of one mapping as in `new`; None if it cannot be edited in place."""
    node, default = _mapping(text, pointer), ProjectFile()
    if node is None:
        return text if all(getattr(new, name) == getattr(default, name) for name in names) else None
    old, _ = load_project(text.encode(), "")
    before = {name: getattr(old, name) for name in names if name in node.entries}
    wanted = {name: getattr(new, name) for name in names}
    after = {name: value for name, value in wanted.items() if name in before or value != getattr(default, name)}
    return edit_values(RuleText(text, 0, node, line_break_of(text)), before, after)


def _mapping(text: str, pointer: str) -> MappingNode | None:
    """Return the mapping at exactly this pointer, or None if the text has none there."""
    try:
        root = read(text.encode(), "").root
    except YamlRefused:
        return None
    node = node_at(root, pointer)
    is_there = node is not node_at(root, pointer.rpartition("/")[0])
    return node if is_there and isinstance(node, MappingNode) else None


def _opening_comments(text: str) -> str:
    return "".join(takewhile(lambda line: not line.strip() or line.startswith("#"), text.splitlines(keepends=True)))
