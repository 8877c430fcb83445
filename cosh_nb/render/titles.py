"""What a card is called and what its buttons say: a question with the verb, and the verb itself."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, assert_never

from cosh_nb.render.markup import shorten
from cosh_nb.render.words import object_of, tool_name, verb_of
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
        return "Run this command? It cannot be undone." if request.destructive else "Run this command?"
    match tool:
        case "Python":
            return "Run this Python?"
        case "NotebookRun":
            return _run_question(given)
        case "NotebookEdit":
            return _cell_question(given)
        case "ExitPlanMode":
            return "Start on this plan?"
        case "Task":
            return f"Start an agent: {shorten(str(given.get('description') or 'a task'), 80)}?"
        case _:
            return _by_touches(request, tool) or _by_verb(request, tool)


def verbs(request: ApprovalRequest) -> tuple[str, str]:
    """What "yes, this once" and "no" are called."""
    title = question(request)
    if canonical(request.call.name) in SHELLS:
        return "Run once", "Don’t run"
    if title == "Start on this plan?":
        return "Start", "Keep planning"
    first = title.split()[0].rstrip("?")
    match first:
        case "Change" | "Create" | "Delete" | "Insert" | "Move" | "Start":
            return first, f"Don’t {first.lower()}"
        case "Make":
            return "Change", "Don’t change"
        case _ if first.isalpha() and len(first) < 20:
            return f"{first} once", f"Don’t {first.lower()}"
        case _:
            return "Allow once", "Don’t"


def target_of(request: ApprovalRequest) -> str:
    """What the row of this request is about."""
    tool, given = canonical(request.call.name), request.call.input
    if tool == "NotebookEdit":
        steps = given.get("edits")
        return f"{len(steps)} cells" if isinstance(steps, list) and len(steps) > 1 else _cell(given.get("cell_id"))
    return _short(object_of(given), request.working_dir)


def _by_touches(request: ApprovalRequest, tool: str) -> str:
    for touch in request.touches:
        match touch:
            case Writes(as_given=path, deletes=True, exists=True) if tool not in ("Edit", "Write"):
                return f"Delete {shorten(path, 80)}?"
            case Writes(as_given=path, exists=exists):
                return f"{'Change' if exists else 'Create'} {_short(path, request.working_dir)}?"
            case Fetches(host=host):
                return f"Search the web with {host}?" if tool == "WebSearch" else f"Fetch from {shorten(host, 80)}?"
            case RunsCode(language=language):
                return f"Run this {shorten(language, 20).capitalize()}?"
            case Uses(name=name):
                return f"Use {shorten(name, 80)}?"
            case Reads(inside=False, as_given=path) | Reads(protected=True, as_given=path):
                return f"Read {_short(path, request.working_dir)}?"
            case Reads() | Runs() | Opaque() | Needs():
                continue
            case _:
                assert_never(touch)
    return ""


def _by_verb(request: ApprovalRequest, tool: str) -> str:
    verb = verb_of(request.verb, tool)
    if verb.thing == "step":
        return f"Use {shorten(tool_name(request.call.name), 80)}?"
    about = _short(object_of(request.call.input), request.working_dir)
    return f"{verb.do} {about}?" if about else f"{verb.do}?"


def _run_question(given: Mapping[str, Any]) -> str:
    cells = given.get("cells") or given.get("cell_ids") or given.get("cell_id") or []
    if isinstance(cells, list) and len(cells) > 1:
        return f"Run {len(cells)} cells?"
    return f"Run {_cell(cells[0] if isinstance(cells, list) and cells else cells)}?"


def _cell_question(given: Mapping[str, Any]) -> str:
    steps = given.get("edits")
    if isinstance(steps, list) and len(steps) > 1:
        return f"Make {len(steps)} changes to cells?"
    step = steps[0] if isinstance(steps, list) and steps and isinstance(steps[0], dict) else given
    match step.get("edit_mode"):
        case "insert":
            return "Insert a new cell?"
        case "delete":
            return f"Delete {_cell(step.get('cell_id'))}?"
        case "move":
            return f"Move {_cell(step.get('cell_id'))}?"
        case _:
            return f"Change {_cell(step.get('cell_id'))}?"


def _cell(name: object) -> str:
    """A cell by its id; `cell-3` stays as it is, since it counts from 0."""
    text = shorten(str(name or ""), 40)
    return text if text.startswith("cell-") else f"cell {text}" if text else "a cell"


def _short(path: str, base: Path) -> str:
    """A path relative to where the call runs, where that is shorter."""
    line = shorten(path, 160)
    prefix = f"{base}/"
    return line.removeprefix(prefix) if len(prefix) > 2 else line
