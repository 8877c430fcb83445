"""The syntax tree of a command line, as plain values: the parser's nodes with the text that really stands there.

The parser sees ASCII alone. Its scanner looks characters up in tables of 256 entries and may crash the process on
others, so every byte of such a character is shown to it as a letter; texts are taken from the command itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Parser, Tree

MOST = 6_000
"""Nodes of a tree; a larger one is not read."""

_MASK = bytes(range(128)) + b"x" * 128


class TooLong(ValueError):
    """The command has more parts than anyone would read."""


@dataclass(slots=True, eq=False)
class Node:
    """A part of the command. `named` ones are of the grammar, the others are its signs; `role` is its field's name."""

    type: str
    text: str
    start: int
    end: int
    named: bool
    role: str
    parent: Node | None
    children: list[Node] = field(default_factory=list)

    @property
    def named_children(self) -> list[Node]:
        """The children without the signs between them."""
        return [child for child in self.children if child.named]

    def child(self, role: str) -> Node | None:
        """The first child of that role."""
        return next((child for child in self.children if child.role == role), None)


@dataclass(frozen=True, slots=True)
class Syntax:
    """A parsed command: its bytes, its tree, its tokens with their depth, and whether all of it was understood."""

    source: bytes
    root: Node
    leaves: tuple[tuple[Node, int], ...]
    understood: bool


def parse(script: str) -> Syntax:
    """The tree of a script. Raises TooLong."""
    source = script.encode("utf-8", "replace")
    tree = _parser().parse(source.translate(_MASK))
    if tree.root_node.descendant_count > MOST:
        raise TooLong
    root, leaves = _copied(tree, source)
    return Syntax(source, root, leaves, not tree.root_node.has_error)


def _copied(tree: Tree, source: bytes) -> tuple[Node, tuple[tuple[Node, int], ...]]:
    """Without recursion: a hostile command may be nested thousands deep."""
    cursor = tree.walk()
    leaves = []
    parent: Node | None = None
    depth = 0
    while True:
        seen = cursor.node
        assert seen is not None  # noqa: S101 (a cursor always stands on a node)
        start, end = seen.start_byte, seen.end_byte
        text = source[start:end].decode("utf-8", "replace")
        node = Node(seen.type, text, start, end, seen.is_named, cursor.field_name or "", parent)
        if parent is not None:
            parent.children.append(node)
        if cursor.goto_first_child():
            parent, depth = node, depth + 1
            continue
        leaves.append((node, depth))
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent() or parent is None:
                return _top(node), tuple(leaves)
            parent, depth = parent.parent, depth - 1


def _top(node: Node) -> Node:
    while node.parent is not None:
        node = node.parent
    return node


@cache
def _parser() -> Parser:
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))
