"""Which MCP servers are configured: settings, `.mcp.json` of a trusted folder, extensions."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")

START_SECONDS = 30.0
CALL_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """One server. stdio has `command`, `args`, `env`; http and sse have `url`, `headers`. Times in seconds."""

    name: str
    transport: Literal["stdio", "http", "sse"]
    where: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    start_seconds: float = START_SECONDS
    call_seconds: float = CALL_SECONDS
    allowed_tools: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Configured:
    """What was found: servers to start, and sentences about those that were ignored or are broken."""

    servers: tuple[ServerConfig, ...] = ()
    problems: tuple[str, ...] = ()


def configured(settings: Mapping[str, Any], workspace: Path, env: Mapping[str, str], *, trusted: bool) -> Configured:
    """All servers, the settings' first. A `.mcp.json` counts only in a trusted folder."""
    found: dict[str, ServerConfig] = {}
    problems: list[str] = []
    _take(found, problems, settings.get("mcpServers"), "the settings", env)
    file = workspace / ".mcp.json"
    if file.is_file():
        if trusted:
            _take(found, problems, _read(file, problems), ".mcp.json", env)
        else:
            problems.append("The MCP servers of .mcp.json were not started: this folder is not trusted (/trust).")
    return Configured(tuple(found.values()), tuple(problems))


def servers_of(servers: Any, where: str, env: Mapping[str, str]) -> tuple[tuple[ServerConfig, ...], tuple[str, ...]]:
    """The servers of one `mcpServers` object, and a sentence for each that cannot be used."""
    found: dict[str, ServerConfig] = {}
    problems: list[str] = []
    _take(found, problems, servers, where, env)
    return tuple(found.values()), tuple(problems)


def _read(file: Path, problems: list[str]) -> Any:
    try:
        data = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        problems.append(f"{file.name} cannot be read ({error}), so none of its servers is started.")
        return None
    return data.get("mcpServers") if isinstance(data, dict) else None


def _take(
    found: dict[str, ServerConfig], problems: list[str], servers: Any, where: str, env: Mapping[str, str]
) -> None:
    if servers is None:
        return
    if not isinstance(servers, Mapping):
        problems.append(f"mcpServers of {where} is not an object, so none of its servers is started.")
        return
    for name, entry in servers.items():
        if name in found or (isinstance(entry, Mapping) and entry.get("disabled") is True):
            continue
        try:
            found[str(name)] = _server(str(name), entry, where, env)
        except ValueError as error:
            problems.append(f"The MCP server {name} of {where} is not started: {error}.")


def _server(name: str, entry: Any, where: str, env: Mapping[str, str]) -> ServerConfig:
    if not isinstance(entry, Mapping):
        raise ValueError("its entry is not an object")  # noqa: TRY004  (a sentence, like the others)
    entry = _expanded(entry, env)
    kind = str(entry.get("type") or ("stdio" if entry.get("command") else "http"))
    transport = {
        "stdio": "stdio",
        "http": "http",
        "streamable-http": "http",
        "streamableHttp": "http",
        "sse": "sse",
    }.get(kind)
    if transport is None:
        raise ValueError(f"there is no transport {kind!r}; use stdio, http or sse")
    if transport == "stdio" and not entry.get("command"):
        raise ValueError("it has no command")
    url = str(entry.get("url") or "")
    if transport != "stdio" and not url.startswith(("http://", "https://")):
        raise ValueError("it has no http or https url")
    allowed = entry.get("allowed_tools", entry.get("allowedTools"))
    return ServerConfig(
        name=name,
        transport=transport,  # type: ignore[arg-type]  # one of the three, looked up above
        where=where,
        command=str(entry.get("command") or ""),
        args=tuple(str(arg) for arg in entry.get("args") or ()),
        env={str(key): str(value) for key, value in dict(entry.get("env") or {}).items()},
        url=url,
        headers={str(key): str(value) for key, value in dict(entry.get("headers") or {}).items()},
        start_seconds=_seconds(entry.get("startup_timeout_ms"), START_SECONDS),
        call_seconds=_seconds(entry.get("timeout_ms", entry.get("timeout")), CALL_SECONDS),
        allowed_tools=tuple(map(str, allowed)) if isinstance(allowed, list) else None,
    )


def _expanded(value: Any, env: Mapping[str, str]) -> Any:
    """`${VAR}` and `${VAR:-default}` filled in. Raises ValueError for a variable that is not set."""
    match value:
        case str():
            return _VARIABLE.sub(lambda found: _variable(found, env), value)
        case Mapping():
            return {key: _expanded(item, env) for key, item in value.items()}
        case list():
            return [_expanded(item, env) for item in value]
        case _:
            return value


def _variable(found: re.Match[str], env: Mapping[str, str]) -> str:
    given = env.get(found[1]) or found[2]
    if given is None:
        raise ValueError(f"the variable {found[1]} is not set; set it or write ${{{found[1]}:-default}}")
    return given


def _seconds(milliseconds: Any, default: float) -> float:
    return milliseconds / 1000 if isinstance(milliseconds, int | float) and milliseconds > 0 else default
