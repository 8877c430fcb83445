"""SendMessage: a note to another agent, read before its next step."""

from __future__ import annotations

from pydantic import Field

from cosh_tools.contract import PermissionLevel, Tool, ToolContext, ToolError, ToolInput, ToolKind, ToolResult


class SendMessageInput(ToolInput):
    """Arguments of SendMessage."""

    to: str = Field(min_length=1, description="The agent's name; `main` is the one that the person talks to; * is all.")
    message: str = Field(description="The words.")
    summary: str = Field("", description="The same in a few words, for the person who reads along.")


class SendMessage(Tool[SendMessageInput]):
    """Whoever is not there is said, and nothing is lost silently."""

    name = "SendMessage"
    description = (
        "Send a message to a running agent by its name, or to all others with *. It reads it before its next step. "
        "Sub-agents that run in the background have the name that Task gave them."
    )
    kind, permission_level = ToolKind.OTHER, PermissionLevel.NONE
    verb = "message"
    keywords = ("message", "agent", "inbox", "broadcast", "tell")

    def target(self, call: SendMessageInput, ctx: ToolContext) -> str:
        """Who it goes to."""
        del ctx
        return call.to

    async def execute(self, call: SendMessageInput, ctx: ToolContext) -> ToolResult:
        """Send it."""
        if not call.message.strip():
            raise ToolError("Message cannot be empty. Say something.")
        reached = ctx.inbox.send(ctx.agent, call.to, call.message)
        line = " ".join(call.message.split())
        preview = line if len(line) <= 60 else f"{line[:60]}..."
        if call.to == "*":
            text = f"Broadcast to {len(reached)} agent(s) ({', '.join(reached)}): {preview}"
        else:
            text = f"Message sent to '{call.to}': {preview}"
        return ToolResult.success(text).with_metadata(to=list(reached), message=call.message, summary=call.summary)
