"""Files that a person attaches with `@path`: text goes into the prompt as data, images and PDFs beside it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cosh_nb.messages import Block, media_block
from cosh_nb.typed import ATTACHED
from cosh_tools.fences import tagged
from cosh_tools.files.images import image_kind
from cosh_tools.results import Media

MOST = 5_000_000
"""Bytes of one image or document."""


def attach(files: Sequence[Path]) -> tuple[str, tuple[Block, ...], tuple[str, ...]]:
    """Text to append to the prompt, blocks to put before it, and a sentence for each file that cannot go along."""
    texts: list[str] = []
    blocks: list[Block] = []
    problems: list[str] = []
    for file in files:
        try:
            size = file.stat().st_size
            with file.open("rb") as source:
                data = source.read(MOST + 1)
        except OSError as error:
            problems.append(f"{file.name} could not be read ({error.strerror}), so it does not go along.")
            continue
        media = _media_type(data)
        if media and size > MOST:
            problems.append(f"{file.name} is larger than {MOST // 1_000_000} MB, so it does not go along.")
        elif media:
            blocks.append(media_block(Media(media, data)))
        elif b"\0" in data[:8192]:
            problems.append(f"{file.name} is neither text nor an image nor a PDF, so it does not go along.")
        else:
            texts.append(_attached(file, data.decode("utf-8", "replace"), size))
    return "".join(f"\n\n{text}" for text in texts), tuple(blocks), tuple(problems)


def _media_type(data: bytes) -> str:
    if data.startswith(b"%PDF-"):
        return "application/pdf"
    image = image_kind(data)
    return image.media_type if image is not None else ""


def _attached(file: Path, text: str, size: int) -> str:
    cut = f"\n(cut: the file has {size:,} bytes; Read shows the rest)" if len(text) > ATTACHED else ""
    return tagged("attached", text[:ATTACHED] + cut, file=str(file))
