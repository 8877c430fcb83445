"""The Python that the data phrases run, executed: with the standard library alone, and with pandas and matplotlib."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from xml.etree import ElementTree as ET

import pytest

from cosh_nb.providers.offline import code
from cosh_nb.providers.offline.code import Libraries, Script, Series

PLAIN = Libraries(pandas=False, matplotlib=False)
FULL = Libraries(pandas=True, matplotlib=True)

ROWS = (
    "when,Region <&>,size,price\n"
    '2024-01-05,it\'s,1,10\n2024-01-20,"a, ""b"" {c}",2,-4\n2024-02-01,it\'s,3,7.5\n2023-12-31,it\'s,4,\n'
)


@pytest.fixture
def run(tmp_path):
    """Run programs in one Python that has only what they import; what each printed."""
    (tmp_path / "t.csv").write_text(ROWS)

    def run(*programs):
        runner = (
            "import contextlib, io, json, sys\n"
            "for program in json.load(sys.stdin):\n"
            "    out = io.StringIO()\n"
            "    with contextlib.redirect_stdout(out):\n"
            "        exec(compile(program, 'cell', 'exec'), {})\n"
            "    print(json.dumps(out.getvalue()))\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", runner], input=json.dumps(programs), capture_output=True, text=True, timeout=90,
            check=False, cwd=tmp_path,
            env={**os.environ, "MPLBACKEND": "agg", "MPLCONFIGDIR": str(tmp_path / "mpl")},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    return run


def chart(kind, libraries, file, **series):
    script = Script()
    frame = code.load(script, "t.csv", "t", libraries)
    code.chart(script, Series("t", "price", frame=frame, **series), kind, "price's <b> {x}", libraries, file)
    return script.text


@pytest.mark.parametrize("kind", ["bar", "line", "histogram", "scatter"])
def test_a_chart_by_hand_is_a_well_formed_picture(run, tmp_path, kind):
    by = {"bar": "Region <&>", "line": "when", "scatter": "size", "histogram": ""}[kind]
    (tmp_path / "t.csv").write_text(ROWS.replace("4,\n", "4,2\n"))

    run(chart(kind, PLAIN, "out.svg", by=by))

    svg = ET.parse(tmp_path / "out.svg").getroot()
    marks = {"bar": ("rect", 2), "line": ("circle", 4), "scatter": ("circle", 4), "histogram": ("rect", 20)}[kind]
    assert len(svg.findall(f".//{{*}}{marks[0]}")) == marks[1]
    assert "price's <b> {x}" in {text.text for text in svg.findall(".//{*}text")}
    for mark in svg.findall(".//{*}rect"):
        assert float(mark.get("height")) >= 0
        assert 30 <= float(mark.get("y")) <= 230.1


def test_a_chart_of_one_value_and_of_none_different_can_be_drawn(run, tmp_path):
    (tmp_path / "t.csv").write_text("when,Region <&>,size,price\n2024-01-01,a,1,5\n2024-01-01,a,1,5\n")

    run(*(chart(kind, PLAIN, f"{kind}.svg", by="size" if kind != "histogram" else "") for kind in
          ("bar", "line", "histogram", "scatter")))  # fmt: skip

    assert {file.name for file in tmp_path.glob("*.svg")} == {"bar.svg", "line.svg", "histogram.svg", "scatter.svg"}


def test_pandas_and_matplotlib_draw_the_same_charts(run, tmp_path):
    programs = [
        chart("bar", FULL, "bar.png", by="Region <&>"),
        chart("line", FULL, "line.png", by="when", period="month"),
        chart("scatter", FULL, "scatter.png", by="size"),
        chart("histogram", FULL, "histogram.png"),
        chart("line", FULL, "rows.png"),
    ]

    said = run(*programs)

    assert said[1] == "2023-12: 0\n2024-01: 6\n2024-02: 7.5\n"
    for name in ("bar", "line", "scatter", "histogram", "rows"):
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_both_ways_compute_the_same_figures(run):
    programs = []
    for function in ("mean", "sum", "max", "min", "median", "count", "standard deviation"):
        for libraries in (PLAIN, FULL):
            figure, groups = Script(), Script()
            frame = code.load(figure, "t.csv", "t", libraries)
            code.figure(figure, Series("t", "price", function=function, frame=frame))
            programs.append(figure.text)
            if function == "standard deviation":
                continue  # of a group of one value there is none
            code.load(groups, "t.csv", "t", libraries)
            code.grouped(groups, Series("t", "size", "Region <&>", function, frame=frame))
            groups.add("print(sum((index + 1) * float(value) for index, value in enumerate(result.values())))")
            programs.append(groups.text)

    said = [float(text) for text in run(*programs)]

    plain = [*said[0:24:4], *said[1:24:4], said[24]]
    full = [*said[2:24:4], *said[3:24:4], said[25]]
    assert len(said) == 26
    assert plain == pytest.approx(full)


def test_looking_and_describing_work_both_ways(run):
    programs = []
    for libraries in (PLAIN, FULL):
        for tell in (code.look, code.describe):
            script = Script()
            tell(script, "t", code.load(script, "t.csv", "t", libraries))
            programs.append(script.text)

    said = run(*programs)

    assert all(text.startswith("4 rows, 4 columns\n") for text in said)
    assert "price: 3 numbers, min -4, mean 4.5, max 10" in said[1]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("sales.csv", "sales"),
        ("my data/q 1-2.csv", "q_1_2"),
        ("2024.csv", "table_2024"),
        ("list.csv", "table_list"),
        ("class.csv", "table_class"),
        ("müller.csv", "müller"),
        ("!!.csv", "table"),
    ],
)
def test_a_table_gets_a_name_that_is_a_variable(path, name):
    assert code.variable_for(path) == name
    assert name.isidentifier()


def test_a_name_cannot_break_out_of_its_quotes():
    nasty = 'x"); import os; os.system("touch owned"); ("\n\\'
    script = Script()

    code.load(script, nasty + ".csv", "t", PLAIN)

    assert "import os" not in [line.strip() for line in script.text.splitlines()]
    compile(script.text, "cell", "exec")
    assert eval(code.quoted(nasty)) == nasty


def test_a_file_that_takes_pandas_says_so_without_it():
    with pytest.raises(ValueError, match="takes pandas"):
        code.load(Script(), "a.parquet", "t", PLAIN)
