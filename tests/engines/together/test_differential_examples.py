"""Worked blocks of every recipe, most of them made by running code: each engine that takes it gives their codes, levels and values.

The exact engine alone is asked in tests/engines/exact/test_exact_examples.py; here NumPy, C, native kernels and torch read the same rows.
"""

from __future__ import annotations

import os
from importlib.util import find_spec

import numpy as np
import pytest

import emu
from emu.contracts.examples import split
from emu.engines.table import TABLE
from emu.spec.registry import get, names

FP32 = get("format", "fp32")
TORCH = bool(os.environ.get("EMU_NEED_TORCH") or find_spec("torch"))


def engines(operation: str, *facts: object) -> list[str]:
    return sorted({row.engine for row in TABLE if row.operation == operation and row.can(*facts) and (row.engine != "torch" or TORCH)})


@pytest.mark.cases(40)
@pytest.mark.parametrize("name", names("recipe"))
def test_every_engine_gives_the_rows_of_a_recipe(name: str) -> None:
    recipe = get("recipe", name)
    block = get("block", recipe.facts.block)
    own, formats = block.facts.shape[1], {level.name: get("format", level.format) for level in block.facts.levels}
    compared = 0
    for row in recipe.expect:
        if row.random is not None or row.source != "fp32":
            continue
        x = np.array(split(row.x, FP32), np.uint32).view(np.float32)
        width = own if own > 1 else x.size  # a whole row, or a tensor
        x = x.reshape(-1, width)
        codes = np.array(split(row.codes, get("format", block.element_formats[0]))).reshape(-1, width)
        amax = None if row.tensor_amax is None else np.array(int(row.tensor_amax, 16), np.uint32).view(np.float32)[()]
        for engine in engines("quantize", recipe, FP32):
            found = emu.quantize(x, recipe, tensor_amax=amax, engine=engine)
            assert np.array_equal(found.codes, codes), (engine, row.why)
            for level in found.levels:
                stored = np.atleast_1d(level.codes).reshape(-1)
                assert stored.tolist() == split(row.levels[level.name], formats[level.name]), (engine, row.why, level.name)
            for profile, text in row.values.items():
                for back in engines("dequantize", recipe, profile):
                    values = found.dequantize(profile=profile, engine=back).reshape(-1).view(np.uint32)
                    wanted = np.array(split(text, FP32), np.uint32)
                    same = (values == wanted) | (np.isnan(values.view(np.float32)) & np.isnan(wanted.view(np.float32)))
                    assert same.all(), (engine, back, row.why, profile)
            compared += 1
    assert compared or all(row.random is not None for row in recipe.expect)
