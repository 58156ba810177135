"""What engines keep from one call to the next: no table of an earlier call answers a later one whose facts differ in one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from emu.engines import datapath as engine_datapath
from emu.engines import run as engine_run
from emu.engines import table as engine_table
from emu.engines.exact.block import dequantize as exact_dequantize
from emu.engines.exact.block import quantize as exact_quantize
from emu.engines.exact.convert import convert_code
from emu.engines.exact.datapath import dot
from emu.engines.exact.decode import decode_code
from emu.engines.exact.encode import encode_value
from emu.engines.numpy.convert import code_dtype
from emu.spec import get
from emu.spec.datapath import resolve
from emu.spec.training import derived_recipe

TIMES = 80  # some engines make a table only for many codes
FP32 = get("format", "fp32")


def engines_of(operation: str, *facts: Any) -> list[str]:
    """Engines that say they can do it, the reference model left out; torch is among them where it is installed."""
    return [row.engine for row in engine_table.TABLE if row.operation == operation and row.engine != "exact" and row.can(*facts)]


def conversions() -> list[tuple[Any, ...]]:
    """Facts of conversions of which neighbours differ in the source, the format, the rounding or the policy alone."""
    found = [(s, f, r, "nvidia") for s in ("fp32", "bf16", "fp16") for f in ("e2m1", "e1m2", "e0m3") for r in ("rne", "rz", "rna")]
    found += [(s, "e2m1", r, "amd") for s in ("fp32", "bf16", "fp16") for r in ("rne", "rz")]
    kinds = ("format", "format", "rounding", "policy")
    return [tuple(get(kind, name) for kind, name in zip(kinds, names, strict=True)) for names in found]


@pytest.mark.parametrize("engine", engines_of("convert", *conversions()[0]))
def test_conversions_in_turn(engine: str) -> None:
    """Ties of the grids, values between, an infinite one and a NaN with its sign: twice through all facts."""
    given = {}
    for name in ("fp32", "bf16", "fp16"):
        ties = (np.arange(-31, 32) / np.float32(4)).astype(np.float32)
        if name == "fp16":
            given[name] = np.append(ties.astype(np.float16).view(np.uint16), [0x7C00, 0xFE00]).astype(np.uint16)
        elif name == "bf16":
            given[name] = np.append((ties.view(np.uint32) >> 16), [0x7F80, 0xFFC0]).astype(np.uint16)
        else:
            given[name] = np.append(ties.view(np.uint32), [0x7F800000, 0xFFC00000]).astype(np.uint32)
    asked = 0
    for facts in 2 * conversions():
        if engine in engines_of("convert", *facts):
            codes = given[facts[0].id]
            wanted = [convert_code(int(x), *facts) for x in codes]
            found = engine_run.run_convert(np.tile(codes, TIMES), *facts, None, engine)
            assert found.tolist() == TIMES * wanted, [item.id for item in facts]
            asked += 1
    assert asked >= 40


@pytest.mark.parametrize("engine", engines_of("decode", get("format", "e2m1"), FP32))
def test_decodings_in_turn(engine: str) -> None:
    codes, asked = np.tile(np.arange(16, dtype=np.uint8), TIMES), 0
    for fmt, result in 2 * [(f, r) for f in ("e2m1", "e1m2", "e0m3", "nf4") for r in ("fp32", "fp64")]:
        facts = get("format", fmt), get("format", result)
        if engine in engines_of("decode", *facts):
            wanted = [encode_value(decode_code(code, facts[0]), facts[1]) for code in range(16)]
            assert engine_run.run_decode(codes, *facts, engine).tolist() == TIMES * wanted, (fmt, result)
            asked += 1
    assert asked >= 4


@pytest.mark.parametrize("engine", engines_of("quantize", get("recipe", "ufp4"), FP32))
def test_recipes_with_one_id_in_turn(engine: str) -> None:
    """Recipes that differ in the rounding of their elements, all under one id: what is kept is kept by facts."""
    x = np.random.default_rng(74).standard_normal((3, 16), dtype=np.float32).view(np.uint32)
    random, seen = np.full(x.shape, 77, np.uint8), set()
    for name in ("rne", "rz", "sr_add8", "rna", "rne", "sr_te_fma8", "rz"):
        made = derived_recipe("e2m1_fp32scale", name)
        recipe = made.model_copy(update={"id": "e2m1_fp32scale"})
        if engine not in engines_of("quantize", recipe, FP32):
            continue
        drawn = {"random": random} if get("rounding", name).random_bits else {}
        wanted = exact_quantize(recipe, x.tolist(), FP32, **{key: array.tolist() for key, array in drawn.items()})
        codes, levels = engine_run.run_quantize(recipe, x, FP32, engine=engine, **drawn)
        assert codes.tolist() == wanted.codes, name
        assert {key: level.tolist() for key, level in levels.items()} == wanted.levels
        seen.add(codes.tobytes())
        values = engine_run.run_dequantize(recipe, codes, levels, profile=None, result=FP32, engine=engine)
        assert values.tolist() == exact_dequantize(recipe, wanted.codes, wanted.levels)
    assert len(seen) >= 3


@pytest.mark.parametrize("engine", engines_of("dot", resolve("hopper_fp16", "fp16", "fp16")))
def test_datapaths_in_turn(engine: str) -> None:
    """Pairs of operands and datapaths in turn, made anew each time: what an engine keeps of one plan does not answer another."""
    rng, asked = np.random.default_rng(75), 0
    for name, a, b in 2 * [("hopper_fp16", "fp16", "fp16"), ("hopper_fp16", "bf16", "bf16"), ("hopper_fp16_f16", None, None)]:
        plan = resolve(name, a, b)
        left, right = (rng.integers(0x3C00, 0x4400, (3, plan.facts.k)).astype(np.uint16) for _ in "ab")
        c = np.full(3, 0x3C01, code_dtype(plan.d))
        wanted = [dot(left[i].tolist(), right[i].tolist(), [], [], 0x3C01, plan).code for i in range(3)]
        assert engine_datapath.run_dot(left, right, None, None, c, plan, engine).tolist() == wanted, plan.name
        asked += 1
    assert asked == 6
