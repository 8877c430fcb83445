"""Grep gives the same answers with ripgrep and without it, and Glob lists what both of them search."""

from __future__ import annotations

import shutil
import subprocess
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from cosh_tools.results import ToolError
from cosh_tools.search.builtin import Builtin
from cosh_tools.search.engine import Engine, Query, Row, search
from cosh_tools.search.glob import _find
from cosh_tools.search.kept import is_binary
from cosh_tools.search.ripgrep import Ripgrep, ripgrep
from search.forest import grow


@pytest.fixture(scope="module")
def forest(tmp_path_factory) -> Path:
    return grow(tmp_path_factory.mktemp("forest"))


@pytest.fixture(scope="module")
def rg() -> Ripgrep:
    found = ripgrep()
    assert found is not None, "these tests compare with ripgrep: install rg"
    return found


ATOMS = st.sampled_from(
    [
        *"alpha beta def foo _ bar x1 4 a é ï ß 日本 . [a-f] [[:upper:]] (?:be|ga) (?i:FOO)".split(),
        *r"\t \. \d \w \s \W \S \b [\w-] \p{L} \x61".split(),
        " ",
        "[^a-z ]",
    ]
)
COUNTED = st.builds(
    lambda atom, count: atom + count, ATOMS, st.sampled_from(["", "", "", "*", "+", "?", "{2}", "{1,3}", "*?"])
)
BRANCH = st.lists(COUNTED, min_size=1, max_size=4).map("".join)
PATTERNS = st.one_of(
    BRANCH,
    st.builds(lambda one, other: f"{one}|{other}", BRANCH, BRANCH),
    st.builds(lambda one, other: f"({one}){other}", BRANCH, BRANCH),
    st.builds(
        lambda inner, start, end: start + inner + end,
        BRANCH,
        st.sampled_from(["^", "", r"^\s*"]),
        st.sampled_from(["$", "", "end$"]),
    ),
    st.sampled_from(["", "^$", "alpha$", r"^\s*$", "z{300}", "FooBar", "(?i)foobar", "class|return", "import.*def"]),
)
ACROSS = st.sampled_from(
    [r"alpha\nbeta", r"end\s+alpha", "alpha.*?gamma", r"\n\n", r"def[^x]{20}", "return", r"\w\n\w", r"^x1.*\nclass"]
)
GLOBS = st.sampled_from(
    [
        *[()] * 4,
        *[
            (glob,)
            for glob in "*.py *.{js,ts} !*.md src/**/*.py **/a/* /src/** lib/ !src **/*.log *.PY [!m]*.py".split()
        ],
        ("*.txt", "!a*"),
        (r"\[id]/*",),
        ("a b.txt",),
    ]
)
FOLDERS = st.sampled_from(["", "", "src", ".config", "[id]", "src/inner", "build", "a", "lib", "main.py", "a.b"])


def often(examples: int) -> settings:
    """So many examples, each as slow as it is."""
    return settings(
        max_examples=examples,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
        phases=[Phase.explicit, Phase.generate, Phase.shrink],
    )


def answer(engine: Engine, query: Query) -> list[Row] | str | None:
    keep: Callable[[str], bool] = lambda path: not is_binary(f"{query.root}/{path}" if path else query.root)  # noqa: E731 (it has a type)
    try:
        found = search(engine, query, keep, threading.Event())
    except ToolError as error:
        return str(error)[:14]
    assert found.complete or found.timed_out
    return found.rows if found.complete else None


def agree(rg: Engine, query: Query) -> None:
    theirs, ours = answer(rg, query), answer(Builtin(), query)
    assert ours is None or theirs == ours  # some patterns are too much for Python on a line of 5,000 letters


def queries(patterns: st.SearchStrategy[str], *, multiline: bool) -> st.SearchStrategy[Query]:
    return st.builds(
        Query,
        pattern=patterns,
        root=FOLDERS,
        mode=st.sampled_from(["content", "files_with_matches", "count"]),
        globs=GLOBS,
        types=st.just(()) if multiline else st.sampled_from([(), (), ("*.py", "*.pyi"), ("Makefile", "*.mk")]),
        ignore_case=st.booleans() if not multiline else st.just(False),
        multiline=st.just(multiline),
        before=st.sampled_from([0, 0, 1, 3]),
        after=st.sampled_from([0, 0, 2]),
        hidden=st.booleans(),
        no_ignore=st.sampled_from([False, False, True]),
    )


