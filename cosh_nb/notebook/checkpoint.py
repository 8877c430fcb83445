"""The kernel's variables before each turn's first code: a forked copy of the kernel that waits (Linux only).

The copy shares its memory with the kernel until one of them writes. Asked, it says what its variables were and sends
those that changed. Everything here but the mailbox's calls runs on the kernel's main thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import pickle
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from cosh_nb.notebook.sketch import sketch
from cosh_nb.timetravel import wall
from cosh_nb.timetravel.child import Child, ChildFailed, Pipe, fork, free_memory, rollup, unavailable
from cosh_nb.timetravel.prints import Print, held, own_names, pack, print_of, prints, unpack
from cosh_nb.timetravel.variables import Restored, VariableChange, changed, compare
from cosh_tools.results import ToolError

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from cosh_nb.notebook.mailbox import Mailbox

KEPT = 5
"""Turns whose variables are kept."""
FREE = 0.15
"""Where less of the machine's memory is free, the oldest copy goes."""
OWN = 0.25
"""A copy that holds more than this part of the kernel's memory for itself goes with the next one."""
SEALED_WITHIN = 2.0
"""Seconds within which the main thread must be free at the end of a turn."""
PATIENCE = 60.0
"""Seconds that a copy gets to answer."""

Namespace = dict[str, Any]
T = TypeVar("T")


@dataclass
class _Copy:
    """The variables before one turn, and their fingerprints after it."""

    child: Child
    kept: dict[int, Any]
    """What was there before the turn and goes by its address: functions, classes, modules, polars data."""
    frames: dict[str, Any] = field(default_factory=dict)
    """Name -> clone of polars data, which only this process can compare."""
    after: dict[str, Print] | None = None
    collecting: threading.Thread | None = None
    last: Child | None = None
    heavy: bool = False
    """Whether it holds much memory for itself."""


