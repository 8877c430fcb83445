"""A long conversation goes on: its beginning becomes a summary, nothing is split, nothing is lost on disk."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosh_nb.agent import Agent, FrontEnd
from cosh_nb.compact import compact, cut, is_full
from cosh_nb.errors import ContextOverflow
from cosh_nb.events import Notice, Usage
from cosh_nb.messages import Message, result_block, text_block, user
from cosh_nb.session import Session, repair
from cosh_nb.settings import load
from cosh_tools.kinds import PermissionMode
from cosh_tools.results import ToolResult
from support.scripted import Call, Fail, Say, ScriptedProvider


@pytest.fixture
def work(tmp_path, monkeypatch):
    for name in ("COSH_DATA_DIR", "COSH_CACHE_DIR", "CLAUDE_CONFIG_DIR", "HOME"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


class Model(ScriptedProvider):
    """A scripted provider that counts as a language model, so that it is asked for the summary."""


def agent_for(work, *turns):
    provider = Model(list(turns), name="model")
    return Agent(work, load(work, {}), FrontEnd(), mode=PermissionMode.BYPASS, provider=provider), provider


def asked(request):
    return request.messages[-1].text


async def talk(agent, times):
    for number in range(times):
        await agent.run(f"question {number}", lambda _event: None)


async def test_a_request_that_does_not_fit_is_sent_again_with_a_summary(work):
    turns = [[Say(f"answer {number}")] for number in range(8)]
    agent, provider = agent_for(work, *turns, [Fail(ContextOverflow("too long"))], [Say("SUMMARY")], [Say("at last")])
    await talk(agent, 8)
    events = []
    ended = await agent.run("the last question", events.append)

    assert (ended.reason, ended.text) == ("done", "at last")
    assert "question 0" in asked(provider.requests[9])
    assert provider.requests[9].tools == ()
    final = provider.requests[10].messages
    assert "SUMMARY" in final[0].text
    assert final[-1].text == "the last question"
    assert len(final) < 10
    assert any(isinstance(event, Notice) and "summarised" in event.text for event in events)
    await agent.close()


async def test_the_file_keeps_everything_and_a_resumed_session_is_the_short_one(work):
    turns = [[Say(f"answer {number}")] for number in range(8)]
    agent, _ = agent_for(work, *turns, [Say("SUMMARY")])
    await talk(agent, 8)
    before = [message.text for message in agent.session.messages]
    assert await agent.compact("keep the numbers")
    short = [message.content for message in agent.session.messages]
    await agent.close()

    again = Session.resume(work, agent.session.id)
    assert [message.content for message in again.messages] == short
    stored = again.file.read_text()
    assert all(text in stored for text in before)
    again.close()


async def test_what_the_person_names_is_asked_for_and_the_todo_list_is_carried(work):
    agent, provider = agent_for(work, *[[Say("ok")] for _ in range(8)], [Say("SUMMARY")])
    await talk(agent, 8)
    agent.session.store("todos", [{"id": "1", "content": "paint it", "status": "pending"}])
    await agent.compact("keep the colour codes")
    assert "keep the colour codes" in asked(provider.requests[8])
    assert "paint it" in agent.session.messages[0].text
    await agent.close()


async def test_a_summary_that_fails_costs_no_turn(work):
    agent, _ = agent_for(work, *[[Say("ok")] for _ in range(8)], [Fail(ContextOverflow("no"))], [Say("fine")])
    await talk(agent, 8)
    agent._last_usage = Usage(input=10_000_000)
    events = []
    ended = await agent.run("go on", events.append)
    assert (ended.reason, ended.text) == ("done", "fine")
    assert any(isinstance(event, Notice) and event.level == "warning" for event in events)
    await agent.close()


async def test_a_short_conversation_is_left_alone(work):
    agent, _ = agent_for(work, [Say("ok")])
    await talk(agent, 1)
    assert not await agent.compact()
    await agent.close()


async def test_a_nearly_full_window_is_compacted_before_the_next_request(work):
    (work / "a").write_text("x")
    calls = [[Call("Read", {"file_path": "a"})] for _ in range(10)]
    agent, provider = agent_for(work, *calls, [Say("SUMMARY")], [Say("done")])
    shortened = agent._shorten

    async def nearly_full(provider_, usage, overflow, emit):
        return await shortened(
            provider_, Usage(input=10_000_000) if len(provider.requests) == 10 else usage, overflow, emit
        )

    agent._shorten = nearly_full
    ended = await agent.run("read it often", lambda _event: None)
    assert ended.text == "done"
    messages = provider.requests[-1].messages
    assert [m.content for m in repair(messages)] == [m.content for m in messages]
    assert "SUMMARY" in messages[0].text
    await agent.close()


@pytest.mark.parametrize(
    ("used", "window", "full"),
    [(Usage(input=1_000), 200_000, False), (Usage(cache_read=140_000), 200_000, True), (Usage(input=9), None, False)],
)
def test_the_cache_counts_too(used, window, full):
    assert is_full(used, window, 32_000) is full


PIECES = st.lists(st.sampled_from(["ask", "answer", "call"]), min_size=0, max_size=40)


@given(PIECES, st.integers(1, 12))
async def test_a_call_is_never_split_from_its_result(pieces, kept):
    messages = []
    for number, piece in enumerate(pieces):
        if piece == "ask":
            messages.append(user(f"question {number}"))
        elif piece == "answer":
            messages.append(Message("assistant", (text_block(f"answer {number}"),)))
        else:
            messages.append(Message("assistant", ({"type": "tool_use", "id": f"c{number}", "name": "X", "input": {}},)))
            messages.append(Message("user", (result_block(f"c{number}", ToolResult.success("r")),)))
    made = await compact(ScriptedProvider([]), messages, {}, kept=kept)
    if made is None:
        assert cut(messages, kept) < 2
        return
    assert made.messages[0].role == "user"
    assert [m.content for m in repair(made.messages)] == [m.content for m in made.messages]
    assert len(made.messages) >= min(kept, len(messages))
