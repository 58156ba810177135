"""The bound that TOSA states: outputs just inside and just outside of it, what it leaves open, and kernels judged by it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from emu.base.errors import OperandError, SpecError
from emu.check.matmul.bound import OUTPUTS, STATED, bounds_of, judged
from emu.check.matmul.envelope import exact_sums
from emu.check.matmul.pair import pair_of
from emu.check.matmul.sets import Operands
from emu.spec.loader import read
from emu.testing import check_matmul

SQUARES = STATED["tosa"].squared_errors
MX = ("mxfp4_torchao_floor", "mxfp4_torchao_floor")
PAIR = pair_of("matmul/mxfp4/mxfp4/fp32")
ONE = 127  # the scale code of 1


def asked(length: int, code: int = 2, scale: int = ONE, outputs: tuple[int, int] = (1, 1)) -> Operands:
    """A product whose elements all have one code (2 is 1.0, 1 is 0.5, below the normal range) and one scale."""
    codes = [np.full((rows, length), code, np.uint8) for rows in outputs]
    scales = [np.full((rows, length // 32), scale, np.uint8) for rows in outputs]
    sums, room, unit = exact_sums(PAIR, codes[0], scales[0], codes[1], scales[1])
    return Operands("made", codes[0], scales[0], codes[1], scales[1], sums, unit, room, 0, "")


def outcome(question: Operands, value: float) -> tuple[int, int]:
    """How many outputs are outside and open, of one output."""
    found = judged("tosa", PAIR, question, np.array([[value]]))
    return found.outside, found.open


@pytest.mark.parametrize(("length", "room"), [(32, 2.0**-3), (64, 0.5), (96, 0.75), (128, 1.0)])
def test_just_inside_and_just_outside(length: int, room: float) -> None:
    """A sum of ones: the bound is 2 * 1024 * min(length, 64) * length / 2^24, in both directions."""
    question = asked(length)
    for end, away in ((length + room, np.inf), (length - room, -np.inf)):
        assert outcome(question, end) == (0, 0) and judged("tosa", PAIR, question, np.array([[end]])).ratio == 1
        assert outcome(question, float(np.nextafter(np.float32(end), np.float32(away)))) == (1, 0)


def test_the_bounds_grow_with_the_length() -> None:
    assert [STATED["tosa"].abs_error.at(n) for n in (1, 32, 63, 64, 65, 65536, 65537)] == [
        2048,
        65536,
        129024,
        131072,
        131072,
        131072,
        131074,
    ]
    assert SQUARES.at(32) == Fraction(8, 5) * (32 << 20) and SQUARES.at(65) == SQUARES.at(64) == Fraction(8, 5) * (64 << 20)


def test_squared_errors_of_a_tensor() -> None:
    """10,362 units in every output of 64 products are inside, 10,364 are not: 10,362^2 < 8/5 * 2^26 < 10,363^2."""
    question = asked(64, outputs=(3, 5))
    for units, inside in ((10362, True), (10364, False)):
        found = judged("tosa", PAIR, question, np.full((3, 5), 64 + units * 2.0**-18))
        assert (found.squares <= 1) is inside and not found.outside
        assert found.squares == Fraction(units**2) / SQUARES.at(64)


def test_what_raised_magnitudes_alone_let_through_is_open() -> None:
    """Elements of 0.5 count as 1.0 where the text raises them first: a bound four times as wide; and so do zeros."""
    half = asked(32, code=1)
    for value, wanted in ((8 + 2.0**-5, (0, 0)), (8 + 2.0**-3, (0, 1)), (8 + 2.0**-3 + 2.0**-20, (1, 0)), (8 - 2.0**-3, (0, 1))):
        assert outcome(half, value) == wanted
    none = asked(32, code=0)
    assert outcome(none, 0.0) == (0, 0) and outcome(none, 2.0**-149) == (0, 1) and outcome(none, 1.0) == (1, 0)


def test_below_the_normal_range_and_beyond_the_largest_number() -> None:
    small = asked(64, scale=ONE - 60)  # 64 * 2^-120: the least normal number is the unit
    assert outcome(small, 2.0**-114 + 2.0**-109) == (0, 0) and outcome(small, 2.0**-114 + 2.0**-109 * (1 + 2.0**-20)) == (0, 1)
    large, larger = asked(64, code=7, scale=ONE + 55), asked(64, code=7, scale=ONE + 59)
    assert outcome(large, np.inf) == (1, 0) and outcome(larger, np.inf) == (0, 0) == outcome(larger, 0.0)
    assert outcome(asked(64), np.nan) == (1, 0)  # the pseudo-code's comparison would pass it


def test_a_place_is_an_output_of_the_tensor() -> None:
    """Of the largest error, of the first output outside; where every sum may overflow, and none has a limit, the first output."""
    answers = np.full((2, 3), 64.0)
    assert judged("tosa", PAIR, asked(64, outputs=(2, 3)), answers).place == (0, 0)
    answers[1, 2], answers[1, 1] = 64.25, 64.375
    assert judged("tosa", PAIR, asked(64, outputs=(2, 3)), answers).place == (1, 1)
    answers[1, 0], answers[0, 2] = 65, np.nan
    assert judged("tosa", PAIR, asked(64, outputs=(2, 3)), answers).place == (0, 2)
    found = judged("tosa", PAIR, asked(64, code=7, scale=ONE + 59, outputs=(2, 3)), answers)
    assert (found.ratio, found.place, found.outside, found.open, found.squares) == (0, (0, 0), 0, 0, 0)


GOOD = """tosa:
  title: "x"
  status: "reported"
  sources: [{ref: "tosa_specification", where: "x"}]
  operands: {block: 32, element_bits: 8}
  abs_error: {factor: "3/2", length: 64, power: 10}
  squared_errors: {factor: "8/5", length: 64, power: 20}
  open: []
