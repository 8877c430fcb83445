"""Commands that show work in progress: plan, todos, tasks, agents, schedule."""

from __future__ import annotations

import time

from cosh_nb.agent_types import agent_types
from cosh_nb.commands import Command, Desk
from cosh_nb.commands.tables import cell
from cosh_tools.kinds import PermissionMode

_MARKS = {"completed": "x", "in_progress": "~"}


async def plan(desk: Desk, arguments: str) -> str:
    """Go into plan mode, or leave it."""
    agent = desk.agent
    state = agent.state
    if arguments.strip() == "off":
        back = state.mode_before_plan or PermissionMode.DEFAULT
        agent.set_mode(back)
        state.mode_before_plan = None
        return f"Plan mode is off; the mode is `{back.value}`."
    if state.permission_mode is not PermissionMode.PLAN:
        state.mode_before_plan = state.permission_mode
        agent.set_mode(PermissionMode.PLAN)
    return "Plan mode: the agent reads and plans, and changes nothing. `%cosh /plan off` ends it."


async def todos(desk: Desk, arguments: str) -> str:
    """The todo list."""
    del arguments
    items = desk.agent.session.load("todos") or []
    lines = [f"- [{_MARKS.get(item.get('status'), ' ')}] {item.get('content', '')}" for item in items]
    return "\n".join(lines) or "The todo list is empty."


async def tasks(desk: Desk, arguments: str) -> str:
    """Tasks, and what runs in the background."""
    del arguments
    agent = desk.agent
    stored = agent.session.load("tasks") or {}
    every = stored.values() if isinstance(stored, dict) else stored
    lines = [
        f"- `{str(task.get('id', ''))[:8]}` {task.get('subject', '')}: {task.get('status', '')}"
        for task in every
        if isinstance(task, dict)
    ]
    for job in agent.jobs.jobs():
        seconds = (job.ended or time.time()) - job.started
        lines.append(f"- `{job.id}` {job.kind} “{job.title}”: {job.status}, {seconds:.0f} s")
    return "\n".join(lines) or "No task is listed and nothing runs in the background."


async def agents(desk: Desk, arguments: str) -> str:
    """The kinds of sub-agents."""
    del arguments
    agent = desk.agent
    kinds, problems = agent_types(agent.workspace, trusted=agent.settings.trusted)
    rows = [f"| `{kind.name}` | {kind.source} | {kind.access} | {cell(kind.description)} |" for kind in kinds.values()]
    told = ["", *(f"- {problem}" for problem in problems)] if problems else []
    return "\n".join(["| agent | from | may | what it is for |", "|---|---|---|---|", *rows, *told])


async def cron(desk: Desk, arguments: str) -> str:
    """The scheduled prompts."""
    del arguments
    jobs = desk.agent.schedule.all()
    rows = [
        f"| `{job['id']}` | {job['human']} | {job.get('next', '')} | {'yes' if job['durable'] else 'no'} | "
        f"{cell(str(job['prompt']))} |"
        for job in jobs
    ]
    if not rows:
        return "Nothing is scheduled. Ask for it in plain words, for example: every morning at 9, summarise new files."
    return "\n".join(["| job | when | next | kept on disk | prompt |", "|---|---|---|---|---|", *rows])


COMMANDS = (
    Command("plan", "Goes into plan mode (read-only); off leaves it.", plan, "[off]", ("off",)),
    Command("todos", "Shows the todo list.", todos),
    Command("tasks", "Shows tasks and what runs in the background.", tasks),
    Command("agents", "Lists the kinds of sub-agents.", agents),
    Command("cron", "Lists the scheduled prompts.", cron),
)
