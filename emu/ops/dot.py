"""dot: rows of raw codes through a datapath. Which engine computes is in engines; Quantized tensors are in matmul.py."""

from __future__ import annotations

from typing import Any

import numpy as np

from emu.arrays.values import Codes, check_flags, float_dtype, plain_array, to_codes
from emu.base.errors import OperandError, ShapeError
from emu.engines.datapath import run_dot, run_levels
from emu.engines.exact.datapath import check_lengths
from emu.engines.exact.datapath import dot as dot_exact
from emu.engines.exact.decode import decode_code
from emu.ops.interop import takes_tensors
from emu.ops.operands import read_codes
from emu.spec import derive, get
from emu.spec.datapath import DatapathPlan, known_facts, resolve
from emu.spec.levels import LevelsPlan, resolve_levels
from emu.spec.models import Datapath, Format
from emu.spec.models.levels import DatapathLevels


@takes_tensors
def dot(
    a_codes: Any,
    b_codes: Any,
    datapath: str | Datapath,
    a_scales: Any = None,
    b_scales: Any = None,
    c: Any = None,
    a_format: str | Format | None = None,
    b_format: str | Format | None = None,
    scale_format: str | Format | None = None,
    stages: bool = False,
    engine: str = "auto",
    random: Any = None,
    flags: bool = False,
) -> Any:
    """Return the dot product of rows of raw codes, as a datapath computes it: one ascending chain over K.

    a_codes, b_codes: integers, none negative, arrays or tensors [..., K]; leading axes broadcast. K: a multiple of the instruction's k.
    a_scales, b_scales: scale codes [..., K / block]; left out where the datapath has none.   c: codes or floats of its format,
    [...]; None: +0, or nothing where a datapath of levels has no C.
    a_format, b_format, scale_format: where the datapath leaves them free.
    stages: also return the fused steps of every row, from the reference model; of a datapath of levels what each level leaves.
    random: unsigned integers [..., words], one for each rounding of a datapath of levels that draws, in the order of LevelsPlan.draws.
    flags: also return the exception flags of every row, uint8 [...]: bit i is the flag i of the datapath's flags.report.
    Returns: codes of the result format, [...]; with flags (codes, flags);
    with stages (codes, list over the rows of lists of emu.engines.exact.datapath_step.Step, or
    of dicts from stage to emu.engines.exact.levels.Number); with both (codes, list, flags).
    NaN, infinity, zero, subnormals, overflow: as the datapath says.   Exactness: equals emu.engines.exact.datapath.dot for every engine.
    Raises: SpecError (names, a choice that is missing), OpenError (unknown datapath, open bits, accumulator), ShapeError, OperandError,
    EngineError.   Source: the datapath's sources.   Tests: tests/ops/test_api_matmul.py.
    """
    model: Datapath = get("datapath", datapath)
    a, b = read_codes(a_codes, "a_codes"), read_codes(b_codes, "b_codes")
    scale_a, scale_b = (None if item is None else read_codes(item, name) for item, name in ((a_scales, "a_scales"), (b_scales, "b_scales")))
    chosen = (a_format, b_format, scale_format, _block_of(model, a, scale_a))
    plan = resolve_levels(model, *chosen) if isinstance(model.facts, DatapathLevels) else resolve(model, *chosen)
    lead = _leading(a, b, plan)
    rows_a, rows_b = (_rows(item, lead, name) for item, name in ((a, "a_codes"), (b, "b_codes")))
    for item, name in ((scale_a, "a_scales"), (scale_b, "b_scales")):
        _check_given(item, name, plan)
    rows_sa = None if scale_a is None else _rows(scale_a, lead, "a_scales")
    rows_sb = None if scale_b is None else _rows(scale_b, lead, "b_scales")
    check_operands(rows_a, rows_b, rows_sa, rows_sb, plan)
    raised = flag_bytes(model, (len(rows_a),)) if flags else None
    if isinstance(plan, LevelsPlan):
        words = None if random is None else _rows(read_codes(random, "random"), lead, "random")
        doing = "exact" if stages and engine == "auto" else engine  # no other engine keeps what levels left
        found, left = run_levels(rows_a, rows_b, rows_sa, rows_sb, levels_addend(c, lead, plan), words, plan, doing, raised)
        out = [found.reshape(lead), *([left] if stages else []), *([] if raised is None else [raised.reshape(lead)])]
        return tuple(out) if len(out) > 1 else out[0]
    if random is not None:
        raise OperandError(f"random: datapath {model.id} draws nothing: leave random out")
    addend = read_addend(c, lead, plan).reshape(-1)
    if stages:
        return _stages(rows_a, rows_b, rows_sa, rows_sb, addend, lead, plan, engine)
    return run_dot(rows_a, rows_b, rows_sa, rows_sb, addend, plan, engine).reshape(lead)


def flag_bytes(model: Datapath, shape: tuple[int, ...]) -> Codes:
    """Return uint8 zeros for the exception flags of results of a shape. Raises: OperandError (a datapath that reports none)."""
    check_flags(model)
    return np.zeros(shape, np.uint8)


