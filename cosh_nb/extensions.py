"""Extension folders of cosh: `cosh-extension.json` with skills, hooks, MCP servers and context files.

The person's own lie in `~/.copilot-shell/extensions/NAME/`. A folder's (`.copilot-shell/extensions/`) count only where
the person trusts it. Paths stay within the extension's folder.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cosh_nb.command_hooks import Hook, configured
from cosh_nb.mcp_client.config import ServerConfig, servers_of

MANIFEST = "cosh-extension.json"


@dataclass(frozen=True, slots=True)
class Extension:
    """One extension and what it brings."""

    name: str
    version: str
    folder: Path
    skills: tuple[Path, ...] = ()
    hooks: tuple[Hook, ...] = ()
    servers: tuple[ServerConfig, ...] = ()
    context: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """The extensions at work, and a sentence for each that is not."""

    extensions: tuple[Extension, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass
class _Reading:
    workspace: Path
    env: Mapping[str, str]
    problems: list[str] = field(default_factory=list)


def find(workspace: Path, env: Mapping[str, str], *, trusted: bool) -> Found:
    """All extensions; of two with one name the person's own wins."""
    reading = _Reading(workspace, env)
    found: dict[str, Extension] = {}
    own = Path.home() / ".copilot-shell" / "extensions"
    theirs = workspace / ".copilot-shell" / "extensions"
    for folder, counts in ((own, True), (theirs, trusted)):
        for manifest in sorted(folder.glob(f"*/{MANIFEST}")):
            if not counts:
                reading.problems.append(
                    f"The extension {manifest.parent.name} is not at work: this folder is not trusted (/trust)."
                )
                continue
            extension = _read(manifest, reading)
            if extension is not None and extension.name not in found:
                found[extension.name] = extension
    return Found(tuple(found.values()), tuple(reading.problems))


def _read(manifest: Path, reading: _Reading) -> Extension | None:
    folder = manifest.parent
    try:
        data = json.loads(manifest.read_text("utf-8"))
    except (OSError, ValueError) as error:
        reading.problems.append(f"The extension {folder.name} is not at work: {MANIFEST} cannot be read ({error}).")
        return None
    if not isinstance(data, dict) or not isinstance(data.get("name"), str) or not data["name"]:
        reading.problems.append(f"The extension {folder.name} is not at work: {MANIFEST} names nothing.")
        return None
    name = data["name"]
    where = f"the extension {name}"
    filled = _filled(data, {"extensionPath": str(folder), "workspacePath": str(reading.workspace), "/": os.sep})
    skills = tuple(_inside(folder, filled.get("skills", "skills"), where, reading))
    context = tuple(_inside(folder, filled.get("contextFiles", filled.get("contextFileName", [])), where, reading))
    hooks, problems = configured(_object(filled.get("hooks")), where, milliseconds=True)
    servers, more = servers_of(filled.get("mcpServers"), where, reading.env)
    reading.problems += [*problems, *more]
    return Extension(name, str(data.get("version") or "0.0.0"), folder, skills, tuple(hooks), servers, context)


def _inside(folder: Path, given: Any, where: str, reading: _Reading) -> Iterator[Path]:
    for entry in given if isinstance(given, list) else [given]:
        name = entry.get("path") if isinstance(entry, Mapping) else entry
        path = (folder / str(name)).resolve()
        if not path.is_relative_to(folder.resolve()):
            reading.problems.append(f"{name} of {where} is outside its folder, so it is left out.")
        elif path.exists():
            yield path


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _filled(value: Any, variables: Mapping[str, str]) -> Any:
    match value:
        case str():
            for name, text in variables.items():
                value = value.replace(f"${{{name}}}", text)
            return value
        case Mapping():
            return {key: _filled(item, variables) for key, item in value.items()}
        case list():
            return [_filled(item, variables) for item in value]
        case _:
            return value
