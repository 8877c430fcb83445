"""read_file, write_file and edit: cosh's parameters, units and texts over the same safety."""

from __future__ import annotations

from pathlib import Path

import pytest

from cosh_tools.registry import ToolRegistry, load
from support.desk import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path, toolset="cosh")


def test_the_parameters_are_exactly_coshs():
    schemas = {name: load(name).input_schema() for name in ("read_file", "write_file", "edit", "grep")}
    assert {name: (list(schema["properties"]), schema.get("required", [])) for name, schema in schemas.items()} == {
        "read_file": (["path", "offset", "limit"], ["path"]),
        "write_file": (["path", "content"], ["path", "content"]),
        "edit": (["path", "old_string", "new_string", "replace_all"], ["path", "old_string", "new_string"]),
        "grep": (["pattern", "path", "include"], ["pattern"]),
    }
    assert schemas["read_file"]["properties"]["offset"]["default"] == 0
    assert schemas["read_file"]["properties"]["limit"]["default"] == 2000
    assert schemas["edit"]["properties"]["replace_all"]["default"] is False
    assert schemas["grep"]["properties"]["path"]["default"] == "."


async def test_read_file_counts_lines_from_zero_and_shows_numbers_from_one(desk: Desk):
    desk.file("a.txt", "a\r\nb\r\nc\r\nd\r\n")
    result = await desk("read_file", path="a.txt", offset=1, limit=2)
    assert result.content == "2\tb\n3\tc\n\n... (1 more lines, 4 total)"
    assert (await desk("read_file", path="a.txt")).content == "1\ta\n2\tb\n3\tc\n4\td\n"


@pytest.mark.parametrize("offset", [0, 4, 400])
async def test_read_file_gives_nothing_for_an_empty_file_or_beyond_the_end(desk: Desk, offset):
    desk.file("a.txt", "" if offset == 0 else "a\nb\nc\nd\n")
    result = await desk("read_file", path="a.txt", offset=offset)
    assert (result.is_error, result.content) == (False, "")


async def test_read_file_stops_at_ten_mebibytes_and_at_bytes_that_are_no_utf8(desk: Desk):
    desk.file("big.txt", b"x" * (10 * 1024 * 1024 + 1))
    assert "larger than 10 MiB" in (await desk("read_file", path="big.txt")).content
    desk.file("exact.txt", b"x\n" * (5 * 1024 * 1024))
    assert not (await desk("read_file", path="exact.txt")).is_error
    desk.file("latin.txt", b"caf\xe9\n")
    assert "latin.txt is not valid UTF-8 (byte 3)." in (await desk("read_file", path="latin.txt")).content


async def test_read_file_is_trimmed_to_a_thousand_lines(desk: Desk):
    desk.file("a.txt", "x\n" * 1500)
    result = await desk("read_file", path="a.txt")
    assert result.content.count("\tx\n") == 1000
    assert "output truncated" in result.content


async def test_a_reference_to_terminal_output_is_no_file(desk: Desk):
    result = await desk("read_file", path="terminal-output://k/1")
    assert (result.is_error, "cosh_shell_evidence" in result.content) == (True, True)


async def test_edit_and_write_file_need_no_read_before(desk: Desk):
    path = desk.file("a.txt", "one one\n")
    assert (await desk("edit", path="a.txt", old_string="one", new_string="1", replace_all=True)).content == (
        "Replaced 2 occurrence(s) in a.txt"
    )
    desk.file("b.txt", "old\n")
    assert (await desk("write_file", path="b.txt", content="new\nlines")).content == "Wrote 9 bytes (2 lines) to b.txt"
    assert (path.read_text(), (desk.folder / "b.txt").read_text()) == ("1 1\n", "new\nlines")


async def test_write_file_makes_folders_and_edit_makes_no_files(desk: Desk):
    assert (await desk("write_file", path="a/b.txt", content="x")).content == "Wrote 1 bytes (1 lines) to a/b.txt"
    result = await desk("edit", path="c.txt", old_string="", new_string="x")
    assert (result.is_error, result.content) == (True, "File not found: c.txt. To create it, use write_file.")


async def test_edit_says_what_is_wrong_with_a_text_that_is_missing_or_there_twice(desk: Desk):
    desk.file("a.txt", "x = 1\nx = 1\n")
    assert "old_string not found in a.txt" in (await desk("edit", path="a.txt", old_string="y", new_string="z")).content
    twice = await desk("edit", path="a.txt", old_string="x = 1", new_string="z")
    assert ("2 times" in twice.content, "replace_all" in twice.content) == (True, True)


async def test_a_notebook_may_be_edited_as_text_where_there_is_no_notebook_session_but_stays_one(desk: Desk):
    desk.file("a.ipynb", '{"cells": [], "metadata": {}}')
    broken = await desk("edit", path="a.ipynb", old_string='"cells": []', new_string='"cells": [')
    assert (broken.is_error, "would no longer be a notebook" in broken.content) == (True, True)
    fine = await desk("edit", path="a.ipynb", old_string='"metadata": {}', new_string='"metadata": {"a": 1}')
    assert not fine.is_error


async def test_the_name_of_a_call_picks_the_face_whichever_is_declared(desk: Desk):
    desk.file("a.txt", "a\nb\n")
    assert (await desk("Read", file_path="a.txt", offset=1)).content.startswith("1\ta")
    assert (await desk("read_file", path="a.txt", offset=1)).content.startswith("2\tb")
    assert {"edit", "grep", "read_file", "write_file"} <= set(ToolRegistry.with_defaults().names())
