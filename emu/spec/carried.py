"""The spec of this process on a worker of a cluster: shipped facts that must be the same there, and the files of added folders.

A worker may have another file system, another version of emu or folders of its own: then it would give other bits, so it refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from threading import RLock
from typing import Final, NamedTuple, Protocol

from emu.base.atomic import temporary_folder
from emu.base.caches import bounded
from emu.base.cluster import done_by_cluster, keep_freed_memory, workers_of
from emu.base.errors import SpecError
from emu.base.workers import Done, Result, Task, done_by_processes, in_order, in_order_by_threads
from emu.spec.models import KINDS
from emu.spec.registry import added_folders, digest, get, isolated, load_spec, names, shipped_root

Folder = tuple[tuple[str, bytes], ...]  # path in the folder, content
_KINDS_OF_FILES: Final = frozenset((".py", ".yaml", ".json", ".c", ".h", ".j2"))
_MAPPED: Final = ("_spec", "_c_ref", "_bench")  # folders of a wheel that lie elsewhere in a clone


class Carried(NamedTuple):
    """What a process must have to give the same results.

    package: sha256 of the files of emu and of the shipped spec.   facts: sha256 of the facts of all known objects.   folders: added ones.
    """

    package: str
    facts: str
    folders: tuple[Folder, ...]


def carried() -> Carried:
    """Return what this process works with."""
    return Carried(_package(), facts_of_all(), tuple(_files(Path(folder)) for folder in added_folders()))


def results(function: Callable[[Task], Result], tasks: Sequence[Task], jobs: int = 1, cluster: str | None = None) -> Done[Result]:
    """Yield (index of a task, its result) as they are done, by processes of this machine or by workers with the spec of this process.

    function: of a module, of its argument and the spec alone.   jobs: processes.   cluster: as emu.base.cluster; None: processes.
    Raises: what the function raises, and as done_by_cluster; SpecError from a worker that has another emu.
    Tests: tests/spec/test_spec_carried.py, tests/vectors/test_vectors_cluster.py.
    """
    if cluster is None:
        return done_by_processes(function, tasks, jobs)
    return done_by_cluster(partial(_with_spec, carried(), function), tasks, cluster)


class InOrder(Protocol):
    """What `workers` gives: the results of tasks, in their order, as `map` has them."""

    def __call__(self, function: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
        """Yield the result of each task."""


@contextmanager
def workers(jobs: int = 1, cluster: str | None = None) -> Iterator[InOrder]:
    """Give what maps a function over tasks, by threads of this process or by workers with its spec, for as long as the block runs.

    jobs: threads.   cluster: as emu.base.cluster; None: threads.   As many tasks are drawn, and results held, as keep the workers busy.
    The mapping raises: what the function raises, and as emu.base.cluster; SpecError from a worker that has another emu.
    Tests: tests/ops/test_api_pieces.py, tests/vectors/test_vectors_cluster.py.
    """
    if cluster is None:
        yield lambda function, tasks: in_order_by_threads(function, tasks, jobs)
        return
    mine = carried()
    with workers_of(cluster) as found:
        yield lambda function, tasks: in_order(found.done(partial(_with_spec, mine, function), tasks, in_turn=True))


def _with_spec(wanted: Carried, function: Callable[[Task], Result], task: Task) -> Result:
    """Run a task on a worker, under the spec that it brings."""
    with _worker.lock:
        if _worker.carried != wanted:
            _worker.take(wanted)
        return function(task)


class _Worker:
    """The spec that this worker has at present. One task at a time: another one may bring another spec."""

    def __init__(self) -> None:
        self.lock, self.inside = RLock(), ExitStack()
        self.carried: Carried | None = None

    def take(self, wanted: Carried) -> None:
        """Load what a process carries, in place of what was there. Raises: SpecError when it is not the same afterwards."""
        keep_freed_memory()
        self.inside.close()
        self.carried = None
        if _package() != wanted.package:
            raise SpecError("cluster: a worker has another version of emu: install the same one for all, and start the workers again")
        with ExitStack() as inside:
            inside.enter_context(isolated(shipped_root()))
            place = inside.enter_context(temporary_folder("spec"))
            for number, folder in enumerate(wanted.folders):
                for name, data in folder:
                    path = place / str(number) / name
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(data)
                load_spec(place / str(number), skip_broken=True)
            if facts_of_all() != wanted.facts:
                raise SpecError("cluster: the spec files changed since they were loaded: give the command again")
            self.inside = inside.pop_all()
        self.carried = wanted


_worker: Final = _Worker()


def facts_of_all() -> str:
    """Return one sha256 over the facts of all known objects, those of added folders too. Raises: SpecError (one does not load)."""
    found = [f"{kind} {name} {digest(get(kind, name))}" for kind in KINDS for name in names(kind)]
    return sha256("\n".join(found).encode("ascii")).hexdigest()


def _files(folder: Path) -> Folder:
    return tuple((path.relative_to(folder).as_posix(), path.read_bytes()) for path in sorted(folder.rglob("*.yaml")))


@bounded(1)
def _package() -> str:
    """Return one sha256 over all that decides a row or its text: the package and the shipped spec, wherever a wheel or a clone has it."""
    found = sha256()
    for root in (Path(str(files("emu"))), shipped_root()):
        for path in sorted(root.rglob("*")):
            mapped = path.relative_to(root).parts[0] in _MAPPED
            if path.suffix in _KINDS_OF_FILES and path.is_file() and not mapped:
                found.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return found.hexdigest()
