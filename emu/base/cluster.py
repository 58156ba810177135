"""Tasks over the workers of a Dask cluster. A worker that is lost loses no task, nor does a scheduler that is started again.

The library is imported when a cluster is asked for. Not here: what a worker must know of the spec (emu/spec/carried.py).
"""

from __future__ import annotations

import ctypes
import logging
import re
import socket
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, wait
from contextlib import contextmanager, suppress
from functools import partial
from importlib.util import find_spec
from threading import Timer
from typing import Any, Final
from uuid import uuid4

from emu.base.atomic import temporary_folder
from emu.base.errors import OperandError, ToolError
from emu.base.workers import Done, Result, Task

LOCAL: Final = "local:"
MOST: Final = 256  # local workers
FORM: Final = "local:N, or the address of a scheduler, such as tcp://127.0.0.1:8786"
_PLACE: Final = re.compile(r"(?:tcp|tls|ucx|wss?)://(?:[\w.-]+|\[[\da-fA-F:]+\]):(?P<port>\d{1,5})", re.ASCII)
PATIENCE: Final = 60.0  # seconds in which there may be no scheduler, or no worker
TLS: Final = tuple(f"DASK_DISTRIBUTED__COMM__TLS__{name}" for name in ("CA_FILE", "CLIENT__CERT", "CLIENT__KEY"))
_AHEAD: Final = 4  # tasks that each thread of the workers has or waits for: enough to keep it at work, few enough to keep here
_PAUSE: Final = 0.5  # seconds; so are these
_TOLD: Final = 2.0  # of silence, after which it is told
_ASKED: Final = 1.0  # without a result, after which the scheduler is asked whether it is there
_SILENT: Final = "no scheduler answers"
_IDLE: Final = "no worker"
_UNREAD: Final = "Error during deserialization of the task graph"  # what the library says of a scheduler that lacks a module
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


def check_reached(address: str) -> None:
    """Return when a scheduler has workers, at once for local:N: asked before anything is written. Raises: as workers_of and its reached."""
    if address.startswith(LOCAL):
        _library()
        return
    with workers_of(address) as found:
        found.reached()


