"""Exit codes that are answers, not failures: grep finds nothing, diff finds a difference."""

from __future__ import annotations

import re

_ANSWERS = {
    "grep": "no lines matched", "egrep": "no lines matched", "fgrep": "no lines matched", "zgrep": "no lines matched",
    "rg": "no lines matched", "ag": "no lines matched", "git grep": "no lines matched", "pgrep": "no process matched",
    "diff": "the files differ", "cmp": "the files differ", "git diff": "there are differences",
    "test": "the condition is false", "[": "the condition is false", "[[": "the condition is false",
    "find": "some folders could not be read", "which": "not found", "command": "not found",
}  # fmt: skip
_LAST = re.compile(r"(?:&&|\|\||[;|&\n])\s*(?=[^\s;|&])")


def not_an_error(command: str, code: int) -> str:
    """What the exit code of the last command means where it is an answer; empty where it is a failure."""
    if code != 1:
        return ""
    words = re.split(_LAST, command.strip())[-1].split()
    while words and re.fullmatch(r"[A-Za-z_]\w*=\S*|sudo|command|time|!", words[0]) and len(words) > 1:
        words = words[1:]
    if not words:
        return ""
    return _ANSWERS.get(" ".join(words[:2])) or _ANSWERS.get(words[0].rpartition("/")[2], "")
