"""Every hook event, fired by a real session and seen by a hook that records."""

import json

import pytest

from cosh_nb.agent import Agent, FrontEnd
from cosh_nb.settings import load
from cosh_tools.hosts import Allowed
from cosh_tools.kinds import PermissionMode
from support.scripted import Call, Say, ScriptedProvider

EVENTS = [
    "PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "SessionStart", "SessionEnd", "Stop",
    "SubagentStop", "PreCompact", "Notification",
]  # fmt: skip
COMMON = {"session_id", "transcript_path", "cwd", "permission_mode", "hook_event_name"}
FIELDS = {
    "SessionStart": {"source"},
    "UserPromptSubmit": {"prompt"},
    "PreToolUse": {"tool_name", "tool_input", "tool_use_id"},
    "PostToolUse": {"tool_name", "tool_input", "tool_use_id", "tool_response"},
    "PostToolUseFailure": {"tool_name", "tool_input", "tool_use_id", "tool_response", "error"},
    "Notification": {"message", "notification_type"},
    "Stop": {"last_assistant_message", "stop_hook_active"},
    "PreCompact": {"trigger", "custom_instructions"},
    "SessionEnd": {"reason"},
}


class Yes:
    async def ask(self, request):
        return Allowed()


@pytest.fixture
def places(tmp_path, monkeypatch):
    for name in ("COSH_DATA_DIR", "COSH_CACHE_DIR", "CLAUDE_CONFIG_DIR", "HOME"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    work = tmp_path / "work"
    work.mkdir()
    settings = tmp_path / "claude_config_dir" / "settings.json"
    settings.parent.mkdir()
    (tmp_path / "log").mkdir()
    entry = [{"hooks": [{"type": "command", "command": f"cat > {tmp_path}/log/$(date +%s%N)-$$"}]}]
    settings.write_text(json.dumps({"hooks": dict.fromkeys(EVENTS, entry)}))
    return work, tmp_path / "log"


async def test_every_event_is_fired_in_order_with_its_fields(places):
    work, log = places
    provider = ScriptedProvider(
        [
            [Call("Write", {"file_path": "a", "content": "b"}), Call("Read", {"file_path": "missing"})],
            [Call("Task", {"description": "look", "prompt": "look around"})],
            [Say("I looked.")],
            [Say("done")],
            *[[Say("ok")] for _ in range(8)],
        ]
    )
    agent = Agent(work, load(work), FrontEnd(permission_handler=Yes()), mode=PermissionMode.DEFAULT, provider=provider)
    assert (await agent.run("go", lambda _event: None)).reason == "done"
    for number in range(8):
        await agent.run(f"more {number}", lambda _event: None)
    assert await agent.compact()
    await agent.close()

    seen = [json.loads(file.read_text()) for file in sorted(log.iterdir())]
    names = [one["hook_event_name"] for one in seen]
    assert set(names) == set(EVENTS)
    assert names[:2] == ["SessionStart", "UserPromptSubmit"]
    assert names.count("SessionStart") == 1
    first_turn = names[: names.index("Stop") + 1]
    assert first_turn.index("PreToolUse") < first_turn.index("PostToolUse") < first_turn.index("PostToolUseFailure")
    assert first_turn.index("SubagentStop") < first_turn.index("Stop")
    assert names[-2:] == ["PreCompact", "SessionEnd"]
    for one in seen:
        assert set(one) >= COMMON | FIELDS.get(one["hook_event_name"], set()), one["hook_event_name"]
        assert one["cwd"] == str(work)
