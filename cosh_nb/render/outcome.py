"""What a finished call shows when its row is opened: what went in, the change, what came out, images."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cosh_nb.render import ansi
from cosh_nb.render import diff as change
from cosh_nb.render.arguments import pairs
from cosh_nb.render.code import highlight
from cosh_nb.render.markup import Rendered, attr, clip, count, esc, plain, pre, shorten, size
from cosh_tools.names import canonical

if TYPE_CHECKING:
    from cosh_tools.results import Media, ToolResult

IMAGE_BYTES = 3_000_000
"""Bytes of all images of one result that go into the page; larger ones are named."""
TEXT_LINES = 6
"""Lines of output in the plain text of a row."""

_IMAGES = {"image/png": b"\x89PNG", "image/jpeg": b"\xff\xd8", "image/gif": b"GIF8"}
_EXIT = re.compile(r"\n?\((?:no output, )?exit code 0\)\Z")
_FIGURE = re.compile(r"<Figure size \d+x\d+ with \d+ Axes>\n?")
_FIELD = {"Bash": ("command", "bash"), "PowerShell": ("command", "powershell"), "Python": ("code", "python")}
_QUIET = frozenset({"Edit", "Write", "NotebookEdit"})


def body(tool: str, given: Mapping[str, Any], result: ToolResult, target: str) -> Rendered:
    """The inside of the row: input, change, output."""
    name = canonical(tool)
    diff = str(result.metadata.get("diff") or "")
    blocks = [_input(name, given, target, has_diff=bool(diff))]
    if diff:
        blocks.append(Rendered(change.to_html(diff, f"Change to {target}"), change.to_text(diff, 40)))
    if result.is_error or name not in _QUIET:
        blocks.append(_output(result))
    html = "".join(block.html for block in blocks)
    return Rendered(html, "\n".join(block.text for block in blocks if block.text))


def pictures(result: ToolResult) -> Rendered:
    """The images of a result, which stand below its row whether it is opened or not."""
    shown = [_image(media, room) for media, room in _with_room(_pictures(result))]
    html = "".join(picture.html for picture in shown)
    return Rendered(f'<div class="pic">{html}</div>' if html else "", "\n".join(picture.text for picture in shown))


def summary(result: ToolResult) -> str:
    """The muted words in the row: what the tool says of its result, or why it failed."""
    said = result.metadata.get("summary")
    if result.is_error:
        line = error_line(result.content)
        return f"{said}: {line}" if said and str(said) not in line else line
    if said:
        return str(said)
    diff = str(result.metadata.get("diff") or "")
    return change.summary(diff) if diff else ""


def error_line(content: str) -> str:
    """The one line of an error that says most: the exception of a traceback, the last line of a failed command."""
    lines = [
        line.strip() for line in ansi.strip(content[:2_000] + "\n" + content[-4_000:]).splitlines() if line.strip()
    ]
    if not lines:
        return "failed"
    if lines[0].startswith("Command exited with code"):
        code = lines[0].rsplit(" ", 1)[-1]
        return f"exit {code}" if len(lines) == 1 or lines[-1] == "(no output)" else f"exit {code}: {lines[-1]}"
    traceback = any(line.startswith("Traceback (most recent call last)") for line in lines)
    return lines[-1] if traceback else lines[0]


def has_images(result: ToolResult) -> bool:
    """Whether the result shows a picture."""
    return any(_shows(media) for media in _pictures(result))


def _input(tool: str, given: Mapping[str, Any], target: str, *, has_diff: bool) -> Rendered:
    field, language = _FIELD.get(tool, ("", ""))
    value = given.get(field)
    if isinstance(value, str):
        if value.strip() == target.strip():
            return Rendered("", "")
        return Rendered(f'<pre class="out" tabindex="0">{highlight(clip(plain(value), 20_000), language)}</pre>', "")
    if has_diff:
        return Rendered("", "")  # the change says it all
    shown = pairs({key: item for key, item in given.items() if key not in ("todos", "questions")}, 4_000)
    if len(shown) == 1 and (shown[0][1] == target or shown[0][1].endswith(f"/{target}")):
        return Rendered("", "")
    html = "".join(f"<dt>{esc(name)}</dt><dd>{pre(text)}</dd>" for name, text in shown)
    return Rendered(f"<dl>{html}</dl>" if html else "", "")


def _output(result: ToolResult) -> Rendered:
    shown = result.metadata.get("display")
    text = (shown if isinstance(shown, str) else result.content).strip("\n")
    text = text[:-60] + _EXIT.sub("", text[-60:])
    if result.media:
        text = _FIGURE.sub("", text[:4_000]) + text[4_000:]  # the figure itself is shown
    if not text.strip():
        return Rendered("", "")
    return Rendered(f'<pre class="out" tabindex="0">{ansi.to_html(text)}</pre>', few_lines(ansi.strip(text)))


def few_lines(text: str, most: int = TEXT_LINES) -> str:
    """The first lines of a text, and how many more there are."""
    lines = text.splitlines()
    if len(lines) <= most + 1:
        return text
    return "\n".join([*lines[:most], f"… {count(len(lines) - most, 'more line')}"])


def _pictures(result: ToolResult) -> Sequence[Media]:
    """What the model looks at, and what is for the person's eyes alone."""
    shown = result.metadata.get("media")
    return (*result.media, *shown) if isinstance(shown, tuple) else result.media


def _with_room(media: Sequence[Media]) -> list[tuple[Media, bool]]:
    found, used = [], 0
    for item in media:
        used += len(item.data)
        found.append((item, used <= IMAGE_BYTES))
    return found


def _shows(media: Media) -> bool:
    return media.media_type in _IMAGES and media.data.startswith(_IMAGES[media.media_type])


def _image(media: Media, room: bool) -> Rendered:
    title = shorten(media.title or "image", 120)
    if not _shows(media) or not room:
        why = "too large to show here" if _shows(media) else "not shown"
        line = f"{title}: {media.media_type}, {size(len(media.data)).replace('characters', 'bytes')}, {why}"
        return Rendered(f'<div class="lab">{esc(line)}</div>', plain(line))
    source = f"data:{media.media_type};base64,{media.base64}"
    return Rendered(f'<img src="{source}" alt="{attr(title)}">', f"[{plain(title)}]")