def placed(query: Query, forest: Path) -> Query | None:
    """The query in the tree; only lines have lines around them, and ripgrep applies globs or types, never both."""
    root = forest / query.root
    if not root.exists():
        return None
    around = {} if query.mode == "content" else {"before": 0, "after": 0}
    return replace(query, root=str(root), types=() if query.globs else query.types, patience=10.0, **around)


def crlf_quirk(pattern: str) -> bool:
    """Before version 14 ripgrep lets a class at the end of a line match the carriage return before its end."""
    return any(each in pattern for each in (".", r"\s", r"\W", "[^"))


@given(query=queries(PATTERNS, multiline=False))
@often(40)
def test_both_engines_find_the_same_lines_files_and_counts(rg, forest, without_crlf, query):
    placed_query = placed(query, without_crlf if crlf_quirk(query.pattern) else forest)
    if placed_query is not None:
        agree(rg, placed_query)


@given(query=queries(ACROSS, multiline=True))
@often(15)
def test_both_engines_agree_where_matches_cross_lines(rg, forest, query):
    placed_query = placed(query, forest)
    if placed_query is not None:
        agree(rg, placed_query)


@pytest.mark.slow
@given(query=queries(PATTERNS, multiline=False))
@often(1500)
def test_both_engines_agree_for_long(rg, forest, without_crlf, query):
    placed_query = placed(query, without_crlf if crlf_quirk(query.pattern) else forest)
    if placed_query is not None:
        agree(rg, placed_query)


@pytest.mark.slow
@given(query=queries(ACROSS, multiline=True))
@often(500)
def test_both_engines_agree_across_lines_for_long(rg, forest, query):
    placed_query = placed(query, forest)
    if placed_query is not None:
        agree(rg, placed_query)


@pytest.fixture(scope="module")
def without_crlf(tmp_path_factory) -> Path:
    """The same tree with line feeds alone."""
    root = grow(tmp_path_factory.mktemp("plain"))
    for path in root.rglob("*"):
        if path.is_file() and not path.is_symlink():
            path.write_bytes(
                path.read_bytes().replace(b"\r\0\n\0", b"\n\0").replace(b"\0\r\0\n", b"\0\n").replace(b"\r\n", b"\n")
            )
    return root


@pytest.mark.parametrize(
    "pattern",
    [
        "(",
        "a)",
        "[z",
        "*a",
        "a{",
        "a{2",
        r"\y",
        "(?<=a)b",
        "(?!a)",
        r"(a)\1",
        "a\nb",
        r"a\nb",
        "(?P<n",
        "x{3,1}",
        "[b-a]",
        r"\p{Nope}",
    ],
)
def test_a_pattern_that_means_nothing_is_an_error_with_both(rg, forest, pattern):
    query = Query(pattern, str(forest))
    assert (answer(rg, query), answer(Builtin(), query)) == ("Invalid regex:", "Invalid regex:")


ODD_TEXT = (
    "aB ab AB a.b a+b [x] {y} (z) \\n tab\there $5 ^top end$ x-y 3.14 é Ü straße \u017f K k \u212a \u200b 日本 _u-v "
    "ab12 a\\d a/b it's"
).split(" ")
ODD_PATTERNS = (
    *(
        r"a(?i)b|AB (?i)a|(?-i)B (?i:a)b ((?i)a)b (?-i)a (?s). (?i)k (?i)s (?i)ü (?i)STRASSE a\.b a\+b "
        r"\[x\] [\[]x] []x] [^]x] [a\]] \{y\} {y} \(z\) \\n tab\there tab\x09here \$5 \^top end\$ x-y "
        r"[x-] [-x] [a-c-e] \d+\.\d+ \p{Lu} \pL \p{Nd} \P{L} [\p{Lu}]b \u00e9 \u{e9} \x{65E5} \U000065e5 "
        r"[[:alpha:]]b [[:^alpha:]] [[:digit:][:upper:]] \bab\b \Bb a*b a+?b a??b (a|b)+ (?:a|B)+?$ "
        r"(?P<n>a)b a{1}b a{0,}b (ab){1,2} a{2} ^$ ^ $ ^a b$ (^a|b$) a| |a () a++ (a*)* (a*)+b x* [^\s]+ "
        r"[\w.]+ [\d-]+ \w\W\w [^\W\d] [a-z&&[^b]] [a[b]] \a \v \0 \- \/ \' \é \< \Z \h \R "
    ).split(),
    r"(?x) a b",
)


