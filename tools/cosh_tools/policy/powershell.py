"""What a PowerShell command would run. There is no parser for it here: more than one plain command is opaque."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cosh_tools.policy.shell_places import Places, start_folder
from cosh_tools.policy.shell_words import Word
from cosh_tools.touches import Opaque, Runs, Touch

if TYPE_CHECKING:
    from cosh_tools.context import ToolContext

_PLAIN = re.compile(r"[ \t\w.:/\\~-]*")
_PARTS = re.compile(r"[;|&\n\r(){}]|\$\(|@\(")
_DESTROYS = re.compile(
    r"(?:remove|clear|format|initialize|stop|restart|uninstall|reset|disable)-\w+|shutdown|invoke-expression",
    re.IGNORECASE,
)
_ALIASES = {
    "ac": "Add-Content", "cat": "Get-Content", "cd": "Set-Location", "chdir": "Set-Location",
    "clc": "Clear-Content", "copy": "Copy-Item", "cp": "Copy-Item", "cpi": "Copy-Item", "curl": "Invoke-WebRequest",
    "del": "Remove-Item", "dir": "Get-ChildItem", "erase": "Remove-Item", "gc": "Get-Content",
    "gci": "Get-ChildItem", "iex": "Invoke-Expression", "ii": "Invoke-Item", "irm": "Invoke-RestMethod",
    "iwr": "Invoke-WebRequest", "kill": "Stop-Process", "ls": "Get-ChildItem", "mi": "Move-Item",
    "move": "Move-Item", "mv": "Move-Item", "ni": "New-Item", "pwd": "Get-Location", "rd": "Remove-Item",
    "ren": "Rename-Item", "ri": "Remove-Item", "rm": "Remove-Item", "rmdir": "Remove-Item", "rni": "Rename-Item",
    "sc": "Set-Content", "sl": "Set-Location", "spps": "Stop-Process", "start": "Start-Process",
    "type": "Get-Content", "wget": "Invoke-WebRequest",
}  # fmt: skip
_CANONICAL = {name.lower(): name for name in _ALIASES.values()}


def read(command: str, ctx: ToolContext) -> tuple[Touch, ...]:
    """The touches of `command`; each part of it is named as it is written and as the cmdlet that it means."""
    found: dict[Touch, None] = {}
    places = Places(ctx, found.setdefault, lambda text, why: found.setdefault(Opaque(text, why)))
    for part in _PARTS.split(command):
        words = part.replace("'", " ").replace('"', " ").replace("`", "").split()
        if words:
            for name in dict.fromkeys((words[0], _cmdlet(words[0]))):
                text = " ".join((name, *words[1:]))
                destroys = _DESTROYS.fullmatch(_cmdlet(name)) is not None
                found.setdefault(Runs(text, (name, *words[1:]), "PowerShell", destructive=destroys))
    if not _PLAIN.fullmatch(command) or not found:
        found.setdefault(Opaque(command[:200], "It is more than one plain PowerShell command."))
        return tuple(found)
    words = command.split()
    folders = frozenset({start_folder(ctx)[0]})
    verb, _, noun = _cmdlet(words[0]).lower().partition("-")
    for word in (Word(text) for text in words[1:] if not text.startswith("-")):
        if verb == "remove" and noun == "item":
            places.delete(word, folders, " ".join(words))
        elif verb in ("set", "add", "clear", "new", "copy", "move", "rename", "out", "export") and noun != "location":
            places.write(word, folders, " ".join(words))
        else:
            places.mention(word, folders)
    return tuple(found)


def _cmdlet(name: str) -> str:
    """`rm`, `remove-item` and `Remove-Item` are one command; names are not case-sensitive."""
    if known := _ALIASES.get(name.lower()) or _CANONICAL.get(name.lower()):
        return known
    if "-" not in name or re.fullmatch(r"[A-Z][a-z]+-(?:[A-Z][a-z0-9]*)+", name):
        return name
    return "-".join(part[:1].upper() + part[1:].lower() for part in name.split("-"))
