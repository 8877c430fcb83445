"""Commands whose words do not fit a table: git, find, tar, sed, curl and their like."""

from __future__ import annotations

import re
from collections.abc import Sequence

from cosh_tools.policy.shell_effects import Effects, Form, Handler, Inner, copy, options
from cosh_tools.policy.shell_variables import obeyed
from cosh_tools.policy.shell_words import Word

_HERE = Word(".")
_NAME = re.compile(r"[A-Za-z_]\w*")
_SED = re.compile(
    r"""\s*(?:(?:\d+|\$|/(?:[^/\\\n]|\\.)*/)(?:,\s*(?:\d+|\$|/(?:[^/\\\n]|\\.)*/))?)?\s*!?\s*
    (?:[pdq=nNhHgGxD]|\d*q|s([/|,\#@!:])(?:(?!\1)[^\\\n]|\\.)*\1(?:(?!\1)[^\\\n]|\\.)*\1[gpiI0-9]*)?\s*""",
    re.VERBOSE,
)
_AWK = re.compile(r"system|getline|[|>@]|extension|close|fflush|ARG[VC]")
_TAR = (
    "-f -C -X -T -I -F -b -H -g --file --directory --exclude --exclude-from --files-from --to-command "
    "--use-compress-program --checkpoint-action --info-script --new-volume-script --transform "
    "--strip-components --owner --group --mode --rsh-command --rmt-command --listed-incremental --index-file"
)
_RSYNC = (
    "-e -f -M -T -B --rsh --rsync-path --exclude --include --filter --files-from --exclude-from --include-from "
    "--log-file --temp-dir --backup-dir --partial-dir --bwlimit --max-size --min-size --timeout --port --chmod"
)
_CURL = (
    "-o -d -H -X -u -A -e -b -c -F -T -K -m -w -x -r -C -D -E -U -Y -y -z -t -P -Q --output --data --data-raw "
    "--data-binary --data-urlencode --json --header --request --user --user-agent --referer --cookie "
    "--cookie-jar --form --upload-file --config --max-time --connect-timeout --write-out --proxy --range "
    "--cacert --cert --key --url --retry --retry-delay --resolve --output-dir --dump-header --trace "
    "--trace-ascii --stderr --netrc-file --limit-rate --max-redirs --interface --dns-servers --form-string "
    "--get-data --proto --unix-socket --connect-to --engine"
)
_WGET = (
    "-O -P -o -a -i -U -t -T -w -Q -e -l -A -R -D -X -I -B --output-document --directory-prefix --output-file "
    "--append-output --input-file --user-agent --tries --timeout --wait --quota --execute --level --accept "
    "--reject --domains --header --post-data --post-file --body-file --body-data --user --password "
    "--load-cookies --save-cookies --config --base --ca-certificate"
)


def opaque(why: str) -> Handler:
    """A command that nobody can read in advance, and why."""
    return lambda args: Effects(mentions=[*args], opaque=[why])


def printf(args: Sequence[Word]) -> Effects:
    """With `-v` it sets a variable; its format and words are text."""
    if args and args[0].text.startswith("-v"):
        return names(args[:2])
    return Effects(text_only=True, harmless=True)


def condition(args: Sequence[Word]) -> Effects:
    """`test`: with `-v` it evaluates a subscript, which may run code."""
    if any(each.text in ("-v", "-R") for each in args):
        return Effects(opaque=["a condition on a variable's name may run code"])
    return Effects(text_only=True, harmless=True)


def wait(args: Sequence[Word]) -> Effects:
    """With `-p` it sets a variable, and evaluates the index of a list, which may run code."""
    if any(re.match(r"-[a-zA-Z]*p", each.text) for each in args):
        return Effects(opaque=["the index of a list may run code"])
    return Effects(text_only=True, harmless=True)


def names(args: Sequence[Word]) -> Effects:
    """`read a b`: it sets variables, and must not set one that other programs obey."""
    out = Effects(text_only=True, harmless=True)
    for each in options(args, "-a -d -i -n -N -p -t -u -s -v -O -c -C").operands:
        if not each.known or not _NAME.fullmatch(each.text) or obeyed(each.text):
            out.opaque.append(f"it sets {each.text}, which other programs may obey")
    if any(option in ("-C", "-e") for option, _ in options(args, "-C").given):
        out.opaque.append("an option of it runs code")
    for value in options(args, "-a -v").values("-a", "-v"):
        if not value.known or not _NAME.fullmatch(value.text) or obeyed(value.text):
            out.opaque.append(f"it sets {value.text}, which other programs may obey")
    return out


