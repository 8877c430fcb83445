"""Variables, conditions and substitutions of a command line: what they set, evaluate and run."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from cosh_tools.policy.shell_flow import Findings
from cosh_tools.policy.shell_places import Folders
from cosh_tools.policy.shell_tree import Node
from cosh_tools.policy.shell_variables import obeyed, safe_to_set
from cosh_tools.policy.shell_words import Word
from cosh_tools.policy.shell_words import word as read_word
from cosh_tools.touches import Runs

_PLAIN_EXPANSION = frozenset(":- - :+ + :? ? # ## % %% / // /# /% ^ ^^ , ,, :".split())


class Values:
    """Reads what stands for a value. `substitution` reads the commands of a `$( )`."""

    def __init__(self, found: Findings, substitution: Callable[[Node, Folders], None]) -> None:
        self._found = found
        self._substitution = substitution

    def assignments(self, node: Node, folders: Folders) -> None:
        """`a=1 b=2` alone on a line."""
        for child in [node] if node.type == "variable_assignment" else node.named_children:
            if child.type == "variable_assignment":
                self.sets(self.assignment(child, folders)[0])
            elif child.type != "comment":
                self._found.doubt(child.text, "It could not be understood in full.")

    def assignment(self, node: Node, folders: Folders) -> tuple[str, Word]:
        """Name and value of one assignment."""
        self.expansions(node, folders)
        target = node.child("name")
        value = node.child("value")
        name = target.text.partition("[")[0] if target is not None else ""
        if target is not None and target.type == "subscript" and not re.search(r"\[(?:\d+|[@*])\]$", target.text):
            self._found.doubt(node.text, "the index of a list may run code")
        return name, read_word(value) if value is not None else Word("")

    def sets(self, name: str) -> None:
        """The shell sets a variable of its own: later commands see it only where it was exported before."""
        if obeyed(name):
            self._found.doubt(name, f"It sets {name}, which later commands obey.")

    def given(self, command: str, sets: Sequence[tuple[str, Word]]) -> None:
        """Variables that are set for one command."""
        for name, _ in sets:
            if not safe_to_set(name) and not (name == "IFS" and command in ("read", "mapfile")):
                self._found.doubt(
                    f"{name}=... {command}", f"It sets {name} for {command}, which may change what that does."
                )

    def declaration(self, node: Node, folders: Folders) -> None:
        """`export A=1`, `declare -a b`, `unset c`."""
        verb = node.children[0].text
        texts = [verb]
        for child in node.children[1:]:
            if child.type == "variable_assignment":
                name, value = self.assignment(child, folders)
                texts.append(f"{name}={value.text}")
                self._declares(verb, name)
                continue
            if child.type == "comment":
                continue
            each = self.word(child, folders)
            texts.append(each.text)
            if not each.known or "[" in each.text:
                self._found.doubt(node.text, each.why or "the index of a list may run code")
            elif re.match(r"[-+]", each.text):
                if re.search(r"[nif]", each.text) and not (verb == "unset" and "i" not in each.text):
                    self._found.doubt(node.text, "An option of it changes what later words mean.")
            else:
                self._declares(verb, each.text.partition("=")[0])
        self._found.add(Runs(" ".join(texts), tuple(texts)))

    def _declares(self, verb: str, name: str) -> None:
        if verb == "export" or verb in ("declare", "typeset", "local", "readonly"):
            if obeyed(name) or (verb == "export" and not safe_to_set(name)):
                self._found.doubt(f"{verb} {name}", f"It sets {name} for the commands that follow.")
        elif obeyed(name):
            self._found.doubt(f"{verb} {name}", f"It takes {name} away, which later commands obey.")

    def condition(self, node: Node, folders: Folders) -> None:
        """`[ ]` and `[[ ]]`: comparing numbers evaluates text, and text may hold code."""
        self.expansions(node, folders)
        kind = node.children[0].type
        if kind == "((":
            self.arithmetic(node, folders)
            return
        for part in _inside(node):
            if part.type == "test_operator" and part.text in ("-v", "-R"):
                self._found.doubt(node.text, "a condition on a variable's name may run code")
            elif kind == "[" and part.type in ("<", ">"):
                self._found.doubt(node.text, "inside [ ] a comparison sign is a redirection")
            elif kind == "[[" and part.type == "test_operator" and re.fullmatch(r"-(?:eq|ne|lt|le|gt|ge)", part.text):
                self._numbers(part.parent)
            elif part.type == "ERROR":
                self._found.doubt(node.text, "It could not be understood in full.")

    def _numbers(self, node: Node | None) -> None:
        for child in node.named_children if node is not None else ():
            if child.type != "test_operator" and not re.fullmatch(r"[\"']?-?\d+[\"']?", child.text.strip()):
                self._found.doubt(node.text if node else "", "comparing numbers may run code that a variable holds")
                return

    def arithmetic(self, node: Node, folders: Folders) -> None:
        """`(( ))`, and the head of a counting loop."""
        self.expansions(node, folders)
        head = node.text.partition(";")[0] if node.type == "c_style_for_statement" else node.text
        if node.type == "c_style_for_statement" or re.search(r"[A-Za-z_$`\"'\[]", head):
            self._found.doubt(node.text, "arithmetic may run code that a variable holds")

    def word(self, node: Node, folders: Folders) -> Word:
        """The word of a node; commands inside it are noted."""
        self.expansions(node, folders)
        return read_word(node)

    def expansions(self, node: Node, folders: Folders) -> None:
        """Commands inside words run too, where the shell stands, and without moving it."""
        waiting = [node]
        while waiting:
            each = waiting.pop()
            match each.type:
                case "command_substitution" | "process_substitution":
                    self._substitution(each, folders)
                    continue
                case "arithmetic_expansion":
                    if re.search(r"[A-Za-z_$`\"'\[]", each.text.strip()[2:]):
                        self._found.doubt(each.text.strip(), "arithmetic may run code that a variable holds")
                case "expansion":
                    self._parameter(each)
                case _:
                    pass
            waiting.extend(reversed(each.children))

    def _parameter(self, node: Node) -> None:
        """`${x:-y}` and its like; some forms set variables, follow names, or evaluate what a variable holds."""
        source = node.text.strip()
        operators = {child.type for child in node.children if not child.named and child.type not in ("${", "}", '"')}
        plain = operators <= _PLAIN_EXPANSION
        numbers = ":" not in operators or re.fullmatch(r"\$\{\w+:\s*\d+(?::\s*\d+)?\}", source)
        index = (
            re.search(r"\[([^\]]*)\]", source) if any(child.type == "subscript" for child in node.children) else None
        )
        if not plain or not numbers or (index and not re.fullmatch(r"\d+|[@*]", index[1])):
            self._found.doubt(source, f"{source} may run code or set a variable")


def _inside(node: Node) -> list[Node]:
    """All nodes under this one, but not those of substitutions."""
    found, waiting = [], [*node.children]
    while waiting:
        each = waiting.pop()
        found.append(each)
        if each.type not in ("command_substitution", "process_substitution"):
            waiting.extend(each.children)
    return found
