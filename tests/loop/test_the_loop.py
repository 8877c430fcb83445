"""Turns against a scripted model and real tools of the contract."""

import asyncio
from dataclasses import dataclass, field

import pytest
from pydantic import Field

from cosh_nb import events as e
from cosh_nb.errors import ProviderError, StreamCut
from cosh_nb.loop import Turn, run_turn
from cosh_nb.messages import Message, user
from cosh_nb.providers.base import Request
from cosh_nb.session import repair
from cosh_tools.context import SessionState
from cosh_tools.contract import PermissionLevel, Tool, ToolContext, ToolInput, ToolKind, ToolResult, Writes
from cosh_tools.gate import Gate
from cosh_tools.hosts import Allowed, Refused
from cosh_tools.registry import ToolRegistry
from cosh_tools.runner import Runner
from support.scripted import Broken, Call, End, Fail, Hang, Say, ScriptedProvider, sent_results


class NoteInput(ToolInput):
    text: str = Field(description="What to note")
    times: int = Field(default=1, description="How often")


class Note(Tool[NoteInput]):
    name = "Note"
    description = "Notes a text"
    kind, permission_level = ToolKind.OTHER, PermissionLevel.NONE
    concurrency_safe = True

    async def execute(self, call, ctx):
        await asyncio.sleep(0)
        return ToolResult.success(f"noted {call.text}" * call.times)


class Wait(Tool[NoteInput]):
    name = "Wait"
    description = "Waits for ever"
    kind, permission_level = ToolKind.OTHER, PermissionLevel.NONE
    started = asyncio.Event()

    async def execute(self, call, ctx):
        self.started.set()
        await asyncio.Event().wait()
        return ToolResult.success("never")


class Crash(Tool[NoteInput]):
    name = "Crash"
    description = "Fails"
    kind, permission_level = ToolKind.OTHER, PermissionLevel.NONE

    async def execute(self, call, ctx):
        raise RuntimeError("boom")


class Change(Tool[NoteInput]):
    name = "Change"
    description = "Changes a file"
    kind, permission_level = ToolKind.FILE_EDIT, PermissionLevel.WRITE
    verb = "change"

    def touches(self, call, ctx):
        return [ctx.writes(call.text)]

    async def execute(self, call, ctx):
        return ToolResult.success(f"changed {call.text}")


@dataclass
class Answers:
    """A person who answers in this order."""

    answers: list
    asked: list = field(default_factory=list)

    async def ask(self, request):
        self.asked.append(request)
        return self.answers[len(self.asked) - 1]


@dataclass
class Kept:
    messages: list = field(default_factory=list)

    def add(self, message: Message) -> None:
        self.messages.append(message)


@dataclass
class Scene:
    turn: Turn
    events: list
    provider: ScriptedProvider

    async def play(self, text="go"):
        return await run_turn(self.turn, user(text))

    def of(self, kind):
        return [event for event in self.events if isinstance(event, kind)]


@pytest.fixture
def scene(tmp_path):
    def make(*turns, answers=(), **more):
        events, history = [], Kept()
        provider = ScriptedProvider(turns)
        registry = ToolRegistry([Note(), Wait(), Crash(), Change()])
        ctx = ToolContext(SessionState(tmp_path, tmp_path), permission_handler=Answers(list(answers)))
        turn = Turn(
            provider,
            Runner(registry, ctx, Gate()),
            history,
            lambda messages: Request(messages, tools=registry.definitions()),
            events.append,
            **more,
        )
        turn.runner.gate.watch = lambda request, answer: events.append(
            e.ApprovalAsked(request) if answer is None else e.ApprovalAnswered(request, answer)
        )
        return Scene(turn, events, provider)

    return make


def valid(messages):
    """Every call answered in the next message, nothing answered twice."""
    assert [message.content for message in repair(messages)] == [message.content for message in messages]
    ids = [block["tool_use_id"] for message in messages for block in message.results]
    assert len(ids) == len(set(ids))


async def test_a_plain_answer_ends_the_turn(scene):
    s = scene([Say("hello there")])
    ended = await s.play()
    assert (ended.reason, ended.text, ended.turns) == ("done", "hello there", 1)
    assert "".join(event.text for event in s.of(e.TextDelta)).strip() == "hello there"


