"""Images for the model: known by their first bytes, and made small enough for the services that look at them."""

from __future__ import annotations

import io
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cosh_tools.results import Media, ToolError

if TYPE_CHECKING:
    from PIL import Image

MOST_BYTES = 3_750_000
"""5 MB is the services' limit on the base64 text, which is a third longer than the bytes."""
MOST_PIXELS_A_SIDE = 8000
GOOD_SIDE = 2000
"""What a downscaled image is fitted into; the services scale further down themselves."""
_BOMB = 89_000_000
_CONVERTIBLE = {b"BM": "BMP", b"II*\0": "TIFF", b"MM\0*": "TIFF", b"\0\0\1\0": "ICO"}


@dataclass(frozen=True, slots=True)
class ImageKind:
    """What an image is, read from its header: sizes are 0 where the header does not tell."""

    media_type: str
    width: int = 0
    height: int = 0


def image_kind(data: bytes) -> ImageKind | None:
    """The kind of an image by its magic bytes, or None."""
    if data.startswith(b"\x89PNG\r\n\x1a\n") and len(data) >= 24:
        return ImageKind("image/png", *struct.unpack(">II", data[16:24]))
    if data.startswith(b"\xff\xd8\xff"):
        return ImageKind("image/jpeg", *_jpeg_size(data))
    if data.startswith((b"GIF87a", b"GIF89a")) and len(data) >= 10:
        return ImageKind("image/gif", *struct.unpack("<HH", data[6:10]))
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return ImageKind("image/webp", *_webp_size(data))
    return None


def other_image(data: bytes) -> str:
    """The name of an image format that no model service takes, or an empty text."""
    for magic, name in _CONVERTIBLE.items():
        if data.startswith(magic):
            return name
    return ""


def for_model(data: bytes, name: str) -> Media:
    """The image as it is where the services take it, else a smaller copy. Raises ToolError."""
    kind = image_kind(data)
    if kind is None:
        return _convert(data, name, f"{name} is a {other_image(data)} image, which model services do not take")
    if kind.width == 0 or kind.height == 0:
        raise ToolError(f"{name} begins like an image of type {kind.media_type}, but its header is damaged.")
    if kind.width * kind.height > _BOMB:
        raise ToolError(f"{name} has {kind.width} x {kind.height} pixels, too many to open. Make a smaller copy first.")
    fits = len(data) <= MOST_BYTES and max(kind.width, kind.height) <= GOOD_SIDE
    if fits:
        return Media(kind.media_type, data, name)
    too_big = f"{name} has {len(data):,} bytes and {kind.width} x {kind.height} pixels"
    sendable = len(data) <= MOST_BYTES and max(kind.width, kind.height) <= MOST_PIXELS_A_SIDE
    try:
        return _convert(data, name, too_big)
    except _NoPillow:
        if sendable:
            return Media(kind.media_type, data, name)
        raise


class _NoPillow(ToolError):
    pass


def _convert(data: bytes, name: str, why: str) -> Media:
    """A copy that fits, by Pillow where it is installed."""
    try:
        from PIL import Image
    except ImportError:
        raise _NoPillow(
            f"{why}; it can be shown after `pip install 'cosh-nb[media]'`, or make a smaller PNG or JPEG with Bash."
        ) from None
    try:
        with Image.open(io.BytesIO(data)) as opened:
            opened.draft("RGB", (GOOD_SIDE, GOOD_SIDE))
            _must_open(opened.width * opened.height, why)
            photo = opened.format in ("JPEG", "WEBP", "MPO")
            image = opened.convert("RGBA" if _has_alpha(opened) else "RGB")
    except ToolError:
        raise
    except Exception as error:  # noqa: BLE001  (a damaged file may raise anything in a decoder)
        raise ToolError(f"{name} cannot be opened as an image: {error}.") from None
    image.thumbnail((GOOD_SIDE, GOOD_SIDE))
    return _encode(image, name, photo=photo)


def _encode(image: Image.Image, name: str, *, photo: bool) -> Media:
    """The image in the first format that is small enough, smaller still where none is."""
    while True:
        for form, how in _forms(image.mode, photo=photo):
            out = io.BytesIO()
            image.save(out, form, **how)
            if out.tell() <= MOST_BYTES:
                return Media(f"image/{form.lower()}", out.getvalue(), name)
        image = image.resize((max(1, image.width * 3 // 4), max(1, image.height * 3 // 4)))


def _forms(mode: str, *, photo: bool) -> list[tuple[str, dict[str, int]]]:
    """The formats to try: exact ones for drawings and screens, and small ones for photographs."""
    small: tuple[str, dict[str, int]] = (
        ("JPEG", {"quality": 85}) if mode == "RGB" else ("WEBP", {"quality": 85, "method": 1})
    )
    return [small] if photo else [("PNG", {"compress_level": 3}), small]


def _must_open(pixels: int, why: str) -> None:
    if pixels > _BOMB:
        raise ToolError(f"{why}: too many pixels to open. Make a smaller copy first.")


def _has_alpha(image: Image.Image) -> bool:
    return image.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in image.info


def _jpeg_size(data: bytes) -> tuple[int, int]:
    """Width and height from the frame header, walking over the segments before it."""
    at = 2
    while at + 9 < len(data):
        if data[at] != 0xFF:
            at += 1
            continue
        marker = data[at + 1]
        if marker in (0xFF, 0x01) or 0xD0 <= marker <= 0xD8:
            at += 1 if marker == 0xFF else 2
            continue
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return width, height
        at += 2 + struct.unpack(">H", data[at + 2 : at + 4])[0]
    return 0, 0


def _webp_size(data: bytes) -> tuple[int, int]:
    form = data[12:16]
    if form == b"VP8X" and len(data) >= 30:
        return 1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(data[27:30], "little")
    if form == b"VP8L" and len(data) >= 25:
        bits = int.from_bytes(data[21:25], "little")
        return 1 + (bits & 0x3FFF), 1 + ((bits >> 14) & 0x3FFF)
    if form == b"VP8 " and len(data) >= 30:
        width, height = struct.unpack("<HH", data[26:30])
        return width & 0x3FFF, height & 0x3FFF
    return 0, 0
