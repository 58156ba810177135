"""Executables with the line protocol: right and wrong ones, broken lines, exit codes, a hang."""

import sys

import numpy as np
import pytest

from emu.base.errors import OperandError, TargetError, ToolError
from emu.check.run import check
from emu.check.targets import named
from emu.check.targets.exec import exec_target
from emu.contracts.form import Asked

CONTRACT = "convert/e2m1/rne/nvidia"
KERNEL = """
import struct, sys, time
how, contract, columns = sys.argv[1:]
assert (contract, columns) == ("convert/e2m1/rne/nvidia", "codes -> codes"), sys.argv
def convert(bits):
    if bits & 0x7FFFFFFF > 0x7F800000:
        return 7
    a = struct.unpack("<f", struct.pack("<I", bits & 0x7FFFFFFF))[0]
    tie = 2.25 if how == "tie" else 2.5
    return bits >> 31 << 3 | ((a > 0.25) + (a >= 0.75) + (a > 1.25) + (a >= 1.75) + (a > tie) + (a >= 3.5) + (a > 5))
codes = [convert(int(line, 16)) for line in sys.stdin]
if how == "hang":
    time.sleep(60)
if how == "fail":
    sys.exit("no device")
for code in codes[how == "short":]:
    print("zz" if how == "word" else f"{code:x} 0" if how == "wide" else f"{code:x}")
"""


@pytest.fixture(scope="session")
def program(tmp_path_factory):
    """The command of the kernel, its manner left open."""
    path = tmp_path_factory.mktemp("programs") / "kernel.py"
    path.write_text(KERNEL)
    return f"{sys.executable} -S {path}"


def run(program, how, **options):
    return check(exec_target(f"{program} {how}", CONTRACT, **options), CONTRACT, suites=("directed",))


def test_a_right_program_passes(program):
    assert run(program, "right").verdict == "pass"


def test_a_wrong_program_differs(program, monkeypatch):
    monkeypatch.setattr("emu.check.shrink.CALLS", 3)
    report = run(program, "tie")
    assert report.verdict == "differs" and any(failure.name == "tie" for failure in report.failures)


@pytest.mark.cases(3)
@pytest.mark.parametrize(("how", "verdict", "words"), [
    ("fail", "raises", "exit code 1: no device"),
    ("short", "shape", "printed 1419 lines for 1420 rows"),
    ("wide", "shape", "line 1 has 2 columns, declared were codes"),
    ("word", "dtype", "'zz' is no column of codes: 1 hex digits a code"),
    ("hang", "hangs", "no answer within 1 s"),
])  # fmt: skip
def test_misbehaviour_has_a_verdict(program, how, verdict, words):
    report = run(program, how, seconds=1 if how == "hang" else 100)
    assert report.verdict == verdict and words in report.message


def test_blocks_are_lines_with_the_tensor_maximum_on_each():
    target = exec_target("true", "quantize/nvfp4_te_ref", gives=("codes", "scale"))
    question = next(target.form.directed(Asked()))
    lines = target.lines(["x", "tensor_amax"], question.operands)
    assert len(lines) == len(question.operands["x"]) and len(lines[0].split()[0]) == 16 * 8 and len(lines[0].split()[1]) == 8
    found = target.answers(["0123456789ABCDEF 38"] * len(lines), question.operands, len(lines))
    assert found["codes"][0].tolist() == list(range(16)) and found["scale"].shape == (len(lines), 1) and found["scale"][0, 0] == 0x38
    with pytest.raises(TargetError, match="codes has"):
        target.answers(["012 38"] * len(lines), question.operands, len(lines))


def test_a_program_that_is_not_there_is_a_missing_tool():
    with pytest.raises(ToolError, match="cannot be started"):
        check(exec_target("/nowhere/kernel", CONTRACT), CONTRACT)


@pytest.mark.parametrize(("contract", "options", "words"), [
    (CONTRACT, {"gives": ("scale",)}, "gives 'scale' is unknown"),
    ("convert/e2m1/sr_ptx_split8/nvidia", {}, "random words shared between elements have no column"),
])  # fmt: skip
def test_what_the_protocol_cannot_say_is_refused(contract, options, words):
    with pytest.raises(OperandError, match=words):
        exec_target("true", contract, **options)


def test_random_integers_of_each_element_are_a_column():
    target = exec_target("true", "convert/e2m1/sr_add8/nvidia")
    given = {"codes": np.array([1, 2], np.uint32), "random": np.array([3, 255], np.uint8)}
    assert target.lines(["codes", "random"], given) == ["00000001 03\n", "00000002 ff\n"]


def test_one_answer_is_a_name_and_several_are_names(monkeypatch):
    """What a child process is told of a target: a program's one answer becomes a tuple, other targets take it as it is."""
    seen = []
    monkeypatch.setattr(named, "parse_target", lambda text, contract, **options: seen.append((text, contract, options)))
    for text in ("exec:./kernel", "kernel.py:cast"):
        for gives in ("codes", ("codes", "scale")):
            named.make(text, CONTRACT, {"gives": gives, "takes": "float32"})
    named.make("exec:./kernel", CONTRACT, {})
    wanted = [
        ("exec:./kernel", ("codes",)),
        ("exec:./kernel", ("codes", "scale")),
        ("kernel.py:cast", "codes"),
        ("kernel.py:cast", ("codes", "scale")),
    ]
    assert seen[:4] == [(text, CONTRACT, {"gives": gives, "takes": "float32"}) for text, gives in wanted]
    assert seen[4:] == [("exec:./kernel", CONTRACT, {})]


@pytest.mark.parametrize("text", ["-1", "+1", "0x01", "\u0660\u0661"])
def test_a_sign_a_prefix_or_another_script_is_no_hex_digit(text):
    target = exec_target("true", "quantize/nvfp4_te_ref", gives=("packed",))
    assert target.codes("packed", "01fE") == [1, 254]
    with pytest.raises(TargetError, match="is no column of packed"):
        target.codes("packed", text)
