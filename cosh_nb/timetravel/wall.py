"""The wall around a forked child: after `build`, it and its children write no file, open no socket, signal nobody else.

Landlock refuses writes and TCP, a system call filter refuses sockets of any kind and changes of modes, owners and
times; an audit hook besides says in words what Python code was refused. None of it can be taken down again.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import platform
import struct
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_NO_NEW_PRIVS, _SECCOMP, _FILTER = 38, 22, 2
_EXECUTE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 2, 1 << 3
_WRITE_FILE = 1 << 1
_MOST_NAMED = 40
"""Refused effects that are kept by name."""


@dataclass(frozen=True, slots=True)
class Wall:
    """What stands. Only where both do is nothing left to the good will of the code."""

    files: bool
    """The system refuses writes, from whatever language."""
    sockets: bool
    """The system refuses sockets of every kind, and changes of modes and times."""

    @property
    def said(self) -> str:
        """What is missing, for a card; empty where nothing is."""
        if self.files and self.sockets:
            return ""
        if self.files:
            return "This system cannot close UDP and Unix sockets, so only Python code is kept from them."
        return (
            "This system has no Landlock, so only what Python itself does is refused; C libraries are not walled in, "
            "and other programs are not started. It is not a sandbox."
        )


def build(*, writable: Sequence[str] = ("/dev/null",)) -> Wall:
    """Wall this process in. Only in a forked child."""
    if sys.platform != "linux":
        return Wall(files=False, sockets=False)
    libc = ctypes.CDLL(None, use_errno=True)
    abi = max(libc.syscall(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(1)), 0)
    try:
        _prctl(libc, _NO_NEW_PRIVS, 1)
        if abi:
            _landlock(libc, abi, writable)
        filtered = _filter_calls(libc, signals=abi < 6, truncation=abi < 3)
    except OSError:
        return Wall(files=False, sockets=False)
    return Wall(files=abi > 0, sockets=filtered)


class Refusals:
    """An audit hook that refuses effects of Python code and keeps what they were."""

    def __init__(self, *, programs: bool) -> None:
        self.named: list[str] = []
        self.more = 0
        self._programs = programs
        """Whether other programs may start: the system walls them in too."""
        self._busy = False

    def hook(self, event: str, args: tuple[Any, ...]) -> None:
        """For `sys.addaudithook`."""
        effect = _EFFECTS.get(event)
        if effect is None or self._busy:
            return
        self._busy = True
        try:
            said = effect(args)
            if said is None or (self._programs and event in _PROGRAMS):
                return
            self.note(said)
        finally:
            self._busy = False
        raise PermissionError(errno.EACCES, f"Refused in a preview: it would {said}")

    def note(self, said: str) -> None:
        """One more refused effect."""
        if said in self.named:
            return
        if len(self.named) < _MOST_NAMED:
            self.named.append(said)
        else:
            self.more += 1


def shared_mappings() -> list[str]:
    """Memory that this process shares with others and may write: a forked child would write it for all."""
    found = []
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:  # noqa: PTH123  (not a file of a person)
            for line in maps:
                parts = line.split(None, 5)
                if len(parts) > 1 and parts[1].startswith("rw") and parts[1][3] == "s":
                    found.append(parts[5].strip() if len(parts) > 5 else "memory without a name")
    except OSError:
        return []
    return list(dict.fromkeys(found))


# -- Landlock -----------------------------------------------------------------------------------------------------


def _landlock(libc: Any, abi: int, writable: Sequence[str]) -> None:
    rights = (1 << (13 if abi < 2 else 14 if abi < 3 else 15)) - 1
    rights &= ~(_EXECUTE | _READ_FILE | _READ_DIR)
    size = 8 if abi < 4 else 16 if abi < 6 else 24
    # Rights over files, over TCP (bind, connect), and scopes (abstract Unix sockets, signals).
    ruleset = struct.pack("<QQQ", rights, 3, 3)[:size]
    handle = libc.syscall(_CREATE, ruleset, ctypes.c_size_t(size), ctypes.c_uint32(0))
    if handle < 0:
        raise OSError(ctypes.get_errno(), "landlock_create_ruleset")
    try:
        for path in writable:
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
            try:
                rule = struct.pack("<Qi", _WRITE_FILE, place)
                if libc.syscall(_ADD, ctypes.c_int(handle), ctypes.c_int(1), rule, ctypes.c_uint32(0)):
                    raise OSError(ctypes.get_errno(), "landlock_add_rule")
            finally:
                os.close(place)
        if libc.syscall(_RESTRICT, ctypes.c_int(handle), ctypes.c_uint32(0)):
            raise OSError(ctypes.get_errno(), "landlock_restrict_self")
    finally:
        os.close(handle)


# -- system calls ---------------------------------------------------------------------------------------------------

# socket, modes, owners, times and attributes of files (Landlock leaves them free), ptrace and process_vm_writev,
# io_uring, System V and POSIX shared memory and queues, mount, unshare, pidfd_getfd, pidfd_send_signal, keys, perf,
# bpf, userfaultfd, open_by_handle_at, signals with data, setpriority.
_DENIED = {
    "x86_64": (
        41, 90, 91, 92, 93, 94, 260, 268, 452, 132, 235, 261, 280, 188, 189, 190, 197, 198, 199, 463, 466, 101, 311,
        425, 29, 30, 240, 165, 272, 438, 424, 248, 250, 298, 321, 323, 304, 129, 297, 141,
    ),
    "aarch64": (
        198, 52, 53, 54, 55, 452, 88, 5, 6, 7, 14, 15, 16, 463, 466, 117, 271, 425, 194, 196, 180, 40, 97, 438, 424,
        217, 219, 241, 280, 282, 265, 138, 240, 140,
    ),
}  # fmt: skip
_SIGNALS = {"x86_64": (62, 200, 234), "aarch64": (129, 130, 131)}
_TRUNCATE = {"x86_64": (76,), "aarch64": (45,)}
# setsid and setpgid say that they worked and do nothing: so the whole family can be ended by its one group.
_FEIGNED = {"x86_64": (112, 109), "aarch64": (157, 154)}
_PRLIMIT = {"x86_64": 302, "aarch64": 261}
_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_LOAD, _JEQ, _JGE, _RET = 0x20, 0x15, 0x35, 0x06
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000


def _filter_calls(libc: Any, *, signals: bool, truncation: bool) -> bool:
    machine = platform.machine()
    if machine not in _ARCH:
        return False
    denied = _DENIED[machine] + (_SIGNALS[machine] if signals else ()) + (_TRUNCATE[machine] if truncation else ())
    no, feigned = _ERRNO | errno.EACCES, _ERRNO
    steps = [
        (_LOAD, 0, 0, 4), (_JEQ, 1, 0, _ARCH[machine]), (_RET, 0, 0, no),
        (_LOAD, 0, 0, 0), (_JGE, 0, 1, 0x40000000), (_RET, 0, 0, no),
    ]  # fmt: skip
    for number in denied:
        steps += [(_JEQ, 0, 1, number), (_RET, 0, 0, no)]
    for number in _FEIGNED[machine]:
        steps += [(_JEQ, 0, 1, number), (_RET, 0, 0, feigned)]
    # The limits of another process: refused; its own: allowed.
    steps += [(_JEQ, 0, 3, _PRLIMIT[machine]), (_LOAD, 0, 0, 16), (_JEQ, 1, 0, 0), (_RET, 0, 0, no)]
    steps += [(_RET, 0, 0, _ALLOW)]
    code = b"".join(struct.pack("<HBBI", *step) for step in steps)
    held = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("<HxxxxxxQ", len(steps), ctypes.addressof(held))
    try:
        _prctl(libc, _SECCOMP, _FILTER, ctypes.c_char_p(program))
    except OSError:
        return False
    return True


def _prctl(libc: Any, what: int, first: int, second: Any = 0) -> None:
    if libc.prctl(what, ctypes.c_ulong(first), second, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


# -- what Python says of its own effects ----------------------------------------------------------------------------

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def _opens(args: tuple[Any, ...]) -> str | None:
    path, mode, flags = args
    if isinstance(path, int) or path is None:
        return None
    writes = isinstance(mode, str) and any(letter in mode for letter in "wax+")
    if not writes and not (isinstance(flags, int) and flags & _WRITING):
        return None
    name = _name(path)
    return None if name == os.devnull else f"write {name}"


def _does(verb: str) -> Callable[[tuple[Any, ...]], str | None]:
    return lambda args: f"{verb} {_name(args[0]) if args else ''}".rstrip()


def _connects(args: tuple[Any, ...]) -> str | None:
    address = args[1] if len(args) > 1 else args[0] if args else ""
    if isinstance(address, tuple) and len(address) > 1:
        address = f"{address[0]}:{address[1]}"
    return f"connect to {_name(address)}"


def _looks_up(args: tuple[Any, ...]) -> str | None:
    return f"look up {_name(args[0])}"


def _starts(args: tuple[Any, ...]) -> str | None:
    return f"start {_name(args[0])}"


def _name(value: Any) -> str:
    """A name as text. Only exact built-in types: nothing of a person's is called from here."""
    if type(value) is bytes:
        value = os.fsdecode(value)
    if type(value) is str:
        return value if len(value) <= 200 else f"{value[:200]}..."
    if type(value) is int:
        return str(value)
    with contextlib.suppress(Exception):
        if isinstance(value, os.PathLike):
            return os.fsdecode(os.fspath(value))[:200]
    return f"a {type(value).__name__}"


_PROGRAMS = frozenset(
    {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty", "pty.spawn"}
)
_EFFECTS: dict[str, Callable[[tuple[Any, ...]], str | None]] = {
    "open": _opens,
    **{f"os.{name}": _does(verb) for name, verb in {
        "remove": "delete", "rename": "rename", "mkdir": "make the folder", "rmdir": "delete the folder",
        "link": "link", "symlink": "link", "truncate": "cut", "chmod": "change the mode of",
        "chown": "change the owner of", "utime": "change the times of", "setxattr": "change attributes of",
        "removexattr": "change attributes of", "kill": "signal process", "killpg": "signal process group",
    }.items()},
    "shutil.rmtree": _does("delete the folder"),
    "socket.connect": _connects, "socket.bind": _connects, "socket.sendto": _connects, "socket.sendmsg": _connects,
    "socket.getaddrinfo": _looks_up, "socket.gethostbyname": _looks_up, "socket.gethostbyaddr": _looks_up,
    **dict.fromkeys(_PROGRAMS, _starts),
}  # fmt: skip
