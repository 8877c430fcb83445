"""Kernels of both kinds, with the probe loaded."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.kernel_client import KernelClient, kernel_client


@pytest.fixture(scope="module", params=["ipykernel6", "ipykernel7"])
def shared_kernel(request, tmp_path_factory, kernel_envs) -> Iterator[KernelClient]:
    """One kernel of each kind for all tests of a module."""
    home = tmp_path_factory.mktemp("kernel")
    with kernel_client(home, kernel_envs[request.param], env={"COSH_TEST_HOME": str(home)}) as client:
        loaded = client.run("%load_ext support.probe")
        assert loaded.status == "ok", loaded.text
        yield client


@pytest.fixture
def kernel(shared_kernel) -> Iterator[KernelClient]:
    """The module's kernel, with an empty log; no test leaves a widget behind."""
    shared_kernel.draws = True
    shared_kernel.answer = lambda _prompt: None
    shared_kernel.prompts.clear()
    shared_kernel.run("probe_log = []; probe_live = []")
    yield shared_kernel
    shared_kernel.wait(lambda: not shared_kernel.models, 5, f"end of the widgets {shared_kernel.models}")
