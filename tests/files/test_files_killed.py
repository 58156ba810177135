"""Every command that writes, killed (SIGKILL) at calls spread over its run: the result is whole or absent, and the same command goes on.

A child of this process runs the command, counts the calls that can touch a file (open, write, sync, name), and kills itself at the n-th.
Some 300 kills with EMU_ALL=1, some 40 in the exhaustive run, a few in the default one.
"""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest
from support.writing import CALLS, COMMANDS, LONG, SLOW, Ended, child, content, warm, write_inputs

MANY, FEW = (25, 4) if os.environ.get("EMU_ALL") else (3, 2)
TOUCHING = CALLS | {"writelines", "flush", "symlink", "copyfile"}


def in_a_child(words: list[Any], die_at: int | None = None) -> Ended:
    """Run a command in a child that kills itself at a call."""
    return child(words, at=lambda count: os.kill(os.getpid(), signal.SIGKILL) if count == die_at else None, calls=TOUCHING)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # of Python 3.12 on, where the runner has threads
@pytest.mark.parametrize(
    ("name", "kills"),
    [
        *((name, 3) for name in COMMANDS if name not in SLOW),
        *(pytest.param(name, FEW if name in LONG else MANY, marks=pytest.mark.exhaustive) for name in COMMANDS),
    ],
)
def test_a_kill_leaves_all_or_nothing(tmp_path, name, kills):
    inputs, good = tmp_path / "in", tmp_path / "good"
    inputs.mkdir()
    good.mkdir()
    write_inputs(inputs)
    warm(name, inputs)
    code, _, calls = in_a_child(COMMANDS[name](inputs, good / name))
    assert code == 0
    assert calls > kills // 8, "too few calls were seen to spread kills over"
    whole = content(good / name)
    assert whole
    killed = resumed = 0
    for number in range(kills):
        place = tmp_path / f"killed{number}"
        place.mkdir()
        code = in_a_child(COMMANDS[name](inputs, place / name), 1 + number * calls // kills).code
        killed += code == -signal.SIGKILL
        left = content(place / name)
        if left != whole:
            assert left is None or (place / name).is_dir(), "half a file has the name of the result"
            assert {path.name for path in place.iterdir() if not path.name.startswith(".")} <= {name}
            assert in_a_child(COMMANDS[name](inputs, place / name)).code == 0, "the same command does not go on"
            resumed += 1
        assert content(place / name) == whole
    assert killed >= kills - 1
    assert resumed
    print(f"{name}: {calls} calls, {killed} kills, {resumed} times the command was given again")
