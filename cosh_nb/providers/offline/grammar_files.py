"""What can be said of files and commands."""

from __future__ import annotations

import json
import re
import shlex

from cosh_nb.providers.offline.intents import (
    IT,
    Append,
    CreateFile,
    Intent,
    ListFiles,
    ReadFile,
    Replace,
    RunCommand,
    RunScript,
    Search,
)
from cosh_nb.providers.offline.patterns import KINDS
from cosh_nb.providers.offline.phrase import Found, Phrase, Unclear, plain

_HERE = (
    "here|in here|there|in this (folder|directory|workspace|project|repo|repository)|"
    "in the (folder|directory|workspace|project|repo|repository)|in the current (folder|directory)"
)
_FOLDER = "(folder|directory)"
_IN = f"[({_HERE}|(in|inside|under|within|below|of|from) [the] [{_FOLDER}] {{folder:path}} [{_FOLDER}])]"
_NOUN = "({kind:kind} (files|file|scripts|notebooks|documents)|{ext:ext} files|(files|documents)|{kinds:word})"
_FILES = (
    f"[({_HERE}|everywhere|in (all files|every file|the files|the code)|"
    "(in|inside|within|across|under) [all] [of] [the] [my] "
    "({kind:kind} (files|scripts|notebooks)|{ext:ext} files|{glob:glob} [files]"
    "|[(file|folder|directory)] {place:path} [(folder|directory)]))]"
)
_LIST = "(list|show|display|find|get|give|see|enumerate|print|what are)"
_READ = "(read|open|cat|view|show|display|print|see)"
_MAKE = "(create|make|write|add|generate|start|save)"
_NEW = "[me] [(a|an|the|my)] [new] [(python|bash|shell|text|markdown|javascript)] [(file|script|program|module|note)]"
_FILE = "[(called|named)] {file:file}"
_PRINTS = "(prints|print|says|say|outputs|output|echoes|displays)"
_HOLDS = (
    "(containing|that contains|which contains|holding|saying|that says|that reads|with [(the|this|these)] "
    "[following] (content|contents|text|line|lines|words|code)|with content)"
)
_CHANGE = "(replace|change|substitute|swap|rename|switch)"
_BY = "(by|with|to|into|for) [the] [(word|text|string|name)] {new:text}"
_OLD = "[(every|all|each)] [(occurrence|occurrences|instance|instances) of] [[the] (word|text|string|name)] {old:text}"


def _list(found: Found) -> Intent | None:
    pattern, what = "*", "file"
    if found("kinds"):
        kind = found("kinds").lower()
        singular = kind.removesuffix("s")
        if singular == "script":
            pattern, what = "*.py", "Python file"
        elif singular in ("notebook", "csv", "pdf", "png", "svg", "json") and kind.endswith("s"):
            pattern, what = KINDS[singular]
        else:
            return None
    elif found("kind"):
        pattern, what = KINDS[found("kind").lower()]
    elif found("ext"):
        pattern = "*" + found("ext").removeprefix("*")
        what = f"{found('ext').removeprefix('*')} file"
    elif found("glob"):
        pattern, what = found("glob"), f"file matching {found('glob')}"
    elif found("named"):
        pattern, what = found("named"), f"file named {found('named')}"
    if "/" not in pattern and (pattern != "*" or found("all") or found("below")):
        pattern = f"**/{pattern}"
    return ListFiles(pattern, found("folder"), what)


def _read(found: Found) -> Intent | None:
    path = found("file") or found("path")
    first, last = found.number("first"), found.number("last")
    if found("range"):
        first, last = map(int, re.findall(r"\d+", found("range")))
    if found("head"):
        first, last = 1, found.number("head")
    if found("line"):
        first = last = found.number("line")
    if first == 0 or (first is not None and last is not None and last < first):
        raise Unclear("Lines count from 1, the first before the last: show lines 10-20 of a.py.")
    return ReadFile(path, first, last, found.number("tail"))


