"""Edit: one exact text becomes another, and every other byte stays."""

from __future__ import annotations

import codecs
from pathlib import Path

import pytest

from support.desk import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


async def edited(desk: Desk, raw: bytes | str, old: str, new: str, **more):
    path = desk.file("a.txt", raw)
    read = await desk("Read", file_path="a.txt")
    assert not read.is_error, read.content
    result = await desk("Edit", file_path="a.txt", old_string=old, new_string=new, **more)
    return result, path.read_bytes()


async def test_the_text_is_replaced_and_the_change_is_shown(desk: Desk):
    result, raw = await edited(desk, "".join(f"line {n}\n" for n in range(1, 21)), "line 10\n", "line ten\nand more\n")
    assert result.content == "Successfully edited a.txt (1 replacement)."
    assert raw.decode().splitlines()[8:12] == ["line 9", "line ten", "and more", "line 11"]
    assert result.metadata["diff"] == (
        "--- a/a.txt\n+++ b/a.txt\n@@ -7,7 +7,8 @@\n line 7\n line 8\n line 9\n-line 10\n+line ten\n+and more\n"
        " line 11\n line 12\n line 13\n"
    )
    assert (result.metadata["replacements"], result.metadata["summary"]) == (1, "+2 \N{MINUS SIGN}1")


async def test_replace_all_changes_every_place_and_counts_them(desk: Desk):
    result, raw = await edited(desk, "a b a\n" * 50 + "c\n" + "a\n", "a", "x", replace_all=True)
    assert result.content == "Successfully edited a.txt (101 replacements)."
    assert raw == b"x b x\n" * 50 + b"c\nx\n"


async def test_places_that_overlap_are_counted_once(desk: Desk):
    _result, raw = await edited(desk, "aaaa", "aa", "b", replace_all=True)
    assert raw == b"bb"


async def test_a_text_that_is_there_twice_is_refused_with_its_lines(desk: Desk):
    result, raw = await edited(desk, "x = 1\ny = 2\nx = 1\n", "x = 1", "x = 3")
    assert result.is_error
    assert result.content == (
        "old_string appears 2 times in a.txt (lines 1, 3). Either provide a larger string with more of its "
        "surroundings, or set replace_all to change them all."
    )
    assert raw == b"x = 1\ny = 2\nx = 1\n"


async def test_equal_texts_are_refused(desk: Desk):
    result, _raw = await edited(desk, "a\n", "a", "a")
    assert (result.is_error, result.content) == (True, "old_string and new_string must be different.")


@pytest.mark.parametrize("every", [False, True])
async def test_an_empty_old_string_never_changes_a_file_that_has_text(desk: Desk, every):
    result, raw = await edited(desk, "abc", "", "-", replace_all=every)
    assert (result.is_error, raw) == (True, b"abc")
    assert "old_string is empty, but a.txt is not." in result.content


async def test_an_empty_old_string_creates_a_file_and_fills_an_empty_one(desk: Desk):
    created = await desk("Edit", file_path="new/a.txt", old_string="", new_string="text\n")
    assert (created.content, (desk.folder / "new/a.txt").read_text()) == ("Created new/a.txt.", "text\n")
    desk.file("empty.txt", b"\xef\xbb\xbf")
    await desk("Read", file_path="empty.txt")
    await desk("Edit", file_path="empty.txt", old_string="", new_string="text\n")
    assert (desk.folder / "empty.txt").read_bytes() == b"\xef\xbb\xbftext\n"


async def test_a_file_that_is_missing_is_an_error_that_says_how_to_create_it(desk: Desk):
    result = await desk("Edit", file_path="a.txt", old_string="x", new_string="y")
    assert result.content == "File not found: a.txt. To create it, use Write, or Edit with an empty old_string."


async def test_a_file_must_have_been_read(desk: Desk):
    desk.file("a.txt", "x\n")
    result = await desk("Edit", file_path="a.txt", old_string="x", new_string="y")
    assert (result.is_error, result.content) == (True, "a.txt has not been read yet. Read it first, then change it.")


@pytest.mark.parametrize(
    ("raw", "old", "new", "after"),
    [
        (b"a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", b"x\r\ny\r\nz\r\nc\r\n"),
        (b"a\r\nb\r\nc\r\n", "a\r\nb", "x\ny", b"x\r\ny\r\nc\r\n"),
        (b"a\r\nb\r\nc\r\n", "\nb\n", "\nB\n", b"a\r\nB\r\nc\r\n"),
        (b"a\r\nb\r\nc\r\n", "b", "b\nb2", b"a\r\nb\r\nb2\r\nc\r\n"),
        (b"a\nb\nc\n", "b", "b\r\nb2", b"a\nb\nb2\nc\n"),
        (b"a\rb\rc\r", "a\nb", "x\ny", b"x\ry\rc\r"),
        (b"unix\ndos\r\nunix\n", "dos", "dos\nmore", b"unix\ndos\r\nmore\r\nunix\n"),
        (b"unix\ndos\r\nlast\n", "last", "last\nmore", b"unix\ndos\r\nlast\nmore\n"),
        (b"a\r\nend", "end", "end\nof it", b"a\r\nend\r\nof it"),
        (b"a\nend", "end", "END", b"a\nEND"),
        (b"lone \r stays\nb\n", "b", "c", b"lone \r stays\nc\n"),
    ],
)
async def test_line_endings_are_matched_loosely_and_kept_exactly(desk: Desk, raw, old, new, after):
    result, now = await edited(desk, raw, old, new)
    assert not result.is_error, result.content
    assert now == after


