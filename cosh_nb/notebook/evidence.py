"""The ledger as evidence for the model: which cells ran, and what a person saw of each (hosts.EvidenceHost)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cosh_tools.results import Media, ToolResult
from cosh_tools.terminal import readable

if TYPE_CHECKING:
    from cosh_nb.notebook.ledger import Ledger, Ran

_ID = re.compile(r"terminal-output://(?P<session>[^/]+)/(?P<count>\d+)")
_IMAGES = ("image/png", "image/jpeg", "image/gif")
SHOWN_IMAGES = 4
"""Images of one cell that go to the model."""


class LedgerEvidence:
    """Reads the ledger for the evidence tool."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def list_commands(self, limit: int, cursor: str | None) -> ToolResult:
        """Cells, newest first, each with its id, state and first line; `cursor` continues a list."""
        ran = list(reversed(list(self._ledger)))
        start = int(cursor) if cursor is not None and cursor.isdigit() else 0
        page = ran[start : start + limit]
        if not page:
            return ToolResult.success("No cell has run since cosh_nb was loaded." if not start else "No more cells.")
        lines = [f"{self.name(one)}  {_state(one)}  {_first(one.source)}" for one in page]
        more = start + limit
        if more < len(ran):
            lines.append(f'... {len(ran) - more} older ones: cursor "{more}"')
        return ToolResult.success("\n".join(lines)).with_metadata(summary=f"{len(page)} cells")

    async def read_output(self, output_id: str, direction: str, lines: int) -> ToolResult:
        """The head or the tail of what one cell showed; its images beside the text."""
        found = _ID.fullmatch(output_id)
        if found is None:
            return ToolResult.error(f"{output_id!r} is no id of an output. list_commands shows the ids.")
        if found["session"] != self._ledger.kernel_session:
            return ToolResult.error("That output is of a kernel that has been restarted. Run the cell again to see it.")
        ran = self._ledger.get(int(found["count"]))
        if ran is None:
            return ToolResult.error(f"No cell [{found['count']}] is remembered. list_commands shows those that are.")
        return self._read(ran, direction, lines)

    def name(self, ran: Ran) -> str:
        """The id of a cell's output."""
        return f"terminal-output://{self._ledger.kernel_session}/{ran.count}"

    def _read(self, ran: Ran, direction: str, lines: int) -> ToolResult:
        text = text_of(ran)
        every = text.splitlines()
        part = every[:lines] if direction == "head" else every[-lines:]
        left = len(every) - len(part)
        note = f"[{left} {'later' if direction == 'head' else 'earlier'} lines not shown]" if left else ""
        shown = [*part, note] if direction == "head" else [note, *part]
        if ran.status == "running":
            shown.append("[the cell is still running]")
        if ran.dropped:
            shown.append("[its outputs were too old to keep]")
        body = "\n".join(line for line in shown if line) or "[it showed nothing]"
        head = f"[{ran.count}] {_state(ran)}\n{ran.source.strip()}\n---\n"
        return ToolResult(head + body, media=tuple(images_of(ran))).with_metadata(summary=f"{len(every)} lines")


def since(ledger: Ledger, moment: float, most: int = 8) -> str:
    """The cells that a person ran after `moment` (epoch seconds), a line each, for the model's next request."""
    ran = [one for one in ledger if one.started > moment]
    if not ran:
        return ""
    lines = [f"[{one.count}] {_first(one.source)}: {_outcome(one)}" for one in ran[-most:]]
    more = [f"({len(ran) - most} earlier ones)"] if len(ran) > most else []
    return "Cells the user ran since your last turn (cosh_shell_evidence shows their outputs):\n" + "\n".join(
        [*more, *lines]
    )


def text_of(ran: Ran) -> str:
    """What a person could read below the cell: streams, plain text of rich outputs, the traceback."""
    parts: list[str] = []
    for output in ran.outputs:
        match output["output_type"]:
            case "stream":
                parts.append(readable(output["text"]))
            case "error":
                parts.append(
                    readable("\n".join(output.get("traceback", ()))) or f"{output['ename']}: {output['evalue']}"
                )
            case _:
                data = output.get("data", {})
                plain = data.get("text/markdown") or data.get("text/latex") or data.get("text/plain", "")
                kinds = [kind for kind in data if kind.startswith("image/")]
                parts.append(f"{plain}{' ' if plain else ''}[{', '.join(kinds)}]" if kinds else str(plain))
    return "\n".join(part.rstrip("\n") for part in parts)


def images_of(ran: Ran) -> Sequence[Media]:
    """Its raster images, the first few."""
    found: list[Media] = []
    for output in ran.outputs:
        data = output.get("data", {})
        title = f"output of [{ran.count}]"
        images = (Media.decoded(kind, data[kind], title) for kind in _IMAGES if data.get(kind))
        found += [image for image in images if image is not None]
    return found[:SHOWN_IMAGES]


def _first(source: str) -> str:
    line = next((line.strip() for line in source.splitlines() if line.strip()), "")
    return line if len(line) <= 100 else line[:100] + "…"


def _state(ran: Ran) -> str:
    if ran.status == "running":
        return "running"
    seconds = (ran.ended or ran.started) - ran.started
    return f"{'ok' if ran.status == 'ok' else 'failed'} {seconds:.1f} s"


def _outcome(ran: Ran) -> str:
    if ran.status == "running":
        return "still running"
    if (error := ran.error) is not None:
        return f"failed, {error['ename']}: {error['evalue']}"[:200]
    return "ok"
