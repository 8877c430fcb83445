import pytest
from markdown_it import MarkdownIt

from cosh_nb.commands import table
from cosh_nb.commands.tables import cell, code


def cells_of(row):
    tokens = MarkdownIt().enable("table").parse(f"| a | b |\n|---|---|\n{row}\n")
    return [token.children for token in tokens if token.type == "inline"][2:]


@pytest.mark.parametrize("text", ["a | b", "`", "one `two` | `` three", "`|`", "x\n| y | z |"])
def test_no_text_makes_columns_or_lines_in_a_table(text):
    first, second = cells_of(f"| {code(text)} | {cell(text)} |")

    assert [(part.type, part.content) for part in first] == [("code_inline", " ".join(text.split()))]
    assert second


def test_the_words_of_every_command_are_one_cell_of_the_help():
    for command in table().values():
        first, second = cells_of(f"| {code(command.shown)} | {cell(command.summary, 200)} |")
        assert first[0].content == command.shown
        assert second
        assert len(command.summary) <= 200
