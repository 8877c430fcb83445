"""The words of a result: what a command wrote, how it ended, what still runs of it."""

from __future__ import annotations

import signal
from typing import Any

from cosh_tools.results import ToolResult
from cosh_tools.shell.meaning import not_an_error
from cosh_tools.shell.output import Capture
from cosh_tools.shell.process import Ended


def worded(name: str, command: str, ended: Ended, capture: Capture, milliseconds: int, note: str) -> ToolResult:
    """The result as the model reads it: output, stderr apart, the exit code in any case."""
    out, err = capture.text("stdout").rstrip("\n"), capture.text("stderr").rstrip("\n")
    body = "\n".join(part for part in (out, f"STDERR:\n{err}" if err else "") if part)
    fine = ""
    match ended.why:
        case "timeout":
            text = f"{name} timed out after {milliseconds}ms and was ended with everything it started."
            text += f" This is what it wrote until then:\n{body}" if body else " It had written nothing."
        case "flood":
            text = f"{name} ended: it wrote more than {capture.size >> 20} MiB. Redirect its output to a file.\n{body}"
        case "exit" if ended.code == 0:
            text = f"{body}\n(exit code 0)" if body else "(no output, exit code 0)"
        case "exit" if fine := not_an_error(command, ended.code):
            text = f"{body}\n(exit code {ended.code}: {fine})" if body else f"(exit code {ended.code}: {fine})"
        case "exit" if ended.code > 0:
            text = f"{name} exited with code {ended.code}\n{body or '(no output)'}"
        case "exit":
            text = f"{name} {exit_words(ended.code)}\n{body or '(no output)'}"
    result = ToolResult(text, is_error=ended.why != "exit" or (ended.code != 0 and not fine))
    for line in (left_words(ended), note):
        result = result.with_note(line) if line else result
    return result.with_metadata(facts(command, ended, capture))


def facts(command: str, ended: Ended, capture: Capture) -> dict[str, Any]:
    """What a card shows."""
    words = {"exit": exit_words(ended.code), "timeout": "timed out", "flood": "too much output"}[ended.why]
    facts: dict[str, Any] = {
        "command": command,
        "exit_code": plain_code(ended),
        "ended": ended.why,
        "seconds": round(ended.seconds, 3),
        "stdout": capture.text("stdout"),
        "stderr": capture.text("stderr"),
        "summary": "" if words == "exit code 0" else words.replace("exit code", "exit"),
    }
    if capture.path is not None:
        facts["output_file"] = str(capture.path)
    if ended.left:
        facts["left"] = [member.pid for member in ended.left]
    return facts


def plain_code(ended: Ended) -> int:
    """The exit code, or -1 where a signal ended it."""
    return ended.code if ended.code >= 0 else -1


def exit_words(code: int) -> str:
    """The end of a command in words: its exit code, or the signal that ended it."""
    if code >= 0:
        return f"exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"ended by {name}"


def left_words(ended: Ended) -> str:
    """What still runs of it."""
    if not ended.left:
        return ""
    names = ", ".join(f"{member.name} (pid {member.pid})" for member in ended.left[:5])
    more = f" and {len(ended.left) - 5} more" if len(ended.left) > 5 else ""
    return f"(Still running in the background: {names}{more}.)"
