"""One mutant before the tests: a copy of the clone, the nearest test files, the first failure. Not here: which mutants there are (draw.py).

The copy holds every file that git knows and the compiled extensions; of a mutant of C it gets the extension, and its sources stay right.
Tests that build C of their own cannot see such a mutant and are left out. A mutant is `killed` by the first test that fails; the same
test must pass on the right source, else it judges nothing and the run stops. `survived`: all chosen files passed. `open`: the time was
over first. A mutant of C is `equivalent` where the compiler makes the same objects of it; else that is said by hand in the record, with
the reason as its note: no input tells the change from the right source.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from hashlib import sha256
from importlib.metadata import distributions
from multiprocessing.util import Finalize
from pathlib import Path
from threading import Lock
from typing import Final, NamedTuple

from emu.base.caches import bounded
from emu.base.errors import EngineError, FileError
from tools.blind.build import Library, folder_of
from tools.blind.draw import Mutant, changed_source
from tools.processes import output_of
from tools.quick.choose import python_sources, ranked
from tools.release.tree import digest, files_of, snapshot

KILLED, SURVIVED, OPEN, EQUAL = "killed", "survived", "open", "equivalent"
_FAILED: Final = re.compile(r"^(?:FAILED|ERROR) (?P<test>tests/\S+?)(?:\[.*)?(?: - .*)?$", re.MULTILINE)
_CRASHED: Final = re.compile(r'^  File "\S*/(?P<test>tests/\S+/test_\w+\.py)", line \d+ in (?P<name>test_\w+)$', re.MULTILINE)
_EXTENSIONS: Final = ("emu/engines/c_ref/*.so", "emu/engines/native/*.so")
_SOURCES_ALONE: Final = ("tests/frame/", "tests/mutation/", "tests/tools/", "tests/docs/")
_BUILDS: Final = re.compile(r"\b(?:built|verilated|c_reference|gcc|NamedBench)\b")
SAME_OBJECTS: Final = "the compiler makes the same objects of it"


class Verdict(NamedTuple):
    """How one mutant ended.

    killer: the first test that failed ("": none; "import": none could begin).   files: how many were chosen.   note: why it is equivalent.
    """

    outcome: str
    killer: str
    files: int
    note: str = ""


class Clone(NamedTuple):
    """Where mutants are judged. root: its folder.   record: a file there that judging writes, no part of it.   state: as state_of."""

    root: str
    record: str
    state: str


class Task(NamedTuple):
    """A mutant to judge: the outcome is a function of this alone. tests, seconds: as Bench."""

    clone: Clone
    tests: int
    seconds: float
    mutant: Mutant


def state_of(root: Path, record: str) -> str:
    """Return one sha256 of all that decides how a mutant ends: the files of the clone, Python, the machine's kind, installed packages."""
    files = {path: value for path, value in snapshot(root).items() if path != record}
    packages = sorted({f"{each.name} {each.version}" for each in distributions()})
    words = [digest(files), platform.python_version(), platform.machine(), *packages]
    return sha256("\n".join(words).encode()).hexdigest()


def judged(task: Task) -> Verdict:
    """Judge a mutant in a clone of this machine: the command's, else the one in which this worker was started. Raises: as Bench, bench."""
    with _one_at_a_time:
        return bench(task.clone, task.tests, task.seconds, os.getpid()).judged(task.mutant)


@bounded(1)
def bench(clone: Clone, tests: int, seconds: float, process: int) -> Bench:
    """Return the bench of a process, this one: a forked one may not share it. It goes when the process ends.

    Raises: FileError (no clone here has the command's state).
    """
    for root in (Path(clone.root), Path.cwd()):
        if (root / ".git").exists() and state_of(root, clone.record) == clone.state:
            place = tempfile.mkdtemp(prefix="emu-blind-")
            Finalize(None, shutil.rmtree, (place, True), exitpriority=0)
            return Bench(root, Path(place), tests, seconds)
    raise FileError(f"cluster: {Path.cwd()} of a worker has other files, packages or Python than {clone.root}: start it in an equal clone")


