"""How much a dot product depends on the order along K, and when it cannot: from the facts of a datapath, and measured."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from emu.arrays.values import Codes
from emu.base import philox
from emu.engines.datapath import run_add, run_matmul
from emu.ops.operands import Operand
from emu.ops.order import Order
from emu.spec.datapath import DatapathPlan
from research.datapath.data import KEY
from research.datapath.errors import Operands, short
from research.datapath.exact import ulp_exp

KINDS: Final = {
    "inside_groups": "elements inside each group",
    "inside_instructions": "scale blocks inside each instruction",
    "across_instructions": "scale blocks anywhere along K",
    "direction": "instructions from the last to the first",
    "split_k": "2 or 4 partial sums over K, in runs or interleaved",
}
DRAWS: Final = 4
SPLITS: Final = tuple(Order(split_k=count, parts=parts) for count in (2, 4) for parts in ("consecutive", "interleaved"))


@dataclass(frozen=True)
class Spread:
    """What other orders do to results.

    changed: share of outputs that some order changes.   largest_ulp, rms_ulp: largest minus smallest result of an output over the orders,
    in ulps of its exact value.   orders: how many were tried, the given one among them.
    """

    changed: float
    largest_ulp: float
    rms_ulp: float
    orders: int


def invariant(plan: DatapathPlan, kind: str) -> bool | None:
    """Tell from the facts whether a kind of reordering can never change a finite result; None: the datapath cannot be ordered so.

    The products of a group are added exactly. The terms of one fused step are cut one by one to a unit that depends on the largest
    exponent alone, then added exactly, so their order is free; that is a whole instruction where the step is (and one sum: split 1).
    From one instruction to the next D is rounded, unless a register runs through K; that register has no partial sums.
    """
    if kind == "inside_groups":
        return plan.group == 1 or plan.facts.scale.apply in ("group", "promote")
    if kind == "split_k" and plan.accumulator is not None:
        return None
    if kind == "inside_instructions" and plan.step == plan.facts.k and plan.facts.split == 1:
        return True
    return plan.accumulator is not None


def spread(found: Operands, plan: DatapathPlan, kind: str, engine: str = "auto", jobs: int = 1) -> Spread:
    """Run a product in several orders and measure how far the results lie apart."""
    results = [run_matmul(found.a.codes, found.b.codes, found.a.scales, found.b.scales, None, plan, engine, jobs)]
    results += list(_results(found, plan, kind, engine, jobs))
    codes = np.stack(results)
    values = codes.view(np.float32).astype(np.float64)
    exact = found.exact
    numbers = exact.numbers.reshape(-1)  # an exact zero has no ulp: its spread counts as changed only
    units = np.array([math.ldexp(1.0, ulp_exp(number, exact.lsb_exp, plan.d)) if number else math.inf for number in numbers])
    apart = (values.max(axis=0) - values.min(axis=0)).reshape(-1) / units
    changed = np.count_nonzero((codes != codes[0]).any(axis=0)) / apart.size
    return Spread(short(changed), short(float(apart.max())), short(math.sqrt(math.fsum(apart * apart) / apart.size)), len(results))


def _results(found: Operands, plan: DatapathPlan, kind: str, engine: str, jobs: int) -> Iterator[Codes]:
    """Yield the results of the other orders of a kind."""
    k = found.a.codes.shape[1]
    if kind == "direction":
        yield _ordered(found, plan, Order(direction="descending"), engine, jobs)
    elif kind == "split_k":
        for order in SPLITS:
            yield _ordered(found, plan, order, engine, jobs)
    else:
        for draw in range(DRAWS):
            places = permutation(plan, kind, k, draw)
            a, b = (moved(side, places) for side in (found.a, found.b))
            yield run_matmul(a.codes, b.codes, a.scales, b.scales, None, plan, engine, jobs)


def permutation(plan: DatapathPlan, kind: str, k: int, draw: int) -> NDArray[Any]:
    """Return a drawn reordering of K elements: result place -> old place. Whole scale blocks move, unless elements move inside groups."""
    unit = max(plan.block, plan.group)
    size, within = {
        "inside_groups": (1, plan.group),
        "inside_instructions": (unit, plan.facts.k),
        "across_instructions": (unit, k),
    }[kind]
    words = philox.words(KEY, k // size, stream=philox.stream_of(f"order/{kind}/{draw}"))
    inner = np.argsort(words.reshape(-1, within // size), axis=1, kind="stable")
    units = (inner + np.arange(len(inner))[:, None] * (within // size)).reshape(-1)
    places: NDArray[Any] = (units[:, None] * size + np.arange(size)).reshape(-1)
    return places


def moved(side: Operand, places: NDArray[Any]) -> Operand:
    """Return an operand with its elements moved; scales move with their blocks."""
    codes = np.ascontiguousarray(side.codes[:, places])
    if side.scales is None:
        return replace(side, codes=codes)
    return replace(side, codes=codes, scales=np.ascontiguousarray(side.scales[:, places[:: side.block] // side.block]))


def _ordered(found: Operands, plan: DatapathPlan, order: Order, engine: str, jobs: int) -> Codes:
    """Chain the instructions as an order says, and join partial sums."""
    k = plan.facts.k
    parts: list[Codes] = []
    for chain in order.chains(found.a.codes.shape[1] // k):
        places = (np.array(chain)[:, None] * k + np.arange(k)).reshape(-1)
        a, b = (moved(side, places) for side in (found.a, found.b))
        parts.append(run_matmul(a.codes, b.codes, a.scales, b.scales, None, plan, engine, jobs))
    total = parts[0]
    for part in parts[1:]:
        total = run_add(total, part, plan, engine)
    return total
