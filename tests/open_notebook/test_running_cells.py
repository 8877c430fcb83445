"""NotebookRun: cells run in order, outputs land in the notebook and come back."""

from __future__ import annotations

import pytest

from open_notebook.conftest import said, story

pytestmark = pytest.mark.browser

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


@pytest.mark.parametrize("kernel", ["ipykernel7", pytest.param("ipykernel6", marks=pytest.mark.slow)])
def test_cells_run_inside_the_running_cell_and_their_outputs_land_in_the_notebook(opens, kernel):
    page = opens(
        f"run_{kernel}.ipynb",
        story("""
            await read()
            names = [name for name, _ in await cells()][2:]
            result = await run(*names)
            say([result.is_error, result.content, len(result.media), result.metadata["summary"]])
        """),
        "x = 20 + 1\nprint('printed')\nx * 2",
        "%md only text",
        f"import base64\nfrom IPython.display import Image\nImage(base64.b64decode('{PNG}'))",
        "1 / 0",
        "print('not reached')",
        kernel=kernel,
    )

    page.run(1)

    error, text, images, summary = said(page, 1)
    assert (error, images, summary) == (True, 1, "3 of 5 ran, error")
    assert "printed" in text
    assert "A markdown cell: nothing to run." in text
    assert "ZeroDivisionError: division by zero" in text
    assert text.splitlines()[-1].startswith("Not run: ")
    found = page.cells()
    assert found[2].text == "printed\n42"
    assert "image/png" in found[4].mimetypes
    assert found[5].error == "ZeroDivisionError: division by zero"
    assert found[6].outputs == ()


def test_cells_of_another_open_notebook_run_in_its_own_kernel(lab, opens):
    lab.notebook(
        "other_kernel.ipynb", ["import os\nwhere = 'over there'\nprint(where)", "1 / 0", "where"], "ipykernel6"
    )
    page = opens(
        "asks.ipynb",
        story("""
            await read("other_kernel.ipynb")
            names = [name for name, _ in await cells("other_kernel.ipynb")]
            result = await run(*names, notebook="other_kernel.ipynb")
            say([result.is_error, result.content, "where" in get_ipython().user_ns])
        """),
    )
    page.js(
        "const other = await window.jupyterapp.commands.execute('docmanager:open', {path: 'other_kernel.ipynb', "
        "options: {mode: 'split-right', activate: false}}); await other.context.ready;"
        "await other.sessionContext.ready;"
    )

    page.run(1)

    error, text, leaked = said(page, 1)
    assert error
    assert "over there" in text
    assert "ZeroDivisionError" in text
    assert "Not run: " in text
    assert not leaked


def test_outputs_of_many_megabytes_come_through_in_parts(opens):
    page = opens(
        "heavy.ipynb",
        story("""
            await read()
            names = [name for name, _ in await cells()]
            view = await scene.books.read(scene.books.current(), [names[2]])
            outline = await scene.books.read(scene.books.current(), ())
            heavy = outline.cells[2]
            text = view.cells[2].outputs[0]["data"]["text/plain"]
            say([len(text), heavy.output_bytes, len(heavy.outputs)])
        """),
        "from IPython.display import display\ndisplay({'text/plain': 'y' * 3_500_000}, raw=True)",
    )
    page.run(2)

    page.run(1)

    length, weight, parsed = said(page, 1)
    assert length >= 3_500_000
    assert weight >= 3_500_000
    assert parsed == 0
