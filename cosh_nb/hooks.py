"""The hooks of a turn as the loop sees them: a prompt may be blocked or get context, an end may be sent back."""

from __future__ import annotations

from typing import Protocol


class TurnHooks(Protocol):
    """UserPromptSubmit and Stop."""

    async def prompt(self, text: str) -> tuple[str, str]:
        """Why the prompt is blocked ("" lets it pass), and context to add."""
        ...

    async def stop(self, text: str) -> str:
        """Why the model should go on ("" lets it end)."""
        ...


class NoTurnHooks:
    """No hooks are configured."""

    async def prompt(self, text: str) -> tuple[str, str]:
        """Pass."""
        del text
        return "", ""

    async def stop(self, text: str) -> str:
        """End."""
        del text
        return ""
