"""A kernel of its own for each test, loaded with cosh_nb and pointed at the scripted model server."""

from __future__ import annotations

import contextlib
import sys

import pytest

from support.kernel_client import kernel_client


@pytest.fixture
def start(tmp_path, model_server):
    """`start(**env)` gives a kernel in an empty home; ANTHROPIC_* point at the model server unless `offline`."""
    with contextlib.ExitStack() as stack:

        def begin(*, offline=False, python=None, load=True, **env):
            given = {} if offline else model_server.env()
            home = tmp_path / "home"
            kernel = stack.enter_context(kernel_client(home, python or sys.executable, env={**given, **env}))
            if load:
                loaded = kernel.run("%load_ext cosh_nb")
                assert (loaded.status, loaded.text) == ("ok", ""), loaded.text
            return kernel

        yield begin


@pytest.fixture
def kernel(start):
    return start()
