"""Writing the project's own small files so that a crash leaves the old or the new content, never less."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path


def write_atomic(file: Path, text: str, mode: int = 0o600) -> None:
    """Replace `file` by `text` (UTF-8); an existing file keeps its mode. Raises OSError."""
    write_bytes(file, text.encode("utf-8"), mode)


def write_bytes(file: Path, data: bytes, mode: int = 0o600) -> None:
    """Replace `file` by `data`; an existing file keeps its mode. Raises OSError."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileNotFoundError):
        mode = file.stat().st_mode & 0o777
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        Path(name).chmod(mode)
        Path(name).replace(file)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
