"""What Write and Edit share: which files they may change at all, and how a change is put in place."""

from __future__ import annotations

import json
import os
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from cosh_tools.files.atomic import Parts, replace
from cosh_tools.files.opening import Snapshot, snapshot
from cosh_tools.files.seen import unchanged
from cosh_tools.files.text import digest
from cosh_tools.results import ToolError

if TYPE_CHECKING:
    from cosh_tools.context import ToolContext

Face = Literal["claude", "cosh"]
"""Under the cosh face a file need not have been read, but it must not have changed since it was."""


@dataclass(frozen=True)
class Place:
    """A file that is about to be changed. `before` is None where it does not exist yet."""

    real: Path
    given: str
    before: Snapshot | None
    notes: list[str] = field(default_factory=list)
    """Sentences for the model about what was kept or done beside the change."""

    @property
    def data(self) -> bytes:
        """The content now."""
        return self.before.data if self.before is not None else b""


def place(given: str, ctx: ToolContext, face: Face) -> Place:
    """The file, fit to be changed. Raises ToolError with the reason why it is not."""
    if given.endswith(("/", "/.", os.sep)):
        raise ToolError(f"{given} names a folder. Send the path of a file.")
    real = ctx.writes(given).real
    if real.suffix.lower() == ".ipynb" and (face == "claude" or ctx.notebook.current() is not None):
        raise ToolError(
            f"{given} is a notebook. Change its cells with NotebookEdit: it keeps the file valid and what the user "
            "has open and unsaved."
        )
    if not os.path.lexists(real):
        return Place(real, given, None)
    now = snapshot(real, given)
    seen = ctx.read_state.seen(real)
    if seen is None:
        if face == "claude" and now.data:
            raise ToolError(f"{given} has not been read yet. Read it first, then change it.")
    elif not unchanged(seen, now):
        raise ToolError(
            f"{given} has been changed since it was read, by the user or by a program. Read it again, then change it."
        )
    return Place(real, given, now)


def commit(at: Place, parts: Parts, ctx: ToolContext) -> None:
    """Put the new content in place and note that the model knows it. Raises ToolError."""
    if at.real.suffix.lower() == ".ipynb":
        _must_be_json(parts, at.given)
    known: list[str] = []
    hashing = threading.Thread(target=lambda: known.append(digest(*parts)))
    hashing.start()  # beside the writing: for a large file either takes as long
    try:
        replace(at.real, parts, at.before.stat if at.before is not None else None, at.given)
    finally:
        hashing.join()
    ctx.read_state.record(at.real, known[0])
    if at.before is not None and at.before.stat.st_nlink > 1:
        at.notes.append(
            f"(The file had {at.before.stat.st_nlink - 1} other name(s) by hard links; they keep the old content.)"
        )


def _must_be_json(parts: Parts, given: str) -> None:
    try:
        json.loads(b"".join(parts))
    except ValueError as error:
        raise ToolError(f"{given} would no longer be a notebook: {error}. Nothing was written.") from None
