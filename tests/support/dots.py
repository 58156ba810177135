"""Operands of dot products for tests of the columns: seeded codes, edge codes often, in the ways that datapaths tell apart.

Not here: directed rows with a known answer (tests/engines/exact, emu.vectors), what must come out (emu.engines.exact.datapath).
"""

from __future__ import annotations

from math import lcm
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from emu import strategies
from emu.base.caches import Cache
from emu.base.errors import OpenError
from emu.engines.exact.datapath import dot
from emu.spec import derive, get, names
from emu.spec.datapath import DatapathPlan, known_facts, resolve
from emu.spec.models import Datapath, Format
from emu.spec.models.format import ExponentFacts

Codes = NDArray[np.unsignedinteger]


class Operands(NamedTuple):
    """Rows in pairs: a, b [R, K], scales [R, K / block] or None, c [R]."""

    a: Codes
    b: Codes
    scale_a: Codes | None
    scale_b: Codes | None
    c: Codes


def known_datapaths() -> list[Datapath]:
    """Return every datapath that can be computed."""
    found = []
    for name in names("datapath"):
        model: Datapath = get("datapath", name)
        try:
            known_facts(model)
        except OpenError:
            continue
        found.append(model)
    return found


def changed(plan: DatapathPlan, **parts: dict[str, Any] | Any) -> DatapathPlan:
    """Return a plan whose datapath has other facts. parts: a key of facts and its new value, or a dict of keys inside it."""
    facts = plan.facts
    update = {key: getattr(facts, key).model_copy(update=new) if isinstance(new, dict) else new for key, new in parts.items()}
    model = plan.datapath.model_copy(update={"facts": facts.model_copy(update=update)})
    return resolve(model, plan.a, plan.b, plan.scale, plan.block or None)


def code_dtype(fmt: Format) -> type[np.unsignedinteger]:
    """Return the dtype of a format's codes with the unused bits above them."""
    bits = derive.codes(fmt).bits + derive.unused_high_bits(fmt)
    return np.uint8 if bits <= 8 else np.uint16 if bits <= 16 else np.uint32


def draw_operands(rng: np.random.Generator, plan: DatapathPlan, rows: int, k: int) -> Operands:
    """Return random operands of one character: dense or sparse, finite or with specials, scales near or far, cancelling halves.

    k: rounded up to whole instructions and blocks.
    """
    unit = lcm(plan.facts.k, plan.block or 1)
    k = -(-k // unit) * unit
    special = bool(rng.random() < 0.3)
    a, b = (_codes(rng, fmt, (rows, k), special) for fmt in (plan.a, plan.b))
    if rng.random() < 0.3:
        _cancel(rng, a, b, derive.codes(plan.b).sign_bit)
    scale_a, scale_b = None, None
    if plan.scale is not None:
        scale_a, scale_b = (_scales(rng, plan.scale, (rows, k // plan.block), special) for _ in "ab")
    c = _codes(rng, plan.c, (rows,), special)
    if rng.random() < 0.4:
        c &= c.dtype.type(derive.codes(plan.c).sign_bit)
    return Operands(a, b, scale_a, scale_b, c)


def _codes(rng: np.random.Generator, fmt: Format, shape: tuple[int, ...], special: bool) -> Codes:
    """Return codes: any, edge ones, zeros, in parts that vary from call to call."""
    derived = derive.codes(fmt)
    edges = [code for code in strategies.edge_codes(fmt) if special or derive.is_finite_code(code, fmt)]
    found = rng.integers(0, 1 << derived.bits, shape)
    often = rng.random(shape) < rng.choice([0, 0.1, 0.5, 0.9])
    if not special:
        often |= ~_finite(fmt, found)
    found = np.where(often, rng.choice(edges, shape), found)
    if derived.has_zero:
        zeros = rng.choice([0, derived.sign_bit if derived.neg_zero else 0], shape)
        found = np.where(rng.random(shape) < rng.choice([0, 0, 0.5, 0.9, 0.97]), zeros, found)
    return found.astype(code_dtype(fmt))


_finite_tables: Cache[str, Any] = Cache("support.dots._finite_tables", 64)


def _finite(fmt: Format, codes: Any) -> Any:
    derived = derive.codes(fmt)
    if derived.bits <= 16:
        known = _finite_tables.get(fmt.facts_digest)
        if known is None:
            known = _finite_tables.keep(fmt.facts_digest, np.array([derive.is_finite_code(code, fmt) for code in range(1 << derived.bits)]))
        return known[codes]
    assert derived.inf is not None
    return (codes & ~derived.sign_bit) < derived.inf


def _scales(rng: np.random.Generator, fmt: Format, shape: tuple[int, ...], special: bool) -> Codes:
    """Return scales: anywhere, or around one of them."""
    found = _codes(rng, fmt, shape, special)
    top = derive.codes(fmt).max_code
    if rng.random() < 0.5 and top < 1 << 16:
        spread = int(rng.choice([1, 8, 40]))
        near = int(rng.integers(0, top + 1)) + rng.integers(-spread, spread + 1, shape)
        keep = rng.random(shape) < rng.choice([0, 0.2])
        found = np.where(keep, found, np.clip(near, 0 if isinstance(fmt.facts, ExponentFacts) else 1, top)).astype(found.dtype)
    return found


def _cancel(rng: np.random.Generator, a: Codes, b: Codes, sign_bit: int) -> None:
    """Repeat neighbours, or the first half, with B negated; then change a few elements."""
    half = a.shape[1] // 2
    one, two = (slice(0, half), slice(half, 2 * half)) if rng.random() < 0.5 else (slice(0, None, 2), slice(1, None, 2))
    a[:, two] = a[:, one]
    b[:, two] = b[:, one] ^ b.dtype.type(sign_bit)
    if rng.random() < 0.5:
        a[np.arange(len(a)), rng.integers(0, a.shape[1], len(a))] = 1


def exact_codes(given: Operands, plan: DatapathPlan) -> list[int]:
    """Return what the reference model gives for each row. Raises: OpenError."""
    rows = [[[] if part is None else part[row].tolist() for part in given[:4]] for row in range(len(given.c))]
    return [dot(a, b, sa, sb, int(c), plan).code for (a, b, sa, sb), c in zip(rows, given.c, strict=True)]


def plan_of(name: str) -> DatapathPlan:
    """Return the plan of a name such as nv_like/e1m2xe1m2/ue4m3/16."""
    datapath, *parts = name.split("/")
    chosen: dict[str, Any] = {}
    for part in parts:
        if "x" in part:
            chosen["a"], chosen["b"] = part.split("x")
        else:
            chosen["block" if part.isdigit() else "scale"] = int(part) if part.isdigit() else part
    return resolve(datapath, **chosen)


def _split(text: str, fmt: Format) -> list[int]:
    digits = -(-(derive.codes(fmt).bits + derive.unused_high_bits(fmt)) // 4)
    return [int(text[i : i + digits], 16) for i in range(0, len(text), digits)]


def operands_of(row: dict[str, Any], plan: DatapathPlan) -> Operands:
    """Return a worked row of tests/engines/exact/datapath_rows.yaml as operands of one row."""
    scales = [None if plan.scale is None else np.array([_split(row[key], plan.scale)], code_dtype(plan.scale)) for key in ("sfa", "sfb")]
    a, b = (np.array([_split(row[key], fmt)], code_dtype(fmt)) for key, fmt in (("a", plan.a), ("b", plan.b)))
    return Operands(a, b, scales[0], scales[1], np.array([int(row["c"], 16)], code_dtype(plan.c)))
