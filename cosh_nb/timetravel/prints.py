"""Fingerprints of variables, and moving their values between a process and its forked copy.

Both stand on pickling, which reaches every part of a value: two values with the same stream are the same. Objects that
were there before the fork have the same address in both processes, so what need not move goes by its address.
"""

from __future__ import annotations

import hashlib
import io
import pickle
import re
import time
import types
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cosh_nb.timetravel.child import ChildFailed

_IPYTHONS = re.compile(r"_i?\d*|__|___|_i{2,3}|_ih|_oh|_dh|_exit_code|In|Out|exit|quit|get_ipython|open")
_BY_ADDRESS = (types.FunctionType, types.BuiltinFunctionType, types.ModuleType, type)
_STATEFUL = (types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType)
_PIECE = 1 << 23
_ATOMS = (int, float, complex, bool, str, bytes, type(None))


@dataclass(frozen=True, slots=True)
class Print:
    """One variable at one moment. An empty digest: it could not be looked into, and `why` says why not."""

    address: int
    digest: str
    kind: str
    why: str = ""
    """Why the value cannot be moved; empty where it can."""

    def same(self, other: Print | None) -> bool:
        """Whether nothing speaks for a change."""
        if other is None:
            return False
        if self.digest or other.digest:
            return self.digest == other.digest
        return self.address == other.address


def own_names(namespace: Mapping[str, Any], hidden: Mapping[str, Any]) -> list[str]:
    """The names that a person or an agent defined."""
    return [
        name for name, value in dict(namespace).items()
        if not _IPYTHONS.fullmatch(name) and not (name in hidden and hidden[name] is value)
    ]  # fmt: skip


def prints(namespace: Mapping[str, Any], names: Iterable[str]) -> Iterator[tuple[str, Print]]:
    """A fingerprint of each."""
    for name in names:
        if name in namespace:
            yield name, print_of(namespace[name])


def print_of(value: Any, *, deep: bool = True, until: float | None = None) -> Print:
    """The fingerprint of one value. Without `deep`, or where it is not done `until` then, by its address alone."""
    kind = type(value)
    said = kind.__name__ if kind.__module__ in ("builtins", "__main__") else f"{kind.__module__}.{kind.__qualname__}"
    if isinstance(value, _BY_ADDRESS):
        return Print(id(value), f"at {id(value)}", said)
    if isinstance(value, _STATEFUL):
        return Print(id(value), _state(value), said, f"a {kind.__name__} cannot be copied")
    if _is_polars(value):
        return Print(id(value), f"at {id(value)} {getattr(value, 'shape', '')}", said)
    late = Print(id(value), f"at {id(value)}", said, "there was no time to look into it")
    if not deep:
        return late
    hasher = _Hasher(until)
    try:
        _Printer(hasher).dump(value)
    except _TooLate:
        return late
    except RecursionError:
        return Print(id(value), "", said, "it is nested too deep")
    except Exception as error:  # noqa: BLE001  (pickling runs code of the value's class, which may raise anything)
        return Print(id(value), "", said, _sentence(error))
    return Print(id(value), hasher.hash.hexdigest(), said)


def pack(
    namespace: Mapping[str, Any], names: Iterable[str], unchanged: Mapping[int, str], kept: frozenset[int]
) -> list[bytes | memoryview]:
    """The values of `names` as one message, so that what was one object among them stays one.

    `unchanged` are addresses whose names still hold the same in the other process, `kept` those that it still holds.
    """
    buffers: list[pickle.PickleBuffer] = []
    stream = io.BytesIO()
    _Packer(stream, buffers, unchanged, kept).dump({name: namespace[name] for name in names})
    return [stream.getbuffer(), *(buffer.raw() for buffer in buffers)]


