"""The bytes of a file as text and back: encoding, BOM and line endings are found, kept and never guessed away."""

from __future__ import annotations

import codecs
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from cosh_tools.results import ToolError

_BOMS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_LEGACY = (
    "cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "koi8_r", "iso8859_15", "iso8859_2",
    "shift_jis", "euc_jp", "gb18030", "big5", "euc_kr",
)  # fmt: skip
_SAMPLE = 256 * 1024
_HEAD = 16 * 1024
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\b\x1b"))
_FEW = 40
_HIGH = re.compile(rb"[\x80-\xff]+")
_PIECE = 1 << 20


class NotText(ToolError):
    """The bytes are no text in any encoding that is known here."""


@dataclass(frozen=True, slots=True)
class TextStyle:
    """How a file spells text. `damaged` marks UTF-8 with some bytes that are not: they are kept and shown as U+FFFD."""

    encoding: str = "utf-8"
    bom: bytes = b""
    newline: str = "\n"
    damaged: bool = False

    @property
    def is_utf8(self) -> bool:
        """Whether the bytes can be searched as UTF-8 without decoding them."""
        return self.encoding == "utf-8"

    def decode(self, raw: bytes, errors: str = "strict") -> str:
        """The text of bytes without their BOM."""
        return raw.decode(self.encoding, "replace" if self.damaged else errors)

    def encode(self, text: str) -> bytes:
        """The bytes of a text, without a BOM. Raises ToolError where the encoding lacks a character."""
        try:
            return text.encode(self.encoding)
        except UnicodeEncodeError as error:
            bad = text[error.start : error.start + 1]
            raise ToolError(
                f"The text has {bad!r} (U+{ord(bad):04X}), which the file's encoding {self.encoding} cannot say. "
                "Write it without that character, or convert the file to UTF-8 first (Bash: iconv)."
            ) from None

    def with_newlines(self, text: str) -> str:
        """The text with this style's line endings, whichever it came with."""
        return text.replace("\r\n", "\n").replace("\n", self.newline) if "\n" in text else text


def digest(*parts: bytes | memoryview) -> str:
    """The SHA-256 of the parts together, as hex."""
    total = hashlib.sha256()
    for part in parts:
        total.update(part)
    return total.hexdigest()


def sniff(data: bytes, *, whole: bool = True) -> TextStyle:
    """The style of a file's bytes, or of their beginning when `whole` is False. Raises NotText."""
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            body = data[len(bom) :]
            if encoding == "utf-8" or _decodes(body, encoding, whole):
                style = _utf8(body, whole) if encoding == "utf-8" else TextStyle(encoding)
                return replace(style, bom=bom, newline=_newline(body, encoding))
    if b"\0" in data[:_SAMPLE] or (whole and b"\0" in data):
        encoding = _bare_utf16(data[:_SAMPLE])
        if encoding and _decodes(data, encoding, whole):
            return TextStyle(encoding, newline=_newline(data, encoding))
        raise NotText("it holds NUL bytes, so it is no text")
    style = _utf8(data, whole)
    return replace(style, newline=_newline(data, style.encoding))


def body_of(data: bytes, style: TextStyle) -> bytes:
    """The bytes after the BOM."""
    return data[len(style.bom) :] if style.bom else data


def _utf8(data: bytes, whole: bool) -> TextStyle:
    """UTF-8, UTF-8 with damage, or a legacy encoding."""
    head = data[:_HEAD]
    if (len(head) - len(head.translate(None, _CONTROLS))) * 10 > len(head):
        raise NotText("it holds too many control characters to be text")
    if _decodes(data, "utf-8", whole):
        return TextStyle()
    lossy = data[:_SAMPLE].decode("utf-8", "replace")
    good = sum(1 for char in lossy if char > "\x7f" and char != "\ufffd")
    if good > 2 * lossy.count("\ufffd"):
        return TextStyle(damaged=True)
    return TextStyle(legacy_encoding(data, whole=whole))


def legacy_encoding(data: bytes, *, whole: bool = True) -> str:
    """The encoding that fits bytes which are not UTF-8. Raises NotText."""
    sample = data[:_SAMPLE]
    from charset_normalizer import from_bytes  # loads slowly; most files are UTF-8

    if _western(sample) and _decodes(data, "cp1252", whole):
        return "cp1252"
    best = from_bytes(sample, cp_isolation=list(_LEGACY), steps=8, threshold=0.3).best()
    order = [best.encoding] if best is not None else []
    for encoding in [*order, "cp1252", "latin-1"]:
        if _decodes(data, encoding, whole):
            return encoding
    raise NotText("its encoding is not known")


def _western(sample: bytes) -> bool:
    """Whether accented letters stand one or two together between ASCII ones, as in Western European text.

    Statistics over a handful of letters guess badly; this shape is nearly always Windows-1252.
    """
    runs = _HIGH.findall(sample)
    high = b"".join(runs)
    short = sum(len(run) for run in runs if len(run) <= 2)
    letters = sum(1 for byte in high if byte >= 0xC0 and byte not in (0xD7, 0xF7))
    few = len(high) <= _FEW and len(high) * 3 < len(sample)
    return few and short * 10 >= len(high) * 9 and letters * 10 >= len(high) * 6


def _decodes(data: bytes, encoding: str, whole: bool) -> bool:
    """Whether the bytes are text in this encoding, looked at piece by piece."""
    if encoding == "utf-8" and data.isascii():
        return True
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        for start in range(0, len(data), _PIECE):
            if "\0" in decoder.decode(data[start : start + _PIECE]):
                return False
        decoder.decode(b"", final=whole)
    except UnicodeDecodeError:
        return False
    return True


def _bare_utf16(sample: bytes) -> str:
    """UTF-16 without a BOM shows as NULs at every other place."""
    pairs = len(sample) // 2
    if pairs < 2:
        return ""
    even, odd = sample[0::2].count(0), sample[1::2].count(0)
    if odd * 10 >= pairs * 4 and even * 20 <= pairs:
        return "utf-16-le"
    if even * 10 >= pairs * 4 and odd * 20 <= pairs:
        return "utf-16-be"
    return ""


def _newline(body: bytes, encoding: str) -> str:
    """The line ending most used; LF for a text of one line."""
    wide = encoding.startswith(("utf-16", "utf-32"))
    sample: Sequence[str] | bytes
    if wide:
        text = body[: _SAMPLE * 4].decode(encoding, "ignore")
        crlf, lf, cr = text.count("\r\n"), text.count("\n"), text.count("\r")
    else:
        sample = body[: _SAMPLE * 4]
        crlf, lf, cr = sample.count(b"\r\n"), sample.count(b"\n"), sample.count(b"\r")
    if lf == 0:
        return "\r" if cr > 1 else "\n"
    return "\r\n" if crlf * 2 > lf else "\n"
