"""Every command that writes, killed (SIGKILL) at calls spread over its run: the result is whole or absent, and the same command goes on.

A child of this process runs the command, counts the calls that can touch a file (open, write, sync, name), and kills itself at the n-th.
Some 200 kills in the exhaustive run, a few in the default one.
"""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
from typing import Any

import pytest
from support.writing import COMMANDS, LONG, content, warm, write_inputs

from emu.cli.main import run

CALLS = {
    "open",
    "write",
    "writelines",
    "flush",
    "fsync",
    "link",
    "replace",
    "rename",
    "unlink",
    "mkdir",
    "close",
    "tofile",
    "symlink",
    "copyfile",
    "chmod",
}


def in_a_child(words: list[Any], die_at: int | None) -> tuple[int, int]:
    """Run a command in a forked child. Returns: its exit code (negative: a signal), and the calls counted; 0 where it was killed."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        count = 0

        def watch(_frame: object, event: str, called: Any) -> None:
            nonlocal count
            if event == "c_call" and getattr(called, "__name__", "") in CALLS and not isinstance(called.__self__, str | bytes):
                count += 1
                if count == die_at:
                    os.kill(os.getpid(), signal.SIGKILL)

        code = 99
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                sys.setprofile(watch)
                code = run([*map(str, words), "--quiet"])
                sys.setprofile(None)
            os.write(writer, str(count).encode())
        finally:
            os._exit(code)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), int(said or 0)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # of Python 3.12 on, where the runner has threads
@pytest.mark.parametrize(
    ("name", "kills"),
    [
        *((name, 3) for name in COMMANDS if name not in LONG),
        *(pytest.param(name, 4 if name in LONG else 25, marks=pytest.mark.exhaustive) for name in COMMANDS),
    ],
)
def test_a_kill_leaves_all_or_nothing(tmp_path, name, kills):
    inputs, good = tmp_path / "in", tmp_path / "good"
    inputs.mkdir()
    good.mkdir()
    write_inputs(inputs)
    warm(name, inputs)
    code, calls = in_a_child(COMMANDS[name](inputs, good / name), None)
    assert code == 0
    assert calls > kills // 8, "too few calls were seen to spread kills over"
    whole = content(good / name)
    assert whole
    killed = resumed = 0
    for number in range(kills):
        place = tmp_path / f"killed{number}"
        place.mkdir()
        code, _ = in_a_child(COMMANDS[name](inputs, place / name), 1 + number * calls // kills)
        killed += code == -signal.SIGKILL
        left = content(place / name)
        if left != whole:
            assert left is None or (place / name).is_dir(), "half a file has the name of the result"
            assert {path.name for path in place.iterdir() if not path.name.startswith(".")} <= {name}
            assert in_a_child(COMMANDS[name](inputs, place / name), None)[0] == 0, "the same command does not go on"
            resumed += 1
        assert content(place / name) == whole
    assert killed >= kills - 1
    assert resumed
    print(f"{name}: {calls} calls, {killed} kills, {resumed} times the command was given again")
