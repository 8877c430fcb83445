"""Options, commands and prompts."""

import pytest

from cosh_nb.errors import UsageError
from cosh_nb.typed import LIMIT, attached, fill, parse


def test_a_cell_is_the_prompt():
    assert parse("", "fix the plot\n").prompt == "fix the plot"


def test_options_come_first():
    typed = parse("--mode plan --allowed-tools 'Read, Bash(git log --oneline:*)' -b", "go")
    assert typed.options == {"mode": "plan", "allowed_tools": "Read, Bash(git log --oneline:*)", "background": True}


def test_parentheses_hold_a_rule_together_without_quotes():
    assert (
        parse("--allowed-tools Bash(git status:*),Edit do it", None).options["allowed_tools"]
        == "Bash(git status:*),Edit"
    )
    assert parse("--allowed-tools Bash(git status:*),Edit do it", None).prompt == "do it"


def test_a_command_stands_in_the_line_or_alone_in_the_cell():
    assert (parse("/mode plan", None).command, parse("/mode plan", None).arguments) == ("mode", "plan")
    assert parse("", "/cost\n").command == "cost"


@pytest.mark.parametrize("text", ["/home/me/x.csv is broken", "/tmp"])
def test_a_path_is_no_command(text):
    typed = parse(text, None)
    assert typed.command in ("", "tmp")
    if "home" in text:
        assert typed.prompt == text


def test_words_above_code_ask_about_that_code():
    assert parse("why does this fail", "1/0").prompt == "why does this fail\n\n```python\n1/0\n```"


@pytest.mark.parametrize(("line", "cell"), [("", ""), ("", "  \n\n"), ("--mode plan", ""), ("", None)])
def test_nothing_to_do_says_how_to_begin(line, cell):
    with pytest.raises(UsageError, match="/help"):
        parse(line, cell)


def test_an_unknown_option_lists_the_options():
    with pytest.raises(UsageError, match="--allowed-tools"):
        parse("--colour red", "x")


def test_an_option_without_its_value_shows_one():
    with pytest.raises(UsageError, match="--mode plan"):
        parse("--mode", "")


def test_a_prompt_that_is_too_long_says_what_to_do():
    with pytest.raises(UsageError, match="@path"):
        parse("", "x" * (LIMIT + 1))


def test_only_names_that_exist_are_filled():
    text = r"use {name}, not {other}; {'a': 1}, {{name}}, \frac{a}{b}, {name!r} and {}"
    assert fill(text, {"name": 5}) == r"use 5, not {other}; {'a': 1}, {{name}}, \frac{a}{b}, {name!r} and {}"


def test_a_long_value_is_cut():
    assert len(fill("{x}", {"x": "y" * 100_000})) < 5_000


def test_only_files_that_exist_are_attached(tmp_path):
    (tmp_path / "a.csv").touch()
    (tmp_path / "with space.txt").touch()
    text = 'look at @a.csv and @"with space.txt", mail me@a.csv, @property, @nope.csv'
    assert [path.name for path in attached(text, lambda name: tmp_path / name)] == ["a.csv", "with space.txt"]