async def test_a_call_gets_its_result_and_the_model_goes_on(scene):
    s = scene([Say("I note"), Call("Note", {"text": "a"})], [Say("noted")])
    assert (await s.play()).reason == "done"
    assert sent_results(s.provider.requests[1]) == {"call_0_1": "noted a"}
    valid(s.turn.history.messages)


async def test_arguments_are_coerced_and_wrong_ones_name_the_field(scene):
    s = scene([Call("Note", {"text": "a", "times": "2"}), Call("Note", {"times": "many"})])
    await s.play()
    good, bad = sent_results(s.provider.requests[1]).values()
    assert good == "noted anoted a"
    assert "text is missing" in bad
    assert "times" in bad
    assert "whole number" in bad


async def test_an_unknown_field_is_set_aside_and_said(scene):
    s = scene([Call("Note", {"text": "a", "colour": "red"})])
    await s.play()
    assert "Ignored unknown field: colour" in sent_results(s.provider.requests[1])["call_0_0"]


async def test_an_unknown_tool_is_told_to_the_model(scene):
    s = scene([Call("Nope", {})])
    await s.play()
    assert sent_results(s.provider.requests[1])["call_0_0"].startswith("Unknown tool: Nope")


async def test_a_tool_that_crashes_is_an_error_result(scene):
    s = scene([Call("Crash", {"text": "a"})], [Say("I see")])
    assert (await s.play()).reason == "done"
    assert "boom" in sent_results(s.provider.requests[1])["call_0_0"]


async def test_a_denial_with_a_reason_reaches_the_model_and_the_turn_goes_on(scene):
    s = scene([Call("Change", {"text": "a.py"})], [Say("then not")], answers=[Refused("use altair")])
    assert (await s.play()).reason == "done"
    assert "use altair" in sent_results(s.provider.requests[1])["call_0_0"]
    assert not s.of(e.ToolStarted)


async def test_just_stop_ends_the_turn_and_answers_the_rest(scene):
    s = scene([Call("Change", {"text": "a"}), Call("Change", {"text": "b"})], answers=[Refused(stop=True)])
    assert (await s.play()).reason == "stopped"
    assert len(s.provider.requests) == 1
    valid(s.turn.history.messages)


async def test_questions_come_one_at_a_time_in_call_order(scene):
    s = scene([Call("Change", {"text": "a"}), Call("Change", {"text": "b"})], answers=[Allowed(), Allowed()])
    await s.play()
    kinds = [
        type(event).__name__
        for event in s.events
        if isinstance(event, e.ApprovalAsked | e.ApprovalAnswered | e.ToolFinished)
    ]
    assert kinds == ["ApprovalAsked", "ApprovalAnswered", "ToolFinished"] * 2


async def test_an_input_that_a_person_corrected_is_what_runs(scene):
    s = scene([Call("Change", {"text": "a"})], answers=[Allowed(input={"text": "b"})])
    await s.play()
    assert sent_results(s.provider.requests[1])["call_0_0"] == "changed b"


async def test_safe_calls_in_a_row_run_together_and_answer_in_order(scene):
    s = scene([Call("Note", {"text": str(n)}) for n in range(12)])
    await s.play()
    assert list(sent_results(s.provider.requests[1]).values()) == [f"noted {n}" for n in range(12)]
    started = [type(event) is e.ToolStarted for event in s.events if isinstance(event, e.ToolStarted | e.ToolFinished)]
    assert started[:10] == [True] * 10
    assert started[10] is False


async def test_an_interrupt_while_streaming_keeps_the_text_and_a_valid_history(scene):
    s = scene([Say("half an answer"), Hang()])
    task = asyncio.create_task(s.play())
    await asyncio.wait_for(s.provider.hanging.wait(), 5)
    task.cancel()
    ended = await task
    assert ended.reason == "interrupted"
    assert "half an answer" in s.turn.history.messages[1].text
    valid(s.turn.history.messages)


