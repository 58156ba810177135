"""A target in a process of its own: a call that hangs is killed, a crash is a verdict. Not here: how a target is made (targets.py).

What the child sends is data, never objects: one line of JSON, then the bytes of each array that it names. A target shares the child's
process and may write whatever it likes into the pipe; the worst that comes of it is the verdict that it answered nonsense.
"""

from __future__ import annotations

import faulthandler
import json
import math
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from threading import Timer
from typing import Any, Final, Protocol

import numpy as np

from emu.base.errors import EmuError, EngineError, FileError, OpenError, OperandError, ShapeError, SpecError, TargetError, ToolError
from emu.base.inputs import parse_json
from emu.check.model import Calls, Target
from emu.check.targets.answers import UNJUDGED, Reading
from emu.contracts.form import Arrays

START_SECONDS = 120  # to import what a target needs
WAIT_SECONDS = 10  # for a process that closed its pipe to end
MOST_BYTES = 1 << 31  # of one answer
_ERRORS: Final[dict[str, type[EmuError]]] = {
    kind.__name__: kind for kind in (EmuError, SpecError, OpenError, ShapeError, OperandError, EngineError, FileError, ToolError)
}


class Child(Protocol):
    """A process that serves a target: a forked one, or a fresh one."""

    def kill(self) -> None:
        """End it now."""

    def status(self) -> int | None:
        """Wait a little for its end; return its exit code, negative for a signal."""


class IsolatedTarget:
    """A target whose calls are made by a child process; see forked and spawned."""

    def __init__(self, pipe: Connection, child: Child, seconds: float) -> None:
        self.pipe, self.child, self.seconds = pipe, child, seconds
        about = self._receive(max(START_SECONDS, seconds), "starting", ("name", "op", "source", "result", "calls", "wants", "declared"))
        self.name: str = about["name"]
        self.op: str = about["op"]
        self.source: str | None = about["source"]
        self.result: str | None = about["result"]
        self.calls: Calls = about["calls"]
        self.declared: bool = about["declared"]
        self.reading = Reading()
        if about["wants"] is not None:
            self.wants = tuple(about["wants"])

    def __call__(self, operands: Arrays, layout: str = "") -> Arrays:
        """Ask the child. Raises: TargetError (hangs, raises when the child died, whatever the target itself raised)."""
        try:
            self.pipe.send((dict(operands), layout))
        except OSError:
            raise TargetError("raises", f"{self.name}: {self._end()}") from None
        found = self._receive(self.seconds, "answering", ("result",))
        self.result = found["result"]
        self.reading.unjudged.update(set(found.get("unjudged", ())) & set(UNJUDGED))
        answers: Arrays = found["arrays"]
        return answers

    def _receive(self, seconds: float, doing: str, keys: Sequence[str]) -> dict[str, Any]:
        """Return what the child says. keys: what that holds at least.   Raises: TargetError, or what the child raised."""
        name = getattr(self, "name", "the target")
        if not self.pipe.poll(seconds):
            self.child.kill()
            raise TargetError("hangs", f"{name}: no answer within {seconds:g} s while {doing}")
        late = Timer(seconds, self.child.kill)  # an answer may begin and never end
        late.start()
        try:
            data = self.pipe.recv_bytes(MOST_BYTES)
        except (EOFError, OSError):
            raise TargetError("raises", f"{name}: {self._end()}") from None
        finally:
            late.cancel()
        try:
            kind, found = _unpacked(data, keys)
        except (ValueError, TypeError, KeyError, AttributeError):
            self.child.kill()
            raise TargetError(
                "raises", f"{name}: what its process sent is no answer: it must write to no file that it did not open"
            ) from None
        if kind == "target":
            raise TargetError(found["verdict"], found["message"])
        if kind == "error":
            raise _ERRORS[found["error"]](found["message"])
        return found

    def _end(self) -> str:
        """Say how the child ended."""
        code = self.child.status()
        if code is not None and code < 0:
            return f"its process died by {signal.Signals(-code).name}"
        return f"its process ended with exit code {code}"


class _Forked:
    """A copy of this process."""

    def __init__(self, far: Connection, target: Target) -> None:
        context = multiprocessing.get_context("fork")
        self.process = context.Process(target=_serve, args=(far, _same, (target,)), daemon=True)
        self.process.start()

    def kill(self) -> None:
        if self.process.is_alive():
            self.process.kill()
        self.process.join()

    def status(self) -> int | None:
        self.process.join(WAIT_SECONDS)
        return self.process.exitcode


class _Fresh:
    """A new interpreter, which imports nothing of the program that started it."""

    def __init__(self, far: Connection) -> None:
        words = [sys.executable, "-P", "-c", f"from emu.check.targets.isolate import serve; serve({far.fileno()})"]
        self.process = subprocess.Popen(words, pass_fds=[far.fileno()], stdin=subprocess.DEVNULL)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def status(self) -> int | None:
        try:
            return self.process.wait(WAIT_SECONDS)
        except subprocess.TimeoutExpired:
            return None


