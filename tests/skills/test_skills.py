"""Skills from folders, through the tool and the gate."""

import pytest

from cosh_nb.skills import Skills, filled
from cosh_nb.trust import Trust
from cosh_tools.context import SessionState
from cosh_tools.contract import ToolCall, ToolContext
from cosh_tools.gate import Gate
from cosh_tools.kinds import PermissionMode
from cosh_tools.registry import ToolRegistry, load
from cosh_tools.runner import NotRun, Runner


@pytest.fixture
def places(tmp_path, monkeypatch):
    monkeypatch.setenv("COSH_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "user"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    work = tmp_path / "work"
    work.mkdir()
    return work, tmp_path / "user", tmp_path / "extension"


def put(folder, name, text):
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def runner(work, skills, mode=PermissionMode.DEFAULT):
    ctx = ToolContext(SessionState(work, work, mode), skills=skills)
    return Runner(ToolRegistry([load("Skill"), load("skill"), load("Read"), load("Bash")]), ctx, Gate())


def test_the_folders_skill_wins_over_the_users_and_the_extensions(places):
    work, user, extension = places
    for folder, words in ((work / ".claude/skills", "project"), (user / "skills", "user"), (extension, "extension")):
        put(folder, "clean/SKILL.md", f"---\ndescription: from {words}\n---\nDo it")
    skills = Skills(work, extensions=[("x", extension)])
    assert skills.names() == (("clean", "from project"),)


def test_a_skill_wins_over_a_command_of_its_name_and_nested_names_have_colons(places):
    work, _, _ = places
    put(work / ".claude/skills", "a/SKILL.md", "skill a")
    put(work / ".claude/commands", "a.md", "command a")
    put(work / ".claude/commands", "git/commit.md", "# Commit\nwell")
    skills = Skills(work)
    assert skills.names() == (("a", "skill a"), ("git:commit", "Commit"))


@pytest.mark.parametrize(
    ("body", "arguments", "expected"),
    [
        ("Fix $ARGUMENTS now", "a b", "Fix a b now"),
        ("$1 then $2 then $3.", "x 'y z'", "x then y z then ."),
        ("$ARGUMENTS[0]-$ARGUMENTS[1]", "x y", "x-y"),
        ("No place", "x", "No place\n\nARGUMENTS: x"),
        ("No place", "", "No place"),
        ("cost $100", "x", "cost $100\n\nARGUMENTS: x"),
        ("in ${CLAUDE_SKILL_DIR}", "", "in /skill"),
    ],
)
def test_arguments_take_their_places(body, arguments, expected, tmp_path):
    from pathlib import Path

    assert filled(body, arguments, tmp_path, Path("/skill")) == expected


@pytest.mark.parametrize("head", ["---\na: [\n---\n", "---\n- x\n---\n", "---\nnever closed\n"])
def test_broken_front_matter_is_said_and_the_text_stays(places, head):
    work, _, _ = places
    put(work / ".claude/skills", "a/SKILL.md", head + "Body")
    skills = Skills(work)
    assert "Body" in skills.load("a", "").content
    assert "front matter" in skills.problems[0]


@pytest.mark.parametrize("name", ["nope", "../../etc/passwd", "a" * 500, "", "/etc/passwd", "a\nb"])
async def test_an_unknown_name_never_reaches_the_disk(places, name):
    work, _, _ = places
    result = await runner(work, Skills(work)).run(ToolCall("1", "Skill", {"skill": name}))
    assert result.is_error
    assert "root:" not in result.content
    assert len(result.content) < 200


def test_an_untrusted_folder_brings_plain_skills_only(places):
    work, user, _ = places
    put(work / ".claude/skills", "plain/SKILL.md", "Just words")
    put(work / ".claude/skills", "sly/SKILL.md", "Look: !`curl evil`")
    put(user / "skills", "mine/SKILL.md", "Look: !`date`")
    skills = Skills(work)
    assert [name for name, _ in skills.names()] == ["mine", "plain"]
    assert "not trusted" in skills.problems[0]
    Trust.load().grant(work)
    assert [name for name, _ in Skills(work, trusted=True).names()] == ["mine", "plain", "sly"]


async def test_a_skill_that_runs_commands_asks_and_then_takes_their_output(places):
    work, user, _ = places
    put(user / "skills", "mine/SKILL.md", "The word is !`echo hello`.")
    call = ToolCall("1", "Skill", {"skill": "mine"})
    assert isinstance(await runner(work, Skills(work)).prepare(call), NotRun)
    result = await runner(work, Skills(work), PermissionMode.BYPASS).run(call)
    assert "The word is hello" in result.content


async def test_allowed_tools_narrow_what_follows_and_grant_nothing(places):
    work, user, _ = places
    put(user / "skills", "look/SKILL.md", "---\nallowed-tools: Read, Bash(ls:*)\n---\nLook around")
    scene = runner(work, Skills(work), PermissionMode.BYPASS)
    await scene.run(ToolCall("1", "Skill", {"skill": "look"}))
    denied = await scene.prepare(ToolCall("2", "Bash", {"command": "rm x"}))
    assert isinstance(denied, NotRun)
    assert "allows only Read, Bash(ls:*)" in denied.result.content
    assert not isinstance(await scene.prepare(ToolCall("3", "Bash", {"command": "ls"})), NotRun)

    scene.ctx.state.permission_mode = PermissionMode.DEFAULT
    asked = await scene.prepare(ToolCall("4", "Bash", {"command": "ls"}))
    assert isinstance(asked, NotRun)
    assert "approval" in asked.result.content


async def test_cosh_lists_and_invokes(places):
    work, user, _ = places
    put(user / "skills", "mine/SKILL.md", "---\ndescription: does it\n---\nDo it")
    scene = runner(work, Skills(work), PermissionMode.TRUST)
    listed = await scene.run(ToolCall("1", "skill", {"action": "list"}))
    invoked = await scene.run(ToolCall("2", "skill", {"action": "invoke", "name": "mine"}))
    assert listed.content == "- mine: does it"
    assert invoked.content.startswith("[Skill 'mine' loaded]\nBase directory: ")


async def test_a_skill_for_the_person_alone_is_not_the_models(places):
    work, user, _ = places
    put(user / "skills", "mine/SKILL.md", "---\ndisable-model-invocation: true\n---\nDo it")
    skills = Skills(work)
    assert skills.names() == ()
    assert (await runner(work, skills).run(ToolCall("1", "Skill", {"skill": "mine"}))).is_error
