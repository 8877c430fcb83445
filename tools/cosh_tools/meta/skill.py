"""Skill: load instructions that a person wrote, with their arguments filled in (cc-tools Skill, cosh skill)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal

from pydantic import AliasChoices, Field

from cosh_tools.contract import (
    PermissionLevel,
    Tool,
    ToolContext,
    ToolInput,
    ToolKind,
    ToolResult,
    Touch,
    Uses,
)
from cosh_tools.policy.shell import read as touches_of
from cosh_tools.shell.bash import Bash, BashInput

COMMAND = re.compile(r"!`([^`\n]+)`")
"""A shell command in a skill's text, whose output takes its place."""


class SkillInput(ToolInput):
    """What Skill takes."""

    skill: str = Field(
        validation_alias=AliasChoices("skill", "name"),
        description='The name of the skill, or "list" to see all of them',
    )
    args: str = Field(
        default="",
        validation_alias=AliasChoices("args", "arguments"),
        description="What the skill is called with; it takes the place of $ARGUMENTS",
    )


class Skill(Tool[SkillInput]):
    """The model's door to the skills."""

    name = "Skill"
    aliases = ("skill",)
    description = (
        "Load a skill: instructions that the user or the project wrote for a kind of task. Call it before you begin "
        'when a listed skill fits the request. skill="list" shows all of them.'
    )
    kind, permission_level = ToolKind.OTHER, PermissionLevel.NONE
    verb = "load skill"
    keywords = ("skill", "command", "slash", "instructions", "recipe")

    def touches(self, call: SkillInput, ctx: ToolContext) -> Sequence[Touch]:
        """The skill by name, and every command whose output its text takes in."""
        return _touches(call.skill, call.args, ctx)

    async def execute(self, call: SkillInput, ctx: ToolContext) -> ToolResult:
        """Its text, or the list."""
        if call.skill == "list":
            return _list(ctx)
        return await _load(call.skill, call.args, ctx)


class SkillCoshInput(ToolInput):
    """What cosh's skill takes."""

    action: Literal["invoke", "list"] = Field(default="invoke", description="invoke loads a skill, list shows all")
    name: str = Field(default="", description="The skill to invoke")


class SkillCosh(Tool[SkillCoshInput]):
    """The same tool under cosh's name, parameters and texts."""

    name = "skill"
    description = "Invoke a registered skill by name, or list the skills."
    kind, permission_level = ToolKind.OTHER, PermissionLevel.NONE
    verb = "load skill"

    def touches(self, call: SkillCoshInput, ctx: ToolContext) -> Sequence[Touch]:
        """The skill by name, and the commands in it."""
        return _touches(call.name, "", ctx) if call.action == "invoke" and call.name else ()

    async def execute(self, call: SkillCoshInput, ctx: ToolContext) -> ToolResult:
        """Its text under cosh's header, or cosh's list."""
        if call.action == "list":
            names = ctx.skills.names()
            return ToolResult.success("\n".join(f"- {name}: {text}" for name, text in names) or "No skills found.")
        if not call.name:
            return ToolResult.error("Missing 'name' parameter: which skill? action=list shows all.")
        result = await _load(call.name, "", ctx)
        if result.is_error:
            return result
        folder = result.metadata.get("folder", "")
        header = f"[Skill '{call.name}' loaded]\nBase directory: {folder}\nResolve relative paths from there.\n\n"
        return ToolResult.success(header + result.content).with_metadata(result.metadata)


def _touches(name: str, arguments: str, ctx: ToolContext) -> list[Touch]:
    if name == "list":
        return []
    loaded = ctx.skills.load(name, arguments)
    touches: list[Touch] = [Uses("Skill", name)]
    for command in loaded.metadata.get("commands", ()):
        touches += touches_of(command, ctx)
    return touches


def _list(ctx: ToolContext) -> ToolResult:
    names = ctx.skills.names()
    if not names:
        return ToolResult.success("No skills are available here.")
    return ToolResult.success(
        "\n".join([f"Available skills ({len(names)}):", *(f"  {n} — {text}" for n, text in names)])
    )


async def _load(name: str, arguments: str, ctx: ToolContext) -> ToolResult:
    loaded = ctx.skills.load(name, arguments)
    if loaded.is_error:
        return loaded
    facts: dict[str, Any] = dict(loaded.metadata)
    if facts.get("for_model") is False:
        return ToolResult.error(f"The skill {name} is for the user alone: they type it as a command.")
    text = await _with_outputs(loaded.content, facts.get("commands") or (), ctx)
    allowed = facts.get("allowed_tools")
    if allowed is not None:
        ctx.state.narrowed_to = tuple(allowed)
        text += f"\n\n(While this skill is at work, only these tools may be used: {', '.join(allowed) or 'none'}.)"
    return ToolResult.success(text).with_metadata(facts, summary=f"{len(text.splitlines())} lines")


async def _with_outputs(text: str, commands: Sequence[str], ctx: ToolContext) -> str:
    """The text with each !`command` replaced by what it printed. The commands were approved with the call."""
    outputs = {}
    for command in dict.fromkeys(commands):
        outputs[command] = (await Bash().execute(BashInput(command=command), ctx)).content
    return COMMAND.sub(lambda found: outputs.get(found[1], found[0]), text)
