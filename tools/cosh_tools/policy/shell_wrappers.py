"""Commands that run another command: what they run is read as if it stood alone."""

from __future__ import annotations

import re
from collections.abc import Sequence

from cosh_tools.policy.shell_effects import Effects, Handler, Inner, options
from cosh_tools.policy.shell_words import Word

_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)\+?=(.*)", re.DOTALL)
_RUNNERS = {
    "conda": "-n --name -p --prefix --cwd", "mamba": "-n --name -p --prefix", "micromamba": "-n --name -p --prefix",
    "uv": "--with --python -p --extra --group --env-file --project --directory --package",
}  # fmt: skip
_XARGS = (
    "-a -d -E -I -L -n -P -s --arg-file --delimiter --max-args --max-procs --max-lines --max-chars --replace "
    "--process-slot-var"
)


def after(valued: str, skip: int = 0) -> Handler:
    """A wrapper whose own options end at its first operand; `skip` operands (a duration) are its own."""

    def read(args: Sequence[Word]) -> Effects:
        given = options(args, valued, stop_early=True)
        inner = given.operands[skip:]
        return Effects(inner=[Inner(tuple(inner))]) if inner else Effects()

    return read


def env(args: Sequence[Word]) -> Effects:
    """`env -i -u NAME -C dir NAME=value command`; `-S` splits a text into words."""
    given = options(args, "-u -C --unset --chdir -S --split-string", stop_early=True)
    if given.has("-S", "--split-string"):
        return Effects(opaque=["env -S takes the command out of a text"])
    rest, sets = [*given.operands], []
    while rest and (hit := _ASSIGNMENT.fullmatch(rest[0].text)):
        sets.append((hit[1], Word(hit[2], rest.pop(0).why)))
    folders = given.values("-C", "--chdir")
    if not rest:
        return Effects(text_only=True)
    return Effects(inner=[Inner(tuple(rest), folders[0] if folders else None, tuple(sets))])


def sudo(args: Sequence[Word]) -> Effects:
    """As another user; an interactive shell (`-i`, `-s`) or an editor (`-e`) cannot be read."""
    given = options(args, "-u -g -h -p -C -D -r -t -T -U --user --group --chdir --host --prompt", stop_early=True)
    rest, sets = [*given.operands], []
    while rest and (hit := _ASSIGNMENT.fullmatch(rest[0].text)):
        sets.append((hit[1], Word(hit[2], rest.pop(0).why)))
    out = Effects()
    if given.has("-i", "-s", "-e", "--login", "--shell", "--edit"):
        out.opaque.append("it runs a shell or an editor as another user")
    folders = given.values("-D", "--chdir")
    if rest:
        out.inner.append(Inner(tuple(rest), folders[0] if folders else None, tuple(sets)))
    return out


def command(args: Sequence[Word]) -> Effects:
    """`command -v x` only looks; `command x` runs."""
    given = options(args, "", stop_early=True)
    if given.has("-v", "-V"):
        return Effects(text_only=True, harmless=all(each.known for each in args))
    return after("")(args)


def xargs(args: Sequence[Word]) -> Effects:
    """The command gets further words from the input, which nobody knows yet."""
    given = options(args, _XARGS, stop_early=True)
    inner = [*given.operands] or [Word("echo")]
    more = "xargs adds words that are only known when it runs"
    return Effects(reads=given.values("-a", "--arg-file"), inner=[Inner((*inner, Word("...", more)))])


def shell(args: Sequence[Word]) -> Effects:
    """`bash -c text` is read on; a script file is read as a file; commands on stdin cannot be read."""
    given = options(args, "-o -O --rcfile --init-file", stop_early=True)
    out = Effects()
    if given.has("-i", "--rcfile", "--init-file", "-O"):
        out.opaque.append("it starts a shell with start-up files of its own")
    if given.has("-c"):
        if not given.operands or not given.operands[0].known:
            out.opaque.append("the commands that it runs are only known when it runs")
        else:
            out.scripts.append(given.operands[0].text)
            if any(not each.known for each in given.operands[1:]):
                out.opaque.append("the arguments of the script are only known when it runs")
    elif given.operands and not given.has("-s"):
        out.reads.append(given.operands[0])
        out.mentions.extend(given.operands[1:])
    elif not given.has("--version", "--help"):
        out.opaque.append("it runs the commands that it reads from its input")
    return out


def source(args: Sequence[Word]) -> Effects:
    """The commands of a file run in this very shell, so that later commands may mean something else."""
    return Effects(reads=[*args[:1]], mentions=[*args[1:]], opaque=["it runs the commands of a file in this shell"])


def trap(args: Sequence[Word]) -> Effects:
    """`trap 'commands' EXIT`."""
    given = options(args, "", stop_early=True)
    if not given.operands or given.has("-p", "-l") or given.operands[0].text in ("", "-"):
        return Effects(text_only=True)
    if not given.operands[0].known:
        return Effects(opaque=["the commands of the trap are only known when it runs"])
    return Effects(scripts=[given.operands[0].text])


def flock(args: Sequence[Word]) -> Effects:
    """`flock file command`, `flock file -c text`."""
    given = options(args, "-w -E --timeout --conflict-exit-code", stop_early=True)
    lock, rest = given.operands[:1], given.operands[1:]
    out = Effects(writes=[*lock])
    if rest and rest[0].text in ("-c", "--command"):
        if len(rest) > 1 and rest[1].known:
            out.scripts.append(rest[1].text)
        else:
            out.opaque.append("the commands that it runs are only known when it runs")
    elif rest:
        out.inner.append(Inner(rest))
    return out


def runner(args: Sequence[Word]) -> Effects:
    """`uv run x`, `poetry run x`, `conda run -n env x`: the rest is judged by the name alone."""
    words = [each.text for each in args]
    for verb in ("run", "exec"):
        if verb in words and all(text.startswith("-") for text in words[: words.index(verb)]):
            valued = " ".join(_RUNNERS.values())
            given = options(args[words.index(verb) + 1 :], valued, stop_early=True)
            return Effects(inner=[Inner(given.operands)] if given.operands else [])
    return Effects(mentions=[*args])
