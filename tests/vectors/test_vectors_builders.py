"""Two commands that fill one folder, and a disk that is full: what is said is so, and what stays goes on to the same bytes."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.writing import child, content

from emu.base.atomic import only_writer
from emu.cli.main import run
from emu.vectors.build import OTHER_FILES

BUILD = ["vectors", "build", "--suite", "all", "--contract", "decode/e2m1", "--quiet", "--out"]
HELD = """
import sys
from pathlib import Path
from emu.base.atomic import only_writer
with only_writer(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read(1)
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built") / "v"
    assert run([*BUILD, str(folder)]) == 0
    return folder


@pytest.mark.parametrize("words", ["build", "merge"])
def test_the_second_of_two_says_that_another_writes(tmp_path, capsys, built, words):
    out = tmp_path / "v"
    out.mkdir()
    line = [*BUILD, str(out)] if words == "build" else ["vectors", "merge", str(built), "--out", str(out)]
    first = subprocess.Popen([sys.executable, "-c", HELD, out], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert first.stdout is not None and first.stdout.readline() == b"held\n"
    capsys.readouterr()
    assert run(line) == 2
    assert capsys.readouterr().err == f"emu: {out}: another command writes into it now: wait for its end, or name another folder\n"
    assert not content(out)
    first.kill()
    first.communicate()
    assert run(line) == 0
    assert content(out) == content(built)


def test_threads_hold_a_folder_apart(tmp_path):
    with only_writer(tmp_path), pytest.raises(ValueError, match="another command writes into it now"), only_writer(tmp_path):
        pytest.fail("two hold it")
    with only_writer(tmp_path):
        pass


def full(at: int):
    """From the n-th file on, the disk is full: for what writes the files of suites, and for what is written whole."""
    count, write, sync = 0, Path.write_bytes, os.fsync

    def limited(function):
        def called(*values):
            nonlocal count
            count += 1
            if count > at:
                raise OSError(28, "No space left on device", *values[:0])
            return function(*values)

        return called

    Path.write_bytes, os.fsync = limited(write), limited(sync)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # of Python 3.12 on, where the runner has threads
@pytest.mark.parametrize(
    ("name", "words", "stays"),
    [
        ("v", BUILD, "what is finished stays, run the same command to go on"),
        ("d", ["vectors", "deliver", "--contract", "decode/e2m1", "-o"], "nothing was left there"),
        ("d.zip", ["vectors", "deliver", "--contract", "decode/e2m1", "-o"], "nothing was left there"),
    ],
)
def test_a_full_disk_is_said_of_the_result_that_was_named(tmp_path, built, name, words, stays):
    for at in (0, 3, 9):
        out = tmp_path / f"at{at}" / name
        out.parent.mkdir()
        ended = child([*words, out], before=lambda at=at: full(at))
        assert (ended.code, ended.said.count("\n")) == (2, 1), ended
        assert ended.said.startswith(f"emu: {out}: ") and "No space left on device" in ended.said and ended.said.endswith(f"{stays}\n")
        assert out.exists() or not list(out.parent.iterdir())
        if stays.startswith("what"):
            assert run([*words, str(out)]) == 0 and content(out) == content(built)
        else:
            assert not out.exists()


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # of Python 3.12 on, where the runner has threads
def test_a_kill_leaves_no_half_of_what_tells_of_all_suites(tmp_path, built):
    """The suites are there; the command is killed right before each write and each naming of ERRATA, DIGESTS, COVER and MANIFEST."""
    whole, calls = content(built), frozenset({"write", "replace"})
    for at in range(1, 9):
        out = tmp_path / f"at{at}"
        shutil.copytree(built, out, ignore=shutil.ignore_patterns(*OTHER_FILES))
        ended = child([*BUILD, out], at=lambda n, at=at: os.kill(os.getpid(), signal.SIGKILL) if n == at else None, calls=calls)
        assert ended.code == -signal.SIGKILL
        left = {name: data for name, data in content(out).items() if "/." not in name}
        assert left.items() < whole.items(), f"killed at {at}"
        assert run([*BUILD, str(out)]) == 0 and content(out) == whole
