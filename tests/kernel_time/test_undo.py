"""A turn is taken back: files, variables, and what is said of what cannot come back."""

from __future__ import annotations

from support.modelserver import call


def test_a_turn_that_wrote_files_and_changed_variables_is_taken_back_by_one_command(room):
    (room.cwd / "a.txt").write_text("one\n")
    (room.cwd / "tool.sh").write_text("#!/bin/sh\n")
    (room.cwd / "tool.sh").chmod(0o755)
    room.ok(
        "import numpy as np, pandas as pd, sqlite3\n"
        "df = pd.DataFrame({'x': np.arange(1000.0), 'who': ['me'] * 1000})\nalias = df\n"
        "numbers = [1, 2]; table = {'numbers': numbers}\n"
        "def double(x): return 2 * x\n"
        "class Point:\n    def __init__(self, x): self.x = x\n"
        "point = Point(3)\n"
        "gen = (i for i in range(9)); next(gen); conn = sqlite3.connect(':memory:')"
    )
    room.turn(
        call("Write", {"file_path": "new/b.txt", "content": "made"}),
        call("Bash", {"command": "echo two > a.txt; rm tool.sh; mkdir out; echo x > out/c.txt"}),
        call(
            "Python",
            {
                "code": "df['x'] *= -1; df.loc[0, 'who'] = 'you'; numbers.append(3); point.x = 9; extra = 1\n"
                "next(gen)\ndef double(x): return 3 * x\ndel np\nopen('py.txt', 'w').write('from python')"
            },
        ),
    )
    assert (room.cwd / "py.txt").exists()
    assert room.value("(float(df.x.sum()), df.who[0], numbers, double(2))") == (-499500.0, "you", [1, 2, 3], 6)
    shown = room.ok("%cosh /diff")
    for part in ("-one", "+two", "+made", "~ df: ", "+ extra: int 1", "- np: "):
        assert part in shown, shown
    assert "| 1 |" in room.ok("%cosh /checkpoints").replace("  ", " ")

    said = room.ok("%cosh /undo")

    assert room.value("(float(df.x.sum()), df.who[0], df is alias, numbers, table['numbers'] is numbers)") == (
        499500.0, "me", True, [1, 2], True,
    )  # fmt: skip
    assert room.value("(point.x, type(point) is Point, double(2), 'extra' in globals(), np.ones(1).size)") == (
        3, True, 4, False, 1,
    )  # fmt: skip
    assert (room.cwd / "a.txt").read_text() == "one\n"
    assert (room.cwd / "tool.sh").stat().st_mode & 0o777 == 0o755
    assert not [name for name in ("new", "out", "py.txt") if (room.cwd / name).exists()]
    assert "`gen` (a generator cannot be copied)" in said
    assert "`conn` (sqlite3.Connection)" in said
    assert "extra" in said

    said = room.ok("%cosh /undo undo")

    assert room.value("(float(df.x.sum()), df.who[0], numbers, extra, double(2))") == (
        -499500.0,
        "you",
        [1, 2, 3],
        1,
        6,
    )
    assert (room.cwd / "new/b.txt").read_text() == "made"
    assert (room.cwd / "a.txt").read_text() == "two\n"
    assert not (room.cwd / "tool.sh").exists()
    assert "The undo of turn 1 is taken back" in said
