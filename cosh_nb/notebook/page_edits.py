"""Reading and editing a notebook that is open in a page, through the bridge."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from cosh_tools.hosts import CellEdit, CellReport, CellView, NotebookView
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


def arguments(edit: CellEdit, config: Mapping[str, Any], mark: Mapping[str, Any]) -> Mapping[str, Any]:
    """One step as the page takes it. Raises Refusal where it says too little."""
    check_shape(edit)
    step: dict[str, Any] = {"mode": edit.mode}
    told = {"cell": edit.cell, "source": edit.source, "type": edit.type, "expect": edit.expect}
    told |= {"after": edit.after or None, "before": edit.before or None}
    step |= {key: value for key, value in told.items() if value is not None}
    if edit.source is not None:
        step["metadata"] = provenance(mark, edit.source)
        try:
            check_magic("code", edit.source, config)
        except Refusal:
            step["magic"] = True  # fine in a text cell: the page knows the type
    if edit.mode == "insert":
        step["id"] = uuid.uuid4().hex[:8]
    return step


def expecting(edits: Sequence[CellEdit], view: NotebookView) -> Sequence[CellEdit | CellReport]:
    """Steps that know only the digest of what was read, with the source itself; a conflict where it changed."""
    names = Names([cell.id for cell in view.cells])
    known: list[CellEdit | CellReport] = []
    for edit in edits:
        if edit.expect is not None or edit.expect_digest is None or not edit.cell:
            known.append(edit)
            continue
        try:
            cell = view.cells[names.index(edit.cell)]
        except Refusal as refusal:
            known.append(refused(edit, str(refusal)))
            continue
        if changed_since(edit, cell.source):
            known.append(conflicted(edit, cell.id, cell.index, cell.source, None))
        else:
            known.append(replace(edit, expect=cell.source))
    return known


def report(edit: CellEdit, answer: Mapping[str, Any], ids: Sequence[str], config: Mapping[str, Any]) -> CellReport:
    """What became of a step, in words."""
    if answer.get("ok"):
        done = landed(
            edit,
            str(answer["id"]),
            answer["index"],
            (answer["before"], answer["after"]),
            count=answer["count"],
            kind=str(answer["type"]),
            old=str(answer.get("old", "")),
            new=str(answer["source"]),
            note=f" It was {answer['was']}: the new type gave it a new id." if answer.get("was") else "",
        )
        if edit.source is None or answer["source"] == edit.source or edit.mode not in {"insert", "replace"}:
            return done
        return replace(done, text=f"{done.text} The notebook holds another text than was sent: read it again.")
    match answer.get("kind"):
        case "conflict":
            return conflicted(edit, str(answer["id"]), answer["index"], str(answer["source"]), edit.expect)
        case "unknown":
            return refused(edit, _unknown(str(answer.get("ref")), ids))
        case "magic":
            try:
                check_magic("code", edit.source or "", config)
            except Refusal as refusal:
                return refused(edit, str(refusal))
            return refused(edit, "This cell would call the agent itself.")
        case other:
            return refused(edit, f"The page could not do it ({answer.get('text') or other}). Read the notebook again.")


def view_of(path: Path, answer: Mapping[str, Any]) -> NotebookView:
    """The notebook as the page read it."""
    cells = tuple(
        CellView(
            cell["index"],
            cell["id"],
            cell["type"],
            cell["source"],
            cell.get("count"),
            tuple(cell.get("outputs") or ()),
            {"cosh": cell["cosh"]} if "cosh" in cell else {},
            0 if "outputs" in cell else int(cell.get("bytes", 0)),
        )
        for cell in answer["list"]
    )
    as_of = "live, with unsaved changes" if answer.get("dirty") else "live, saved"
    return NotebookView(path, cells, live=True, as_of=as_of, metadata=answer.get("metadata") or {})


def said(name: str, reason: str, more: Mapping[str, Any]) -> str:
    """Why a page said no to a whole request, with the next step."""
    match reason:
        case "read-only":
            return f"{name} is open read-only, so it was not changed. Ask the user to make it writable."
        case "unknown":
            return f"There is no cell {more.get('ref')!r} in {name} any more. Read the notebook again."
        case "unknown-op":
            return f"The page that shows {name} runs an older cosh_nb. Ask the user to reload it."
        case "not-open":
            return f"{name} is no longer open in the page. Try again: it may be edited on disk now."
        case _:
            return f"The page could not do it: {more.get('text') or reason}."


def _unknown(ref: str, ids: Sequence[str]) -> str:
    try:
        Names(ids).index(ref)
    except Refusal as refusal:
        return str(refusal)
    return f"An earlier edit of this call deleted {ref}."