@contextmanager
def workers_of(address: str, patience: float = PATIENCE) -> Iterator[Workers]:
    """Give the workers of a cluster, for as long as the block runs.

    address: local:N, N workers on this machine until the block ends; or the address of a scheduler, whose workers must import emu.
    patience: seconds in which there may be no scheduler, or no worker; what was not done is then handed in again. An address at which
    nobody can answer (a refused connection, an unknown name) ends at once, when it is asked for the first time.
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
        self._known = False  # it answered once
        self._away, self._end = 0.0, 0.0  # seconds without it since the last result, and when they are too many
        self._lacks = _SILENT

    def done(self, function: Callable[[Task], Result], tasks: Iterable[Task], in_turn: bool = False) -> Done[Result]:
        """Yield (index of a task, its result) as they are done.

        function, tasks, results: what pickle can carry; a function is found by its name on the worker.
        tasks: drawn as they are handed in, a few for each thread of the workers, and held until they are done.
        in_turn: none is drawn long before an earlier one is done, for results that are large and taken in order.
        Raises: what the function raises; ToolError (no scheduler, no worker, workers that die of one task).
        """
        numbered = enumerate(tasks)
        left: dict[int, Any] = {}
        while True:
            threads = self.reached()
            try:
                for index, result in self._round(function, left, numbered, threads, in_turn):
                    self._away = 0.0
                    yield index, result
                return
            except _Gone:
                self.leave()

    def reached(self) -> int:
        """Return how many threads the workers have, as soon as there are some. Raises: ToolError."""
        with self._waiting():
            while True:
                try:
                    if threads := self._threads():
                        return threads
                    self._lacks = _IDLE
                except _Gone:
                    self.leave()
                    self._lacks = _SILENT
                if time.monotonic() >= self._end:
                    hint = "start it again and give the same command, which goes on"
                    raise ToolError(f"cluster {self.address}: {self._lacks} for {self.patience:g} seconds: {hint}")
                time.sleep(_PAUSE)

    @contextmanager
    def _waiting(self) -> Iterator[None]:
        """Count the time in which there is nobody, and say so when it gets long."""
        begin = time.monotonic()
        self._end, self._lacks = begin + self.patience - self._away, _SILENT
        told = Timer(_TOLD, self._tell)
        told.daemon = True
        told.start()
        try:
            yield
        finally:
            told.cancel()
            if (seconds := time.monotonic() - begin) >= _TOLD:
                self._away += seconds

    def _tell(self) -> None:
        awaited = "a worker" if self._lacks == _IDLE else "the scheduler"
        with suppress(OSError, ValueError, AttributeError):  # a stderr that is closed
            sys.stderr.write(f"emu: cluster {self.address}: {self._lacks}: waiting for {awaited}, at most {self.patience:g} seconds\n")

    def _threads(self) -> int:
        """Return how many threads the workers have. Raises: _Gone, ToolError."""
        client = self._connected()
        try:
            return sum(client.sync(client.scheduler.ncores, callback_timeout=self._seconds()).values())
        except (OSError, AttributeError, RuntimeError, CancelledError):  # of a client that lost its scheduler, or was closed for that
            raise _Gone from None

    def _seconds(self) -> float:
        return max(self._end - time.monotonic(), _PAUSE)

    def _connected(self) -> Any:
        """Return a client of the scheduler. Raises: _Gone (nobody answers), ToolError (at first: nobody can)."""
        if self._client is None:
            try:
                if not self._known:
                    _knock(self.distributed, self.place, self._seconds())
                self._client = _client(self.distributed, self.place, self._seconds())
            except Exception as error:  # what is said by others than schedulers makes the library raise whatever it is
                if isinstance(error.__cause__ or error, TimeoutError) or (self._known and isinstance(error, OSError)):
                    raise _Gone from None
                raise ToolError(f"cluster {self.address}: {_refusal(error)}") from None
            self._known = True
        return self._client

    def leave(self) -> None:
        """Close the connection, if there is one. A scheduler that is gone may not answer this either: then the client is left behind."""
        client, self._client = self._client, None
        if client is not None:
            try:
                client.close(timeout=2)
            except (OSError, AssertionError):  # the library's own, of a client that did not close in time
                client.status = "closed"  # else it would try again, and wait again, when it is collected

    def _round(
        self, function: Callable[[Any], Any], left: dict[int, Any], numbered: Iterator[tuple[int, Any]], threads: int, in_turn: bool
    ) -> Iterator[tuple[int, Any]]:
        """Yield what is done, until all is or the scheduler is gone.

        left: tasks that were drawn and are not done; those that are there were lost and go first.   numbered: tasks still to draw.
        threads: of the workers.   A few tasks for each are handed in at a time: there may be more tasks than a scheduler should hold.
        """
        client, run, most = self._client, uuid4().hex, _AHEAD * threads
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
                try:
                    new.append(client.submit(function, left[index], key=f"emu-{run}-{index}", pure=False))
                except Exception:
                    if client.status == "running":
                        raise
                    raise _Gone from None  # it was closed in this moment
                places[new[-1]] = index
            return new

        waiting = self.distributed.as_completed(more(), loop=client.loop)

        def arrived(seconds: float) -> bool:
            with waiting.thread_condition:
                return bool(waiting.thread_condition.wait_for(waiting.has_ready, seconds))

        while places:
            self._until(arrived)
            future = next(waiting)
            index = places.pop(future)
            result = self._result(future)
            del left[index]
            waiting.update(more())
            yield index, result

    def _until(self, arrived: Callable[[float], bool]) -> None:
        """Return when something has arrived, within so many seconds or later. Raises: _Gone (nobody is there to send it), ToolError.

        The scheduler keeps the tasks of workers that died, and knows of which they die: others are waited for, nothing is handed in anew.
        """
        while not arrived(_ASKED):
            client, away = self._client, self._away
            with self._waiting():
                idle = not self._threads()
            if not idle:
                self._away = away  # an answer may be slow
            elif self.reached() and self._client is not client:
                raise _Gone

    def _result(self, future: Any) -> Any:
        """Return what a task gave. Raises: what it raised; _Gone; ToolError."""
        from asyncio import run_coroutine_threadsafe  # here: every command imports this file

        client = self._client
        if future.status in ("cancelled", "lost") or client.status != "running":
            raise _Gone
        coming = run_coroutine_threadsafe(client.gather(future, asynchronous=True), client.loop.asyncio_loop)
        self._until(lambda seconds: bool(wait([coming], seconds).done))
        try:
            return coming.result()
        except self.distributed.KilledWorker as error:
            why = "workers died one after the other of one task: give them more memory"
            raise ToolError(f"cluster: {why} ({error.last_worker})") from None
        except (CancelledError, self.distributed.comm.CommClosedError):
            raise _Gone from None
        except RuntimeError as error:
            if not str(error).startswith(_UNREAD):
                raise
            hint = "install the same one for all, and start it and the workers again"
            raise ToolError(f"cluster {self.address}: its scheduler has no emu, or another one: {hint}") from None


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
    """No scheduler or no worker answers, or the scheduler has forgotten the tasks."""


class _OfOthers(logging.Filter):
    """Lets through what asyncio says of others than the library."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a record is of others."""
        return not re.search(r"\b(?:distributed|tornado)\b", record.getMessage())


