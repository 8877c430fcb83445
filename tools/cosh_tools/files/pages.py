"""Pages of a PDF as a document for the model."""

from __future__ import annotations

import io
import re

from cosh_tools.results import Media, ToolError

MOST_PAGES = 20
"""Pages in one request."""
WHOLE_UP_TO = 10
"""A PDF of more pages is not sent whole unless pages are named."""
MOST_BYTES = 24_000_000
"""32 MB is the services' limit on a request; base64 adds a third."""
_RANGE = re.compile(r"\s*(\d+)\s*(?:-\s*(\d+)?\s*)?")


class TooManyPages(ToolError):
    """The document is too long to be sent whole, and no pages were named."""


def is_pdf(data: bytes) -> bool:
    """Whether the bytes begin like a PDF (a little rubbish before the mark is allowed)."""
    return b"%PDF-" in data[:1024]


def pdf_for_model(data: bytes, name: str, pages: str) -> tuple[Media, str]:
    """The document, cut to the pages wanted, and a sentence about it. Raises ToolError."""
    try:
        import pypdf
    except ImportError:
        return _unopened(data, name, pages)
    try:
        reader = pypdf.PdfReader(io.BytesIO(data))
        _must_be_open(not reader.is_encrypted or bool(reader.decrypt("")), name)
        total = len(reader.pages)
        first, last = wanted_pages(pages, total, name)
        if (first, last) == (1, total) and not reader.is_encrypted:
            part = data
        else:
            writer = pypdf.PdfWriter()
            for number in range(first - 1, last):
                writer.add_page(reader.pages[number])
            out = io.BytesIO()
            writer.write(out)
            part = out.getvalue()
    except ToolError:
        raise
    except Exception as error:  # noqa: BLE001  (a damaged PDF may raise anything in the reader)
        raise ToolError(f"{name} cannot be opened as a PDF: {error}.") from None
    if len(part) > MOST_BYTES:
        raise ToolError(f"These pages of {name} have {len(part):,} bytes, too many to send. Ask for fewer pages.")
    which = f"page {first}" if first == last else f"pages {first}-{last}"
    return Media("application/pdf", part, name), f"PDF file {name}, {which} of {total}."


def wanted_pages(text: str, total: int, name: str) -> tuple[int, int]:
    """The first and last page that "3", "1-5" or "7-" names. Raises ToolError."""
    if not text.strip():
        if total > WHOLE_UP_TO:
            raise TooManyPages(f"{name} has {total} pages, too many at once. Send pages, for example 1-{WHOLE_UP_TO}.")
        return 1, total
    found = _RANGE.fullmatch(text)
    if found is None:
        raise ToolError(f'pages: {text!r} is no page range. Send "3" or "1-5".')
    first = int(found[1])
    last = int(found[2]) if found[2] else (total if "-" in text else first)
    if first < 1 or last < first:
        raise ToolError(f'pages: {text!r} is no page range. Send "3" or "1-5", counting from 1.')
    if first > total:
        raise ToolError(f"{name} has {total} page{'s' * (total != 1)}; page {first} does not exist.")
    last = min(last, total)
    if last - first + 1 > MOST_PAGES:
        raise ToolError(f"{name}: at most {MOST_PAGES} pages at a time. Send pages, for example 1-{MOST_PAGES}.")
    return first, last


def _must_be_open(unlocked: bool, name: str) -> None:
    if not unlocked:
        raise ToolError(f"{name} is locked with a password. Ask the user for an unlocked copy.")


def _unopened(data: bytes, name: str, pages: str) -> tuple[Media, str]:
    if pages:
        raise ToolError(f"Single pages of {name} can be sent after `pip install 'cosh-nb[media]'`. Leave pages out.")
    if len(data) > MOST_BYTES:
        raise ToolError(f"{name} has {len(data):,} bytes, too many to send whole; `pip install 'cosh-nb[media]'`.")
    return Media("application/pdf", data, name), f"PDF file {name}."
