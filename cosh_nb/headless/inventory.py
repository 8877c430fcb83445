"""registry_request: the tools, skills, hooks and MCP servers of a session; each can be switched off and on again.

What is switched off is off for this session only. Nothing here is written anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cosh_nb.errors import UsageError
from cosh_nb.mcp_client.tool import tool_name
from cosh_tools.results import ToolResult

if TYPE_CHECKING:
    from cosh_nb.agent import Agent
    from cosh_nb.command_hooks import Hook
    from cosh_nb.headless.protocol import RegistryRequestLine
    from cosh_nb.mcp_client.connection import Connection
    from cosh_tools.contract import Tool
    from cosh_tools.hosts import SkillHost

ACTIONS = ("list", "detail", "enable", "disable")


@dataclass
class Inventory:
    """Answers for one agent, and keeps what was switched off."""

    agent: Agent
    _tools_off: dict[str, Tool[Any]] = field(default_factory=dict)
    _hooks_off: dict[str, Hook] = field(default_factory=dict)
    _servers_off: set[str] = field(default_factory=set)

    def answer(self, asked: RegistryRequestLine) -> Any:
        """The data of the answer. Raises UsageError with what can be asked instead."""
        domains: Mapping[str, Callable[[str, Mapping[str, Any]], Any]] = {
            "tools": self._tools,
            "skills": self._skills,
            "hooks": self._hooks,
            "mcp": self._mcp,
        }
        domain = domains.get(asked.domain)
        if domain is None:
            raise UsageError(f"There is no domain {asked.domain!r:.80}. Ask for one of: {', '.join(domains)}.")
        if asked.action not in ACTIONS:
            raise UsageError(f"There is no action {asked.action!r:.80}. It is one of: {', '.join(ACTIONS)}.")
        return domain(asked.action, asked.params)

    # -- tools -------------------------------------------------------------------------------------------------------

    def _tools(self, action: str, params: Mapping[str, Any]) -> Any:
        registry = self.agent.registry
        every = {**{tool.name: tool for tool in registry.tools()}, **self._tools_off}
        if action == "list":
            return {"tools": [self._tool(every[name]) for name in sorted(every)]}
        name = _name(params)
        tool = every.get(name) or registry.find(name)
        if tool is None:
            raise UsageError(f"There is no tool {name!r}. The tools are: {', '.join(sorted(every))}.")
        self._switch_tools([tool], action)
        return {**self._tool(tool), "input_schema": tool.input_schema(), "aliases": list(tool.aliases)}

    def _tool(self, tool: Tool[Any]) -> dict[str, Any]:
        return {
            "name": tool.name,
            "description": tool.description,
            "kind": tool.kind.value,
            "permission_level": tool.permission_level.value,
            "enabled": tool.name not in self._tools_off,
        }

    def _switch_tools(self, tools: Sequence[Tool[Any]], action: str) -> None:
        for tool in tools:
            if action == "disable":
                self._tools_off[tool.name] = tool
                self.agent.registry.remove(tool.name)
            elif action == "enable" and tool.name in self._tools_off:
                self.agent.registry.add(self._tools_off.pop(tool.name))

    # -- skills ------------------------------------------------------------------------------------------------------

    def _skills(self, action: str, params: Mapping[str, Any]) -> Any:
        skills = self._switched_skills()
        known = dict(skills.every.names())
        if action == "list":
            return {"skills": [self._skill(skills, name, known[name]) for name in sorted(known)]}
        name = _name(params)
        if name not in known:
            raise UsageError(f"There is no skill {name!r}. The skills are: {', '.join(sorted(known)) or 'none'}.")
        match action:
            case "enable":
                skills.off.discard(name)
            case "disable":
                skills.off.add(name)
            case _:
                return {**self._skill(skills, name, known[name]), "text": skills.every.load(name, "").content}
        return self._skill(skills, name, known[name])

    def _switched_skills(self) -> SwitchedSkills:
        agent = self.agent
        if not isinstance(agent.ctx.skills, SwitchedSkills):
            agent.ctx = agent.ctx.with_(skills=SwitchedSkills(agent.ctx.skills))
            agent.runner.ctx = agent.ctx
        skills = agent.ctx.skills
        assert isinstance(skills, SwitchedSkills)  # noqa: S101 (set above)
        return skills

    def _skill(self, skills: SwitchedSkills, name: str, description: str) -> dict[str, Any]:
        return {"name": name, "description": description, "enabled": name not in skills.off}

    # -- hooks -------------------------------------------------------------------------------------------------------

    def _hooks(self, action: str, params: Mapping[str, Any]) -> Any:
        every = {**{_hook_name(hook): hook for hook in self.agent.hooks.hooks}, **self._hooks_off}
        if action == "list":
            return {"hooks": [self._hook(name, every[name]) for name in sorted(every)]}
        name = _name(params)
        hook = every.get(name)
        if hook is None:
            raise UsageError(f"There is no hook {name!r}. The hooks are: {', '.join(sorted(every)) or 'none'}.")
        if action == "disable" and name not in self._hooks_off:
            self._hooks_off[name] = hook
            self.agent.hooks.hooks = [one for one in self.agent.hooks.hooks if one is not hook]
        elif action == "enable" and name in self._hooks_off:
            self.agent.hooks.hooks = [*self.agent.hooks.hooks, self._hooks_off.pop(name)]
        return self._hook(name, hook)

    def _hook(self, name: str, hook: Hook) -> dict[str, Any]:
        return {
            "name": name,
            "event": hook.event,
            "matcher": hook.matcher,
            "command": hook.command,
            "where": hook.where,
            "enabled": name not in self._hooks_off,
        }

    # -- MCP -----------------------------------------------------------------------------------------------------------

    def _mcp(self, action: str, params: Mapping[str, Any]) -> Any:
        servers = {connection.config.name: connection for connection in self.agent.mcp.connections()}
        if action == "list":
            return {"servers": [self._server(servers[name]) for name in sorted(servers)]}
        name = _name(params)
        if name not in servers:
            raise UsageError(f"There is no MCP server {name!r}. They are: {', '.join(sorted(servers)) or 'none'}.")
        if action in ("enable", "disable"):
            self._switch_tools(self._tools_of(servers[name]), action)
            self._servers_off.discard(name)
            if action == "disable":
                self._servers_off.add(name)
        return self._server(servers[name])

    def _server(self, connection: Connection) -> dict[str, Any]:
        name = connection.config.name
        return {
            "name": name,
            "enabled": name not in self._servers_off,
            "state": connection.state,
            "problem": connection.problem,
            "where": connection.config.where,
            "tools": [tool.name for tool in self._tools_of(connection)],
        }

    def _tools_of(self, connection: Connection) -> list[Tool[Any]]:
        prefix = tool_name(connection.config.name, "")
        every = (*self.agent.registry.tools(), *self._tools_off.values())
        return sorted((tool for tool in every if tool.name.startswith(prefix)), key=lambda tool: tool.name)


@dataclass
class SwitchedSkills:
    """Skills without those that are off (hosts.SkillHost)."""

    every: SkillHost
    off: set[str] = field(default_factory=set)

    def names(self) -> Sequence[tuple[str, str]]:
        """Name and description of each that is on."""
        return [(name, text) for name, text in self.every.names() if name not in self.off]

    def load(self, name: str, arguments: str) -> ToolResult:
        """The skill's text; an error where it is off."""
        if name in self.off:
            return ToolResult.error(f"The skill {name!r} is disabled in this session. The client can enable it.")
        return self.every.load(name, arguments)


def _hook_name(hook: Hook) -> str:
    return f"{hook.event}:{hook.matcher or '*'}:{hook.command or getattr(hook, 'id', '')}"


def _name(params: Mapping[str, Any]) -> str:
    name = params.get("name")
    if not isinstance(name, str) or not name:
        raise UsageError("params.name is missing: say which one.")
    return name
