"""Where the syntax tree and the shell might see different commands: each such place makes the command opaque.

The parser is not the shell. These checks are independent of what the tree says a command is: they look at the bytes
between its tokens, at line joins, at odd blanks, at here-documents and comments. Each was found by running random
commands in a real shell beside the tree.
"""

from __future__ import annotations

import re

from cosh_tools.policy.shell_tree import Node, Syntax

_ODD = re.compile(r"[^\S \t\n]|[\x00-\x08\x0b-\x1f\x7f\u200b-\u200f\u2028-\u202e\u2060-\u2064\ufeff]")
_JOINED = re.compile(rb"(?<![ \t\n])(?<!\\)(?:\\\\)*\\\n(?![ \t\n])[^ \t\n]")
_BETWEEN = re.compile(rb"(?:[ \t\n]|\\\n)*")
_BLANK = re.compile(r"(?<!\\)(?:\\\\)*[ \t\n]")
_AT_REDIRECTION = re.compile(rb"[ \t]*\d+[<>]")
_MARK = re.compile(r"[A-Za-z0-9_]+|'[A-Za-z0-9_ .-]+'|\"[A-Za-z0-9_ .-]+\"|\\[A-Za-z0-9_]+")
_DEEPEST = 150


def doubts(command: str, syntax: Syntax) -> list[str]:
    """Sentences on what cannot be trusted; none for an ordinary command."""
    found = []
    source = syntax.source
    if _ODD.search(command):
        found.append("It holds characters that look like blanks, or that cannot be seen.")
    if _JOINED.search(source):
        found.append("A word of it goes on in the next line.")
    if not syntax.understood:
        found.append("It could not be understood in full.")
    at = 0
    for leaf, depth in syntax.leaves:
        if depth > _DEEPEST:
            found.append("It is nested too deeply.")
            break
        if not _BETWEEN.fullmatch(source, at, max(at, leaf.start)):
            found.append("A part of it could not be understood.")
        at = max(at, leaf.end)
        if why := _of_token(leaf, source):
            found.append(why)
    if not _BETWEEN.fullmatch(source, at):
        found.append("Its end could not be understood.")
    return list(dict.fromkeys(found))


def _of_token(leaf: Node, source: bytes) -> str:
    """What is wrong with one token; empty where nothing is."""
    if not leaf.named and leaf.text.strip() != leaf.type.strip():
        return "An operator in it could not be understood."
    match leaf.type:
        case "comment":
            return "" if _is_comment(source, leaf) else "A comment in it may not be one."
        case "file_descriptor":
            return "" if _is_descriptor(source, leaf) else "A redirection in it could not be understood."
        case "heredoc_start":
            return _wrong_heredoc(source, leaf)
        case "`" if leaf.parent is not None and "\\" in leaf.parent.text:
            return "Backquotes in it hold backslashes."
        case "word" | "number" if _AT_REDIRECTION.match(source, leaf.start):
            return "A redirection in it could not be understood."
        case "word" | "number" | "variable_name" if _BLANK.search(leaf.text):
            return "A word of it holds a blank that ends it."
        case _:
            return ""


def _is_comment(source: bytes, leaf: Node) -> bool:
    """A comment begins a line or follows an unescaped blank or an operator, and it ends its line."""
    before = source[max(leaf.start - 2, 0) : leaf.start]
    begins = not before or before[-1:] in b"\n;&|()" or (before[-1:] in b" \t" and before[:1] != b"\\")
    return begins and "\n" not in leaf.text and source[leaf.end : leaf.end + 1] in (b"", b"\n")


def _is_descriptor(source: bytes, leaf: Node) -> bool:
    """`2>` is a descriptor where the 2 stands alone; in `-rf2>` it ends a word."""
    before = source[max(leaf.start - 1, 0) : leaf.start]
    return leaf.text.isdigit() and before in (b"", b" ", b"\t", b"\n", b";", b"&", b"|", b"(", b")")


def _wrong_heredoc(source: bytes, start: Node) -> str:
    """The body ends where the shell ends it: at the first line that is the delimiter and nothing else."""
    after = source[start.end : start.end + 1]
    if not _MARK.fullmatch(start.text) or after not in (b" ", b"\t", b"\n", b"|", b"&", b";", b">", b"<", b")", b""):
        return "The end mark of a here-document is not a plain word."
    parts = start.parent.children if start.parent is not None else []
    end = next((part for part in parts if part.type == "heredoc_end"), None)
    body = next((part for part in parts if part.type == "heredoc_body"), None)
    if end is None or body is None:
        return "A here-document in it has no end."
    if sum(part.type in ("<<", "<<-") for part in parts) > 1:
        return "Several here-documents share a line."
    mark = start.text.strip("'\"\\").encode()
    lines = source[source.find(b"\n", start.end) + 1 : end.end].split(b"\n")
    if any(part.type == "<<-" for part in parts):
        lines = [line.lstrip(b"\t") for line in lines]
    if lines[-1] != mark or mark in lines[:-1] or source[end.end : end.end + 1] not in (b"", b"\n"):
        return "A here-document in it ends elsewhere than it seems."
    if start.text[0] not in "'\"\\" and not _substitutions_seen(body):
        return "A here-document in it may run commands that are not seen."
    return ""


def _substitutions_seen(body: Node) -> bool:
    """Whether every `$(`, `${` and backquote of a text that the shell expands has its place in the tree."""
    text = body.text.encode("utf-8", "replace")
    if re.search(rb"(?<!\\)(?:\\\\)*(?:`|\$\[)", text):
        return False
    starts = (body.start + hit.end() - 1 for hit in re.finditer(rb"(?<!\\)(?:\\\\)*\$(?=[({])", text))
    seen, waiting = set(), [*body.children]
    while waiting:
        each = waiting.pop()
        waiting.extend(each.children)
        if each.type in ("$(", "$((", "${"):
            seen.add(each.start)
    return all(start in seen for start in starts)
