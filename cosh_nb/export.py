"""A conversation as a file: Markdown, a page that stands alone, a notebook, or JSON.

Written from the messages of a session. What a model, a tool or the web said stays text in every form: no form asks
the network for anything when it is opened, or runs anything.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cosh_nb import __version__
from cosh_nb import events as e
from cosh_nb.messages import Block, Message
from cosh_nb.render.markup import Rendered, esc, shorten
from cosh_nb.render.outcome import IMAGE_BYTES
from cosh_nb.render.style import css
from cosh_nb.render.turn import TurnView
from cosh_nb.render.words import object_of
from cosh_tools.contract import ToolCall
from cosh_tools.fences import fenced
from cosh_tools.names import canonical
from cosh_tools.results import Media, ToolResult

OUTPUT = 20_000
"""Characters of one output that Markdown and the notebook keep."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request of the person, and what happened because of it."""

    prompt: str
    events: tuple[e.Event, ...]


@dataclass(frozen=True, slots=True)
class About:
    """What the file says of itself."""

    title: str = "A conversation with cosh"
    session: str = ""
    model: str = ""
    date: str = ""

    @property
    def line(self) -> str:
        """Model, date and session in one line."""
        session = f"session {self.session[:8]}" if self.session else ""
        return " · ".join(part for part in (self.model, self.date, session) if part)


def exchanges(messages: Sequence[Message]) -> list[Exchange]:
    """The messages as requests with their events, as a turn would have told them."""
    found: list[Exchange] = []
    prompt, events = "", list[e.Event]()
    for message in messages:
        if message.role == "assistant":
            events += _said(message)
            continue
        results = {str(block.get("tool_use_id")): block for block in message.results}
        if results:
            events += _finished(events, results)
        if message.text and not results:
            if prompt or events:
                found.append(Exchange(prompt, tuple(events)))
            prompt, events = message.text, []
        elif message.text:
            events.append(e.Notice("info", f"You added: {shorten(message.text, 300)}"))
    if prompt or events:
        found.append(Exchange(prompt, tuple(events)))
    return found


# -- the four forms ----------------------------------------------------------------------------------------------------


def as_json(messages: Sequence[Message], about: About) -> str:
    """The messages as they are kept, in the shape of the Messages API."""
    whole = {
        "format": "cosh-conversation",
        "version": 1,
        "written_by": f"cosh-nb {__version__}",
        "title": about.title,
        "session": about.session,
        "model": about.model,
        "date": about.date,
        "messages": [
            {"role": message.role, "content": [dict(block) for block in message.content]} for message in messages
        ],
    }
    return json.dumps(whole, ensure_ascii=False, indent=1) + "\n"


def as_markdown(messages: Sequence[Message], about: About) -> str:
    """Prose as it was written, but for HTML and images, which are shown instead of obeyed; steps as lists."""
    parts = [f"# {_line(about.title)}", _line(about.line)]
    for exchange in exchanges(messages):
        parts.append("## You\n\n" + _quoted(exchange.prompt))
        parts.append("## cosh")
        parts += [part for part in _markdown_of(exchange.events) if part]
    return "\n\n".join(part for part in parts if part).rstrip() + "\n"


def as_html(messages: Sequence[Message], about: About) -> str:
    """One page with everything in it. It may load nothing and run nothing: its own policy says so."""
    body = [f"<h1>{esc(shorten(about.title, 200))}</h1>", f'<p class="about">{esc(about.line)}</p>']
    for exchange in exchanges(messages):
        said = _drawn(exchange.events)
        you = f'<div class="you" role="group" aria-label="You">{esc(exchange.prompt)}</div>'
        body.append(f'<section>{you}<div class="cn">{said.html}</div></section>')
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">'
        f"<title>{esc(shorten(about.title, 200))}</title><style>{css()}{_PAGE}</style></head>\n"
        f"<body><main>{''.join(body)}</main></body></html>\n"
    )


