"""Tasks over the workers of a Dask cluster. A worker that is lost loses no task, nor does a scheduler that is started again.

The library is imported when a cluster is asked for. Not here: what a worker must know of the spec (emu/spec/carried.py).
"""

from __future__ import annotations

import ctypes
import logging
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from itertools import islice
from tempfile import TemporaryDirectory
from typing import Any, Final
from uuid import uuid4

from emu.base.errors import OperandError, ToolError
from emu.base.workers import Done, Result, Task

LOCAL: Final = "local:"
MOST: Final = 256  # local workers
FORM: Final = "local:N, or the address of a scheduler, such as tcp://127.0.0.1:8786"
PATIENCE: Final = 60.0  # seconds that a scheduler may be away
_AHEAD: Final = 4  # tasks that each thread of the workers has or waits for: enough to keep it at work, few enough to keep here
_PAUSE: Final = 0.5
_MALLOPT: Final = ((-3, 1 << 25), (-1, 1 << 28))  # M_MMAP_THRESHOLD and M_TRIM_THRESHOLD of malloc.h, bytes


def checked_address(text: str) -> str:
    """Return the name of a cluster. Raises: OperandError when it is none."""
    kind, _, count = text.partition(":")
    if kind == "local" and not (count.isascii() and count.isdecimal() and 1 <= int(count) <= MOST):
        raise OperandError(f"cluster {text!r}: write {FORM}; N from 1 to {MOST}")
    if kind != "local" and "://" not in text:
        raise OperandError(f"cluster {text!r}: write {FORM}")
    return text


def done_by_cluster(function: Callable[[Task], Result], tasks: Sequence[Task], address: str, patience: float = PATIENCE) -> Done[Result]:
    """Yield (index of a task, its result) as they are done.

    function, tasks, results: what pickle can carry; a function is found by its name on the worker.
    address: local:N, N workers on this machine for as long as this runs; or the address of a scheduler, whose workers must import emu.
    patience: seconds that a scheduler may be away, at first or later; what was not done is then handed in again.
    Raises: what the function raises; OperandError (no address); ToolError (no library, no scheduler, workers that die of one task).
    """
    distributed = _library()
    left = dict(enumerate(tasks))
    with _scheduler(distributed, checked_address(address)) as place:
        gone_since: float | None = None
        while left:
            try:
                with _client(distributed, place) as client:
                    for index, result in _round(distributed, client, function, left, patience):
                        gone_since = None
                        del left[index]
                        yield index, result
            except _Gone as error:
                gone_since = gone_since or time.monotonic()
                if time.monotonic() - gone_since > patience:
                    raise ToolError(f"cluster {address}: {error}: start it again and give the same command, which goes on") from None
                time.sleep(_PAUSE)


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
    with TemporaryDirectory(prefix="emu-cluster-") as folder:
        try:
            cluster = distributed.LocalCluster(
                n_workers=count, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=None, local_directory=folder
            )
        except (OSError, RuntimeError, TimeoutError) as error:
            hint = "a script of your own calls emu below `if __name__ == '__main__':`, as with multiprocessing"
            raise ToolError(f"cluster {address}: its workers do not start ({type(error).__name__}): {hint}") from None
        with cluster:
            yield cluster.scheduler_address


@contextmanager
def _client(distributed: Any, place: str) -> Iterator[Any]:
    try:
        client = distributed.Client(place, set_as_default=False, timeout="5s")
    except (OSError, TimeoutError, ValueError) as error:
        raise _Gone(f"no scheduler answers at {place} ({type(error).__name__})") from None
    try:
        yield client
    finally:
        client.close(timeout=2)


def _round(
    distributed: Any, client: Any, function: Callable[[Any], Any], left: dict[int, Any], patience: float
) -> Iterator[tuple[int, Any]]:
    """Yield what is done of the tasks that are left, until the scheduler is gone.

    A few tasks for each thread are handed in at a time: there may be more tasks than a scheduler should hold.
    """
    try:
        client.wait_for_workers(1, timeout=patience)
        threads = max(1, sum(client.nthreads().values()))
    except (OSError, TimeoutError) as error:
        raise _Gone(f"no worker ({type(error).__name__})") from None
    run = uuid4().hex
    rest = iter(list(left))
    places: dict[Any, int] = {}

    def more(count: int) -> list[Any]:
        new = {client.submit(function, left[index], key=f"emu-{run}-{index}", pure=False): index for index in islice(rest, count)}
        places.update(new)
        return list(new)

    waiting = distributed.as_completed(more(_AHEAD * threads), loop=client.loop)
    for future in waiting:
        index = places.pop(future)
        result = _result(distributed, future, client)
        waiting.update(more(1))
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