async def test_an_interrupt_while_a_tool_runs_answers_every_call(scene):
    Wait.started = asyncio.Event()
    s = scene([Call("Note", {"text": "a"}), Call("Wait", {"text": "w"}), Call("Note", {"text": "b"})])
    task = asyncio.create_task(s.play())
    await asyncio.wait_for(Wait.started.wait(), 5)
    task.cancel()
    assert (await task).reason == "interrupted"
    results = s.turn.history.messages[-1].results
    assert results[0]["content"] == "noted a"
    assert [bool(block.get("is_error")) for block in results] == [False, True, True]
    valid(s.turn.history.messages)


async def test_a_stream_that_is_cut_is_an_error_and_answers_what_was_declared(scene):
    s = scene([Say("so far"), Call("Note", {"text": "a"}), Fail(StreamCut("The answer was cut. Try again."))])
    ended = await s.play()
    assert (ended.reason, ended.error) == ("error", "The answer was cut. Try again.")
    assert s.of(e.Notice)[-1].level == "error"
    assert not s.of(e.ToolStarted)
    valid(s.turn.history.messages)


async def test_broken_arguments_are_never_run_and_three_in_a_row_end_the_turn(scene):
    s = scene([Broken("Note")], [Broken("Note"), Broken("Note")], [Broken("Note")], [Say("never asked")])
    ended = await s.play()
    assert ended.reason == "error"
    assert len(s.provider.requests) == 3
    assert "attempt 2/3" in sent_results(s.provider.requests[2])["call_1_1"]
    valid(s.turn.history.messages)


async def test_a_call_that_can_be_read_resets_the_count(scene):
    good = [Call("Note", {"text": "a"})]
    s = scene([Broken("Note")], [Broken("Note")], good, [Broken("Note")], [Broken("Note")], [Say("fine")])
    assert (await s.play()).reason == "done"


async def test_the_same_call_three_times_is_advised(scene):
    same = [Call("Note", {"text": "a"})]
    s = scene(same, same, same)
    await s.play()
    assert "3 times in a row" in sent_results(s.provider.requests[3])["call_2_0"]
    assert "in a row" not in sent_results(s.provider.requests[2])["call_1_0"]


async def test_an_answer_that_met_the_limit_is_continued_three_times(scene):
    cut = [Say("part"), End("max_tokens")]
    s = scene(cut, cut, cut, cut, [Say("never asked")])
    ended = await s.play()
    assert ended.reason == "max_tokens"
    assert len(s.provider.requests) == 4


async def test_a_paused_answer_is_asked_again_as_it_is(scene):
    s = scene([Say("searching"), End("pause_turn")], [Say("found")])
    assert (await s.play()).reason == "done"
    assert s.provider.requests[1].messages[-1].role == "assistant"


async def test_a_refusal_ends_the_turn_in_words(scene):
    s = scene([Say("no"), End("refusal")])
    assert (await s.play()).reason == "refused"
    assert s.of(e.Notice)


async def test_the_turn_stops_after_its_limit_of_model_calls(scene):
    s = scene(*[[Call("Note", {"text": str(n)})] for n in range(9)], max_turns=4)
    assert (await s.play()).reason == "max_turns"
    assert len(s.provider.requests) == 4
    valid(s.turn.history.messages)


async def test_what_a_person_types_meanwhile_joins_the_next_request(scene):
    typed = ["and also b"]
    s = scene([Call("Note", {"text": "a"})], pending=lambda: [typed.pop()] if typed else [])
    await s.play()
    assert s.provider.requests[1].messages[-1].text == "and also b"


async def test_a_provider_error_is_a_sentence(scene):
    s = scene([Fail(ProviderError("The key was refused. Set ANTHROPIC_API_KEY."))])
    ended = await s.play()
    assert ended.error == "The key was refused. Set ANTHROPIC_API_KEY."


async def test_a_link_that_is_turned_after_the_approval_stops_the_call(scene, tmp_path):
    inside, outside = tmp_path / "a", tmp_path / "b"
    link = tmp_path / "link"
    inside.touch()
    outside.touch()
    link.symlink_to(inside)

    @dataclass
    class Turns:
        async def ask(self, request):
            assert isinstance(request.touches[0], Writes)
            link.unlink()
            link.symlink_to(outside)
            return Allowed()

    s = scene([Call("Change", {"text": "link"})])
    s.turn.runner.ctx = s.turn.runner.ctx.with_(permission_handler=Turns())
    await s.play()
    assert "was not approved" in sent_results(s.provider.requests[1])["call_0_0"]
