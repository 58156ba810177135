"""log2, floor, ceil and rint, nearest and wrap in programs: values worked out by hand and by decimal arithmetic, asked of every engine."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from decimal import Context, Decimal
from fractions import Fraction
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from support.whole import tries

import emu
from emu.base.errors import EmuError, EngineError, OpenError, SpecError
from emu.ops.quantized import make_quantized
from emu.spec.registry import get, isolated, load_spec, shipped_root

BLOCK = """
kind: "block"
id: "plain4"
title: "four binary32 numbers under two more"
status: "proposed"
facts:
  element: {format: "fp32"}
  shape: [1, 4]
  packing: "none"
  scale_layout: "row_major"
  levels:
    - {name: "unit", format: "fp32", granularity: "block", meaning: "multiply"}
sources: []
"""
STEPS = {
    "log2": 'op: "log2", args: ["a"]',
    "floor": 'op: "round", args: ["a"], to: "int8", round: "rd", overflow: "none"',
    "ceil": 'op: "round", args: ["a"], to: "int4", round: "ru", overflow: "none"',
    "rint": 'op: "round", args: ["a"], to: "int8", round: "rne", overflow: "none"',
    "nearest": 'op: "nearest", args: ["a", "unit"], to: "e2m1"',
    "nearest_e5m2": 'op: "nearest", args: ["a", "unit"], to: "e5m2"',
    "nearest_nf4": 'op: "nearest", args: ["a", "unit"], to: "nf4"',
    "wrap": 'op: "wrap", args: ["a"], to: "e8m0"',
    "wrap_int4": 'op: "wrap", args: ["a"], to: "int4"',
}
PROFILE = """    {name}:
      - {{out: "a", op: "decode", args: ["codes"]}}
      - {{out: "found", {step}}}
      - {{out: "v", op: "{last}", args: ["found"]}}
      - {{op: "emit", values: "v"}}
"""
RECIPE = """
kind: "recipe"
id: "plain4_steps"
title: "operations by themselves"
status: "proposed"
sources: []
facts:
  block: "plain4"
  tail: "error"
  arithmetic: {to: "fp32", round: "rne"}
  steps:
    - {out: "largest", op: "amax", args: ["x"], nan: "propagate", at: "block"}
    - {out: "whole", op: "add", args: ["x", "0"]}
    - {out: "codes", op: "cast", args: ["whole"], to: "fp32"}
    - {op: "emit", codes: "codes", levels: {unit: "largest"}}
  dequantize:
