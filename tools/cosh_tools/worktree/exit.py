"""ExitWorktree: back to where the session came from, with the worktree kept or removed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from cosh_tools.context import Worktree
from cosh_tools.contract import (
    Needs,
    PermissionLevel,
    Tool,
    ToolContext,
    ToolError,
    ToolInput,
    ToolKind,
    ToolResult,
    Touch,
)
from cosh_tools.worktree.git import git, work_in
from cosh_tools.worktree.place import remove


class ExitWorktreeInput(ToolInput):
    """Arguments of ExitWorktree."""

    action: Literal["keep", "remove"] = Field(
        description="keep: leave it for later. remove: take it and its branch away."
    )
    discard_changes: bool = Field(False, description="With remove: throw away what is in it and nowhere else.")


class ExitWorktree(Tool[ExitWorktreeInput]):
    """Work that is nowhere else is never removed unless that was asked for and a person said yes."""

    name = "ExitWorktree"
    description = (
        "Leave the worktree that EnterWorktree made and go back to the folder from before. `remove` is refused while "
        "it holds changed files or commits of its own, unless discard_changes is set."
    )
    kind, permission_level = ToolKind.OTHER, PermissionLevel.NONE
    verb = "leave worktree"
    keywords = ("worktree", "git", "leave", "remove")

    def target(self, call: ExitWorktreeInput, ctx: ToolContext) -> str:
        """What happens to it."""
        del ctx
        return call.action

    def touches(self, call: ExitWorktreeInput, ctx: ToolContext) -> Sequence[Touch]:
        """Throwing work away needs a person."""
        if ctx.state.worktree is None or call.action != "remove" or not call.discard_changes:
            return []
        return [Needs(f"It throws away whatever is in {ctx.state.worktree.path} and nowhere else.")]

    async def execute(self, call: ExitWorktreeInput, ctx: ToolContext) -> ToolResult:
        """Check, then leave."""
        tree = ctx.state.worktree
        if tree is None:
            raise ToolError(
                "No-op: there is no worktree session to exit. This tool only leaves what EnterWorktree made."
            )
        if call.action == "keep":
            await git(tree.repository, "worktree", "lock", "--reason", "kept by cosh", str(tree.path))
            _leave(tree, ctx)
            return _said(
                f"Back in {ctx.working_dir}. The worktree stays at {tree.path} (branch {tree.branch}).", call, tree
            )
        if not call.discard_changes:
            work = await work_in(tree.path, tree.head)
            if not work.none:
                raise ToolError(
                    f"The worktree was not removed: {work.words}. Commit and merge it, leave with action keep, or set "
                    "discard_changes to throw it away."
                )
        problems = await remove(tree)
        if tree.path.exists():
            raise ToolError(" ".join(problems) or f"The worktree {tree.path} could not be removed.")
        _leave(tree, ctx)
        text = f"Back in {ctx.working_dir}. The worktree {tree.path} and its branch {tree.branch} are gone."
        return _said(" ".join([f"Back in {ctx.working_dir}.", *problems]) if problems else text, call, tree)


def _leave(tree: Worktree, ctx: ToolContext) -> None:
    state = ctx.state
    state.worktree = None
    state.working_dir = tree.came_from if tree.came_from.is_dir() else ctx.workspace
    state.extra_roots[:] = [root for root in state.extra_roots if root != tree.path]


def _said(text: str, call: ExitWorktreeInput, tree: Worktree) -> ToolResult:
    return ToolResult.success(text).with_metadata(
        type="exit_worktree", action=call.action, worktree_path=str(tree.path), branch=tree.branch,
        original_cwd=str(tree.came_from),
    )  # fmt: skip
