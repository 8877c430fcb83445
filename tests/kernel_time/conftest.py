"""One kernel with cosh_nb for a module, pointed at the scripted model server; calls are allowed without a card."""

from __future__ import annotations

import sys

import pytest

from support.kernel_client import kernel_client
from support.modelserver import ModelServer, call


class Room:
    """A kernel, its model, and turns of one call each."""

    def __init__(self, kernel, server):
        self.kernel, self.server, self.cwd = kernel, server, kernel.cwd

    def turn(self, *calls, timeout=60):
        """A turn in which the model makes these calls; what the model read of each."""
        self.server.script(list(calls), "Done.")
        self.ok("%cosh --mode bypassPermissions go on", timeout)
        results = self.server.requests[-1]["messages"][-1]["content"]
        return [text_of(block) for block in results if block["type"] == "tool_result"]

    def python(self, code, **more):
        """A turn that runs code in the kernel."""
        return self.turn(call("Python", {"code": code, **more}))[0]

    def bash(self, command):
        """A turn that runs a command."""
        return self.turn(call("Bash", {"command": command}))[0]

    def ok(self, code, timeout=60):
        """Run a cell that must end well; what it shows."""
        ran = self.kernel.run(code, timeout)
        assert ran.status == "ok", ran.text
        return ran.text

    def value(self, expression):
        """An expression of plain values in the kernel."""
        return eval(self.ok(f"print(repr({expression}))"))

    def fails(self, code):
        """Run a cell that must end with an error; what it says."""
        ran = self.kernel.run(code)
        assert ran.status == "error", ran.text
        return ran.error + ran.text


def text_of(block):
    content = block["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


@pytest.fixture(scope="module")
def shared_room(tmp_path_factory):
    home = tmp_path_factory.mktemp("time")
    with ModelServer() as server, kernel_client(home, sys.executable, env=server.env()) as kernel:
        loaded = kernel.run("%load_ext cosh_nb")
        assert (loaded.status, loaded.text) == ("ok", "")
        yield Room(kernel, server)


@pytest.fixture
def room(shared_room):
    shared_room.ok("%reset -f")
    return shared_room
