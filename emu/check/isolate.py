"""A target in a process of its own: a call that hangs is killed, a crash is a verdict. Not here: how a target is made (targets.py)."""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

from emu.check.model import Arrays, Target
from emu.errors import EmuError, OperandError, TargetError

START_SECONDS = 120  # to import what a target needs


class IsolatedTarget:
    """A target whose calls are made by a child process; see forked and spawned."""

    def __init__(self, context: Any, make: Callable[..., Target], arguments: tuple[Any, ...], seconds: float) -> None:
        self.seconds = seconds
        self.pipe, far = context.Pipe()
        self.process = context.Process(target=_serve, args=(far, make, arguments), daemon=True)
        self.process.start()
        far.close()
        about = self._receive(max(START_SECONDS, seconds), "starting")
        self.name: str = about["name"]
        self.op: str = about["op"]
        self.source: str | None = about["source"]
        self.result: str | None = about["result"]
        if about["wants"] is not None:
            self.wants = tuple(about["wants"])

    def __call__(self, operands: Arrays) -> Arrays:
        """Ask the child. Raises: TargetError (hangs, raises when the child died, whatever the target itself raised)."""
        try:
            self.pipe.send(dict(operands))
        except OSError:
            raise TargetError("raises", f"{self.name}: {self._end()}") from None
        answers, self.result = self._receive(self.seconds, "answering")
        found: Arrays = answers
        return found

    def _receive(self, seconds: float, doing: str) -> Any:
        name = getattr(self, "name", "the target")
        if not self.pipe.poll(seconds):
            self.close()
            raise TargetError("hangs", f"{name}: no answer within {seconds:g} s while {doing}")
        try:
            kind, found = self.pipe.recv()
        except (EOFError, OSError):
            raise TargetError("raises", f"{name}: {self._end()}") from None
        if kind == "target":
            raise TargetError(*found)
        if kind == "error":
            raise found
        return found

    def _end(self) -> str:
        """Say how the child ended."""
        self.process.join(10)
        code = self.process.exitcode
        if code is not None and code < 0:
            return f"its process died by {signal.Signals(-code).name}"
        return f"its process ended with exit code {code}"

    def close(self) -> None:
        """End the child."""
        if self.process.is_alive():
            self.process.kill()
        self.process.join()
        self.pipe.close()


def _serve(pipe: Connection, make: Callable[..., Target], arguments: tuple[Any, ...]) -> None:
    """Make the target, say what it is, then answer until the pipe closes. What a kernel prints goes to stderr: stdout is the report's."""
    faulthandler.disable()
    os.dup2(2, 1)
    try:
        target = make(*arguments)
    except EmuError as error:
        pipe.send(("target", (error.verdict, str(error))) if isinstance(error, TargetError) else ("error", error))
        return
    wants = getattr(target, "wants", None)
    pipe.send(("ok", {"name": target.name, "op": target.op, "source": target.source, "result": target.result, "wants": wants}))
    while True:
        try:
            operands = pipe.recv()
        except (EOFError, OSError):
            return
        try:
            answers = target(operands)
        except TargetError as error:
            pipe.send(("target", (error.verdict, str(error))))
        except EmuError as error:
            pipe.send(("error", error))
        else:
            pipe.send(("ok", (dict(answers), target.result)))


def _same(target: Target) -> Target:
    return target


@contextmanager
def forked(target: Target, seconds: float) -> Iterator[IsolatedTarget]:
    """Give a target of this process to a forked child; functions and closures go along. Raises: OperandError (no fork here)."""
    if "fork" not in multiprocessing.get_all_start_methods():
        raise OperandError("check: seconds= needs a system that forks: leave it out, or use the command emu check")
    yield from _used(IsolatedTarget(multiprocessing.get_context("fork"), _same, (target,), seconds))


@contextmanager
def spawned(make: Callable[..., Target], arguments: tuple[Any, ...], seconds: float) -> Iterator[IsolatedTarget]:
    """Make a target in a fresh process. make: an importable function.   Raises: as make; TargetError (the target dies or hangs)."""
    yield from _used(IsolatedTarget(multiprocessing.get_context("spawn"), make, arguments, seconds))


def _used(target: IsolatedTarget) -> Iterator[IsolatedTarget]:
    try:
        yield target
    finally:
        target.close()