def set_options(args: Sequence[Word]) -> Effects:
    """`set -euo pipefail` is harmless; other options change how the following is read."""
    words = [each.text for each in args]
    plain = all(re.fullmatch(r"[-+][euxvo]+|pipefail|errexit|nounset|xtrace|verbose", text) for text in words)
    if args and plain and all(each.known for each in args):
        return Effects(harmless=True)
    return Effects(opaque=["it changes how the shell reads the following commands"])


def interpreter(name: str) -> Handler:
    """A script file is read; code in an option or on the input cannot be."""
    code = ("-c",) if name.startswith(("python", "pypy")) else ("-e", "-E", "-r", "-p", "-c", "--eval", "--print")
    code = (*code, "-n", "-i") if name.startswith(("perl", "ruby")) else code

    def read(args: Sequence[Word]) -> Effects:
        valued = "-m -W -X" if name.startswith(("python", "pypy")) else "-I -M"
        given = options(args, f"{valued} {' '.join(code)}", stop_early=True)
        out = Effects(mentions=[*given.operands])
        if given.has(*code):
            out.opaque.append(f"it runs {name} code that is given on the command line")
        elif given.has("-m", "--version", "-V", "--help", "-h", "-v"):
            pass
        elif not given.operands or given.operands[0].text == "-":
            out.opaque.append(f"it runs {name} code that it reads from its input")
        else:
            out.reads.append(given.operands[0])
        return out

    return read


def grep(form: Form) -> Handler:
    """`grep -r x` without a path reads the folder it stands in."""

    def read(args: Sequence[Word]) -> Effects:
        out = form(args)
        recursive = any(
            re.fullmatch(r"-[a-zA-Z]*[rR][a-zA-Z]*|--(?:dereference-)?recursive", each.text) for each in args
        )
        if recursive and not out.reads:
            out.reads.append(_HERE)
            out.harmless = False
        return out

    return read


def jq(args: Sequence[Word]) -> Effects:
    """The first operand is the filter; some options take two values."""
    out, rest, filtered = Effects(), [*args], False
    while rest:
        each = rest.pop(0)
        match each.text:
            case "--arg" | "--argjson":
                del rest[:2]
            case "--slurpfile" | "--rawfile":
                out.reads.extend(rest[1:2])
                del rest[:2]
            case "-f" | "--from-file" | "-L":
                out.reads.extend(rest[:1])
                del rest[:1]
                filtered = filtered or each.text != "-L"
            case "--indent" | "--tab":
                del rest[: int(each.text == "--indent")]
            case "--args" | "--jsonargs":
                rest.clear()
            case text if text.startswith("-") and len(text) > 1:
                pass
            case _ if not filtered:
                filtered = True
            case _:
                out.reads.append(each)
    return out


def find(args: Sequence[Word]) -> Effects:
    """Roots are read; `-delete` loses what is under them; `-exec` runs a command on names that nobody knows yet."""
    out, rest = Effects(), [*args]
    roots: list[Word] = []
    while rest and rest[0].text in ("-H", "-L", "-P"):
        rest.pop(0)
    while rest and not re.match(r"[-(!)]", rest[0].text):
        roots.append(rest.pop(0))
    roots = roots or [_HERE]
    while rest:
        each = rest.pop(0)
        match each.text:
            case "-delete":
                out.deletes.extend(roots)
                out.destructive = True
            case "-exec" | "-execdir" | "-ok" | "-okdir":
                inner: list[Word] = []
                while rest and rest[0].text != ";" and not (rest[0].text == "+" and inner and inner[-1].text == "{}"):
                    inner.append(rest.pop(0))
                del rest[:1]
                out.inner.append(Inner(tuple(_found(word) for word in inner)))
            case "-fprint" | "-fprintf" | "-fls" | "-fprint0":
                out.writes.extend(rest[:1])
            case "-files0-from" | "-newer" | "-anewer" | "-cnewer" | "-samefile":
                out.reads.extend(rest[:1])
            case _ if not each.known:
                out.opaque.append(each.why)
            case _:
                pass
    out.reads.extend(roots)
    return out


