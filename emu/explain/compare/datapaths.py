"""compare datapaths: where two datapaths differ on the same operands, how often, by how much, and the smallest example.

Not here: which operands both take (compare_pair), making an example small (compare_minimise), rows from data (compare_data).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import groupby
from typing import Any

from emu.base.errors import EngineError
from emu.contracts.dot.rows import DotRow, answers, differs, same_answer
from emu.contracts.text import value_of
from emu.engines.exact.datapath_terms import decode_triple, products_of, scale_product
from emu.engines.exact.value import power_of_two
from emu.explain.compare.minimise import minimise
from emu.explain.compare.pair import common_k, same_by_facts
from emu.explain.dot.constructed import constructed
from emu.explain.dot.suite import CATEGORIES, samples
from emu.spec import derive
from emu.spec.datapath import DatapathPlan
from emu.spec.levels import LevelsPlan
from emu.spec.models.format import FloatFacts

ROWS = 32
FAMILIES = 8


@dataclass
class Tally:
    """How two datapaths differ on some rows.

    rows: compared.   differ: of these.   refused: rows that only one of them computes (an accumulator that overflows); counted in differ.
    largest, total: distance of the results in ulps (steps from one D code to the next), over rows where both are finite.
    finite: such rows.   worst: largest |D - exact| in ulps of the exact value, first and second.   nearer: rows where first, second is
    nearer to the exact value.
    """

    name: str
    rows: int = 0
    differ: int = 0
    refused: int = 0
    finite: int = 0
    largest: int = 0
    total: int = 0
    worst: list[Fraction] = field(default_factory=lambda: [Fraction(0), Fraction(0)])
    nearer: list[int] = field(default_factory=lambda: [0, 0])

    def data(self) -> dict[str, Any]:
        """Return the tally as plain data; ulps as binary64."""
        mean = float(Fraction(self.total, self.finite)) if self.finite else None
        out: dict[str, Any] = {"name": self.name, "rows": self.rows, "differ": self.differ, "refused": self.refused, "finite": self.finite}
        out |= {"largest_ulps": self.largest, "mean_ulps": mean}
        out |= {"worst_error_ulps": [float(item) for item in self.worst]}
        return out | {"nearer_to_exact": list(self.nearer)}


@dataclass(frozen=True)
class Comparison:
    """What was found. same_facts: every fact that decides a bit is the same, no row was needed.   tallies: one per kind of rows.

    found: a row where they differ, where it came from; small: the same made small. None where no row differs.
    """

    first: DatapathPlan
    second: DatapathPlan
    same_facts: bool
    tallies: tuple[Tally, ...]
    found: DotRow | None = None
    origin: str = ""
    small: DotRow | None = None

    @property
    def tried(self) -> int:
        """Rows that were compared."""
        return sum(tally.rows for tally in self.tallies)


def compare_datapaths(
    first: DatapathPlan,
    second: DatapathPlan,
    *,
    key: int = 1,
    rows: int = ROWS,
    given: Sequence[tuple[str, Sequence[DotRow]]] = (),
    engine: str = "auto",
    step: Callable[[int, int], None] | None = None,
) -> Comparison:
    """Compare two datapaths on directed rows, and on given ones.

    rows: directed rows per category and K (one instruction, two).   given: further named rows.   step: is told (done, of) categories.
    The smallest example is confirmed by the reference model, whatever engine looked for it.
    Raises: OpenError, EngineError.   Tests: tests/explain/test_explain_compare_datapaths.py.
    """
    if same_by_facts(first, second):
        return Comparison(first, second, True, ())
    tallies, found = [], None
    for number, (name, items) in enumerate([*given, *_directed(first, second, key, rows)]):
        tally, where = tally_of(name, items, first, second, engine)
        tallies.append(tally)
        if where is not None and (found is None or _size(items[where]) < _size(found[0])):
            found = (items[where], f"{name}, row {where}")
        if step is not None:
            step(number + 1, len(given) + 2 * (len(CATEGORIES) + FAMILIES))
    merged = _merged(tallies)
    if found is None:
        return Comparison(first, second, False, merged)
    return Comparison(first, second, False, merged, found[0], found[1], minimise(found[0], first, second))


def _size(row: DotRow) -> tuple[int, int]:
    """K and the number of products that are there: what a small example should have few of."""
    return len(row.a), sum(pair != (0, 0) for pair in zip(row.a, row.b, strict=True))


def _directed(first: DatapathPlan, second: DatapathPlan, key: int, count: int) -> Iterable[tuple[str, list[DotRow]]]:
    """Yield (name, rows): those constructed for either datapath, then random ones by category, half for each; K of one and two."""
    k = common_k(first, second)
    for plan in (first, second):
        for family, built in groupby(constructed(plan, k), key=lambda item: item.family):
            yield f"constructed {family}", [item.row for item in built]
    for times in (1, 2):
        for category in CATEGORIES:
            half = count // 2 if times == 1 else max(count // 8, 1)
            items = [*samples(first, category, key, half, times * k // first.facts.k)]
            items += samples(second, category, key, half, times * k // second.facts.k, first=half)
            if items:
                yield category, items


def _merged(tallies: Sequence[Tally]) -> tuple[Tally, ...]:
    """Join tallies of one name, in the order of their first appearance."""
    out: dict[str, Tally] = {}
    for item in tallies:
        into = out.setdefault(item.name, Tally(item.name))
        for name in ("rows", "differ", "refused", "finite", "total"):
            setattr(into, name, getattr(into, name) + getattr(item, name))
        into.largest = max(into.largest, item.largest)
        into.worst = [max(pair) for pair in zip(into.worst, item.worst, strict=True)]
        into.nearer = [sum(pair) for pair in zip(into.nearer, item.nearer, strict=True)]
    return tuple(out.values())


def tally_of(
    name: str, rows: Sequence[DotRow], first: DatapathPlan, second: DatapathPlan, engine: str = "auto"
) -> tuple[Tally, int | None]:
    """Return the tally of rows of one K, and the number of the first row that differs. Raises: EngineError (not so by the exact engine)."""
    tally, where = Tally(name), None
    found = zip(rows, answers(rows, first, engine), answers(rows, second, engine), strict=True)
    for number, (row, x, y) in enumerate(found):
        tally.rows += 1
        if x is not None and y is not None:
            _measure(tally, row, x, y, first)
        if same_answer(x, y, first):
            continue
        tally.differ += 1
        tally.refused += x is None or y is None
        if where is None:
            if not differs(row, first, second):
                raise EngineError(f"{name}, row {number}: the quick engine and the reference model disagree: run `emu doctor`")
            where = number
    return tally, where


def _measure(tally: Tally, row: DotRow, x: int, y: int, plan: DatapathPlan) -> None:
    values = [value_of(code, plan.d) for code in (x, y)]
    if any(value.kind != "finite" for value in values):
        return
    tally.finite += 1
    apart = ulps_between(x, y, plan)
    tally.largest, tally.total = max(tally.largest, apart), tally.total + apart
    if not apart:
        return
    exact = exact_value(row, plan)
    if exact is None:
        return
    unit = ulp_of(exact, plan)
    errors = [abs(value.signed - exact) / unit for value in values]
    tally.worst = [max(pair) for pair in zip(tally.worst, errors, strict=True)]
    if errors[0] != errors[1]:
        tally.nearer[int(errors[1] < errors[0])] += 1


def ulps_between(x: int, y: int, plan: DatapathPlan | LevelsPlan) -> int:
    """Return how many steps lie between two finite result codes; +0 and -0 are one place."""
    sign = derive.codes(plan.d).sign_bit
    places = [-(code ^ sign) if code & sign else code for code in (x, y)]
    return abs(places[0] - places[1])


def ulp_of(number: Fraction, plan: DatapathPlan | LevelsPlan) -> Fraction:
    """Return the spacing of the result format at a value with a power of two below the line."""
    facts = plan.d.facts
    assert isinstance(facts, FloatFacts)
    exp = abs(number.numerator).bit_length() - number.denominator.bit_length() if number else 1 - facts.bias
    return power_of_two(max(exp, 1 - facts.bias) - facts.frac_bits)


def exact_value(row: DotRow, plan: DatapathPlan) -> Fraction | None:
    """Return C plus the sum of all products, not rounded; None where an operand is NaN or infinite."""
    operands = [({row.c}, plan.c), (set(row.a), plan.a), (set(row.b), plan.b)]
    operands += [] if plan.scale is None else [({*row.scale_a, *row.scale_b}, plan.scale)]
    if any(value_of(code, fmt).kind != "finite" for codes, fmt in operands for code in codes):
        return None
    addend = decode_triple(row.c, plan.c, plan.facts.subnormal.c)
    total = addend.significand * power_of_two(addend.exp - addend.frac_bits)
    size = plan.block or len(row.a)
    for block in range(len(row.a) // size):
        part = slice(block * size, (block + 1) * size)
        products = products_of(row.a[part], row.b[part], plan)
        low = min(item.exp - item.frac_bits for item in products)
        whole = sum(item.significand << (item.exp - item.frac_bits - low) for item in products)
        scale = scale_product(row.scale_a[block], row.scale_b[block], plan) if plan.scale else None
        one = Fraction(1) if scale is None else scale.significand * power_of_two(scale.exp - scale.frac_bits)
        total += whole * power_of_two(low) * one
    return total
