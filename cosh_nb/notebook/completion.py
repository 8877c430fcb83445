"""Tab in a request: commands, options and their values, `@path`, `{name}`, as IPython's own completer offers them."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

MOST = 200
"""Completions that are offered at most."""
_COMMAND = re.compile(r"%{1,2}cosh\s+/(\S*)$")
_ARGUMENT = re.compile(r"%{1,2}cosh\s+/(\S+)\s+(?:.*\s)?(\S*)$")
_OPTION = re.compile(r"%{1,2}cosh\b(?:.*\s)?(-\S*)$")
_VALUE = re.compile(r"%{1,2}cosh\b.*\s(--mode|--permission-mode|--approval-mode|--provider)\s+(\S*)$")
_PATH = re.compile(r"(?:^|\s)@(\S*)$")
_NAME = re.compile(r"\{([A-Za-z_]\w*)?$")


def install(shell: InteractiveShell) -> None:
    """Offer completions in cells of ours."""
    completer: Any = getattr(shell, "Completer", None)
    matchers = getattr(completer, "custom_matchers", None)
    if matchers is None:
        return  # an IPython without matchers: Tab completes as it always did

    from IPython.core.completer import SimpleCompletion, context_matcher

    @context_matcher()  # type: ignore[untyped-decorator]  # IPython is not typed
    def cosh_matcher(context: Any) -> dict[str, Any]:
        word, found = "", list[str]()
        with contextlib.suppress(Exception):  # Tab never fails
            word, found = complete(_before_cursor(context), shell)
        return {
            "completions": [SimpleCompletion(text=one, type="cosh") for one in found[:MOST]],
            "matched_fragment": word,
            "suppress": bool(found),
            "ordered": True,
        }

    cosh_matcher.matcher_identifier = "cosh_nb"
    matchers.append(cosh_matcher)


def remove(shell: InteractiveShell) -> None:
    """Take the completions away again."""
    matchers = getattr(getattr(shell, "Completer", None), "custom_matchers", None)
    if matchers is not None:
        matchers[:] = [one for one in matchers if getattr(one, "matcher_identifier", "") != "cosh_nb"]


def complete(text: str, shell: InteractiveShell) -> tuple[str, list[str]]:
    """The word before the cursor and what it may become; nothing where the text is not a request of ours."""
    line = text.rsplit("\n", 1)[-1]
    if not text.lstrip().startswith(("%cosh", "%%cosh")):
        return "", []
    for pattern, offer in ((_VALUE, _values), (_COMMAND, _commands), (_ARGUMENT, _choices)):
        if found := pattern.search(line):
            word = found[found.re.groups]
            return (f"/{word}" if offer is _commands else word), offer(found)
    if found := _PATH.search(line):
        return f"@{found[1]}", [f"@{path}" for path in _paths(found[1], shell)]
    if found := _NAME.search(line):
        start = found[1] or ""
        return f"{{{start}", [f"{{{name}}}" for name in _names(start, shell)]
    if found := _OPTION.search(line):
        return found[1], _starting(found[1], _flags())
    return "", []


def _before_cursor(context: Any) -> str:
    lines = str(context.full_text).split("\n")
    lines = lines[: context.cursor_line + 1]
    lines[-1] = lines[-1][: context.cursor_position]
    return "\n".join(lines)


def _commands(found: re.Match[str]) -> list[str]:
    from cosh_nb.commands import table

    return _starting(f"/{found[1]}", (f"/{name}" for name in table()))


def _choices(found: re.Match[str]) -> list[str]:
    from cosh_nb.commands import table

    command = table().get(found[1])
    return _starting(found[2], command.choices if command is not None else ())


def _values(found: re.Match[str]) -> list[str]:
    if found[1] == "--provider":
        from cosh_nb.providers.choose import NAMES

        return _starting(found[2], NAMES)
    from cosh_tools.kinds import PermissionMode

    return _starting(found[2], [mode.value for mode in PermissionMode])


def _flags() -> list[str]:
    from cosh_nb.typed import FLAGS, SWITCHES

    return sorted([*FLAGS, *SWITCHES])


def _paths(start: str, shell: InteractiveShell) -> list[str]:
    from pathlib import Path

    del shell
    folder, _, name = start.rpartition("/")
    base = Path(folder or ("/" if start.startswith("/") else ".")).expanduser()
    found = []
    for path in sorted(base.iterdir()):
        if path.name.startswith(name) and (name.startswith(".") or not path.name.startswith(".")):
            shown = f"{folder}/{path.name}" if folder or start.startswith("/") else path.name
            found.append(f'"{shown}"' if " " in shown else shown + ("/" if path.is_dir() else ""))
    return found


def _names(start: str, shell: InteractiveShell) -> list[str]:
    hidden = shell.user_ns_hidden
    return _starting(start, sorted(name for name in shell.user_ns if not name.startswith("_") and name not in hidden))


def _starting(start: str, every: Iterable[str]) -> list[str]:
    return [one for one in every if one.startswith(start)]
