"""The check of attention: exact questions, bit for bit, and random ones by their proven bound. Not here: why a set is exact (sets.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from time import perf_counter
from typing import Any, Final

import numpy as np

from emu.base.errors import OperandError, TargetError
from emu.base.text import readable
from emu.check.attention.bound import bound_of, cancelling, dequantized, fraction_of, mean_bound
from emu.check.attention.contract import Attention
from emu.check.attention.sets import (
    Buffered,
    Question,
    Shape,
    checked_shape,
    default_shapes,
    head_of,
    near,
    random_question,
    strict_question,
)
from emu.check.attention.target import AttentionTarget
from emu.check.matmul.epilogue import to_result
from emu.check.matmul.numbers import Bits
from emu.check.matmul.question import comparable
from emu.check.report.model import _BROKEN, Report
from emu.ops.functions import decode
from emu.spec import derive

TINY: Final = Fraction(1, 1 << 126)  # what a value of P below the normal range may lose
POWERS: Final = ({"q": 0, "k": 0, "v": 0}, {"q": 1, "k": -2, "v": 3}, {"q": -1, "k": 3, "v": -2})
ROWS: Final = 8  # of a question, rows that are held to the bound
TILES: Final = (16, 32, 64, 128)

NO_EXACT_SUM: Final = (
    "nothing is exact here: P = 1 becomes codes whose sums are no powers of two, and kernels divide by those in several ways; "
    "of a kernel that gives p_codes too, the codes are compared"
)


@dataclass
class AttentionReport(Report):
    """What a check of attention found, beside what every report says.

    exact, bounded: outputs compared bit for bit, and with their bound.   bound_ratio: largest error over the bound.
    straddling: values of P whose code two right kernels may choose differently.   exposed: did the kernel show its codes of P.
    located: one mistake that gives every wrong exact output; empty where none does.
    """

    exact: int = 0
    bounded: int = 0
    bound_ratio: float | None = None
    straddling: int = 0
    exposed: bool = False
    located: str = ""

    def text(self) -> str:
        """Return the report as text to read."""
        return readable(_lines(self))


def _lines(report: AttentionReport) -> Iterator[str]:
    who = f"{report.target} against {report.contract}"
    if report.verdict in _BROKEN:
        yield f"{report.verdict.upper()}: {report.message or _BROKEN[report.verdict]}: {who}"
    elif report.verdict == "differs":
        yield f"DIFFERS in {report.differing} of {report.compared} outputs: {report.message}: {who}"
        yield f"  located: {report.located or 'no single mistake that was tried gives these outputs'}"
    else:
        yield f"pass, {report.exact} outputs equal and {report.bounded} within their bound: {who}"
    if report.bound_ratio is not None:
        yield f"  largest error of a row with a bound: {report.bound_ratio:.3g} of the bound"
    if report.exposed:
        yield "  the codes of P that the kernel showed were compared"
    elif report.straddling:
        yield f"  {report.straddling} values of P straddle a threshold: the bound is wider by one code step for each"
    yield from (f"  note: {note}" for note in report.notes)


LEFT_OUT: Final = "rows whose errors are too large for a bound were left out"


@dataclass
class Answered:
    """A wrong answer to an exact question. known: where it is compared bit for bit; wide: how far it may lie off in the other rows."""

    question: Question
    got: Bits
    known: Bits
    wide: Any


def check_kernel(
    target: AttentionTarget, *, shapes: Iterable[Any] | None, scales: Iterable[float] | None, key: int
) -> AttentionReport:  # fmt: skip
    """Ask a kernel and return the report; see emu.testing.check_attention. Raises: OperandError (a shape, a scale)."""
    contract = target.contract
    chosen = default_shapes(contract) if shapes is None else [checked_shape(shape, contract) for shape in shapes]
    if not chosen:
        raise OperandError("shapes: give at least one, or leave them out")
    given = tuple(scales) if scales is not None else None
    if given is not None and not all(np.isfinite(scale) and scale > 0 for scale in given):
        raise OperandError("scales: give positive numbers")
    report, begin = AttentionReport(target.name, contract.text), perf_counter()
    try:
        _run(target, chosen, given, key, report)
    except TargetError as error:
        report.verdict, report.message = error.verdict, str(error)  # type: ignore[assignment]
    else:
        report.verdict = "differs" if report.differing else "pass" if report.exact and report.bounded else "too_little"
    report.seconds = perf_counter() - begin
    return report


def _run(target: AttentionTarget, shapes: list[Shape], scales: tuple[float, ...] | None, key: int, report: AttentionReport) -> None:
    contract, draws, failed = target.contract, Buffered(key, "attention"), []
    for number, shape in enumerate(shapes):
        own = float(np.float32(1 / np.sqrt(shape.dim)))
        wanted = (own, *((4 * own, own / 4) if "scale" in target.wants else ())) if scales is None else scales
        for turn, scale in enumerate(dict.fromkeys(float(np.float32(scale)) for scale in wanted)):
            try:
                powers = POWERS[(number + turn) % len(POWERS)]
                powers = {name: powers[name] if {name, f"{name}_tensor"} & set(target.wants) else 0 for name in "qkv"}
                question = strict_question(contract, shape, scale, draws, powers)
            except OperandError as error:
                report.notes.append(f"left out: {error}")
            else:
                answer = _call(target, question, report, number == turn == 0)
                failed += _exact(question, answer, report)
            if turn == 0 or scales is not None:
                question = random_question(contract, shape, scale, draws)
                _bounded(question, _call(target, question, report, False), report)
    if failed:
        report.located = next((name for name, mistake in mistakes(contract) if all(_explains(case, mistake) for case in failed)), "")


def _call(target: AttentionTarget, question: Question, report: AttentionReport, twice: bool) -> dict[str, Bits]:
    begin = perf_counter()
    operands, multipliers = question.operands(), question.multipliers()
    found = target(operands, multipliers, question.scale)
    if twice and any(not np.array_equal(item, found[name]) for name, item in target(operands, multipliers, question.scale).items()):
        raise TargetError("unstable", f"{target.name} gave another result when it was asked again: it is not deterministic")
    report.target_seconds += perf_counter() - begin
    report.exposed = report.exposed or "p_codes" in found
    return found


# Exact questions.


def attend(question: Question, **change: Any) -> tuple[Any, Any]:
    """Return attention in binary64 as (output, P rounded to binary32), perhaps with one mistake: change names what is replaced.

    values: of q, k or v.   sees: bool [queries, keys].   head: head -> head of keys.   scale.   batch: batch -> batch of K and V.
    """
    contract, shape = question.contract, question.shape
    values = {name: change[name] if name in change else question.values(name) for name in "qkv"}
    sees = change.get("sees", contract.visible(shape.queries, shape.keys))
    heads = [change.get("head", lambda head: head_of(shape, head))(head) for head in range(shape.heads)]
    batches = [change.get("batch", lambda batch: batch)(batch) for batch in range(shape.batch)]
    k, v = (values[name][np.ix_(batches, heads)] for name in "kv")
    with np.errstate(all="ignore"):
        scores = np.where(sees, values["q"] @ k.swapaxes(-1, -2) * change.get("scale", question.scale), -np.inf)
        wide = np.exp(scores - scores.max(axis=-1, keepdims=True))
        p = wide if question.wide else wide.astype(np.float32)
        weight = p.astype(np.float64)
        if contract.p is not None:
            weight = _dequantized(contract, p)
        total = (weight if contract.denominator == "codes" else p.astype(np.float64)).sum(axis=-1, keepdims=True)
        return weight @ v / total, p


def _dequantized(contract: Attention, p: Any) -> Any:
    assert contract.p is not None
    q = contract.quantize_p(p)
    rows = [dequantized(contract, codes, scales) for codes, scales in zip(_flat(q.codes), _flat(q.scales), strict=True)]
    return np.array([[float(number) for number in row] for row in rows]).reshape(p.shape)


def _flat(array: Bits) -> Bits:
    return array.reshape(-1, array.shape[-1])


def _exact(question: Question, answer: dict[str, Bits], report: AttentionReport) -> list[Answered]:
    """Compare with the one exact result, zeros by value; rows whose scores of 0 cancel with their bound."""
    contract = question.contract
    values, p = attend(question)
    size = cancelling(question)
    known, want = comparable(values, contract.out) & (size == 0)[..., None], to_result(values.astype(np.float32), contract.out)
    if contract.denominator == "codes":  # a sum of codes that is no power of two may be divided or multiplied by its reciprocal
        total = _dequantized(contract, p).sum(axis=-1, keepdims=True)
        known &= np.frexp(total)[0] == 0.5
        if not known.any() and NO_EXACT_SUM not in report.notes:
            report.notes.append(NO_EXACT_SUM)
    got, mask = answer["out"], (1 << derive.codes(contract.out).magnitude_bits) - 1
    wrong = (got != want) & ~((got & mask == 0) & (want & mask == 0)) & known
    report.exact += int(known.sum())
    report.compared += int(known.sum())
    report.differing += int(wrong.sum())
    if wrong.any() and not report.message:
        at = tuple(int(place) for place in np.argwhere(wrong)[0])
        report.message = f"batch, head, query, dim {at}: {int(want[at]):#x} wanted, {int(got[at]):#x} given, of exact operands"
    wide, outside = _cancelled(question, answer, values, size, report)
    found = [Answered(question, got, known, wide)] if wrong.any() or outside else []
    if "p_codes" in answer:
        _exposed_exactly(question, answer, p, size == 0, report)
    if "p" in answer:
        _quantizer(question, answer, report)
    return found


def _cancelled(question: Question, answer: dict[str, Bits], values: Any, size: Any, report: AttentionReport) -> tuple[Any, bool]:
    """Hold the rows whose scores of 0 cancel to their bound; of a quantized P some of them. Return how far each may lie off, and if any is
    outside."""
    contract, rows, before = question.contract, size > 0, report.differing
    if contract.p is not None:
        _hold(question, answer, np.flatnonzero(rows), report)
        return np.full(values.shape, np.inf), report.differing > before
    bounds = mean_bound(question, values, size)
    if bounds is None:
        report.notes += [LEFT_OUT] if LEFT_OUT not in report.notes else []
        return np.full(values.shape, np.inf), False
    given = numbers_of(answer["out"], contract)
    inside = ((bounds[0] <= given) & (given <= bounds[1]))[rows]
    report.bounded += inside.size
    report.compared += inside.size
    report.differing += inside.size - int(inside.sum())
    if not inside.all() and not report.message:
        at = tuple(np.argwhere(rows)[int(np.argwhere(~inside)[0][0])].tolist())
        report.message = f"batch, head, query {at}: the output lies outside its bound, of scores of 0 that cancel"
    return (bounds[1] - bounds[0]) / 2, not bool(inside.all())


def numbers_of(codes: Bits, contract: Attention) -> Any:
    """Return codes of the result as binary64."""
    return decode(codes, contract.out, np.float64)


def _exposed_exactly(question: Question, answer: dict[str, Bits], p: Any, rows: Bits, report: AttentionReport) -> None:
    """Compare codes of P in the tiles whose maximum is already that of the row. rows: where P is exact."""
    contract, shape = question.contract, question.shape
    assert contract.p is not None
    q = contract.quantize_p(p)
    first = np.argmax(p == 1, axis=-1)
    tile = contract.tile if contract.maximum == "running" else shape.keys
    settled = (np.arange(shape.keys) // (tile or shape.keys) >= first[..., None] // (tile or shape.keys)) & rows[..., None]
    blocks = settled[..., :: contract.p.size]
    for name, got, want, known in (
        ("p_codes", answer["p_codes"], q.codes, settled), ("p_scales", answer["p_scales"], q.scales, blocks)
    ):  # fmt: skip
        _count(name, got, np.asarray(want), known, report)


def _quantizer(question: Question, answer: dict[str, Bits], report: AttentionReport) -> None:
    """Hold exposed codes to quantize/RECIPE of the kernel's own values of P."""
    if "p_codes" not in answer:
        return
    q = question.contract.quantize_p(answer["p"].view(np.float32))
    for name, want in (("p_codes", q.codes), ("p_scales", q.scales)):
        _count(name, answer[name], np.asarray(want), np.ones(want.shape, bool), report)


