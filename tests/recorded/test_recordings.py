"""Recording a turn and playing it again, with the real loop, policy and tools."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import pytest

from cosh_nb import events as e
from cosh_nb import loop, settings
from cosh_nb.agent import Agent, FrontEnd, TurnOptions
from cosh_nb.errors import ProviderError, UsageError
from cosh_nb.providers import recording
from cosh_nb.providers.recorded import RecordedProvider, Recorder, recording_path
from cosh_nb.trust import Trust
from cosh_tools.hosts import Allowed, Refused
from cosh_tools.registry import ToolRegistry
from support.scripted import Broken, Call, Fail, Say, ScriptedProvider


@dataclass
class Answers:
    """A person who answers every question the same way."""

    answer: object
    asked: list = field(default_factory=list)

    async def ask(self, request):
        self.asked.append(request)
        return self.answer


@dataclass
class Scene:
    """One person with one agent in one folder."""

    agent: Agent
    told: list

    async def ask(self, text, **options):
        self.told.clear()
        return await self.agent.run(text, self.told.append, TurnOptions(**options))

    def rows(self):
        return [
            (event.call.name, event.ran, event.result.is_error) for event in self.told if type(event) is e.ToolFinished
        ]

    @property
    def text(self):
        return "".join(event.text for event in self.told if isinstance(event, e.TextDelta))


@pytest.fixture
async def open_scene(tmp_path, monkeypatch):
    monkeypatch.setenv("COSH_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("COSH_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)

    opened = []

    def make(name, provider=None, person=None):
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        front = FrontEnd(**({"permission_handler": person} if person is not None else {}))
        known = settings.load(folder, {}, trust=Trust(tmp_path / "trust.json"))
        registry = ToolRegistry.for_claude().only(["Read", "Write", "Bash"])
        opened.append(Agent(folder, known, front, registry=registry, provider=provider))
        return Scene(opened[-1], [])

    yield make
    for agent in opened:
        await agent.close()


def writes_a_file(folder="."):
    return ScriptedProvider(
        [
            [Say("I write it."), Call("Write", {"file_path": f"{folder}/a.txt", "content": "hello\n"})],
            [Say("It is there.")],
        ]
    )


async def recorded(open_scene, tmp_path, provider=None, prompt="write a.txt", **options):
    file = tmp_path / "author" / "nb.cosh" / "demo.jsonl"
    author = open_scene("author", provider or writes_a_file(), Answers(Allowed()))
    ended = await author.ask(prompt, record=file, **options)
    assert ended.reason == "done"
    return file


async def test_a_turn_is_played_again_and_its_tools_run_for_real(open_scene, tmp_path):
    file = await recorded(open_scene, tmp_path)
    student = open_scene("student", person=Answers(Allowed()))

    ended = await student.ask("write a.txt", replay=file)

    assert ended.reason == "done"
    assert student.text == "I write it.It is there."
    assert (tmp_path / "student" / "a.txt").read_text() == "hello\n"
    assert student.rows() == [("Write", True, False)]


async def test_paths_of_the_author_are_not_in_the_file_and_lead_to_the_student(open_scene, tmp_path):
    author = tmp_path / "author"
    file = await recorded(open_scene, tmp_path, writes_a_file(str(author)))
    student = open_scene("student", person=Answers(Allowed()))

    await student.ask("write a.txt", replay=file)

    assert str(tmp_path) not in file.read_text()
    assert (tmp_path / "student" / "a.txt").read_text() == "hello\n"


async def test_a_request_that_differs_fails_and_shows_the_difference(open_scene, tmp_path):
    file = await recorded(open_scene, tmp_path, prompt="write a.txt\nwith hello")
    student = open_scene("student", person=Answers(Allowed()))

    ended = await student.ask("write a.txt\nwith goodbye", replay=file)

    assert ended.reason == "error"
    assert "not in the recording demo" in ended.error
    assert "  write a.txt\n- with hello\n+ with goodbye" in ended.error
    assert not (tmp_path / "student" / "a.txt").exists()


async def test_space_and_line_ends_are_no_difference(open_scene, tmp_path):
    file = await recorded(open_scene, tmp_path, prompt="write a.txt\nplease")
    student = open_scene("student", person=Answers(Allowed()))

    ended = await student.ask("\n write a.txt  \r\nplease\n", replay=file)

    assert ended.reason == "done"


async def test_a_call_that_ends_otherwise_than_recorded_stops_the_replay(open_scene, tmp_path):
    file = await recorded(open_scene, tmp_path)
    student = open_scene("student", person=Answers(Refused("not today")))

    ended = await student.ask("write a.txt", replay=file)

    assert ended.reason == "error"
    assert "Write went well when demo was recorded" in ended.error
    assert "not today" in ended.error
    assert "It is there." not in student.text


async def test_results_may_differ_as_long_as_the_call_ends_the_same(open_scene, tmp_path):
    script = ScriptedProvider([[Call("Bash", {"command": "pwd"})], [Say("That is the folder.")]])
    file = await recorded(open_scene, tmp_path, script, "where am I?")
    student = open_scene("student", person=Answers(Allowed()))

    ended = await student.ask("where am I?", replay=file)

    assert ended.reason == "done"
    assert student.text == "That is the folder."


async def test_recorded_results_stand_in_for_the_tools(open_scene, tmp_path):
    file = await recorded(open_scene, tmp_path)
    person = Answers(Refused())
    student = open_scene("student", person=person)

    ended = await student.ask("write a.txt", replay=file, replay_tools=True)

    assert ended.reason == "done"
    assert student.rows() == [("Write", False, False)]
    assert person.asked == []
    assert not (tmp_path / "student" / "a.txt").exists()


async def test_several_turns_and_a_repeated_one_are_found_by_their_text(open_scene, tmp_path):
    file = tmp_path / "author" / "nb.cosh" / "demo.jsonl"
    script = ScriptedProvider([[Say("first")], [Say("other")], [Say("second")]])
    author = open_scene("author", script)
    for prompt in ("count", "something else", "count"):
        await author.ask(prompt, record=file)
    student = open_scene("student")

    said = []
    for prompt in ("count", "count", "something else", "count", "something else", "count"):
        await student.ask(prompt, replay=file)
        said.append(student.text)

    assert said == ["first", "first", "other", "second", "other", "second"]


async def test_recording_the_same_request_at_once_again_is_a_new_take(open_scene, tmp_path):
    file = tmp_path / "author" / "nb.cosh" / "demo.jsonl"
    author = open_scene("author", ScriptedProvider([[Say("a bad take")], [Say("a good take")]]))
    await author.ask("go", record=file)
    await author.ask("go", record=file)

    assert [turn.prompt for turn in recording.read(file).turns] == ["go"]
    student = open_scene("student")
    await student.ask("go", replay=file)
    assert student.text == "a good take"


async def test_broken_arguments_are_played_as_broken(open_scene, tmp_path):
    script = ScriptedProvider([[Broken("Write")], [Say("sorry")]])
    file = await recorded(open_scene, tmp_path, script, "go")
    student = open_scene("student", person=Answers(Allowed()))

    ended = await student.ask("go", replay=file)

    assert ended.reason == "done"
    assert student.rows() == [("Write", False, True)]


async def test_an_answer_that_failed_is_not_recorded(open_scene, tmp_path):
    file = tmp_path / "author" / "nb.cosh" / "demo.jsonl"
    script = ScriptedProvider([[Say("half"), Fail(ProviderError("It broke."))], [Say("whole")]])
    author = open_scene("author", script)

    await author.ask("go", record=file)
    assert not file.exists()
    await author.ask("go", record=file)

    assert recording.read(file).turns[0].answers[0].blocks[0]["text"] == "whole"


async def test_the_recorder_changes_nothing_of_what_it_records(open_scene, tmp_path):
    file = tmp_path / "author" / "nb.cosh" / "demo.jsonl"
    plain, taped = open_scene("plain", writes_a_file(), Answers(Allowed())), None
    await plain.ask("write a.txt")
    taped = open_scene("author", writes_a_file(), Answers(Allowed()))
    await taped.ask("write a.txt", record=file)

    assert [type(event) for event in taped.told] == [type(event) for event in plain.told]
    assert "recorded as demo" in next(event.label for event in taped.told if isinstance(event, e.TurnStarted))


async def test_a_recording_provider_goes_on_without_a_recorder(open_scene, tmp_path):
    script = ScriptedProvider([[Say("one")], [Say("two")]])
    closed = []

    async def close():
        closed.append(True)

    script.close = close
    author = open_scene("author", script)
    await author.ask("a", record=tmp_path / "x.jsonl")

    assert closed == []
    assert (await author.ask("b")).reason == "done"


def test_texts_of_the_loop_are_no_requests():
    assert loop.RESUME.startswith(recording._GOES_ON)


# -- who may allow what ------------------------------------------------------------------------------------------------


async def test_where_nobody_can_be_asked_declared_rules_allow_the_recorded_call(open_scene, tmp_path):
    file = await recorded(open_scene, tmp_path, allowed_tools="Write")
    student = open_scene("student")

    ended = await student.ask("write a.txt", replay=file)

    assert ended.reason == "done"
    assert (tmp_path / "student" / "a.txt").exists()
    started = next(event for event in student.told if isinstance(event, e.ToolStarted))
    assert started.decided == "the recording demo allowed it once"


async def test_a_declared_command_needs_no_rule_for_what_it_only_reads(open_scene, tmp_path):
    (tmp_path / "author").mkdir()
    (tmp_path / "student").mkdir()
    for name in ("author", "student"):
        (tmp_path / name / "a.txt").write_text(f"of {name}\n")
    script = ScriptedProvider([[Call("Bash", {"command": "cat a.txt"})], [Say("done")]])
    file = await recorded(open_scene, tmp_path, script, "go", allowed_tools="Bash(cat a.txt)")
    student = open_scene("student")

    assert (await student.ask("go", replay=file)).reason == "done"
    assert student.rows() == [("Bash", True, False)]


async def test_a_recording_without_rules_allows_nothing(open_scene, tmp_path):
    file = await recorded(open_scene, tmp_path)
    student = open_scene("student")

    ended = await student.ask("write a.txt", replay=file)

    assert ended.reason == "error"
    assert not (tmp_path / "student" / "a.txt").exists()


async def test_a_person_who_is_there_is_asked_whatever_the_recording_declares(open_scene, tmp_path):
    file = await recorded(open_scene, tmp_path, allowed_tools="Write")
    person = Answers(Refused("no"))
    student = open_scene("student", person=person)

    ended = await student.ask("write a.txt", replay=file)

    assert len(person.asked) == 1
    assert ended.reason == "error"


async def test_declared_rules_do_not_reach_what_always_asks(open_scene, tmp_path):
    script = ScriptedProvider([[Call("Write", {"file_path": ".env", "content": "KEY=1\n"})], [Say("done")]])
    file = await recorded(open_scene, tmp_path, script, "go", allowed_tools="Write")
    student = open_scene("student")

    ended = await student.ask("go", replay=file)

    assert ended.reason == "error"
    assert not (tmp_path / "student" / ".env").exists()


async def test_declared_rules_are_worth_nothing_to_another_provider(open_scene, tmp_path):
    await recorded(open_scene, tmp_path, allowed_tools="Write")
    student = open_scene("author", writes_a_file())

    await student.ask("write a.txt again")

    assert student.rows() == [("Write", False, True)]


async def test_a_deny_rule_of_the_person_holds_in_a_replay(open_scene, tmp_path):
    file = await recorded(open_scene, tmp_path, allowed_tools="Write")
    student = open_scene("student")

    ended = await student.ask("write a.txt", replay=file, disallowed_tools="Write")

    assert ended.reason == "error"
    assert not (tmp_path / "student" / "a.txt").exists()


# -- files that are not as they should be ----------------------------------------------------------------------------


async def test_a_recording_that_is_cut_off_says_where(open_scene, tmp_path):
    file = await recorded(open_scene, tmp_path)
    whole = file.read_text()
    file.write_text(whole[: len(whole) - 40])

    with pytest.raises(ProviderError, match=r"damaged or cut off at line 2\. Record it again"):
        RecordedProvider(file)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is empty"),
        ("hello", "damaged or cut off at line 1"),
        ('{"kind": "session"}\n', "is not a recording"),
        ('{"kind": "recording", "version": 99}\n', "version 99, and this cosh_nb reads version 1"),
        ('{"kind": "recording", "version": 1}\n[]\n', "cut off at line 2"),
        ('{"kind": "recording", "version": 1}\n{"kind": "turn"}\n', "is damaged"),
        (
            '{"kind": "recording", "version": 1}\n{"kind": "turn", "prompt": "a", "answers": [{"blocks": [1]}]}\n',
            "damaged",
        ),
        ('{"kind": "recording", "version": 1}\n{"kind": "turn", "prompt": "a", "answers": 3}\n', "is damaged"),
    ],
)
def test_a_file_that_is_no_recording_is_refused_in_a_sentence(tmp_path, text, says):
    file = tmp_path / "x.jsonl"
    file.write_text(text)

    with pytest.raises(ProviderError, match=says):
        RecordedProvider(file)


def test_a_recording_that_is_not_there_says_how_to_make_it(tmp_path):
    with pytest.raises(ProviderError, match="Make one: %%cosh --record x"):
        RecordedProvider(tmp_path / "x.jsonl")


async def test_a_recording_that_ends_too_early_says_so(open_scene, tmp_path):
    file = await recorded(open_scene, tmp_path)
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    del lines[1]["answers"][1:]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    student = open_scene("student", person=Answers(Allowed()))

    ended = await student.ask("write a.txt", replay=file)

    assert ended.reason == "error"
    assert "ends after 1 answers" in ended.error


async def test_a_folder_that_cannot_be_written_ends_the_turn_in_a_sentence(open_scene, tmp_path):
    (tmp_path / "file").write_text("")
    author = open_scene("author", ScriptedProvider([[Say("one")]]))

    ended = await author.ask("go", record=tmp_path / "file" / "nb.cosh" / "demo.jsonl")

    assert ended.reason == "error"
    assert "cannot be written" in ended.error


# -- where recordings are -------------------------------------------------------------------------------------------


def test_a_recording_stands_beside_its_notebook(tmp_path):
    assert recording_path("demo", tmp_path / "a b.ipynb", tmp_path) == tmp_path / "a b.cosh" / "demo.jsonl"


def test_without_a_known_notebook_the_only_recording_of_that_name_is_meant(tmp_path):
    file = tmp_path / "lesson.cosh" / "demo.jsonl"
    file.parent.mkdir()
    file.write_text("")

    assert recording_path("demo", None, tmp_path) == file
    assert recording_path("new", None, tmp_path) == tmp_path / "cosh.cosh" / "new.jsonl"


def test_two_recordings_of_one_name_are_not_chosen_between(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.cosh").mkdir()
        (tmp_path / f"{name}.cosh" / "demo.jsonl").write_text("")

    with pytest.raises(UsageError, match=r"a\.cosh/demo\.jsonl, b\.cosh/demo\.jsonl"):
        recording_path("demo", None, tmp_path)


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".hidden", "a\nb"])
def test_a_name_that_leads_elsewhere_is_refused(tmp_path, name):
    with pytest.raises(UsageError, match="no name for a recording"):
        recording_path(name, None, tmp_path)


def test_the_label_says_that_no_model_answers(tmp_path):
    file = tmp_path / "x.jsonl"
    recording.write(file, recording.Recording(model="claude-9"))

    assert RecordedProvider(file).label == "recording x, made with claude-9; no model is asked"
    assert Recorder(ScriptedProvider([]), file).label == "scripted-1, recorded as x"
