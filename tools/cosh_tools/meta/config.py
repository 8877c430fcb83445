"""Config: read a setting freely, change one with a person's leave."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Literal

from pydantic import AliasChoices, Field

from cosh_tools.contract import (
    Needs,
    PermissionLevel,
    PermissionMode,
    Tool,
    ToolContext,
    ToolError,
    ToolInput,
    ToolKind,
    ToolResult,
    Touch,
)


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("a text")
    return value.strip()


def _count(value: Any) -> int:
    number = int(value) if isinstance(value, str) and value.strip().isdecimal() else value
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise ValueError("a whole number above 0")
    return number


def _flag(value: Any) -> bool:
    words = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in words:
        return words[value.strip().lower()]
    raise ValueError("true or false")


def _mode(value: Any) -> str:
    try:
        return PermissionMode.parse(str(value)).value
    except ValueError:
        raise ValueError(f"one of {', '.join(PermissionMode)}") from None


SETTINGS: dict[str, tuple[str, Callable[[Any], Any], str]] = {
    "auto_compact": ("auto_compact", _flag, "whether a long conversation is summarised by itself"),
    "max_tokens": ("max_tokens", _count, "tokens of one answer at most"),
    "model": ("model", _text, "the model"),
    "permission_mode": (
        "permissions.defaultMode",
        _mode,
        "how much is allowed without a question, from the next start",
    ),
    "verbose": ("verbose", _flag, "whether more is shown"),
}
"""Name -> its key in the settings file, its reading of a value, what it is for."""


class ConfigInput(ToolInput):
    """Arguments of Config. With a value it changes, without it reads."""

    setting: str = Field(
        "list",
        validation_alias=AliasChoices("setting", "key"),
        description="auto_compact, max_tokens, model, permission_mode or verbose; `list` shows all.",
    )
    value: Any = Field(None, description="The new value. Leave it out to read.")
    action: Literal["get", "set"] | None = Field(None, description="get or set; it follows from `value`.")

    @property
    def changes(self) -> bool:
        """Whether it writes."""
        return self.action == "set" or (self.action is None and self.value is not None)


class Config(Tool[ConfigInput]):
    """Only these settings: keys, hooks and rules are the person's own affair."""

    name = "Config"
    description = (
        "Read or change one of these settings: auto_compact, max_tokens, model, permission_mode, verbose. They are in "
        "~/.claude/settings.json. Changing one needs the person's approval."
    )
    kind, permission_level = ToolKind.OTHER, PermissionLevel.NONE
    verb = "configure"
    keywords = ("config", "setting", "preference", "option", "model")

    def target(self, call: ConfigInput, ctx: ToolContext) -> str:
        """The setting, and its new value."""
        del ctx
        return f"{call.setting} = {call.value}" if call.changes else call.setting

    def touches(self, call: ConfigInput, ctx: ToolContext) -> Sequence[Touch]:
        """A change states that it needs a person."""
        del ctx
        return [Needs(f"It sets {call.setting} to {call.value!r} in your settings.")] if call.changes else []

    async def execute(self, call: ConfigInput, ctx: ToolContext) -> ToolResult:
        """Read or write."""
        name = call.setting.strip().replace("-", "_")
        if name in ("list", "help"):
            lines = [
                f"{each} = {_shown(ctx.settings.get(SETTINGS[each][0]))}  ({SETTINGS[each][2]})" for each in SETTINGS
            ]
            return ToolResult.success("\n".join(lines))
        if name not in SETTINGS:
            raise ToolError(f"Unknown setting '{call.setting}'. Use setting='list' to see those that there are.")
        key, read, _about = SETTINGS[name]
        before = ctx.settings.get(key)
        if not call.changes:
            result = ToolResult.success(f"{name} = {_shown(before)}")
            return result.with_metadata(operation="get", setting=name, value=before)
        if ctx.permission_mode is PermissionMode.PLAN:
            raise ToolError("Plan mode is read-only. Leave it before you change a setting.")
        try:
            value = read(call.value)
        except ValueError as wanted:
            raise ToolError(f"{name} takes {wanted}, not {call.value!r}.") from None
        file = ctx.settings.set(key, value)
        result = ToolResult.success(f"{name} = {_shown(value)} (was {_shown(before)}; written to {file})")
        return result.with_metadata(operation="set", setting=name, previousValue=before, newValue=value)


def _shown(value: Any) -> str:
    return "not set" if value is None else value if isinstance(value, str) else json.dumps(value)
