"""Every command that writes, under faults of the system: each run is whole or one line and exit code 2, with nothing half-written.

A full disk, a limit on the size of files, a folder that may not be written, signals, two writers at once, clocks that jump. A child of this
process runs the command. Closed streams and readers that go away are in test_files_streams.py; a process killed, in test_files_killed.py.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.writing import COMMANDS, SLOW, Ended, child, content, warm, write_inputs

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # of Python 3.12 on, where the runner has threads
NAMING = frozenset({"mkdir", "link", "replace", "rename", "unlink", "rmdir"})
RESUMED = {"vectors"}  # a folder that an interrupted build may leave, and that the same command goes on with


class Place:
    """The inputs, the result of an undisturbed run, and folders to write in."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name, self.cases, self.faults = folder, name, 0, 0
        self.inputs = folder / "in"
        for part in ("in", "good", "good2", "tmp"):
            (folder / part).mkdir()
        write_inputs(self.inputs)
        self.given = content(self.inputs)
        warm(name, self.inputs)
        ended = self.run(folder / "good")
        assert ended.code == 0, ended.said
        self.calls, self.whole = ended.calls, content(folder / "good" / name)
        assert self.whole

    def run(self, there: Path, **options: Any) -> Ended:
        """Run the command into a folder, with the temporary files of this place."""
        return child(COMMANDS[self.name](self.inputs, there / self.name), **options)

    def judge(self, ended: Ended, there: Path, codes: set[int]) -> None:
        """Demand what must hold after a fault: the result whole and 0, or one line, a code of these, and nothing."""
        self.cases += 1
        result = content(there / self.name)
        if ended.code == 0:
            assert result == self.whole
        else:
            self.faults += 1
            assert ended.code in codes, ended
            said = ended.said.removeprefix("\n") if ended.code == 130 else ended.said  # click ends the line of a terminal's ^C
            assert said.startswith("emu: ") or ended.code == 143, ended
            assert said.count("\n") == (ended.code != 143), ended
            assert "Traceback" not in ended.said and "please report" not in ended.said, ended
            if not (self.name in RESUMED and result is not None):
                assert result is None or result == self.whole, "a part was written"
        assert {path.name for path in there.iterdir()} <= {self.name}, "temporary files were left"
        assert list((self.folder / "tmp").iterdir()) == [], "temporary files were left in TMPDIR"
        assert content(self.inputs) == self.given, "the input was changed"

    def new(self) -> Path:
        """Return a new folder to write in."""
        folder = self.folder / f"case{self.cases}"
        folder.mkdir()
        return folder

    def said(self, what: str, felt: bool = True) -> None:
        """Print how many cases ran. felt: demand that the fault was felt."""
        print(f"{self.name}: {what}: {self.cases} cases, {self.faults} of them felt it")
        assert self.faults or not felt, "no run felt the fault"


@pytest.fixture
def place(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> Place:
    """The place of the command that the test is about."""
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return Place(tmp_path, name)


QUICK = ("q.safetensors", "codes.npy")
ASKED = [name for number, name in enumerate(COMMANDS) if name in QUICK or number % 2 or os.environ.get("EMU_ALL")]
every = pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.exhaustive) for name in ASKED])
some = pytest.mark.parametrize("name", [pytest.param(name, marks=[] if name in QUICK else pytest.mark.exhaustive) for name in ASKED])


@some
def test_a_limit_on_the_size_of_files(place):
    largest = max(map(len, place.whole.values()))
    for size in (0, 1, largest // 2, largest - 1):
        there = place.new()
        place.judge(place.run(there, before=lambda size=size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))), there, {2})
    place.said("limits")


@contextlib.contextmanager
def disk(folder: Path, options: str) -> Iterator[Path]:
    """Mount a small file system in memory. Skips where that is not allowed."""
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", str(folder)], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"no file system may be mounted here: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@every
def test_a_full_disk(place):
    total = sum(map(len, place.whole.values()))
    for options in ("size=4k", f"size={total // 2 // 4096 * 4 or 4}k", "nr_inodes=1", "nr_inodes=2"):
        with disk(place.folder / f"disk{place.cases}", options) as there:
            place.judge(place.run(there), there, {2})
    place.said("full disks")


