"""What a card is called and what its buttons say: a question with the verb, and the verb itself."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, assert_never

from cosh_nb.render.markup import shorten
from cosh_nb.render.words import object_of, tool_name
from cosh_tools.names import canonical
from cosh_tools.touches import Fetches, Needs, Opaque, Reads, Runs, RunsCode, Uses, Writes

if TYPE_CHECKING:
    from cosh_tools.hosts import ApprovalRequest

SHELLS = frozenset({"Bash", "PowerShell"})
CODE = frozenset({"Python"})


def question(request: ApprovalRequest) -> str:
    """The title of the card, a question with the verb."""
    tool, given = canonical(request.call.name), request.call.input
    if request.destructive and any(isinstance(touch, Writes) and touch.deletes for touch in request.touches):
        outside = any(isinstance(touch, Writes) and touch.deletes and not touch.inside for touch in request.touches)
        return "Delete files outside this folder?" if outside else "Delete files?"
    if tool in SHELLS:
        return "Run this command?" if not request.destructive else "Run this command? It cannot be undone."
    if tool in CODE:
        return "Run this Python?"
    if tool == "NotebookRun":
        cells = given.get("cells") or given.get("cell_ids") or given.get("cell_id") or []
        many = len(cells) if isinstance(cells, list) else 1
        return (
            f"Run {_cell(cells[0] if isinstance(cells, list) and cells else cells)}?"
            if many == 1
            else f"Run {many} cells?"
        )
    if tool == "NotebookEdit":
        return _cell_question(given)
    if tool == "ExitPlanMode":
        return "Start on this plan?"
    for touch in request.touches:
        match touch:
            case Writes(as_given=path, deletes=True, exists=True) if tool not in ("Edit", "Write"):
                return f"Delete {shorten(path, 80)}?"
            case Writes(as_given=path, exists=exists):
                return f"{'Change' if exists else 'Create'} {_short(path, request.working_dir)}?"
            case Fetches(host=host):
                return f"Search the web with {host}?" if tool == "WebSearch" else f"Fetch from {shorten(host, 80)}?"
            case RunsCode(language=language):
                return f"Run this {language.capitalize()}?"
            case Uses(name=name):
                return f"Use {shorten(name, 80)}?"
            case Reads() | Runs() | Opaque() | Needs():
                continue
            case _:
                assert_never(touch)
    reads = [touch for touch in request.touches if isinstance(touch, Reads)]
    if reads:
        return f"Read {_short(reads[0].as_given, request.working_dir)}?"
    return f"Use {tool_name(request.call.name)}?"


def target_of(request: ApprovalRequest) -> str:
    """What the row of this request is about."""
    tool, given = canonical(request.call.name), request.call.input
    if tool == "NotebookEdit":
        return _cell(given.get("cell_id"))
    return _short(object_of(given), request.working_dir)


def verbs(request: ApprovalRequest) -> tuple[str, str]:
    """What "yes, this once" and "no" are called."""
    tool, given = canonical(request.call.name), request.call.input
    title = question(request)
    if tool in SHELLS or title.startswith("Run "):
        return "Run once", "Don’t run"
    if tool == "NotebookEdit":
        mode = given.get("edit_mode")
        return (
            ("Insert", "Don’t insert")
            if mode == "insert"
            else ("Delete", "Don’t delete")
            if mode == "delete"
            else ("Change", "Don’t change")
        )
    if tool == "ExitPlanMode":
        return "Start", "Keep planning"
    first = title.split()[0]
    match first:
        case "Change":
            return "Change", "Don’t change"
        case "Create":
            return "Create", "Don’t create"
        case "Delete":
            return "Delete", "Don’t delete"
        case "Fetch" | "Read" | "Search" | "Use":
            return f"{first} once", f"Don’t {first.lower()}"
        case _:
            return "Allow once", "Don’t"


def _cell_question(given: Mapping[str, Any]) -> str:
    match given.get("edit_mode"):
        case "insert":
            return "Insert a new cell?"
        case "delete":
            return f"Delete {_cell(given.get('cell_id'))}?"
        case _:
            return f"Change {_cell(given.get('cell_id'))}?"


def _cell(name: object) -> str:
    text = shorten(str(name or ""), 40)
    return f"cell {text.removeprefix('cell-')}" if text else "a cell"


def _short(path: str, base: Path) -> str:
    """A path relative to where the call runs, where that is shorter."""
    line = shorten(path, 160)
    prefix = f"{base}/"
    return line.removeprefix(prefix) if len(prefix) > 2 else line
