"""The text of a web page, whatever its server says about the encoding."""

from __future__ import annotations

import codecs
import re

from cosh_tools.files.text import NotText, legacy_encoding

_META = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)
_XML = re.compile(rb"<\?xml[^>]{0,100}?encoding\s*=\s*[\"']([\w.:-]+)", re.IGNORECASE)
_HEADER = re.compile(r"charset\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)
_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_AS_BROWSERS_DO = {"iso8859-1": "cp1252", "ascii": "cp1252"}


def text_of(body: bytes, content_type: str) -> str:
    """The body as text: by its BOM, else by what header and page say if it fits, else by what fits."""
    for bom, encoding in _BOMS:
        if body.startswith(bom):
            return body[len(bom) :].decode(encoding, "replace")
    for encoding in _claimed(body, content_type):
        if encoding in ("cp1252", "iso8859-15") and _is_utf8(body):
            return body.decode("utf-8")  # Latin-1 fits everything, and text that is UTF-8 by chance does not occur
        try:
            return body.decode(encoding)
        except UnicodeDecodeError:
            continue
    if _is_utf8(body):
        return body.decode("utf-8", "ignore")
    return _guessed(body)


def _claimed(body: bytes, content_type: str) -> list[str]:
    found = [found[1] for found in (_HEADER.search(content_type),) if found]
    found += [match[1].decode("ascii") for match in (_META.search(body[:4096]), _XML.match(body[:200])) if match]
    out = []
    for name in found:
        try:
            known = codecs.lookup(name).name
        except LookupError:
            continue
        out.append(_AS_BROWSERS_DO.get(known, known))
    return out


def _is_utf8(body: bytes) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(body, final=False)  # the end may have been cut
    except UnicodeDecodeError:
        return False
    return True


def _guessed(body: bytes) -> str:
    try:
        return body.decode(legacy_encoding(body, whole=False), "replace")
    except NotText:
        return body.decode("utf-8", "replace")
