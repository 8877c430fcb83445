"""Walking the syntax tree of a command line: which simple commands run, and where the shell stands when they do."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from cosh_tools.policy.shell_doubts import doubts
from cosh_tools.policy.shell_flow import Findings, Flow, together
from cosh_tools.policy.shell_places import Folders, start_folder
from cosh_tools.policy.shell_simple import SimpleCommands
from cosh_tools.policy.shell_tree import Node, TooLong, parse
from cosh_tools.policy.shell_values import Values
from cosh_tools.policy.shell_words import Word
from cosh_tools.touches import Touch

if TYPE_CHECKING:
    from cosh_tools.context import ToolContext

_DEEPEST = 60
_STEPS = 20_000
_STATEMENTS = frozenset(
    "command pipeline list redirected_statement subshell compound_statement if_statement while_statement for_statement "
    "c_style_for_statement case_statement function_definition negated_command test_command declaration_command "
    "unset_command variable_assignment variable_assignments do_group else_clause elif_clause case_item".split()
)
_SILENT = frozenset(
    {"\n", *"comment ; ;; & do done then fi else elif if while until for select in case esac { } ( ) | ;& ;;&".split()}
)


_RESERVED = frozenset(
    "if then else elif fi case esac for select while until do done in function { } [[ ]] coproc".split()
)


class Walk:
    """Gathers the touches of a script, and of the scripts that it holds as text."""

    def __init__(self, ctx: ToolContext) -> None:
        self._ctx = ctx
        self._found = Findings()
        self._values = Values(self._found, self._substitution)
        self._simple = SimpleCommands(ctx, self._found, self._values, self._script)
        self._depth = 0
        self._steps = 0

    def read(self, command: str) -> list[Touch]:
        """The touches of a command line that starts in the working directory."""
        self._script(command, frozenset({start_folder(self._ctx)[0]}))
        return self._found.touches

    def _script(self, script: str, folders: Folders) -> Flow:
        try:
            syntax = parse(script)
        except TooLong:
            self._found.doubt(script, "It is too long to be understood.")
            return Flow(None, None)
        for why in doubts(script, syntax):
            self._found.doubt(script, why)
        return self._visit(syntax.root, folders)

    def _substitution(self, node: Node, folders: Folders) -> None:
        """The commands of `$( )`, backquotes and `<( )` run beside the shell and do not move it."""
        self._depth += 1
        if self._depth > _DEEPEST:
            self._found.doubt(node.text[:200], "It is nested too deeply.")
        else:
            self._sequence(node.children, folders, skip=node.children[0].type)
        self._depth -= 1

    # -- statements ----------------------------------------------------------------------------------------------

    def _visit(self, node: Node, folders: Folders) -> Flow:
        self._depth += 1
        try:
            self._steps += 1
            if self._depth > _DEEPEST or self._steps > _STEPS:
                self._found.doubt(node.text[:200], "It is nested too deeply.")
                return Flow(None, None)
            return self._statement(node, folders)
        finally:
            self._depth -= 1

    def _statement(self, node: Node, folders: Folders) -> Flow:
        match node.type:
            case "command":
                return self._command(node, [], folders)
            case "redirected_statement":
                return self._redirected(node, folders)
            case "list":
                return self._list(node, folders)
            case "negated_command":
                flow = self._sequence(node.children, folders, skip="!")
                return Flow(flow.failed, flow.ok)
            case "pipeline":
                for child in node.named_children:
                    self._sequence([child], folders)
                return Flow(folders, folders)
            case "subshell":
                self._sequence(node.children, folders)
                return Flow(folders, folders)
            case "compound_statement" if node.children[0].type == "((":
                self._values.arithmetic(node, folders)
                return Flow(folders, folders)
            case "program" | "do_group" | "compound_statement" | "else_clause":
                return self._sequence(node.children, folders)
            case "if_statement" | "elif_clause" | "while_statement" | "for_statement" | "case_statement" | "case_item":
                return self._branches(node, folders)
            case "c_style_for_statement":
                self._values.arithmetic(node, folders)
                return self._branches(node, folders)
            case "function_definition":
                self._found.doubt(node.text, "It defines a function, so that later words may mean something else.")
                self._sequence([child for child in node.children if child.type in _STATEMENTS], None)
                return Flow(folders, folders)
            case "test_command":
                self._values.condition(node, folders)
                return Flow(folders, folders)
            case "variable_assignment" | "variable_assignments":
                self._values.assignments(node, folders)
                return Flow(folders, folders)
            case "declaration_command" | "unset_command":
                self._values.declaration(node, folders)
                return Flow(folders, folders)
            case _:
                self._found.doubt(node.text, "It could not be understood in full.")
                self._sequence([child for child in node.named_children if child.type in _STATEMENTS], folders)
                return Flow(None, None)

    def _sequence(self, children: Sequence[Node], folders: Folders, skip: str = "") -> Flow:
        """One after another; what runs beside the shell (`&`) does not move it."""
        last = Flow(folders, folders)
        for index, child in enumerate(children):
            if child.type in _STATEMENTS:
                flow = self._visit(child, folders)
                beside = index + 1 < len(children) and children[index + 1].type == "&"
                last = Flow(folders, folders) if beside else flow
                folders = last.either
            elif child.type in ("file_redirect", "herestring_redirect"):
                self._redirect(child, folders)
            elif child.type in _SILENT or child.type == skip:
                continue
            elif child.type in ("ERROR", "heredoc_redirect") or not child.named:
                self._found.doubt(child.text, "It could not be understood in full.")
                self._sequence([part for part in child.named_children if part.type in _STATEMENTS], folders)
            else:
                self._values.word(child, folders)
        return last

    def _branches(self, node: Node, folders: Folders) -> Flow:
        """Parts of which some run, perhaps again and again: the shell may stand wherever any of them leaves it."""
        start = folders
        for _ in range(3):
            current = start
            for child in node.children:
                if child.type in _STATEMENTS:
                    current = together(current, self._visit(child, current).either)
                elif child.type == "variable_name":
                    self._values.sets(child.text)
                elif child.type not in _SILENT:
                    self._sequence([child], current, skip="((") if child.type != "))" else None
            if current == start:
                break
            start = together(start, current) if _ == 0 else None
        return Flow(start, start)

    def _list(self, node: Node, folders: Folders) -> Flow:
        parts = [child for child in node.children if child.type not in ("comment", "\n")]
        if len(parts) != 3 or parts[1].type not in ("&&", "||"):
            self._found.doubt(node.text, "It could not be understood in full.")
            return self._sequence(node.named_children, None)
        first = self._visit(parts[0], folders)
        if parts[1].type == "&&":
            second = self._visit(parts[2], first.ok)
            failed = second.failed if first.sure else together(first.failed, second.failed)
            return Flow(second.ok, failed, first.sure and second.sure)
        second = self._visit(parts[2], first.failed)
        return Flow(together(first.ok, second.ok), second.failed, first.sure)

    def _redirected(self, node: Node, folders: Folders) -> Flow:
        """Redirections are opened where the shell stands; words after a target still belong to the command."""
        more: list[Node] = []
        body: Node | None = None
        opened: list[Node] = []
        after: list[Node] = []
        for child in node.children:
            if child.role == "body":
                body = child
            elif child.type == "heredoc_redirect":
                more += self._heredoc(child, opened, after)
            elif child.type in ("file_redirect", "herestring_redirect"):
                more += self._later_words(child)
                opened.append(child)
            elif child.type not in _SILENT:
                self._found.doubt(child.text, "It could not be understood in full.")
        if body is None:
            flow = Flow(folders, folders)
        elif body.type == "command":
            flow = self._command(body, more, folders)
        else:
            flow = self._visit(body, folders)
        if more and (body is None or body.type != "command"):
            self._found.doubt(node.text, "It could not be understood in full.")
        for child in opened:
            self._redirect(child, folders)
        for child in after:
            stands = together(flow.either, self._visit(child, flow.either).either)
            flow = Flow(stands, stands)
        return flow

    def _heredoc(self, node: Node, opened: list[Node], after: list[Node]) -> list[Node]:
        """The text's substitutions run; on the same line a pipe or a further command may follow."""
        more: list[Node] = []
        for child in node.children:
            match child.type:
                case "heredoc_body":
                    opened.append(child)
                case "file_redirect" | "herestring_redirect":
                    more += self._later_words(child)
                    opened.append(child)
                case _ if child.type in _STATEMENTS:
                    after.append(child)
                case _ if child.role == "argument":
                    more.append(child)
                case "<<" | "<<-" | "heredoc_start" | "heredoc_end" | "file_descriptor" | "&&" | "||" | "comment":
                    pass
                case _:
                    self._found.doubt(child.text, "It could not be understood in full.")
        return more

    def _redirect(self, node: Node, folders: Folders) -> None:
        """What a redirection reads or writes."""
        if node.type == "heredoc_body":
            self._values.expansions(node, folders)
            return
        operator, targets = _redirection(node)
        if operator in ("<&-", ">&-") or not targets:
            return
        target = self._values.word(targets[0], folders)
        if operator in ("<&", ">&") and (
            re.search(r"[$`]", target.text) or re.fullmatch(r"-.+|\d+(?:-.|[^\d-]).*", target.text)
        ):
            # The shell expands such a target twice, and takes a dash or a number off its beginning.
            self._found.doubt(node.text, "A redirection in it could not be understood.")
        match operator:
            case "<<<":
                pass
            case "<&" | ">&" if re.fullmatch(r"\d+-?|-", target.text):
                pass
            case "<" | "<&":
                self._simple.places.read(target, folders)
            case ">" | ">>" | ">|" | "&>" | "&>>" | ">&":
                self._simple.places.write(target, folders)
            case _:
                self._found.doubt(node.text, "A redirection in it could not be understood.")
                self._simple.places.write(target, folders)

    def _later_words(self, node: Node) -> list[Node]:
        """The tree takes words of the command that follow a redirection for further targets of it."""
        operator, targets = _redirection(node)
        return targets if operator in ("<&-", ">&-") else targets[1:]

    # -- parts of a command

    def _command(self, node: Node, more: list[Node], folders: Folders) -> Flow:
        sets: list[tuple[str, Word]] = []
        nodes: list[Node] = [*more]
        opened: list[Node] = []
        for child in node.children:
            match child.type:
                case "variable_assignment":
                    sets.append(self._values.assignment(child, folders))
                case "file_redirect" | "herestring_redirect":
                    nodes += self._later_words(child)
                    opened.append(child)
                case "heredoc_redirect" | "ERROR" | "subshell":
                    self._found.doubt(node.text, "It could not be understood in full.")
                    self._sequence([child], folders)
                case "comment":
                    pass
                case _:
                    nodes.append(child)
        nodes.sort(key=lambda each: each.start)
        if _misread(nodes):
            self._found.doubt(node.text, "It could not be understood in full.")
        flow = self._simple.run([self._values.word(each, folders) for each in nodes], sets, folders)
        for child in opened:
            self._redirect(child, folders)
        return flow


def _redirection(node: Node) -> tuple[str, list[Node]]:
    """The operator and the words after it."""
    operator = ""
    targets: list[Node] = []
    for child in node.children:
        if child.type in ("file_descriptor", "comment"):
            continue
        if not child.named and not targets and not operator:
            operator = child.type
        else:
            targets.append(child)
    return operator, targets


def _misread(words: Sequence[Node]) -> bool:
    """Whether the tree took a reserved word for a command, or one word for two."""
    texts = [each.text for each in words]
    if any(one.end == other.start for one, other in pairwise(words)):
        return True
    while texts and texts[0] in ("!", "time", "-p"):
        texts.pop(0)
    return bool(texts) and texts[0] in _RESERVED
