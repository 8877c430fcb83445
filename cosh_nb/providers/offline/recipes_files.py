"""What is done for the phrases about files and commands."""

from __future__ import annotations

import re
import shlex
from collections.abc import Generator
from pathlib import PurePath

from cosh_nb.providers.offline import answers
from cosh_nb.providers.offline.intents import (
    Append,
    CreateFile,
    ListFiles,
    ReadFile,
    Replace,
    RunCommand,
    RunScript,
    Search,
)
from cosh_nb.providers.offline.scene import Call, Outcome
from cosh_nb.providers.offline.steps import Kit, Recipe, Stop, accept, must

MOST_FILES = 20
"""Files that one replacement may go through."""

_SPECIAL = re.compile(r"([\\.^$|?*+()\[\]{}])")
_GLOB = re.compile(r"([*?\[\]])")
_MORE = re.compile(r"\.\.\. and (\d+) more files")


def list_files(kit: Kit, wish: ListFiles) -> Recipe:
    """Files by pattern, named as seen from here."""
    outcome = yield from must(kit.tools.files(wish.pattern, wish.folder), "Listing files")
    names, more = _files(kit, outcome)
    below = " and below" if wish.pattern.startswith("**/") else ""
    where = f"in {answers.code(wish.folder)}{below}" if wish.folder else f"here{below}"
    if not names:
        return f"There is no {wish.what} {where}."
    return f"{answers.count(len(names) + more, wish.what)} {where}:\n\n{answers.block(names, more=more)}"


def read_file(kit: Kit, wish: ReadFile) -> Recipe:
    """The file, or some of its lines, in the answer."""
    count = None if wish.first is None or wish.last is None else wish.last - wish.first + 1
    outcome = yield from must(kit.tools.read(wish.path, wish.first, count), f"Reading {wish.path}")
    lines, more = answers.file_lines(outcome.text)
    name = answers.code(wish.path)
    if not lines:
        if outcome.images or "[File" not in outcome.text:
            return f"I read {name}; it is shown above."
        return f"{name} is empty."
    if wish.tail is not None:
        if more:
            raise Stop(f"{name} is too long for me to find its end. Run `tail -n {wish.tail} {wish.path}` instead.")
        lines = lines[-wish.tail :]
        return f"The last {answers.count(len(lines), 'line')} of {name}:\n\n" + _shown(wish.path, lines)
    if count is not None:
        last = (wish.first or 1) + len(lines) - 1
        span = f"Line {wish.first}" if last == wish.first else f"Lines {wish.first} to {last}"
        return f"{span} of {name}:\n\n" + _shown(wish.path, lines)
    return f"{name}:\n\n{answers.block(lines, answers.language_of(wish.path), more)}"


def search(kit: Kit, wish: Search) -> Recipe:
    """Lines that hold the text."""
    expression = wish.text if wish.pattern else _SPECIAL.sub(r"\\\1", wish.text)
    call = kit.tools.search(expression, wish.glob, wish.path, ignore_case=wish.ignore_case)
    outcome = yield from must(call, "Searching")
    where = f" in {answers.code(wish.path or wish.glob)}" if wish.path or wish.glob else " here"
    if outcome.text.startswith("No matches found"):
        return f"{answers.code(wish.text)} is nowhere{where}."
    lines = [_nearer(kit, line) for line in outcome.text.rstrip("\n").split("\n")]
    hits = [line for line in lines if re.match(r"[^:]*:\d+[:-]|\d+[:-]", line)]
    rest = [line for line in lines if line not in hits and line.strip()]
    notes = "\n\n" + " ".join(rest) if rest else ""
    files = {line.split(":", 1)[0] for line in hits if not re.match(r"\d+:", line)}
    across = f" in {answers.count(len(files), 'file')}" if len(files) > 1 else where if not files else ""
    return (
        f"{answers.count(len(hits), 'line')} with {answers.code(wish.text)}{across}:\n\n{answers.block(hits)}{notes}"
        if hits
        else answers.block(lines)
    )


def create_file(kit: Kit, wish: CreateFile) -> Recipe:
    """A new file. One that exists is only overwritten where the person said overwrite."""
    name = answers.code(wish.path)
    if wish.overwrite:
        yield from must(kit.tools.read(wish.path), f"Reading {wish.path}")
    elif _stays_here(wish.path) and (yield from _exists(kit, wish.path)):
        raise Stop(
            f"{name} exists already, and I did not touch it. "
            f'To replace what it holds, say: overwrite {wish.path} with "the new text".'
        )
    yield from must(kit.tools.write(wish.path, wish.content), f"Writing {wish.path}")
    lines = answers.count(len(wish.content.splitlines()), "line")
    did = "replaced the contents of" if wish.overwrite else "created"
    return f"I {did} {name} ({lines if wish.content else 'empty'})."