def serve(number: int) -> None:
    """Be the child: read what to make from a file descriptor, then answer through it."""
    pipe = Connection(number)
    make, arguments = pipe.recv()
    _serve(pipe, make, arguments)


def _serve(pipe: Connection, make: Callable[..., Target], arguments: tuple[Any, ...]) -> None:
    """Make the target, say what it is, then answer until the pipe closes. What a kernel prints goes to stderr: stdout is the report's."""
    faulthandler.disable()
    os.dup2(2, 1)
    try:
        target = make(*arguments)
    except EmuError as error:
        _send_error(pipe, error)
        return
    wants = getattr(target, "wants", None)
    about = {"name": target.name, "op": target.op, "source": target.source, "result": target.result, "wants": wants}
    _send(pipe, "ok", about | {"calls": getattr(target, "calls", "pointers"), "declared": getattr(target, "declared", True)})
    while True:
        try:
            operands, layout = pipe.recv()
        except (EOFError, OSError):
            return
        try:
            answers = target(operands, layout) if layout else target(operands)  # type: ignore[call-arg]
        except EmuError as error:
            _send_error(pipe, error)
        else:
            unjudged = sorted(getattr(getattr(target, "reading", None), "unjudged", ()))
            _send(pipe, "ok", {"result": target.result, "unjudged": unjudged}, answers)


def _send(pipe: Connection, kind: str, about: Mapping[str, Any], arrays: Mapping[str, Any] | None = None) -> None:
    """Send one line of JSON, then the bytes of the arrays."""
    plain = {name: np.ascontiguousarray(array) for name, array in (arrays or {}).items()}
    shapes = {name: [array.dtype.str, list(np.shape((arrays or {})[name]))] for name, array in plain.items()}
    line = json.dumps({"kind": kind, "about": dict(about), "arrays": shapes})
    pipe.send_bytes(b"".join([line.encode("ascii"), b"\n", *(array.tobytes() for array in plain.values())]))


def _send_error(pipe: Connection, error: EmuError) -> None:
    if isinstance(error, TargetError):
        _send(pipe, "target", {"verdict": error.verdict, "message": str(error)})
    else:
        _send(pipe, "error", {"error": type(error).__name__, "message": str(error)})


def _unpacked(data: bytes, keys: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """Return what _send sent: its kind, and what it says, with the arrays. Raises: ValueError, TypeError, KeyError, AttributeError."""
    line, _, rest = data.partition(b"\n")
    head = parse_json(line)
    kind, about, arrays, place = head["kind"], dict(head["about"]), {}, 0
    for name, (dtype, shape) in head["arrays"].items():
        wanted = np.dtype(dtype)
        if wanted.kind not in "uifb" or not all(type(length) is int and length >= 0 for length in shape):
            raise ValueError(f"{name}: {dtype} {shape}")
        size = math.prod(shape) * wanted.itemsize
        if place + size > len(rest):
            raise ValueError(f"{name}: {size} bytes announced")
        arrays[name] = np.frombuffer(rest, wanted, math.prod(shape), place).reshape(shape)
        place += size
    needed = {"target": ("verdict", "message"), "error": ("error", "message"), "ok": ()}[kind]
    if place != len(rest) or not all(isinstance(about[key], str) for key in needed) or (kind == "ok" and not set(keys) <= set(about)):
        raise ValueError(f"{len(rest) - place} bytes too many")
    if kind == "error":
        _ERRORS[about["error"]]
    return kind, about | {"arrays": arrays}


def _same(target: Target) -> Target:
    return target


@contextmanager
def forked(target: Target, seconds: float) -> Iterator[IsolatedTarget]:
    """Give a target of this process to a forked child; functions and closures go along. Raises: OperandError (no fork here)."""
    if "fork" not in multiprocessing.get_all_start_methods():
        raise OperandError("check: seconds= needs a system that forks: leave it out, or use the command emu check")
    near, far = multiprocessing.Pipe()
    child = _Forked(far, target)
    far.close()
    yield from _used(near, child, seconds)


@contextmanager
def spawned(make: Callable[..., Target], arguments: tuple[Any, ...], seconds: float) -> Iterator[IsolatedTarget]:
    """Make a target in a fresh process. make: an importable function.   Raises: as make; TargetError (the target dies or hangs)."""
    near, far = multiprocessing.Pipe()
    child = _Fresh(far)
    far.close()
    try:
        near.send((make, arguments))
    except OSError:
        pass  # it died at once: reading says so
    yield from _used(near, child, seconds)


def _used(pipe: Connection, child: Child, seconds: float) -> Iterator[IsolatedTarget]:
    try:
        yield IsolatedTarget(pipe, child, seconds)
    finally:
        child.kill()
        pipe.close()
