"""The command line of headless mode: our own flags, and every flag that the Claude Agent SDK passes."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NoReturn

from cosh_nb.errors import UsageError
from cosh_nb.headless.protocol import DONT_ASK
from cosh_tools.kinds import PermissionMode

ONE_SHOT_LIMIT = 30.0
"""Seconds that a question of a one-shot run waits for its answer."""
LIMIT = 6 * 3600.0
"""Seconds that a question waits otherwise. A receipt lifts it."""

_USAGE = """\
cosh-nb --headless [options] "prompt"      one request, then the end
        cosh-nb --headless [options]               JSON lines on stdin, JSON lines on stdout
        echo prompt | cosh-nb --headless [options] the piped text is the request"""


@dataclass(frozen=True)
class Flags:
    """What was asked for. None means: as the settings say."""

    prompt: str | None
    dialect: Literal["cosh", "claude"]
    toolset: Literal["cosh", "claude"]
    input_format: Literal["auto", "text", "stream-json"]
    mode: PermissionMode | None
    dont_ask: bool
    model: str | None
    provider: str | None
    allowed: str
    disallowed: str
    tools: tuple[str, ...] | None
    evidence: bool
    resume: str | None
    latest: bool
    fork: bool
    session_id: str | None
    persist: bool
    max_turns: int | None
    cwd: Path
    add_dirs: tuple[str, ...]
    sources: tuple[str, ...] | None
    """Whose settings files are read: user, project, local; None for all."""
    system: str | None
    append_system: str
    client_asks: bool
    """Whether the client answers can_use_tool and ask_user."""
    partial: bool
    replay: bool
    registry: bool
    bare: bool
    verbose: bool
    approval_limit: float
    mcp_config: tuple[str, ...]
    notes: tuple[str, ...]
    """What was accepted and has no effect, a sentence each."""


def parse(argv: Sequence[str], env: Mapping[str, str] | None = None) -> Flags:
    """The flags of a command line without its program name. Raises UsageError with what to write instead."""
    env = os.environ if env is None else env
    parser = _parser()
    given, unknown = parser.parse_known_args(list(argv))
    if given.prompt == ["-"]:  # as other commands have it: the request is on stdin
        given.prompt, given.input_format = [], "text"
    notes = _notes(given)
    if unknown:
        if given.dialect != "claude":
            raise UsageError(f"There is no option {unknown[0]}. `cosh-nb --headless --help` lists them.")
        if given.input_format == "stream-json":
            given.prompt = []  # what stands alone is the value of a flag that a newer SDK passes
        notes += [f"{word.partition('=')[0]} is not known here and has no effect." for word in unknown if _flag(word)]
    if len(given.prompt) > 1:
        raise UsageError("There is more than one prompt. Put quotes around it.")
    toolset: Literal["cosh", "claude"] = given.toolset or ("claude" if given.dialect == "claude" else "cosh")
    mode, dont_ask = _mode(given)
    return Flags(
        prompt=given.prompt[0] if given.prompt else None,
        dialect=given.dialect,
        toolset=toolset,
        input_format=_input_format(given),
        mode=mode,
        dont_ask=dont_ask,
        model=given.model,
        provider=given.provider,
        allowed=",".join(given.allowed),
        disallowed=",".join(given.disallowed),
        tools=_tools(given.tools),
        evidence=given.evidence,
        resume=given.resume,
        latest=given.latest,
        fork=given.fork,
        session_id=given.session_id,
        persist=not (given.no_persistence or given.bare),
        max_turns=given.max_turns,
        cwd=_folder(given.cwd),
        add_dirs=tuple(given.add_dir),
        sources=_sources(given.setting_sources),
        system=_system(given),
        append_system=given.append_system or "",
        client_asks=_client_asks(given),
        partial=given.partial,
        replay=given.replay,
        registry=given.registry,
        bare=given.bare,
        verbose=given.verbose,
        approval_limit=_limit(env, one_shot=bool(given.prompt), notes=notes),
        mcp_config=tuple(given.mcp_config),
        notes=tuple(notes),
    )


class _Parser(argparse.ArgumentParser):
    """argparse that raises instead of ending the process."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message[:1].upper()}{message[1:]}. `cosh-nb --headless --help` lists the options.")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="cosh-nb --headless", usage=_USAGE, allow_abbrev=False)
    add = parser.add_argument
    modes = f"{', '.join(PermissionMode)}, {DONT_ASK}"
    add("prompt", nargs="*", help="one request; without it they come on stdin")
    add("--headless", action="store_true", help="JSON lines on stdin and stdout")
    add("--dialect", choices=["cosh", "claude"], default="cosh", help="whose lines to write")
    add("--toolset", choices=["cosh", "claude"], help="which tools are declared (default: those of the dialect)")
    add("--tools", action="append", metavar="A,B", help="only these tools; `default` for all, empty for none")
    add("--approval-mode", "--permission-mode", "--mode", dest="mode", metavar="MODE", help=f"one of {modes}")
    add("--dangerously-skip-permissions", action="store_true", help="the same as --mode bypassPermissions")
    add("--allowed-tools", "--allowedTools", dest="allowed", action="append", default=[], metavar="A,B(rule)")
    add("--disallowed-tools", "--disallowedTools", dest="disallowed", action="append", default=[], metavar="A,B(rule)")
    add("--enable-shell-evidence-tool", dest="evidence", action="store_true", help="declare cosh_shell_evidence")
    add("--model", help="the model's name")
    add("--provider", help="anthropic, openai, ollama, offline, ...")
    add("--max-turns", type=_positive, metavar="N", help="model calls in one turn, at most")
    add("--resume", "-r", metavar="ID", help="go on with a stored session")
    add("--continue", "-c", dest="latest", action="store_true", help="go on with the latest session of this folder")
    add("--fork-session", dest="fork", action="store_true", help="go on in a copy of the session")
    add("--session-id", metavar="ID", help="the id of a new session")
    add("--no-session-persistence", dest="no_persistence", action="store_true", help="keep the session in memory only")
    add("--bare", action="store_true", help="no project settings, hooks or skills, nothing stored")
    add("--cwd", metavar="DIR", help="the workspace (default: where the command runs)")
    add("--add-dir", action="append", default=[], metavar="DIR", help="a further folder that counts as inside")
    add("--system-prompt", help="instead of the usual system prompt")
    add("--system-prompt-file", metavar="FILE")
    add("--append-system-prompt", dest="append_system", help="after the system prompt")
    add("--input-format", choices=["text", "stream-json", "json"], help="what stdin holds (default: told by its start)")
    add("--output-format", choices=["stream-json", "json", "text"], help=argparse.SUPPRESS)
    add("--registry", action="store_true", help="answer one registry_request from stdin, then end")
    add("--verbose", action="store_true", help="more on stderr")
    for flag in ("--print", "-p"):
        add(flag, action="store_true", help=argparse.SUPPRESS)
    _add_sdk(parser)
    return parser