@pytest.fixture(scope="module")
def odd(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("odd")
    (folder / "a.txt").write_text("\n".join([*ODD_TEXT, "", " ".join(ODD_TEXT)]) + "\n")
    return folder


@pytest.mark.parametrize("at", range(0, len(ODD_PATTERNS), 8))
def test_odd_patterns_mean_the_same_to_both_or_are_said_to_be_for_ripgrep_alone(rg, odd, at):
    for pattern in ODD_PATTERNS[at : at + 8]:
        query = Query(pattern, str(odd), mode="content", hidden=True)
        theirs, ours = answer(rg, query), answer(Builtin(), query)
        for_ripgrep_alone = pattern in (r"[a-z&&[^b]]", r"(?x) a b", r"[[:^alpha:]]")
        assert ours == ("Invalid regex:" if for_ripgrep_alone else theirs), pattern


@pytest.mark.parametrize("want", [1, 7, 50, 400])
def test_the_first_results_by_path_are_the_same_whoever_finds_them(rg, forest, want):
    keep: Callable[[str], bool] = lambda path: not is_binary(f"{forest}/{path}")  # noqa: E731 (it has a type)
    for mode in ("content", "files_with_matches", "count"):
        query = Query("a", str(forest), mode=mode, want=want)
        theirs, ours = (search(engine, query, keep, threading.Event()) for engine in (rg, Builtin()))
        whole = search(rg, replace(query, want=None), keep, threading.Event())
        assert theirs.rows == ours.rows == whole.rows[:want]
        assert (theirs.complete, ours.complete) == (False, False)


@pytest.mark.parametrize("no_ignore", [False, True])
def test_glob_lists_the_files_that_grep_searches(rg, forest, no_ignore):
    listed = {
        path.removeprefix(f"{forest}/")
        for _time, path in _find(str(forest), "**", not no_ignore, threading.Event()).paths
    }
    command = [
        rg.path,
        "--files",
        "--hidden",
        "--no-config",
        "--no-require-git",
        "--no-ignore-global",
        "--null",
        "--glob=!.git",
    ]
    searched = subprocess.run(
        [*command, *(["--no-ignore"] if no_ignore else [])], cwd=forest, capture_output=True, check=True
    )
    names = {name for name in searched.stdout.decode().split("\0") if name}
    links = {"link.py", "nowhere"}  # Glob names links to files; nobody follows them
    assert listed - links == names
    assert listed & links == links


GLOB_PARTS = st.sampled_from(
    ["*", "*.py", "**", "src", "lib", "a*", "[ab]*", "*.{js,ts}", "?.txt", "{a,b}*", ".c*", "*.*", "m*s.md"]
)


@given(parts=st.lists(GLOB_PARTS, min_size=1, max_size=4))
@often(40)
def test_glob_finds_what_bash_finds(forest, parts):
    pattern = "/".join(part for at, part in enumerate(parts) if not (part == "**" and parts[at - 1 : at] == ["**"]))
    words = 'shopt -s globstar dotglob nullglob; for f in $1; do [ -f "$f" ] && printf \'%s\\0\' "$f"; done; :'
    bash = shutil.which("bash")
    assert bash
    eval_words = words.replace("$1", pattern)
    listed = subprocess.run([bash, "-c", eval_words], cwd=forest, capture_output=True, check=True).stdout.decode()
    theirs = {name for name in listed.split("\0") if name and not name.startswith(".git/") and "/.git/" not in name}
    theirs -= {name for name in theirs if name.startswith("loop/") or name == "nowhere"}
    found = _find(str(forest), pattern, False, threading.Event())
    ours = {path.removeprefix(f"{forest}/") for _time, path in found.paths} - {"nowhere"}
    assert {name for name in ours if not name.endswith("/.git")} == {
        name for name in theirs if not name.endswith("/.git")
    }
