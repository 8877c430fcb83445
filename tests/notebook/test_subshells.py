"""A subshell that ends with a message in it, as JupyterLab ends it after a card: nothing is said of it in a cell."""

import pytest

ENDS_WITH_A_MESSAGE = """
import asyncio, functools, gc, threading
from ipykernel.utils import _async_in_context

def subshell(work):
    loop = asyncio.new_event_loop()
    async def receive():
        asyncio.ensure_future(work())
    loop.run_until_complete(receive())
    loop.close()

class Kernel:
    async def shell_main(self):
        pass
async def mine():
    await asyncio.sleep(9)

def ends(work):
    thread = threading.Thread(target=subshell, args=(work,))
    thread.start()
    thread.join()
    gc.collect()
"""


@pytest.fixture
def kernel(kernel_envs, tmp_path):
    from support.kernel_client import kernel_client

    with kernel_client(tmp_path, kernel_envs["ipykernel7"]) as client:
        assert client.run("%load_ext support.probe").status == "ok"
        yield client


def test_a_message_that_ends_with_its_subshell_is_not_reported_in_a_cell(kernel):
    card = kernel.start("%%probe\nask git status")
    kernel.click("Run once")
    kernel.finish(card)
    kernel.run(ENDS_WITH_A_MESSAGE)

    assert kernel.run("ends(_async_in_context(functools.partial(Kernel().shell_main)))").text == ""
    assert "Task was destroyed" in kernel.run("ends(mine)").text, "a task of the person's own is still reported"
