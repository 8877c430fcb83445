"""A client of a real kernel that speaks the protocol itself, as a front end without a browser would.

It runs cells, answers prompts, draws widgets in its own way (it counts views and sends clicks) and presses Stop.
"""

from __future__ import annotations

import contextlib
import queue
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from jupyter_client import BlockingKernelClient, KernelManager
from jupyter_client.kernelspec import KernelSpec

from support.lab import environment

T = TypeVar("T")
Message = Mapping[str, Any]


@dataclass
class Ran:
    """What became of one execution."""

    msg_id: str
    outputs: list[dict[str, Any]] = field(default_factory=list)
    """nbformat outputs; updates by display id are applied, as a front end does."""
    display_ids: dict[str, list[int]] = field(default_factory=dict)
    reply: Message | None = None
    idle: bool = False

    @property
    def done(self) -> bool:
        """Whether reply and idle status came."""
        return self.reply is not None and self.idle

    @property
    def status(self) -> str:
        """One of "ok", "error", "aborted", "running"."""
        return str(self.reply["content"]["status"]) if self.reply else "running"

    @property
    def error(self) -> str:
        """The error as "Name: value"."""
        content = self.reply["content"] if self.reply else {}
        return f"{content['ename']}: {content['evalue']}" if "ename" in content else ""

    @property
    def text(self) -> str:
        """Streams, plain text of rich outputs, errors, in order."""
        return "\n".join(filter(None, (_plain(output).rstrip("\n") for output in self.outputs)))

    @property
    def html(self) -> str:
        """All text/html."""
        return "\n".join(str(output.get("data", {}).get("text/html", "")) for output in self.outputs)


