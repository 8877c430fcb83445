"""Read: text of every spelling, by line."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from cosh_tools.files.text import digest
from support.desk import Desk

RUSSIAN = "Привет, как дела? Всё хорошо, спасибо. Это обычный русский текст.\n"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


async def test_lines_come_with_their_numbers_a_tab_and_the_text_as_it_is(desk: Desk):
    desk.file("a.py", "def f():\n\treturn 1  \n\nlast")
    result = await desk("Read", file_path="a.py")
    assert result.content == "1\tdef f():\n2\t\treturn 1  \n3\t\n4\tlast\n"
    assert result.metadata["summary"] == "4 lines"


async def test_numbers_are_as_wide_as_the_last_one_shown(desk: Desk):
    desk.file("a.txt", "".join(f"line {n}\n" for n in range(1, 13)))
    result = await desk("Read", file_path="a.txt", offset=9, limit=2)
    assert result.content == (" 9\tline 9\n10\tline 10\n\n... (2 more lines, 12 total. Use offset/limit to read more.)")


async def test_two_thousand_lines_come_unless_the_call_says_more(desk: Desk):
    desk.file("a.txt", "x\n" * 2500)
    result = await desk("Read", file_path="a.txt")
    assert result.content.count("\tx\n") == 2000
    assert result.content.endswith("\n\n... (500 more lines, 2500 total. Use offset/limit to read more.)")
    assert (await desk("Read", file_path="a.txt", limit=2500)).content.count("\tx\n") == 2500


@pytest.mark.parametrize(
    ("given", "first"), [(0, "1\ta"), (1, "1\ta"), (2, "2\tb"), ("2", "2\tb"), (2.0, "2\tb"), ("2.0", "2\tb")]
)
async def test_an_offset_counts_from_one_and_may_come_as_text_or_float(desk: Desk, given, first):
    desk.file("a.txt", "a\nb\n")
    assert (await desk("Read", file_path="a.txt", offset=given)).content.startswith(first)


async def test_a_limit_of_zero_is_no_limit_given(desk: Desk):
    desk.file("a.txt", "a\nb\n")
    assert (await desk("Read", file_path="a.txt", limit=0)).content == "1\ta\n2\tb\n"


@pytest.mark.parametrize(("field", "value"), [("offset", -1), ("limit", -5), ("offset", "soon")])
async def test_a_wrong_number_is_refused_by_name_before_anything_runs(desk: Desk, field, value):
    desk.file("a.txt", "a\n")
    result = await desk("Read", file_path="a.txt", **{field: value})
    assert result.is_error
    assert result.content.startswith(f"Invalid input for Read: {field}: ")


async def test_an_offset_past_the_end_says_how_long_the_file_is(desk: Desk):
    desk.file("a.txt", "a\nb\n")
    result = await desk("Read", file_path="a.txt", offset=3)
    assert (result.is_error, result.content) == (True, "Offset 3 exceeds total line count 2 in a.txt.")


async def test_an_empty_file_is_said_to_be_empty(desk: Desk):
    desk.file("a.txt", "")
    result = await desk("Read", file_path="a.txt")
    assert (result.is_error, result.content) == (False, "[File a.txt exists but is empty]")


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"a\r\nb\r\n", "1\ta\n2\tb\n"),
        (b"a\r\nb", "1\ta\n2\tb\n"),
        (b"a\rb\rc\r", "1\ta\n2\tb\n3\tc\n"),
        (b"a\rb\n", "1\ta\rb\n"),
        (b"\xef\xbb\xbfna\xc3\xafve\n", "1\tnaïve\n"),
        (b"\xff\xfe" + "naïve\n日本\n".encode("utf-16-le"), "1\tnaïve\n2\t日本\n(The file is encoded as utf-16-le"),
        (b"\xfe\xff" + "naïve\r\nx\r\n".encode("utf-16-be"), "1\tnaïve\n2\tx\n(The file is encoded as utf-16-be"),
        ("plain text\nline 2\n".encode("utf-16-le"), "1\tplain text\n2\tline 2\n(The file is encoded as utf-16-le"),
        (b"\xff\xfe\0\0" + "x\ny\n".encode("utf-32-le"), "1\tx\n2\ty\n(The file is encoded as utf-32-le"),
        ("Füße für Ölgemälde, café\n".encode("cp1252"), "1\tFüße für Ölgemälde, café\n(The file is encoded as cp1252"),
        (RUSSIAN.encode("cp1251"), f"1\t{RUSSIAN}(The file is encoded as cp1251"),
        ("これは日本語の文章です。とても長い文章なので、文字コードがわかります。\n".encode("shift_jis"),
         "1\tこれは日本語の文章です。とても長い文章なので、文字コードがわかります。\n(The file is encoded as"),
        ("日本語のテキスト with one bad byte: ".encode() + b"\xff\n",
         "1\t日本語のテキスト with one bad byte: \ufffd\n(Some bytes are not UTF-8"),
    ],
)  # fmt: skip
async def test_every_common_encoding_and_line_ending_is_read(desk: Desk, raw, shown):
    desk.file("a.txt", raw)
    result = await desk("Read", file_path="a.txt")
    assert not result.is_error, result.content
    assert result.content.replace("\n\n(", "\n(").startswith(shown), result.content


@pytest.mark.parametrize("raw", [b"\x7fELF\x02\x01\x01\0\0\0\0", bytes(range(1, 32)) * 20, b"text\0text\n"])
async def test_a_binary_file_is_not_shown_as_text(desk: Desk, raw):
    desk.file("a.bin", raw)
    result = await desk("Read", file_path="a.bin")
    assert result.is_error
    assert result.content.startswith("File appears to be binary and cannot be displayed as text: a.bin")


async def test_a_line_of_fifty_megabytes_is_cut_and_its_length_said(desk: Desk):
    desk.file("a.txt", b"first\n" + b"x" * 50_000_000 + b"\nlast\n")
    result = await desk("Read", file_path="a.txt")
    _first, long, last, *_ = result.content.split("\n")
    assert long == "2\t" + "x" * 2000 + "... [line cut here: 50,000,000 bytes in all]"
    assert last == "3\tlast"


async def test_a_page_of_long_lines_ends_before_the_limit_of_a_result_and_says_how_to_go_on(desk: Desk):
    desk.file("a.txt", ("y" * 1500 + "\n") * 300)
    first = await desk("Read", file_path="a.txt")
    assert len(first.content) < 100_000
    shown = first.metadata["lines"]
    assert first.content.endswith(f"... ({300 - shown} more lines, 300 total. Use offset/limit to read more.)")
    assert (await desk("Read", file_path="a.txt", offset=shown + 1)).content.startswith(f"{shown + 1:>3}\tyyy")


async def test_what_was_read_is_remembered_by_the_hash_of_its_content(desk: Desk):
    path = desk.file("a.txt", "a\nb\n")
    await desk("Read", file_path="a.txt", limit=1)
    assert desk.ctx.read_state.seen(path) == digest(b"a\nb\n")


async def test_a_file_of_the_proc_file_system_is_read_though_it_says_it_is_empty(desk: Desk):
    result = await desk("Read", file_path="/proc/self/status")
    assert "1\tName:" in result.content


async def test_home_and_both_spellings_of_the_path_are_understood(desk: Desk, monkeypatch):
    monkeypatch.setenv("HOME", str(desk.folder))
    desk.file("a.txt", "a\n")
    assert (await desk("Read", path="~/a.txt")).content == "1\ta\n"


async def test_a_missing_file_is_an_error_with_a_guess_at_what_was_meant(desk: Desk):
    desk.file("settings.json", "{}")
    result = await desk("Read", file_path="setings.json")
    assert (result.is_error, result.content) == (True, "File not found: setings.json. Did you mean settings.json?")
    deeper = await desk("Read", file_path="no/such/file.txt")
    assert f"{desk.folder} does." in deeper.content


async def test_two_hundred_lines_far_into_a_large_file_come_without_loading_it(desk: Desk):
    path = desk.folder / "big.log"
    with path.open("wb") as out:
        for start in range(0, 1_500_000, 100_000):
            out.write(b"".join(b"%07d some words to fill the line up\n" % n for n in range(start, start + 100_000)))
    assert path.stat().st_size > 50_000_000
    _wait_until_cool(path)
    before = _peak_memory()
    result = await desk("Read", file_path="big.log", offset=1_400_001, limit=200)
    assert result.content.startswith("1400001\t1400000 some words")
    assert "(99800 more lines, 1500000 total." in result.content
    assert _peak_memory() - before < 8_000_000
    assert desk.ctx.read_state.seen(path).startswith("part:")
    started = time.process_time()
    again = await desk("Read", file_path="big.log", offset=700_001, limit=200)
    assert again.content.startswith("700001\t0700000 some words")
    assert time.process_time() - started < 0.05  # the first look left an index


def _wait_until_cool(path: Path) -> None:
    """A file that was changed in the last tenth of a second is hashed in full."""
    deadline = time.monotonic() + 5
    while time.time_ns() - path.stat().st_ctime_ns < 150_000_000:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _peak_memory() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024
    raise AssertionError("the system does not say how much memory is used")
