"""Words of a shell command: what stands there once quotes are removed, and whether exactly that will be passed."""

from __future__ import annotations

import glob
import re
from dataclasses import dataclass
from pathlib import Path

from cosh_tools.policy.shell_tree import Node

_ANSI = re.compile(
    r"\\(?:([abeEfnrtv\\'\"?])|([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8}))"
)
_ANSI_NAMED = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


@dataclass(frozen=True, slots=True)
class Word:
    """One word. `text` is literal where `known`; else it is what was written, and `why` says what stands in the way.

    A `pattern` is known up to the file names that it will match.
    """

    text: str
    why: str = ""
    pattern: str = ""

    @property
    def known(self) -> bool:
        """Whether exactly `text` will be passed."""
        return not self.why and not self.pattern


def word(node: Node) -> Word:
    """The word that a node of the syntax tree writes."""
    parts = _Parts()
    parts.add(node)
    return parts.word(node.text)


class _Parts:
    """Characters with and without quotes around them, gathered from a node and its children."""

    def __init__(self) -> None:
        self._chars: list[tuple[str, bool]] = []
        self._why = ""

    def add(self, node: Node) -> None:
        match node.type:
            case "word" | "number" | "variable_name" | "test_operator" | "special_variable_name":
                self._unquoted(node.text)
            case "command_name" | "concatenation":
                for child in node.children:
                    self.add(child)
            case "raw_string":
                self._quoted(node.text[1:-1])
            case "string":
                self._string(node)
            case "ansi_c_string":
                self._ansi(node.text[2:-1])
            case "simple_expansion" | "expansion":
                self._why = f"{node.text.strip()} may stand for anything"
            case "command_substitution":
                self._why = "the output of a command becomes part of the command"
            case "process_substitution":
                self._quoted("/dev/fd/63")
            case "arithmetic_expansion":
                self._why = f"{node.text} is only known when it runs"
            case "brace_expression":
                self._why = f"{node.text} stands for several words"
            case "==" | "=~" | "=" | "!=" | "[" | "]" | "{" | "}":
                self._unquoted(node.type)
            case _:
                self._why = f"{node.text!r} is not understood"

    def word(self, source: str) -> Word:
        text = "".join(char for char, _ in self._chars)
        bare = [char for char, quoted in self._chars if not quoted]
        shape = "".join("q" if quoted else char for char, quoted in self._chars)
        why = self._why
        if not why and "$" in bare:
            why = f"{source} may stand for anything"
        if not why and "`" in bare:
            why = "the output of a command becomes part of the command"
        if not why and re.search(r"\{[^}]*(?:,|\.\.)", shape):
            why = f"{source} stands for several words"
        if not why and ("[" in bare or re.search(r"[?*+@!]\(", shape)):
            why = "" if shape == "[" else f"the pattern {source} may match anything"
        if why:
            return Word(source, why)
        if shape.startswith("~"):
            return _home(text, shape, source)
        if "*" in bare or "?" in bare:
            pattern = "".join(glob.escape(char) if quoted else char for char, quoted in self._chars)
            return Word(text, pattern=pattern)
        return Word(text)

    def _unquoted(self, source: str) -> None:
        index = 0
        while index < len(source):
            if source[index] == "\\" and index + 1 < len(source):
                index += 1
                if source[index] != "\n":
                    self._chars.append((source[index], True))
            else:
                self._chars.append((source[index], False))
            index += 1

    def _quoted(self, text: str) -> None:
        self._chars.extend((char, True) for char in text)
        if not text:
            self._chars.append(("", True))

    def _string(self, node: Node) -> None:
        """Double quotes. The tree leaves out blanks beside an expansion, so they are taken from the text."""
        raw = node.text.encode("utf-8", "replace")
        at = node.children[0].end - node.start
        self._quoted("")
        for child in node.children[1:-1]:
            self._quoted(raw[at : child.start - node.start].decode("utf-8", "replace"))
            if child.type == "string_content":
                self._quoted(re.sub(r'\\([$`"\\\n])', lambda hit: hit[1].strip("\n"), child.text))
            elif child.type == "$":
                self._quoted("$")
            elif (text := _literal_text(child)) is not None:
                self._quoted(text)
            else:
                self.add(child)
            at = child.end - node.start
        self._quoted(raw[at:-1].decode("utf-8", "replace"))

    def _ansi(self, body: str) -> None:
        if re.search(r"\\(?:0|00|000|x0|x00|u0+|U0+|c)(?![0-9A-Fa-f])|\\c|\\[2-7][0-7]{2}|\\x[89A-Fa-f]", body):
            self._why = f"$'{body}' is not understood"
            return

        def meant(hit: re.Match[str]) -> str:
            if hit[1]:
                return _ANSI_NAMED.get(hit[1], hit[1])
            digits, base = (hit[2], 8) if hit[2] else (hit[3] or hit[4] or hit[5], 16)
            code = int(digits, base)
            return chr(code) if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"

        self._quoted(_ANSI.sub(meant, body))


def _literal_text(node: Node) -> str | None:
    """`$(cat <<'EOF' ...)`: nothing in it is expanded, so its text is known; None for any other substitution."""
    if node.type != "command_substitution" or [child.type for child in node.children] != [
        "$(",
        "redirected_statement",
        ")",
    ]:
        return None
    body, *redirects = node.children[1].children
    if body.text.strip() != "cat" or [redirect.type for redirect in redirects] != ["heredoc_redirect"]:
        return None
    parts = redirects[0].children
    if [part.type for part in parts] != ["<<", "heredoc_start", "heredoc_body", "heredoc_end"]:
        return None
    return parts[2].text.rstrip("\n") if parts[1].text[:1] in "'\"" else None


def _home(text: str, shape: str, source: str) -> Word:
    """`~` and `~/x` are the person's own folder; another user's is not looked up."""
    if shape[1:2] not in ("", "/"):
        return Word(source, f"{source} may stand for anything")
    expanded = str(Path.home()) + text[1:]
    if "*" in shape or "?" in shape:
        return Word(text, pattern=glob.escape(str(Path.home())) + text[1:])
    return Word(expanded)
