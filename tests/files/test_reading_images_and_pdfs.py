"""Read: images and PDFs reach the model as such."""

from __future__ import annotations

import io
import random
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import pypdf
import pytest
from PIL import Image

from support.desk import Desk

WITHOUT_PILLOW = """
import sys
sys.modules['PIL'] = None
from pathlib import Path
from cosh_tools.files.images import for_model
for name in ('small.png', 'wide.png', 'huge.png'):
    try:
        print(name, for_model(Path(name).read_bytes(), name).media_type)
    except Exception as error:
        print(name, error)
"""


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def picture(form: str, size: tuple[int, int] = (40, 30), mode: str = "RGB") -> bytes:
    out = io.BytesIO()
    noise = random.Random(1).randbytes(size[0] * size[1] * len(mode))
    Image.frombytes(mode, size, noise).save(out, form, **({"compress_level": 0} if form == "PNG" else {}))
    return out.getvalue()


def document(count: int, password: str = "") -> bytes:
    writer = pypdf.PdfWriter()
    for number in range(count):
        writer.add_blank_page(width=100 + number, height=200)
    if password:
        writer.encrypt(password, algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


@pytest.mark.parametrize(
    ("form", "kind"), [("PNG", "image/png"), ("JPEG", "image/jpeg"), ("GIF", "image/gif"), ("WEBP", "image/webp")]
)
async def test_an_image_is_given_to_the_model_as_it_is(desk: Desk, form, kind):
    raw = picture(form)
    desk.file(f"a.{form.lower()}", raw)
    result = await desk("Read", file_path=f"a.{form.lower()}")
    assert [(media.media_type, media.data) for media in result.media] == [(kind, raw)]
    assert result.content == f"Image file a.{form.lower()}, 40 x 30 pixels, {len(raw):,} bytes."


async def test_the_first_bytes_decide_what_an_image_is_not_its_name(desk: Desk):
    desk.file("photo.png", picture("JPEG"))
    assert (await desk("Read", file_path="photo.png")).media[0].media_type == "image/jpeg"
    desk.file("page.png", "<html>not found</html>\n")
    result = await desk("Read", file_path="page.png")
    assert (result.media, result.content) == ((), "1\t<html>not found</html>\n")


async def test_a_drawing_in_svg_is_text(desk: Desk):
    desk.file("a.svg", "<svg/>\n")
    assert (await desk("Read", file_path="a.svg")).content == "1\t<svg/>\n"


@pytest.mark.parametrize(("size", "mode"), [((9000, 40), "RGB"), ((1300, 1300), "RGB"), ((1000, 1000), "RGBA")])
async def test_an_image_beyond_the_services_limits_is_scaled_down(desk: Desk, size, mode):
    desk.file("a.png", picture("PNG", size, mode))
    result = await desk("Read", file_path="a.png")
    media = result.media[0]
    with Image.open(io.BytesIO(media.data)) as small:
        assert max(small.size) <= 2000
    assert len(media.data) <= 3_750_000
    assert "It is shown scaled down." in result.content


@pytest.mark.parametrize("form", ["BMP", "TIFF", "ICO"])
async def test_an_image_in_another_format_is_converted(desk: Desk, form):
    suffix = {"BMP": "bmp", "TIFF": "tif", "ICO": "ico"}[form]
    desk.file(f"a.{suffix}", picture(form, (32, 32)))
    assert (await desk("Read", file_path=f"a.{suffix}")).media[0].media_type == "image/png"


async def test_text_that_begins_like_a_bitmap_is_text(desk: Desk):
    desk.file("a.txt", "BMW is a car maker\n")
    assert (await desk("Read", file_path="a.txt")).content == "1\tBMW is a car maker\n"


async def test_a_damaged_image_and_a_bomb_are_errors_not_crashes(desk: Desk):
    desk.file("cut.png", picture("PNG", (2100, 50))[:5000])
    assert "cannot be opened as an image" in (await desk("Read", file_path="cut.png")).content
    header = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    chunk = struct.pack(">I", 13) + b"IHDR" + header + struct.pack(">I", zlib.crc32(b"IHDR" + header))
    desk.file("bomb.png", b"\x89PNG\r\n\x1a\n" + chunk)
    result = await desk("Read", file_path="bomb.png")
    assert (result.is_error, "too many" in result.content) == (True, True)


def test_without_pillow_an_image_goes_as_it_is_if_it_may_and_else_the_way_is_named(tmp_path: Path):
    (tmp_path / "small.png").write_bytes(picture("PNG"))
    (tmp_path / "wide.png").write_bytes(picture("PNG", (3000, 20)))
    (tmp_path / "huge.png").write_bytes(picture("PNG", (9000, 20)))
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            WITHOUT_PILLOW,
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    small, wide, huge = done.stdout.splitlines()
    assert (small, wide) == ("small.png image/png", "wide.png image/png")
    assert "pip install 'cosh-nb[media]'" in huge


async def test_a_short_pdf_goes_whole(desk: Desk):
    raw = document(3)
    desk.file("a.pdf", raw)
    result = await desk("Read", file_path="a.pdf")
    assert [(media.media_type, media.data) for media in result.media] == [("application/pdf", raw)]
    assert result.content == "PDF file a.pdf, pages 1-3 of 3."


@pytest.mark.parametrize(
    ("pages", "widths"), [("2", [101]), ("2-4", [101, 102, 103]), ("29-", [128, 129]), (" 30 ", [129])]
)
async def test_pages_of_a_long_pdf_are_cut_out(desk: Desk, pages, widths):
    desk.file("a.pdf", document(30))
    result = await desk("Read", file_path="a.pdf", pages=pages)
    part = pypdf.PdfReader(io.BytesIO(result.media[0].data))
    assert [int(page.mediabox.width) for page in part.pages] == widths


@pytest.mark.parametrize(
    ("pages", "says"),
    [("", "30 pages, too many at once. Send pages"), ("1-25", "at most 20 pages"), ("0-2", "counting from 1"),
     ("31", "page 31 does not exist"), ("5-3", "no page range"), ("two", "no page range")],
)  # fmt: skip
async def test_a_wrong_page_range_is_an_error_that_shows_the_right_form(desk: Desk, pages, says):
    desk.file("a.pdf", document(30))
    result = await desk("Read", file_path="a.pdf", pages=pages)
    assert (result.is_error, says in result.content) == (True, True), result.content


async def test_a_locked_and_a_damaged_pdf_are_errors(desk: Desk):
    desk.file("locked.pdf", document(2, "secret"))
    assert "locked with a password" in (await desk("Read", file_path="locked.pdf")).content
    desk.file("broken.pdf", b"%PDF-1.7\n%garbage")
    result = await desk("Read", file_path="broken.pdf")
    assert (result.is_error, "cannot be opened as a PDF" in result.content) == (True, True)