def heed_modes() -> None:
    """Let the modes of files hold for this process as for any user, also where it is root: Linux has a capability that overrides them."""
    if sys.platform == "linux":
        library, header, sets = ctypes.CDLL(None), (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()  # version 3; this process
        assert library.capget(header, sets) == 0
        sets[0] &= ~(1 << 1)  # CAP_DAC_OVERRIDE, of the effective ones
        assert library.capset(header, sets) == 0


@some
def test_a_folder_that_may_not_be_written(place):
    there = place.new()
    there.chmod(0o555)
    place.judge(place.run(there, before=heed_modes), there, {2})
    there.chmod(0o755)
    place.said("a read-only folder")


@pytest.mark.cases(0, 3)
@every
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_in_the_middle(place, number):
    cases = 3 if place.name in SLOW else 12
    for case in range(cases):
        there, stop = place.new(), 1 + case * place.calls // cases
        ended = place.run(there, at=lambda count, stop=stop: os.kill(os.getpid(), number) if count == stop else None)
        place.judge(ended, there, {130, 143})
        if content(there / place.name) != place.whole:
            assert place.run(there).code == 0, "the same command does not go on"
            assert content(there / place.name) == place.whole
    place.said("signals")


@pytest.mark.cases(0, 3)
@pytest.mark.parametrize("way", ["nameless", "hidden"])
@every
def test_a_signal_around_each_change_of_a_folder(place, way, monkeypatch):
    """Right before and right after each call that makes, names or removes a file; also where the system has no files without a name."""
    if way == "hidden":
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    chosen: dict[str, Any] = {"calls": NAMING | {"open"} if way == "hidden" else NAMING, "events": frozenset({"c_call", "c_return"})}
    count = place.run(place.folder / "good2", **chosen).calls
    cases = min(count, 4 if place.name in SLOW else 24)
    for case in range(cases):
        there, stop = place.new(), 1 + case * count // cases
        ended = place.run(there, at=lambda now, stop=stop: os.kill(os.getpid(), signal.SIGTERM) if now == stop else None, **chosen)
        place.judge(ended, there, {143})
    place.said("signals around names")


@pytest.mark.cases(0, 4)
@every
def test_two_writers_at_once(place):
    """One writer stops at a call while another runs from start to end: one result, whole; the late one says that it exists."""
    cases = 2 if place.name in SLOW else 8
    for case in range(cases):
        there, stop, codes = place.new(), 1 + case * place.calls // cases, []
        said = there.with_suffix(".other")

        def other(count: int, there: Path = there, stop: int = stop, said: Path = said) -> None:
            if count == stop:
                sys.setprofile(None)
                ended = place.run(there)
                said.write_text(json.dumps(ended), encoding="utf-8")

        first = place.run(there, at=other)
        second = Ended(*json.loads(said.read_text(encoding="utf-8")))
        codes = [first.code, second.code]
        assert 0 in codes and set(codes) <= {0, 2}, (first, second)
        assert content(there / place.name) == place.whole
        for ended in (first, second):
            place.judge(ended, there, {2})
    place.said("two writers")


JUMPS: dict[str, Callable[[float, int], float]] = {
    "1901": lambda _now, _n: -(2.0**31),
    "1970": lambda _now, _n: 0.0,
    "2106": lambda _now, _n: 2.0**32,
    "backwards": lambda now, n: now - 3600.0 * n,
}


def jumping(jump: Callable[[float, int], float]) -> None:
    """Let every clock of Python that tells the date jump: each reading by `jump` of the true one and the number of readings."""
    true, real_local, real_gm, count = time.time, time.localtime, time.gmtime, 0

    def now() -> float:
        nonlocal count
        count += 1
        return jump(true(), count)

    time.time = now
    time.time_ns = lambda: int(now() * 10**9)
    time.localtime = lambda seconds=None: real_local(now() if seconds is None else seconds)
    time.gmtime = lambda seconds=None: real_gm(now() if seconds is None else seconds)


@pytest.mark.cases(0, 4)
@every
def test_clocks_that_jump(place):
    """No clock is in a result: inputs of the past and the future, and clocks that jump, give the same bytes."""
    for jump in JUMPS.values():
        for file in place.inputs.iterdir():
            os.utime(file, (max(0, int(jump(time.time(), 9))),) * 2)
        there = place.new()
        ended = place.run(there, before=lambda jump=jump: jumping(jump))
        assert ended.code == 0, ended
        place.judge(ended, there, set())
    place.said("clocks", felt=False)


@pytest.mark.parametrize("name", ["codes.npy"])
def test_the_judgement_can_fail(place):
    there = place.new()
    for bad in (Ended(1, "emu: x\n", 1), Ended(2, "emu: x\nmore\n", 1), Ended(2, "Traceback\n", 1), Ended(0, "", 1)):
        with pytest.raises(AssertionError):
            place.judge(bad, there, {2})
    (there / ".codes.npy.part").write_bytes(b"")
    with pytest.raises(AssertionError, match="temporary files"):
        place.judge(Ended(2, "emu: x\n", 1), there, {2})
    (there / ".codes.npy.part").rename(there / "codes.npy")
    with pytest.raises(AssertionError, match="a part"):
        place.judge(Ended(2, "emu: x\n", 1), there, {2})
