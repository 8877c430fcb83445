"""Making and removing worktrees, for the tools and for agents that work in one of their own."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path

from cosh_tools.context import Worktree
from cosh_tools.results import ToolError
from cosh_tools.worktree.git import git, must, work_in

_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}(?:/[A-Za-z0-9._-]{1,64})*")


async def make(start: Path, branch: str, path: Path | None = None) -> Worktree:
    """A new worktree on a new branch at HEAD. Raises ToolError with what is in the way."""
    if not _NAME.fullmatch(branch) or ".." in branch or branch.endswith((".lock", "/", ".")):
        raise ToolError(f"{branch!r} cannot be a branch. Use letters, digits, dots, dashes and underscores.")
    top = await git(start, "rev-parse", "--show-toplevel")
    if top.code != 0:
        raise ToolError(f"{start} is not in a git repository, so no worktree can be made of it. Work in place.")
    repository = Path(top.out)
    place = path or repository / ".claude" / "worktrees" / branch.replace("/", "-")
    if await asyncio.to_thread(os.path.lexists, place):
        raise ToolError(f"{place} exists already. Choose another name or path.")
    head = await git(repository, "rev-parse", "--verify", "HEAD")
    if head.code != 0:
        raise ToolError("The repository has no commit yet, and a worktree begins with one. Commit first.")
    if (await git(repository, "rev-parse", "--verify", "--quiet", f"refs/heads/{branch}")).code == 0:
        raise ToolError(f"The branch {branch} exists already. Choose another name.")
    if path is None:
        await _keep_out_of_status(repository)
    await must(repository, "worktree", "add", "-b", branch, str(place), "HEAD")
    real = Path(await asyncio.to_thread(os.path.realpath, place))
    return Worktree(real, branch, repository, head.out, start)


async def remove(tree: Worktree) -> list[str]:
    """Take a worktree and its branch away, whatever is in them; sentences on what would not go."""
    problems = []
    gone = await git(tree.repository, "worktree", "remove", "--force", "--force", str(tree.path))
    if gone.code != 0:
        problems.append(f"The worktree {tree.path} could not be removed: {gone.err}")
        return problems
    branch = await git(tree.repository, "branch", "-D", tree.branch)
    if branch.code != 0:
        problems.append(f"The branch {tree.branch} could not be removed: {branch.err}")
    return problems


async def remove_if_unused(tree: Worktree) -> str:
    """Take it away where nothing is in it; otherwise say what is and where it stays."""
    work = await work_in(tree.path, tree.head)
    if work.none:
        problems = await remove(tree)
        return " ".join(problems)
    return f"The worktree {tree.path} (branch {tree.branch}) was kept: it holds {work.words}."


async def _keep_out_of_status(repository: Path) -> None:
    """The folder of worktrees is not work of the repository: git is told so in its own exclude file."""
    folder = Path(await must(repository, "rev-parse", "--path-format=absolute", "--git-common-dir"))
    file = folder / "info" / "exclude"
    line = "/.claude/worktrees/"
    text = file.read_text("utf-8", "replace") if file.exists() else ""
    if line not in text.splitlines():
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"{text}{'' if not text or text.endswith(chr(10)) else chr(10)}{line}\n", "utf-8")
