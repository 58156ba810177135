"""Two datapaths in levels compared on the same operands: how often they differ and by how much, and the smallest example side by side.

A chain of fused steps is read in levels, so that it may be one of the two. Where one of them has no C, that of the other is +0. Rows are
those of the suites of both: by category, aimed at the registers of the one and of the other, and rows of data. A difference is confirmed by
the reference model, then made small: fewer products, no C, scales of 1, words of 0, simpler codes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from emu.base import philox
from emu.base.errors import EngineError, ShapeError, SpecError
from emu.contracts.dot.codes import Codes, Draw
from emu.contracts.dot.rows import DotRow, choices_of, same_answer
from emu.contracts.levels import cases
from emu.contracts.levels.deviations import deciding, words_for
from emu.contracts.levels.field import Field
from emu.contracts.levels.rows import REFUSALS, LevelsRow, answer, answers, evaluate
from emu.contracts.levels.trace import explain_levels
from emu.contracts.levels.walk import number_of
from emu.contracts.text import dyadic, value_of
from emu.engines.exact.encode import code_of_one
from emu.engines.exact.levels import Number, multiply, read
from emu.explain.compare.datapaths import Tally, ulp_of, ulps_between
from emu.explain.dot.suite import levels_samples
from emu.explain.link import of_dot, see
from emu.spec.levels import MOST_INSTRUCTIONS, LevelsPlan, level_plans_of

ROWS: Final = 32
MOST_TESTS: Final = 1500
Data = dict[str, Any]


@dataclass(frozen=True)
class LevelsComparison:
    """What was found: as emu.explain.compare.datapaths.Comparison, of datapaths of levels."""

    first: LevelsPlan
    second: LevelsPlan
    same_facts: bool
    tallies: tuple[Tally, ...] = ()
    found: LevelsRow | None = None
    origin: str = ""
    small: LevelsRow | None = None

    @property
    def tried(self) -> int:
        """Rows that were compared."""
        return sum(tally.rows for tally in self.tallies)


def common_level_plans(first: str, second: str, a: Any = None, b: Any = None, scale: Any = None, block: Any = None) -> list[LevelsPlan]:
    """Return the plans of two datapaths in levels with the same operands and results. Raises: SpecError (none in common, or several)."""
    one, chosen = choices_of(first, {"a": a, "b": b, "scale": scale, "block": block})
    two, chosen = choices_of(second, chosen)
    wanted = (chosen["a"], chosen["b"], chosen["scale"], chosen["block"])
    found = [[plan for plan in level_plans_of(model) if _fits(plan, wanted)] for model in (one, two)]
    couples = [(x, y) for x in found[0] for y in found[1] if _comparable(x, y)]
    if len(couples) == 1:
        return list(couples[0])
    if couples:
        raise SpecError(f"{one.id} and {two.id} share several operands: name --a-format, --b-format, --scale-format, --block")
    left, right = (plans or list(level_plans_of(model)) for model, plans in zip((one, two), found, strict=True))
    x, y = max(((x, y) for x in left for y in right), key=lambda couple: _alike(*couple))
    takes = f"{one.id} takes {_takes(x, len(left))}; {two.id} takes {_takes(y, len(right))}"
    raise SpecError(f"nothing to compare: operands, C where both have one, and D must be the same: {takes}")


def _fits(plan: LevelsPlan, wanted: Sequence[Any]) -> bool:
    given = (plan.a.id, plan.b.id, None if plan.scale is None else plan.scale.id, plan.block)
    return all(want in (None, have) for want, have in zip(wanted, given, strict=True))


def _comparable(first: LevelsPlan, second: LevelsPlan) -> bool:
    operands = [(plan.a, plan.b, plan.scale, plan.block, plan.d) for plan in (first, second)]
    return operands[0] == operands[1] and (None in (first.c, second.c) or first.c == second.c)


def _alike(first: LevelsPlan, second: LevelsPlan) -> int:
    """How many operands two choices share."""
    sides = [(plan.a, plan.b, plan.scale, plan.block, plan.c, plan.d) for plan in (first, second)]
    return sum(mine == other for mine, other in zip(*sides, strict=True))


def _takes(plan: LevelsPlan, choices: int) -> str:
    """What a datapath takes, of one of its choices."""
    scales = "no scales" if plan.scale is None else f"scales {plan.scale.id} per {plan.block}"
    more = f" (and {choices - 1} more)" if choices > 1 else ""
    return f"{plan.a.id} x {plan.b.id}, {scales}, C {'none' if plan.c is None else plan.c.id}, D {plan.d.id}{more}"


def given_to(row: LevelsRow, plan: LevelsPlan, other: LevelsPlan) -> LevelsRow:
    """Return a row of one datapath as another takes it: with its random words, and C where it has one."""
    return words_for(row, plan, other)._replace(c=None if other.c is None else row.c or 0)


def data_row(row: DotRow, plan: LevelsPlan, key: int, number: int) -> LevelsRow:
    """Return a row of data as a datapath in levels takes it, C +0, its random words drawn. number: of the row."""
    draw = Draw(philox.stream_of(f"study/{plan.name}/data/{key}"), number)
    random = tuple(draw.bits(item.rounding.random_bits) for item in plan.draws(len(row.a)))
    return LevelsRow(row.a, row.b, row.scale_a, row.scale_b, None if plan.c is None else 0, random)


def common_k(first: LevelsPlan, second: LevelsPlan) -> int:
    """Return the shortest K that both cover. Raises: SpecError (there is none)."""
    size = math.lcm(first.facts.k, second.facts.k, first.block or 1)
    for count in range(1, MOST_INSTRUCTIONS + 1):
        try:
            first.shape(size * count)
            second.shape(size * count)
        except ShapeError:
            continue
        return size * count
    raise SpecError(f"{first.name} and {second.name} cover no K in common up to {size * MOST_INSTRUCTIONS}")


def compare_levels(
    first: LevelsPlan,
    second: LevelsPlan,
    *,
    key: int = 1,
    rows: int = ROWS,
    given: Sequence[tuple[str, Sequence[LevelsRow]]] = (),
    step: Callable[[int, int], None] | None = None,
) -> LevelsComparison:
    """Compare two datapaths in levels with the same operands.

    rows: per category, half of them aimed at either datapath.   given: further named rows, of the first.   step: is told (done, of)
    categories.   Random words of a place that only one of them has are 0 there.
    Raises: SpecError (no K in common), EngineError.   Tests: tests/explain/test_explain_compare_levels.py.
    """
    if deciding(first) == deciding(second) and first.c == second.c and _comparable(first, second):
        return LevelsComparison(first, second, True)
    tallies, best, count = [], None, len(given) + len(cases.MAKERS)
    for number, (name, items) in enumerate([*given, *_drawn(first, second, key, rows)]):
        if items:
            tally, where = _tally(name, items, first, second)
            tallies.append(tally)
            if where is not None and (best is None or _size(items[where]) < _size(best[0])):
                best = (items[where], f"{name}, row {where}")
        if step is not None:
            step(number + 1, count)
    if best is None:
        return LevelsComparison(first, second, False, tuple(tallies))
    return LevelsComparison(first, second, False, tuple(tallies), best[0], best[1], minimise(best[0], first, second))


def _drawn(first: LevelsPlan, second: LevelsPlan, key: int, rows: int) -> Iterator[tuple[str, list[LevelsRow]]]:
    """Yield the rows of each category, as the first takes them; C is +0 where one of the two has none."""
    k, both = common_k(first, second), None not in (first.c, second.c)
    for category in cases.MAKERS:
        items: list[LevelsRow] = []
        for plan, start in ((first, 0), (second, rows)):
            if cases.applies(category, Field(plan, k)):
                drawn = levels_samples(plan, category, key, max(1, rows // 2), k, start)
                items += [given_to(row if both else row._replace(c=0), plan, first) for row in drawn]
        yield category, items


def _size(row: LevelsRow) -> tuple[int, ...]:
    """The number of products that are there, C, words."""
    return sum(bool(x and y) for x, y in zip(row.a, row.b, strict=True)), int(bool(row.c)), sum(map(bool, row.random))


def differs(row: LevelsRow, first: LevelsPlan, second: LevelsPlan) -> bool:
    """Tell whether two datapaths give different results, by the reference model. row: with the words of the first."""
    return not same_answer(answer(row, first), answer(given_to(row, first, second), second), first)


def _tally(name: str, rows: Sequence[LevelsRow], first: LevelsPlan, second: LevelsPlan) -> tuple[Tally, int | None]:
    """Return the tally of rows, and the number of the one with the fewest products that differs."""
    tally, where = Tally(name), None
    found = zip(rows, answers(rows, first), answers([given_to(row, first, second) for row in rows], second), strict=True)
    for number, (row, x, y) in enumerate(found):
        tally.rows += 1
        if x is not None and y is not None:
            _measure(tally, row, x, y, first)
        if same_answer(x, y, first):
            continue
        tally.differ += 1
        tally.refused += x is None or y is None
        if where is None or _size(row) < _size(rows[where]):
            if not differs(row, first, second):
                raise EngineError(f"{name}, row {number}: the quick engine and the reference model disagree: run `emu doctor`")
            where = number
    return tally, where


def _measure(tally: Tally, row: LevelsRow, x: int, y: int, plan: LevelsPlan) -> None:
    values = [value_of(code, plan.d) for code in (x, y)]
    if any(value.kind != "finite" for value in values):
        return
    tally.finite += 1
    apart = ulps_between(x, y, plan)
    tally.largest, tally.total = max(tally.largest, apart), tally.total + apart
    exact = exact_value(row, plan)
    if not apart or exact is None:
        return
    errors = [abs(value.signed - exact) / ulp_of(exact, plan) for value in values]
    tally.worst = [max(pair) for pair in zip(tally.worst, errors, strict=True)]
    if errors[0] != errors[1]:
        tally.nearer[int(errors[1] < errors[0])] += 1


def exact_value(row: LevelsRow, plan: LevelsPlan) -> Fraction | None:
    """Return C plus the sum of all products times their scales, not rounded; None where an operand is NaN or infinite."""
    keep, total = plan.facts.subnormal, Fraction(0)
    found = [] if plan.c is None or row.c is None else [read(row.c, plan.c, keep.c)]
    for i, (x, y) in enumerate(zip(row.a, row.b, strict=True)):
        value = multiply(read(x, plan.a, keep.elements), read(y, plan.b, keep.elements))
        if plan.scale is not None:
            for codes in (row.scale_a, row.scale_b):
                value = multiply(value, read(codes[i // plan.block], plan.scale, keep.scales))
        found.append(value)
    for value in found:
        if not isinstance(value, Number):
            return None
        total += number_of(value)
    return total


def minimise(row: LevelsRow, first: LevelsPlan, second: LevelsPlan) -> LevelsRow:
    """Return a small row on which two datapaths still differ, by the reference model."""
    tests, again = 0, True
    while again and tests < MOST_TESTS:
        again = False
        for item in _simpler(row, first):
            tests += 1
            if tests > MOST_TESTS:
                break
            if item != row and differs(item, first, second):
                row, again = item, True
                break
    return row


def _simpler(row: LevelsRow, plan: LevelsPlan) -> Iterator[LevelsRow]:
    """Yield rows with less in them, those that lose most first."""
    if row.c:
        yield row._replace(c=0)
    alive = [i for i, pair in enumerate(zip(row.a, row.b, strict=True)) if pair != (0, 0)]
    size = len(alive)
    while size:
        for start in range(0, len(alive), size):
            gone = set(alive[start : start + size])
            yield row._replace(
                a=tuple(0 if i in gone else code for i, code in enumerate(row.a)),
                b=tuple(0 if i in gone else code for i, code in enumerate(row.b)),
            )
        size //= 2
    if any(row.random):
        yield row._replace(random=(0,) * len(row.random))
        yield from (row._replace(random=(*row.random[:i], 0, *row.random[i + 1 :])) for i, word in enumerate(row.random) if word)
    if plan.scale is not None:
        one = code_of_one(plan.scale)
        if set(row.scale_a + row.scale_b) != {one}:
            yield row._replace(scale_a=(one,) * len(row.scale_a), scale_b=(one,) * len(row.scale_b))
        for name in ("scale_a", "scale_b"):
            codes = getattr(row, name)
            yield from (row._replace(**{name: (*codes[:i], one, *codes[i + 1 :])}) for i, code in enumerate(codes) if code != one)  # type: ignore[arg-type]
    for name, fmt in (("a", plan.a), ("b", plan.b)):
        codes, one = getattr(row, name), Codes(fmt).nearest(Fraction(1))
        yield from (row._replace(**{name: (*codes[:i], one, *codes[i + 1 :])}) for i in alive if codes[i] != one)  # type: ignore[arg-type]


def verdict(found: LevelsComparison) -> str:
    """Return the outcome in one sentence; no difference is never called equality unless the facts prove it."""
    names = f"{found.first.name} and {found.second.name}"
    if found.same_facts:
        return f"{names} are equal for every input: all facts that decide a bit are the same"
    if found.small is None:
        return f"no difference between {names} in {found.tried} rows: that is not a proof of equality"
    return f"{names} differ in {sum(tally.differ for tally in found.tallies)} of {found.tried} rows"


def example(row: LevelsRow, first: LevelsPlan, second: LevelsPlan) -> Data:
    """Return a row on which two datapaths differ: codes, both traces, the stages side by side and the first that differs."""
    exact = exact_value(row, first)
    traces = [_trace(given_to(row, first, plan), plan) for plan in (first, second)]
    left, right = (_stages(trace) for trace in traces)
    stages = [{"stage": name, "first": left.get(name, ""), "second": right.get(name, "")} for name in dict.fromkeys([*left, *right])]
    stages.sort(key=lambda stage: stage["stage"] in ("out", "D"))
    changed = next((stage["stage"] for stage in stages if stage["first"] != stage["second"]), None)
    out: Data = {"row": row.texts(first), "k": len(row.a), "products": _size(row)[0], "exact": None if exact is None else dyadic(exact)}
    return out | {"link": of_dot(row, first, second), "traces": traces, "stages": stages, "first_difference": changed}


def _trace(row: LevelsRow, plan: LevelsPlan) -> Data:
    if answer(row, plan) is None:
        try:
            evaluate(row, plan)
        except REFUSALS as error:  # what it says is shown in the place of the stages
            return {"name": plan.name, "refused": str(error), "levels": [], "d": "refused", "d_value": ""}
    return explain_levels(row, plan)


def _stages(trace: Data) -> dict[str, str]:
    """Return stage -> what it left; of a sum that was rounded the sum before it."""
    out: dict[str, str] = {}
    for level in trace["levels"]:
        for node in level["nodes"]:
            several = len(node["additions"]) > 1
            for one in node["additions"]:
                name = f"{node['node']} addition {one['addition']}" if several else f"{node['node']} sum"
                held = one["held"]["value"]
                out[name] = held if held == one["sum"] else f"{one['sum']} -> {held}"
            out[node["node"]] = node["value"]
    return out | {"D": f"{trace['d']} = {trace['d_value']}"}


def lines_of(found: LevelsComparison) -> list[str]:
    """Return the text of a comparison, without line ends; the table of counts is not in it."""
    out = [verdict(found)]
    if found.small is None:
        return out
    data = example(found.small, found.first, found.second)
    counts = f"K = {data['k']}, {data['products']} product{'s' if data['products'] != 1 else ''}"
    out += ["", f"smallest example found ({counts}; made from {found.origin}):"]
    out += [f"  {name:<3} {text}" for name, text in data["row"].items()]
    out += [f"  exact value {data['exact']}"] if data["exact"] is not None else []
    out += [f"  {line}" for line in see(data["link"])]
    out += ["", f"first stage that differs: {data['first_difference']}", ""]
    rows = [("stage", found.first.name, found.second.name, "")]
    rows += [
        (one["stage"], one["first"] or "-", one["second"] or "-", "" if one["first"] == one["second"] else "<--") for one in data["stages"]
    ]
    wide = [max(len(row[column]) for row in rows) for column in range(3)]
    out += ["  ".join(f"{row[i]:<{wide[i]}}" for i in range(3)).rstrip() + (f"  {row[3]}" if row[3] else "") for row in rows]
    return out + [trace["refused"] for trace in data["traces"] if "refused" in trace]