def _found(each: Word) -> Word:
    return Word(each.text, "what find finds is only known when it runs") if "{}" in each.text else each


def sed(args: Sequence[Word]) -> Effects:
    """With `-i` files are written. A program that writes files or runs commands (`w`, `e`) cannot be read."""
    in_place = any(re.match(r"-[a-zA-Z]*i|--in-place", each.text) for each in args)
    # The value of -i is attached or absent, so that it never takes the next word.
    plain = [Word("-i") if re.match(r"-i.|--in-place=", each.text) else each for each in args]
    given = options(plain, "-e -f -l --expression --file --line-length")
    programs = given.values("-e", "--expression")
    files = [*given.operands]
    out = Effects(reads=given.values("-f", "--file"))
    if out.reads:
        out.opaque.append("a sed program in a file may write files or run commands")
    elif not programs:
        programs, files = files[:1], files[1:]
    for program in programs:
        if not program.known or not all(_SED.fullmatch(part) for part in _commands(program.text)):
            out.opaque.append("a sed program may write files or run commands")
    (out.writes if in_place else out.reads).extend(files)
    return out


def _commands(program: str) -> list[str]:
    """Parts of a sed program; one with a `;` inside an expression stays whole and does not match."""
    return [program] if _SED.fullmatch(program) else re.split(r"[;\n]", program)


def awk(args: Sequence[Word]) -> Effects:
    """The first operand is the program; one that opens files, pipes or runs commands cannot be read."""
    given = options(
        args, "-F -v -f -e -i -l --field-separator --assign --file --source --include --load", stop_early=True
    )
    operands = [*given.operands]
    programs = given.values("-e", "--source")
    out = Effects(reads=given.values("-f", "--file"))
    if out.reads or given.has("-i", "-l", "-E", "--include", "--load", "--exec"):
        out.opaque.append("an awk program in a file may write files or run commands")
    elif not programs:
        programs, operands = operands[:1], operands[1:]
    if given.has("-o", "-d", "-p", "-D", "--pretty-print", "--dump-variables", "--profile", "--debug"):
        out.opaque.append("an option of awk writes a file")
    if any(not program.known or _AWK.search(program.text) for program in programs):
        out.opaque.append("this awk program may write files or run commands")
    out.reads.extend(each for each in operands if not re.match(r"[A-Za-z_]\w*=", each.text))
    return out


def dd(args: Sequence[Word]) -> Effects:
    """`if=` is read, `of=` is written over."""
    out = Effects(destructive=True)
    for each in args:
        key, _, value = each.text.partition("=")
        if key == "if":
            out.reads.append(Word(value, each.why))
        elif key == "of":
            out.writes.append(Word(value, each.why))
    return out


def zip_files(args: Sequence[Word]) -> Effects:
    """The first operand is the archive, the others go into it (and away with `-m`)."""
    given = options(args, "-i -x -b -n -t -P -s")
    out = Effects(writes=[*given.operands[:1]])
    (out.deletes if given.has("-m") else out.reads).extend(given.operands[1:])
    if given.has("-T", "-TT", "--unzip-command"):
        out.opaque.append("an option of it runs a program")
    return out


def unzip(args: Sequence[Word]) -> Effects:
    """It writes what the archive holds, unless it only lists."""
    given = options(args, "-d -x -P")
    out = Effects(reads=[*given.operands[:1]])
    if not given.has("-l", "-t", "-p", "-v", "-z"):
        out.writes.extend(given.values("-d") or [_HERE])
    return out