"""


def test_a_factor_that_is_no_whole_number_is_not_cut(tmp_path, monkeypatch) -> None:
    """3/2 of 1 product: a bound of 1536 units, of 65,537 products 98,305 and a half."""
    (tmp_path / "bound.yaml").write_text(GOOD, encoding="utf-8")
    found = bounds_of(read(tmp_path / "bound.yaml"))
    assert [found["tosa"].abs_error.at(n) for n in (1, 64, 65536, 65537)] == [1536, 98304, 98304, Fraction(196611, 2)]
    monkeypatch.setitem(STATED, "half", found["tosa"])
    assert (
        judged("half", PAIR, asked(64), np.array([[64.375]])).ratio == 1 == 2 * judged("tosa", PAIR, asked(64), np.array([[64.25]])).ratio
    )


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("tosa_specification", "tosa_draft", r":4: tosa.sources.0.ref: source 'tosa_draft' is not in sources.yaml"),
        ("reported", "rumoured", r":3: .*status: \"rumoured\" is not one of"),
        ("  open:", "  outputs: 1000\n  open:", r":8: .*outputs is unknown"),
    ],
)
def test_a_file_of_bounds_is_checked(tmp_path, old, new, line) -> None:
    (tmp_path / "bound.yaml").write_text(GOOD.replace(old, new), encoding="utf-8")
    with pytest.raises(SpecError, match=line):
        bounds_of(read(tmp_path / "bound.yaml"))


def test_messages_name_the_bound(monkeypatch) -> None:
    assert OUTPUTS[0] * OUTPUTS[1] >= 1000 and list(STATED) == ["tosa"]
    monkeypatch.setitem(STATED, "other", STATED["tosa"])
    with pytest.raises(OperandError, match="bound other: results are binary32, not bf16"):
        check_matmul(binary64, *MX, bound="other", out="bf16")


def binary64(a, b):
    return (a.dequantize(np.float64) @ b.dequantize(np.float64).T).astype(np.float32)


def narrow(a, b):
    """Sums held in 11 significand bits, which TOSA's bound is wide enough for."""
    x, y = a.dequantize(np.float64), b.dequantize(np.float64)
    out = np.zeros((len(x), len(y)))
    for k in range(x.shape[1]):
        fraction, exponent = np.frexp(out + x[:, k, None] * y[None, :, k])
        out = np.ldexp(np.rint(fraction * 2048), exponent - 11)
    return out.astype(np.float32)


