"""A session with the coordination tools, a clock that a test turns, and a place for what lasts."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from cosh_tools.agents.inbox import Inbox
from cosh_tools.hosts import AskHost
from cosh_tools.jobs import Jobs
from cosh_tools.registry import load
from support.desk import Desk

NAMES = (
    "AskUserQuestion Bash Brief Config CronCreate CronDelete CronList EnterPlanMode EnterWorktree ExitPlanMode "
    "ExitWorktree SendMessage Sleep Task TaskCreate TaskGet TaskList TaskOutput TaskStop TaskUpdate TodoWrite "
    "ToolSearch ask_user_question todo"
).split()


class TurnedClock:
    """Time that goes on only when a test says so; sleepers wake when their moment comes."""

    def __init__(self, now: datetime) -> None:
        self._now = now
        self._sleepers: list[tuple[datetime, asyncio.Future[None]]] = []

    def now(self) -> datetime:
        return self._now

    async def sleep(self, seconds: float) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sleepers.append((self._plus(seconds), future))
        try:
            await future
        finally:
            self._sleepers = [(due, each) for due, each in self._sleepers if each is not future]

    async def pass_(self, *, step: float = 10.0, **span: float) -> None:
        """Let time go by in steps, with what wakes getting its turn between them."""
        end = self._plus(timedelta(**span).total_seconds())
        while self._utc(self._now) < self._utc(end):
            left = (self._utc(end) - self._utc(self._now)).total_seconds()
            self._now = self._plus(min(step, left))
            await self._wake()

    async def jump(self, **span: float) -> None:
        """The machine was asleep: time went on and nobody saw it."""
        self._now = self._plus(timedelta(**span).total_seconds())
        await self._wake()

    async def _wake(self) -> None:
        await settle()
        for due, future in list(self._sleepers):
            if self._utc(due) <= self._utc(self._now) and not future.done():
                future.set_result(None)
        await settle()

    def _plus(self, seconds: float) -> datetime:
        """Real seconds later, whatever the zone's clocks do meanwhile."""
        return (self._utc(self._now) + timedelta(seconds=seconds)).astimezone(self._now.tzinfo)

    @staticmethod
    def _utc(moment: datetime) -> datetime:
        return moment.astimezone(ZoneInfo("UTC"))


async def settle() -> None:
    """Let everything that can run now run."""
    for _ in range(8):
        await asyncio.sleep(0)


class CoordinationDesk(Desk):
    """The tools of coordination in a folder."""

    def __init__(self, folder: Path, *, person: AskHost | None = None, **context: Any) -> None:
        self.jobs = Jobs()
        self.inbox = Inbox()
        super().__init__(folder, **{"jobs": self.jobs, "inbox": self.inbox, **context})
        if person is not None:
            self.ctx = self.runner.ctx = self.ctx.with_(ask=person)
        for name in NAMES:
            self.runner.registry.add(load(name))