def _search(found: Found) -> Intent | None:
    glob, path = "", found("place")
    if found("kind"):
        glob = KINDS[found("kind").lower()][0]
    elif found("ext"):
        glob = "*" + found("ext").removeprefix("*")
    elif found("glob"):
        glob = found("glob")
    text = found("text")
    if found("token"):
        # "find bugs" is no search for the word; TODO, read_csv and f() plainly are names.
        text = found("token")
        if not found.quoted("token") and re.fullmatch(r"[a-z]+", text):
            raise Unclear(f'To look for a word, say: search for "{text}".')
    return Search(text, bool(found("regex")), glob, path, bool(found("anycase")))


def _create(found: Found) -> Intent | None:
    path = found("file") or found("path")
    if found("prints"):
        return CreateFile(path, _printing(path, plain(found, "prints", 4, "what it should print")))
    content = "" if found("empty") else plain(found, "content", 12, "the content")
    if content and not content.endswith("\n"):
        content += "\n"
    return CreateFile(path, content, overwrite=bool(found("over")))


def _printing(path: str, text: str) -> str:
    match path.rpartition(".")[2].lower():
        case "py":
            return f"print({json.dumps(text, ensure_ascii=False)})\n"
        case "sh" | "bash":
            return f"echo {shlex.quote(text)}\n"
        case "js" | "mjs":
            return f"console.log({json.dumps(text, ensure_ascii=False)});\n"
        case _:
            raise Unclear(
                f"I know how a .py, .sh or .js file prints. For {path}, say: create {path} containing and the text."
            )


def _replace(found: Found) -> Intent | None:
    old, new = plain(found, "old", 6, "the old text"), plain(found, "new", 6, "the new text")
    glob = found("glob")
    if found("kind"):
        glob = KINDS[found("kind").lower()][0]
    elif found("ext"):
        glob = "*" + found("ext").removeprefix("*")
    if old == new:
        raise Unclear("The old text and the new text are the same.")
    return Replace(old, new, "" if glob else found("file") or found("path") or IT, glob)


def _run(found: Found) -> Intent | None:
    command = found("command")
    if found.quoted("command") and re.fullmatch(
        r"[^\s|&;<>$`]+\.(?:py|sh|bash|js|mjs|r|rb|pl)", command, re.IGNORECASE
    ):
        return RunScript(command)
    return RunCommand(command)


