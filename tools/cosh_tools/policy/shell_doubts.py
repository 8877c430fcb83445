"""Where the syntax tree and the shell might see different commands: each such place makes the command opaque.

The parser is not the shell. These checks are independent of what the tree says a command is: they look at the bytes
between its leaves, at line joins, at odd blanks, at here-documents and comments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

TOO_LONG = "It is too long to be understood."

_ODD = re.compile(r"[^\S \t\n]|[\x00-\x08\x0b-\x1f\x7f\u200b-\u200f\u2028-\u202e\u2060-\u2064\ufeff]")
_JOINED = re.compile(rb"(?<![ \t\n])(?<!\\)(?:\\\\)*\\\n(?![ \t\n])[^ \t\n]")
_BETWEEN = re.compile(rb"(?:[ \t\n]|\\\n)*")
_BLANK = re.compile(rb"(?<!\\)(?:\\\\)*[ \t\n]")
_AT_REDIRECTION = re.compile(rb"[ \t]*\d+[<>]")
_DEEPEST = 150
_MOST = 6_000


def doubts(command: str, source: bytes, root: Node) -> list[str]:
    """Sentences on what cannot be trusted; none for an ordinary command."""
    found = []
    if root.descendant_count > _MOST:
        return [TOO_LONG]
    if _ODD.search(command):
        found.append("It holds characters that look like blanks, or that cannot be seen.")
    if _JOINED.search(source):
        found.append("A word of it goes on in the next line.")
    if root.has_error:
        found.append("It could not be understood in full.")
    at = 0
    for leaf, depth in _leaves(root):
        if depth > _DEEPEST:
            found.append("It is nested too deeply.")
            break
        gap = source[at : leaf.start_byte]
        if not _BETWEEN.fullmatch(gap):
            found.append("A part of it could not be understood.")
        at = max(at, leaf.end_byte)
        if leaf.type == "comment" and (b"\n" in (leaf.text or b"") or not _begins_comment(source, leaf)):
            found.append("A comment in it may not be one.")
        if not leaf.is_named and not leaf.child_count and (leaf.text or b"").strip() != leaf.type.strip().encode():
            found.append("An operator in it could not be understood.")
        if leaf.type == "file_descriptor" and not _is_descriptor(source, leaf):
            found.append("A redirection in it could not be understood.")
        if leaf.type == "heredoc_start" and (why := _wrong_heredoc(source, leaf)):
            found.append(why)
        if leaf.type == "`" and b"\\" in (leaf.parent.text or b"" if leaf.parent else b""):
            found.append("Backquotes in it hold backslashes.")
        if leaf.type in ("word", "number") and _AT_REDIRECTION.match(source, leaf.start_byte):
            found.append("A redirection in it could not be understood.")
        if leaf.type in ("word", "number", "variable_name") and _BLANK.search(leaf.text or b""):
            found.append("A word of it holds a blank that ends it.")
    if not _BETWEEN.fullmatch(source[at:]):
        found.append("Its end could not be understood.")
    return list(dict.fromkeys(found))


def _leaves(root: Node) -> Iterator[tuple[Node, int]]:
    """All tokens in order, without recursion: a hostile command may be nested thousands deep."""
    cursor = root.walk()
    depth = 0
    while True:
        while cursor.goto_first_child():
            depth += 1
        node = cursor.node
        if node is not None:
            yield node, depth
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return
            depth -= 1


def _begins_comment(source: bytes, leaf: Node) -> bool:
    """A comment begins a line or follows an unescaped blank or an operator, and it ends its line."""
    before = source[: leaf.start_byte]
    start = not before or before[-1:] in b"\n;&|()" or (before[-1:] in b" \t" and not re.search(rb"\\[ \t]\Z", before))
    return start and source[leaf.end_byte : leaf.end_byte + 1] in (b"", b"\n")


def _is_descriptor(source: bytes, leaf: Node) -> bool:
    """`2>` is a descriptor where the 2 stands alone; in `-rf2>` it ends a word."""
    before = source[: leaf.start_byte][-1:]
    return (leaf.text or b"").isdigit() and before in (b"", b" ", b"\t", b"\n", b";", b"&", b"|", b"(", b")")


def _wrong_heredoc(source: bytes, start: Node) -> str:
    """The body ends where the shell ends it: at the first line that is the delimiter and nothing else."""
    redirect = start.parent
    if redirect is None:
        return "A here-document in it could not be understood."
    written = (start.text or b"").decode("utf-8", "replace")
    if not re.fullmatch(r"\w+|'[\w .-]+'|\"[\w .-]+\"|\\\w+", written):
        return "The end mark of a here-document is not a plain word."
    mark = written.strip("'\"\\").encode()
    end = next((child for child in redirect.children if child.type == "heredoc_end"), None)
    body = next((child for child in redirect.children if child.type == "heredoc_body"), None)
    if end is None or body is None:
        return "A here-document in it has no end."
    tabs = any(child.type == "<<-" for child in redirect.children)
    line_end = source.find(b"\n", start.end_byte)
    lines = source[line_end + 1 : end.end_byte].split(b"\n")
    if tabs:
        lines = [line.lstrip(b"\t") for line in lines]
    ends_line = source[end.end_byte : end.end_byte + 1] in (b"", b"\n")
    if lines[-1] != mark or mark in lines[:-1] or not ends_line:
        return "A here-document in it ends elsewhere than it seems."
    if source[start.end_byte : start.end_byte + 1] not in (b" ", b"\t", b"\n", b"|", b"&", b";", b">", b"<", b")", b""):
        return "The end mark of a here-document is not a plain word."
    if written[0] not in "'\"\\" and not _substitutions_seen(body, source):
        return "A here-document in it may run commands that are not seen."
    several = sum(child.type in ("<<", "<<-") for child in redirect.children)
    return "Several here-documents share a line." if several > 1 else ""


def _substitutions_seen(body: Node, source: bytes) -> bool:
    """Whether every `$(`, `${` and backquote of a text that the shell expands has its place in the tree."""
    text = source[body.start_byte : body.end_byte]
    if re.search(rb"(?<!\\)(?:\\\\)*(?:`|\$\[)", text):
        return False
    seen = {leaf.start_byte for leaf, _ in _leaves(body) if leaf.type in ("$(", "$((", "${")}
    starts = (body.start_byte + hit.end() - 1 for hit in re.finditer(rb"(?<!\\)(?:\\\\)*\$(?=[({])", text))
    return all(start in seen for start in starts)