def unpack(parts: list[bytearray], namespace: Mapping[str, Any], kept: Mapping[int, Any]) -> dict[str, Any]:
    """What `pack` packed. Raises ChildFailed."""
    try:
        found = _Unpacker(io.BytesIO(parts[0]), parts[1:], namespace, kept).load()
    except Exception as error:
        raise ChildFailed(_sentence(error)) from error
    if not isinstance(found, dict):
        raise ChildFailed("the copy sent something else than variables")
    return found


class _TooLate(Exception):
    pass


class _Hasher:
    def __init__(self, until: float | None) -> None:
        self.hash = hashlib.sha256()
        self._until = until

    def write(self, data: Any) -> int:
        if self._until is None:
            self.hash.update(data)
            return len(data)
        view = memoryview(data)
        for start in range(0, len(view), _PIECE):
            if time.monotonic() > self._until:
                raise _TooLate
            self.hash.update(view[start : start + _PIECE])
        return len(data)


class _Printer(pickle.Pickler):
    def __init__(self, hasher: _Hasher) -> None:
        super().__init__(hasher, 5, buffer_callback=lambda buffer: hasher.write(buffer.raw()) < 0)

    def persistent_id(self, obj: Any) -> Any:
        """Functions, classes, modules and what no copy may look into go by their address."""
        if isinstance(obj, _BY_ADDRESS) or _is_polars(obj):
            return id(obj)
        return None


class _Packer(pickle.Pickler):
    def __init__(
        self, stream: io.BytesIO, buffers: list[pickle.PickleBuffer], unchanged: Mapping[int, str], kept: frozenset[int]
    ) -> None:
        super().__init__(stream, 5, buffer_callback=buffers.append)
        self._unchanged, self._kept = unchanged, kept

    def persistent_id(self, obj: Any) -> Any:
        """What need not move."""
        address = id(obj)
        if address in self._kept:
            return ("kept", address)
        if address in self._unchanged and not isinstance(obj, _ATOMS):
            return ("name", self._unchanged[address])
        if isinstance(obj, types.ModuleType):
            return ("module", obj.__name__)
        return None


class _Unpacker(pickle.Unpickler):
    def __init__(
        self, stream: io.BytesIO, buffers: list[bytearray], namespace: Mapping[str, Any], kept: Mapping[int, Any]
    ) -> None:
        super().__init__(stream, buffers=buffers)
        self._namespace, self._held = namespace, kept

    def persistent_load(self, pid: Any) -> Any:
        """What did not move."""
        import importlib

        match pid:
            case ("kept", int(address)):
                return self._held[address]
            case ("name", str(name)):
                return self._namespace[name]
            case ("module", str(name)):
                return importlib.import_module(name)
        raise pickle.UnpicklingError(f"unknown mark {pid!r}")


def held(value: Any) -> Any:
    """What this process keeps of a value that must not be moved by pickling; None where it need not keep anything."""
    if isinstance(value, _BY_ADDRESS):
        return value
    # A clone shares the columns; a change in place of the original leaves it as it was.
    return value.clone() if _is_polars(value) else None


def _is_polars(value: Any) -> bool:
    """Its threads do not exist in a forked copy, so only this process may look into it."""
    return type(value).__module__.partition(".")[0] == "polars" and type(value).__name__ in (
        "DataFrame", "Series", "LazyFrame",
    )  # fmt: skip


def _state(value: Any) -> str:
    frame = getattr(value, "gi_frame", None) or getattr(value, "cr_frame", None) or getattr(value, "ag_frame", None)
    if frame is None:
        return f"at {id(value)} ended"
    # Where it stands, and what its variables are: the next round of a loop stands at the same place.
    within = print_of(dict(frame.f_locals))
    return f"at {id(value)} {frame.f_lasti} {within.digest}" if within.digest else ""


def _sentence(error: BaseException) -> str:
    text = str(error) if type(error).__module__ in ("builtins", "_pickle", "pickle") else ""
    return f"{type(error).__name__}: {text[:160]}" if text else type(error).__name__
