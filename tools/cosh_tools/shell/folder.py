"""In which folder a shell stood at its end, told beside its output."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path
from typing import Self


class Folder:
    """A pipe by which the shell says, at its end, in which folder it stood: nothing of it shows in its output."""

    def __enter__(self) -> Self:
        self._read, self.fd = os.pipe()
        os.set_blocking(self._read, False)
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._read)
        os.close(self.fd)

    def read(self) -> Path | None:
        """That folder, if it still is one."""
        said = b""
        with contextlib.suppress(BlockingIOError):
            said = os.read(self._read, 65_536)
        folder = Path(os.fsdecode(said.removesuffix(b"\n")))
        return folder if folder.is_absolute() and folder.is_dir() else None


class FolderFile:
    """The same through a file, for a shell to which a descriptor of ours means nothing."""

    def __enter__(self) -> Self:
        handle, name = tempfile.mkstemp(prefix="cosh-folder-")
        os.close(handle)
        self.path = Path(name)
        return self

    def __exit__(self, *_: object) -> None:
        self.path.unlink(missing_ok=True)

    def read(self) -> Path | None:
        """That folder, if it still is one."""
        folder = Path(self.path.read_text("utf-8").strip())
        return folder if folder.is_absolute() and folder.is_dir() else None