def short(a, b):
    """The last block is left out."""
    return (a.dequantize(np.float64)[:, :-32] @ b.dequantize(np.float64)[:, :-32].T).astype(np.float32)


def leaning(a, b):
    """Every output is off by a thirtieth of a percent of the sum of magnitudes: each error is inside, all together are not."""
    x, y = a.dequantize(np.float64), b.dequantize(np.float64)
    return (x @ y.T + np.abs(x) @ np.abs(y).T * 2.0**-9).astype(np.float32)


def test_kernels_are_judged() -> None:
    report = check_matmul(binary64, *MX, bound="tosa")
    assert report.verdict == "pass" and report.bound_ratio < 2.0**-10 and report.compared == 32 * 32 + 9 * 17 + 15
    text = report.text()
    assert "1192 outputs inside of the bound" in text and "largest error: " in text and "squared errors: " in text and "differ" not in text
    wrong = check_matmul(short, *MX, bound="tosa", raises=False)
    assert wrong.verdict == "differs" and wrong.bound_ratio > 1
    located = wrong.located
    assert located["hypothesis"] == "an error is outside of the bound tosa" and {"row", "column", "gave", "exact"} <= located.keys()
    with pytest.raises(AssertionError, match="outside of the bound tosa"):
        check_matmul(short, *MX, bound="tosa", shapes=[(3, 2, 64)])
    report = check_matmul(leaning, *MX, bound="tosa", raises=False)
    assert report.verdict == "differs" and report.bound_ratio < 1 and "squared errors add up" in report.message


def test_a_narrow_accumulator_is_inside() -> None:
    report = check_matmul(narrow, *MX, bound="tosa", shapes=[(5, 7, 256)], raises=False)
    assert report.verdict == "pass" and 0 < report.bound_ratio < 1


@pytest.mark.parametrize(
    ("kernel", "sides", "how", "line"),
    [
        (binary64, MX, {"bound": "loose"}, "bound 'loose' is unknown: tosa"),
        (binary64, MX, {"bound": "tosa", "out": "bf16"}, "results are binary32, not bf16"),
        (binary64, ("nvfp4", MX[0]), {"bound": "tosa"}, "blocks of 32 floats of at most 8 bits with an E8M0 scale: nvfp4 is none"),
        (lambda a, b, c: c, MX, {"bound": "tosa"}, "its product has no c: wrap the kernel"),
        (binary64, MX, {"bound": "tosa", "batched": True}, "its product has no offsets"),
    ],
)  # fmt: skip
def test_what_the_bound_does_not_speak_of_is_refused(kernel, sides, how, line) -> None:
    with pytest.raises(OperandError, match=line):
        check_matmul(kernel, *sides, **how)


def test_the_command(run, tmp_path) -> None:
    (tmp_path / "mine.py").write_text(
        "import numpy as np\ndef right(a, b):\n    return (a.dequantize(np.float64) @ b.dequantize(np.float64).T).astype(np.float32)\n",
        encoding="utf-8",
    )
    against = ("--against", "matmul/mxfp4/mxfp4/fp32", "--bound", "tosa")
    code, text = run(f"{tmp_path}/mine.py:right", *against, "--shapes", "3x2x64")
    assert code == 0 and "6 outputs inside of the bound" in text
    code, text = run(*against, "--emit", tmp_path / "x.safetensors")
    assert code == 2 and "takes neither --emit nor --results" in text and not (tmp_path / "x.safetensors").exists()
