"""Tasks over the workers of a Dask cluster. A worker that is lost loses no task, nor does a scheduler that is started again.

The library is imported when a cluster is asked for. Not here: what a worker must know of the spec (emu/spec/carried.py).
"""

from __future__ import annotations

import ctypes
import logging
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any, Final
from uuid import uuid4

from emu.base.atomic import temporary_folder
from emu.base.errors import OperandError, ToolError
from emu.base.workers import Done, Result, Task

LOCAL: Final = "local:"
MOST: Final = 256  # local workers
FORM: Final = "local:N, or the address of a scheduler, such as tcp://127.0.0.1:8786"
_PLACE: Final = re.compile(r"(?:tcp|tls|ucx|wss?)://(?:[\w.-]+|\[[\da-fA-F:]+\]):(?P<port>\d{1,5})", re.ASCII)
PATIENCE: Final = 60.0  # seconds that a scheduler may be away
_AHEAD: Final = 4  # tasks that each thread of the workers has or waits for: enough to keep it at work, few enough to keep here
_PAUSE: Final = 0.5
_MALLOPT: Final = ((-3, 1 << 25), (-1, 1 << 28))  # M_MMAP_THRESHOLD and M_TRIM_THRESHOLD of malloc.h, bytes


def checked_address(text: str) -> str:
    """Return the name of a cluster. Raises: OperandError when it is none."""
    kind, _, count = text.partition(":")
    if kind == "local" and not (count.isascii() and count.isdecimal() and 1 <= int(count) <= MOST):
        raise OperandError(f"cluster {text!r}: write {FORM}; N from 1 to {MOST}")
    place = _PLACE.fullmatch(text)
    if kind != "local" and not (place and 1 <= int(place["port"]) < 1 << 16):
        raise OperandError(f"cluster {text!r}: write {FORM}")
    return text


def done_by_cluster(function: Callable[[Task], Result], tasks: Sequence[Task], address: str, patience: float = PATIENCE) -> Done[Result]:
    """Yield (index of a task, its result) as they are done.

    address: as workers_of.   The others, and what it raises: as Workers.done.
    """
    with workers_of(address, patience) as workers:
        yield from workers.done(function, tasks)


@contextmanager
def workers_of(address: str, patience: float = PATIENCE) -> Iterator[Workers]:
    """Give the workers of a cluster, for as long as the block runs.

    address: local:N, N workers on this machine until the block ends; or the address of a scheduler, whose workers must import emu.
    patience: seconds that a scheduler may be away, at first or later; what was not done is then handed in again.
    Raises: OperandError (no address), ToolError (no library, workers that do not start).
    """
    distributed = _library()
    with _scheduler(distributed, checked_address(address)) as place:
        workers = Workers(distributed, address, place, patience)
        try:
            yield workers
        finally:
            workers.leave()


class Workers:
    """The workers that a scheduler has, and the connection to it, which is made when there is something to do. Made by workers_of."""

    def __init__(self, distributed: Any, address: str, place: str, patience: float) -> None:
        self.distributed, self.address, self.place, self.patience = distributed, address, place, patience
        self._client: Any = None

    def done(self, function: Callable[[Task], Result], tasks: Iterable[Task], in_turn: bool = False) -> Done[Result]:
        """Yield (index of a task, its result) as they are done.

        function, tasks, results: what pickle can carry; a function is found by its name on the worker.
        tasks: drawn as they are handed in, a few for each thread of the workers, and held until they are done.
        in_turn: none is drawn long before an earlier one is done, for results that are large and taken in order.
        Raises: what the function raises; ToolError (no scheduler, workers that die of one task).
        """
        numbered = enumerate(tasks)
        left: dict[int, Any] = {}
        gone_since: float | None = None
        while True:
            try:
                for index, result in _round(self.distributed, self._connected(), function, left, numbered, self.patience, in_turn):
                    gone_since = None
                    yield index, result
                return
            except _Gone as error:
                self.leave()
                gone_since = gone_since or time.monotonic()
                if time.monotonic() - gone_since > self.patience:
                    raise ToolError(f"cluster {self.address}: {error}: start it again and give the same command, which goes on") from None
                time.sleep(_PAUSE)

    def _connected(self) -> Any:
        """Return a client of the scheduler. Raises: _Gone."""
        if self._client is None:
            try:
                self._client = self.distributed.Client(self.place, set_as_default=False, timeout="5s")
            except (OSError, TimeoutError, ValueError) as error:
                raise _Gone(f"no scheduler answers at {self.place} ({type(error).__name__})") from None
        return self._client

    def leave(self) -> None:
        """Close the connection, if there is one. A scheduler that is gone may not answer this either: then the client is left behind."""
        client, self._client = self._client, None
        if client is not None:
            try:
                client.close(timeout=2)
            except (OSError, AssertionError):  # the library's own, of a client that did not close in time
                client.status = "closed"  # else it would try again, and wait again, when it is collected


