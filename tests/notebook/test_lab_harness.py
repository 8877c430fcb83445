"""The harness itself: what other tests lean on works in Lab, in Notebook 7 and with both kernels."""

from __future__ import annotations

import time

import pytest

pytestmark = pytest.mark.browser


def test_cells_run_in_order_and_their_outputs_are_read(lab):
    notebook = lab.open(lab.notebook("harness.ipynb", ["x = 20 + 1; print('one')", "x * 2", "1 / 0"]))

    notebook.run_all()

    assert [cell.text for cell in notebook.cells()] == ["one", "42", "ZeroDivisionError: division by zero"]
    notebook.save()
    assert lab.saved("harness.ipynb").cells[1].outputs[0].data["text/plain"] == "42"
    notebook.close()


def test_stop_interrupts_a_cell_in_notebook_7(lab):
    name = lab.notebook("harness7.ipynb", ["import time; print('started')\ntime.sleep(60)", "print('after')"])
    notebook = lab.open(name, "notebook")

    notebook.run(0, wait=False)
    notebook.wait_text(0, "started")
    started = time.monotonic()
    notebook.interrupt()
    notebook.wait_done(10)

    assert notebook.cell(0).error.startswith("KeyboardInterrupt")
    assert time.monotonic() - started < 10
    notebook.restart()
    notebook.run(1)
    assert notebook.cell(1).text == "after"
    notebook.close()


@pytest.mark.parametrize(("name", "major"), [("ipykernel6", "6.31"), ("ipykernel7", "7.")])
def test_each_kernel_environment_runs_its_own_ipykernel(lab, kernel_envs, name, major):
    lab.kernel(name, kernel_envs[name])
    cells = ["import ipykernel, cosh_nb, ipywidgets; print(ipykernel.__version__)"]
    notebook = lab.open(lab.notebook(f"{name}.ipynb", cells, name))

    notebook.run(0)

    assert notebook.cell(0).text.startswith(major)
    notebook.close()
