"""What a person is asked: the question with its verb, what exactly would happen, why it asks, and the buttons.

Pure functions of an approval request. The host puts `head` and `buttons` into whatever it can click, and replaces
both by `answered` when the question is over, however it ended.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, assert_never

from cosh_nb.render import diff as change
from cosh_nb.render.code import highlight
from cosh_nb.render.markup import Rendered, clip, count, esc, plain, pre, shorten
from cosh_nb.render.rows import Row
from cosh_nb.render.words import object_of, tool_name, verb_of
from cosh_tools.hosts import Allowed, RanElsewhere, Refused, Undecided
from cosh_tools.names import canonical
from cosh_tools.touches import Fetches, Needs, Opaque, PathTouch, Reads, Runs, RunsCode, Uses, Writes, describe

if TYPE_CHECKING:
    from cosh_tools.hosts import ApprovalAnswer, ApprovalRequest, Question

SHOWN = 100_000
"""Characters of a command or of code that a card shows; it scrolls inside the card."""
ROWS = 2_000
"""Rows of a change that a card shows."""

_SHELLS = frozenset({"Bash", "PowerShell"})
_CODE = frozenset({"Python"})


class Button(NamedTuple):
    """One way to answer. `key`: "once", "grant:N" (the Nth grant of the request), "preview", "edit" or "no"."""

    key: str
    label: str
    primary: bool = False


def question(request: ApprovalRequest) -> str:
    """The title of the card, a question with the verb."""
    tool, given = canonical(request.call.name), request.call.input
    if request.destructive and any(isinstance(touch, Writes) and touch.deletes for touch in request.touches):
        outside = any(isinstance(touch, Writes) and touch.deletes and not touch.inside for touch in request.touches)
        return "Delete files outside this folder?" if outside else "Delete files?"
    if tool in _SHELLS:
        return "Run this command?" if not request.destructive else "Run this command? It cannot be undone."
    if tool in _CODE:
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


def head(request: ApprovalRequest, note: str = "") -> Rendered:
    """The card without its buttons. `note` stands at the right of the title: "1 of 2 waiting"."""
    title = question(request)
    what = _exactly(request)
    why, touched = request.reason.reason, _touched(request)
    if request.agent:
        note = f"agent {request.agent}" + (f", {note}" if note else "")
    corner = f'<span class="sep"> · </span><span class="t m">{esc(note)}</span>' if note else ""
    lines = [why, *touched]
    html = (
        f'<div class="q"><b>{esc(title)}</b>{corner}</div>{what.html}'
        f'<div class="why">{"<br>".join(_words(line) for line in lines)}</div>'
    )
    text = "\n".join([title + (f" ({note})" if note else ""), _indented(what.text), *lines])
    return Rendered(html, text)


def buttons(request: ApprovalRequest, *, editable: bool = True, previewable: bool = False) -> list[Button]:
    """The ways to answer, least grant first; where something would be lost, the safe one first and no lasting grant."""
    yes, no = _verbs(request)
    if request.destructive:
        return [Button("no", no), Button("once", yes)]
    grants = [Button(f"grant:{index}", _label(grant.label)) for index, grant in enumerate(request.grants)]
    edit = [Button("edit", "Edit")] if editable and editable_text(request) is not None else []
    preview = [Button("preview", "Preview")] if previewable and previewed_code(request) else []
    return [Button("once", yes, primary=True), *grants, *preview, *edit, Button("no", no)]


def editable_text(request: ApprovalRequest) -> tuple[str, str] | None:
    """The argument that a person may correct on the card, and its text; None where there is no such one."""
    tool = canonical(request.call.name)
    field = "command" if tool in _SHELLS else "code" if tool in _CODE else ""
    value = request.call.input.get(field)
    return (field, value) if isinstance(value, str) else None


def previewed_code(request: ApprovalRequest) -> str:
    """The code that can be tried in a copy of the kernel before the answer; empty where there is none."""
    code = request.call.input.get("code")
    tries = request.call.input.get("dry_run")
    return code if canonical(request.call.name) in _CODE and isinstance(code, str) and not tries else ""


def preview(text: str) -> Rendered:
    """What a preview said, below the question."""
    shown = clip(plain(text), SHOWN)
    return Rendered(f'<pre tabindex="0" role="group" aria-label="Preview">{esc(shown)}</pre>', shown)


def instead(request: ApprovalRequest) -> str:
    """The title after "Don't": one optional line may say what to do instead."""
    return f"{_verbs(request)[1]}. What should I do instead?"


def card(request: ApprovalRequest, note: str = "") -> Rendered:
    """The whole card without buttons, for places where the question is answered elsewhere."""
    inner = head(request, note)
    risk = " risk" if request.destructive else ""
    return Rendered(
        f'<section class="card{risk}" role="group" aria-label="{esc(question(request))}">{inner.html}</section>',
        inner.text,
    )


def answered(request: ApprovalRequest, answer: ApprovalAnswer, at: str = "") -> Rendered:
    """The row that stays: what was asked, and who decided what, when."""
    tool, when = canonical(request.call.name), f", {at}" if at else ""
    verb, target = verb_of(request.verb, tool), target_of(request)
    match answer:
        case Allowed():
            row = Row("ok", verb.do, target, f"{said(answer)}{when}", code=True)
        case RanElsewhere(by=by):
            row = Row("ok", verb.did, target, f"run by {by}{when}", code=True)
        case Refused() | Undecided():
            row = Row("not", verb.not_done, target, f"{said(answer)}{when}", code=True)
        case _:
            assert_never(answer)
    return row.rendered()


def said(answer: ApprovalAnswer) -> str:
    """An answer in words: you allowed it once; you: “use altair”; you stopped the turn."""
    match answer:
        case Allowed(grant=None, input=None, by=by):
            return f"{by} allowed it once"
        case Allowed(grant=None, by=by):
            return f"{by} changed and allowed it"
        case Allowed(grant=grant, by=by) if grant is not None:
            return f"{by} allowed it {'for the session' if grant.scope == 'session' else 'always'}"
        case Refused(stop=True, by=by):
            return f"{by} stopped the turn"
        case Refused(reason=reason, by="you") if reason:
            return f"you: “{shorten(reason, 200)}”"
        case Refused(by="you"):
            return "you said no"
        case Refused(by=by):
            return by
        case RanElsewhere(by=by):
            return f"run by {by}"
        case Undecided():
            return "nobody decided"
    raise AssertionError(answer)


def target_of(request: ApprovalRequest) -> str:
    """What the row of this request is about."""
    tool, given = canonical(request.call.name), request.call.input
    if tool == "NotebookEdit":
        return _cell(given.get("cell_id"))
    return _short(object_of(given), request.working_dir)


def ask_card(questions: Sequence[Question]) -> Rendered:
    """Questions of the agent to the person, with their choices."""
    html, text = [], []
    for asked in questions:
        header = f'<span class="m">{esc(asked.header)}</span> ' if asked.header else ""
        choices = "".join(
            f"<li>{esc(choice.label)}"
            + (f' <span class="m">{esc(choice.description)}</span>' if choice.description else "")
            + "</li>"
            for choice in asked.choices
        )
        many = '<div class="lab">Choose one or more.</div>' if asked.multi_select else ""
        html.append(
            f'<div class="q"><b>{header}{esc(asked.text)}</b></div>{many}' + (f"<ul>{choices}</ul>" if choices else "")
        )
        text.append(plain(asked.text))
        text += [
            f"  {number}. {plain(choice.label)}" + (f": {plain(choice.description)}" if choice.description else "")
            for number, choice in enumerate(asked.choices, 1)
        ]
    return Rendered("".join(html), "\n".join(text))


def ask_answered(questions: Sequence[Question], answers: Sequence[Sequence[str]] | None) -> Rendered:
    """The rows that stay: each question with what the person chose."""
    rows = []
    for index, asked in enumerate(questions):
        given = answers[index] if answers is not None and index < len(answers) else ()
        result = ", ".join(given) if given else "no answer"
        rows.append(Row("ok" if given else "not", "Asked", shorten(asked.text, 160), result).rendered())
    return Rendered("".join(row.html for row in rows), "\n".join(row.text for row in rows))


# -- what exactly would happen ----------------------------------------------------------------------------------------


def _exactly(request: ApprovalRequest) -> Rendered:
    tool, given = canonical(request.call.name), request.call.input
    if request.diff:
        html = change.to_html(request.diff, question(request).rstrip("?"), ROWS)
        if html:
            return Rendered(html, change.to_text(request.diff, ROWS))
    if tool in _SHELLS and isinstance(given.get("command"), str):
        return _pre(given["command"], "bash" if tool == "Bash" else "powershell", "Command")
    if tool in _CODE and isinstance(given.get("code"), str):
        return _pre(given["code"], "python", "Code")
    if tool == "ExitPlanMode":
        from cosh_nb.render.markdown import to_html

        plan = str(given.get("plan") or given.get("summary") or "")
        return Rendered(f'<div class="ask">{to_html(clip(plan, SHOWN))}</div>', plain(plan))
    return arguments(given)


def arguments(given: Mapping[str, Any], limit: int = SHOWN) -> Rendered:
    """Arguments as names and values, in words, never as JSON where a value is plain."""
    from cosh_nb.render.arguments import pairs

    shown = pairs(given, limit)
    if not shown:
        return Rendered("", "")
    html = "".join(f"<dt>{esc(name)}</dt><dd>{pre(value)}</dd>" for name, value in shown)
    return Rendered(f"<dl>{html}</dl>", "\n".join(f"{name}: {plain(value)}" for name, value in shown))


def _pre(text: str, language: str, label: str) -> Rendered:
    shown = clip(text, SHOWN)
    return Rendered(
        f'<pre tabindex="0" role="group" aria-label="{label}">{highlight(plain(shown), language)}</pre>', plain(shown)
    )


def _touched(request: ApprovalRequest) -> list[str]:
    """One line each: where it runs, and what it touches beyond what the card already shows."""
    tool, given = canonical(request.call.name), request.call.input
    lines = []
    if tool in _SHELLS:
        lines.append(f"Runs in `{_home(request.working_dir)}`.")
    known = {request.reason.reason, str(given.get("command", ""))}
    seen: dict[str, None] = {}
    for touch in request.touches:
        match touch:
            case Runs(text=text) if text in known or len(request.touches) == 1:
                continue
            case RunsCode() | Needs():
                continue
            case Opaque(why=why) if why in known:
                continue
            case Writes(as_given=path) if request.diff and len(request.touches) == 1 and touch.inside:
                continue
            case PathTouch(as_given=path, real=real, inside=inside) if not inside and str(real) != path:
                seen[f"{describe(touch)} ({real})"] = None
            case _:
                seen[describe(touch)] = None
    if seen and not (len(seen) == 1 and tool not in _SHELLS and any(part in request.reason.reason for part in seen)):
        shown = list(seen)[:12]
        more = f" and {len(seen) - 12} more" if len(seen) > 12 else ""
        sentence = ", ".join(shown) + more
        lines.append(f"{sentence[:1].upper()}{sentence[1:]}.")
    if note := given.get("description"):
        lines.append(f"The agent says: “{shorten(str(note), 200)}”")
    return lines


def _words(line: str) -> str:
    """A sentence with its `code` set as code."""
    parts = line.split("`")
    if len(parts) % 2 == 0:
        return esc(line)
    return "".join(f"<code>{pre(part)}</code>" if index % 2 else esc(part) for index, part in enumerate(parts))


# -- words ------------------------------------------------------------------------------------------------------------


def _verbs(request: ApprovalRequest) -> tuple[str, str]:
    """What "yes, this once" and "no" are called."""
    tool, given = canonical(request.call.name), request.call.input
    title = question(request)
    if tool in _SHELLS or title.startswith("Run "):
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


def _label(label: str) -> str:
    """A grant's words, whole: a button must say all that it gives."""
    return " ".join(plain(label).replace("`", "").split())


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


def _home(path: Path) -> str:
    home, text = str(Path.home()), str(path)
    return f"~{text[len(home) :]}" if text == home or text.startswith(f"{home}/") else text


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())


__all__ = [
    "Button",
    "answered",
    "arguments",
    "ask_answered",
    "ask_card",
    "buttons",
    "card",
    "count",
    "editable_text",
    "head",
    "instead",
    "question",
    "said",
    "target_of",
]
