"""Every command that writes, killed (SIGKILL) at drawn moments of its run: the result is whole or absent, and the same command goes on.

Nothing else is left then, beside the result or among temporary folders. A child of this process runs the command, counts the calls that can
touch a file (open, write, sync, name), and kills itself at the n-th. 200 kills in all with EMU_ALL=1, one of each command in the exhaustive
run, two in the default one.
"""

from __future__ import annotations

import json
import os
import re
import signal
import tempfile
from pathlib import Path
from random import Random
from typing import Any

import pytest
from support.whole import tries
from support.writing import CALLS, COMMANDS, MORE, NOT_KILLED, WRITING, Ended, child, content, warm, write_inputs

TOUCHING = CALLS | {"writelines", "flush", "symlink", "copyfile"}
EVERY = COMMANDS | MORE
KILLS = tries(len(EVERY), 200)  # in all


def in_a_child(words: list[Any], temporary: Path, die_at: int | None = None) -> Ended:
    """Run a command in a child that kills itself at a call. temporary: its folder of temporary files."""

    def before() -> None:
        tempfile.tempdir = os.environ["TMPDIR"] = str(temporary)

    return child(words, before, lambda count: os.kill(os.getpid(), signal.SIGKILL) if count == die_at else None, TOUCHING)


def is_part(name: str, left: dict[str, bytes], whole: dict[str, bytes]) -> bool:
    """Whether a file is a whole record of some of the sweeps: each is added when it is done."""
    return name == "sweeps.json" and json.loads(left[""])["sweeps"].items() < json.loads(whole[""])["sweeps"].items()


def test_every_command_that_writes_is_killed():
    """Or it is said why not."""
    killed = [" ".join(map(str, words(Path(), Path()))) for words in EVERY.values() if words is not MORE["merged"]]
    for name in {" ".join(name) for name, _, _ in WRITING}:
        assert any(line.startswith(f"{name} ") for line in (*killed, "vectors merge ")) != (name in NOT_KILLED), name


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # of Python 3.12 on, where the runner has threads
@pytest.mark.parametrize(
    ("name", "kills"),
    [
        *(pytest.param(name, 1, id=f"{name}-short") for name in ("q.safetensors", "store")),
        *(
            pytest.param(name, KILLS // len(EVERY) + (number < KILLS % len(EVERY)), marks=pytest.mark.exhaustive, id=name)
            for number, name in enumerate(EVERY)
        ),
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
    draw = Random(name)
    for number in range(kills):
        moment = 1 + int((number + 0.9 * draw.random()) * calls / kills)  # one in each part of the run; runs differ by some calls
        place = tmp_path / f"killed{number}"
        place.mkdir()
        code = in_a_child(EVERY[name](inputs, place / name), temporary, moment).code
        killed += code == -signal.SIGKILL
        left = content(place / name)
        if left != whole:
            assert left is None or (place / name).is_dir() or is_part(name, left, whole), "half a file has the name of the result"
            assert {path.name for path in place.iterdir() if not path.name.startswith(".")} <= {name}
            named = {file: data for file, data in (left or {}).items() if file and not re.search(r"(^|/)\.", file)}
            assert named.items() <= whole.items(), "half a file has the name of one of the result"
            again = in_a_child(EVERY[name](inputs, place / name), temporary)
            assert again.code == 0, f"the same command does not go on: {again.said}"
            resumed += 1
            assert [path.name for path in (*place.iterdir(), *temporary.iterdir())] == [name], "more than the result is left"
        assert content(place / name) == whole
    assert killed >= max(1, kills - 1)
    assert resumed or kills == 1
    print(f"{name}: {calls} calls, {killed} kills, {resumed} times the command was given again")
