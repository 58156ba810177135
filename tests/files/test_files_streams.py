"""Commands whose stdin, stdout or stderr is closed, full, or read by nobody, and commands interrupted while they import: real processes.

A result is whole or absent, holds nothing of what was printed, and the exit code is a verdict only where the verdict could be read.
"""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.writing import COMMANDS, content, write_inputs

from emu.cli.main import run

START = "from emu.cli.start import main; main()"
# Whatever prints behind Python's back while a file is open: a C library, a program that emu starts, in any stream.
LOUD = """
import os, subprocess, sys
real = os.fsync
def loud(handle):
    for number in (0, 1, 2):
        try:
            os.write(number, b"LOUD")
        except OSError:
            pass
    subprocess.run([sys.executable, "-S", "-c", "import os; os.write(1, b'CHILD'); os.write(2, b'CHILD')"], check=True)
    return real(handle)
os.fsync = loud
"""
# An interrupt or a termination at the n-th import; how many there were is printed where none came.
IMPORTS = """
import os, signal, sys
import emu.cli.start
count = 0
def seen(event, _):
    global count
    if event == "import":
        count += 1
        if count == {stop}:
            os.kill(os.getpid(), {number})
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.addaudithook(seen)
"""


def begin(words: list[Any], before: str = "", **streams: Any) -> subprocess.Popen[bytes]:
    """Start a command in a process of its own, after some lines of Python."""
    code = f"import sys\n{before}\nsys.argv = {['emu', *map(str, words)]!r}\n{START}\n"
    plain = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}  # else stderr keeps nothing back
    given = {"stdin": subprocess.DEVNULL, "stderr": subprocess.PIPE, "env": plain, **streams}
    return subprocess.Popen([sys.executable, "-P", "-c", code], **given)


def ended(process: subprocess.Popen[bytes]) -> tuple[int, str]:
    """Wait for a process. Returns: its exit code, what it said on stderr."""
    _, said = process.communicate(timeout=120)
    return process.returncode, (said or b"").decode()


def closing(numbers: tuple[int, ...]) -> Any:
    """Return what a child does before its program starts: it closes these streams."""

    def close() -> None:
        for number in numbers:
            os.close(number)

    return close


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    """A folder with what the commands read."""
    folder = tmp_path / "in"
    folder.mkdir()
    write_inputs(folder)
    return folder


SUBSETS = [numbers for count in (1, 2, 3) for numbers in itertools.combinations((0, 1, 2), count)]


@pytest.mark.parametrize("closed", [pytest.param(c, marks=[] if c == (0, 2) else pytest.mark.exhaustive) for c in SUBSETS])
@pytest.mark.parametrize("name", ["codes.npy"])
def test_nothing_that_is_printed_gets_into_a_result(tmp_path, inputs, name, closed):
    words = COMMANDS[name](inputs, tmp_path / name)
    assert ended(begin(words, LOUD, stdout=subprocess.DEVNULL, preexec_fn=closing(closed)))[0] == 0
    assert run([*map(str, COMMANDS[name](inputs, tmp_path / "good.npy")), "--quiet"]) == 0
    assert content(tmp_path / name) == content(tmp_path / "good.npy")


@pytest.mark.cases(0, 1)
@pytest.mark.parametrize("closed", SUBSETS)
def test_the_exit_code_is_the_verdict_whatever_is_closed(tmp_path, closed):
    spoilt = tmp_path / "bad.npy"
    spoilt.write_bytes(b"no array")
    cases: list[tuple[int, list[Any]]] = [
        (0, ["list"]),
        (0, ["show", "nvfp4_te"]),
        (2, ["convert", "e2m1", spoilt, "--out", tmp_path / "out.npy"]),
        (2, ["show", "nothing_of_this_name"]),
        (2, ["no-such-command"]),
    ]
    for code, words in cases:
        got, said = ended(begin(words, stdout=subprocess.DEVNULL, preexec_fn=closing(closed)))
        assert got == code, (words, said)
        assert said.count("\n") == (code == 2 and 2 not in closed), said
        assert "Traceback" not in said
    print(f"closed {closed}: {len(cases)} commands")


@pytest.mark.cases(0, 2)
@pytest.mark.parametrize("name", ["q.safetensors", "codes.npy", "objects.desc", "probe", "vectors", "plot.svg", "store"])  # each writer
def test_streams_that_take_nothing(tmp_path, inputs, name):
    """A full disk behind stdout or stderr, and readers that went away."""
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    (tmp_path / "good").mkdir()
    assert run([*map(str, COMMANDS[name](inputs, tmp_path / "good" / name)), "--quiet"]) == 0
    whole, felt = content(tmp_path / "good" / name), 0
    for number, (stream, kind) in enumerate(itertools.product(("stdout", "stderr"), ("full", "gone"))):
        there = tmp_path / f"case{number}"
        there.mkdir()
        if kind == "full":
            handle = os.open("/dev/full", os.O_WRONLY)
        else:
            reader, handle = os.pipe()
            os.close(reader)
        others = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
        code, said = ended(begin(COMMANDS[name](inputs, there / name), **{**others, stream: handle}))
        os.close(handle)
        felt += code != 0
        assert code in {0, 2 if kind == "full" else 141}, (stream, kind, code, said)
        assert sum(line.startswith("emu: ") for line in said.splitlines()) == (code == 2 and stream == "stdout"), said
        assert "Traceback" not in said and "Exception ignored" not in said, said
        assert content(there / name) in ((whole,) if code == 0 else (whole, None))
        assert {path.name for path in there.iterdir()} <= {name}
    assert felt
    print(f"{name}: streams that take nothing: 4 cases, {felt} of them felt it")


@pytest.mark.cases(0, 1)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("name", ["q.safetensors", "vectors", "plot.svg"])
def test_a_signal_while_modules_are_imported(tmp_path, inputs, name, number):
    words = [*COMMANDS[name](inputs, tmp_path / name), "--quiet"]
    (tmp_path / "good").mkdir()
    counted = IMPORTS.format(stop=0, number=0) + "import atexit; atexit.register(lambda: print(count))"
    process = begin(COMMANDS[name](inputs, tmp_path / "good" / name), counted, stdout=subprocess.PIPE)
    printed, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    count, cases = int(printed.split()[-1]), 8
    for case in range(cases):
        code, said = ended(begin(words, IMPORTS.format(stop=1 + case * count // cases, number=int(number)), stdout=subprocess.DEVNULL))
        if number == signal.SIGINT:
            assert (code, said.lstrip("\n")) == (130, "emu: interrupted: no file is half-written\n"), case
        else:
            assert code in (-number, 128 + number), (case, said)
            assert said == ""
        if name != "vectors":  # a build goes on with what is there
            assert content(tmp_path / name) is None
    print(f"{name}: signals while importing: {cases} cases, of {count} imports")
