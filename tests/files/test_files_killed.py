"""Every command that writes, killed (SIGKILL) at calls spread over its run: the result is whole or absent, and the same command goes on.

Nothing else is left then, beside the result or among temporary folders. A child of this process runs the command, counts the calls that can
touch a file (open, write, sync, name), and kills itself at the n-th. Some 400 kills with EMU_ALL=1, some 60 in the exhaustive run, a few in
the default one.
"""

from __future__ import annotations

import os
import signal
import tempfile
from pathlib import Path
from typing import Any

import pytest
from support.writing import CALLS, COMMANDS, LONG, MORE, NOT_KILLED, SLOW, WRITING, Ended, child, content, warm, write_inputs

MANY, FEW = (25, 4) if os.environ.get("EMU_ALL") else (3, 2)
TOUCHING = CALLS | {"writelines", "flush", "symlink", "copyfile"}


EVERY = COMMANDS | MORE


def in_a_child(words: list[Any], temporary: Path, die_at: int | None = None) -> Ended:
    """Run a command in a child that kills itself at a call. temporary: its folder of temporary files."""

    def before() -> None:
        tempfile.tempdir = os.environ["TMPDIR"] = str(temporary)

    return child(words, before, lambda count: os.kill(os.getpid(), signal.SIGKILL) if count == die_at else None, TOUCHING)


def test_every_command_that_writes_is_killed():
    """Or it is said why not."""
    killed = [" ".join(map(str, words(Path(), Path()))) for words in EVERY.values() if words is not MORE["merged"]]
    for name in {" ".join(name) for name, _, _ in WRITING}:
        assert any(line.startswith(f"{name} ") for line in (*killed, "vectors merge ")) != (name in NOT_KILLED), name


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # of Python 3.12 on, where the runner has threads
@pytest.mark.parametrize(
    ("name", "kills"),
    [
        *((name, 3) for name in COMMANDS if name not in SLOW),
        *((name, 2) for name in ("cover.json", "pages")),
        *(pytest.param(name, FEW if name in LONG else MANY, marks=pytest.mark.exhaustive) for name in EVERY),
    ],
)
def test_a_kill_leaves_all_or_nothing(tmp_path, name, kills):
    inputs, good = tmp_path / "in", tmp_path / "good"
    temporary = tmp_path / "tmp"
    for folder in (inputs, good, temporary):
        folder.mkdir()
    write_inputs(inputs)
    warm(name, inputs)
    code, said, calls = in_a_child(EVERY[name](inputs, good / name), temporary)
    assert code == 0, said
    assert calls > kills // 8, "too few calls were seen to spread kills over"
    whole = content(good / name)
    assert whole
    killed = resumed = 0
    for number in range(kills):
        place = tmp_path / f"killed{number}"
        place.mkdir()
        code = in_a_child(EVERY[name](inputs, place / name), temporary, 1 + number * calls // kills).code
        killed += code == -signal.SIGKILL
        left = content(place / name)
        if left != whole:
            assert left is None or (place / name).is_dir(), "half a file has the name of the result"
            assert {path.name for path in place.iterdir() if not path.name.startswith(".")} <= {name}
            again = in_a_child(EVERY[name](inputs, place / name), temporary)
            assert again.code == 0, f"the same command does not go on: {again.said}"
            resumed += 1
            assert [path.name for path in (*place.iterdir(), *temporary.iterdir())] == [name], "more than the result is left"
        assert content(place / name) == whole
    assert killed >= kills - 1
    assert resumed
    print(f"{name}: {calls} calls, {killed} kills, {resumed} times the command was given again")