def _count(name: str, got: Bits, want: Bits, known: Bits, report: AttentionReport) -> None:
    wrong = (np.asarray(got) != want) & known
    report.compared += int(known.sum())
    report.differing += int(wrong.sum())
    if wrong.any() and not report.message:
        at = tuple(int(place) for place in np.argwhere(wrong)[0])
        report.message = f"{name} {at}: {int(want[at]):#x} wanted, {int(got[at]):#x} given"


# Mistakes.


def mistakes(contract: Attention) -> Iterator[tuple[str, Callable[[Question], Any]]]:
    """Yield one mistake after the other: what it is, and what it gives."""

    def with_mask(**words: Any) -> Callable[[Question], Any]:
        return lambda q: attend(q, sees=contract.visible(q.shape.queries, q.shape.keys, **words))[0]

    def ends(q: Question, tile: int, first: bool) -> Any:
        sees = contract.visible(q.shape.queries, q.shape.keys).copy()
        if first:
            sees[:, :tile] = False
        else:
            sees[:, (q.shape.keys - 1) // tile * tile :] = False
        return attend(q, sees=sees)[0]

    if contract.mask != "none":
        yield "the mask lets one key too many through", with_mask(shift=1)
        yield "the mask hides one key too many", with_mask(shift=-1)
        yield "the causal mask is missing", with_mask(mask="none")
        other = "top-left" if contract.mask == "bottom-right" else "bottom-right"
        yield f"the causal mask is aligned {other}", with_mask(mask=other)
    else:
        yield "a causal mask is applied", with_mask(mask="bottom-right")
    yield "the scale is missing", lambda q: attend(q, scale=1.0)[0]
    yield "the scale is applied twice", lambda q: attend(q, scale=q.scale**2)[0]
    yield "heads of K and V are in reversed order", lambda q: attend(q, head=lambda h: q.shape.kv_heads - 1 - head_of(q.shape, h))[0]
    yield "query heads take heads of keys in turn, not neighbours the same", lambda q: attend(q, head=lambda h: h % q.shape.kv_heads)[0]
    yield "every head takes head 0 of K and V", lambda q: attend(q, head=lambda h: 0)[0]
    yield "every batch takes K and V of batch 0", lambda q: attend(q, batch=lambda b: 0)[0]
    yield "every batch takes K and V of the next batch", lambda q: attend(q, batch=lambda b: (b + 1) % q.shape.batch)[0]
    for name in "kv":
        yield from _of_operand(name)
    yield "the scales of K are used for V", lambda q: attend(q, v=_scaled_by(q, "v", "k"))[0]
    yield "the scales of V are used for K", lambda q: attend(q, k=_scaled_by(q, "k", "v"))[0]
    for tile in TILES:
        yield f"the last tile of {tile} keys is dropped", partial(ends, tile=tile, first=False)
        yield f"the first tile of {tile} keys is dropped", partial(ends, tile=tile, first=True)


def _of_operand(name: str) -> Iterator[tuple[str, Callable[[Question], Any]]]:
    def late(q: Question) -> Any:
        return attend(q, **{name: np.roll(q.values(name), 1, axis=2)})[0]

    def unscaled(q: Question) -> Any:
        return attend(q, **{name: _unscaled(q, name)})[0]

    def without_tensor(q: Question) -> Any:
        return attend(q, **{name: q.values(name) * 2.0 ** -q.powers[name]})[0]

    yield f"{name.upper()} is one key late", late
    yield f"the scales of {name.upper()} are ignored", unscaled
    yield f"the tensor scale of {name.upper()} is missing", without_tensor


def _unscaled(q: Question, name: str) -> Any:
    return replace(q, scales={**q.scales, name: _ones(q, name)}).values(name)


def _ones(q: Question, name: str) -> Any:
    scales = q.scales[name]
    return None if scales is None else np.full_like(scales, near(q.side(name), 0, 1)[0])


def _scaled_by(q: Question, name: str, other: str) -> Any:
    return replace(q, scales={**q.scales, name: q.scales[other]}).values(name)


def _explains(case: Answered, mistake: Callable[[Question], Any]) -> bool:
    for wide in (False, True):
        try:
            values = mistake(replace(case.question, wide=wide))
        except (IndexError, ValueError):
            return False
        with np.errstate(all="ignore"):
            made = to_result(np.asarray(values, np.float64).astype(np.float32), case.question.contract.out)
        zero = (1 << derive.codes(case.question.contract.out).magnitude_bits) - 1
        same = (made == case.got) | ((made & zero == 0) & (case.got & zero == 0))
        near = np.abs(np.asarray(values) - numbers_of(case.got, case.question.contract)) <= case.wide
        if bool(np.where(case.known, same, near | (cancelling(case.question) == 0)[..., None]).all()):
            return True
    return False


# Random questions.


def _bounded(question: Question, answer: dict[str, Bits], report: AttentionReport) -> None:
    shape = question.shape
    if "p" in answer and question.contract.p is not None:
        _quantizer(question, answer, report)
    _hold(question, answer, np.arange(shape.batch * shape.heads * shape.queries), report)


def _hold(question: Question, answer: dict[str, Bits], rows: Bits, report: AttentionReport) -> None:
    """Hold some rows, out of the numbers of rows that are given, to their bound."""
    shape, contract = question.shape, question.contract
    cached = {name: question.values(name) for name in "qkv"}
    for number in rows[np.unique(np.linspace(0, len(rows) - 1, min(ROWS, len(rows))).astype(int))].tolist():
        batch, head, row = (int(index) for index in np.unravel_index(number, (shape.batch, shape.heads, shape.queries)))
        place = (batch, head, row)
        exposed = (answer["p_codes"][place], answer["p_scales"][place]) if "p_codes" in answer else None
        bound = bound_of(question, place, cached, exposed)
        if bound is None:
            report.notes += [LEFT_OUT] if LEFT_OUT not in report.notes else []
            continue
        report.straddling += bound.straddling
        if exposed is not None:
            shown = dequantized(contract, *exposed)
            inside = [low <= number <= high for number, low, high in zip(shown, bound.p_low, bound.p_high, strict=True)]
            _outside("value of P", place, inside, report)
        if "p" in answer and bound.values:
            shown = [fraction_of(int(code), "fp32") or Fraction(0) for code in answer["p"][place]]
            inside = [low - TINY <= number <= high + TINY for number, (low, high) in zip(shown, bound.values, strict=True)]
            _outside("P before it is quantized", place, inside, report)
        got = [fraction_of(int(code), contract.out.id) for code in answer["out"][place]]
        inside = [number is not None and low <= number <= high for number, low, high in zip(got, bound.low, bound.high, strict=True)]
        report.bounded += len(inside)
        _outside("output", place, inside, report)
        if not all(inside) and not report.located:
            report.located = _located(question, place, cached, exposed, got)
        for value, low, high in zip(got, bound.low, bound.high, strict=True):
            if value is not None and high > low:
                ratio = float(abs(value - (low + high) / 2) / ((high - low) / 2))
                report.bound_ratio = max(report.bound_ratio or 0.0, ratio)


def _located(question: Question, place: tuple[int, int, int], cached: dict[str, Any], exposed: Any, got: list[Fraction | None]) -> str:
    for name, scale in (("the scale is missing", 1.0), ("the scale is applied twice", question.scale**2)):
        bound = bound_of(replace(question, scale=scale), place, cached, exposed)
        if bound and all(n is not None and low <= n <= high for n, low, high in zip(got, bound.low, bound.high, strict=True)):
            return name
    return ""


def _outside(what: str, place: tuple[int, int, int], inside: list[bool], report: AttentionReport) -> None:
    report.compared += len(inside)
    report.differing += inside.count(False)
    if not all(inside) and not report.message:
        report.message = f"batch, head, query, place {(*place, inside.index(False))}: the {what} lies outside its bound"