"""
ENGINES = ["exact", "numpy", "c_ref", *(["torch"] if os.environ.get("EMU_NEED_TORCH") or find_spec("torch") else [])]
BANDS = ((3, 1, 0), (5, 2, 1), (10, 5, 2), (20, 11, 5), (40, 22, 11), (100, 44, 22))  # |k|: floats below and above 2^k that give k


@pytest.fixture(scope="module", autouse=True)
def recipe(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("spec")
    (folder / "plain4.yaml").write_text(BLOCK, encoding="utf-8")
    made = [(name, step, "decode" if name.startswith(("nearest", "wrap")) else "neg") for name, step in STEPS.items()]
    text = "".join(PROFILE.format(name=name, step=step, last=last) for name, step, last in made)
    (folder / "plain4_steps.yaml").write_text(RECIPE + text, encoding="utf-8")
    with isolated(shipped_root()):
        load_spec(folder)
        yield


def run(profile: str, numbers: Any, engine: str, unit: Any = 1.0) -> Any:
    """What a profile gives for binary32 codes, any count of them, as codes."""
    codes = np.asarray(numbers, np.uint32).reshape(-1)
    padded = np.concatenate([codes, np.full(-codes.size % 4, 0x3F800000, np.uint32)]).reshape(-1, 4)
    units = np.broadcast_to(np.asarray(unit, np.float32).reshape(-1, 1), (len(padded), 1)).view(np.uint32)
    quantized = make_quantized(padded, {"unit": np.ascontiguousarray(units)}, get("recipe", "plain4_steps"), padded.shape, -1, -2)
    found = quantized.dequantize(profile=profile, engine=engine).view(np.uint32).reshape(-1)[: codes.size]
    coded = profile.startswith(("nearest", "wrap"))  # the others are negated, which keeps a chain of values going
    return found if coded else np.where(np.isnan(found.view(np.float32)), found, found ^ np.uint32(1 << 31))


def bits(*numbers: float) -> list[int]:
    return [struct.unpack("<I", struct.pack("<f", number))[0] for number in numbers]


def number(code: int) -> Fraction:
    """The value of a finite binary32 code."""
    field, fraction = code >> 23 & 255, code & 0x7FFFFF
    value = (fraction + (0x800000 if field else 0)) * Fraction(2) ** (max(field, 1) - 150)
    return -value if code >> 31 else value


CONTEXT = Context(prec=70)


def by_decimals(code: int) -> int:
    """log2 of a positive number by decimal arithmetic of 70 digits, rounded to binary32 by fractions; the outside law."""
    value = Fraction(CONTEXT.divide(CONTEXT.ln(Decimal(number(code).numerator)), CONTEXT.ln(Decimal(2))))
    value -= Fraction(CONTEXT.divide(CONTEXT.ln(Decimal(number(code).denominator)), CONTEXT.ln(Decimal(2))))
    if number(code).numerator & (number(code).numerator - 1) == 0 and number(code).denominator & (number(code).denominator - 1) == 0:
        value = Fraction(round(value))
    if not value:
        return 0
    size, exp = abs(value), 0
    while size >= Fraction(2) ** (exp + 1):
        exp += 1
    while size < Fraction(2) ** exp:
        exp -= 1
    return ((exp + 127) << 23) + round(size / Fraction(2) ** (exp - 23)) - (1 << 23) | (value < 0) << 31


@pytest.mark.parametrize("engine", ENGINES)
def test_logarithms_of_powers_and_of_what_has_none(engine: str) -> None:
    powers = [1 << place for place in range(23)] + [field << 23 for field in range(1, 255)]
    assert run("log2", powers, engine).tolist() == bits(*(float(exp) for exp in range(-149, 128)))
    special = [0, 1 << 31, 0x7F800000, 0xFF800000, 0x7FC00000, 0x80000001, 0xBF800000]
    assert run("log2", special, engine).tolist() == [0xFF800000, 0xFF800000, 0x7F800000, *[0x7FC00000] * 4]


@pytest.mark.parametrize("engine", ENGINES)
def test_the_band_beside_a_power_of_two(engine: str) -> None:
    """How many numbers below and above 2^k have a logarithm that rounds to k: the same counts that libraries showed."""
    for k, below, above in BANDS:
        for exp in (k, -k):
            power, wanted = (exp + 127) << 23, bits(float(exp))[0]
            near = run("log2", [power + step for step in range(-below - 1, above + 2)], engine)
            assert (near == wanted).tolist() == [False, *[True] * (below + 1 + above), False], exp


@pytest.mark.parametrize("engine", ENGINES)
def test_logarithms_by_decimal_arithmetic(engine: str) -> None:
    rng = np.random.default_rng(5)
    drawn = rng.integers(1, 0x7F800000, 200).tolist()
    near_one = [0x3F800000 + step for step in (-9, -2, -1, 1, 2, 3, 64, -4096, 4097, 0x3504F2, 0x3504F4)]
    codes = [*drawn, *near_one, 1, 2, 3, 5, 0x7FFFFF, 0x7F7FFFFF, 0x00800001, 0x3FB504F3]
    assert run("log2", codes, engine).tolist() == [by_decimals(code) for code in codes]


@pytest.mark.parametrize("engine", ENGINES)
def test_floor_ceil_and_rint(engine: str) -> None:
    numbers = [0.5, -0.5, 1.5, -1.5, 2.5, 126.75, -127.25, 16777215.0, -0.0, 0.0, 1e10, -3e38, 2.0**-149, -(2.0**-149)]
    for profile, rule in (("floor", np.floor), ("ceil", np.ceil), ("rint", np.rint)):
        wanted = rule(np.array(numbers, np.float32)).view(np.uint32)
        assert run(profile, bits(*numbers), engine).tolist() == wanted.tolist(), profile
        assert run(profile, [0x7F800000, 0xFF800000], engine).tolist() == [0x7F800000, 0xFF800000]


@pytest.mark.parametrize("engine", ENGINES)
def test_nearest_takes_the_first_of_equal_errors(engine: str) -> None:
    numbers = [0.25, -0.25, 0.75, -2.5, 5.0, -5.0, 7.0, -0.0, 1e30, -1e30, 2.4999998, 3.5000002]
    wanted = [0.0, 0.0, 0.5, -2.0, 4.0, -4.0, 6.0, 0.0, 0.0, 0.0, 2.0, 4.0]  # 1e30: every error rounds to 1e30
    assert run("nearest", bits(*numbers), engine).tolist() == bits(*wanted)
    assert run("nearest", [0x7F800000, 0x7FC00000], engine).tolist() == [0, 0], "no error is less than Inf or NaN"
    assert run("nearest", bits(1.0, 3.0, -5.0, 8.0), engine, 0.0).tolist() == bits(0.0, 0.0, 0.0, 0.0)
    assert run("nearest", bits(0.25, 0.75), engine, np.inf).tolist() == bits(0.0, 0.0), "0 * Inf is no error that others are less than"
    assert run("nearest", bits(12.0, 10.0, -1.0, 9.9999), engine, 2.0).tolist() == bits(6.0, 4.0, -0.5, 4.0)
    assert run("nearest_e5m2", bits(65536.0, 2.0**-17, 3.0 * 2.0**-17, -(3.0 * 2.0**-17)), engine).tolist() == bits(
        57344.0, 0.0, 2.0**-16, -(2.0**-16)
    )
    assert run("nearest_nf4", bits(-5.0, 0.0, 0.9, 0.03980), engine).tolist() == [0xBF800000, 0, 0x3F800000, 0x3DA2FAFF]


@pytest.mark.parametrize("engine", ENGINES)
def test_wrap_takes_the_low_bits(engine: str) -> None:
    numbers = [0.0, -0.0, 255.0, 254.0, -1.0, -2.0, 256.0, 127.0 + 512, 2.0**40, -(2.0**40) - 2.0**20, 130.0]
    wanted = [2.0**-127, 2.0**-127, np.nan, 2.0**127, np.nan, 2.0**127, 2.0**-127, 1.0, 2.0**-127, 2.0**-127, 8.0]
    found = run("wrap", bits(*numbers), engine).view(np.float32)
    assert np.array_equal(found, np.array(wanted, np.float32), equal_nan=True)
    assert run("wrap_int4", bits(7.0, 8.0, -9.0, 31.0), engine).tolist() == bits(7.0, -8.0, 7.0, -1.0)
    assert run("wrap", [0x7F800000, 0x7FC00000], engine).tolist() == [0x7FC00000] * 2, "an open code has no value"
    with pytest.raises(EmuError):
        run("wrap", bits(0.5), engine)


@pytest.mark.parametrize("count", [24, pytest.param(200, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("engine", [engine for engine in ENGINES if engine != "exact"])
def test_engines_agree_on_drawn_numbers(engine: str, count: int) -> None:
    rng = np.random.default_rng(6)
    codes = np.concatenate([rng.integers(0, 1 << 32, count, np.uint32), rng.integers(0x3E000000, 0x42000000, count).astype(np.uint32)])
    count = codes.size // 4
    units = np.exp2(rng.integers(-3, 4, count)).astype(np.float32) * rng.choice(np.array([1, 1.5, 1.1], np.float32), count)
    for profile in ("log2", "floor", "ceil", "rint", "nearest", "nearest_e5m2", "nearest_nf4"):
        assert run(profile, codes, engine, units).tolist() == run(profile, codes, "exact", units).tolist(), profile


def test_a_code_left_open_is_refused_and_the_kernels_say_that_they_cannot() -> None:
    x = np.full((1, 32), np.inf, np.float32)
    for engine in ENGINES:
        with pytest.raises(OpenError):
            emu.quantize(x, "mxfp4_mlx_cpu", engine=engine)
        with pytest.raises(EngineError, match="native cannot quantize"):
            emu.quantize(np.ones((1, 32), np.float32), "mxfp4_mlx_cpu", engine="native")


@pytest.mark.parametrize(
    ("step", "says"),
    [
        ('op: "nearest", args: ["x", "1"], to: "bf16"', "more than 8 bits"),
        ('op: "wrap", args: ["x"], to: "fp32"', "at most 16 bits"),
        ('op: "round", args: ["x"], to: "int8"', "no float format"),
    ],
)
def test_what_the_checker_refuses(step: str, says: str, tmp_path: Any) -> None:
    first = '    - {out: "whole"'
    text = RECIPE.replace('id: "plain4_steps"', 'id: "wrong"').replace(first, f'    - {{out: "c", {step}}}\n{first}')
    (tmp_path / "wrong.yaml").write_text(text + PROFILE.format(name="p", step=STEPS["log2"], last="neg"), encoding="utf-8")
    (tmp_path / "plain4.yaml").write_text(BLOCK, encoding="utf-8")
    with isolated(shipped_root()), pytest.raises(SpecError, match=says):
        load_spec(tmp_path)


@pytest.mark.cases(0, 1)
@pytest.mark.parametrize("exp", [0, -1, 1, 6, 31, -100])
def test_every_significand_of_an_exponent(exp: int) -> None:
    """The NumPy engine multiplies by 1 + 2^-i, the C reference squares: they share no step, and agree on all of 2^23 numbers (CI: half)."""
    for start in range(0, 1 << 23, tries(1 << 21, 1 << 20)):
        codes = np.arange(start, start + (1 << 20), dtype=np.uint32) + np.uint32((127 + exp) << 23)
        assert np.array_equal(run("log2", codes, "numpy"), run("log2", codes, "c_ref"))
