"""matmul: quantized matrices through a datapath, with an order over K, tensor scales and C.

Results depend on how K is cut into instructions and joined again, on where C enters and on the epilogue: all three are arguments.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from emu.arrays.values import Codes, float_dtype
from emu.base.errors import OperandError, ShapeError, SpecError
from emu.engines.datapath import run_add, run_levels_matmul, run_matmul
from emu.engines.epilogue import run_scales
from emu.ops.dot import check_operands, flag_bytes, levels_addend, read_addend
from emu.ops.interop import takes_tensors
from emu.ops.operands import Operand, as_stored, operand_of, read_codes
from emu.ops.order import ASCENDING, Order
from emu.ops.quantized import Quantized
from emu.spec import get, names
from emu.spec.datapath import DatapathPlan, known_facts, resolve
from emu.spec.ieee import is_binary32
from emu.spec.levels import LevelsPlan, epilogue_plan, resolve_levels
from emu.spec.models import Datapath, Epilogue
from emu.spec.models.levels import DatapathLevels, EpilogueFacts, ScaleOrder
from emu.spec.registry import knows


@takes_tensors
def matmul(
    a: Quantized,
    b: Quantized,
    datapath: str | Datapath,
    c: Any = None,
    order: Order = ASCENDING,
    epilogue: str | Epilogue | EpilogueFacts | None = None,
    profile: str | None = None,
    bits: bool = False,
    engine: str = "auto",
    jobs: int = 1,
    random: Any = None,
    flags: bool = False,
    scales: Literal["together", "a_first", "b_first"] | None = None,
) -> Any:
    """Multiply two quantized matrices as a datapath does: D = A @ B + C.

    a: [..., M, K], blocked along its last axis.   b: [K, N], blocked along its first axis (`Quantized.T` turns one round).
    c: [..., M, N] codes or floats of the datapath's C; None: none.   order: how the instructions along K are chained and joined.
    epilogue: what scales of tensors and rows do; None: the datapath's own. With such scales and C there is no default: "before"
    multiplies C too, "after" adds it to the scaled result; both round each operation to nearest even; an EpilogueFacts says everything,
    as does the id of an epilogue of the spec, what a library does. Operands with scales of rows beside scales of blocks need one of both.
    profile: order of operations by which the recipes turn their tensor level into a multiplier; None: their first.
    bits: return codes instead of values.   jobs: threads; same bits.   random: unsigned integers [..., M, N, words] of a datapath of
    levels, one for each rounding that draws, in the order of LevelsPlan.draws.
    A datapath of levels runs as one chain over K, in the order of `order.direction`.
    flags: also return the exception flags of the datapath for every output, uint8 [..., M, N]: bit i is the flag i of its flags.report;
    what an epilogue does behind it raises none.
    scales: "together" multiplies D by the rounded product of both scales, "a_first" and "b_first" by one scale after the other; None: as
    the epilogue says, else together. Scales of rows have no default where both operands are scaled, and are not multiplied together.
    Returns: [..., M, N], dtype of the result format; with flags (it, flags).
    Exactness: equals `exact` bit for bit, for every engine, tile and number of jobs.
    Raises: ShapeError (axes, K, tail), SpecError (formats and blocks the datapath does not take), OpenError, OperandError, EngineError.
    Source: the datapath's sources.   Tests: tests/ops/test_api_matmul.py.
    """
    model: Datapath = get("datapath", datapath)
    in_levels = isinstance(model.facts, DatapathLevels)
    if not in_levels:
        known_facts(model)
    left, right = operand_of(a, "a", -1, profile), operand_of(b, "b", 0, profile)
    if isinstance(epilogue, Epilogue) or (
        isinstance(epilogue, str) and epilogue not in ("before", "after") and knows("epilogue", epilogue)
    ):
        epilogue = _of_library(epilogue, left, right, scales)
    left, right = _with_factor_apart(left, right, a, b, getattr(model.facts, "epilogue", None) if epilogue is None else epilogue)
    if left.codes.shape[-1] != right.codes.shape[-1] or a.shape[-1] != b.shape[0]:
        raise ShapeError(f"a has K = {a.shape[-1]} (its last axis), b has K = {b.shape[0]} (its first axis): they must be equal")
    shape = (*a.shape[:-1], b.shape[1])
    raised = flag_bytes(model, shape) if flags else None
    if in_levels:
        found = by_levels(model, left, right, c, shape, order, epilogue, scales, random, engine, bits, jobs, raised)
        return found if raised is None else (found, raised)
    if random is not None:
        raise OperandError(f"random: datapath {model.id} draws nothing: leave random out")
    facts = known_facts(model)
    plan = plan_of(model, left, right)
    left, right = filled(left, plan, order), filled(right, plan, order)
    check_operands(left.codes, right.codes, left.scales, right.scales, plan)
    rules = _epilogue_of(left, right, c, epilogue, scales, facts.epilogue, plan)
    addend = None if c is None else read_addend(c, shape, plan).reshape(len(left.codes), len(right.codes))
    late = rules is not None and rules.c_place == "after"
    found = chains(left, right, None if late else addend, order, plan, engine, jobs)
    if rules is not None:
        found = scaled(found, left, right, addend if late else None, rules, plan, engine)
    found = found.reshape(shape)
    return found if bits else found.view(float_dtype(plan.d))


def by_levels(
    model: Datapath,
    a: Operand,
    b: Operand,
    c: Any,
    shape: tuple[int, ...],
    order: Order,
    epilogue: Any,
    scales: ScaleOrder | None,
    random: Any,
    engine: str,
    bits: bool,
    jobs: int,
    flags: Codes | None = None,
) -> NDArray[Any]:
    """Multiply as a datapath of levels does: every output is one row of A and one column of B through all levels.

    shape: of the result.   flags: uint8 of that shape, filled.
    Raises: OperandError (an epilogue without C, several chains, C where there is none), SpecError (tensor scales: as _epilogue_of).
    """
    check_formats(model, a, b)
    if order.split_k > 1:
        raise OperandError(f"order: datapath {model.id} runs through the whole of K: split_k must be 1")
    plan = resolve_levels(model, a.format, b.format, a.scale_format, a.block or None)
    left, right = filled(a, plan, order), filled(b, plan, order)
    check_operands(left.codes, right.codes, left.scales, right.scales, plan)
    rules = _epilogue_of(a, b, c, epilogue, scales, plan.facts.epilogue, plan)
    late = rules is not None and rules.c_place == "after" and c is not None
    if order.direction != "ascending":
        (chain,) = order.chains(left.codes.shape[-1] // plan.facts.k)
        left, right = _take(left, chain, plan.facts.k), _take(right, chain, plan.facts.k)
    addend = levels_addend(None if late else c, shape, plan)
    words = None if random is None else _words(random, shape)
    operands = left.codes, right.codes, left.scales, right.scales, addend, words
    flat = None if flags is None else flags.reshape(-1)
    found: NDArray[Any] = run_levels_matmul(*operands, plan, engine, jobs, flat)
    if rules is not None:
        single = epilogue_plan(plan)
        found = scaled(found, a, b, read_addend(c, shape, single).reshape(found.shape) if late else None, rules, single, engine)
    found = found.reshape(shape)
    return found if bits else found.view(float_dtype(plan.d))


def scaled(d: Codes, a: Operand, b: Operand, c: Codes | None, rules: EpilogueFacts, plan: DatapathPlan, engine: str) -> Codes:
    """Return the result times the scales of tensors or rows, then + C where it is given. d, c: [M, N] codes. Raises: as the engines."""
    return run_scales(d, a.outer, b.outer, c, a.factor * b.factor, rules, plan, engine)


def _words(random: Any, shape: tuple[int, ...]) -> Codes:
    """Return random words as rows. Raises: ShapeError (not one row of words for each output), OperandError (no integers)."""
    words = read_codes(random, "random")
    if words.shape[:-1] != shape:
        raise ShapeError(f"random: shape {words.shape} is not {shape} and the words of a row")
    return np.ascontiguousarray(words).reshape(-1, words.shape[-1])


def check_formats(model: Datapath, a: Operand, b: Operand) -> None:
    """Refuse operands whose scales or blocks differ, and block scales that no level multiplies by. Raises: SpecError."""
    names = [item.scale_format.id if item.scale_format else "no scales" for item in (a, b)]
    if names[0] != names[1]:
        raise SpecError(f"datapath {model.id}: a has {names[0]}, b has {names[1]}: one scale format for both")
    if a.block != b.block:
        raise SpecError(f"datapath {model.id}: a has blocks of {a.block} along K, b of {b.block}: they must be equal")
    offered = model.facts.offered if isinstance(model.facts, DatapathLevels) else known_facts(model).scale
    if a.scale_format is not None and (offered is None or not offered.formats):
        raise SpecError(
            f"datapath {model.id} takes no block scales, and a and b have one {a.scale_format.id} for every {a.block} elements along K: "
            "name one that does, or write it (docs/datapath_levels.md)"
        )


def plan_of(model: Datapath, a: Operand, b: Operand) -> DatapathPlan:
    """Return the plan for two operands. Raises: SpecError (element formats, scale formats, block sizes)."""
    check_formats(model, a, b)
    return resolve(model, a.format, b.format, a.scale_format, a.block or None)


def filled(item: Operand, plan: DatapathPlan | LevelsPlan, order: Order) -> Operand:
    """Fill K up with zero codes to a whole instruction where the order says so."""
    rest = -item.codes.shape[-1] % plan.facts.k
    if not rest or order.tail == "error":
        return item
    codes = np.pad(item.codes, ((0, 0), (0, rest)))
    if item.scales is None:
        return replace(item, codes=codes)
    return replace(item, codes=codes, scales=np.pad(item.scales, ((0, 0), (0, codes.shape[-1] // item.block - item.scales.shape[-1]))))


def _of_library(wanted: str | Epilogue, a: Operand, b: Operand, scales: Any) -> EpilogueFacts:
    """Return the rule of a library for these operands. Raises: SpecError (unknown; rows without blocks), OperandError (scales)."""
    known: Epilogue = get("epilogue", wanted)
    if scales is not None:
        raise OperandError(f"scales {scales!r} beside epilogue {known.id}, which says the order itself: leave scales out")
    rows = [item for item in (a, b) if item.row_scales is not None]
    if any(item.scales is None for item in rows):
        raise SpecError(f"epilogue {known.id} speaks of scales of rows beside those of blocks, and a row here has one scale alone")
    return known.facts.rows if rows else known.facts.tensors


def _with_factor_apart(left: Operand, right: Operand, a: Quantized, b: Quantized, rules: Any) -> tuple[Operand, Operand]:
    """Return the operands with their stored scales where the rules multiply by the factor of the blocks apart. Raises: SpecError."""
    if not isinstance(rules, EpilogueFacts) or rules.factor == "scales" or not (left.is_scaled or right.is_scaled):
        return left, right
    why = f"an epilogue with factor {rules.factor}"
    return as_stored(left, a, "a", -1, why), as_stored(right, b, "b", 0, why)


def _known() -> str:
    return ", ".join(names("epilogue"))


def _epilogue_of(
    a: Operand, b: Operand, c: Any, wanted: Any, scales: Any, own: Any, plan: DatapathPlan | LevelsPlan
) -> EpilogueFacts | None:
    """Return the rules of the epilogue; None where there is nothing to scale. Raises: SpecError (a rule that is missing), OperandError."""
    if wanted not in ("before", "after", None) and not isinstance(wanted, EpilogueFacts):
        raise OperandError(f"epilogue {wanted!r} is unknown: before, after, an EpilogueFacts, or one of {_known()}")
    if wanted in ("before", "after") and c is None:
        raise OperandError(f"epilogue {wanted!r} places C, and c is missing: give c, or leave epilogue out")
    if scales not in (None, "together", "a_first", "b_first"):
        raise OperandError(f"scales {scales!r} is unknown: together, a_first or b_first")
    if not a.is_scaled and not b.is_scaled:
        if scales is not None:
            raise OperandError(f"scales {scales!r} orders scales of tensors or rows, and a and b have none: leave scales out")
        return None
    if not is_binary32(plan.d):
        raise SpecError(f"datapath {plan.datapath.id}: scales of tensors and rows multiply a binary32 result, not {plan.d.id}")
    given = wanted if isinstance(wanted, EpilogueFacts) else own if wanted is None and isinstance(own, EpilogueFacts) else None
    if given is None and (a.has_rows_and_blocks or b.has_rows_and_blocks):
        raise SpecError(
            f"{'a' if a.has_rows_and_blocks else 'b'} has scales of rows beside scales of blocks, and libraries differ in what multiplies "
            f"the sum first: give epilogue=EpilogueFacts(...), or what a library does: {_known()} (docs/datapath_levels.md)"
        )
    if given is None and wanted is None and c is not None:
        raise SpecError(
            f"datapath {plan.datapath.id} does not say where C enters when the operands have scales of tensors or rows: "
            'give epilogue="before" (C is scaled too) or "after" (C is added to the scaled result)'
        )
    if given is not None and given.c_place == "open" and c is not None:
        raise SpecError(
            "epilogue: nobody knows where C enters beside these scales: "
            "leave c out, or give its EpilogueFacts with a c_place of before or after"
        )
    if given is not None and given.factor == "alpha_last" and scales not in (None, "together"):
        raise OperandError(
            f"scales {scales!r}: the epilogue multiplies alpha, the product of both scales, by the factor of the blocks last"
        )
    rules = given or EpilogueFacts(alpha="rne", d="rne", c_place=wanted or "before", fused="no")
    return rules.model_copy(update={"scales": _scale_order(a, b, scales or rules.scales, plan)})


def _scale_order(a: Operand, b: Operand, wanted: ScaleOrder, plan: DatapathPlan | LevelsPlan) -> ScaleOrder:
    """Return the order of the scales; with one scaled operand all are the same. Raises: SpecError (scales of rows, and no order)."""
    if (a.row_scales is None and b.row_scales is None) or wanted == "together_or_a_first":
        return wanted
    if not (a.is_scaled and b.is_scaled):
        return "a_first"
    if wanted == "together":
        raise SpecError(
            f"datapath {plan.datapath.id}: scales of rows multiply the result one after the other, and kernels differ in the order: "
            'give scales="a_first" or "b_first" (docs/datapath_levels.md says which kernel does which)'
        )
    return wanted


def chains(a: Operand, b: Operand, c: Codes | None, order: Order, plan: DatapathPlan, engine: str, jobs: int) -> Codes:
    """Run every chain and join the results as the order says. Raises: OperandError, ShapeError (what cannot be cut)."""
    if plan.accumulator is not None and order.split_k > 1:
        raise OperandError(f"order: datapath {plan.datapath.id} keeps one register through K: split_k must be 1")
    # Each chain rounds as it goes, and so does each join: docs/how_it_works.md#order-along-k
    k = plan.facts.k
    found: list[Codes] = []
    for number, chain in enumerate(order.chains(a.codes.shape[-1] // k)):
        x, y = _take(a, chain, k), _take(b, chain, k)
        found.append(run_matmul(x.codes, y.codes, x.scales, y.scales, None if number else c, plan, engine, jobs))
    while len(found) > 1:
        if order.combine == "ascending":
            found = [run_add(found[0], found[1], plan, engine), *found[2:]]
        else:
            pairs = [found[i : i + 2] for i in range(0, len(found), 2)]
            found = [run_add(pair[0], pair[1], plan, engine) if len(pair) > 1 else pair[0] for pair in pairs]
    return found[0]


def _take(item: Operand, chain: list[int], k: int) -> Operand:
    """Return the elements and scales of some instructions, in their order."""
    total = item.codes.shape[-1] // k
    if chain == list(range(total)):
        return item
    codes = np.ascontiguousarray(item.codes.reshape(-1, total, k)[:, chain].reshape(len(item.codes), -1))
    if item.scales is None:
        return replace(item, codes=codes)
    if item.block > k:
        raise ShapeError(f"order: a block of {item.block} reaches over instructions of {k}: only one ascending chain can take it")
    scales = item.scales.reshape(-1, total, k // item.block)[:, chain].reshape(len(item.scales), -1)
    return replace(item, codes=codes, scales=np.ascontiguousarray(scales))