def as_notebook(messages: Sequence[Message], about: About) -> str:
    """A notebook: requests and prose as Markdown cells, Python and shell as code cells with what they printed."""
    import nbformat

    book = nbformat.v4.new_notebook()
    book.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    book.cells.append(nbformat.v4.new_markdown_cell(f"# {_line(about.title)}\n\n{_line(about.line)}".rstrip()))
    for exchange in exchanges(messages):
        book.cells.append(nbformat.v4.new_markdown_cell("**You**\n\n" + _quoted(exchange.prompt)))
        prose: list[str] = []
        for piece in _pieces(exchange.events):
            cell = _code_cell(piece) if isinstance(piece, e.ToolFinished) else None
            if cell is None:
                prose += [
                    text
                    for text in [_step_markdown(piece) if isinstance(piece, e.ToolFinished) else _calm(piece)]
                    if text.strip()
                ]
                continue
            if prose:
                book.cells.append(nbformat.v4.new_markdown_cell("\n\n".join(prose)))
                prose = []
            book.cells.append(cell)
        if prose:
            book.cells.append(nbformat.v4.new_markdown_cell("\n\n".join(prose)))
    return str(nbformat.writes(book))


Writer = Callable[[Sequence[Message], About], str]
WRITERS: Mapping[str, Writer] = {"md": as_markdown, "html": as_html, "ipynb": as_notebook, "json": as_json}
"""The forms by the ending of their file."""


# -- messages to events ------------------------------------------------------------------------------------------------


def _said(message: Message) -> Iterator[e.Event]:
    for block in message.content:
        match block.get("type"):
            case "text":
                yield e.TextDelta(str(block.get("text", "")))
                yield e.MessageDone((), "end_turn", e.Usage())
            case "thinking":
                yield e.ThinkingDelta(str(block.get("thinking", "")))
            case "tool_use":
                yield e.ToolUseEnd(str(block["id"]), str(block["name"]), block.get("input") or {})


def _finished(before: Sequence[e.Event], results: Mapping[str, Block]) -> Iterator[e.Event]:
    """The results of the calls that wait for one, in the order in which they were declared."""
    done = {event.call.id for event in before if isinstance(event, e.ToolFinished)}
    for event in before:
        if isinstance(event, e.ToolUseEnd) and event.id in results and event.id not in done:
            call = ToolCall(event.id, event.name, event.input or {})
            yield e.ToolFinished(call, _result(results[event.id]), "", shorten(object_of(call.input), 160), -1.0)


def _result(block: Block) -> ToolResult:
    content = block.get("content")
    parts = content if isinstance(content, list) else [{"type": "text", "text": str(content or "")}]
    text = "\n".join(str(part.get("text", "")) for part in parts if part.get("type") == "text")
    media = tuple(item for part in parts if (item := _media(part)) is not None)
    return ToolResult(text, is_error=bool(block.get("is_error")), media=media)


def _media(part: Mapping[str, Any]) -> Media | None:
    source = part.get("source") or {}
    if part.get("type") != "image" or source.get("type") != "base64":
        return None
    return Media.decoded(str(source.get("media_type", "")), str(source.get("data", "")), "image")


def _drawn(events: Sequence[e.Event]) -> Rendered:
    view = TurnView(clock=lambda: 0.0, wall=lambda: "")
    for event in events:
        view.feed(event)
    return view.settled()


# -- Markdown ----------------------------------------------------------------------------------------------------------


def _pieces(events: Sequence[e.Event]) -> Iterator[str | e.ToolFinished]:
    """Prose and finished calls, in order."""
    for event in events:
        match event:
            case e.TextDelta(text=text) | e.Notice(text=text):
                yield text
            case e.ToolFinished():
                yield event
            case _:
                pass


def _markdown_of(events: Sequence[e.Event]) -> Iterator[str]:
    for piece in _pieces(events):
        yield _step_markdown(piece) if isinstance(piece, e.ToolFinished) else _calm(piece)


def _step_markdown(event: e.ToolFinished) -> str:
    """A step as a line, its command or code and its output below it."""
    view = _drawn((event,)).text.splitlines()
    line = _line(view[0] if view else event.call.name)
    given = event.call.input
    language, code = ("python", given.get("code")) if "code" in given else ("bash", given.get("command"))
    parts = [f"- {line}"]
    if isinstance(code, str) and ("\n" in code or len(code) > 100):
        parts.append(_block(code, language))
    if event.result.content.strip():
        parts.append(_block(event.result.content))
    return "\n\n".join(parts)


