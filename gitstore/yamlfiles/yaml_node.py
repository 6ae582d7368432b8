"""The nodes of a YAML file: every scalar is text, and every node has its position, in characters from 0."""

from typing import Any, NamedTuple


class ScalarNode(NamedTuple):
    """A text; `style` is empty if it is plain, else one of `'`, `"`, `|`, `>`."""

    text: str
    style: str
    start: int
    end: int


class SequenceNode(NamedTuple):
    """A list; `flow` if it is in brackets. The `end` of a block is the parser's: after the comments that follow."""

    items: "list[Node]"
    flow: bool
    start: int
    end: int


class MappingNode(NamedTuple):
    """Fields by name, each with the node of its name; `flow` and `end` as in a sequence."""

    entries: "dict[str, tuple[ScalarNode, Node]]"
    flow: bool
    start: int
    end: int


Node = ScalarNode | SequenceNode | MappingNode


def plain(node: Node) -> Any:
    """Return the node as Python data: dicts, lists, and text for every scalar."""
    if isinstance(node, ScalarNode):
        return node.text
    if isinstance(node, SequenceNode):
        return [plain(item) for item in node.items]
    return {name: plain(value) for name, (_, value) in node.entries.items()}


def node_at(node: Node, pointer: str) -> Node:
    """Return the node that a JSON Pointer names, or its nearest existing ancestor."""
    for step in pointer.split("/")[1:]:
        below = _step(node, step.replace("~1", "/").replace("~0", "~"))
        if below is None:
            break
        node = below
    return node


def key_at(node: Node, pointer: str) -> Node:
    """Return the node of the name of the field that a JSON Pointer ends in; otherwise as `node_at`."""
    above, _, name = pointer.rpartition("/")
    parent = node_at(node, above)
    if isinstance(parent, MappingNode):
        found = parent.entries.get(name.replace("~1", "/").replace("~0", "~"))
        return found[0] if found else parent
    return node_at(node, pointer)


def last_leaf(node: Node) -> Node:
    """Return the scalar or flow node at the end of a block."""
    # libyaml ends a block at the token after it, behind blank lines and comments, so a block's own `end` is of no use.
    while not isinstance(node, ScalarNode) and not node.flow:
        node = node.items[-1] if isinstance(node, SequenceNode) else list(node.entries.values())[-1][1]
    return node


def _step(node: Node, name: str) -> Node | None:
    if isinstance(node, MappingNode):
        found = node.entries.get(name)
        return found[1] if found else None
    if isinstance(node, SequenceNode) and name.isdecimal() and int(name) < len(node.items):
        return node.items[int(name)]
    return None
