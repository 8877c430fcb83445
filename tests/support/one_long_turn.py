"""A model that asks, plans, hands over, schedules and messages in one turn: for every front end the same."""

from __future__ import annotations

import json
from typing import Any

from support.modelscript import call, text, turn


def results(request: Any) -> list[str]:
    """What the model was told of its latest calls."""
    blocks = request["messages"][-1]["content"]
    return [
        _words(block["content"]) for block in blocks if isinstance(block, dict) and block.get("type") == "tool_result"
    ]


def script(request: Any) -> Any:
    """The main agent's turn step by step, and the helper's, by the messages so far."""
    steps = sum(message["role"] == "assistant" for message in request["messages"])
    if any("look again" in block.get("text", "") for block in request["messages"][-1]["content"]):
        return "the scheduled work is done"
    if "HELPER" in json.dumps(request["messages"][0]):
        return [turn(call("Glob", {"pattern": "*.txt"})), "one file: a.txt"][min(steps, 1)]
    todos = [{"content": "look around", "status": "in_progress"}]
    main = [
        turn(call("AskUserQuestion", {"questions": [{"question": "Which?", "options": ["left", "right"]}]})),
        turn(call("TodoWrite", {"todos": todos}), call("EnterPlanMode", {"reason": "large"})),
        turn(call("ExitPlanMode", {"plan": "1. hand over"})),
        turn(call("Task", {"description": "look", "prompt": "HELPER: look", "subagent_type": "explore"})),
        turn(
            call("CronCreate", {"cron": "0 9 * * 1-5", "prompt": "look again", "durable": True}),
            call("SendMessage", {"to": "nobody", "message": "hello"}),
            call("Brief", {"message": "half way"}),
        ),
        turn(text("All done.")),
    ]
    return main[steps] if steps < len(main) else "more"


def _words(content: Any) -> str:
    return content if isinstance(content, str) else " ".join(block.get("text", "") for block in content)
