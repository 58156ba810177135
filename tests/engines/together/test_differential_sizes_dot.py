"""Dot and matrix products just over every lane block, tile, panel and chunk of K of every engine, in one thread and in several.

A few distinct rows of A, B and C are repeated; each pair of them is asked of `exact` once. The sizes are the engines' own constants and
one more: they stay just over when a constant changes.
"""

from __future__ import annotations

from importlib import import_module
from math import isqrt
from typing import Any, NamedTuple

import numpy as np
import pytest

from emu.engines import datapath as engine_datapath
from emu.engines import table as engine_table
from emu.engines.exact.datapath import dot
from emu.engines.native import convert as kernel
from emu.engines.native import datapath as kernel_datapath
from emu.engines.native import dot as kernel_dot
from emu.engines.numpy import datapath as npy
from emu.engines.numpy.convert import code_dtype
from emu.spec import derive
from emu.spec.datapath import DatapathPlan, resolve

ROWS, COLUMNS = 13, 11  # distinct rows of A, and of B: neither divides a power of two
FORMS = range(kernel.BEST_FORM + 1)
LANES = int(kernel.lib.EMU_DOT_LANES)
PLANS = {
    "blackwell_mxf4nvf4_b16_ue4m3": resolve("blackwell_mxf4nvf4_b16_ue4m3"),
    "hopper_fp16": resolve("hopper_fp16", "fp16", "fp16"),
    "hopper_fp16_f16": resolve("hopper_fp16_f16"),
    "int64": resolve("int64", "e2m1", "e2m1", "ue4m3", 16),
    "promote": resolve("promote", "e2m1", "e2m1", block=16),
    "cdna3_fp8": resolve("cdna3_fp8", "e4m3fnuz", "e4m3fnuz"),
}


class Operands(NamedTuple):
    """Codes of distinct rows, and their scales or None."""

    a: Any
    b: Any
    scale_a: Any
    scale_b: Any


