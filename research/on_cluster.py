"""Tasks of research for workers of a cluster: on machines that give the same bits, with files of their own.

A worker shares no disk: it gets the files that a task reads, in a folder that lives as long as the task, and hands back those it made.
It must be able to import research: start it in a clone, with the settings that research/pinned.py makes (workers of local:N have both).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from emu.base.atomic import whole_file
from emu.base.errors import ToolError
from emu.spec.carried import InOrder
from research.pinned import PINNED, single

Files = dict[str, bytes]  # path below the folder of runs -> content


class Work(NamedTuple):
    """Files to make. name: of the work.   function: of a module, of a folder and arguments.   reads: what it reads there."""

    name: str
    function: Callable[..., Any]
    reads: Iterable[Path]
    arguments: tuple[Any, ...]


class Task(NamedTuple):
    """function: of a module, of its arguments.   machine: what pinned.single says where the command runs."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    machine: dict[str, str]


def make(each: InOrder, out: Path, works: Iterable[Work], machine: dict[str, str]) -> Iterator[str]:
    """Let workers make files in a folder, and yield the name of each work when what it made is there. machine: as Task."""
    names: deque[str] = deque()  # of those that are under way

    def tasks() -> Iterator[Task]:
        for work in works:
            names.append(work.name)
            files = {path.relative_to(out).as_posix(): path.read_bytes() for path in work.reads if path.is_file()}
            yield Task(with_files, (work.function, files, *work.arguments), machine)

    for made in each(run, tasks()):
        write(out, made)
        yield names.popleft()


def with_files(function: Callable[..., Any], files: Files, *arguments: Any) -> Files:
    """Run a function of a folder and its arguments in a folder with these files, and return the files that are new there."""
    with TemporaryDirectory(prefix="emu-runs-") as name:
        folder = Path(name)
        write(folder, files)
        function(folder, *arguments)
        return {path: data for path, data in read(folder).items() if path not in files}


def run(task: Task) -> Any:
    """Run a task on a worker. Raises: ToolError (the worker would give other bits), what the function raises."""
    here = single()
    if here != task.machine:
        settings = " ".join(f"{name}={value}" for some in PINNED.values() for name, value in some.items())
        raise ToolError(
            f"cluster: a worker has {here}, the command {task.machine}: the same torch and processor, workers started with {settings}"
        )
    return task.function(*task.arguments)


def read(folder: Path) -> Files:
    """Return the files of a folder."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def write(folder: Path, files: Files) -> None:
    """Write files into a folder, each whole or not at all."""
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path, force=True) as file:
            file.write(data)