_NO_VALUE = """--include-hook-events --strict-mcp-config --session-mirror --cosh-shell-transport
--allow-dangerously-skip-permissions --debug-to-stderr""".split()
_WITH_VALUE = """--max-budget-usd --task-budget --fallback-model --betas --settings --resume-session-at
--resume-drops-turn --setting-sources --plugin-dir --thinking --max-thinking-tokens --thinking-display --effort
--json-schema --execution-profile --workspace --agents""".split()
_NO_EFFECT = {
    "max_budget_usd": "--max-budget-usd is not enforced here. --max-turns bounds a turn.",
    "json_schema": "--json-schema has no effect here: the answer is prose.",
    "fallback_model": "--fallback-model has no effect here: a busy model is retried.",
    "resume_session_at": "--resume-session-at has no effect here: the whole session is resumed.",
    "strict_mcp_config": "--strict-mcp-config has no effect here: configured servers are started, too.",
    "settings": "--settings has no effect here: settings come from their files, the environment and the flags.",
    "plugin_dir": "--plugin-dir has no effect here.",
    "session_mirror": "--session-mirror has no effect here: sessions are kept in the user's data folder.",
}


def _add_sdk(parser: argparse.ArgumentParser) -> None:
    """Flags of other hosts. Those without a use here are accepted, and said to be so."""
    add = parser.add_argument
    add("--permission-prompt-tool", help=argparse.SUPPRESS)
    add("--include-partial-messages", dest="partial", action="store_true", help="raw stream events (claude)")
    add("--replay-user-messages", dest="replay", action="store_true", help="play the requests back (claude)")
    add("--mcp-config", action="append", default=[], metavar="JSON", help=argparse.SUPPRESS)
    for flag in _NO_VALUE:
        add(flag, action="store_true", help=argparse.SUPPRESS)
    for flag in _WITH_VALUE:
        add(flag, help=argparse.SUPPRESS)
    add("--debug", "-d", nargs="?", const="", help=argparse.SUPPRESS)


