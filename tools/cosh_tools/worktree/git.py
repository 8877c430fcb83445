"""The few git commands that worktrees take. Whatever git cannot say counts as "there may be work in it"."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from pathlib import Path

from cosh_tools.results import ToolError

_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Said:
    """What git wrote and its exit code."""

    code: int
    out: str
    err: str


async def git(folder: Path, *args: str) -> Said:
    """Run git in a folder: no hooks, no questions, bounded in time. Raises ToolError where git is missing."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        child = await asyncio.create_subprocess_exec(
            "git", "-c", f"core.hooksPath={os.devnull}", "-C", str(folder), *args,
            env={**env, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}, start_new_session=True,
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
    except FileNotFoundError:
        raise ToolError("git was not found. Is it installed and on PATH?") from None
    try:
        async with asyncio.timeout(_SECONDS):
            out, err = await child.communicate()
    except (TimeoutError, asyncio.CancelledError) as stopped:
        child.kill()
        await child.wait()
        if isinstance(stopped, asyncio.CancelledError):
            raise
        raise ToolError(f"`git {' '.join(args[:2])}` did not end within {_SECONDS:.0f} s.") from None
    return Said(child.returncode or 0, out.decode("utf-8", "replace").strip(), err.decode("utf-8", "replace").strip())


async def must(folder: Path, *args: str) -> str:
    """Run git and give back what it wrote; raises ToolError with git's own words where it fails."""
    said = await git(folder, *args)
    if said.code != 0:
        raise ToolError(f"git {' '.join(args[:2])} failed: {said.err or said.out or f'exit code {said.code}'}")
    return said.out


@dataclass(frozen=True, slots=True)
class Work:
    """What a worktree holds that is nowhere else."""

    files: int
    commits: int
    unknown: str = ""
    """Why git could not tell; then there may be anything."""

    @property
    def none(self) -> bool:
        """Whether nothing would be lost."""
        return not (self.files or self.commits or self.unknown)

    @property
    def words(self) -> str:
        """For a sentence."""
        if self.unknown:
            return f"git could not say what is in it ({self.unknown})"
        parts = []
        if self.files:
            parts.append(f"{self.files} changed or new file{'s' * (self.files != 1)}")
        if self.commits:
            parts.append(f"{self.commits} commit{'s' * (self.commits != 1)} of its own")
        return " and ".join(parts) or "nothing of its own"


async def work_in(folder: Path, since: str) -> Work:
    """Changed files and commits after `since`. A failure of git is told, never taken for "nothing"."""
    try:
        changed = await must(folder, "status", "--porcelain", "--untracked-files=all", "--ignore-submodules=none")
        commits = await must(folder, "rev-list", "--count", f"{since}..HEAD")
        return Work(len(changed.splitlines()), int(commits))
    except (ToolError, ValueError) as error:
        return Work(0, 0, str(error))