def _line(text: str) -> str:
    """One line of plain words: nothing in it is Markdown."""
    return re.sub(r"([\\`*_\[\]<>$|!])", r"\\\1", shorten(text, 400))


def _block(text: str, language: str = "") -> str:
    """Code or output without colours, cut where it is long."""
    from cosh_nb.render import ansi

    return fenced(ansi.strip(text, OUTPUT).rstrip("\n"), language)


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in _calm(text).splitlines())


def _calm(text: str) -> str:
    """Markdown in which HTML is shown and no image is fetched; code stays as it is."""
    out, fence = [], ""
    for line in text.splitlines():
        mark = re.match(r" {0,3}(`{3,}|~{3,})", line)
        if fence:
            out.append(line)
            if mark and mark[1].startswith(fence) and not line.strip(" `~"):
                fence = ""
            continue
        if mark:
            fence = mark[1]
            out.append(line)
            continue
        out.append(_CODE.sub(lambda found: found[0] if found["code"] else _shown(found[0]), line))
    return "\n".join([*out, fence] if fence else out)


def _shown(text: str) -> str:
    text = re.sub(r"<(?=[A-Za-z/!?])", "&lt;", text).replace("![", "!\\[")
    text = _LINK.sub(r"]\\(", text)
    return _DEFINITION.sub(r"\1\\[", text)


_GOOD = r"\s*(?:https?://|mailto:|#|(?!//)[\w./ -]+\))"
_LINK = re.compile(rf"\]\((?!{_GOOD})", re.IGNORECASE)
_DEFINITION = re.compile(rf"^( {{0,3}})\[(?=[^\]]*\]:(?!{_GOOD}))", re.IGNORECASE)
_CODE = re.compile(r"(?P<code>(?<!`)(`+)(?!`).+?(?<!`)\2(?!`))|[^`]+|`+")


# -- the notebook ------------------------------------------------------------------------------------------------------


def _code_cell(event: e.ToolFinished) -> Any:
    """A code cell for what was Python or shell; None for other steps."""
    import nbformat

    given = event.call.input
    match canonical(event.call.name):
        case "Python" if isinstance(given.get("code"), str):
            source = given["code"]
        case "Bash" if isinstance(given.get("command"), str):
            source = f"%%bash\n{given['command']}"
        case _:
            return None
    outputs = []
    if event.result.content:
        from cosh_nb.render.markup import clip

        outputs.append(
            nbformat.v4.new_output(
                "stream", name="stderr" if event.result.is_error else "stdout", text=clip(event.result.content, OUTPUT)
            )
        )
    for media in event.result.media:
        if media.media_type in ("image/png", "image/jpeg") and len(media.data) <= IMAGE_BYTES:
            data = {media.media_type: media.base64, "text/plain": "[image]"}
            outputs.append(nbformat.v4.new_output("display_data", data))
    return nbformat.v4.new_code_cell(source, outputs=outputs)


_PAGE = (
    ":root{color-scheme:light dark}body{margin:0;padding:24px 16px;background:#fff;color:#1f2328;"
    "font:14px/1.5 system-ui,sans-serif}main{max-width:880px;margin:0 auto}h1{font-size:20px;margin:0}"
    ".about{opacity:.74;font-size:12px;margin:2px 0 16px}section{margin:0 0 24px}"
    ".you{white-space:pre-wrap;overflow-wrap:anywhere;background:rgba(128,128,128,.13);border-radius:2px;"
    "padding:6px 10px;margin:0 0 8px;unicode-bidi:plaintext}"
    "@media (prefers-color-scheme:dark){body{background:#111;color:#e6e6e6}.cn{--cn-link:#64b5f6;--cn-ok:#4caf50;"
    "--cn-bad:#f44336;--cn-warn:#f57c00;--cn-red:#ff8a80;--cn-green:#81c784;--cn-yellow:#ffd54f;--cn-blue:#82b1ff;"
    "--cn-purple:#d7a8ff;--cn-cyan:#80deea;--cn-grey:#b0b0b0}}"
)
