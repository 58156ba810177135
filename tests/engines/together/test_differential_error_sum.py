"""The order in which nvfp4_te_4over6_mse_256 adds squared errors decides its scale: blocks where another order takes the other one.

Two sums are compared: with the block maximum brought to 6 and to 4. Random blocks hardly ever show their order. These were found by a
search among numbers with few bits, whose errors nearly tie; in each of them the order of one of the two sums decides, in most of them one
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
# tensor maximum and block in bf16; what the block maximum is brought to; the sum that decides; the orders of it that bring it to the other
ROWS = [
    ("3F80", "3E90BD003ED83CC03EFC3EE03EA0BEFC3D200000BEFCBE20BE583E503EF83F00", 4, 6, "backwards halves tree neighbours exact"),
    ("3FE0", "3E843E183C803E84BDB03EA0BE843EB43C803E943E203E70BED03ED4BDC03EE0", 4, 6, "backwards halves tree neighbours exact"),
    ("4078", "BE20BEC83F083F5C3F683F5CBDA0BEB0BD403F043F783F0CBEF0BF30BF64BEF0", 6, 6, "backwards halves tree neighbours exact"),
    ("3F60", "BDE03D803F183E30BF503F04BF2CBE603ED8BF503ED8BD003F603E50BF4CBEE8", 6, 6, "backwards halves tree neighbours exact"),
    ("3FF8", "3E9CBDF03DB0BDB0BE70BDE0BEF03E68BED0BEE83EB8BEF83DB0BEF0BE883E20", 6, 6, "backwards"),
    ("3FEC", "BEECBD80BE903D203ED43ED03D90BDC03E083E78BDC03EE03EA43EBC3D90BE50", 4, 6, "backwards"),
    ("3F80", "BE78BDF0BE38BE98BE483E483DB03E003EDCBDC03F00BE303F00BDF03D20BDB0", 6, 6, "halves"),
    ("3EE0", "BED43E78BE90BD80BEA43E8CBEE0BEA4BE28BE003EBC3D903E20BE80BE003E9C", 4, 6, "halves"),
    ("3F80", "BED8BDC0BF7C3EE03F24BEF8BF7C3F003D803E203F58BDE0BE40BF6CBF80BF60", 6, 6, "tree"),
    ("3FD0", "BF4C3EE83F383F303EF83E98BF503E00BF34BF143EF8BF08BEF8BEC03E903EA0", 4, 6, "tree"),
    ("3EF4", "3D003E8CBE783E683E20BEB43ED8BE103EA83E603EA0BEF43D20BE40BE94BECC", 6, 6, "neighbours"),
    ("3F78", "BF343E80BE60BDE0BF04BF14BEA03D80BF1C3D00BF2CBF503F343EB8BE803F78", 4, 6, "neighbours"),
    ("3F78", "BC003D40BD90BEE83E30BCC03E08BEE8BE603EF8BE403CC0BE08BE703EF8BE10", 6, 6, "exact"),
    ("4000", "BEA0BE30BEA03E903ED0BE103DC0BE60BEE03E50BF10BEC0BE00BE403ED0BD90", 6, 4, "backwards"),
    ("4060", "3DF0BE003F103ED03DC0BE903F403E603E90BE303F303EF03F203E80BE303F70", 4, 4, "backwards"),
    ("4050", "BE10BE903DA03F703E20BE90BE40BE703F303ED0BF503E90BE00BDD03EB0BDD0", 6, 4, "halves"),
    ("3F80", "3D803E70BD803DF03DD0BE603DB03F103F10BE50BF003E403DA0BE803E30BE50", 4, 4, "halves"),
    ("4020", "3F003E70BD80BF303F10BDD0BF50BEB0BDE03F30BED03E403E603D803E103DE0", 6, 4, "tree"),
    ("40F8", "3F58BF003EF0BEB0BEC0BE883D903E10BED8BDE0BE50BF30BE78BE703F48BEF8", 4, 4, "tree"),
    ("3FC8", "BDE0BE183EE83E08BF103F203F58BDD83E78BF18BE18BE603E78BEC83F303D80", 6, 4, "neighbours"),
    ("4000", "3F103DD0BF60BEB0BD803EC0BF00BEB0BDC0BF70BEB03DF03E00BEF03DC03E50", 4, 4, "neighbours"),
    ("3F80", "BEB0BF60BF00BF70BE603E10BD90BE003F70BE803E70BE603E00BDA0BEE0BE80", 6, 4, "exact"),
    ("3F80", "3E10BDC03F603DF0BDA0BF103EE0BEB03DD03D903EC03EA03F503F20BF003EA0", 4, 4, "exact"),
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


def chosen(x: list[Any], amax: Any, order_6: str, order_4: str) -> tuple[int, int, list[int]]:
    """What the block maximum is brought to, the scale code and the element codes, with an order for each of the two sums."""
    six, four = brought_to(6, x, amax, order_6), brought_to(4, x, amax, order_4)
    return (4, *four[1:]) if four[0] < six[0] else (6, *six[1:])


def operands(text: str) -> Any:
    return (np.array([int(text[i : i + 4], 16) for i in range(0, len(text), 4)], np.uint32) << 16).view(F)


@pytest.mark.parametrize(("amax", "block", "top", "decides", "others"), ROWS)
def test_a_block_that_tells_the_orders_apart(amax: str, block: str, top: int, decides: int, others: str) -> None:
    """Another order of the sum that decides, or of both sums, takes the other scale; another order of the other sum alone never does."""
    x, largest = operands(block), operands(amax)[0]
    taken, scale, codes = chosen(list(x), largest, "sequential", "sequential")
    assert taken == top
    differing = {
        sums: [order for order in ORDERS if chosen(list(x), largest, *(order if s in sums else "sequential" for s in "64"))[0] != top]
        for sums in ("6", "4", "64")
    }
    assert differing == {"6": [], "4": [], "64": others.split(), str(decides): others.split()}
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
    seen = {(order, decides, top) for _, _, top, decides, others in ROWS for order in others.split()}
    assert seen == {(order, decides, top) for order in ORDERS for decides in (4, 6) for top in (4, 6)}
