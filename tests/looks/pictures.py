"""Pictures of a page, and how one is held against the picture that was reviewed.

The same Chromium major version and the same fonts give nearly the same picture; what differs then is a change of ours.
Under another major version the pictures are taken but not compared: their differences would be the browser's.
"""

from __future__ import annotations

import base64
import io
import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.Image import Image
    from playwright.sync_api import Locator, Page

    from support.browser import Browser

REFERENCES = Path(__file__).parent / "references"
MAJOR = (REFERENCES / "chromium_major.txt").read_text("utf-8").strip()
"""The Chromium under which the references were taken and reviewed."""

APART = 60
"""Difference of one pixel's brightness (of 255) above which it counts as another pixel."""
SHARE = 0.012
"""Share of other pixels that is still the same picture: edges of letters differ from machine to machine."""


@cache
def fonts() -> str:
    """Faces that are the same on every machine: the ones that matplotlib brings, under our own names."""
    import matplotlib as mpl

    folder = Path(mpl.get_data_path()) / "fonts" / "ttf"
    faces = []
    for family, file, weight in (
        ("Looks", "DejaVuSans.ttf", 400),
        ("Looks", "DejaVuSans-Bold.ttf", 700),
        ("Looks Mono", "DejaVuSansMono.ttf", 400),
        ("Looks Mono", "DejaVuSansMono-Bold.ttf", 700),
    ):
        data = base64.b64encode((folder / file).read_bytes()).decode("ascii")
        source = f"url(data:font/ttf;base64,{data}) format('truetype')"
        faces.append(f"@font-face{{font-family:'{family}';font-weight:{weight};src:{source}}}")
    return "".join(faces)


def picture(page: Page, what: Locator | None = None) -> Image:
    """What the page, or one element of it, looks like, with the fonts loaded and nothing moving."""
    from PIL import Image

    page.emulate_media(reduced_motion="reduce")
    page.evaluate("() => document.fonts.ready.then(() => 1)")
    options = {"animations": "disabled", "caret": "hide"}
    raw = what.screenshot(**options) if what is not None else page.screenshot(full_page=True, **options)
    return Image.open(io.BytesIO(raw)).convert("RGB")


def check(browser: Browser, name: str, shot: Image) -> None:
    """Fail unless the picture is like the reviewed one. COSH_TEST_LOOKS=keep makes it the reference instead."""
    from PIL import Image

    file = REFERENCES / f"{name}.png"
    if os.environ.get("COSH_TEST_LOOKS") == "keep":
        shot.quantize(255, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(file, optimize=True)
        return
    if browser_major(browser) != MAJOR:
        return
    assert file.exists(), f"{file.name} was never reviewed. Look at it and keep it: COSH_TEST_LOOKS=keep."
    reference = Image.open(file).convert("RGB")
    share = apart(reference, shot)
    if share > SHARE:
        left = Path(os.environ.get("COSH_TEST_LEFT", ".")) / f"looks-{name}.png"
        beside(reference, shot).save(left)
        raise AssertionError(f"{share:.1%} of {name} differs (at most {SHARE:.1%}); see {left}: reviewed, now.")


def apart(one: Image, other: Image) -> float:
    """The share of pixels that differ; 1 where the sizes do."""
    from PIL import ImageChops, ImageFilter

    if abs(one.width - other.width) > 2 or abs(one.height - other.height) > max(3, one.height // 100):
        return 1.0
    other = other.crop((0, 0, one.width, one.height))
    soft = ImageFilter.BoxBlur(1)
    red, green, blue = ImageChops.difference(one.filter(soft), other.filter(soft)).split()
    histogram = ImageChops.lighter(ImageChops.lighter(red, green), blue).histogram()
    return sum(histogram[APART:]) / (one.width * one.height)


def beside(one: Image, other: Image) -> Image:
    """Two pictures side by side."""
    from PIL import Image

    both = Image.new("RGB", (one.width + other.width + 10, max(one.height, other.height)), "#c0c")
    both.paste(one, (0, 0))
    both.paste(other, (one.width + 10, 0))
    return both


def browser_major(browser: Browser) -> str:
    """The major version of the Chromium that runs."""
    return str(browser.do(lambda: browser._chromium.version)).split(".")[0]
