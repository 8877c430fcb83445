"""Which tools exist, under which names, and what the model is told of them.

The tables are written by hand and loaded lazily: naming a tool imports its module, nothing else does.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterable
from importlib.metadata import entry_points
from typing import Any, Self

from cosh_tools.contract import Tool, ToolDefinition
from cosh_tools.names import canonical

BUILT_IN = {
    "AskUserQuestion": "meta.ask_user_question:AskUserQuestion",
    "Bash": "shell.bash:Bash",
    "Brief": "meta.brief:Brief",
    "Config": "meta.config:Config",
    "CronCreate": "cron.create:CronCreate",
    "CronDelete": "cron.delete:CronDelete",
    "CronList": "cron.list:CronList",
    "Edit": "files.edit:Edit",
    "EnterPlanMode": "plan.enter:EnterPlanMode",
    "EnterWorktree": "worktree.enter:EnterWorktree",
    "ExitPlanMode": "plan.exit:ExitPlanMode",
    "ExitWorktree": "worktree.exit:ExitWorktree",
    "Glob": "search.glob:Glob",
    "Grep": "search.grep:Grep",
    "ListMcpResources": "mcp.list_resources:ListMcpResources",
    "NotebookEdit": "notebook.edit:NotebookEdit",
    "PowerShell": "shell.powershell:PowerShell",
    "Read": "files.read:Read",
    "ReadMcpResource": "mcp.read_resource:ReadMcpResource",
    "SendMessage": "meta.send_message:SendMessage",
    "Skill": "meta.skill:Skill",
    "Sleep": "meta.sleep:Sleep",
    "TaskCreate": "tasks.create:TaskCreate",
    "TaskGet": "tasks.get:TaskGet",
    "TaskList": "tasks.list:TaskList",
    "TaskOutput": "tasks.output:TaskOutput",
    "TaskStop": "tasks.stop:TaskStop",
    "TaskUpdate": "tasks.update:TaskUpdate",
    "TodoWrite": "tasks.todo_write:TodoWrite",
    "ToolSearch": "meta.tool_search:ToolSearch",
    "WebFetch": "web.fetch:WebFetch",
    "WebSearch": "web.search:WebSearch",
    "Write": "files.write:Write",
}
"""The 33 of cc-tools: name -> module and class."""

OURS = {
    "NotebookRead": "notebook.read:NotebookRead",
    "NotebookRun": "notebook.run:NotebookRun",
    "Python": "kernel.python:Python",
    "Task": "agents.task:Task",
    "Variables": "kernel.variables:Variables",
}
"""Task, which the query layer adds in cc-tools, and the tools of a live notebook."""

COSH = {
    "ask_user_question": "meta.ask_user_question:AskUserQuestionCosh",
    "edit": "files.edit:EditCosh",
    "grep": "search.grep:GrepCosh",
    "read_file": "files.read:ReadFile",
    "shell": "shell.bash:Shell",
    "skill": "meta.skill:SkillCosh",
    "todo": "tasks.todo:Todo",
    "write_file": "files.write:WriteFile",
}
"""The eight of cosh-core: the same tools under cosh's names, parameters and texts."""

EVIDENCE = {"cosh_shell_evidence": "kernel.evidence:ShellEvidence"}
"""The ninth, opt-in."""

_EVERY = {**BUILT_IN, **OURS, **COSH, **EVIDENCE}


def load(name: str) -> Tool[Any]:
    """The built-in tool of exactly this name. Raises KeyError."""
    module, _, cls = _EVERY[name].partition(":")
    tool: Tool[Any] = getattr(importlib.import_module(f"cosh_tools.{module}"), cls)()
    return tool


class ToolRegistry:
    """The tools of one session. A name that is not declared here still finds its face: `read_file` calls, aliases."""

    def __init__(self, tools: Iterable[Tool[Any]] = ()) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._faces: dict[str, Tool[Any]] = {}
        self._definitions: tuple[ToolDefinition, ...] | None = None

    @classmethod
    def with_defaults(cls, *, shell_evidence: bool = False) -> Self:
        """The cosh set: eight tools, nine with evidence."""
        return cls(load(name) for name in {**COSH, **(EVIDENCE if shell_evidence else {})})

    @classmethod
    def for_claude(cls) -> Self:
        """The 33 and Task."""
        return cls(load(name) for name in {**BUILT_IN, "Task": ""} if available(name))

    @classmethod
    def for_notebook(cls) -> Self:
        """The 33, Task, the notebook's own tools and evidence."""
        return cls(load(name) for name in {**BUILT_IN, **OURS, **EVIDENCE} if available(name))

    def add(self, tool: Tool[Any]) -> None:
        """Register a tool; a later one of the same name replaces the earlier."""
        self._tools[tool.name] = tool
        self._definitions = None

    def remove(self, name: str) -> None:
        """Take a tool out; a name that is not there is fine."""
        if self._tools.pop(name, None) is not None:
            self._definitions = None

    def add_entry_points(self) -> list[str]:
        """Register what other packages offer under `cosh.tools`; the sentences about those that failed."""
        failed = []
        for point in entry_points(group="cosh.tools"):
            try:
                self.add(point.load()())
            except Exception as error:  # noqa: BLE001  (another package's code may raise anything)
                failed.append(f"The tool {point.name} of {point.value} did not load: {error}")
        return failed

    def find(self, name: str) -> Tool[Any] | None:
        """The tool that a call of this name means: declared, a cosh face of a declared tool, or an alias."""
        if name in self._tools:
            return self._tools[name]
        target = canonical(name)
        if not any(canonical(declared) == target for declared in self._tools):
            return None
        if name in COSH and name not in self._faces:
            self._faces[name] = load(name)
        return self._faces.get(name) or self._tools.get(target) or self._by_canonical(target)

    def names(self) -> list[str]:
        """Declared names, sorted."""
        return sorted(self._tools)

    def tools(self) -> list[Tool[Any]]:
        """Declared tools, by name."""
        return [self._tools[name] for name in self.names()]

    def only(self, names: Iterable[str]) -> ToolRegistry:
        """A registry of those declared tools that `names` (or aliases of them) name."""
        wanted = {canonical(name) for name in names}
        return ToolRegistry(tool for tool in self.tools() if canonical(tool.name) in wanted)

    def definitions(self) -> tuple[ToolDefinition, ...]:
        """What the model is told, sorted by name; the same tuple object until a tool is added or removed."""
        if self._definitions is None:
            self._definitions = tuple(tool.to_definition() for tool in self.tools())
        return self._definitions

    def _by_canonical(self, target: str) -> Tool[Any] | None:
        return next((tool for tool in self.tools() if canonical(tool.name) == target), None)


def available(name: str) -> bool:
    """Whether this version ships the tool's module."""
    return importlib.util.find_spec("cosh_tools." + _EVERY[name].partition(":")[0]) is not None
