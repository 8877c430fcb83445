"""Plan mode: nothing is changed until a person approves, and then the mode from before is back."""

from __future__ import annotations

from pathlib import Path

import pytest

from cosh_tools.hosts import Allowed, ApprovalAnswer, ApprovalRequest, Refused
from cosh_tools.kinds import PermissionMode
from support.coordination_desk import CoordinationDesk


class Person:
    """Says the same to every question."""

    def __init__(self, answer: ApprovalAnswer) -> None:
        self.asked: list[ApprovalRequest] = []
        self._answer = answer

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
        self.asked.append(request)
        return self._answer


@pytest.mark.parametrize("mode", [PermissionMode.DEFAULT, PermissionMode.ACCEPT_EDITS, PermissionMode.BYPASS])
async def test_the_mode_from_before_comes_back_when_the_plan_is_approved(tmp_path: Path, mode: PermissionMode):
    person = Person(Allowed())
    desk = CoordinationDesk(tmp_path, mode=mode, permission_handler=person)
    entered = await desk("EnterPlanMode", reason="large change")
    assert entered.content.startswith("Entered plan mode: large change")
    assert desk.ctx.permission_mode is PermissionMode.PLAN
    left = await desk("ExitPlanMode", plan="# Do it\n1. x")
    assert not left.is_error
    assert "1. x" in left.content
    assert desk.ctx.permission_mode is mode
    assert [request.call.name for request in person.asked] == ["ExitPlanMode"]
    assert person.asked[0].grants == ()


async def test_a_refusal_keeps_planning_and_its_reason_is_heard(tmp_path):
    desk = CoordinationDesk(tmp_path, permission_handler=Person(Refused("too big")))
    await desk("EnterPlanMode")
    left = await desk("ExitPlanMode", summary="all at once")
    assert left.is_error
    assert "too big" in left.content
    assert desk.ctx.permission_mode is PermissionMode.PLAN


async def test_nobody_to_ask_keeps_planning(tmp_path):
    desk = CoordinationDesk(tmp_path)
    await desk("EnterPlanMode")
    assert (await desk("ExitPlanMode", plan="x")).is_error
    assert desk.ctx.permission_mode is PermissionMode.PLAN


async def test_an_allow_rule_does_not_approve_plans_that_a_bypass_would(tmp_path):
    desk = CoordinationDesk(tmp_path, mode=PermissionMode.BYPASS)
    await desk("EnterPlanMode")
    assert (await desk("ExitPlanMode", plan="x")).is_error


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("Bash", {"command": "ls"}),
        ("Write", {"file_path": "x", "content": "y"}),
        ("Edit", {"file_path": "a", "old_string": "a", "new_string": "b"}),
        ("Task", {"description": "d", "prompt": "p"}),
        ("EnterWorktree", {"branch": "x"}),
        ("EnterWorktree", {"branch": "x", "setup_command": "touch y"}),
        ("Config", {"setting": "model", "value": "x"}),
    ],
)
async def test_no_road_to_a_change_is_open_in_plan_mode(tmp_path, tool, arguments):
    desk = CoordinationDesk(tmp_path, mode=PermissionMode.BYPASS, permission_handler=Person(Allowed()))
    desk.file("a", "a")
    await desk("EnterPlanMode")
    before = sorted(tmp_path.rglob("*"))
    assert (await desk(tool, **arguments)).is_error
    assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / "a").read_text() == "a"


async def test_reading_goes_on_in_plan_mode(tmp_path):
    desk = CoordinationDesk(tmp_path)
    desk.file("a.txt", "hello")
    await desk("EnterPlanMode")
    assert "hello" in (await desk("Read", file_path="a.txt")).content
    assert not (await desk("TodoWrite", todos=[{"content": "x", "status": "pending"}])).is_error


async def test_entering_twice_and_leaving_from_outside_are_said(tmp_path):
    desk = CoordinationDesk(tmp_path, permission_handler=Person(Allowed()))
    assert "is not on" in (await desk("ExitPlanMode", plan="x")).content
    await desk("EnterPlanMode")
    assert "on already" in (await desk("EnterPlanMode")).content


async def test_the_signals_for_the_host_are_in_the_metadata(tmp_path):
    desk = CoordinationDesk(tmp_path, mode=PermissionMode.DEFAULT, permission_handler=Person(Allowed()))
    assert (await desk("EnterPlanMode", reason="r")).metadata["type"] == "enter_plan_mode"
    left = (await desk("ExitPlanMode", plan="p")).metadata
    assert (left["type"], left["plan"], left["mode"]) == ("exit_plan_mode", "p", "default")