def operands(plan: DatapathPlan, k: int, seed: int) -> Operands:
    """Rows of numbers of a few exponents, so that terms lose bits and C does; one row of A holds a NaN where its format has one."""
    rng = np.random.default_rng(seed)

    def side(fmt: Any, rows: int) -> Any:
        facts = derive.codes(fmt)
        if facts.bits <= 8:
            return rng.integers(0, facts.max_code + 1, (rows, k)).astype(code_dtype(fmt)) | (
                rng.integers(0, 2, (rows, k)) * facts.sign_bit
            ).astype(code_dtype(fmt))
        x = rng.standard_normal((rows, k)) * np.exp2(rng.integers(-3, 4, (rows, k)))
        return x.astype(np.float16).view(np.uint16)

    a, b = side(plan.a, ROWS), side(plan.b, COLUMNS)
    if derive.codes(plan.a).nan:
        a[7, k // 2] = derive.codes(plan.a).nan[0]
    if plan.scale is None:
        return Operands(a, b, None, None)
    low, high = (0x30, 0x48) if plan.scale.id == "ue4m3" else (0x3F000000, 0x41000000)
    scales = [rng.integers(low, high, (rows, k // plan.block)).astype(code_dtype(plan.scale)) for rows in (ROWS, COLUMNS)]
    return Operands(a, b, *scales)


def addends(plan: DatapathPlan) -> Any:
    """Codes of C for each pair of distinct rows; one of them infinite."""
    x = (np.random.default_rng(76).standard_normal((ROWS, COLUMNS)) * 40).astype(np.float32)
    x[2, 3] = -np.inf
    return x.view(np.uint32) if plan.d.id == "fp32" else x.astype(np.float16).view(np.uint16)


def alone(given: Operands, i: int, j: int, c: int, plan: DatapathPlan) -> int:
    """What the reference model gives for row i of A and row j of B."""
    scales = [[] if side is None else side[row].tolist() for side, row in ((given.scale_a, i), (given.scale_b, j))]
    return dot(given.a[i].tolist(), given.b[j].tolist(), scales[0], scales[1], c, plan).code


def engines_of(plan: DatapathPlan) -> list[str]:
    return [row.engine for row in engine_table.TABLE if row.operation == "dot" and row.engine != "exact" and row.can(plan)]


def part(side: Any, rows: Any) -> Any:
    return None if side is None else side[rows]


CASES = [(engine, name) for name, plan in PLANS.items() for engine in engines_of(plan)]


def torch_tile(plan: DatapathPlan) -> int:
    return int(import_module("emu.engines.torch.datapath").TILE) // plan.step


def pairs_at_a_time(engine: str, plan: DatapathPlan) -> list[int]:
    if engine == "torch":
        return [torch_tile(plan)]
    return {"native": [LANES, kernel_datapath.PANEL_ROWS], "numpy": [npy.PAIRS], "c_ref": [1]}[engine]


@pytest.mark.parametrize(("engine", "name"), CASES)
def test_pairs_of_rows_just_over_a_panel(engine: str, name: str) -> None:
    plan = PLANS[name]
    given, c = operands(plan, max(plan.facts.k, plan.block), 77), addends(plan)
    wanted = np.array([alone(given, i, i % COLUMNS, int(c[i, i % COLUMNS]), plan) for i in range(ROWS)])
    for count in (count + 1 for count in pairs_at_a_time(engine, plan)):
        place = np.arange(count) % ROWS
        other = place % COLUMNS
        sides = given.a[place], given.b[other], part(given.scale_a, place), part(given.scale_b, other), c[place, other]
        assert np.array_equal(engine_datapath.run_dot(*sides, plan, engine), wanted[place])
        for form in FORMS if engine == "native" else ():
            assert np.array_equal(kernel_dot.dot(*sides, plan, form=form), wanted[place])


def length_at_a_time(engine: str) -> int:
    """Elements of K that an engine takes at a time; others take one step."""
    return {"native": kernel_datapath.CHUNK, "numpy": npy.CHUNK}.get(engine, 0)


@pytest.mark.parametrize(("engine", "name"), [case for case in CASES if length_at_a_time(case[0])])
def test_k_just_over_a_chunk(engine: str, name: str) -> None:
    """The last instruction of K stands alone in a chunk: its elements, its scales, and what the outputs carry into it."""
    plan = PLANS[name]
    unit = max(plan.facts.k, plan.block)
    k, rows = length_at_a_time(engine) // unit * unit + unit, np.arange(2)
    given, c = operands(plan, k, 78), addends(plan)
    right = np.array([[alone(given, i, j, int(c[i, j]), plan) for j in rows] for i in rows])
    sides = given.a[rows], given.b[rows], part(given.scale_a, rows), part(given.scale_b, rows)
    assert np.array_equal(engine_datapath.run_matmul(*sides, c[:2, :2], plan, engine), right)
    assert np.array_equal(engine_datapath.run_dot(*sides, c[rows, rows], plan, engine), right[rows, rows])


def outputs_at_a_time(engine: str, plan: DatapathPlan) -> list[tuple[int, int]]:
    if engine == "torch":
        return [(isqrt(torch_tile(plan)), isqrt(torch_tile(plan)))]
    return {
        "native": [(1, LANES), (kernel_datapath.PANEL_ROWS, kernel_datapath.PANEL_COLUMNS)],
        "numpy": [(npy.TILE_ROWS, npy.TILE_COLUMNS), (npy.PANEL_ROWS, npy.PANEL_COLUMNS)],
        "c_ref": [(1, 1)],
    }[engine]


@pytest.mark.parametrize(("engine", "name"), CASES)
def test_outputs_just_over_a_panel_in_any_number_of_threads(engine: str, name: str) -> None:
    """One row and one column more than a panel: four panels of unlike sizes, for one thread, for two, and for more than there are."""
    plan = PLANS[name]
    given, c = operands(plan, max(plan.facts.k, plan.block), 79), addends(plan)
    wanted = np.array([[alone(given, i, j, int(c[i, j]), plan) for j in range(COLUMNS)] for i in range(ROWS)])
    without = np.array([[alone(given, i, j, 0, plan) for j in range(COLUMNS)] for i in range(ROWS)])
    for rows, columns in outputs_at_a_time(engine, plan):
        down, across = np.arange(rows + 1) % ROWS, np.arange(columns + 1) % COLUMNS
        sides = given.a[down], given.b[across], part(given.scale_a, down), part(given.scale_b, across)
        for jobs in (1, 2, 7) if engine in ("native", "numpy") else (1,):
            found = engine_datapath.run_matmul(*sides, c[np.ix_(down, across)], plan, engine, jobs)
            assert np.array_equal(found, wanted[np.ix_(down, across)]), (rows, columns, jobs)
        assert np.array_equal(engine_datapath.run_matmul(*sides, None, plan, engine), without[np.ix_(down, across)])
        for form in FORMS if engine == "native" else ():
            found = kernel_dot.matmul(*sides, c[np.ix_(down, across)], plan, form=form)
            assert np.array_equal(found, wanted[np.ix_(down, across)]), (rows, columns, form)