class Checkpoints:
    """Implements timetravel.turns.Variables over the namespace of a shell."""

    def __init__(self, shell: InteractiveShell, mailbox: Mailbox) -> None:
        self._shell, self._mailbox = shell, mailbox
        self._copies: dict[int, _Copy] = {}

    def _namespace(self) -> Namespace:
        found: Namespace = self._shell.user_ns
        return found

    def _hidden(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = getattr(self._shell, "user_ns_hidden", {})
        return found

    def unavailable(self) -> str:
        """Why variables are left alone here."""
        return unavailable()

    async def take(self, key: int, spare: int | None = None) -> str:
        """Fork a copy. Where room is made for it, `spare` stays."""
        if self.unavailable():
            return ""  # said when somebody asks for an undo
        try:
            await asyncio.wrap_future(self._mailbox.call(self._take, key, spare))
        except ChildFailed as error:
            return f"The variables of this turn were not kept: {error}"
        return ""

    async def seal(self, key: int) -> None:
        """Fork another copy that only takes the fingerprints as they are now, and ends."""
        future = self._mailbox.call(self._seal, key)
        with contextlib.suppress(ChildFailed, TimeoutError):
            # In the background a cell of the person may hold the main thread: then it is no end of the turn any more.
            await asyncio.wait_for(asyncio.wrap_future(future), SEALED_WITHIN)

    async def changes(self, key: int) -> Sequence[VariableChange]:
        """What the turn changed, with sketches."""
        return await self._asked(self._changes, key)

    async def restore(self, key: int) -> Restored:
        """Put back what the turn changed and nobody changed since."""
        return await self._asked(self._restore, key)

    def held(self, key: int) -> int | None:
        """Bytes that a copy holds for itself."""
        copy = self._copies.get(key)
        return copy.child.own_memory() if copy is not None and copy.child.alive else None

    def close(self) -> None:
        """End all copies."""
        for key in list(self._copies):
            self._drop(key)

    # -- on the main thread -------------------------------------------------------------------------------------------

    def _take(self, key: int, spare: int | None) -> None:
        self._make_room(spare)
        namespace, hidden = self._namespace(), self._hidden()
        kept: dict[int, Any] = {}
        frames = {}
        for name in own_names(namespace, hidden):
            value = namespace[name]
            if (thing := held(value)) is not None:
                kept[id(value)] = thing
                if thing is not value:
                    frames[name] = thing
        names = frozenset(kept)
        child = fork(lambda pipe: _serve(pipe, namespace, hidden, names))
        self._copies[key] = _Copy(child, kept, frames)

    def _seal(self, key: int) -> None:
        copy = self._copies.get(key)
        if copy is None:
            return
        namespace, hidden = self._namespace(), self._hidden()
        copy.last = fork(lambda pipe: _tell(pipe, namespace, hidden))
        frames = {name: print_of(namespace[name]) for name in self._changed_frames(copy, namespace)}
        keys = list(self._copies)

        def work() -> None:
            _collect(copy, frames)
            self._weigh(keys)

        copy.collecting = threading.Thread(target=work, name="cosh-fingerprints", daemon=True)
        copy.collecting.start()

    def _changes(self, key: int) -> list[VariableChange]:
        copy = self._copy(key)
        before = self._before(copy)
        namespace, hidden = self._namespace(), self._hidden()
        after = self._after(copy) or dict(prints(namespace, own_names(namespace, hidden)))
        found = changed(before, after)
        sketches = self._ask(copy, b"sketch", pickle.dumps([name for name, what in found.items() if what != "new"]))
        was = pickle.loads(sketches[0])  # noqa: S301  (from our own fork)
        return [
            VariableChange(name, what, was.get(name, ""), sketch(namespace[name]) if name in namespace else "")
            for name, what in found.items()
        ]

    def _restore(self, key: int) -> Restored:
        copy = self._copy(key)
        before, after = self._before(copy), self._after(copy)
        namespace, hidden = self._namespace(), self._hidden()
        now = dict(prints(namespace, own_names(namespace, hidden)))
        steps = compare(before, after, now)
        report = steps.report
        frames = self._changed_frames(copy, namespace)
        fetch = [*steps.fetch, *(name for name in frames if name not in steps.fetch and _fits(copy, name, now))]
        unchanged = {
            print_.address: name for name, print_ in before.items()
            if name not in fetch and name in now and now[name].same(print_) and now[name].address == print_.address
        }  # fmt: skip
        found = self._fetch(copy, fetch, unchanged, namespace, report)
        # All at once, so that a failure before this line leaves everything as it was.
        namespace.update(found)
        report.back += sorted(found)
        for name in steps.remove:
            if namespace.pop(name, None) is not None or name in now:
                report.removed.append(name)
        if after is None:
            report.unsure.setdefault("(all)", "what changed since the turn could not be told")
        return report

    def _fetch(
        self, copy: _Copy, names: list[str], unchanged: Mapping[int, str], namespace: Namespace, report: Restored
    ) -> Namespace:
        """The values as they were, in one message; where one of them cannot be packed, without it."""
        while names:
            answer = self._ask(copy, b"fetch", pickle.dumps((names, dict(unchanged))))
            if bytes(answer[0]) == b"ok":
                return unpack(answer[1:], namespace, copy.kept)
            name, why = pickle.loads(answer[1])  # noqa: S301  (from our own fork)
            report.lost[name] = why
            names = [one for one in names if one != name]
        return {}

    def _changed_frames(self, copy: _Copy, namespace: Namespace) -> list[str]:
        """Polars data that was changed in place."""
        found = []
        for name, clone in copy.frames.items():
            value: Any = namespace.get(name)
            if type(value) is type(clone) and hasattr(clone, "equals"):
                with contextlib.suppress(Exception):
                    if not clone.equals(value):
                        found.append(name)
        return found

    def _before(self, copy: _Copy) -> dict[str, Print]:
        found: dict[str, Print] = pickle.loads(self._ask(copy, b"prints")[0])  # noqa: S301  (from our own fork)
        return found

    def _after(self, copy: _Copy) -> dict[str, Print] | None:
        if copy.collecting is not None:
            copy.collecting.join(PATIENCE)
        return copy.after

    def _ask(self, copy: _Copy, *parts: bytes) -> list[bytearray]:
        try:
            copy.child.pipe.send(*parts)
            return copy.child.pipe.receive(time.monotonic() + PATIENCE)
        except (OSError, ChildFailed) as error:
            copy.child.end()
            raise ToolError(f"Variables were left alone: the copy of the kernel failed ({error}).") from None

    def _copy(self, key: int) -> _Copy:
        copy = self._copies.get(key)
        if copy is None or not copy.child.alive:
            raise ToolError("Variables were left alone: the copy of them is gone.")
        return copy

    def _make_room(self, spare: int | None) -> None:
        for key, copy in list(self._copies.items()):
            if not copy.child.alive:
                self._drop(key)
        oldest = [key for key in self._copies if key != spare]
        while oldest and len(self._copies) >= KEPT:
            self._drop(oldest.pop(0))
        if oldest and free_memory() < FREE:
            self._drop(oldest.pop(0))
        for key in oldest:
            if self._copies[key].heavy:
                self._drop(key)

    def _weigh(self, keys: list[int]) -> None:
        """A thread, because it takes milliseconds: which copies hold much for themselves."""
        most = rollup("self", "Rss") * OWN
        for key in keys:
            copy = self._copies.get(key)
            if copy is not None:
                copy.heavy = copy.child.own_memory() > most > 0

    def _drop(self, key: int) -> None:
        copy = self._copies.pop(key)
        copy.child.end()
        if copy.last is not None:
            copy.last.kill()  # the thread that reads from it sees the end, and closes the pipe

    async def _on_main(self, work: Callable[[int], T], key: int) -> T:
        return await asyncio.wrap_future(self._mailbox.call(work, key))

    async def _asked(self, work: Callable[[int], T], key: int) -> T:
        try:
            return await self._on_main(work, key)
        except ChildFailed as error:
            raise ToolError(f"Variables were left alone: {error}.") from None


# -- in the copies ------------------------------------------------------------------------------------------------


def _serve(pipe: Pipe, namespace: Namespace, hidden: Mapping[str, Any], kept: frozenset[int]) -> None:
    """The waiting copy: answers until the kernel closes the pipe."""
    wall.build()
    while True:
        try:
            what, *rest = pipe.receive()
        except ChildFailed:
            return
        match bytes(what):
            case b"prints":
                pipe.send(pickle.dumps(dict(prints(namespace, own_names(namespace, hidden)))))
            case b"sketch":
                names = pickle.loads(rest[0])  # noqa: S301  (from our own parent)
                pipe.send(pickle.dumps({name: sketch(namespace[name]) for name in names}))
            case b"fetch":
                names, unchanged = pickle.loads(rest[0])  # noqa: S301  (the same)
                pipe.send(*_packed(namespace, names, unchanged, kept))


def _packed(
    namespace: Namespace, names: list[str], unchanged: Mapping[int, str], kept: frozenset[int]
) -> list[bytes | memoryview]:
    try:
        return [b"ok", *pack(namespace, names, unchanged, kept)]
    except Exception as error:  # noqa: BLE001  (pickling runs code of the person's classes)
        guilty, why = names[0], f"{type(error).__name__}: {str(error)[:160]}"
    for name in names:
        try:
            pack(namespace, [name], unchanged, kept)
        except Exception as error:  # noqa: BLE001  (the same)
            guilty, why = name, f"{type(error).__name__}: {str(error)[:160]}"
            break
    return [b"no", pickle.dumps((guilty, why))]


def _tell(pipe: Pipe, namespace: Namespace, hidden: Mapping[str, Any]) -> None:
    """The copy at the end of a turn: its fingerprints, and out."""
    import os

    with contextlib.suppress(OSError):
        os.nice(5)
    wall.build()
    pipe.send(pickle.dumps(dict(prints(namespace, own_names(namespace, hidden)))))


def _collect(copy: _Copy, frames: dict[str, Print]) -> None:
    """A thread: wait for the fingerprints at the end of the turn."""
    last = copy.last
    if last is None:
        return
    try:
        with contextlib.suppress(ChildFailed, OSError):
            copy.after = pickle.loads(last.pipe.receive(time.monotonic() + PATIENCE)[0])  # noqa: S301  (our own fork)
            copy.after |= frames
    finally:
        last.end()


def _fits(copy: _Copy, name: str, now: Mapping[str, Print]) -> bool:
    """Whether nobody changed it since the turn ended, as far as address and shape tell."""
    return copy.after is None or name not in copy.after or copy.after[name].same(now.get(name))


__all__ = ["Checkpoints"]