@pytest.mark.parametrize(
    ("bom", "encoding"),
    [(b"", "utf-8"), (codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"),
     (codecs.BOM_UTF32_LE, "utf-32-le"), (b"", "cp1252")],
)  # fmt: skip
async def test_encoding_and_bom_are_kept(desk: Desk, bom, encoding):
    text = "Grüße aus Köln, naïve Leute, Maße\r\nzweite Zeile\r\n"
    result, raw = await edited(desk, bom + text.encode(encoding), "Köln, naïve", "Düsseldorf, fröhliche")
    assert not result.is_error, result.content
    assert raw == bom + text.replace("Köln, naïve", "Düsseldorf, fröhliche").encode(encoding)


async def test_bytes_that_are_no_utf8_stay_where_they_are(desk: Desk):
    raw = "日本語のテキスト ".encode() + b"\xff\xfe\n" + "こんにちは\n".encode()
    result, now = await edited(desk, raw, "こんにちは", "さようなら")
    assert not result.is_error, result.content
    assert now == "日本語のテキスト ".encode() + b"\xff\xfe\n" + "さようなら\n".encode()


async def test_a_character_that_the_encoding_lacks_is_refused(desk: Desk):
    result, raw = await edited(desk, "Grüße, Füße, Maße\n".encode("cp1252"), "Füße", "足")
    assert (result.is_error, "cp1252" in result.content) == (True, True)
    assert raw == "Grüße, Füße, Maße\n".encode("cp1252")


@pytest.mark.parametrize(
    ("text", "old", "new", "after"),
    [
        ("say “hello” to him\n", 'say "hello" to', 'say "goodbye" to', "say “goodbye” to him\n"),
        ("it’s his\n", "it's his", "it's hers", "it’s hers\n"),
        ('plain "quotes"\n', "plain “quotes”", "plain “marks”", 'plain "marks"\n'),
    ],
)
async def test_quotes_are_matched_loosely_and_the_files_own_are_kept(desk: Desk, text, old, new, after):
    result, raw = await edited(desk, text, old, new)
    assert "(old_string was found with other quote marks; the file's own were kept.)" in result.content
    assert raw.decode() == after


async def test_an_exact_match_is_preferred_to_one_with_other_quotes(desk: Desk):
    result, raw = await edited(desk, "it’s\nit's\n", "it's", "it was")
    assert (result.is_error, raw.decode()) == (False, "it’s\nit was\n")


async def test_a_placeholder_is_refused_only_where_it_is_new(desk: Desk):
    result, raw = await edited(desk, "key = abc123\n", "abc123", "YOUR_API_KEY")
    assert (result.is_error, raw) == (True, b"key = abc123\n")
    result, _raw = await edited(desk, "key = YOUR_API_KEY # old\n", "YOUR_API_KEY # old", "YOUR_API_KEY # new")
    assert not result.is_error


async def test_binary_files_and_notebooks_are_refused(desk: Desk):
    desk.file("a.bin", b"\0\1\2 text")
    await desk("Read", file_path="a.bin")
    assert "binary" in (await desk("Edit", file_path="a.bin", old_string="text", new_string="x")).content
    desk.file("a.ipynb", "{}")
    assert "NotebookEdit" in (await desk("Edit", file_path="a.ipynb", old_string="{", new_string="[")).content


async def test_half_a_surrogate_pair_is_refused(desk: Desk):
    result, raw = await edited(desk, "a\n", "a", "\ud83d")
    assert (result.is_error, raw) == (True, b"a\n")


@pytest.mark.parametrize("field", ["file_path", "old_string", "new_string"])
async def test_a_missing_field_is_named_before_anything_runs(desk: Desk, field):
    given = {"file_path": "a.txt", "old_string": "a", "new_string": "b"}
    del given[field]
    result = await desk("Edit", **given)
    assert result.content.startswith(f"Invalid input for Edit: {field} is missing.")


async def test_a_flag_may_come_as_text(desk: Desk):
    result, raw = await edited(desk, "a a\n", "a", "b", replace_all="true")
    assert (result.is_error, raw) == (False, b"b b\n")


async def test_two_edits_of_one_batch_both_land(desk: Desk):
    import asyncio

    path = desk.file("a.txt", "one\ntwo\n")
    await desk("Read", file_path="a.txt")
    results = await asyncio.gather(
        desk("Edit", file_path="a.txt", old_string="one", new_string="1"),
        desk("Edit", file_path="a.txt", old_string="two", new_string="2"),
    )
    assert [result.is_error for result in results] == [False, False]
    assert path.read_text() == "1\n2\n"


async def test_a_diff_of_thousands_of_changes_stays_readable(desk: Desk):
    result, _raw = await edited(
        desk, "".join(f"word {n}\n\n\n\n\n\n\n\n\n" for n in range(2000)), "word", "term", replace_all=True
    )
    assert len(result.metadata["diff"].splitlines()) < 4000
    assert result.metadata["diff"].splitlines()[-1].startswith("... (")
    assert result.metadata["summary"] == "+2000 \N{MINUS SIGN}2000"