def keep_freed_memory() -> None:
    """Let this worker keep the memory of freed arrays for the next ones, as a process outside a cluster does.

    Dask starts workers with MALLOC_TRIM_THRESHOLD_=65536: glibc then takes every array of 128 KiB from the kernel and gives it back, and
    a sweep spends half its time on fresh pages. Where the C library has no mallopt, nothing is done.
    Tests: tests/spec/test_spec_carried.py.
    """
    if sys.platform == "linux":
        library = ctypes.CDLL(None)
        if hasattr(library, "mallopt"):
            for option, size in _MALLOPT:
                library.mallopt(option, size)


class _Gone(Exception):
    """The scheduler does not answer, or has forgotten the tasks."""


def _library() -> Any:
    try:
        import distributed
    except ImportError:
        raise ToolError("cluster: the library distributed is not installed: pip install 'fp4emu[cluster]'") from None
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what is lost is told here, or handed in again
    return distributed


@contextmanager
def _scheduler(distributed: Any, address: str) -> Iterator[str]:
    """Give the address of a scheduler; one of its own with workers is made on the loopback device, and ends with the block."""
    if not address.startswith(LOCAL):
        yield address
        return
    count = int(address.removeprefix(LOCAL))
    with temporary_folder("cluster") as folder:
        try:
            cluster = distributed.LocalCluster(
                n_workers=count,
                threads_per_worker=1,
                processes=True,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",
                local_directory=str(folder),
            )
        except (OSError, RuntimeError, TimeoutError) as error:
            hint = "a script of your own calls emu below `if __name__ == '__main__':`, as with multiprocessing"
            raise ToolError(f"cluster {address}: its workers do not start ({type(error).__name__}): {hint}") from None
        with cluster:
            yield cluster.scheduler_address


def _round(
    distributed: Any,
    client: Any,
    function: Callable[[Any], Any],
    left: dict[int, Any],
    numbered: Iterator[tuple[int, Any]],
    patience: float,
    in_turn: bool,
) -> Iterator[tuple[int, Any]]:
    """Yield what is done, until all is or the scheduler is gone.

    left: tasks that were drawn and are not done; those that are there were lost and go first.   numbered: tasks still to draw.
    A few tasks for each thread are handed in at a time: there may be more tasks than a scheduler should hold.
    """
    try:
        client.wait_for_workers(1, timeout=patience)
        threads = max(1, sum(client.nthreads().values()))
    except (OSError, TimeoutError) as error:
        raise _Gone(f"no worker ({type(error).__name__})") from None
    run, most = uuid4().hex, _AHEAD * threads
    lost = list(left)
    places: dict[Any, int] = {}
    last = max(lost, default=-1)

    def more() -> list[Any]:
        nonlocal last
        new = []
        while len(places) < most:
            if lost:
                index = lost.pop(0)
            elif in_turn and left and last + 1 - min(left) >= most:
                break
            else:
                index, task = next(numbered, (-1, None))
                if index < 0:
                    break
                left[index], last = task, index
            new.append(client.submit(function, left[index], key=f"emu-{run}-{index}", pure=False))
            places[new[-1]] = index
        return new

    waiting = distributed.as_completed(more(), loop=client.loop)
    for future in waiting:
        index = places.pop(future)
        result = _result(distributed, future, client)
        del left[index]
        waiting.update(more())
        yield index, result


def _result(distributed: Any, future: Any, client: Any) -> Any:
    """Return what a task gave. Raises: what it raised; _Gone; ToolError."""
    if future.status in ("cancelled", "lost") or client.status != "running":
        raise _Gone("the scheduler was lost")
    try:
        return future.result()
    except distributed.KilledWorker as error:
        raise ToolError(f"cluster: workers died one after the other of one task: give them more memory ({error.last_worker})") from None
    except (CancelledError, distributed.comm.CommClosedError) as error:
        raise _Gone(f"the scheduler was lost ({type(error).__name__})") from None
