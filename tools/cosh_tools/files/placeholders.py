"""Stand-ins for secrets, which must never be written over the real ones."""

from __future__ import annotations

import re

from cosh_tools.results import ToolError

_MARKS = re.compile(
    r"<REDACTED[^>\n]{0,40}>?|<SECRET>|\[REDACTED(?::[^\]\n]{0,40})?\]|\[REDACTED:"
    r"|\bYOUR_(?:[A-Z0-9]+_)*(?:KEY|TOKEN|SECRET|PASSWORD)\b"
    r"|\bXXX_(?:[A-Z0-9]+_)*(?:KEY|TOKEN|SECRET)_(?:[A-Z0-9]+_)*XXX\b",
    re.IGNORECASE,
)


def refuse_new_placeholders(new: str, old: str, given: str) -> None:
    """Raise ToolError where `new` holds a placeholder that `old` did not."""
    found = {mark.upper(): mark for mark in _MARKS.findall(new)}
    if not found:
        return
    before = {mark.upper() for mark in _MARKS.findall(old)}
    added = [mark for key, mark in found.items() if key not in before]
    if added:
        raise ToolError(
            f"Write refused: placeholder(s) detected: {', '.join(added)}; {given} was not modified. Never write a "
            "stand-in where a real secret belongs: read it from an environment variable, or ask the user to fill it in."
        )
