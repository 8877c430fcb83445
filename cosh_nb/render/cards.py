"""What a person is asked: the question with its verb, what exactly would happen, why it asks, and the buttons.

Pure functions of an approval request. The host puts `head` and `buttons` into whatever it can click, and replaces
both by `answered` when the question is over, however it ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, assert_never

from cosh_nb.render.markup import Rendered, attr, clip, esc, plain, pre, shorten
from cosh_nb.render.rows import Row
from cosh_nb.render.titles import CODE, SHELLS, question, target_of, verbs
from cosh_nb.render.what import SHOWN, arguments, exactly, touched
from cosh_nb.render.words import verb_of
from cosh_tools.hosts import Allowed, RanElsewhere, Refused, Undecided
from cosh_tools.names import canonical
from cosh_tools.touches import RunsCode

if TYPE_CHECKING:
    from cosh_tools.hosts import ApprovalAnswer, ApprovalRequest, Question


class Button(NamedTuple):
    """One way to answer. `key`: "once", "grant:N" (the Nth grant of the request), "preview", "edit" or "no"."""

    key: str
    label: str
    primary: bool = False


def head(request: ApprovalRequest, note: str = "") -> Rendered:
    """The card without its buttons. `note` stands at the right of the title: "1 of 2 waiting"."""
    title = question(request)
    what = exactly(request)
    if request.agent:
        note = f"agent {request.agent}" + (f", {note}" if note else "")
    corner = f'<span class="sep"> · </span><span class="t m">{esc(note)}</span>' if note else ""
    lines = [request.reason.reason, *touched(request)]
    html = (
        f'<div class="q"><b>{esc(title)}</b>{corner}</div>{what.html}'
        f'<div class="why">{"<br>".join(_words(line) for line in lines)}</div>'
    )
    text = "\n".join([title + (f" ({note})" if note else ""), _indented(what.text), *lines])
    return Rendered(html, text)


def buttons(request: ApprovalRequest, *, editable: bool = True, previewable: bool = False) -> list[Button]:
    """The ways to answer, least grant first; where something would be lost, the safe one first and no lasting grant."""
    yes, no = verbs(request)
    if request.destructive:
        return [Button("no", no), Button("once", yes)]
    grants = [Button(f"grant:{index}", _label(grant.label)) for index, grant in enumerate(request.grants)]
    edit = [Button("edit", "Edit")] if editable and editable_text(request) is not None else []
    preview = [Button("preview", "Preview")] if previewable and previewed_code(request) else []
    return [Button("once", yes, primary=True), *grants, *preview, *edit, Button("no", no)]


def editable_text(request: ApprovalRequest) -> tuple[str, str] | None:
    """The argument that a person may correct on the card, and its text; None where there is no such one."""
    tool = canonical(request.call.name)
    field = "command" if tool in SHELLS else "code" if tool in CODE else ""
    value = request.call.input.get(field)
    return (field, value) if isinstance(value, str) else None


def previewed_code(request: ApprovalRequest) -> str:
    """The code that can be tried in a copy of the kernel before the answer; empty where there is none."""
    if canonical(request.call.name) == "NotebookRun":
        cells = [touch.code for touch in request.touches if isinstance(touch, RunsCode)]
        # A cell that the agent has not read is known by name only, and a cell magic takes all that follows.
        unclear = any(code.startswith("# cell ") or (code.startswith("%%") and len(cells) > 1) for code in cells)
        return "" if unclear else "\n".join(cells)
    code = request.call.input.get("code")
    tries = request.call.input.get("dry_run")
    return code if canonical(request.call.name) in CODE and isinstance(code, str) and not tries else ""


def preview(text: str) -> Rendered:
    """What a preview said, below the question."""
    shown = clip(plain(text), SHOWN)
    return Rendered(f'<pre tabindex="0" role="group" aria-label="Preview">{esc(shown)}</pre>', shown)


def instead(request: ApprovalRequest) -> str:
    """The title after "Don't": one optional line may say what to do instead."""
    return f"{verbs(request)[1]}. What should I do instead?"


def card(request: ApprovalRequest, note: str = "") -> Rendered:
    """The whole card without buttons, for places where the question is answered elsewhere."""
    inner = head(request, note)
    risk = " risk" if request.destructive else ""
    return Rendered(
        f'<section class="card{risk}" role="group" aria-label="{attr(question(request))}">{inner.html}</section>',
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


def _words(line: str) -> str:
    """A sentence with its `code` set as code."""
    parts = line.split("`")
    if len(parts) % 2 == 0:
        return esc(line)
    return "".join(f"<code>{pre(part)}</code>" if index % 2 else esc(part) for index, part in enumerate(parts))


# -- words ------------------------------------------------------------------------------------------------------------


def _label(label: str) -> str:
    """A grant's words, whole: a button must say all that it gives."""
    return " ".join(plain(label).replace("`", "").split())


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
    "editable_text",
    "head",
    "instead",
    "question",
    "said",
    "target_of",
]
