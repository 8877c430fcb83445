from pathlib import Path

import pytest

from cosh_nb.skills import Skills


def loaded(folder: Path, body: str, arguments: str):
    skill = folder / ".claude" / "skills" / "count" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text(f"---\ndescription: counts\n---\n{body}\n")
    skills = Skills(folder, trusted=True)
    skills.refresh()
    return skills.load("count", arguments)


def test_arguments_fill_the_commands_of_a_skill(tmp_path):
    result = loaded(tmp_path, "Lines of $1: !`wc -l $1`", "a.txt")

    assert result.metadata["commands"] == ["wc -l a.txt"]
    assert result.content.strip() == "Lines of a.txt: !`wc -l a.txt`"


@pytest.mark.parametrize(
    ("body", "arguments"),
    [
        ("Count.", "!`touch x`"),
        ("Count $ARGUMENTS now.", "!`touch x`"),
        ("Count $1$2", "! '`touch x`'"),
        ("Count $ARGUMENTS, then !`wc -l a`", "!`touch x"),
        ("Count !`wc -l $ARGUMENTS`", "a` !`touch x"),
    ],
)
def test_arguments_never_become_commands_of_their_own(tmp_path, body, arguments):
    commands = loaded(tmp_path, body, arguments).metadata["commands"]

    assert [command for command in commands if not command.startswith("wc -l a")] == []
    assert len(commands) == body.count("!`")