_OF_OTHERS: Final = _OfOthers()


def _library() -> Any:
    """Import the library, and let it say nothing by itself: what is lost is told here, or handed in again. Raises: ToolError (none)."""
    try:
        import distributed
    except ImportError:
        raise ToolError("cluster: the library distributed is not installed: pip install 'fp4emu[cluster]'") from None
    for name in ("distributed", "distributed.client", "distributed.gc", "tornado", "tornado.application"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    logging.getLogger("asyncio").addFilter(_OF_OTHERS)
    warnings.filterwarnings("ignore", module="distributed")
    return distributed


def _knock(distributed: Any, place: str, seconds: float) -> None:
    """Return when somebody listens at an address. Raises: OSError (nobody can answer), TimeoutError, ToolError (no means to ask)."""
    scheme, _, rest = place.partition("://")
    if scheme in ("tls", "wss"):
        _check_tls(distributed)
    if scheme == "ucx" and find_spec("distributed_ucxx") is None:
        raise ToolError("its protocol needs the package distributed-ucxx: install it, or start the scheduler with tcp:// or tls://")
    host, _, port = rest.rpartition(":")
    socket.create_connection((host.strip("[]"), int(port)), seconds).close()


def _check_tls(distributed: Any) -> None:
    """Raise ToolError where there is no certificate for TLS, or none that can be read."""
    why = "no certificate is named"
    try:
        if distributed.Security().get_connection_args("client")["ssl_context"] is not None:
            return
    except (OSError, ValueError, TypeError) as error:  # ssl.SSLError is an OSError
        why = f"its certificates cannot be read ({type(error).__name__}: {error})"
    raise ToolError(f"TLS: {why}: set {', '.join(TLS)} to files in PEM form, as docs/scale.md shows")


def _client(distributed: Any, place: str, seconds: float) -> Any:
    """Return a client of a scheduler. Raises: OSError (TimeoutError among them), what the library raises."""
    client = distributed.Client.__new__(distributed.Client)
    client.start = partial(client.start, callback_timeout=seconds)  # else it waits for ever for one that listens and says nothing
    try:
        client.__init__(place, set_as_default=False, timeout="10s")
    except BaseException:
        client.status = "closed"  # else it says that it did not close, when it is collected
        raise
    return client


def _refusal(error: Exception) -> str:
    """Return in words why nobody can answer, and what to do."""
    match error:
        case ToolError():
            return str(error)
        case ConnectionRefusedError():
            return "no scheduler listens there (connection refused): start one, or name the address of another"
        case socket.gaierror():
            return f"the name of its machine is not known ({error.strerror}): correct it, or write the number of the address"
        case OSError() if error.errno is not None:
            return f"cannot be reached ({error.strerror}): correct the address, or the network"
    cause = error.__cause__ or error
    said = f"{type(cause).__name__}: {cause}"
    return f"what listens there does not answer as a scheduler ({said}): name a scheduler, and use TLS (tls://) on both sides or on none"


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
                silence_logs=logging.CRITICAL + 1,
            )
        except (OSError, RuntimeError, TimeoutError) as error:
            hint = "a script of your own calls emu below `if __name__ == '__main__':`, as with multiprocessing"
            raise ToolError(f"cluster {address}: its workers do not start ({type(error).__name__}): {hint}") from None
        with cluster:
            yield cluster.scheduler_address
