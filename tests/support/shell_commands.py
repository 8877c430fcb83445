"""Shell command lines made at random: from a small grammar, and from that with something broken in it."""

from __future__ import annotations

import random

WORDS = [
    "x", '"a b"', "'c d'", "r\\m", '"$(rm in)"', "a#b", "\\#c", '"#d"', "x\"y\"'z'", '""', '"\\""', "'\\'", ">o",
    "2>&1", "-rf", '"x;rm y"', "'$(rm)'", "\\;", "a=b", '"\\$(rm)"', "$'q'", "*.q", "<(cat p)", "`rm bt`", "$x",
    "${x:-rm}",
]  # fmt: skip
STARTS = [
    "rm", "git push", '"rm"', "r'm'", "\\rm", "foo", "ls", "cat", "x=1 rm", "env rm", "timeout 1 rm", "eval rm",
    "command rm", "exec rm", "nice rm", "bash -c 'rm q'", "time rm",
]  # fmt: skip
JOINS = [
    " && ", " || ", "; ", " | ", " & ", "\n", "&&", ";", "|", "\n\n", " \\\n&& ", " |& ",
]  # fmt: skip
PIECES = [
    " ", "\\ ", "#", "'", '"', "$(", ")", "`", ";", "&&", "||", "|", "&", "\n", "\\\n", "<<E\n", "\nE\n", "<<'E'\n",
    "<<-E\n", "\tE\n", "{ ", "; }", "(", "rm x", "a=b", "$x", "${x}", "${x:-", "}", "$((", "))", "1", ">o", "> o",
    "2>&1", "<o", "<<<", ">&", "-rf", "if ", "; then ", "; fi", "for i in a b; do ", "; done", "case x in x) ",
    ";; esac", "! ", "time ", "eval ", "[ ", " ]", "[[ ", " ]]", "\\", "\\\\", '\\"', "\\'", "$'", '$"', "*", "?",
    "[a]", "{a,b}", "~", "é", "\t", "f() ", "&>", "coproc ", "<(", ">(", "!", "\r", "\x0c", "\u00a0", "xargs ",
    '"$@"', "x#", "=", "+=", "let ", "esac", "done", "E", ";;", ">|o", "0", "b", "exec ", "y;rm z",
]  # fmt: skip


def well_formed(dice: random.Random, depth: int = 0) -> str:
    """A command line that bash understands."""

    def more() -> str:
        return well_formed(dice, depth + 1)

    def simple() -> str:
        return " ".join([dice.choice(STARTS), *(dice.choice(WORDS) for _ in range(dice.randint(0, 3)))])

    if depth > 2:
        return simple()
    match dice.randint(0, 10):
        case 0 | 1 | 2:
            return simple()
        case 3:
            return more() + dice.choice(JOINS) + more()
        case 4:
            return f"({more()})"
        case 5:
            return f"{{ {more()}; }}"
        case 6:
            return f"if {more()}; then {more()}; else {more()}; fi"
        case 7:
            return f'for i in a "b c"; do {more()}; done'
        case 8:
            return f"{more()} # {dice.choice(['c', '; rm com'])}\n{more()}"
        case 9:
            return f"{simple()} <<{dice.choice(MARKS)}\nh $(rm here)\nE\n{more()}"
        case _:
            return f"! {more()}"


MARKS = ["E", "'E'", "-E"]


def broken(dice: random.Random) -> str:
    """A command line with one or two pieces put in or taken out."""
    command = well_formed(dice)
    for _ in range(dice.randint(1, 2)):
        at = dice.randint(0, len(command))
        command = (
            command[:at] + command[at + 1 :]
            if dice.random() < 0.3
            else command[:at] + dice.choice(PIECES) + command[at:]
        )
    return command


def rubble(dice: random.Random) -> str:
    """Pieces in any order."""
    return "".join(dice.choice(PIECES) for _ in range(dice.randint(2, 14)))
