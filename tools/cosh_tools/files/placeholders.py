"""Stand-ins for secrets, never written over the real ones, and secrets, which are told of when they are written."""

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


_SECRETS = {
    "a private key": re.compile(r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----"),
    "an AWS key": re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    "a GitHub token": re.compile(r"\bgh[pousr]_[A-Za-z0-9]{36,}\b|\bgithub_pat_[A-Za-z0-9_]{40,}\b"),
    "an API key": re.compile(r"\bsk-[A-Za-z0-9_-]{20,}\b|\bAIza[A-Za-z0-9_-]{35}\b"),
    "a Slack token": re.compile(r"\bxox[abprs]-[A-Za-z0-9-]{10,}\b"),
}


def secrets_told(new: str, old: str) -> str:
    """A sentence where `new` brings what looks like a secret, without repeating it; empty where it does not."""
    found = [what for what, mark in _SECRETS.items() if set(mark.findall(new)) - set(mark.findall(old))]
    if not found:
        return ""
    return f"(Warning: the content looks like it holds {' and '.join(found)}. Keep the file out of version control.)"