def tar(args: Sequence[Word]) -> Effects:
    """`-x` writes into the folder, `-c` into the archive; some options run programs."""
    plain = [*args]
    out = Effects()
    if plain and re.fullmatch(r"[A-Za-z]+", plain[0].text):
        if len(re.findall(r"[fCXTIFbHgKLNV]", plain[0].text)) > 1:
            out.opaque.append("its letters take their values from the words behind them")
        plain[0] = Word("-" + plain[0].text, plain[0].why)  # the old style: tar xzf file
    given = options(plain, _TAR)
    if given.has("-I", "-F", "--to-command", "--use-compress-program", "--checkpoint-action", "--info-script",
                 "--new-volume-script", "--rsh-command", "--rmt-command"):  # fmt: skip
        out.opaque.append("an option of it runs a program")
    archive, folder = given.values("-f", "--file"), given.values("-C", "--directory")
    if given.has("-P", "--absolute-names"):
        out.opaque.append("it takes the names in the archive as they are, wherever they lead")
    out.writes.extend(given.values("-g", "--listed-incremental", "--index-file", "--one-top-level"))
    out.reads.extend(given.values("-X", "-T", "--exclude-from", "--files-from"))
    if any(":" in each.text for each in archive):
        out.opaque.append("the archive is on another machine")
    if given.has("-x", "--extract", "--get"):
        out.reads.extend(archive)
        out.writes.extend(folder or [_HERE])
    elif given.has("-t", "--list", "-d", "--diff", "--compare"):
        out.reads.extend(archive)
    else:
        out.writes.extend(archive)
        (out.deletes if given.has("--remove-files") else out.reads).extend([*folder, *given.operands])
    return out


def remote_copy(valued: str, runs: str) -> Handler:
    """Rsync and scp: `host:path` is another machine, everything else a copy. `runs` are options that run a program."""

    def read(args: Sequence[Word]) -> Effects:
        given = options(args, valued)
        out = Effects(destructive=any(each.text.startswith("--del") for each in args))
        if given.has(*runs.split()):
            out.opaque.append("an option of it runs a program")
        out.reads.extend(given.values("--files-from", "--exclude-from", "--include-from"))
        out.writes.extend(given.values("--log-file", "--temp-dir", "--backup-dir", "--partial-dir", "-T"))
        remote = [each for each in given.operands if re.match(r"[^/]*:", each.text)]
        local = [each for each in given.operands if each not in remote]
        out.hosts.extend(remote)
        if given.operands and given.operands[-1] in remote:
            out.reads.extend(local)
        elif remote:
            out.reads.extend(local[:-1])
            out.writes.extend(local[-1:])
        else:
            copy(out, local, [])
        return out

    return read


rsync = remote_copy(_RSYNC, "-e --rsh --rsync-path -M")
scp = remote_copy("-P -i -l -o -F -S -J -c -D -X", "-S -o -F -J -D")


def curl(args: Sequence[Word]) -> Effects:
    """URLs are fetched, `-o` is written, `@file` is read and sent."""
    given = options(args, _CURL)
    out = Effects()
    out.fetches.extend([*given.operands, *given.values("--url")])
    out.writes.extend(given.values("-o", "--output", "-c", "--cookie-jar", "-D", "--dump-header", "--output-dir",
                                   "--trace", "--trace-ascii", "--stderr"))  # fmt: skip
    if given.has("-O", "--remote-name", "-J", "--remote-header-name", "--remote-name-all"):
        out.writes.append(_HERE)
    if given.has("-K", "--config", "--engine", "-x", "--proxy", "--unix-socket", "--connect-to", "--resolve"):
        out.opaque.append("where it connects to is set by an option of it")
    out.reads.extend(given.values("-T", "--upload-file", "--cacert", "-E", "--cert", "--key", "--netrc-file"))
    for value in given.values("-d", "--data", "--data-binary", "--data-urlencode", "--json", "-F", "--form", "-H",
                              "--header", "-b", "--cookie", "-w", "--write-out"):  # fmt: skip
        if hit := re.match(r"(?:[^@<=]*=)?[@<]([^;]+)", value.text):
            out.reads.append(Word(hit[1], value.why))
        elif not value.known:
            out.opaque.append(value.why)
    return out


def wget(args: Sequence[Word]) -> Effects:
    """URLs are fetched into the folder, or where `-O` and `-P` say."""
    given = options(args, _WGET)
    out = Effects(fetches=[*given.operands])
    out.reads.extend(given.values("-i", "--input-file", "--post-file", "--body-file", "--load-cookies", "--config"))
    if given.has("-e", "--execute", "-i", "--input-file", "--config", "--use-askpass"):
        out.opaque.append("where it connects to is set by an option of it")
    named = given.values("-O", "--output-document")
    out.writes.extend(given.values("-o", "-a", "--output-file", "--append-output", "--save-cookies"))
    out.writes.extend([each for each in named if each.text != "-"])
    if not named:
        out.writes.extend(given.values("-P", "--directory-prefix") or [_HERE])
    return out