FILES = (
    Phrase(
        "list the python files here",
        "lists files, also by kind, pattern or folder",
        (
            f"{_LIST} [me] [a list of] [{{all:all}}] [of] [(the|my)] {_NOUN} {_IN} [{{below:below}}]",
            f"{_LIST} [me] [{{all:all}}] [the] [files] [(matching|like)] {{glob:glob}} [files] {_IN}",
            f"(list|find|show) [me] [{{all:all}}] [the] files (named|called) {{named:path}} {_IN}",
            f"(which|what) {_NOUN} (are|exist|do i have|do we have|can you see) [there] {_IN}",
            f"(what is|what's) [there] ({_HERE}|in [the] (folder|directory) {{folder:path}})",
            "ls [{folder:path}]",
        ),
        _list,
    ),
    Phrase(
        "show lines 10-20 of report.py",
        "reads a file, or some of its lines",
        (
            f"{_READ} [me] [(the|all of)] [(contents of|content of|text of)] [the] [file] {{file:file}}",
            f"{_READ} [me] [the] [(contents of|content of)] [the] file {{path:path}}",
            "(what is|what's) in [the] [file] {file:file}",
            f"{_READ} [me] [the] (lines|line) {{range:range}} (of|from|in) [the] [file] {{path:path}}",
            f"{_READ} [me] [the] (lines|line) {{first:n}} and {{last:n}} (of|from|in) [the] [file] {{path:path}}",
            f"{_READ} [me] [the] [(first|top)] {{head:n}} lines (of|from|in) [the] [file] {{path:path}}",
            f"{_READ} [me] [the] last {{tail:n}} lines (of|from|in) [the] [file] {{path:path}}",
            f"{_READ} [me] [the] line {{line:n}} (of|from|in) [the] [file] {{path:path}}",
            f"{_READ} [me] [the] [file] {{file:file}} [from] (lines|line) {{range:range}}",
        ),
        _read,
    ),
    Phrase(
        "search for TODO in *.py",
        "finds a text in files",
        (
            f"(search|grep|look) [for] [(the|a)] {{regex:regex}} {{text:literal}} {_FILES}",
            f"(search|look|scan) for [the] [(text|word|string|phrase)] {{text:text}} {_FILES} [{{anycase:anycase}}]",
            f"grep [for] [the] [(text|word|string)] {{text:text}} {_FILES} [{{anycase:anycase}}]",
            (
                "(search|grep|scan) [all] [of] [(the|my)] ({kind:kind} (files|scripts)|{glob:glob} [files]|files|code|"
                "[(file|folder)] {place:path}) for [the] [(text|word|string)] {text:text} [{anycase:anycase}]"
            ),
            f"find [(all|every)] [(the|lines with|occurrences of|uses of|mentions of)] {{token:token}} {_FILES}",
            f"find [the] (text|word|string) {{text:text}} {_FILES}",
            f"where is {{token:token}} (used|defined|mentioned|called|set|imported) {_FILES}",
            f"which [{{kind:kind}}] files (contain|mention|use|have|import) {{token:token}} [{_HERE}]",
        ),
        _search,
    ),
    Phrase(
        "create hello.py that prints hi",
        "makes a new file that prints, or holds, what you say",
        (
            f"{_MAKE} {_NEW} {_FILE} (that|which|to) [just] [only] {_PRINTS} {{prints:text}}",
            f"{_MAKE} {_NEW} {_FILE} {_HOLDS} {{content:text}}",
            f"{_MAKE} {_NEW} {_FILE} [with] {{content:literal}}",
            "(write|save|put) {content:literal} (to|into|in|as) [(a|the)] [new] [file] [(called|named)] {file:file}",
            "(create|make|add) (an|a) [new] {empty:empty} [(text|python)] file [(called|named)] {path:path}",
            "{over:over} [the] [(contents of|content of|file)] {file:file} (with|by) {content:text}",
        ),
        _create,
    ),
    Phrase(
        'append "the end" to notes.txt',
        "adds a line at the end of a file",
        (
            (
                "(append|add|write) [(the|a)] [(line|text)] {text:literal} (to|at) [the] [(end|bottom) of] [the] "
                "[file] {file:file}"
            ),
            "(append|add) [to] {file:file} [the] [(line|text)] {text:literal}",
        ),
        lambda found: Append(found("file"), found("text")),
    ),
    Phrase(
        "replace foo by bar in a.py",
        "changes a text in a file, or in all files of a kind",
        (
            (
                f"{_CHANGE} {_OLD} {_BY} (in|inside|within|of)"
                " (all|all of the|all the|the|every|my) "
                "({kind:kind} (file|files|scripts)|{ext:ext} files|{glob:glob} [files])"
            ),
            (f"{_CHANGE} {_OLD} {_BY} (in|inside|within) {{glob:glob}} [files]"),
            (
                f"{_CHANGE} {_OLD} {_BY} "
                "(in|inside|within) (it|[the] file {path:path}|[the] {file:file}) [everywhere]"
            ),
            f"(in|inside) [the] [file] {{file:file}} [,] {_CHANGE} {_OLD} (by|with|to|into) {{new:text}}",
        ),
        _replace,
    ),
    Phrase(
        "run `ls -l`",
        "runs a command in the shell",
        (
            (
                "(run|execute) [(the|this|a)] [(shell|bash|terminal)] [command] {command:literal} "
                "[in (bash|the shell|the terminal|a shell|a terminal)]"
            ),
            "(run|execute) [(the|this|a)] [(shell|bash|terminal)] command {command:text}",
            "(run|execute) {command:command}",
        ),
        _run,
    ),
    Phrase(
        "",
        "makes a folder",
        ("(create|make|add) (a|the) [new] (folder|directory) [(called|named)] {path:path}",),
        lambda found: RunCommand(f"mkdir -p {shlex.quote(found('path'))}"),
    ),
    Phrase(
        "run hello.py",
        "runs a script with the program that fits its name",
        (
            "(run|execute|start|launch|call) [(the|my)] [python] [(script|file|program)] {script:script}",
            "(run|execute) (python|python3|bash|sh|node) {script:script}",
            "(run|execute|start|launch|call) (it|the script|the file|the program|that)",
        ),
        lambda found: RunScript(found("script") or IT),
    ),
)
"""The phrases, in the order in which they are tried."""