class KernelClient:
    """One kernel and one client. `draws` says whether it draws widgets; `answer` is what it types at a prompt."""

    def __init__(
        self,
        home: Path,
        python: Path | str = sys.executable,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> None:
        for name in ("data", "config", "runtime", "user", "root"):
            (home / name).mkdir(parents=True, exist_ok=True)
        argv = [str(python), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        self.manager = KernelManager(connection_file=str(home / "runtime" / "kernel.json"))
        self.manager._kernel_spec = KernelSpec(argv=argv, display_name="test", language="python")
        tests = str(Path(__file__).parents[1])
        self.cwd = cwd or home / "root"
        self.manager.start_kernel(
            env={**environment(home), "PYTHONPATH": tests, **(env or {})}, cwd=str(self.cwd), independent=False
        )
        self.client: BlockingKernelClient = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)
        self.ran: dict[str, Ran] = {}
        self.models: dict[str, dict[str, Any]] = {}
        """Open comms: id -> state, for widgets; {} for others."""
        self.draws = True
        self.answer: Callable[[str], str | None] = lambda _prompt: None
        self.prompts: list[str] = []
        self.replies: list[Message] = []
        """Replies to requests other than cells."""
        self.statuses: list[tuple[str, str]] = []
        """(state, type of the request it belongs to)."""

    # -- acting ------------------------------------------------------------------------------------------------

    def start(self, code: str, *, allow_stdin: bool = True, **options: Any) -> Ran:
        """Send a cell."""
        msg_id = self.client.execute(code, allow_stdin=allow_stdin, **options)
        self.ran[msg_id] = Ran(msg_id)
        return self.ran[msg_id]

    def run(self, code: str, timeout: float = 30, **options: Any) -> Ran:
        """Run a cell to its end."""
        ran = self.start(code, **options)
        self.wait(lambda: ran.done, timeout, f"the end of {code[:60]!r}; it has shown {ran.text[-500:]!r}")
        return ran

    def finish(self, ran: Ran, timeout: float = 30) -> Ran:
        """Wait for the end of a cell that was started."""
        self.wait(lambda: ran.done, timeout, f"the end of the cell; it has shown {ran.text[-1500:]!r}")
        return ran

    def ask(self, kind: str, content: Mapping[str, Any] | None = None) -> str:
        """Send another request on the shell channel: complete, inspect, kernel_info; its id."""
        message = self.client.session.msg(f"{kind}_request", dict(content or {}))
        self.client.shell_channel.send(message)
        return str(message["header"]["msg_id"])

    def click(self, label: str, timeout: float = 15) -> None:
        """Press the open, enabled button with this label, as soon as there is one."""
        comm_id = self.wait(lambda: self.button(label), timeout, f"a button {label!r}; there are {self.buttons()}")
        self.comm(comm_id, {"method": "custom", "content": {"event": "click"}})

    def type_into(self, placeholder: str, text: str, *, enter: bool = True) -> None:
        """Fill the text field with this placeholder and press Enter."""

        def find() -> str | None:
            return next((c for c, s in self.shown() if s.get("placeholder") == placeholder), None)

        comm_id = self.wait(find, 15, f"a field {placeholder!r}")
        self.comm(comm_id, {"method": "update", "state": {"value": text}, "buffer_paths": []})
        if enter:
            self.comm(comm_id, {"method": "custom", "content": {"event": "submit"}})

    def set_value(self, comm_id: str, value: Any) -> None:
        """Change the value of a widget."""
        self.comm(comm_id, {"method": "update", "state": {"value": value}, "buffer_paths": []})

    def comm(self, comm_id: str, data: Mapping[str, Any]) -> None:
        """Send a comm message on the shell channel."""
        message = self.client.session.msg("comm_msg", {"comm_id": comm_id, "data": dict(data)})
        self.client.shell_channel.send(message)

    def interrupt(self) -> None:
        """Press Stop."""
        self.manager.interrupt_kernel()

    def stop(self) -> None:
        """End the kernel."""
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)
        self.manager.cleanup_resources()
        self.client.context.destroy(linger=0)

    # -- seeing ------------------------------------------------------------------------------------------------

    def shown(self) -> list[tuple[str, dict[str, Any]]]:
        """The widgets that stand in some output now: those reachable from a displayed one."""
        found: list[str] = []
        waiting = [
            output["data"][_VIEW]["model_id"]
            for ran in self.ran.values() for output in ran.outputs if _VIEW in output.get("data", {})
        ]  # fmt: skip
        while waiting:
            comm_id = waiting.pop(0)
            if comm_id in self.models and comm_id not in found:
                found.append(comm_id)
                children = self.models[comm_id].get("children", ())
                waiting += [child.removeprefix("IPY_MODEL_") for child in children]
        return [(comm_id, self.models[comm_id]) for comm_id in found]

    def button(self, label: str) -> str | None:
        """The id of the enabled button with this label."""
        wanted = [c for c, s in self.shown() if s.get("description") == label and not s.get("disabled")]
        return wanted[-1] if wanted else None

    def buttons(self) -> list[str]:
        """The labels of all enabled buttons."""
        return [
            s["description"] for _, s in self.shown() if s.get("_model_name") == "ButtonModel" and not s["disabled"]
        ]

    # -- waiting -----------------------------------------------------------------------------------------------

    def wait(self, ready: Callable[[], T], timeout: float, what: str) -> T:
        """Handle what comes in until `ready()`; fails with `what` it waited for."""
        end = time.monotonic() + timeout
        while True:
            self.pump()
            value = ready()
            if value:
                return value
            if time.monotonic() > end:
                raise AssertionError(f"After {timeout} s still no {what}")
            time.sleep(0.005)

    def pump(self) -> None:
        """Handle everything that has come in."""
        for channel, handle in (
            (self.client.iopub_channel, self._published),
            (self.client.shell_channel, self._replied),
            (self.client.stdin_channel, self._prompted),
        ):
            with contextlib.suppress(queue.Empty):
                while channel.msg_ready():
                    handle(channel.get_msg(timeout=0))

    def _published(self, message: Message) -> None:
        content, parent = message["content"], message.get("parent_header", {})
        ran = self.ran.get(parent.get("msg_id", ""))
        match message["msg_type"]:
            case "status":
                self.statuses.append((content["execution_state"], parent.get("msg_type", "")))
                if ran is not None and content["execution_state"] == "idle":
                    ran.idle = True
            case "stream" if ran is not None:
                last = ran.outputs[-1] if ran.outputs else {}
                if last.get("output_type") == "stream" and last["name"] == content["name"]:
                    last["text"] += content["text"]
                else:
                    ran.outputs.append({"output_type": "stream", **content})
            case "display_data" | "execute_result" if ran is not None:
                ran.outputs.append({"output_type": message["msg_type"], **content})
                if display_id := content.get("transient", {}).get("display_id"):
                    ran.display_ids.setdefault(display_id, []).append(len(ran.outputs) - 1)
                self._draw(content["data"])
            case "update_display_data":
                for other in self.ran.values():
                    for index in other.display_ids.get(content["transient"]["display_id"], ()):
                        other.outputs[index]["data"] = content["data"]
            case "error" if ran is not None:
                ran.outputs.append({"output_type": "error", **content})
            case "comm_open":
                self.models[content["comm_id"]] = dict(content["data"].get("state", {}))
            case "comm_msg":
                if content["data"].get("method") == "update" and content["comm_id"] in self.models:
                    self.models[content["comm_id"]].update(content["data"]["state"])
            case "comm_close":
                self.models.pop(content["comm_id"], None)

    def _draw(self, data: Message) -> None:
        """A front end that draws a widget counts its view."""
        view = data.get(_VIEW)
        state = self.models.get(view["model_id"]) if view and self.draws else None
        if state is not None and state.get("_view_count") is not None:
            count = state["_view_count"] + 1
            self.comm(view["model_id"], {"method": "update", "state": {"_view_count": count}, "buffer_paths": []})

    def _replied(self, message: Message) -> None:
        ran = self.ran.get(message.get("parent_header", {}).get("msg_id", ""))
        if ran is not None:
            ran.reply = message
        else:
            self.replies.append(message)

    def _prompted(self, message: Message) -> None:
        prompt = message["content"]["prompt"]
        self.prompts.append(prompt)
        answer = self.answer(prompt)
        if answer is not None:
            self.client.input(answer)


_VIEW = "application/vnd.jupyter.widget-view+json"


@contextlib.contextmanager
def kernel_client(home: Path, python: Path | str = sys.executable, **options: Any) -> Iterator[KernelClient]:
    """A kernel for a `with` block."""
    client = KernelClient(home, python, **options)
    try:
        yield client
    finally:
        client.stop()


def _plain(output: Mapping[str, Any]) -> str:
    match output["output_type"]:
        case "stream":
            return str(output["text"])
        case "error":
            return f"{output['ename']}: {output['evalue']}"
        case _:
            return str(output["data"].get("text/plain", ""))
