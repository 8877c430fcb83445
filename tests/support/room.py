"""A kernel with cosh_nb and its scripted model: turns of a few calls each, without cards."""

from __future__ import annotations

from support.modelserver import call


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
