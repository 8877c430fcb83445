"""Fuzz: random files in random spellings, random edits; no byte outside an edit ever changes."""

from __future__ import annotations

import codecs
import random
from pathlib import Path

import pytest

from support.desk import Desk

_ALPHABETS = {
    "utf-8": "ab \tcé日本'\"“’{}\\$x\N{GRINNING FACE}",
    "utf-16-le": "ab \tcé日本'\"“’\N{GRINNING FACE}",
    "utf-16-be": "ab cé日",
    "utf-32-le": "ab cé日\N{GRINNING FACE}",
    "cp1252": "ab cdefg hijk éü",
}
_BOMS = {"utf-16-le": codecs.BOM_UTF16_LE, "utf-16-be": codecs.BOM_UTF16_BE, "utf-32-le": codecs.BOM_UTF32_LE}


def scene(chance: random.Random) -> tuple[bytes, bytes, str, str, str, bool]:
    """BOM, body, encoding, old and new text as a model would send them, and whether all places are meant."""
    encoding = chance.choice(list(_ALPHABETS))
    letters = _ALPHABETS[encoding]
    lines = ["".join(chance.choices(letters, k=chance.randint(0, 12))) for _ in range(chance.randint(1, 40))]
    kind = chance.choice(["\n", "\n", "\r\n", "mixed"])
    endings = [chance.choice(["\n", "\r\n"]) if kind == "mixed" else kind for _ in lines]
    if chance.random() < 0.3:
        endings[-1] = ""
    text = "".join(line + ending for line, ending in zip(lines, endings, strict=True))
    bom = _BOMS.get(encoding, codecs.BOM_UTF8 if encoding == "utf-8" and chance.random() < 0.3 else b"")
    seen = text.replace("\r\n", "\n")
    start = chance.randrange(len(seen) + 1)
    old = seen[start : start + chance.randint(1, 30)]
    new = "".join(chance.choices(letters + "\n", k=chance.randint(0, 20)))
    return bom, text.encode(encoding), encoding, old, new, chance.random() < 0.4


async def one(desk: Desk, chance: random.Random, count: dict[str, int]) -> None:
    bom, body, encoding, old, new, every = scene(chance)
    path = desk.file("a.txt", bom + body)
    read = await desk("Read", file_path="a.txt")
    if encoding == "cp1252":
        encoding = read.metadata.get("encoding", "")  # nothing in a file says so; ASCII alone is UTF-8
        if encoding not in ("cp1252", "utf-8"):
            count["seen as another encoding"] += 1
            return
    result = await desk("Edit", file_path="a.txt", old_string=old, new_string=new, replace_all=every)
    raw = path.read_bytes()
    before = body.decode(encoding).replace("\r\n", "\n")
    occurrences = before.count(old) if old else 0
    if result.is_error:
        assert raw == bom + body, "a refused edit changed the file"
        assert not old or old == new or occurrences == 0 or (occurrences > 1 and not every), result.content
        count["refused"] += 1
        return
    count["done"] += 1
    assert raw.startswith(bom)
    after = raw[len(bom) :].decode(encoding).replace("\r\n", "\n")
    assert after == before.replace(old, new), (old, new)
    _the_rest_is_untouched(body, raw[len(bom) :], encoding, old)


def _the_rest_is_untouched(body: bytes, raw: bytes, encoding: str, old: str) -> None:
    """The bytes before the first place and after the last one are those that were there."""
    text = body.decode(encoding)
    shown = text.replace("\r\n", "\n")
    first, last = shown.find(old), shown.rfind(old)
    if shown.count(old) > 1:
        at = 0
        while (found := shown.find(old, at)) >= 0:  # as replacing goes, from the left
            last, at = found, found + len(old)
    head = _bytes_before(text, first, encoding)
    tail = len(body) - _bytes_before(text, last + len(old), encoding)
    assert raw[:head] == body[:head]
    assert raw[len(raw) - tail :] == body[len(body) - tail :]


def _bytes_before(text: str, shown: int, encoding: str) -> int:
    """How many bytes come before the n-th character as shown, where CRLF counts as one."""
    at = 0
    for _ in range(shown):
        at += 2 if text[at : at + 2] == "\r\n" else 1
    return len(text[:at].encode(encoding))


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 21))])
async def test_five_hundred_random_edits_keep_every_byte_around_them(tmp_path: Path, seed):
    desk = Desk(tmp_path)
    chance = random.Random(seed)
    count = dict.fromkeys(("done", "refused", "seen as another encoding"), 0)
    for _each in range(500):
        await one(desk, chance, count)
    assert count["done"] > 250, count
