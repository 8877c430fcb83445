"""ripgrep's regular expressions (Rust's `regex`) said in Python's, and the texts that every match must contain.

Python's `re` knows things that ripgrep refuses (look-around, back-references): they are refused here too, so that a
pattern means the same whichever engine searches. What only ripgrep knows is an error that says so.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass

from cosh_tools.search.letters import POSIX, category, in_class

_ESCAPED = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v", "a": "\a"}
_CLASSES = frozenset("dDwWsS")
_REPEAT = re.compile(r"\{(\d+)(,(\d*))?\}")
_REPEATABLE = re.compile(r"\[|\((?!\?m)|\\[dDwWsS]$")
"""What Python takes a repetition after as it is; anything else is put in a group first."""
_MOST_REPEATS = 1000
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_NEVER_SPECIAL = frozenset("/'\"`_:;,!@%=")


class BadPattern(ValueError):
    """A pattern that cannot be searched for. The message says where it goes wrong."""


@dataclass(frozen=True, slots=True)
class Translated:
    """A pattern in Python's words.

    `in_buffer` is for a text of many lines, `in_line` for one line without its ending. Every match contains one of
    `needed`; it is empty where nothing can be promised. `crosses_lines` where a match may hold the end of a line.
    """

    in_buffer: str
    in_line: str
    needed: tuple[str, ...]
    ignore_case: bool
    crosses_lines: bool


def translate(pattern: str, *, ignore_case: bool, multiline: bool, damaged: bool = False) -> Translated:
    """The pattern for Python; `damaged` for texts with bytes that are no UTF-8, which only a literal may match.

    Raises BadPattern.
    """
    buffer = _Parser(pattern, ignore_case=ignore_case, one_line=False, multiline=multiline, damaged=damaged)
    in_buffer, needed = buffer.parse()
    line = _Parser(pattern, ignore_case=ignore_case, one_line=True, multiline=multiline, damaged=damaged)
    in_line, _needed = line.parse()
    return Translated(in_buffer, in_line, needed, buffer.any_ignore_case, buffer.crosses_lines)


def without_needless_escapes(pattern: str) -> str:
    """The pattern with escaped slashes, quotes and the like bare: not every age of ripgrep takes such an escape."""
    return _ESCAPE.sub(lambda found: found[1] if found[1] in _NEVER_SPECIAL else found[0], pattern)


def with_either_ending(pattern: str) -> str:
    """The pattern with each line feed it names allowed to come after a carriage return, as lines are shown without."""
    out, at, inside = [], 0, 0
    while at < len(pattern):
        two = pattern[at : at + 2]
        if two == "\\n" and not inside:
            out.append(r"(?:\r?\n)")
        elif two[0] == "\\":
            out.append(two)
        elif two[0] == "\n" and not inside:
            out.append(r"(?:\r?\n)")
            at -= 1
        else:
            inside += (two[0] == "[") - (two[0] == "]" and inside > 0)
            out.append(two[0])
            at -= 1
        at += 2
    return "".join(out)


@dataclass
class _Piece:
    """A part of a pattern: its regex, the texts of which it contains one, and its own text if it is just that."""

    regex: str
    needed: tuple[str, ...] = ()
    exact: str | None = None


class _Parser:
    def __init__(self, pattern: str, *, ignore_case: bool, one_line: bool, multiline: bool, damaged: bool) -> None:
        self.text, self.at = pattern, 0
        self.crosses_lines = False
        self.not_text = r"\udc80-\udcff" if damaged else ""
        self.any_ignore_case = ignore_case
        self.one_line, self.multiline = one_line, multiline
        self.flags = {"i": ignore_case, "m": True, "s": multiline}
        self.groups = 0

    def parse(self) -> tuple[str, tuple[str, ...]]:
        piece = self._alternatives()
        if self.at < len(self.text):
            raise self._bad("unopened group")
        return piece.regex, tuple(dict.fromkeys(piece.needed))

    def _alternatives(self) -> _Piece:
        before = dict(self.flags)
        branches = [self._sequence()]
        while self._next("|"):
            # A flag that a branch has set holds in those after it.
            turned = {(False, True): "(?i:", (True, False): "(?-i:"}.get((before["i"], self.flags["i"]))
            branch = self._sequence()
            branches.append(_Piece(f"{turned}{branch.regex})", branch.needed) if turned else branch)
        self.flags = before
        if len(branches) == 1:
            return branches[0]
        needed: tuple[str, ...] = ()
        if all(branch.needed for branch in branches):
            needed = tuple(text for branch in branches for text in branch.needed)
        return _Piece("|".join(branch.regex for branch in branches), needed if len(needed) <= 32 else ())

    def _sequence(self) -> _Piece:
        out: list[str] = []
        closers = 0
        best: tuple[str, ...] = ()
        run = ""
        while self.at < len(self.text) and self.text[self.at] not in "|)":
            opened = self._flags_until_the_end()
            if opened is not None:
                closers += bool(opened)
                out.append(opened)
                continue
            piece = self._repeated(self._atom())
            out.append(piece.regex)
            if piece.exact is not None:
                run += piece.exact
                continue
            best = _better(_better(best, (run,) if run else ()), piece.needed)
            run = ""
        whole = run if run and "".join(out) == re.escape(run) else None
        return _Piece("".join(out) + ")" * closers, _better(best, (run,) if run else ()), whole)

    def _flags_until_the_end(self) -> str | None:
        """`(?i)` changes the rest of its group; Python wants that as a group of its own."""
        found = re.compile(r"\(\?([a-zA-Z]*)(-[a-zA-Z]+)?\)").match(self.text, self.at)
        if found is None:
            return None
        self.at = found.end()
        return self._set_flags(found[1], found[2] or "")

    def _set_flags(self, on: str, off: str) -> str:
        for letter in on + off.removeprefix("-"):
            if letter not in "imsu":
                raise BadPattern(f"the flag {letter!r} is known to ripgrep only, and ripgrep is not installed here")
        for letter in on:
            self.flags[letter] = True
        for letter in off.removeprefix("-"):
            if letter == "u":
                raise BadPattern("the flag -u is known to ripgrep only, and ripgrep is not installed here")
            self.flags[letter] = False
        self.any_ignore_case = self.any_ignore_case or self.flags["i"]
        on, off = ("i", "") if self.flags["i"] else ("", "-i")
        return f"(?{on}{off}:"

    def _atom(self) -> _Piece:
        char = self.text[self.at]
        self.at += 1
        match char:
            case "(":
                return self._group()
            case "[":
                return _Piece(self._class())
            case ".":
                self.crosses_lines |= self.flags["s"]
                if self.flags["s"]:
                    return _Piece(f"[^{self.not_text}]" if self.not_text else r"[\s\S]")
                return _Piece(rf"[^\n{self.not_text}]")
            case "^":
                return _Piece(self._start())
            case "$":
                return _Piece(self._end())
            case "\\":
                return self._escape()
            case "*" | "+" | "?":
                raise self._bad("repetition operator missing expression")
            case "{":
                raise self._bad("repetition quantifier expects a valid decimal (write \\{ for the sign itself)")
            case "\n" if not self.multiline:
                raise BadPattern(_NO_NEWLINE)
            case _:
                self.crosses_lines |= char == "\n"
                return _Piece(re.escape(char), (), char)

    def _start(self) -> str:
        if not self.flags["m"]:
            return r"\A"
        return r"\A" if self.one_line else "(?m:^)"

    def _end(self) -> str:
        if not self.flags["m"]:
            return r"\Z"
        if self.one_line:
            return r"\Z"
        return "(?m:$)" if self.multiline else r"(?m:(?=\r?$))"

    def _group(self) -> _Piece:
        before = dict(self.flags)
        opener = "("
        if self._next("?"):
            named = re.compile(r"P?<([A-Za-z_]\w*)>").match(self.text, self.at)
            flagged = re.compile(r"([a-zA-Z]*)(-[a-zA-Z]+)?:").match(self.text, self.at)
            if named is not None:
                self.at = named.end()
                opener = f"(?P<{named[1]}>"
            elif flagged is not None:
                self.at = flagged.end()
                opener = self._set_flags(flagged[1], flagged[2] or "")
            elif self.text[self.at : self.at + 1] in ("=", "!", "<"):
                raise BadPattern("look-around, including look-ahead and look-behind, is not supported")
            else:
                raise self._bad("unrecognized flag")
        inside = self._alternatives()
        self.flags = before
        if not self._next(")"):
            raise self._bad("unclosed group")
        return _Piece(f"{opener}{inside.regex})", inside.needed)

    def _repeated(self, piece: _Piece) -> _Piece:
        first = True
        while self.at < len(self.text):
            char = self.text[self.at]
            if char in "*+?":
                self.at += 1
                least, mark = (1 if char == "+" else 0), char
            elif char == "{":
                found = _REPEAT.match(self.text, self.at)
                if found is None:
                    raise self._bad("repetition quantifier expects a valid decimal (write \\{ for the sign itself)")
                self.at = found.end()
                least, mark = int(found[1]), found[0]
                most = int(found[3]) if found[3] else least
                if most < least or most > _MOST_REPEATS:
                    raise self._bad("invalid repetition count range")
            else:
                break
            lazy = "?" if self._next("?") else ""
            simple = first and (piece.exact is not None or _REPEATABLE.match(piece.regex) is not None)
            body = piece.regex if simple else f"(?:{piece.regex})"
            needed = piece.needed or ((piece.exact,) if piece.exact else ())
            piece = _Piece(body + mark + lazy, needed if least else ())
            first = False
        return piece

    def _escape(self) -> _Piece:
        if self.at >= len(self.text):
            raise self._bad("incomplete escape sequence")
        char = self.text[self.at]
        self.at += 1
        if char in _CLASSES:
            self.crosses_lines |= char in "sWD"
            return _Piece(f"[^\\{char.lower()}{self.not_text}]" if self.not_text and char.isupper() else f"\\{char}")
        if char in "bB":
            return _Piece(f"\\{char}")
        if char == "A":
            return _Piece(r"\A" if self.multiline else self._start())
        if char == "z":
            return _Piece(r"\Z" if self.multiline else self._end())
        if char in "pP":
            self.crosses_lines |= char == "P"
            return _Piece(f"[{'^' * (char == 'P')}{self._property()}{self.not_text if char == 'P' else ''}]")
        if char.isdigit():
            raise BadPattern("backreferences are not supported")
        text = self._character(char)
        return _Piece(re.escape(text), (), text)

    def _character(self, char: str) -> str:
        """The character that an escape stands for; `char` follows the backslash."""
        if char in "xuU":
            return self._by_number({"x": 2, "u": 4, "U": 8}[char])
        if char in _ESCAPED:
            if char == "n" and not self.multiline:
                raise BadPattern(_NO_NEWLINE)
            self.crosses_lines |= char == "n"
            return _ESCAPED[char]
        if char.isalnum() or char in "<>":
            raise self._bad(f"unrecognized escape sequence \\{char}")
        return char

    def _by_number(self, digits: int) -> str:
        found = re.compile(r"\{([0-9A-Fa-f]+)\}|([0-9A-Fa-f]{%d})" % digits).match(self.text, self.at)  # noqa: UP031 (braces)
        if found is None:
            raise self._bad("invalid hexadecimal digits in an escape")
        self.at = found.end()
        number = int(found[1] or found[2], 16)
        if number > sys.maxunicode:
            raise self._bad("a character number beyond Unicode")
        if number == 10 and not self.multiline:
            raise BadPattern(_NO_NEWLINE)
        self.crosses_lines |= number == 10
        return chr(number)

    def _property(self) -> str:
        found = re.compile(r"\{(\w+)\}|(\w)").match(self.text, self.at)
        if found is None:
            raise self._bad("invalid Unicode class")
        self.at = found.end()
        name = found[1] or found[2]
        ranges = category(name)
        if not ranges:
            raise BadPattern(f"the Unicode class {name!r} is known to ripgrep only, and ripgrep is not installed here")
        return ranges

    def _class(self) -> str:
        """A `[...]` whose bracket has been read."""
        negated = self._next("^")
        items: list[str] = []
        first = True
        while True:
            if self.at >= len(self.text):
                raise self._bad("unclosed character class")
            if self.text.startswith(("&&", "--", "~~"), self.at):
                raise BadPattern("set operations in [...] are known to ripgrep only, and ripgrep is not installed here")
            char = self.text[self.at]
            self.at += 1
            if char == "]" and not first:
                break
            first = False
            if char == "[":
                items.append(self._inner_class())
                continue
            low = self._member(char)
            if (
                len(low) == 1
                and self.text.startswith("-", self.at)
                and self.text[self.at + 1 : self.at + 2] not in ("]", "")
            ):
                self.at += 1
                char = self.text[self.at]
                self.at += 1
                high = self._member(char)
                if len(high) != 1 or high < low:
                    raise self._bad("invalid character class range")
                items.append(f"{in_class(low)}-{in_class(high)}")
            else:
                items.append(in_class(low) if len(low) == 1 else low)
        self.crosses_lines |= negated or any(item in (r"\s", r"\W", r"\D") for item in items)
        return f"[{'^' * negated}{''.join(items)}{self.not_text if negated else ''}]"

    def _inner_class(self) -> str:
        found = re.compile(r":(\^?)(\w+):\]").match(self.text, self.at)
        if found is not None and found[2] in POSIX:
            if found[1]:
                raise BadPattern(f"[:^{found[2]}:] is known to ripgrep only, and ripgrep is not installed here")
            self.at = found.end()
            return POSIX[found[2]]
        inner = self._class()
        if inner.startswith("[^"):
            raise BadPattern(
                "a negated class inside a class is known to ripgrep only, and ripgrep is not installed here"
            )
        return inner[1:-1]

    def _member(self, char: str) -> str:
        """One character of a class, or a piece of class syntax of more than one character."""
        if char != "\\":
            if char == "\n" and not self.multiline:
                raise BadPattern(_NO_NEWLINE)
            return char
        if self.at >= len(self.text):
            raise self._bad("incomplete escape sequence")
        char = self.text[self.at]
        self.at += 1
        if char in _CLASSES:
            return f"\\{char}"
        if char == "p":
            return self._property()
        if char in "PbBAz" or char.isdigit():
            raise self._bad("invalid escape sequence in a character class")
        return self._character(char)

    def _next(self, char: str) -> bool:
        if self.text.startswith(char, self.at):
            self.at += 1
            return True
        return False

    def _bad(self, what: str) -> BadPattern:
        return BadPattern(f"{what} (at character {min(self.at, len(self.text))} of {self.text!r})")


_NO_NEWLINE = 'the literal "\\n" is not allowed in a pattern that is searched line by line; set multiline to true'


def _better(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    """The requirement that rules out more: the one whose shortest text is longer."""
    if not one or not other:
        return one or other
    return other if min(map(len, other)) > min(map(len, one)) else one
