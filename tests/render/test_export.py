"""A conversation as a file: whole, readable, and harmless to whoever opens it."""

from __future__ import annotations

import json
import re

import nbformat
import pytest
from markdown_it import MarkdownIt

from cosh_nb.commands.exporting import _wanted, export
from cosh_nb.errors import UsageError
from cosh_nb.export import WRITERS, About, as_html, as_json, as_markdown, as_notebook, exchanges
from cosh_nb.messages import Message, result_block, text_block, user
from cosh_nb.session import Session
from cosh_tools.results import Media, ToolResult
from render.safe_html import PAYLOADS, words, wrong

PNG = b"\x89PNG\r\n\x1a\n" + b"x" * 40
ABOUT = About("Sales by month", "0123456789", "sonnet", "2026-11-30 13:42")


def call(number, name, **given):
    return {"type": "tool_use", "id": f"c{number}", "name": name, "input": given}


def talk():
    return [
        user("Plot the revenue by month"),
        Message(
            "assistant",
            (
                {"type": "thinking", "thinking": "First the file."},
                text_block("I’ll look at the file."),
                call(1, "Read", file_path="sales.csv"),
                call(2, "Python", code="import pandas as pd\nprint(1)"),
                call(3, "Bash", command="ls\npwd"),
            ),
        ),
        Message(
            "user",
            (
                result_block("c1", ToolResult.success("month,rev_eur")),
                result_block("c2", ToolResult("1", media=(Media("image/png", PNG),))),
                result_block("c3", ToolResult.error("Command exited with code 2\nno such file")),
            ),
        ),
        Message("assistant", (text_block("Done: the mean is $\\bar{x}$.\n\n```python\nx = 1\n```"),)),
        user("Thank you"),
        Message("assistant", (text_block("You’re welcome."),)),
    ]


def test_a_conversation_is_requests_with_what_followed():
    found = exchanges(talk())

    assert [exchange.prompt for exchange in found] == ["Plot the revenue by month", "Thank you"]
    assert [event.kind for event in found[0].events].count("tool_finished") == 3


def test_what_a_person_added_during_a_turn_stays_in_that_turn():
    messages = talk()
    messages[2] = Message("user", (*messages[2].content, text_block("in blue, please")))

    assert len(exchanges(messages)) == 2
    assert "You added: in blue, please" in as_markdown(messages, ABOUT)


def test_markdown_reads_as_a_conversation():
    text = as_markdown(talk(), ABOUT)

    assert text.startswith(
        "# Sales by month\n\nsonnet · 2026-11-30 13:42 · session 01234567\n\n## You\n\n> Plot the revenue"
    )
    assert "- ✓ Read sales.csv\n\n```\nmonth,rev\\_eur".replace("\\_", "_") in text
    assert "```bash\nls\npwd\n```" in text
    assert "- ✗ Ran ls · exit 2: no such file" in text
    assert "$\\bar{x}$" in text


def test_a_fence_of_the_output_cannot_end_the_fence_around_it():
    messages = talk()
    messages[2] = Message("user", (result_block("c1", ToolResult.success("```\nout\n````")),))

    assert "`````\n```\nout\n````\n`````" in as_markdown(messages, ABOUT)


def test_the_page_stands_alone():
    html = as_html(talk(), ABOUT)

    assert "default-src 'none'" in html
    assert not re.search(r"(?:src|href)=[\"']?(?:https?:)?//", html)
    assert 'src="data:image/png;base64,' in html
    assert "Ran ls · exit 2: no such file" in words(html[html.index("<main>") :])


def test_the_notebook_is_valid_and_holds_code_with_its_output():
    book = nbformat.reads(as_notebook(talk(), ABOUT), as_version=4)
    nbformat.validate(book)
    code = [cell for cell in book.cells if cell.cell_type == "code"]

    assert [cell.source for cell in code] == ["import pandas as pd\nprint(1)", "%%bash\nls\npwd"]
    assert code[0].outputs[0].text == "1"
    assert "image/png" in code[0].outputs[1].data
    assert code[1].outputs[0].name == "stderr"
    assert book.cells[1].source == "**You**\n\n> Plot the revenue by month"


def test_json_gives_every_message_back():
    read = json.loads(as_json(talk(), ABOUT))

    assert [message["role"] for message in read["messages"]] == [message.role for message in talk()]
    assert read["messages"][1]["content"] == [dict(block) for block in talk()[1].content]


@pytest.mark.parametrize("payload", PAYLOADS)
def test_nothing_that_acts_survives_in_any_form(payload):
    messages = [
        user(payload),
        Message(
            "assistant",
            (
                text_block(f"{payload}\n\n- {payload}"),
                call(1, payload, **{payload: payload}),
                call(2, "Bash", command=payload),
            ),
        ),
        Message(
            "user", (result_block("c1", ToolResult.success(payload)), result_block("c2", ToolResult.error(payload)))
        ),
    ]
    about = About(payload, payload, payload, payload)
    loose = MarkdownIt("commonmark", {"html": True}).enable("table")  # as a careless viewer would draw it
    pages = [
        as_html(messages, about).partition("<main>")[2].partition("</main>")[0],
        loose.render(as_markdown(messages, about)),
    ]
    book = nbformat.reads(as_notebook(messages, about), as_version=4)
    pages += [loose.render(cell.source) for cell in book.cells if cell.cell_type == "markdown"]

    for page in pages:
        acts = [fault for fault in wrong(page) if not fault.startswith(("<h1>", "<h2>", "<a title>"))]
        assert acts == []


def test_a_huge_conversation_is_bounded_where_it_is_read():
    messages = talk()
    messages[2] = Message("user", (result_block("c1", ToolResult.success("x" * 20_000_000)),))

    assert len(as_markdown(messages, ABOUT)) < 60_000
    assert len(as_html(messages, ABOUT)) < 200_000
    assert len(as_notebook(messages, ABOUT)) < 100_000


class OpenDesk:
    """A desk with a conversation and no model."""

    def __init__(self, workspace, messages):
        self.workspace = workspace
        self.agent = self
        self.provider = None
        self.session = Session("0123456789ab", workspace, messages=list(messages))


@pytest.mark.parametrize("form", WRITERS)
async def test_the_command_writes_each_form(tmp_path, form):
    said = await export(OpenDesk(tmp_path, talk()), f"{form} talk")

    assert f"talk.{form}" in said
    assert "month" in (tmp_path / f"talk.{form}").read_text("utf-8")


async def test_the_command_never_writes_over_a_file(tmp_path):
    (tmp_path / "talk.md").write_text("mine")

    with pytest.raises(UsageError, match="is there already"):
        await export(OpenDesk(tmp_path, talk()), "talk.md")
    assert (tmp_path / "talk.md").read_text() == "mine"


@pytest.mark.parametrize(
    ("words", "says"),
    [("talk.xyz", "does not say a form"), ("md a b", "One file"), ("md no/such/talk.md", "There is no folder")],
)
async def test_the_command_says_what_to_write_instead(tmp_path, words, says):
    with pytest.raises(UsageError, match=says):
        await export(OpenDesk(tmp_path, talk()), words)


async def test_an_empty_conversation_is_not_exported(tmp_path):
    with pytest.raises(UsageError, match="nothing to export"):
        await export(OpenDesk(tmp_path, []), "md")


def test_without_words_it_is_markdown_with_a_name_of_its_own(tmp_path):
    form, file = _wanted("", "0123456789ab", tmp_path)

    assert form == "md"
    assert re.fullmatch(r"cosh-01234567-\d{8}-\d{6}\.md", file.name)