_one_at_a_time: Final = Lock()


class Bench:
    """A copy of a clone in which one file at a time is changed."""

    def __init__(self, root: Path, place: Path, tests: int, seconds: float) -> None:
        """root: the clone.   place: a new folder.   tests: the most test files for a mutant.   seconds: the most for a mutant."""
        self.root, self.place, self.tests, self.seconds = root.resolve(), place.resolve(), tests, seconds
        compiled = [path.relative_to(self.root).as_posix() for pattern in _EXTENSIONS for path in self.root.glob(pattern)]
        for name in [*files_of(self.root), *compiled]:
            (self.place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(self.root / name, self.place / name)
        self.sources = python_sources(self.place)
        self.sound: set[str] = set()
        self.near: dict[str, list[str]] = {}
        self.libraries: dict[str, Library] = {}

    def chosen(self, file: str) -> list[str]:
        """Return the test files that reach a source, nearest first."""
        if file not in self.near:
            tests = [test for _, test in ranked([file], self.sources)[0]]
            self.near[file] = [test for test in tests if not file.endswith(".c") or self._loads(test)]
        return self.near[file][: self.tests]

    def _loads(self, test: str) -> bool:
        """Whether a test file may look at the compiled extensions, not only at texts or at C that it builds itself."""
        return not test.startswith(_SOURCES_ALONE) and not _BUILDS.search(self.sources[test])

    def judged(self, mutant: Mutant) -> Verdict:
        """Run the tests of a mutant. Raises: EngineError (no test reaches it, or its killer fails on the right source too)."""
        path, files = self.place / mutant.file, self.chosen(mutant.file)
        if not files:
            raise EngineError(f"{mutant.file}: no test is known for it")
        source = path.read_text(encoding="utf-8")
        text = changed_source(source, mutant.operator, mutant.occurrence)
        if text is None:
            raise EngineError(f"{mutant.name}: the change cannot be made: the sources are others than those that were drawn from")
        if path.suffix == ".c":
            library = self._library(mutant.file)
            changed = library.changed(mutant.file, text.encode())
            if not changed:
                return Verdict(EQUAL, "", 0, SAME_OBJECTS)
            library.put(changed)
            restore: Callable[[], object] = partial(library.put, {})
        else:
            path.write_text(text, encoding="utf-8")
            restore = partial(path.write_text, source, encoding="utf-8")
        try:
            code, said = self.pytest(files)
        finally:
            restore()
        if code == 0:
            return Verdict(SURVIVED, "", len(files))
        if code is None:
            return Verdict(OPEN, "", len(files))
        found, crashed = _FAILED.search(said), _CRASHED.search(said)
        killer = found["test"] if found else f"{crashed['test']}::{crashed['name']}" if crashed else "import"
        self._check(files[0] if killer == "import" else killer)
        return Verdict(KILLED, killer, len(files))

    def _library(self, file: str) -> Library:
        folder = folder_of(file)
        if folder not in self.libraries:
            self.libraries[folder] = Library(self.place, self.place / "out" / "objects" / str(len(self.libraries)), folder)
        return self.libraries[folder]

    def _check(self, test: str) -> None:
        if test not in self.sound:
            code, said = self.pytest([test])
            if code:
                raise EngineError(f"{test} fails on the right source too, it can judge no mutant: {said.strip()[-300:]}")
            self.sound.add(test)

    def pytest(self, tests: Sequence[str]) -> tuple[int | None, str]:
        """Run tests in the copy up to the first failure; return pytest's exit code (None: the time was over) and what it printed."""
        command = [sys.executable, "-P", "-m", "pytest", "-x", "-q", "--tb=line", "-rfE", "--no-header", "-p", "no:cacheprovider", *tests]
        path = os.pathsep.join([str(self.place), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]).rstrip(os.pathsep)
        environment = os.environ | {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "500"}
        return output_of(command, self.place, self.seconds, environment)
