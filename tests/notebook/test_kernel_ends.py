"""Kernels that are shut down or restarted while a turn is under way: they go, and what stays is readable."""

from __future__ import annotations

import time

import psutil
import pytest

from support.kernel_client import kernel_client


@pytest.fixture(params=["ipykernel6", "ipykernel7"])
def fresh(request, tmp_path, kernel_envs):
    with kernel_client(tmp_path, kernel_envs[request.param]) as client:
        assert client.run("%load_ext support.probe").status == "ok"
        yield client


@pytest.mark.parametrize("script", ["%%probe -b\nsay begun\nask git status", "%%probe\nsay begun\nask git status"])
def test_a_kernel_with_an_open_card_shuts_down_when_asked(fresh, script):
    cell = fresh.start(script)
    fresh.wait(fresh.buttons, 15, "card")
    process = psutil.Process(fresh.manager.provisioner.pid)

    began = time.monotonic()
    fresh.manager.shutdown_kernel(now=False)

    assert time.monotonic() - began < 5, "it had to be killed"
    assert not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    assert "No answer yet." in cell.text


def test_a_restart_with_an_open_card_leaves_text_that_says_that_nobody_answered(fresh):
    cell = fresh.start("%%probe\nask git status")
    fresh.wait(fresh.buttons, 15, "card")

    fresh.manager.restart_kernel(now=True)
    fresh.client.wait_for_ready(timeout=30)

    assert fresh.run("%load_ext support.probe\nprint('new')").text == "new"
    [output] = cell.outputs
    assert "no answer yet" in output["data"]["text/html"]
    assert "Run this command?" in output["data"]["text/plain"]
