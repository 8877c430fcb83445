"""EnterWorktree: go on in a worktree of its own, on a branch of its own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import AliasChoices, Field

from cosh_tools.context import Worktree
from cosh_tools.contract import (
    Opaque,
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
from cosh_tools.policy import shell as grammar
from cosh_tools.worktree.place import make


class EnterWorktreeInput(ToolInput):
    """Arguments of EnterWorktree."""

    branch: str = Field(
        "",
        validation_alias=AliasChoices("branch", "name"),
        description="The new branch, which also names the worktree. Left out, the time names it.",
    )
    path: str | None = Field(None, description="Where the worktree goes. Default: .claude/worktrees/<branch>.")
    setup_command: str | None = Field(
        None,
        validation_alias=AliasChoices("setup_command", "post_create_command"),
        description="A shell command to run in it once it is made, for example to install dependencies.",
    )


class EnterWorktree(Tool[EnterWorktreeInput]):
    """Every tool that follows works there; trust and grants stay with the workspace."""

    name = "EnterWorktree"
    description = (
        "Make a git worktree on a new branch and move the session into it: files, searches and commands are there from "
        "now on. Use it when the person asks for work apart from their own files. Leave with ExitWorktree."
    )
    kind, permission_level = ToolKind.OTHER, PermissionLevel.NONE
    verb = "enter worktree"
    keywords = ("worktree", "git", "branch", "isolate")

    def target(self, call: EnterWorktreeInput, ctx: ToolContext) -> str:
        """The branch."""
        del ctx
        return call.branch

    def touches(self, call: EnterWorktreeInput, ctx: ToolContext) -> Sequence[Touch]:
        """A place outside the workspace and a setup command are asked for like any other."""
        touches: list[Touch] = []
        if call.path is not None and not (place := ctx.writes(call.path)).inside:
            touches.append(place)
        if call.setup_command:
            # Its paths mean a folder that is not there yet: they are judged as if it ran here, and it asks in any case.
            touches.extend(grammar.read(call.setup_command, ctx))
            touches.append(Opaque(call.setup_command, "It runs a setup command in the new worktree."))
        return touches

    async def execute(self, call: EnterWorktreeInput, ctx: ToolContext) -> ToolResult:
        """Make it and move."""
        state = ctx.state
        if state.worktree is not None:
            raise ToolError("Already in a worktree session. Call ExitWorktree first.")
        if state.permission_mode is PermissionMode.PLAN:
            raise ToolError("Plan mode is read-only, and a worktree is written. Leave plan mode first.")
        branch = call.branch or f"cosh-{ctx.clock.now():%Y%m%d-%H%M%S}"
        tree = await make(ctx.working_dir, branch, ctx.resolve_path(call.path) if call.path is not None else None)
        state.worktree = tree
        state.working_dir = tree.path
        state.extra_roots.append(tree.path)
        lines = [f"Now in the worktree {tree.path}, on the new branch {tree.branch} (from {tree.head[:8]})."]
        if (kernel := ctx.kernel.cwd()) is not None:
            lines.append(f"Python and notebook cells still run in {kernel}: the kernel does not move.")
        if call.setup_command:
            lines.append(await _set_up(call.setup_command, tree, ctx))
        result = ToolResult.success("\n".join(lines))
        return result.with_metadata(
            type="enter_worktree", worktree_path=str(tree.path), branch=tree.branch, original_cwd=str(tree.came_from),
            summary=tree.branch,
        )  # fmt: skip


async def _set_up(command: str, tree: Worktree, ctx: ToolContext) -> str:
    from cosh_tools.shell.run import Command, Live, capture_for

    capture, live = capture_for(ctx), Live(ctx.progress)
    ended = await Command(["bash", "-c", command], Path(tree.path), 600.0, capture).run(live.write)
    live.flush()
    said = "\n".join(text for text in (capture.text("stdout").rstrip(), capture.text("stderr").rstrip()) if text)
    if ended.why == "exit" and ended.code == 0:
        return f"The setup command went well.\n{said}".rstrip()
    how = f"exit code {ended.code}" if ended.why == "exit" else "it was ended"
    return f"The setup command FAILED ({how}); the worktree stays.\n{said}".rstrip()
