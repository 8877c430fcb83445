"""registry_request: what is registered (tools, skills, hooks, MCP servers), and switching a tool off and on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cosh_nb.errors import UsageError
from cosh_tools.hosts import NoHooks, NoMcp, NoSkills

if TYPE_CHECKING:
    from cosh_nb.agent import Agent
    from cosh_nb.headless.protocol import RegistryRequestLine
    from cosh_tools.contract import Tool

ACTIONS = ("list", "detail", "enable", "disable")


@dataclass
class Inventory:
    """Answers for one agent. What was disabled is kept here, so that it can come back."""

    agent: Agent
    _off: dict[str, Tool[Any]] = field(default_factory=dict)
    _skills_off: set[str] = field(default_factory=set)

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
            raise UsageError(f"There is no domain {asked.domain!r}. Ask for one of: {', '.join(domains)}.")
        if asked.action not in ACTIONS:
            raise UsageError(f"There is no action {asked.action!r}. It is one of: {', '.join(ACTIONS)}.")
        return domain(asked.action, asked.params)

    def _tools(self, action: str, params: Mapping[str, Any]) -> Any:
        registry = self.agent.registry
        if action == "list":
            every = {**{tool.name: tool for tool in registry.tools()}, **self._off}
            return {"tools": [self._row(every[name]) for name in sorted(every)]}
        name = _name(params)
        tool = self._off.get(name) or registry.find(name)
        if tool is None:
            raise UsageError(f"There is no tool {name!r}. The tools are: {', '.join(registry.names())}.")
        match action:
            case "enable" if tool.name in self._off:
                registry.add(self._off.pop(tool.name))
            case "disable":
                self._off[tool.name] = tool
                registry.remove(tool.name)
            case _:
                pass
        return {**self._row(tool), "input_schema": tool.input_schema(), "aliases": list(tool.aliases)}

    def _row(self, tool: Tool[Any]) -> dict[str, Any]:
        return {
            "name": tool.name,
            "description": tool.description,
            "kind": tool.kind.value,
            "permission_level": tool.permission_level.value,
            "enabled": tool.name not in self._off,
        }

    def _skills(self, action: str, params: Mapping[str, Any]) -> Any:
        skills = self.agent.ctx.skills
        if isinstance(skills, NoSkills):
            return _nothing("skills", action)
        known = dict(skills.names())
        if action == "list":
            return {"skills": [{"name": name, "description": text} for name, text in sorted(known.items())]}
        name = _name(params)
        if name not in known:
            raise UsageError(f"There is no skill {name!r}. The skills are: {', '.join(sorted(known)) or 'none'}.")
        if action != "detail":
            raise UsageError("A skill is switched on or off by its file: add or remove its SKILL.md.")
        return {"name": name, "description": known[name], "text": skills.load(name, "").content}

    def _hooks(self, action: str, params: Mapping[str, Any]) -> Any:
        del params
        if isinstance(self.agent.ctx.hooks, NoHooks):
            return _nothing("hooks", action)
        configured = self.agent.settings.values.get("hooks")
        if action in ("enable", "disable"):
            raise UsageError("Hooks are switched on and off in the settings, under `hooks`.")
        return {"hooks": configured if isinstance(configured, Mapping) else {}}

    def _mcp(self, action: str, params: Mapping[str, Any]) -> Any:
        servers: dict[str, list[str]] = {}
        for name in self.agent.registry.names():
            if name.startswith("mcp__"):
                servers.setdefault(name.split("__")[1], []).append(name)
        if isinstance(self.agent.ctx.mcp, NoMcp) and not servers:
            return _nothing("servers", action)
        rows = [{"name": name, "tools": tools} for name, tools in sorted(servers.items())]
        if action == "list":
            return {"servers": rows}
        wanted = _name(params)
        found = next((row for row in rows if row["name"] == wanted), None)
        if found is None:
            raise UsageError(f"There is no MCP server {wanted!r} connected.")
        if action != "detail":
            raise UsageError("An MCP server is switched on or off in the settings, under `mcpServers`.")
        return found


def _nothing(what: str, action: str) -> dict[str, Any]:
    if action == "list":
        return {what: []}
    raise UsageError(f"There are no {what} in this session.")


def _name(params: Mapping[str, Any]) -> str:
    name = params.get("name")
    if not isinstance(name, str) or not name:
        raise UsageError("params.name is missing: say which one.")
    return name
