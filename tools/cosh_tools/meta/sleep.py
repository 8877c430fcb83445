"""Sleep: wait for up to five minutes."""

from __future__ import annotations

from typing import Any

from pydantic import AliasChoices, Field, model_validator

from cosh_tools.contract import PermissionLevel, Tool, ToolContext, ToolInput, ToolKind, ToolResult

LONGEST = 300.0


class SleepInput(ToolInput):
    """Arguments of Sleep: one of the two."""

    ms: float | None = Field(
        None, ge=0, validation_alias=AliasChoices("ms", "duration_ms"), description="Milliseconds to wait."
    )
    duration: float | None = Field(
        None,
        ge=0,
        validation_alias=AliasChoices("duration", "seconds"),
        description="Seconds to wait, at most 300.",
    )

    @model_validator(mode="after")
    def _one(self) -> Any:
        if self.ms is None and self.duration is None:
            raise ValueError("say how long: `duration` in seconds or `ms` in milliseconds")
        return self

    @property
    def seconds(self) -> float:
        """How long, within the limit."""
        wanted = self.ms / 1000 if self.ms is not None else self.duration or 0.0
        return min(wanted, LONGEST)


class Sleep(Tool[SleepInput]):
    """Ends at once where the turn is stopped."""

    name = "Sleep"
    description = (
        "Wait, at most 300 seconds. Use it instead of `sleep` in a shell: it holds no process and can be stopped. To "
        "wait for a background task use TaskOutput."
    )
    kind, permission_level = ToolKind.OTHER, PermissionLevel.NONE
    concurrency_safe = True
    verb = "wait"
    keywords = ("wait", "delay", "pause", "timer")

    def target(self, call: SleepInput, ctx: ToolContext) -> str:
        """How long."""
        del ctx
        return f"{call.seconds:g} s"

    async def execute(self, call: SleepInput, ctx: ToolContext) -> ToolResult:
        """Wait."""
        await ctx.clock.sleep(call.seconds)
        return ToolResult.success(f"Slept for {call.seconds * 1000:.0f}ms.")
