"""Notebooks that nobody has open: read from disk, edited in place byte by byte, written as one."""

from __future__ import annotations

import asyncio
import contextlib
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cosh_tools.hosts import CellEdit, CellReport, CellView, CodeOutcome, NotebookView
from cosh_tools.notebook.scan import NotANotebook, NotebookText, scan, verify
from cosh_tools.notebook.splice import Draft, Piece
from cosh_tools.notebook.steps import (
    Names,
    Refusal,
    changed_since,
    check_magic,
    check_shape,
    conflicted,
    landed,
    provenance,
    refused,
)
from cosh_tools.results import ToolError

if TYPE_CHECKING:
    from cosh_tools.context import ToolContext

_TRIES = 20
_PATIENCE = 2.0
_LOOKS, _FRESH = 4, 0.4
"""A file that was written less than so many seconds ago and does not parse is looked at so often."""


class ChangedMeanwhile(Exception):
    """Another process wrote the file between our read and our write."""


@dataclass(frozen=True)
class DiskNotebooks:
    """A NotebookHost over closed files. `mark` gives the provenance of cells that the agent writes."""

    mark: Callable[[], Mapping[str, Any]] = dict
    note: str = " Written on disk; reload if a tab shows it."
    """What is added to the last report of a call that wrote."""

    async def read(self, path: Path, outputs: Sequence[str] | None = None) -> NotebookView:
        """All cells as last saved; outputs are parsed when they are looked at."""
        del outputs
        return await asyncio.to_thread(read_view, path)

    async def apply(self, path: Path, edits: Sequence[CellEdit], ctx: ToolContext) -> Sequence[CellReport]:
        """Apply the steps in order and write the file once, atomically."""
        return await asyncio.to_thread(edit_file, path, edits, ctx.config, self.mark(), self.note)

    async def run(self, path: Path, cells: Sequence[str], timeout: float, ctx: ToolContext) -> Sequence[CodeOutcome]:
        """Say that a closed notebook has no kernel."""
        del cells, timeout, ctx
        raise ToolError(
            f"{path.name} is not open, so it has no kernel to run cells in. Ask the user to open it, "
            "or run it as a whole with Bash: `jupyter execute`."
        )

    def current(self) -> Path | None:
        """None: no notebook is open."""
        return None


def read_view(path: Path) -> NotebookView:
    """The notebook as it is on disk."""
    text, stamp = load(path)
    cells = tuple(
        CellView(at, cell.id, cell.type, cell.source, cell.execution_count, cell.outputs, cell.metadata)
        for at, cell in enumerate(text.cells)
    )
    age = max(time.time() - stamp[0] / 1e9, 0)
    return NotebookView(path, cells, False, f"as last saved, {spell(age)} old", text.top.get("metadata") or {})


def edit_file(
    path: Path, edits: Sequence[CellEdit], config: Mapping[str, Any], mark: Mapping[str, Any], note: str = ""
) -> Sequence[CellReport]:
    """Apply steps to the file. What another process wrote meanwhile is read again, never overwritten."""
    real = Path(os.path.realpath(path))
    for attempt in range(_TRIES):
        # Who lost the race once reads under the lock, so that a busy neighbour cannot win for ever.
        owned = attempt > 0 and real.exists()
        with _owned(real) if owned else contextlib.nullcontext(), contextlib.suppress(ChangedMeanwhile):
            text, stamp = load(real, path.name)
            draft = Draft.of(verify(text, path.name))
            reports = apply(draft, edits, config, mark)
            if not draft.changed:
                return reports
            write(real, draft.parts(), stamp, owned=owned)
            return _noted(reports, note)
    raise ToolError(f"{path.name} is being written by another process again and again; nothing was changed. Try later.")


