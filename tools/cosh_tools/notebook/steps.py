"""The steps of an edit, for whichever notebook they are applied to: whom they name, what guards them, what is said."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from cosh_tools.fences import fenced
from cosh_tools.hosts import CellEdit, CellReport

_NUMBERED = re.compile(r"(?:cell-)?(\d{1,6})")
_MAGIC = re.compile(
    r"""(?:^|=)[ \t]*%{1,2}cosh\b | run_(?:cell|line)_magic\(\s*(?:magic_name\s*=\s*)?['"]cosh\b
        | \.magic\(\s*['"]%?cosh\b""",
    re.MULTILINE | re.VERBOSE,
)


class Refusal(Exception):
    """A step that cannot be done, and why, in a sentence with a next step."""


@dataclass(frozen=True, slots=True)
class Names:
    """The cells of a notebook by name, as they stood when the call began: numbers in a call never shift."""

    ids: Sequence[str]
    """The ids in order; "" for a cell without one."""

    def index(self, ref: str) -> int:
        """The index that `ref` named. Raises Refusal with what is near."""
        where = [at for at, known in enumerate(self.ids) if known == ref]
        if len(where) == 1:
            return where[0]
        if where:
            names = " or ".join(f"cell-{at}" for at in where)
            raise Refusal(f"{len(where)} cells have the id {ref}. Name the one you mean by position: {names}.")
        count = len(self.ids)
        if not count:
            raise Refusal(f"There is no cell {ref!r}: the notebook has no cells. Insert one without an anchor.")
        if number := _NUMBERED.fullmatch(ref):
            at = int(number[1])
            if at < count:
                return at
            cells = f"{count} cell{'s' * (count > 1)}"
            raise Refusal(f"cell-{at} is out of range: the notebook has {cells}, cell-0 to cell-{count - 1}.")
        near = self.near(ref)
        raise Refusal(f"There is no cell {ref!r}. The nearest ids: {', '.join(near)}. Read the notebook for all.")

    def near(self, ref: str) -> list[str]:
        """Names that look like `ref`, else the first ones."""
        known = [name or f"cell-{at}" for at, name in enumerate(self.ids)]
        return get_close_matches(ref, known, n=4, cutoff=0.4) or known[:4]


def check_shape(edit: CellEdit) -> None:
    """Refuse a step that does not say what it needs to say."""
    if edit.after and edit.before:
        raise Refusal("Both `after` and `before` are given. Name one anchor.")
    if edit.mode == "insert":
        if edit.source is None:
            raise Refusal("An insert needs `new_source`.")
        return
    if not edit.cell:
        raise Refusal(f"A {edit.mode} needs `cell_id`: the cell it is about.")
    if edit.mode == "replace" and edit.source is None and edit.type is None:
        raise Refusal("A replace needs `new_source`, or `cell_type` to change the type alone.")
    if edit.cell in {edit.after, edit.before}:
        raise Refusal(f"{edit.cell} cannot be its own anchor.")


def check_magic(kind: str, source: str, config: Mapping[str, Any]) -> None:
    """Refuse a code cell that would call the agent again, unless the person asked for such cells."""
    if kind == "code" and _MAGIC.search(source) and not config.get("allow_cosh_cells"):
        raise Refusal(
            "This code cell would call the agent itself (a cosh magic), so it was not written. "
            "Do the work directly, or ask the user whether they want such a cell."
        )


def changed_since(edit: CellEdit, now: str) -> bool:
    """Whether the cell is not what the model last read."""
    if edit.expect is not None:
        return edit.expect != now
    return edit.expect_digest is not None and edit.expect_digest != digest(now)


def digest(source: str) -> str:
    """The SHA-256 of a source, by which it is known whether a cell changed since it was read."""
    return hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()


def landed(
    edit: CellEdit,
    name: str,
    index: int | None,
    around: tuple[str | None, str | None],
    *,
    count: int,
    kind: str,
    old: str = "",
    new: str = "",
    note: str = "",
) -> CellReport:
    """A step that was done, as read back."""
    before, after = around
    match edit.mode:
        case "replace":
            what = f"Replaced {kind} cell {name}" if edit.source is not None else f"Changed cell {name} to {kind}"
        case "insert":
            what = f"Inserted {kind} cell {name}"
        case "move":
            what = f"Moved {kind} cell {name}"
        case "delete":
            what = f"Deleted {kind} cell {name}"
    place = f" (was at index {index})" if edit.mode == "delete" else f" at index {index} of {count} cells"
    return CellReport(
        "landed", edit.mode, name, index, before, after,
        f"{what}{place}; before it: {before or 'nothing'}, after it: {after or 'nothing'}.{note}",
        old, new,
    )  # fmt: skip


def conflicted(edit: CellEdit, name: str, index: int | None, now: str, read: str | None) -> CellReport:
    """A step that was not done because the cell is another one than the model read."""
    texts = f"It was, as you read it:\n{fenced(read)}\n" if read is not None else ""
    return CellReport(
        "conflicted", edit.mode, name, index, None, None,
        f"Cell {name} was changed since you read it, so it was left as it is. {texts}It is now:\n{fenced(now)}\n"
        "Take the change into account and send the edit again.",
        read or "", now,
    )  # fmt: skip


def refused(edit: CellEdit, why: str) -> CellReport:
    """A step that was not done."""
    return CellReport("refused", edit.mode, edit.cell or "", None, None, None, why)


def provenance(mark: Mapping[str, Any], source: str) -> dict[str, Any]:
    """The metadata of a cell that the agent wrote. The digest tells later whether a person edited it since."""
    return {"cosh": {**mark, "sha256": digest(source)[:16]}} if mark else {}
