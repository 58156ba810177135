"""dot of every datapath, operand format, scale format and block; matmul with orders and epilogues; instructions on raw registers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import draw
import numpy as np
from names import Names, width

import emu

Case = tuple[str, Any]
ORDERS = {
    "ascending": {},
    "split2": {"split_k": 2},
    "split3_interleaved": {"split_k": 3, "parts": "interleaved"},
    "descending": {"direction": "descending"},
    "split4_pairwise": {"split_k": 4, "combine": "pairwise"},
    "zero_pad": {"tail": "zero_pad"},
}


def dot(names: Names) -> Iterator[Case]:
    """Yield every choice of every datapath x engine x kind of operands."""
    for name in names.ids("datapath"):
        for a, b, scale, block in choices(names.get("datapath", name).facts):
            for engine in names.engines:
                for kind in ("uniform", "near"):
                    key = f"dot/{engine}/{name}/{a}x{b}/{scale}/{block}/{kind}"
                    yield key, dot_call(names, name, (a, b, scale, block), kind, engine)


def choices(facts: Any) -> list[tuple[str, str, str | None, int]]:
    """Return operand formats, scale format and block (0: none) that a datapath names; every pair, so some are refused."""
    if not hasattr(facts, "a"):
        return [("e2m1", "e2m1", None, 0)]
    offered = facts.offered if hasattr(facts, "offered") else facts.scale  # of a datapath of levels; of one fused step
    scales = [(name, block) for name in offered.formats for block in offered.blocks or (16,)] if offered else []
    scales = scales or [(None, 0)]
    return [(a, b, scale, block) for a, b in product(facts.a, facts.b) for scale, block in scales]


def _near(codes: Any, bits: int) -> Any:
    """Return scale codes of one narrow band of exponents, so that sums neither overflow nor lose all of their terms."""
    middle = 1 << (bits - 2)
    return (middle + codes % np.uint64(max(1, min(24, middle)))).astype(codes.dtype)


def dot_call(names: Names, name: str, choice: tuple[str, str, str | None, int], kind: str, engine: str) -> Any:
    """Return the call of a dot product on drawn operands. choice: formats of A and B, scale format, block (0: no scales)."""

    def call() -> dict[str, Any]:
        a, b, scale, block = choice
        facts = names.get("datapath", name).facts
        k = int(getattr(facts, "k", 64))
        rows, length = (2, k) if engine == "exact" else (12, 2 * k)
        key = f"{name} {choice} {kind}"
        given: dict[str, Any] = {}
        for side, fmt in (("a", a), ("b", b)):
            codes = draw.integers(f"{key} {side}", 12 * 2 * k, width(names.get("format", fmt)))
            given[f"{side}_codes"] = codes.reshape(12, -1)[:rows, :length]
            if scale is not None:
                bits = width(names.get("format", scale))
                codes = draw.integers(f"{key} {side} scale", 12 * 2 * k // block, bits).reshape(12, -1)[:rows, : length // block]
                given[f"{side}_scales"] = _near(codes, bits) if kind == "near" else codes
        bits = width(names.get("format", getattr(facts, "c", "fp32")))
        c = draw.integers(f"{key} c", 12, bits)[:rows]
        given["c"] = c if kind == "uniform" else (c % (1 << (bits - 4))) + (7 << (bits - 5))
        given["c"] = given["c"].astype(c.dtype)
        found = emu.dot(**given, datapath=name, a_format=a, b_format=b, scale_format=scale, engine=names.engines[engine])
        return {**given, "d": found}

    return call


def matmul(names: Names) -> Iterator[Case]:
    """Yield every (recipe, datapath) that fit, x engine x order x place of C; what does not fit is one refusal."""
    for recipe, name in product(names.ids("recipe"), names.ids("datapath")):
        pair = _pair(names, recipe)
        if isinstance(pair, str):
            yield f"matmul/{recipe}/{name}", lambda pair=pair: {"no operands": pair}
            continue
        try:
            emu.matmul(*pair, name)
        except Exception:
            yield f"matmul/{recipe}/{name}", lambda pair=pair, name=name: {"d": emu.matmul(*pair, name)}
            continue
        for engine in names.engines:
            for order in ORDERS if engine != "exact" else ("ascending", "split2"):
                for late in (None, "before", "after", "none") if order == "ascending" else ("none",):
                    yield f"matmul/{engine}/{recipe}/{name}/{order}/{late}", _matmul(pair, name, order, late, names.engines[engine])


def _pair(names: Names, recipe: str) -> Any:
    """Return quantized A [5, 256] and B [256, 4] of a recipe, or why there are none."""
    from block_cases import operands

    facts = names.get("recipe", recipe)
    found = []
    for side, rows in (("a", 5), ("b", 4)):
        x = draw.normals(f"matmul {recipe} {side}", (rows, 256))
        try:
            found.append(emu.quantize(x, recipe, **operands(facts, names, x.size, f"matmul {recipe} {side} random")))
        except Exception as error:
            return f"{type(error).__name__}"
    return found[0], found[1].T


def _matmul(pair: Any, name: str, order: str, late: str | None, engine: str) -> Any:
    def call() -> dict[str, Any]:
        named: dict[str, Any] = {"order": emu.Order(**ORDERS[order])}
        if late != "none":
            named["c"] = draw.normals(f"matmul {name} c", (5, 4)) if late != "before" else draw.integers("matmul c", 20, 32).reshape(5, 4)
            named["epilogue"] = late
        return {"d": emu.matmul(*pair, name, engine=engine, bits=True, **named)}

    return call


def instruction(names: Names) -> Iterator[Case]:
    """Yield every form of every instruction x engine x answer to its open questions, on drawn registers."""
    for family in names.ids("instruction"):
        model = names.get("instruction", family)
        questions = [(item.fact, option) for item in model.open for option in item.options if item.fact]
        for form in sorted(set(model.accepted)):
            for answers in [{}, *({fact: option} for fact, option in questions), *_pairs(questions)]:
                for engine in names.engines:
                    word = ",".join(f"{fact}={option}" for fact, option in answers.items())
                    for small in (False, True):
                        key = f"instruction/{engine}/{form}/{word}/{'small' if small else 'any'}"
                        yield key, _instruction(names, form, answers, engine, small)


def _pairs(questions: list[tuple[str, str]]) -> list[dict[str, str]]:
    """Return answers to two open questions at once."""
    return [{one[0]: one[1], two[0]: two[1]} for i, one in enumerate(questions) for two in questions[i + 1 :] if one[0] != two[0]]


def _instruction(names: Names, form: str, answers: dict[str, str], engine: str, small: bool) -> Any:
    def call() -> dict[str, Any]:
        found = emu.instruction(form, **answers)
        count = 6 if engine == "exact" else 40
        given = _matrices(names, found, form) if found.facts.performs == "mma" else _registers(names, found, form, count, small)
        result = found(**given, engine=names.engines[engine])
        parts = result if isinstance(result, tuple) else (result,)
        return {**given, **{f"result{i}": np.asarray(part) for i, part in enumerate(parts)}}

    return call


def _registers(names: Names, found: Any, form: str, count: int, small: bool) -> dict[str, Any]:
    """Return count drawn registers for each operand of a conversion or quantizer; small: no lane is NaN or Inf."""
    facts = found.facts
    lane = width(names.get("format", facts.source)) if facts.source else 32
    bits = {item.name: item.lanes * (item.slot or lane) for item in facts.operands or ()}
    values = set(bits)
    bits |= {item.name: item.bits for item in (facts.random, facts.scale) if item is not None}
    given = {}
    low = sum(1 << bit for bit in range(128) if bit % lane != max(lane - 2, 0))
    for name in found.operands:
        size = bits.get(name, 16 if name == facts.signs_operand else 32)
        if size <= 64:
            drawn = draw.integers(f"{form} {name}", 40, size)[:count]
        else:
            drawn = draw.integers(f"{form} {name}", 40 * -(-size // 32), 32).reshape(40, -1)[:count]
        keeps = drawn.dtype.type(low & (1 << 8 * drawn.dtype.itemsize) - 1)
        given[name] = drawn & keeps if small and name in values else drawn
    return given


def _matrices(names: Names, found: Any, form: str) -> dict[str, Any]:
    """Return drawn matrices of codes for an mma: 3 rows of A, 2 of B, their scales, C."""
    facts = found.facts
    path = names.get("datapath", facts.datapath).facts
    if not hasattr(path, "scale"):
        return {"a": np.zeros((1, facts.k), np.uint8), "b": np.zeros((1, facts.k), np.uint8)}
    scale = facts.scale_format or next(iter(path.scale.formats), None)
    block = facts.block or next(iter(path.scale.blocks), 0)
    given: dict[str, Any] = {}
    for side, rows in (("a", 3), ("b", 2)):
        bits = width(names.get("format", getattr(facts, side) or getattr(path, side)[0]))
        given[side] = draw.integers(f"{form} {side}", rows * facts.k, bits).reshape(rows, -1)
        if scale is not None:
            codes = draw.integers(f"{form} {side} scale", rows * facts.k // block, width(names.get("format", scale)))
            given[f"{side}_scales"] = _near(codes, width(names.get("format", scale))).reshape(rows, -1)
    given["c"] = draw.integers(f"{form} c", 6, width(names.get("format", path.c))).reshape(3, 2)
    return given
