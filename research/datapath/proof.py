"""The product sum of one instruction in a finite adder: what the spec's facts prove, what rows show, and a smallest row that fails.

The numbers come from emu.spec.datapath. The rows are judged by integer sums that share nothing with a datapath but the values of codes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from emu.base import philox
from emu.engines.datapath import run_dot
from emu.engines.exact.datapath import dot
from emu.engines.exact.decode import decode_code
from emu.ops.operands import Operand
from emu.spec import derive
from emu.spec.datapath import DatapathPlan, resolve
from emu.spec.reach import reach
from research.datapath.data import KEY
from research.datapath.exact import exact_sums, rounded, ulp_exp

REPORTED: Final = "blackwell_mxf4nvf4_b16_ue4m3"  # whose adder is the yardstick
PAIRS: Final = (("e2m1", "e2m1"), ("e1m2", "e1m2"), ("int4", "int4"), ("e0m3", "e0m3"), ("e2m1", "e1m2"), ("e2m1", "e0m3"))
SCALE: Final = "ue4m3"
BLOCK: Final = 16
WIDTH_PAIRS: Final = (("e2m1", "e2m1"), ("e1m2", "e1m2"), ("e0m3", "e0m3"))
WIDTHS: Final = range(44, 51)  # bits of an adder
ROWS: Final = 2048
Words = Callable[[str, int], NDArray[Any]]
Sum = tuple[int, int]  # number, exponent of its unit
Row = tuple[tuple[int, ...], ...]  # codes of A, of B, scale codes of A, of B


def facts_of(a: str, b: str) -> dict[str, Any]:
    """Return what follows for one operand pair: widths, F and I of an exact product sum, and where F of the reported adder is exact."""
    exact, like, register = (resolve(name, a, b, SCALE, BLOCK) for name in ("nv_like_exact", "nv_like", "int64"))
    widths = exact.widths
    assert exact.frac_bits is not None and like.frac_bits is not None and exact.adder_bits is not None
    largest = reach(exact.a).largest * reach(exact.b).largest * exact.group
    return {
        "pair": f"{a} x {b}",
        "product_lsb_exp": widths.product_lsb_exp,
        "group_sum": int(largest / Fraction(2) ** widths.product_lsb_exp),
        "term_bits": widths.term_bits,
        "lsb_exp": widths.step_sum_lsb_exp,
        "largest_exp": exact.frac_bits + widths.step_sum_lsb_exp,
        "integer_bits": exact.integer_bits,
        "frac_bits": exact.frac_bits,
        "adder_bits": exact.adder_bits,
        "reported_frac_bits": like.frac_bits,
        "reported_adder_bits": like.adder_bits,
        "reported_exact_up_to": min(like.frac_bits, exact.frac_bits) + widths.step_sum_lsb_exp,
        "fixed_point_bits": widths.step_sum_bits + 1,
        "largest_int64_k": register.largest_k,
    }


@dataclass(frozen=True, eq=False)
class DrawnOperands:
    """Drawn rows of one instruction. a, b: [R, 64] codes.   scale_a, scale_b: [R, 4] codes."""

    a: NDArray[Any]
    b: NDArray[Any]
    scale_a: NDArray[Any]
    scale_b: NDArray[Any]


def _words(name: str) -> Words:
    def draw(part: str, count: int) -> NDArray[Any]:
        return philox.words(KEY, count, stream=philox.stream_of(f"{name}/{part}")).astype(np.int64)

    return draw


def uniform_rows(plan: DatapathPlan, rows: int = ROWS) -> DrawnOperands:
    """Return rows of uniform codes and uniform finite scale codes."""
    draw, k = _words(f"uniform/{plan.a.id}/{plan.b.id}"), plan.facts.k
    codes = [(draw(part, rows * k) % (1 << derive.codes(fmt).bits)).reshape(rows, k) for part, fmt in (("a", plan.a), ("b", plan.b))]
    assert plan.scale is not None
    scales = [(draw(part, rows * k // plan.block) % (derive.codes(plan.scale).max_code + 1)).reshape(rows, -1) for part in ("sa", "sb")]
    return DrawnOperands(*(item.astype(np.uint8) for item in (*codes, *scales)))


def cancelling_rows(plan: DatapathPlan, rows: int = ROWS) -> DrawnOperands:
    """Return rows whose first group cancels under large scales, with few products under the smallest scales in the others."""
    draw, k, found = _words(f"cancel/{plan.a.id}/{plan.b.id}"), plan.facts.k, uniform_rows(plan, rows)
    keep = (draw("keep", rows * k) % 8 == 0).reshape(rows, k)
    keep[:, : plan.group] = True
    a, b = np.where(keep, found.a, 0), found.b.copy()
    half = plan.group // 2
    negative = np.array([_negated(code, plan) for code in range(1 << derive.codes(plan.b).bits)])
    a[:, half : plan.group] = a[:, :half]
    b[:, half : plan.group] = negative[b[:, :half]]
    assert plan.scale is not None
    top, scales = derive.codes(plan.scale).max_code, []
    for part in ("sa", "sb"):
        words = draw(f"{part}/small", rows * k // plan.block).reshape(rows, -1)
        small = words % 16 + 1
        small[:, 0] = top - words[:, 0] % 16
        scales.append(small)
    return DrawnOperands(*(item.astype(np.uint8) for item in (a, b, *scales)))


def _negated(code: int, plan: DatapathPlan) -> int:
    """Return the code of minus a value of B; a value without partner keeps its code."""
    values = [decode_code(item, plan.b).signed for item in range(1 << derive.codes(plan.b).bits)]
    return next((item for item, value in enumerate(values) if value == -values[code]), code)


def wrong_rows(rows: DrawnOperands, sums: Sequence[Sum], plan: DatapathPlan, engine: str = "auto") -> int:
    """Count the rows whose D is not their exact product sum (row_sums) rounded once toward zero. C is +0."""
    codes = run_dot(rows.a, rows.b, rows.scale_a, rows.scale_b, np.zeros(len(rows.a), np.uint32), plan, engine)
    return sum(not _is_cut(int(code), number, exp, plan) for code, (number, exp) in zip(codes, sums, strict=True))


def row_sums(rows: DrawnOperands, plan: DatapathPlan) -> list[Sum]:
    """Return the exact product sum of each row."""
    found = []
    for i in range(len(rows.a)):
        sides = [
            Operand(codes[i : i + 1], scales[i : i + 1], fmt, plan.block, plan.scale)
            for codes, scales, fmt in ((rows.a, rows.scale_a, plan.a), (rows.b, rows.scale_b, plan.b))
        ]
        exact = exact_sums(*sides)
        found.append((int(exact.numbers[0, 0]), exact.lsb_exp))
    return found


def _is_cut(code: int, number: int, exp: int, plan: DatapathPlan) -> bool:
    value = decode_code(code, plan.d)
    ulp = ulp_exp(number, exp, plan.d)
    whole = rounded(number, exp, ulp, toward_zero=True)
    return value.kind == "finite" and value.signed == whole * Fraction(2) ** ulp


@dataclass(frozen=True)
class Loss:
    """A row on which an adder loses a bit. code: D.   wider: D with an adder that loses nothing."""

    row: Row
    code: int
    wider: int


def smallest_loss(plan: DatapathPlan, wider: DatapathPlan) -> Loss | None:
    """Find a drawn row on which two datapaths differ, and make it as small as single steps can."""
    rows = cancelling_rows(plan, 64)
    for i in range(len(rows.a)):
        row = tuple(tuple(int(code) for code in part[i]) for part in (rows.a, rows.b, rows.scale_a, rows.scale_b))
        if _codes(row, plan) != _codes(row, wider):
            return smaller(row, plan, wider)
    return None


def _codes(row: Row, plan: DatapathPlan) -> int:
    return dot(row[0], row[1], row[2], row[3], 0, plan).code


def smaller(row: Row, plan: DatapathPlan, wider: DatapathPlan) -> Loss:
    """Take the first smaller row that still differs, until none does."""
    changed = True
    while changed:
        changed = False
        for candidate in _candidates(row):
            if _codes(candidate, plan) != _codes(candidate, wider):
                row, changed = candidate, True
                break
    return Loss(row, _codes(row, plan), _codes(row, wider))


def _candidates(row: Row) -> Iterator[Row]:
    """Yield rows with one thing less: a product, a product and the one half a group on, an idle scale, a smaller code or scale."""
    a, b, scale_a, scale_b = row
    per = len(a) // len(scale_a)
    for k in range(len(a)):
        if a[k] or b[k]:
            yield _with(a, k, 0), _with(b, k, 0), scale_a, scale_b
    for k in range(len(a) - per // 2):
        if a[k] and a[k + per // 2]:
            yield _both(a, k, per // 2, 0), _both(b, k, per // 2, 0), scale_a, scale_b
            for side in (0, 1):
                if row[side][k] & 7 > 1 and row[side][k + per // 2] & 7 > 1:
                    yield _replaced(row, side, _both(row[side], k, per // 2, None))
    for group in range(len(scale_a)):
        if (scale_a[group] or scale_b[group]) and not any(a[group * per : (group + 1) * per]):
            yield a, b, _with(scale_a, group, 0), _with(scale_b, group, 0)
    for side in range(4):
        for place, code in enumerate(row[side]):
            smaller = (1, code & 7, code - 1) if side < 2 else (1, code & ~7, code - 2, code - 1)
            for less in sorted({item for item in smaller if 0 < item < code}):
                yield _replaced(row, side, _with(row[side], place, less))


def _replaced(row: Row, side: int, part: tuple[int, ...]) -> Row:
    return (*row[:side], part, *row[side + 1 :])


def _both(codes: Sequence[int], k: int, apart: int, code: int | None) -> tuple[int, ...]:
    """Return codes with two places set to a code, or both lowered by one."""
    first, second = (codes[k] - 1, codes[k + apart] - 1) if code is None else (code, code)
    return _with(_with(codes, k, first), k + apart, second)


def _with(codes: Sequence[int], place: int, code: int) -> tuple[int, ...]:
    return (*codes[:place], code, *codes[place + 1 :])


def row_counts(a: str, b: str, rows: int = ROWS, engine: str = "auto") -> dict[str, Any]:
    """Count the drawn rows of one operand pair that lose a bit, with the F of the reported adder and with F exact."""
    plans = {name: resolve(name, a, b, SCALE, BLOCK) for name in ("nv_like", "nv_like_exact")}
    found: dict[str, Any] = {"pair": f"{a} x {b}", "rows": rows}
    for kind, draw in (("uniform", uniform_rows), ("cancelling", cancelling_rows)):
        drawn = draw(plans["nv_like"], rows)
        sums = row_sums(drawn, plans["nv_like"])
        found[kind] = {name: wrong_rows(drawn, sums, plan, engine) for name, plan in plans.items()}
    return found


def width_counts(a: str, b: str, rows: int = ROWS, engine: str = "auto") -> list[dict[str, Any]]:
    """Count the cancelling rows of one operand pair that lose a bit in adders of each width: F is what the integer bits leave."""
    plan = resolve("nv_like", a, b, SCALE, BLOCK)
    drawn = cancelling_rows(plan, rows)
    sums, found = row_sums(drawn, plan), []
    for bits in WIDTHS:
        frac_bits = bits - 1 - (plan.integer_bits or 0)
        lost = wrong_rows(drawn, sums, replace(plan, frac_bits=frac_bits), engine)
        found.append({"pair": f"{a} x {b}", "adder_bits": bits, "frac_bits": frac_bits, "lost": lost})
    return found
