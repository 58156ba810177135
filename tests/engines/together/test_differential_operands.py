"""Wrong operands: every engine that does an operation refuses them, and all with the same line."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import emu
from emu.engines.table import ENGINES
from emu.engines.torch import can as torch_can

X = np.linspace(-3, 3, 64, dtype=np.float32).reshape(2, 32)
UNUSED = np.full((1, 16), 0x80, np.uint8)  # of ue4m3: bit 7 has no meaning
WORDS = np.zeros((2, 32), np.uint32)
LANE = {"a_format": "e1m2", "b_format": "e1m2", "scale_format": "ue4m3"}
ROW, SCALES = np.zeros(64, np.uint8), np.zeros(4, np.uint8)
HINT = "(NaN, Inf or sign): clean the input or name another policy"


def quantized(**changes: Any) -> emu.Quantized:
    """A good tensor, but for one level (by name) or its codes."""
    q = emu.quantize(X, "nvfp4_te_ref")
    levels = tuple(replace(level, codes=changes.get(level.name, level.codes)) for level in q.levels)
    return replace(q, codes=changes.get("codes", q.codes), levels=levels)


def back(**changes: Any) -> Callable[[str], Any]:
    return lambda engine: emu.dequantize(quantized(**changes), engine=engine)


def rounded(**random: Any) -> Callable[[str], Any]:
    return lambda engine: emu.convert(X, "e2m1", "sr_add8", engine=engine, **random)


def drawn(**random: Any) -> Callable[[str], Any]:
    return lambda engine: emu.quantize(X, "ufp4_sr", engine=engine, **random)


def recipe(name: str, x: Any = X, **operands: Any) -> Callable[[str], Any]:
    return lambda engine: emu.quantize(x, name, engine=engine, **operands)


WRONG: dict[str, tuple[Callable[[str], Any], type[emu.EmuError], str]] = {
    "convert: no random": (rounded(), emu.OperandError, "rounding sr_add8 needs random: 8 bits an element"),
    "convert: random unwanted": (
        lambda engine: emu.convert(X, "e2m1", random=WORDS, engine=engine), emu.OperandError,
        "rounding rne draws nothing: leave random out"),
    "convert: random short": (rounded(random=WORDS[:1]), emu.OperandError, "random has 32 integers, rounding sr_add8 needs 64"),
    "convert: random floats": (rounded(random=X), emu.OperandError, "random must be integers, not float32"),
    "convert: random negative": (rounded(random=WORDS.astype(int) - 7), emu.OperandError, "random must not be negative: -7"),
    "convert: random wide": (rounded(random=WORDS + 256), emu.OperandError, "random does not fit the 8 bits of sr_add8"),
    "convert: open": (
        lambda engine: emu.convert(np.float32([1, np.nan]), "e2m1", policy="ocp_saturate", engine=engine), emu.OpenError,
        f"convert/e2m1/rne/ocp_saturate: the code of element 1 is open {HINT}"),
    "convert: refused": (
        lambda engine: emu.convert(np.float32([1, 2, np.nan]), "e2m1", policy="gfloat_sat", engine=engine), emu.OperandError,
        f"convert/e2m1/rne/gfloat_sat: the code of element 2 is refused by the policy {HINT}"),
    "convert: unused bit": (
        lambda engine: emu.convert(UNUSED, "fp32", source="ue4m3", engine=engine), emu.OpenError,
        "ue4m3 code 0x80: what a set bit 7 means is open"),
    "convert: wide code": (
        lambda engine: emu.convert([[16]], "fp32", source="e1m2", engine=engine), emu.OperandError,
        "a code has more than 4 bits: it is no e1m2 code"),
    "quantize: unused bit": (
        recipe("nvfp4_te_ref", UNUSED, source="ue4m3"), emu.OpenError, "ue4m3 code 0x80: what a set bit 7 means is open"),
    "quantize: tail": (
        recipe("nvfp4_torchao", X[:, :10]), emu.ShapeError,
        "nvfp4_torchao: 2 x 10 is no multiple of 1 x 16: pad the tensor yourself (tail: error)"),
    "quantize: binary64": (
        recipe("nvfp4_te_ref", np.full((1, 16), 0.1)), emu.OperandError,
        "a binary64 value is no binary32 number: recipes start from binary32, convert the array first"),
    "quantize: maximum unwanted": (
        recipe("mxfp4_torchao_floor", tensor_amax=1.0), emu.OperandError, "recipe mxfp4_torchao_floor reads no tensor_amax: leave it out"),
    "quantize: maximum negative": (
        recipe("nvfp4_te_ref", tensor_amax=-1.0), emu.OperandError, "tensor_amax is a maximum of magnitudes: it cannot be negative"),
    "quantize: no random": (drawn(), emu.OperandError, "recipe ufp4_sr needs random: 8 bits an element"),
    "quantize: random unwanted": (
        recipe("nvfp4_te_ref", random=WORDS), emu.OperandError, "recipe nvfp4_te_ref draws no random bits: leave random out"),
    "quantize: random short": (
        drawn(random=WORDS.ravel()[1:]), emu.OperandError, "random has 63 integers, recipe ufp4_sr needs 64"),
    "quantize: random floats": (drawn(random=X), emu.OperandError, "random must be integers, not float32"),
    "quantize: random negative": (drawn(random=WORDS.astype(int) - 1), emu.OperandError, "random must not be negative: -1"),
    "quantize: random wide": (drawn(random=WORDS + 256), emu.OperandError, "random does not fit the 8 bits of sr_add8"),
    "quantize: random of 33 bits": (
        drawn(random=WORDS.astype(np.uint64) + (1 << 33)), emu.OperandError, "random does not fit the 8 bits of sr_add8"),
    "quantize: signs wide": (recipe("ufp4", signs=1 << 16), emu.OperandError, "signs 0x10000 has more than 16 bits"),
    "transform: unused bit": (
        lambda engine: emu.transform(UNUSED, "rht16_ufp4", source="ue4m3", engine=engine), emu.OpenError,
        "ue4m3 code 0x80: what a set bit 7 means is open"),
    "transform: signs unwanted": (
        lambda engine: emu.transform(X, "rht16_butterfly", signs=1, engine=engine), emu.OperandError,
        "transform rht16_butterfly has fixed signs: leave signs out"),
    "dequantize: wide element": (
        back(codes=np.full((2, 32), 16, np.uint8)), emu.OperandError, "codes: a code has more than 4 bits: it is no e2m1 code"),
    "dequantize: negative element": (back(codes=np.full((2, 32), -3)), emu.OperandError, "codes: code -3 is negative: it is no e2m1 code"),
    "dequantize: floats": (back(codes=X), emu.OperandError, "codes: e2m1 codes are integers, not float32"),
    "dequantize: short": (
        back(codes=np.zeros((2, 17), np.uint8)), emu.ShapeError,
        "codes of shape (2, 17) are none of a tensor of shape (2, 32) under recipe nvfp4_te_ref"),
    "dequantize: wide scale": (
        back(scale=np.full((2, 2), 300, np.uint16)), emu.OperandError, "level scale: a code has more than 8 bits: it is no ue4m3 code"),
    "dequantize: unused bit": (
        back(scale=np.full((2, 2), 0x80, np.uint8)), emu.OpenError, "level scale: ue4m3 code 0x80: what a set bit 7 means is open"),
    "dequantize: scales too many": (
        back(scale=np.zeros((2, 3), np.uint8)), emu.ShapeError, "level scale has shape (2, 3): codes of shape (2, 32) need (2, 2)"),
    "dequantize: scales too few": (
        back(scale=np.zeros((1, 2), np.uint8)), emu.ShapeError, "level scale has shape (1, 2): codes of shape (2, 32) need (2, 2)"),
    "dequantize: no scales": (
        lambda engine: emu.dequantize(replace(quantized(), levels=quantized().levels[:1]), engine=engine), emu.ShapeError,
        "level scale is missing: codes of shape (2, 32) need (2, 2)"),
    "dot: wide element": (
        lambda engine: emu.dot(ROW + 16, ROW, "nv_like", SCALES, SCALES, engine=engine, **LANE), emu.OperandError,
        "a: code 0x10 is no e1m2 code: it has more than 4 bits"),
    "dot: wide scale": (
        lambda engine: emu.dot(ROW, ROW, "nv_like", SCALES, SCALES + np.uint16(0x180), engine=engine, **LANE), emu.OperandError,
        "b_scales: code 0x180 is no ue4m3 code: it has more than 8 bits"),
    "dot: C": (
        lambda engine: emu.dot(ROW, ROW, "nv_like", SCALES, SCALES, c=np.float64(1), engine=engine, **LANE), emu.OperandError,
        "c: dtype float64 is not taken: give float32, or integer fp32 codes"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_every_engine_refuses_alike(name: str) -> None:
    call, kind, line = WRONG[name]
    found = {}
    for engine in ENGINES:
        try:
            call(engine)
        except emu.EngineError:
            continue  # it does not do the operation at all
        except emu.EmuError as error:
            found[engine] = (type(error), str(error))
        else:
            found[engine] = (None, "took it")
    assert {"exact", "numpy", "c_ref", "auto"} <= set(found)
    assert set(found.values()) == {(kind, line)}, found


NO_ADVICE = {
    "amax": (lambda: emu.amax(X.astype(complex)), lambda: emu.amax(np.uint8([200]), source="e2m1"), lambda: emu.amax(np.float64([0.1]))),
    "convert": (lambda: emu.convert(X.astype(complex), "e2m1"), lambda: emu.convert(X, "e2m1", source="e4m3")),
    "decode": (lambda: emu.decode(X, "e2m1"), lambda: emu.decode([1], "fp64", np.float16), lambda: emu.decode([16], "e2m1")),
    "operate": (lambda: emu.operate("negate", X.astype(complex)), lambda: emu.operate("negate", X, formats="e2m1")),
    "quantize": (lambda: emu.quantize(X.astype(complex), "nvfp4_te_ref"), lambda: emu.quantize(X, "nvfp4_te_ref", source="e4m3")),
    "transform": (lambda: emu.transform(X.astype(complex), "rht16_ufp4"), lambda: emu.transform(X, "rht16_ufp4", source="e4m3")),
}


@pytest.mark.parametrize("name", NO_ADVICE)
def test_a_refusal_advises_arguments_that_the_function_has(name: str) -> None:
    known = signature(getattr(emu, name)).parameters
    for call in NO_ADVICE[name]:
        with pytest.raises(emu.EmuError) as told:
            call()
        assert set(re.findall(r"\b([a-z_]+)=", str(told.value))) <= set(known), told.value


def test_refusals_of_engine_torch_advise_no_engine() -> None:
    """The functions of emu.torch raise them too, and have no such argument."""
    for file in sorted(Path(torch_can.__file__).parent.rglob("*.py")):
        assert "use engine=" not in file.read_text("utf-8"), file.name