def apply(
    draft: Draft, edits: Sequence[CellEdit], config: Mapping[str, Any], mark: Mapping[str, Any]
) -> list[CellReport]:
    """Apply steps to a draft in order; each is reported for itself."""
    names = Names([piece.id for piece in draft.was])
    ours: set[int] = set()
    """Pieces that this call itself has written: what they hold now is no surprise."""
    last: dict[str, Piece] = {}
    """Anchor -> the cell last inserted after it, so that several keep the order of the list."""
    reports = []
    for edit in edits:
        try:
            check_shape(edit)
            reports.append(_step(draft, names, edit, config, mark, ours, last))
        except Refusal as refusal:
            reports.append(refused(edit, str(refusal)))
    return reports


def load(path: Path, name: str = "") -> tuple[NotebookText, tuple[int, int, int]]:
    """The file and the stamp by which a later change is known."""
    name = name or path.name
    for _ in range(_LOOKS):
        try:
            return _load(path, name)
        except NotANotebook:
            # A server that saves empties the file first; half of one is not the notebook.
            if time.time() - path.stat().st_mtime > _FRESH:
                raise
            time.sleep(_FRESH / _LOOKS)
    return _load(path, name)


def write(real: Path, parts: Sequence[bytes | memoryview], stamp: tuple[int, int, int], *, owned: bool = False) -> None:
    """Replace the file as one, keeping its mode; it is whole at every moment. `owned`: its lock is held already.

    Raises ChangedMeanwhile where it is not the file that was read, ToolError where it cannot be written.
    """
    if not os.access(real, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
        raise ToolError(f"{real.name} is read-only, so it was not changed. Ask the user to make it writable.")
    temporary = ""
    try:
        was = real.stat()
        handle, temporary = tempfile.mkstemp(prefix=f".{real.name}.", suffix=".cosh-tmp", dir=real.parent)
        with os.fdopen(handle, "wb") as file:
            for part in parts:
                file.write(part)
            file.flush()
            os.fchmod(file.fileno(), was.st_mode & 0o7777)
            with contextlib.suppress(PermissionError):
                os.fchown(file.fileno(), was.st_uid, was.st_gid)
            os.fsync(file.fileno())
        with contextlib.nullcontext() if owned else _alone(real):
            if _stamp(real.stat()) != stamp:
                raise ChangedMeanwhile
            Path(temporary).replace(real)
        temporary = ""
    except OSError as error:
        raise ToolError(f"{real.name} was not changed: it cannot be written ({error.strerror}).") from None
    finally:
        if temporary:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()


@contextlib.contextmanager
def _alone(real: Path) -> Iterator[int | None]:
    """Hold the file's own lock while it is compared and exchanged, so that two of us never undo each other.

    Gives the number of the file that is held, None where this system has no such locks.

    The lock belongs to the file that is replaced: whoever waited for it finds another file there and reads again.
    """
    try:
        import fcntl
    except ImportError:
        yield None
        return
    with real.open("rb") as file:
        end = time.monotonic() + _PATIENCE
        while True:
            try:
                fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > end:
                    raise ChangedMeanwhile from None
                time.sleep(0.002)
            except OSError:
                break  # a file system without locks
            else:
                break
        yield os.fstat(file.fileno()).st_ino


@contextlib.contextmanager
def _owned(real: Path) -> Iterator[None]:
    """Hold the lock of the file that is there now, not of one that was replaced while we waited."""
    end = time.monotonic() + _PATIENCE
    while True:
        with _alone(real) as held:
            try:
                same = held is None or held == real.stat().st_ino
            except FileNotFoundError:
                same = True  # reading it will say so
            if same or time.monotonic() > end:
                yield
                return


def spell(seconds: float) -> str:
    """A duration in words: 12 s, 5 min, 3 h, 2 days."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 6000:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.0f} h" if seconds < 48 * 3600 else f"{seconds / 86400:.0f} days"


def _load(path: Path, name: str) -> tuple[NotebookText, tuple[int, int, int]]:
    try:
        with path.open("rb") as file:
            data = file.read()
            stamp = _stamp(os.fstat(file.fileno()))
    except FileNotFoundError:
        raise ToolError(f"There is no file {path}. Check the path with Glob.") from None
    except IsADirectoryError:
        raise ToolError(f"{path} is a folder, not a notebook. Name the .ipynb file in it.") from None
    except OSError as error:
        raise ToolError(f"{name} cannot be read: {error.strerror}.") from None
    if not data[:4096].strip() and not data.strip():
        raise NotANotebook(f"{name} is an empty file, not a notebook. Write a notebook with a list of cells first.")
    return scan(data, name), stamp


def _step(
    draft: Draft,
    names: Names,
    edit: CellEdit,
    config: Mapping[str, Any],
    mark: Mapping[str, Any],
    ours: set[int],
    last: dict[str, Piece],
) -> CellReport:
    if edit.mode == "insert":
        text, new = edit.source or "", edit.type or "code"
        check_magic(new, text, config)
        piece = draft.insert(_place(draft, names, edit, last), text, new, provenance(mark, text))
        if edit.after:
            last[edit.after] = piece
        ours.add(id(piece))
        return _landed(draft, edit, piece, new=text)
    piece = draft.was[names.index(edit.cell or "")]
    at = draft.index(piece)
    if at is None:
        raise Refusal(f"An earlier edit of this call deleted {edit.cell}.")
    old = piece.source
    if id(piece) not in ours and changed_since(edit, old):
        return conflicted(edit, draft.name(at), at, old, edit.expect)
    match edit.mode:
        case "replace":
            source = edit.source if edit.source is not None else old
            kind: str = edit.type or piece.type
            if _breaks_with_cr(old):
                source = source.replace("\r\n", "\n").replace("\n", "\r\n")
            check_magic(kind, source, config)
            note = " Its old outputs were cleared." if _has_outputs(draft, piece) and source != old else ""
            draft.replace(piece, source, kind, provenance(mark, source))
            ours.add(id(piece))
            return _landed(draft, edit, piece, old=old, new=source, note=note)
        case "move":
            target = _place(draft, names, edit, last)
            draft.move(piece, target - 1 if target > at else target)
            return _landed(draft, edit, piece, old=old, new=old)
        case "delete":
            name = draft.name(at)
            draft.delete(piece)
            around = (draft.name(at - 1) if at else None, draft.name(at) if at < len(draft.pieces) else None)
            return landed(edit, name, at, around, count=len(draft.pieces), kind=piece.type, old=old)


def _place(draft: Draft, names: Names, edit: CellEdit, last: Mapping[str, Piece]) -> int:
    """The index at which the anchor puts a cell; the end without one."""
    ref = edit.after or edit.before
    if not ref:
        return len(draft.pieces)
    piece = draft.was[names.index(ref)]
    if edit.mode == "insert" and edit.after:
        piece = last.get(edit.after, piece)
    at = draft.index(piece)
    if at is None:
        raise Refusal(f"An earlier edit of this call deleted the anchor {ref}.")
    return at + 1 if edit.after else at


def _landed(draft: Draft, edit: CellEdit, piece: Piece, *, old: str = "", new: str = "", note: str = "") -> CellReport:
    at = draft.pieces.index(piece)
    count = len(draft.pieces)
    around = (draft.name(at - 1) if at else None, draft.name(at + 1) if at + 1 < count else None)
    return landed(edit, draft.name(at), at, around, count=count, kind=piece.type, old=old, new=new, note=note)


def _noted(reports: list[CellReport], note: str) -> list[CellReport]:
    last = max(at for at, report in enumerate(reports) if report.status == "landed")
    reports[last] = replace(reports[last], text=reports[last].text + note)
    return reports


def _has_outputs(draft: Draft, piece: Piece) -> bool:
    return piece.type == "code" and piece in draft.was and bool(draft.original(piece).outputs)


def _breaks_with_cr(text: str) -> bool:
    """Whether every line break of a source is CRLF."""
    return "\r\n" in text and text.count("\n") == text.count("\r\n")


def _stamp(stat: os.stat_result) -> tuple[int, int, int]:
    return stat.st_mtime_ns, stat.st_size, stat.st_ino
