"""From the flags to an agent: workspace, settings, tools, rules, mode and session."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cosh_nb import prompt as prompts
from cosh_nb import settings as settings_
from cosh_nb.agent import EVERY_TURN, Agent, FrontEnd
from cosh_nb.errors import UsageError
from cosh_nb.paths import data_folder
from cosh_nb.session import Session, sessions
from cosh_nb.settings import Settings
from cosh_nb.trust import Trust
from cosh_tools.kinds import PermissionMode
from cosh_tools.policy.rules import BadRule, Rule, Rules, parse_rule, split_rules
from cosh_tools.registry import EVIDENCE, ToolRegistry, load

if TYPE_CHECKING:
    from cosh_nb.headless.flags import Flags


class UnknownTools(UsageError):
    """--tools names what is not there."""


def agent(flags: Flags, front: FrontEnd, settings: Settings) -> Agent:
    """The agent of this process. Raises UsageError, SettingsError or SessionError."""
    usual = PermissionMode.DEFAULT if flags.toolset == "claude" else PermissionMode.BALANCED
    return Agent(
        flags.cwd,
        settings,
        front,
        registry=registry(flags),
        toolset=flags.toolset,
        mode=flags.mode or settings.mode(usual),
        session=session(flags),
        rules=rules(settings.rules, allow(flags.allowed, flags.cwd), allow(flags.disallowed, flags.cwd)),
        max_turns=flags.max_turns or EVERY_TURN,
        system=system(flags, settings),
    )


def settings(flags: Flags) -> Settings:
    """The settings in force. `--bare` and an empty `--setting-sources` read no file at all."""
    if flags.bare or flags.sources == ():
        found = Settings(flags.cwd, env=dict(os.environ))
    elif flags.sources is None or "project" in flags.sources:
        found = settings_.load(flags.cwd)
    else:  # a folder whose settings are not wanted still denies and asks, as one that is not trusted
        found = settings_.load(flags.cwd, trust=Trust(data_folder() / "trust.json"))
    given = {name: server for name, server in mcp_servers(flags.mcp_config).items() if not _lives_there(server)}
    if given:
        servers = found.values.get("mcpServers")
        kept = dict(servers) if isinstance(servers, Mapping) else {}
        found = replace(found, values={**found.values, "mcpServers": {**kept, **given}})
    roots = tuple(flags.cwd / Path(folder).expanduser() for folder in flags.add_dirs)
    return replace(found, extra_roots=(*found.extra_roots, *roots))


def mcp_servers(configs: Sequence[str]) -> dict[str, Any]:
    """The servers of --mcp-config: JSON, or the path of a file that holds it. Raises UsageError."""
    found: dict[str, Any] = {}
    for config in configs:
        try:
            text = config if config.lstrip().startswith("{") else Path(config).expanduser().read_text("utf-8")
            data = json.loads(text)
        except (OSError, ValueError) as error:
            raise UsageError(f"--mcp-config cannot be read: {error}.") from None
        servers = data.get("mcpServers") if isinstance(data, dict) else None
        if not isinstance(servers, dict):
            raise UsageError('--mcp-config needs an object: {"mcpServers": {name: {...}}}.')
        found |= servers
    return found


def client_servers(configs: Sequence[str]) -> list[str]:
    """The names of those servers that live in the client's own program."""
    return [name for name, server in mcp_servers(configs).items() if _lives_there(server)]


def _lives_there(server: Any) -> bool:
    return isinstance(server, Mapping) and server.get("type") == "sdk"


def registry(flags: Flags) -> ToolRegistry:
    """The declared tools. Raises UnknownTools."""
    if flags.toolset == "cosh":
        found = ToolRegistry.with_defaults(shell_evidence=flags.evidence)
    else:
        found = ToolRegistry.for_claude()
        if flags.evidence:
            found.add(load(next(iter(EVIDENCE))))
    if flags.tools is None:
        return found
    unknown = sorted(name for name in flags.tools if found.find(name) is None and not name.startswith("mcp__"))
    if unknown:
        raise UnknownTools(f"There is no tool {', '.join(unknown)}. The tools are: {', '.join(found.names())}.")
    return found.only(flags.tools)


def rules(base: Rules, allowed: tuple[Rule, ...], denied: tuple[Rule, ...]) -> Rules:
    """The settings' rules and those of the command line."""
    return Rules((*base.deny, *denied), base.ask, (*base.allow, *allowed))


def allow(text: str, root: Path) -> tuple[Rule, ...]:
    """The rules of a comma list. Raises UsageError for what is not a rule."""
    try:
        return tuple(parse_rule(rule, root) for rule in split_rules(text))
    except BadRule as error:
        raise UsageError(str(error)) from None


def session(flags: Flags) -> Session:
    """A new session, or a stored one. Raises SessionError."""
    if flags.resume is None and not flags.latest:
        if flags.session_id is not None and not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", flags.session_id):
            raise UsageError("--session-id takes letters, digits, dashes and underscores, at most 64.")
        return Session.new(flags.cwd, persist=flags.persist, session_id=flags.session_id)
    if flags.resume is None:
        stored = sessions(flags.cwd)
        if not stored:
            return Session.new(flags.cwd, persist=flags.persist, session_id=flags.session_id)
        found = Session.resume(flags.cwd, stored[0].id)
    else:
        found = Session.resume(flags.cwd, flags.resume)
    if not flags.fork:
        return found
    copy = found.fork()
    found.close()
    return copy


def system(flags: Flags, settings: Settings) -> str | None:
    """Another system prompt, or the usual one with an appendix; None for the usual one."""
    if not flags.append_system:
        return flags.system
    usual = flags.system or prompts.stable(flags.cwd, notebook=False, trusted=settings.trusted)
    return f"{usual}\n\n{flags.append_system}"
