"""A target in a process of its own: what it sends is data, and nonsense in the pipe is a verdict."""

import json
import os
import pickle
import time

import numpy as np
import pytest

from emu.base.errors import OpenError, TargetError
from emu.check.targets.isolate import forked

ANSWER = {"codes": np.arange(6, dtype=np.uint8).reshape(2, 3), "scale": np.array(3, np.uint16)}


class Target:
    """A target that answers what it is told, after it did something."""

    name, op, source, result, calls = "here", "quantize", "fp32", None, "pointers"

    def __init__(self, does):
        self.does = does

    def __call__(self, operands):
        return self.does(operands)


def pipe_of_this_process():
    """The child's end of the pipe: the socket that was opened last."""
    return max(
        int(name)
        for name in os.listdir("/proc/self/fd")
        if os.path.exists(f"/proc/self/fd/{name}") and "socket" in os.readlink(f"/proc/self/fd/{name}")
    )


def write(data):
    def does(_operands):
        os.write(pipe_of_this_process(), data)
        time.sleep(60)

    return does


class Opened:
    """Writes a file where it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (self.path, "w")


def test_arrays_come_back_as_they_are():
    with forked(Target(lambda operands: {**ANSWER, "x": operands["x"][::-1]}), 10) as target:
        found = target({"x": np.arange(5, dtype=np.uint32)})
    assert {name: (array.dtype, array.shape, array.tolist()) for name, array in found.items()} == {
        "codes": (np.uint8, (2, 3), [[0, 1, 2], [3, 4, 5]]), "scale": (np.uint16, (), 3), "x": (np.uint32, (5,), [4, 3, 2, 1, 0]),
    }  # fmt: skip


def test_what_a_kernel_prints_is_no_part_of_the_report(capfd):
    """As C prints: to the file, not to Python's stream."""

    def prints(_operands):
        os.write(1, b"a line of a kernel\n")
        return ANSWER

    with forked(Target(prints), 10) as target:
        target({})
    assert capfd.readouterr() == ("", "a line of a kernel\n")


def test_errors_keep_their_kind():
    def fails(_operands):
        raise OpenError("nobody knows")

    with forked(Target(fails), 10) as target, pytest.raises(OpenError, match="nobody knows"):
        target({})


def framed(data):
    return len(data).to_bytes(4, "big") + data


def answer(arrays, rest="", kind="ok", about=None):
    return json.dumps({"kind": kind, "about": about or {"result": None}, "arrays": arrays}).encode() + b"\n" + rest.encode()


NONSENSE = {
    "no keys": b"{}\n",
    "no object": b"[]\n",
    "no text": b"\xff\n",
    "no result": answer({}, about={"name": "x"}),
    "an error of another library": answer({}, kind="error", about={"error": "system", "message": ""}),
    "objects": answer({"codes": ["|O", [1]]}, "12345678"),
    "a negative length": answer({"codes": ["|u1", [-1]]}),
    "more than was sent": answer({"codes": ["|u1", [9_999_999_999]]}),
    "bytes too many": answer({}, "x"),
    "nested": b"[" * 100_000 + b"\n",
}


@pytest.mark.parametrize("data", NONSENSE.values(), ids=NONSENSE)
def test_nonsense_is_a_verdict(data):
    with forked(Target(write(framed(data))), 10) as target, pytest.raises(TargetError, match="is no answer") as error:
        target({})
    assert error.value.verdict == "raises"


def test_nothing_that_a_target_wrote_is_unpickled(tmp_path):
    data = pickle.dumps(("ok", Opened(str(tmp_path / "made"))))
    with forked(Target(write(framed(data))), 10) as target, pytest.raises(TargetError, match="is no answer"):
        target({})
    assert not (tmp_path / "made").exists()


def test_an_answer_that_never_ends_is_cut():
    with forked(Target(write((1000).to_bytes(4, "big") + b"{")), 1) as target, pytest.raises(TargetError):
        target({})
