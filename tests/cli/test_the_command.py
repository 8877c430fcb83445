"""`cosh-nb` as people run it: a process of its own, an empty HOME."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import nbformat
import pytest

import cosh_nb
from cosh_nb import demo, quickstart

COMMAND = (sys.executable, "-m", "cosh_nb")


def environment(home, **more):
    home.mkdir(parents=True, exist_ok=True)
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    return {**kept, "HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1", **more}


@pytest.fixture
def run(tmp_path):
    def run(*arguments, within=60, cwd=None, python=COMMAND, **env):
        return subprocess.run(
            [*python, *arguments],
            capture_output=True,
            text=True,
            timeout=within,
            check=False,
            env=environment(tmp_path / "home", **env),
            cwd=cwd or tmp_path,
        )

    return run


def without(package):
    """The command in a Python that lacks a package."""
    code = f"import sys; sys.modules[{package!r}] = None; from cosh_nb.cli import main; sys.exit(main())"
    return (sys.executable, "-c", code)


def test_the_version_is_printed_both_ways(run):
    assert run("version").stdout == run("--version").stdout == f"{cosh_nb.__version__}\n"


def test_without_a_command_it_says_what_there_is(run):
    done = run()

    assert done.returncode == 0
    for word in ("demo", "lab", "doctor", "install-lab", "--headless", "acp", "mcp"):
        assert word in done.stdout


@pytest.mark.parametrize("arguments", [("dance",), ("demo", "--loud"), ("doctor", "x"), ("demo", "a", "b")])
def test_wrong_arguments_end_with_two(run, arguments):
    done = run(*arguments)

    assert done.returncode == 2
    assert "error:" in done.stderr
    assert "Traceback" not in done.stderr


def test_headless_reaches_the_headless_command(run):
    done = run("--headless", "--no-such-flag")

    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_an_output_that_nobody_reads_ends_it_quietly(tmp_path):
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [*COMMAND, "doctor"],
        stdout=write, stderr=subprocess.PIPE, text=True, timeout=60, check=False,
        env=environment(tmp_path / "home"),
    )  # fmt: skip
    os.close(write)

    assert done.returncode == 1
    assert "Traceback" not in done.stderr


# -- demo ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """The demo, run once; with a key set, which it must not use."""
    folder = tmp_path_factory.mktemp("demo")
    done = subprocess.run(
        [*COMMAND, "demo", str(folder / "here")], capture_output=True, text=True, timeout=110, check=False, cwd=folder,
        env=environment(folder / "home", ANTHROPIC_API_KEY="wrong", COSH_APPROVAL_MODE="plan"),
    )  # fmt: skip
    return done, folder / "here"


def test_the_demo_lands_every_step(shown):
    done, folder = shown

    assert done.returncode == 0, done.stdout + done.stderr
    assert "FAILED" not in done.stdout
    assert (folder / "hello.py").read_text() == 'print("hello from the notebook")\n'
    assert 'UNIT = "EUR"' in (folder / "report.py").read_text()


def test_the_demo_shows_the_transcript_and_where_its_files_are(shown):
    done, folder = shown

    assert "    | ✓ Wrote hello.py" in done.stdout
    assert "offline helper, not a language model" in done.stdout
    for name in ("01_quickstart.ipynb", "01_quickstart.html"):
        assert str(folder / name) in done.stdout
        assert (folder / name).stat().st_size > 10_000


def test_the_executed_notebook_holds_its_outputs_and_no_error(shown):
    _, folder = shown
    book = nbformat.read(folder / "01_quickstart.ipynb", as_version=4)
    nbformat.validate(book)
    cells = [cell for cell in book.cells if cell.cell_type == "code" and cell.source.startswith("%%cosh")]

    assert len(cells) >= 6
    for cell in cells:
        bundles = [output.data for output in cell.outputs if output.output_type == "display_data"]
        assert bundles
        assert all(set(bundle) <= {"text/html", "text/plain"} for bundle in bundles)
        assert not any(output.output_type in ("error", "stream") for output in cell.outputs)
    assert "widgets" not in book.metadata


def test_the_checks_of_the_demo_can_fail(shown, tmp_path):
    _, folder = shown
    book = nbformat.read(folder / "01_quickstart.ipynb", as_version=4)
    names = {check.what for check in demo.checks(folder, book) if not check.landed}
    assert names == set()

    (tmp_path / "sales.csv").write_text("month,region,revenue\n")
    for cell in book.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    assert not any(check.landed for check in demo.checks(tmp_path, book))


def test_the_demo_does_not_write_over_a_folder_in_use(run, tmp_path):
    (tmp_path / "sales.csv").write_text("mine")

    done = run("demo", str(tmp_path))

    assert done.returncode == 1
    assert "holds sales.csv already" in done.stderr
    assert (tmp_path / "sales.csv").read_text() == "mine"


def test_the_demo_says_what_to_install(run):
    done = run("demo", python=without("nbclient"))

    assert done.returncode == 1
    assert done.stderr == "cosh-nb: The demo needs nbclient. Install it: pip install 'cosh-nb[demo]'.\n"


def test_a_step_that_fails_ends_the_demo_with_one(run, tmp_path):
    broken = tmp_path / "broken"
    broken.mkdir()
    for name in quickstart.FILES:
        (broken / name).write_bytes((quickstart.source() / name).read_bytes())
    cells = [nbformat.v4.new_code_cell(text) for text in ("%load_ext cosh_nb", "%%cosh\nlist the files here", "1 / 0")]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), broken / quickstart.NOTEBOOK)
    code = (
        f"import sys; from pathlib import Path; from cosh_nb import quickstart; "
        f"quickstart.source = lambda: Path({str(broken)!r}); from cosh_nb.cli import main; sys.exit(main())"
    )

    done = run("demo", str(tmp_path / "here"), python=(sys.executable, "-c", code), within=110)

    assert done.returncode == 1
    assert "FAILED  every cell ran" in done.stdout
    assert "FAILED  hello.py was written" in done.stdout
    assert "ok      it listed the files" in done.stdout
    assert "A cell failed: ZeroDivisionError: division by zero" in done.stdout
    assert (tmp_path / "here" / "01_quickstart.html").exists()


# -- the notebook that is shipped  ------


def test_the_saved_quickstart_shows_what_it_says():
    book = nbformat.read(quickstart.source() / quickstart.NOTEBOOK, as_version=4)
    nbformat.validate(book)
    asked = [cell for cell in book.cells if cell.source.startswith("%%cosh")]

    assert len(asked) >= 6
    for cell in asked:
        assert "offline helper, not a language model" in demo.transcript(cell), cell.source
    text = json.dumps(book)
    assert "data:image/png" in text or "image/png" in text
    assert not re.search(r"/(work|home|root|tmp|Users)/", text)


def test_the_wheel_brings_the_quickstart_along(tmp_path):
    root = Path(cosh_nb.__file__).parent.parent
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)], check=True, timeout=60,
        capture_output=True, cwd=root,
    )  # fmt: skip
    wheel = next(tmp_path.glob("*.whl"))
    code = (
        f"import sys; sys.path[:0] = [{str(tmp_path / 'unpacked')!r}]; from cosh_nb import quickstart as q; "
        "print(q.source()); print(q.copy())"
    )
    subprocess.run([sys.executable, "-m", "zipfile", "-e", str(wheel), str(tmp_path / "unpacked")], check=True)

    done = subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True, timeout=60,
        env=environment(tmp_path / "home", TMPDIR=str(tmp_path)), cwd=tmp_path,
    )  # fmt: skip

    place, copy = done.stdout.split()
    assert place == str(tmp_path / "unpacked" / "cosh_nb" / "notebooks")
    assert {file.name for file in Path(copy).parent.iterdir()} == set(quickstart.FILES)


# -- lab ------------------------------------------------------------------------------------------------


def test_lab_without_jupyterlab_says_what_to_install(run):
    done = run("lab", python=without("jupyterlab"))

    assert done.returncode == 1
    assert done.stderr == "cosh-nb: JupyterLab is not installed here. Install it: pip install 'cosh-nb[lab]'.\n"


def test_lab_on_a_notebook_that_is_not_there_says_so(run):
    done = run("lab", "nothing.ipynb")

    assert done.returncode == 1
    assert "There is no nothing.ipynb" in done.stderr


def test_lab_opens_a_real_jupyterlab_on_the_notebook(tmp_path):
    folder = tmp_path / "my notebooks"
    notebook = quickstart.copy(folder).rename(folder / "my first.ipynb")
    process = subprocess.Popen(
        [*COMMAND, "lab", str(notebook), "--no-browser", "--ServerApp.port=0", "--IdentityProvider.token=secret"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=tmp_path, start_new_session=True,
        env=environment(tmp_path / "home"),
    )  # fmt: skip
    lines = []
    reader = threading.Thread(target=lambda: lines.extend(iter(process.stdout.readline, "")), daemon=True)
    reader.start()
    try:
        address = _address(lines)
        assert address.endswith("/lab/tree/my%20first.ipynb?token=")
        base = address.partition("/lab/tree")[0]
        listed = json.load(urllib.request.urlopen(f"{base}/api/contents?token=secret", timeout=20))
        assert {item["name"] for item in listed["content"]} == {"my first.ipynb", "sales.csv", "report.py"}
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(20)
        reader.join(10)
        process.stdout.close()


def _address(lines, within=60):
    deadline = time.monotonic() + within
    while time.monotonic() < deadline:
        for line in list(lines):
            if found := re.search(r"http://127\.0\.0\.1:\d+/lab/tree/\S+\?token=", line):
                return found[0]
        time.sleep(0.1)
    raise AssertionError("JupyterLab did not say its address:\n" + "".join(lines))


# -- install-lab ------------------------------------------------------------------------------------------------


def test_install_lab_puts_the_extension_where_jupyter_looks(run, tmp_path):
    target = tmp_path / "home" / ".local" / "share" / "jupyter" / "labextensions" / "cosh-nb"
    target.mkdir(parents=True)
    (target / "old.js").write_text("")

    done = run("install-lab")

    assert done.returncode == 0, done.stderr
    assert str(target) in done.stdout
    assert json.loads((target / "package.json").read_text())["version"] == cosh_nb.__version__
    assert not (target / "old.js").exists()
    assert [path.name for path in target.parent.iterdir()] == ["cosh-nb"]
    assert f"lab extension {cosh_nb.__version__} in {target}" in run("doctor", JUPYTER_PREFER_ENV_PATH="0").stdout


def test_install_lab_that_cannot_write_says_so(run, tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / ".local").write_text("a file where a folder should be")

    done = run("install-lab")

    assert done.returncode == 1
    assert "could not be copied" in done.stderr
    assert "Traceback" not in done.stderr