def _notes(given: argparse.Namespace) -> list[str]:
    return [text for name, text in _NO_EFFECT.items() if getattr(given, name)]


def _sources(given: str | None) -> tuple[str, ...] | None:
    return None if given is None else tuple(name.strip() for name in given.split(",") if name.strip())


def _flag(word: str) -> bool:
    return word.startswith("-")


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def _mode(given: argparse.Namespace) -> tuple[PermissionMode | None, bool]:
    if given.dangerously_skip_permissions:
        return PermissionMode.BYPASS, False
    if given.mode is None:
        return (PermissionMode.DEFAULT if given.dialect == "claude" else None), False
    if given.mode == DONT_ASK:
        return PermissionMode.DEFAULT, True
    try:
        return PermissionMode.parse(given.mode), False
    except ValueError as error:
        raise UsageError(str(error)) from None


def _input_format(given: argparse.Namespace) -> Literal["auto", "text", "stream-json"]:
    match given.input_format:
        case None:
            return "stream-json" if given.registry else "auto"
        case "text":
            return "text"
        case _:
            return "stream-json"


def _tools(given: list[str] | None) -> tuple[str, ...] | None:
    """None for all of them."""
    if given is None:
        return None
    names = [name.strip() for text in given for name in text.split(",") if name.strip()]
    return None if names == ["default"] else tuple(name for name in names if name != "empty")


def _folder(given: str | None) -> Path:
    folder = Path(given).expanduser() if given else Path.cwd()
    if not folder.is_dir():
        raise UsageError(f"The folder {folder} does not exist. Give --cwd one that does.")
    return folder.absolute()


def _system(given: argparse.Namespace) -> str | None:
    """Another system prompt; an empty one, which the SDK passes when nobody set one, means the usual."""
    if given.system_prompt_file:
        try:
            return Path(given.system_prompt_file).expanduser().read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"The file of --system-prompt-file cannot be read: {error}.") from None
    return given.system_prompt or None


def _client_asks(given: argparse.Namespace) -> bool:
    """A client of the default dialect can always be asked; of the other only where it says so."""
    tool = given.permission_prompt_tool
    if tool not in (None, "stdio"):
        raise UsageError("--permission-prompt-tool can only be `stdio` here: the client itself is asked.")
    return bool(given.dialect == "cosh" or tool == "stdio")


def _limit(env: Mapping[str, str], *, one_shot: bool, notes: list[str]) -> float:
    name, usual = "COSH_CORE_APPROVAL_TIMEOUT_SECS", ONE_SHOT_LIMIT if one_shot else LIMIT
    text = env.get(name, "")
    if not text:
        return usual
    if text.isdecimal() and 1 <= int(text) <= 2_592_000:
        return float(text)
    notes.append(f"{name} is {text!r}; it must be a whole number of seconds from 1 to 2592000. {usual:g} s it is.")
    return usual


def say(notes: Sequence[str]) -> None:
    """Tell whoever reads stderr."""
    for note in notes:
        print(f"cosh-nb: {note}", file=sys.stderr)  # noqa: T201 (a command talks on stderr)