def append(kit: Kit, wish: Append) -> Recipe:
    """A line at the end: the last lines are replaced by themselves and the new one."""
    name = answers.code(wish.path)
    outcome = yield from must(kit.tools.read(wish.path), f"Reading {wish.path}")
    lines, more = answers.file_lines(outcome.text)
    if more:
        raise Stop(f"{name} is too long for me to find its end, so I left it alone.")
    if not lines:
        yield from must(kit.tools.write(wish.path, wish.text + "\n"), f"Writing {wish.path}")
        return f"I added the line to {name}, which was empty."
    whole = "\n".join(lines)
    for start in range(len(lines) - 1, -1, -1):
        tail = "\n".join(lines[start:])
        if tail.strip() and whole.count(tail) == 1:
            call = kit.tools.edit(wish.path, tail, f"{tail}\n{wish.text}", everywhere=False)
            yield from must(call, f"Editing {wish.path}")
            return f"I added the line at the end of {name}."
    raise Stop(f"The end of {name} cannot be told apart from the rest of it, so I left it alone.")


def replace_text(kit: Kit, wish: Replace) -> Recipe:
    """One text by another, after a look at the file."""
    if not wish.glob:
        number = yield from _replace_in(kit, wish.path, wish)
        return f"I replaced {answers.code(wish.old)} by {answers.code(wish.new)} in {answers.code(wish.path)}{number}."
    call = kit.tools.files_with(_SPECIAL.sub(r"\\\1", wish.old), wish.glob)
    outcome = yield from must(call, "Searching")
    if outcome.text.startswith("No matches found"):
        return f"{answers.code(wish.old)} is in no file that matches {wish.glob}. Nothing was changed."
    paths = list(dict.fromkeys(re.sub(r":\d+:.*$", "", line) for line in outcome.text.splitlines() if line.strip()))
    if len(paths) > MOST_FILES:
        raise Stop(
            f"{len(paths)} files hold {answers.code(wish.old)}; I go through {MOST_FILES} at most. Name a folder."
        )
    for path in paths:
        yield from _replace_in(kit, path, wish)
    near = [answers.near(path, kit.scene.folder).removeprefix("./") for path in paths]
    head = f"I replaced {answers.code(wish.old)} by {answers.code(wish.new)} in {answers.count(len(paths), 'file')}"
    return f"{head}:\n\n{answers.block(near)}"


def run_command(kit: Kit, wish: RunCommand) -> Recipe:
    """The command, word for word, and what it printed."""
    outcome = yield from must(kit.tools.shell(wish.command), f"Running {answers.code(wish.command)}")
    return _ran(answers.code(wish.command), outcome)


def run_script(kit: Kit, wish: RunScript) -> Recipe:
    """The script with the program that its name says."""
    program = {
        "py": "python3", "sh": "bash", "bash": "bash", "js": "node", "mjs": "node", "r": "Rscript", "rb": "ruby",
        "pl": "perl",
    }.get(wish.path.rpartition(".")[2].lower())  # fmt: skip
    if program is None:
        raise Stop(f"I do not know which program runs {answers.code(wish.path)}. Say the command: run `...`.")
    command = f"{program} {shlex.quote(wish.path)}"
    outcome = yield from must(kit.tools.shell(command), f"Running {answers.code(command)}")
    return _ran(answers.code(command), outcome)


def _exists(kit: Kit, path: str) -> Generator[Call, Outcome, bool]:
    """Whether there is such a file, by a look that needs no approval."""
    if kit.tools.can_look_for_files:
        look = yield from must(kit.tools.files(_GLOB.sub(r"[\1]", path), ""), "Looking whether it exists")
        return bool(_files(kit, look)[0])
    call = kit.tools.read(path, 1, 1)
    outcome = yield call
    if outcome.is_error and answers.denial(outcome.text) is not None:
        accept(call, outcome, f"Reading {path}")
    return not outcome.is_error


def _replace_in(kit: Kit, path: str, wish: Replace) -> Recipe:
    """Read, then edit; how often, in words."""
    outcome = yield from must(kit.tools.read(path), f"Reading {path}")
    lines, more = answers.file_lines(outcome.text)
    times = "\n".join(lines).count(wish.old)
    if not times and not more:
        raise Stop(f"{answers.code(wish.old)} is not in {answers.code(path)}. Nothing was changed.")
    everywhere = times != 1 or bool(more)
    yield from must(kit.tools.edit(path, wish.old, wish.new, everywhere=everywhere), f"Editing {path}")
    return "" if more else f" ({answers.count(times, 'place')})"


def _stays_here(path: str) -> bool:
    """Whether a look for the file needs no question of its own."""
    return not path.startswith(("/", "~")) and ".." not in PurePath(path).parts


def _ran(what: str, outcome: Outcome) -> str:
    lines = answers.output_lines(outcome.text)
    return f"I ran {what}. It printed:\n\n{answers.block(lines)}" if lines else f"I ran {what}. It printed nothing."


def _shown(path: str, lines: list[str]) -> str:
    return answers.block(lines, answers.language_of(path))


def _files(kit: Kit, outcome: Outcome) -> tuple[list[str], int]:
    """The names in a list of files, as seen from here, and how many more there are."""
    text = outcome.text.strip()
    if text.startswith(("No files matched", "No files found", "(no output")):
        return [], 0
    more = _MORE.search(text)
    names = [
        answers.near(line.removeprefix("./"), kit.scene.folder)
        for line in answers.output_lines(_MORE.sub("", text.partition("\n... and")[0]))
        if line.strip() and not line.startswith("(")
    ]
    return sorted(names), int(more[1]) if more else 0


def _nearer(kit: Kit, line: str) -> str:
    folder = kit.scene.folder
    return (line.removeprefix(f"{folder}/") if folder is not None else line).removeprefix("./")
