"""Grep, told line by line. Every story runs with ripgrep and with our own search."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cosh_tools.contract import PermissionMode
from cosh_tools.search.builtin import Builtin
from cosh_tools.search.engine import Engine
from cosh_tools.search.grep import Grep, GrepCosh
from cosh_tools.search.ripgrep import ripgrep
from support.desk import Desk


@pytest.fixture(params=["ripgrep", "built-in"])
def desk(request, tmp_path: Path) -> Desk:
    engine: Engine | None = ripgrep() if request.param == "ripgrep" else Builtin()
    assert engine is not None
    desk = Desk(tmp_path)
    for tool in (Grep, GrepCosh):
        with_engine = type(tool.__name__, (tool,), {"engine": lambda self, engine=engine: engine})
        desk.runner.registry.add(with_engine())
    return desk


async def lines(desk: Desk, pattern: str, **given) -> list[str]:
    result = await desk("Grep", pattern=pattern, output_mode="content", **given)
    assert not result.is_error, result.content
    return result.content.split("\n")


async def test_paths_of_files_that_match_come_by_name(desk: Desk):
    for name in ("b.py", "a/z.py", "a.py", "c.txt"):
        desk.file(name, "import os\n" if name != "c.txt" else "nothing\n")
    result = await desk("Grep", pattern="^import")
    assert result.content == "a/z.py\na.py\nb.py"
    assert result.metadata["summary"] == "3 files"


async def test_content_shows_path_number_and_line(desk: Desk):
    desk.file("a.py", "one\ntwo one\nthree\n")
    assert await lines(desk, "one") == ["a.py:1:one", "a.py:2:two one"]
    assert await lines(desk, "one", **{"-n": False}) == ["a.py:one", "a.py:two one"]
    assert await lines(desk, "one", path="a.py") == ["1:one", "2:two one"]


async def test_count_gives_a_number_for_each_file(desk: Desk):
    desk.file("a.py", "x\nx x\ny\n")
    desk.file("b.py", "x\n")
    result = await desk("Grep", pattern="x", output_mode="count")
    assert result.content == "a.py:2\nb.py:1"
    assert result.metadata["numMatches"] == 3


async def test_lines_around_a_match_are_marked_and_groups_are_apart(desk: Desk):
    desk.file("a.txt", "".join(f"l{n}\n" for n in range(1, 13)))
    desk.file("b.txt", "l4\n")
    apart = "a.txt-3-l3 a.txt:4:l4 a.txt-5-l5 -- a.txt-9-l9 a.txt:10:l10 a.txt-11-l11 -- b.txt:1:l4"
    assert await lines(desk, "l4|l10", **{"-A": 1, "-B": 1}) == apart.split()
    assert await lines(desk, "l4|l6", path="a.txt", **{"-C": 1}) == ["3-l3", "4:l4", "5-l5", "6:l6", "7-l7"]
    assert await lines(desk, "l4", path="a.txt", context=1) == ["3-l3", "4:l4", "5-l5"]


async def test_case_may_be_ignored(desk: Desk):
    desk.file("a.txt", "Alpha\nALPHA\nbeta\n")
    assert await lines(desk, "alpha", **{"-i": True}) == ["a.txt:1:Alpha", "a.txt:2:ALPHA"]
    assert await lines(desk, "(?i)alpha") == ["a.txt:1:Alpha", "a.txt:2:ALPHA"]


async def test_globs_name_files_by_name_by_folder_and_by_what_they_are_not(desk: Desk):
    for name in ("src/a.ts", "src/deep/b.tsx", "lib/c.ts", "lib/d.js", "e.min.js"):
        desk.file(name, "x\n")
    found = {}
    for glob in (
        "*.ts",
        "*.{ts,tsx}",
        "src/**/*.ts",
        "src/**",
        "!*.js",
        "*.ts,*.js",
        "*.ts *.tsx",
        "./lib/*",
        "/lib/**",
    ):
        found[glob] = (await desk("Grep", pattern="x", glob=glob)).content.split("\n")
    assert found == {
        "*.ts": ["lib/c.ts", "src/a.ts"],
        "*.{ts,tsx}": ["lib/c.ts", "src/a.ts", "src/deep/b.tsx"],
        "src/**/*.ts": ["src/a.ts"],
        "src/**": ["src/a.ts", "src/deep/b.tsx"],
        "!*.js": ["lib/c.ts", "src/a.ts", "src/deep/b.tsx"],
        "*.ts,*.js": ["e.min.js", "lib/c.ts", "lib/d.js", "src/a.ts"],
        "*.ts *.tsx": ["lib/c.ts", "src/a.ts", "src/deep/b.tsx"],
        "./lib/*": ["lib/c.ts", "lib/d.js"],
        "/lib/**": ["lib/c.ts", "lib/d.js"],
    }


async def test_a_glob_counts_from_the_searched_folder_or_names_it_from_here(desk: Desk):
    desk.file("src/deep/a.ts", "x\n")
    for glob in ("deep/*.ts", "src/deep/*.ts", "src/**/*.ts", "**/*.ts", f"{desk.folder}/src/deep/*.ts"):
        assert (await desk("Grep", pattern="x", path="src", glob=glob)).content == "src/deep/a.ts", glob


@pytest.mark.parametrize("glob", ["[z", "{a,[b}", "*.{ts,[}"])
async def test_a_glob_that_means_nothing_is_an_error(desk: Desk, glob):
    desk.file("a.ts", "x\n")
    result = await desk("Grep", pattern="x", glob=glob)
    assert (result.is_error, "Invalid glob" in result.content) == (True, True)


async def test_a_type_names_files_and_both_filters_hold_together(desk: Desk):
    for name in ("a.py", "b.pyi", "c.js", "d.ipynb", "Makefile", "src/e.py"):
        desk.file(name, "x\n")
    assert (await desk("Grep", pattern="x", type="py")).content == "a.py\nb.pyi\nsrc/e.py"
    assert (await desk("Grep", pattern="x", type="ipynb")).content == "d.ipynb"
    assert (await desk("Grep", pattern="x", type="make")).content == "Makefile"
    assert (await desk("Grep", pattern="x", type="py", glob="src/**")).content == "src/e.py"
    assert (await desk("Grep", pattern="x", type="js", glob="*.py")).content.startswith("No matches found")


async def test_an_unknown_type_is_an_error_that_lists_the_known_ones(desk: Desk):
    result = await desk("Grep", pattern="x", type="pyhton")
    assert result.is_error
    assert result.content.startswith("Unknown file type 'pyhton'. Known: asm, bat, c, ")


@pytest.mark.parametrize("pattern", ["(", "[z", "*x", r"\y", "a{", "(?=x)", r"(x)\1"])
async def test_a_pattern_that_means_nothing_is_an_error(desk: Desk, pattern):
    desk.file("a.txt", "x\n")
    result = await desk("Grep", pattern=pattern)
    assert (result.is_error, result.content.startswith("Invalid regex: ")) == (True, True), result.content


async def test_a_match_may_cross_lines_where_the_call_says_so(desk: Desk):
    desk.file("a.py", "class A:\n    pass\n\nclass B:\n    x = 1\n")
    refused = await desk("Grep", pattern=r"class A:\n\s+pass")
    assert (refused.is_error, "Set multiline to true" in refused.content) == (True, True)
    found = await lines(desk, r"class A:\n\s+pass", multiline=True)
    assert found == ["a.py:1:class A:", "a.py:2:    pass"]
    assert await lines(desk, "class B.*1", multiline=True) == ["a.py:4:class B:", "a.py:5:    x = 1"]
    assert await lines(desk, "class B.*1") == ['No matches found for pattern "class B.*1" in ' + str(desk.folder)]


async def test_a_match_across_lines_does_not_care_how_lines_end(desk: Desk):
    desk.file("a.txt", "one\r\ntwo\r\n")
    assert await lines(desk, r"one\ntwo", multiline=True) == ["a.txt:1:one", "a.txt:2:two"]


async def test_results_come_in_pages(desk: Desk):
    desk.file("a.txt", "".join(f"hit {n}\n" for n in range(600)))
    first = await lines(desk, "hit")
    assert len(first) == 251
    assert first[0] == "a.txt:1:hit 0"
    assert first[-1] == ("... (results 1 to 250; there are more. Go on with offset=250, or narrow the search.)")
    second = await lines(desk, "hit", offset=250, head_limit=3)
    assert second[:3] == ["a.txt:251:hit 250", "a.txt:252:hit 251", "a.txt:253:hit 252"]
    last = await lines(desk, "hit", offset=597)
    assert last == ["a.txt:598:hit 597", "a.txt:599:hit 598", "a.txt:600:hit 599"]
    assert len(await lines(desk, "hit", head_limit=0)) == 600
    assert (await lines(desk, "hit", offset=700, head_limit=0)) == [
        "No more results: there are 600, and offset is 700."
    ]


async def test_a_limit_is_told_only_where_it_hid_something(desk: Desk):
    for number in range(5):
        desk.file(f"f{number}.txt", "x\n")
    assert (await desk("Grep", pattern="x", head_limit=5)).content == "\n".join(f"f{n}.txt" for n in range(5))
    cut = await desk("Grep", pattern="x", head_limit=4)
    assert cut.content.startswith("f0.txt\nf1.txt\nf2.txt\nf3.txt\n... (results 1 to 4;")
    assert cut.metadata["truncated"] is True


async def test_hidden_files_and_hidden_roots_are_searched_and_git_is_not(desk: Desk):
    desk.file(".github/workflows/ci.yml", "run: x\n")
    desk.file(".git/config", "x\n")
    desk.file("a/.hidden", "x\n")
    assert (await desk("Grep", pattern="x")).content == ".github/workflows/ci.yml\na/.hidden"
    assert (await desk("Grep", pattern="x", path=".github")).content == ".github/workflows/ci.yml"


async def test_what_git_ignores_is_left_out_unless_it_is_named(desk: Desk):
    (desk.folder / ".git").mkdir()
    desk.file(".gitignore", "node_modules/\n*.log\n")
    for name in ("a.js", "node_modules/b.js", "c.log"):
        desk.file(name, "x\n")
    assert (await desk("Grep", pattern="x", glob="*.js")).content == "a.js"
    assert (await desk("Grep", pattern="x", path="node_modules")).content == "node_modules/b.js"
    assert (await desk("Grep", pattern="x", path="c.log")).content == "c.log"
    assert (await desk("Grep", pattern="x", glob="*.log")).content == "c.log"


async def test_utf16_and_a_bom_are_read_as_text(desk: Desk):
    desk.file("wide.txt", b"\xff\xfe" + "first\r\nnaïve\r\n".encode("utf-16-le"))
    desk.file("big.txt", b"\xfe\xff" + "naïve\n".encode("utf-16-be"))
    desk.file("bom.txt", b"\xef\xbb\xbf" + "naïve\n".encode())
    assert await lines(desk, "^naïve$") == ["big.txt:1:naïve", "bom.txt:1:naïve", "wide.txt:2:naïve"]


@pytest.mark.parametrize("at", [10, 40_000, 500_000])
async def test_a_binary_file_is_not_searched_wherever_its_nul_is(desk: Desk, at):
    text = b"needle\n" * 100_000
    desk.file("a.bin", text[:at] + b"\0" + text[at:])
    desk.file("b.txt", "needle\n")
    for mode in ("files_with_matches", "count", "content"):
        result = await desk("Grep", pattern="needle", output_mode=mode)
        assert result.content.startswith("b.txt"), result.content[:200]
        assert "a.bin" not in result.content


async def test_a_binary_file_that_is_named_is_said_to_be_binary(desk: Desk):
    desk.file("a.bin", b"needle\0")
    result = await desk("Grep", pattern="needle", path="a.bin")
    assert "(The file is binary, and only text is searched." in result.content


async def test_anchors_see_line_ends_of_both_kinds_and_a_lone_return_is_content(desk: Desk):
    desk.file("a.txt", b"dos end\r\nunix end\nmac\rend\n")
    assert await lines(desk, "end$") == ["a.txt:1:dos end", "a.txt:2:unix end", "a.txt:3:mac\rend"]
    assert await lines(desk, "^end") == [f'No matches found for pattern "^end" in {desk.folder}']


async def test_bytes_that_are_no_text_are_shown_as_such_and_never_match_a_dot(desk: Desk):
    desk.file("a.txt", b"caf\xe9 here\n")
    assert await lines(desk, "here") == ["a.txt:1:caf\ufffd here"]
    assert (await desk("Grep", pattern="caf. here")).content.startswith("No matches found")


async def test_a_long_line_is_cut_around_its_match_and_never_dropped(desk: Desk):
    desk.file("a.txt", "x" * 3000 + "needle" + "y" * 3000 + "\n")
    desk.file("b.txt", "needle" + "z" * 1_000_000 + "\n")
    first, second = await lines(desk, "needle")
    assert first.startswith("a.txt:1:[...] xxxx")
    assert ("needle" in first, len(first) < 600) == (True, True)
    assert second == "b.txt:1:needle" + "z" * 494 + " [... line cut]"


async def test_a_match_far_into_a_huge_line_is_told_with_its_place(desk: Desk):
    desk.file("a.txt", "x" * 10_000_000 + "needle\n")
    (line,) = await lines(desk, "needle")
    assert line.endswith("[... line cut (match at column 10,000,001)]")


async def test_nothing_found_is_said_in_words_and_is_no_error(desk: Desk):
    desk.file("a.txt", "x\n")
    result = await desk("Grep", pattern="needle", path="a.txt")
    assert (result.is_error, result.content) == (False, 'No matches found for pattern "needle" in a.txt')


async def test_a_place_that_is_not_there_is_an_error(desk: Desk):
    result = await desk("Grep", pattern="x", path="nowhere")
    assert result.content == f"Path does not exist: nowhere. The working directory is {desk.folder}."


async def test_folders_with_odd_names_are_searched(desk: Desk):
    for folder in ("[id]", "(x)", "-dash", "a b", "Ünï"):
        desk.file(f"{folder}/page.ts", "x\n")
        assert (await desk("Grep", pattern="x", path=folder)).content == f"{folder}/page.ts"


async def test_a_pattern_that_begins_with_a_dash_is_a_pattern(desk: Desk):
    desk.file("a.txt", "--flag\n")
    assert await lines(desk, "--flag") == ["a.txt:1:--flag"]


async def test_a_name_with_bytes_that_are_no_letters_is_shown_as_well_as_it_can_be(desk: Desk):
    desk.file(os.fsdecode(b"caf\xe9.txt"), "x\n")
    assert (await desk("Grep", pattern="x")).content == "caf\ufffd.txt"
    assert (await desk("Glob", pattern="*.txt")).content == f"{desk.folder}/caf\ufffd.txt"


async def test_links_are_not_followed_but_may_be_named(desk: Desk, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    (outside / "a.txt").write_text("x\n")
    (desk.folder / "door").symlink_to(outside)
    (desk.folder / "round").symlink_to(desk.folder)
    assert (await desk("Grep", pattern="x")).content.startswith("No matches found")
    assert (await desk("Grep", pattern="x", path="door")).content == str(outside / "a.txt")


async def test_files_that_may_hold_keys_are_not_shown_unless_they_are_named(desk: Desk):
    desk.file(".env", "TOKEN=abc\n")
    desk.file(".ssh/config", "TOKEN=abc\n")
    desk.file("a.py", "TOKEN = os.environ['TOKEN']\n")
    result = await desk("Grep", pattern="TOKEN", output_mode="content")
    assert "abc" not in result.content
    assert result.content.splitlines()[0] == "a.py:1:TOKEN = os.environ['TOKEN']"
    assert ".env, .ssh/config" in result.content
    assert (await desk("Grep", pattern="TOKEN", path=".env", output_mode="content")).content == "1:TOKEN=abc"


async def test_what_a_rule_denies_to_read_is_not_found_by_searching(tmp_path: Path):
    desk = Desk(tmp_path, deny=("Read(./private/**)",))
    desk.file("private/a.txt", "secret word\n")
    desk.file("public/a.txt", "secret word\n")
    result = await desk("Grep", pattern="secret", output_mode="content")
    assert result.content.startswith("public/a.txt:1:secret word\n")
    assert "private/a.txt:1" not in result.content
    assert (await desk("Grep", pattern="secret", path="private/a.txt")).is_error


async def test_searching_outside_the_workspace_asks(tmp_path: Path, tmp_path_factory):
    desk = Desk(tmp_path, mode=PermissionMode.DEFAULT)
    outside = tmp_path_factory.mktemp("outside")
    result = await desk("Grep", pattern="x", path=str(outside))
    assert (result.is_error, "nobody is there to ask" in result.content) == (True, True)


# -- cosh's face ---------------------------------------------------------------------------------------------------


async def test_cosh_gives_lines_with_the_path_as_it_was_given(desk: Desk):
    desk.file("src/a.py", "one\ntwo\n")
    assert (await desk("grep", pattern="two")).content == "./src/a.py:2:two"
    assert (await desk("grep", pattern="two", path="src")).content == "src/a.py:2:two"
    assert (await desk("grep", pattern="two", path="src/a.py")).content == "src/a.py:2:two"
    assert (await desk("grep", pattern="three")).content == "No matches found."


@pytest.mark.parametrize(("count", "more"), [(100, False), (101, True)])
async def test_cosh_gives_a_hundred_lines_and_says_so_only_if_there_are_more(desk: Desk, count, more):
    desk.file("a.txt", "x\n" * count)
    found = (await desk("grep", pattern="x")).content.split("\n")
    assert (len(found), found[-1] == "[additional grep results omitted by output limits]") == (100 + more, more)


async def test_cosh_includes_count_from_the_working_folder_and_bring_hidden_files(desk: Desk):
    for name in ("src/a.rs", "src/b.py", "lib/c.rs", ".hidden.rs"):
        desk.file(name, "x\n")
    assert (await desk("grep", pattern="x")).content == "./lib/c.rs:1:x\n./src/a.rs:1:x\n./src/b.py:1:x"
    assert (
        await desk("grep", pattern="x", include="*.rs")
    ).content == "./.hidden.rs:1:x\n./lib/c.rs:1:x\n./src/a.rs:1:x"
    assert (await desk("grep", pattern="x", path="src", include="src/*.rs")).content == "src/a.rs:1:x"
    assert (await desk("grep", pattern="x", include="!*.rs")).content == "./src/b.py:1:x"
    assert (await desk("grep", pattern="x", path="src/b.py", include="*.rs")).content == "src/b.py:1:x"


async def test_cosh_calls_a_bad_pattern_an_error(desk: Desk):
    desk.file("a.txt", "x\n")
    result = await desk("grep", pattern="(")
    assert (result.is_error, result.content.startswith("Invalid regex: ")) == (True, True)
