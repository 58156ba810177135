"""One mutant before its tests: a copy of the clone, the first failure. Not here: which mutants there are (draw.py), which tests (reach.py).

Each run of pytest there is a fork of one process that has imported what no mutant is in (serve.py): seconds a mutant less.
The copy holds every file that git knows and the compiled extensions; of a mutant of C it gets the extension, and its sources stay right:
tests that build C of their own do not see it.
A mutant is `killed` by the first test that fails and passes on the right source; one that fails there too judges nothing.
`survived`: all of its tests passed. `open`: they took ten times their time. A mutant of C is `equivalent` where the compiler makes the
same objects of it; else that is said by hand in the record, with the reason as its note: no input tells the change from the right source.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from hashlib import sha256
from importlib.metadata import distributions
from multiprocessing.util import Finalize
from pathlib import Path
from threading import Lock
from typing import Final, NamedTuple

from emu.base.atomic import temporary_folder
from emu.base.caches import bounded
from emu.base.errors import EngineError, FileError
from tools.blind.build import Library, folder_of
from tools.blind.draw import Mutant, changed_source
from tools.rings.tree import digest, files_of, snapshot

KILLED, SURVIVED, OPEN, EQUAL = "killed", "survived", "open", "equivalent"
_FAILED: Final = re.compile(r"^(?:FAILED|ERROR) (?P<test>tests/.*?)(?: - .*)?$", re.MULTILINE)
_CRASHED: Final = re.compile(r'^  File "\S*/(?P<test>tests/\S+/test_\w+\.py)", line \d+ in (?P<name>test_\w+)$', re.MULTILINE)
_EXTENSIONS: Final = ("emu/engines/c_ref/*.so", "emu/engines/native/*.so")
_START: Final = 60  # seconds of a run of pytest beside those of its tests
_SLOWER: Final = 10  # than the recorded run may a test be
_FIRST: Final = (20, 5.0)  # tests of the first run and their seconds: most mutants end there
NO_SUCH_TEST: Final = 4  # pytest's exit code: a change of what tests are made of has removed it
SAME_OBJECTS: Final = "the compiler makes the same objects of it"


class Verdict(NamedTuple):
    """How one mutant ended.

    killer: the first test that failed ("": none; "import": none could begin).   tests: how many it had.   note: why it is equivalent.
    """

    outcome: str
    killer: str
    tests: int
    note: str = ""


class Clone(NamedTuple):
    """Where mutants are judged. root: its folder.   record: a file there that judging writes, no part of it.   state: as state_of."""

    root: str
    record: str
    state: str


class Task(NamedTuple):
    """A mutant to judge: the outcome is a function of this alone. tests: each with its seconds, in their order."""

    clone: Clone
    tests: tuple[tuple[str, float], ...]
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
        return bench(task.clone, os.getpid()).judged(task.mutant, task.tests)


@bounded(1)
def bench(clone: Clone, process: int) -> Bench:
    """Return the bench of a process, this one: a forked one may not share it. It goes when the process ends.

    Raises: FileError (no clone here has the command's state).
    """
    for root in (Path(clone.root), Path.cwd()):
        if (root / ".git").exists() and state_of(root, clone.record) == clone.state:
            return Bench(root, new_place())
    raise FileError(f"cluster: {Path.cwd()} of a worker has other files, packages or Python than {clone.root}: start it in an equal clone")


def new_place() -> Path:
    """Return a new folder that goes when the process ends."""
    return _PLACES.enter_context(temporary_folder("blind"))


_PLACES: Final = ExitStack()  # they go when the process ends
_one_at_a_time: Final = Lock()


class Bench:
    """A copy of a clone in which one file at a time is changed."""

    def __init__(self, root: Path, place: Path) -> None:
        """root: the clone.   place: a new folder."""
        self.root, self.place = root.resolve(), place.resolve()
        compiled = [path.relative_to(self.root).as_posix() for pattern in _EXTENSIONS for path in self.root.glob(pattern)]
        for name in [*files_of(self.root), *compiled]:
            (self.place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(self.root / name, self.place / name)
        self.sound: set[str] = set()
        self.unsound: set[str] = set()
        self.libraries: dict[str, Library] = {}
        self.server: subprocess.Popen[str] | None = None

    def judged(self, mutant: Mutant, tests: Sequence[tuple[str, float]]) -> Verdict:
        """Run the tests of a mutant; without any it survives. Raises: EngineError (other sources; an unasked test fails)."""
        if not tests:
            return Verdict(SURVIVED, "", 0)
        source = (self.place / mutant.file).read_text(encoding="utf-8")
        text = changed_source(source, mutant.operator, mutant.occurrence)
        if text is None:
            raise EngineError(f"{mutant.name}: the change cannot be made: the sources are others than those that were drawn from")
        change: Callable[[], object] = partial((self.place / mutant.file).write_text, text, encoding="utf-8")
        restore: Callable[[], object] = partial((self.place / mutant.file).write_text, source, encoding="utf-8")
        if mutant.file.endswith(".c"):
            library = self._library(mutant.file)
            changed = library.changed(mutant.file, text.encode())
            if not changed:
                return Verdict(EQUAL, "", 0, SAME_OBJECTS)
            change, restore = partial(library.put, changed), partial(library.put, {})
        while left := [test for test in tests if test[0] not in self.unsound]:
            change()
            try:
                code, said = self._first_failure(left)
            finally:
                restore()
            if not code:
                return Verdict(SURVIVED if code == 0 else OPEN, "", len(tests))
            found, crashed = _FAILED.search(said), _CRASHED.search(said)
            failed = found["test"] if found else f"{crashed['test']}::{crashed['name']}" if crashed else left[0][0]
            # pytest cuts a name at " - ", names a file that it cannot read, and a mutant may have new cases
            function = failed.partition("[")[0]
            begins = [test for test, _ in left if test.startswith(failed)] or [test for test, _ in left if test.startswith(function)]
            if not begins:
                raise EngineError(f"{failed} fails, and was not asked")
            if self._is_sound(failed if failed in begins else begins[0]):
                return Verdict(KILLED, function if (found or crashed) and "::" in failed else "import", len(tests))
            self.unsound |= {failed} if failed in begins else {*begins}
        return Verdict(SURVIVED, "", len(tests))

    def _first_failure(self, tests: Sequence[tuple[str, float]]) -> tuple[int | None, str]:
        """Run tests, the first of them by themselves; return as pytest."""
        count, left = 0, _FIRST[1]
        while count < min(len(tests), _FIRST[0]) and (left > 0 or not count):
            left -= tests[count][1]
            count += 1
        code: int | None = 0
        said = ""
        for part in (tests[:count], tests[count:]):
            if part and code == 0:
                names, seconds = [test for test, _ in part], _START + _SLOWER * sum(each for _, each in part)
                code, said = self.pytest(names, seconds)
                if code == NO_SUCH_TEST:
                    code, said = self.pytest([*dict.fromkeys(name.partition("[")[0] for name in names)], seconds)
        return code, said

    def _library(self, file: str) -> Library:
        folder = folder_of(file)
        if folder not in self.libraries:
            self.libraries[folder] = Library(self.place, self.place / "out" / "objects" / str(len(self.libraries)), folder)
        return self.libraries[folder]

    def _is_sound(self, test: str) -> bool:
        """Tell whether a test passes on the right source."""
        if test not in self.sound:
            code, _ = self.pytest([test], _START * _SLOWER)
            if code:
                return False
            self.sound.add(test)
        return True

    def pytest(self, tests: Sequence[str], seconds: float) -> tuple[int | None, str]:
        """Run tests in the copy up to the first failure; return pytest's exit code (None: the time was over) and what it printed."""
        words = ["-x", "-q", "--tb=line", "-rfE", "--no-header", "-p", "no:cacheprovider", "-m", "", *tests]
        server, said = self._server(), self.place / "out" / "said.txt"
        assert server.stdin and server.stdout
        server.stdin.write(json.dumps([words, seconds, str(said)]) + "\n")
        server.stdin.flush()
        answer = server.stdout.readline()
        if not answer:
            raise EngineError("tools/blind/serve.py ended early")
        code = json.loads(answer)
        return code, "" if code is None else said.read_text(encoding="utf-8", errors="replace")

    def _server(self) -> subprocess.Popen[str]:
        if self.server is None:
            (self.place / "out").mkdir(exist_ok=True)
            path = os.pathsep.join([str(self.place), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]).rstrip(os.pathsep)
            environment = os.environ | {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "500"}
            command, pipe = [sys.executable, "-P", str(Path(__file__).with_name("serve.py"))], subprocess.PIPE
            self.server = subprocess.Popen(command, cwd=self.place, env=environment, stdin=pipe, stdout=pipe, encoding="utf-8")
            Finalize(self, _end, (self.server,), exitpriority=1)
        return self.server


def _end(process: subprocess.Popen[str]) -> None:
    with process:
        process.kill()
