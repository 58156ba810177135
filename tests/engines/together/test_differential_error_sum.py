"""The order in which nvfp4_te_4over6_mse_256 adds squared errors decides its scale: blocks where another order takes the other one.

Random blocks hardly ever show it. These were found by a search among numbers with few bits, whose errors nearly tie; in most of them one
order alone differs. What each order gives is worked out here in binary32, one operation of NumPy at a time.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from emu.engines import run as engine_run
from emu.engines import table as engine_table
from emu.engines.exact.block import quantize
from emu.spec import get

RECIPE, FP32, F = get("recipe", "nvfp4_te_4over6_mse_256"), get("format", "fp32"), np.float32
ROWS = [  # tensor maximum and block in bf16; what the block maximum is brought to; the orders that bring it to the other
    ("3F80", "3E90BD003ED83CC03EFC3EE03EA0BEFC3D200000BEFCBE20BE583E503EF83F00", 4, "backwards halves tree neighbours exact"),
    ("3FE0", "3E843E183C803E84BDB03EA0BE843EB43C803E943E203E70BED03ED4BDC03EE0", 4, "backwards halves tree neighbours exact"),
    ("4078", "BE20BEC83F083F5C3F683F5CBDA0BEB0BD403F043F783F0CBEF0BF30BF64BEF0", 6, "backwards halves tree neighbours exact"),
    ("3F60", "BDE03D803F183E30BF503F04BF2CBE603ED8BF503ED8BD003F603E50BF4CBEE8", 6, "backwards halves tree neighbours exact"),
    ("3FF8", "3E9CBDF03DB0BDB0BE70BDE0BEF03E68BED0BEE83EB8BEF83DB0BEF0BE883E20", 6, "backwards"),
    ("3FEC", "BEECBD80BE903D203ED43ED03D90BDC03E083E78BDC03EE03EA43EBC3D90BE50", 4, "backwards"),
    ("3F80", "BE78BDF0BE38BE98BE483E483DB03E003EDCBDC03F00BE303F00BDF03D20BDB0", 6, "halves"),
    ("3EE0", "BED43E78BE90BD80BEA43E8CBEE0BEA4BE28BE003EBC3D903E20BE80BE003E9C", 4, "halves"),
    ("3F80", "BED8BDC0BF7C3EE03F24BEF8BF7C3F003D803E203F58BDE0BE40BF6CBF80BF60", 6, "tree"),
    ("3FD0", "BF4C3EE83F383F303EF83E98BF503E00BF34BF143EF8BF08BEF8BEC03E903EA0", 4, "tree"),
    ("3EF4", "3D003E8CBE783E683E20BEB43ED8BE103EA83E603EA0BEF43D20BE40BE94BECC", 6, "neighbours"),
    ("3F78", "BF343E80BE60BDE0BF04BF14BEA03D80BF1C3D00BF2CBF503F343EB8BE803F78", 4, "neighbours"),
    ("3F78", "BC003D40BD90BEE83E30BCC03E08BEE8BE603EF8BE403CC0BE08BE703EF8BE10", 6, "exact"),
]
ORDERS = ("backwards", "halves", "tree", "neighbours", "exact")


def added(squares: list[Any], order: str) -> Any:
    """The sum of 16 binary32 numbers in an order."""
    if order == "exact":
        return F(sum(float(square) for square in squares))  # few bits: binary64 holds it
    if order in ("halves", "tree"):
        squares = [a + b for a, b in zip(squares[:8], squares[8:], strict=True)]
    if order == "tree" or order == "neighbours":
        while len(squares) > 1:
            half = len(squares) // 2
            pairs = zip(squares[:half], squares[half:], strict=True) if order == "tree" else zip(squares[::2], squares[1::2], strict=True)
            squares = [a + b for a, b in pairs]
    total = F(0)
    for square in reversed(squares) if order == "backwards" else squares:
        total += square
    return total


def brought_to(top: int, x: list[Any], amax: Any, order: str) -> tuple[Any, int, list[int]]:
    """The summed squared error, the scale code and the element codes with the block maximum brought to 6 or 4."""
    multiplier = F(1536) / amax
    raw = max(abs(value) for value in x) / F(6) * multiplier * F(1.5 if top == 4 else 1)
    scale = np.array(min(raw, F(448))).astype(ml_dtypes.float8_e4m3fn)
    value = scale.astype(F)[()]
    reciprocal = F(1) / (value * (F(1) / multiplier))
    codes = np.clip(np.array([item * reciprocal for item in x], F), F(-6), F(6)).astype(ml_dtypes.float4_e2m1fn)
    decoded = [code * value * amax / F(1536) for code in codes.astype(F)]
    squares = [(found - item) * (found - item) for found, item in zip(decoded, x, strict=True)]
    return added(squares, order), int(scale.view(np.uint8)), codes.view(np.uint8).tolist()


def chosen(x: list[Any], amax: Any, order: str) -> tuple[int, int, list[int]]:
    six, four = (brought_to(top, x, amax, order) for top in (6, 4))
    return (4, *four[1:]) if four[0] < six[0] else (6, *six[1:])


def operands(text: str) -> Any:
    return (np.array([int(text[i : i + 4], 16) for i in range(0, len(text), 4)], np.uint32) << 16).view(F)


@pytest.mark.parametrize(("amax", "block", "top", "others"), ROWS)
def test_a_block_that_tells_the_orders_apart(amax: str, block: str, top: int, others: str) -> None:
    x, largest = operands(block), operands(amax)[0]
    taken, scale, codes = chosen(list(x), largest, "sequential")
    assert taken == top
    differing = [order for order in ORDERS if chosen(list(x), largest, order)[0] != top]
    assert differing == others.split()
    bits = x.view(np.uint32).reshape(1, 16)
    found = quantize(RECIPE, bits.tolist(), FP32, tensor_amax=int(largest.view(np.uint32)))
    assert (found.levels["scale"], found.codes) == ([[scale]], [codes])
    asked = 0
    for engine in (row.engine for row in engine_table.TABLE if row.operation == "quantize" and row.can(RECIPE, FP32)):
        elements, levels = engine_run.run_quantize(RECIPE, bits, FP32, engine=engine, tensor_amax=int(largest.view(np.uint32)))
        assert (levels["scale"].tolist(), elements.tolist()) == ([[scale]], [codes]), engine
        asked += 1
    assert asked >= 3


def test_every_order_is_told_apart_from_both_sides() -> None:
    seen = {(order, top) for _, _, top, others in ROWS for order in others.split()}
    assert seen == {(order, top) for order in ORDERS for top in (4, 6)}