def _block_of(model: Datapath, codes: Codes, scales: Codes | None) -> int | None:
    """Return the block size where the datapath takes several: elements per scale, as the arrays have them."""
    offered = model.facts.offered if isinstance(model.facts, DatapathLevels) else known_facts(model).scale
    if offered is None or len(offered.blocks) < 2 or scales is None or not scales.shape[-1]:
        return None
    return int(codes.shape[-1] // scales.shape[-1])


def levels_addend(c: Any, lead: tuple[int, ...], plan: LevelsPlan) -> Codes | None:
    """Return C of a datapath of levels, [R]; None where it has none. Raises: OperandError (C where there is none; as read_addend)."""
    if plan.c is not None:
        return read_addend(c, lead, plan).reshape(-1)
    if c is not None:
        raise OperandError(f"c: datapath {plan.datapath.id} has no C: leave it out")
    return None


def _leading(a: Codes, b: Codes, plan: DatapathPlan | LevelsPlan) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(a.shape[:-1], b.shape[:-1])
    except ValueError:
        raise ShapeError(f"datapath {plan.datapath.id}: the leading axes of a {a.shape} and b {b.shape} do not broadcast") from None


def _rows(codes: Codes, lead: tuple[int, ...], name: str) -> Codes:
    try:
        wide = np.broadcast_to(codes, (*lead, codes.shape[-1]))
    except ValueError:
        raise ShapeError(f"{name}: the leading axes of {codes.shape} do not broadcast to {lead}") from None
    return np.ascontiguousarray(wide).reshape(-1, codes.shape[-1])


def _check_given(scales: Codes | None, name: str, plan: DatapathPlan | LevelsPlan) -> None:
    if (scales is None) != (plan.scale is None):
        words = "takes no scales: leave them out" if plan.scale is None else f"takes one {plan.scale.id} scale per {plan.block} elements"
        raise ShapeError(f"datapath {plan.datapath.id} {words}: {name} is {'missing' if scales is None else 'given'}")


def check_operands(a: Codes, b: Codes, scale_a: Codes | None, scale_b: Codes | None, plan: DatapathPlan | LevelsPlan) -> None:
    """Check lengths and codes of rows against a plan. Raises: ShapeError, OperandError, OpenError (an unused bit of a scale)."""
    counts = [0 if item is None else int(item.shape[-1]) for item in (scale_a, scale_b)]
    check_lengths(int(a.shape[-1]), int(b.shape[-1]), counts[0], counts[1], plan)
    for name, codes, fmt in (("a", a, plan.a), ("b", b, plan.b), ("a_scales", scale_a, plan.scale), ("b_scales", scale_b, plan.scale)):
        if codes is None or fmt is None or not codes.size:
            continue
        bits, spare, largest = derive.codes(fmt).bits, derive.unused_high_bits(fmt), int(codes.max())
        if largest >> (bits + spare):
            raise OperandError(f"{name}: code {largest:#x} is no {fmt.id} code: it has more than {bits + spare} bits")
        if largest >> bits and (name in ("a", "b") or plan.unused_bits == "open"):
            decode_code(largest, fmt)


def read_addend(c: Any, shape: tuple[int, ...], plan: DatapathPlan | LevelsPlan) -> Codes:
    """Return C as codes of its format, broadcast to a shape; None gives +0. Raises: OperandError (dtype), ShapeError."""
    assert plan.c is not None
    dtype = float_dtype(plan.c)
    word = np.dtype(f"u{dtype.itemsize}")
    if c is None:
        return np.zeros(shape, word)
    array = plain_array(c, "c")
    if array.dtype.kind in "iu":
        codes, _ = to_codes(array, plan.c)
    elif array.dtype == dtype:
        codes = array.view(word)
    else:
        raise OperandError(f"c: dtype {array.dtype} is not taken: give {dtype.name}, or integer {plan.c.id} codes")
    try:
        return np.ascontiguousarray(np.broadcast_to(codes.astype(word), shape))
    except ValueError:
        raise ShapeError(f"c: shape {array.shape} does not broadcast to {shape}") from None


def _stages(
    a: Codes, b: Codes, scale_a: Codes | None, scale_b: Codes | None, c: Codes, lead: tuple[int, ...], plan: DatapathPlan, engine: str
) -> tuple[Codes, list[Any]]:
    """Return the codes and every row's fused steps, from the reference model. Raises: OperandError (another engine)."""
    if engine not in ("auto", "exact"):
        raise OperandError(f"stages come from the reference model: leave engine={engine!r} out")

    def row(scales: Codes | None, i: int) -> list[int]:
        return [] if scales is None else scales[i].tolist()

    found = [dot_exact(a[i].tolist(), b[i].tolist(), row(scale_a, i), row(scale_b, i), int(c[i]), plan) for i in range(len(c))]
    return np.array([item.code for item in found], c.dtype).reshape(lead), [item.steps for item in found]
