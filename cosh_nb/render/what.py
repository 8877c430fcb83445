"""What exactly would happen, on a card: the command, the change, the code, and everything that would be touched."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cosh_nb.render import diff as change
from cosh_nb.render.arguments import pairs
from cosh_nb.render.code import highlight
from cosh_nb.render.markup import NOTHING, Rendered, clip, esc, plain, pre, shorten
from cosh_nb.render.titles import CODE, SHELLS, question
from cosh_tools.names import canonical
from cosh_tools.touches import Needs, Opaque, PathTouch, Runs, RunsCode, Writes, describe

if TYPE_CHECKING:
    from cosh_tools.hosts import ApprovalRequest

SHOWN = 100_000
"""Characters of a command or of code that a card shows; it scrolls inside the card."""
ROWS = 2_000
"""Rows of a change that a card shows."""


def exactly(request: ApprovalRequest) -> Rendered:
    """The command, the change, the code or the plan; else the arguments in words."""
    tool, given = canonical(request.call.name), request.call.input
    if request.diff:
        html = change.to_html(request.diff, question(request).rstrip("?"), ROWS)
        if html:
            return Rendered(html, change.to_text(request.diff, ROWS))
    if tool in SHELLS and isinstance(given.get("command"), str):
        return _pre(given["command"], "bash" if tool == "Bash" else "powershell", "Command")
    if tool in CODE and isinstance(given.get("code"), str):
        return _pre(given["code"], "python", "Code")
    if tool == "ExitPlanMode":
        from cosh_nb.render.markdown import to_html

        plan = str(given.get("plan") or given.get("summary") or "")
        return Rendered(f'<div class="ask">{to_html(clip(plan, SHOWN))}</div>', plain(plan))
    return arguments(given)


def arguments(given: Mapping[str, Any], limit: int = SHOWN) -> Rendered:
    """Arguments as names and values, in words, never as JSON where a value is plain."""
    shown = pairs(given, limit)
    if not shown:
        return NOTHING
    html = "".join(f"<dt>{esc(name)}</dt><dd>{pre(value)}</dd>" for name, value in shown)
    return Rendered(f"<dl>{html}</dl>", "\n".join(f"{name}: {plain(value)}" for name, value in shown))


def _pre(text: str, language: str, label: str) -> Rendered:
    shown = clip(text, SHOWN)
    return Rendered(
        f'<pre tabindex="0" role="group" aria-label="{label}">{highlight(plain(shown), language)}</pre>', plain(shown)
    )


def touched(request: ApprovalRequest) -> list[str]:
    """One line each: where it runs, and what it touches beyond what the card already shows."""
    tool, given = canonical(request.call.name), request.call.input
    lines = []
    if tool in SHELLS:
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
    if seen and not (len(seen) == 1 and tool not in SHELLS and any(part in request.reason.reason for part in seen)):
        shown = list(seen)[:12]
        more = f" and {len(seen) - 12} more" if len(seen) > 12 else ""
        sentence = ", ".join(shown) + more
        lines.append(f"{sentence[:1].upper()}{sentence[1:]}.")
    if note := given.get("description"):
        lines.append(f"The agent says: “{shorten(str(note), 200)}”")
    return lines


def _home(path: Path) -> str:
    home, text = str(Path.home()), str(path)
    return f"~{text[len(home) :]}" if text == home or text.startswith(f"{home}/") else text
