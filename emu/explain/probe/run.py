"""probe: the few rows whose results on a real machine tell hypotheses about its datapath apart, and reading the results.

Candidates are constructed rows, then directed random ones. Rows are chosen greedily, each one that splits the most; rows that became
needless are dropped. Hypotheses that no candidate tells apart are reported as one class. Answers come from the engines and, for the
chosen rows, from the reference model too. Not here: what is supposed (emu.contracts.dot.variants), files (probe_files).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from emu.base.errors import EngineError, OperandError, SpecError
from emu.contracts.dot.rows import DotRow, answer, answers, same_answer
from emu.contracts.dot.variants import bases, combined, hypotheses
from emu.contracts.levels import hypotheses as in_levels
from emu.contracts.levels.contract import LevelsContract
from emu.contracts.levels.hypotheses import Plan, Supposed
from emu.contracts.text import value_of
from emu.explain.dot.constructed import Built, constructed
from emu.explain.dot.suite import samples
from emu.spec import derive, get
from emu.spec.contract import parse
from emu.spec.datapath import DatapathPlan
from emu.spec.levels import LevelsPlan, resolve_levels
from emu.spec.models import Datapath
from emu.spec.models.common import digest_json
from emu.spec.models.levels import DatapathLevels

RANDOM_CATEGORIES = ("cancelled_group", "cancel", "align_edge", "saturated_same_sign", "floor_edge", "c_edge")
RANDOM_ROWS = 32
KEY = 1
Answers = tuple[int | None, ...]


@dataclass(frozen=True)
class Probe:
    """Rows for a machine and what each hypothesis expects of it.

    datapath: id that was asked for.   plans: what the probe starts from.
    hypotheses, answers: answers[h][r] is the result code of row r under hypothesis h (None: refused).
    classes: numbers of the hypotheses that the rows do not tell apart, the datapath as it stands first.
    tried: candidates from which the rows were chosen; a class of several is told apart by none of them.
    """

    datapath: str
    plans: tuple[Plan, ...]
    rows: tuple[Built, ...]
    hypotheses: tuple[Supposed, ...]
    answers: tuple[Answers, ...]
    classes: tuple[tuple[int, ...], ...]
    tried: int

    @property
    def plan(self) -> Plan:
        """The first plan: formats and lengths of all rows."""
        return self.plans[0]

    @property
    def digest(self) -> str:
        """Digest of the rows, first 16 digits: ties a file of answers to them."""
        return digest_json([self.datapath, self.plan.name, [[list(codes) for codes in built.row.key()] for built in self.rows]])[:16]


@dataclass(frozen=True)
class Finding:
    """What the answers of a machine say.

    fits: hypotheses that expect every answer.   combined: were changes of three or more facts searched too.
    unexplained: (row number from 1, answer) that no single hypothesis expects.   nearest: where nothing fits, the hypotheses with the most
    rows right, and how many.   asked, given: rows of the probe, and rows answered.
    """

    fits: tuple[Supposed, ...]
    combined: bool
    unexplained: tuple[tuple[int, int], ...]
    nearest: tuple[Supposed, ...]
    nearest_right: int
    asked: int
    given: int


def make_probe(
    datapath: str,
    a: str | None = None,
    b: str | None = None,
    scale: str | None = None,
    block: int | None = None,
    depth: int = 2,
    step: Callable[[int, int], None] | None = None,
) -> Probe:
    """Return the probe of a datapath; of one with open facts, the probe that tells its readings apart.

    a, b, scale, block: where it leaves them free.   depth: facts changed at a time in the hypotheses, 1 or 2; of levels it is always 1.
    step: is told (done, of) hypotheses.
    Raises: SpecError, OpenError (nothing is known).   Tests: tests/explain/test_explain_probe.py.
    """
    model: Datapath = get("datapath", datapath)
    plans: list[Plan] = (
        [resolve_levels(model, a, b, scale, block)] if isinstance(model.facts, DatapathLevels) else [*bases(model, a, b, scale, block)]
    )
    pool = candidates(plans)
    rows = [built.row for built in pool]
    supposed = _hypotheses(plans, depth, len(rows[0].a))
    table = []
    for number, item in enumerate(supposed):
        table.append(_answers(rows, item.plan, plans[0]))
        if step is not None:
            step(number + 1, len(supposed))
    kept = _classes(table, range(len(pool)))
    if len(kept) < 2:
        raise SpecError(f"datapath {plans[0].name}: no row tells its hypotheses apart: there is nothing to probe")
    chosen = _prune(table, _choose(table, len(kept)), len(kept))
    built = tuple(pool[number] for number in chosen)
    right_answers = tuple(tuple(_answer(item.row, each.plan, plans[0]) for item in built) for each in supposed)
    for each, found, wanted in zip(supposed, table, right_answers, strict=True):
        if any(not same_answer(found[number], code, each.plan) for number, code in zip(chosen, wanted, strict=True)):
            raise EngineError(f"{each.text}: the quick engine and the reference model disagree on a row of the probe: run `emu doctor`")
    return Probe(model.id, tuple(plans), built, tuple(supposed), right_answers, kept, len(pool))


def _hypotheses(plans: Sequence[Plan], depth: int, k: int) -> list[Supposed]:
    if isinstance(plans[0], LevelsPlan):
        return in_levels.hypotheses(plans[0], k)
    return [*hypotheses([plan for plan in plans if isinstance(plan, DatapathPlan)], depth)]


def candidates(plans: Sequence[Plan]) -> list[Built]:
    """Return the rows to choose from: constructed for each plan, then random ones; of levels the directed rows of their contract.

    Rows with a NaN or infinite operand are left out, but for those of levels, whose registers say what becomes of them.
    """
    out: dict[tuple[tuple[int, ...], ...], Built] = {}
    for plan in plans:
        if isinstance(plan, LevelsPlan):
            return _directed(plan)
        for built in constructed(plan):
            out.setdefault(built.row.key(), built)
    assert isinstance(plans[0], DatapathPlan)
    for category in RANDOM_CATEGORIES:
        for number, row in enumerate(samples(plans[0], category, KEY, RANDOM_ROWS)):
            if _finite(row, plans[0]):
                out.setdefault(row.key(), Built(category, f"random row {number} of category {category}", row))
    return list(out.values())


def _directed(plan: LevelsPlan) -> list[Built]:
    """Return rows of a datapath of levels, those with the fewest products that are not zero first: the directed ones of its contract.

    And an infinity that comes late, or as C, where a sum may have overflowed before it: are special values decided once.
    """
    op = LevelsContract.of(parse(f"dot/{plan.name}"))
    found = [Built(case.group, f"a row of category {case.group}", op.taken(case.values)) for case in op.directed()]
    for infinity in op.field.a.inf:
        draft = op.field.draft()
        draft.a[0], draft.b[0] = op.field.a.largest, op.field.b.largest
        draft.a[-1], draft.b[-1] = infinity, op.field.b.nearest(Fraction(1))
        found.append(Built("late_infinity", "the largest product first, an infinite one last", draft.row()))
    if op.field.c is not None and op.field.c.inf:
        draft = op.field.draft()
        draft.a[0], draft.b[0], draft.c = op.field.a.largest, op.field.b.largest, op.field.c.inf[-1]
        found.append(Built("infinite_c", "the largest product, an infinite C of the other sign", draft.row()))
    simple = sorted(found, key=lambda built: sum(map(bool, built.row.a)))
    return [built for built in simple if not op.has_open_bit(built.row)]


def _finite(row: DotRow, plan: DatapathPlan) -> bool:
    groups = [((row.c,), plan.c), (row.a, plan.a), (row.b, plan.b)]
    groups += [((*row.scale_a, *row.scale_b), plan.scale)] if plan.scale else []
    return all(value_of(code, fmt).kind == "finite" for codes, fmt in groups for code in set(codes))


def _answer(row: Any, plan: Plan, first: Plan) -> int | None:
    """Return the result of a row by the reference model. first: the plan whose rows they are."""
    if isinstance(first, LevelsPlan):
        return in_levels.answer_of(row, first, plan)
    assert isinstance(plan, DatapathPlan)
    return answer(row, plan)


def _answers(rows: Sequence[Any], plan: Plan, first: Plan) -> Answers:
    """Return the results of rows; a NaN whose payload is free counts as one code. first: the plan whose rows they are."""
    if isinstance(first, LevelsPlan):
        found = in_levels.answers_of(rows, first, plan)
    else:
        assert isinstance(plan, DatapathPlan)
        found = answers(rows, plan)
    if plan.facts.special.nan != "any":
        return tuple(found)
    nan = derive.codes(plan.d).nan[0]
    return tuple(nan if code is not None and derive.is_nan_code(code, plan.d) else code for code in found)


def _classes(table: Sequence[Answers], rows: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Return the hypotheses that have the same answers on some rows, in the order of the first of each."""
    out: dict[Answers, list[int]] = {}
    for number, found in enumerate(table):
        out.setdefault(tuple(found[row] for row in rows), []).append(number)
    return tuple(tuple(members) for members in out.values())


def _choose(table: Sequence[Answers], wanted: int) -> list[int]:
    """Return row numbers, each the one that splits the classes so far into the most; the simplest where several do."""
    chosen: list[int] = []
    labels = [0] * len(table)
    while len(set(labels)) < wanted:
        best, best_count = -1, 0
        for row in range(len(table[0])):
            count = len({(label, found[row]) for label, found in zip(labels, table, strict=True)})
            if count > best_count:
                best, best_count = row, count
        chosen.append(best)
        names: dict[tuple[int, int | None], int] = {}
        labels = [names.setdefault((label, found[best]), len(names)) for label, found in zip(labels, table, strict=True)]
    return chosen


def _prune(table: Sequence[Answers], chosen: Sequence[int], wanted: int) -> list[int]:
    """Return the rows without those that the later ones made needless."""
    kept = list(chosen)
    for row in chosen:
        rest = [item for item in kept if item != row]
        if rest and len(_classes(table, rest)) == wanted:
            kept = rest
    return sorted(kept)


def identify(probe: Probe, given: Sequence[int | None]) -> Finding:
    """Return what the results of a machine say about it.

    given: result codes in the order of the rows, None where a row was not run.   Raises: OperandError (another number of rows, none run).
    """
    if len(given) != len(probe.rows):
        raise OperandError(f"{len(given)} answers for the {len(probe.rows)} rows of the probe of {probe.plan.name}")
    asked = [row for row, code in enumerate(given) if code is not None]
    if not asked:
        raise OperandError(f"no row of the probe of {probe.plan.name} was answered")
    right = [sum(_agrees(found[row], given[row], probe.plan) for row in asked) for found in probe.answers]
    fits = tuple(item for item, count in zip(probe.hypotheses, right, strict=True) if count == len(asked))
    strange = tuple((row + 1, code) for row in asked if (code := given[row]) is not None and not _explained(probe, row, code))
    wider = not fits
    if wider:
        odd = {row - 1 for row, _ in strange}
        fits = _combined(probe, given, sorted(asked, key=lambda row: row not in odd))
    best = max(right)
    nearest = () if fits else tuple(item for item, count in zip(probe.hypotheses, right, strict=True) if count == best)
    return Finding(fits, wider, () if fits else strange, nearest, 0 if fits else best, len(probe.rows), len(asked))


def _agrees(expected: int | None, got: int | None, plan: Plan) -> bool:
    return expected is not None and same_answer(expected, got, plan)


def _explained(probe: Probe, row: int, code: int) -> bool:
    return any(_agrees(found[row], code, probe.plan) for found in probe.answers)


def _combined(probe: Probe, given: Sequence[int | None], asked: Sequence[int]) -> tuple[Supposed, ...]:
    """Search combinations of changes; return those with the fewest. asked: rows in the order in which they are tried."""
    rows = [(probe.rows[row].row, given[row]) for row in asked]
    out: list[Supposed] = []
    for plan in probe.plans:
        tried = in_levels.combined(plan, len(rows[0][0].a)) if isinstance(plan, LevelsPlan) else combined(plan)
        for item in tried:
            if out and len(item.changes) > len(out[0].changes):
                break
            if all(_agrees(_answer(row, item.plan, plan), code, plan) for row, code in rows):
                out.append(item)
    fewest = min((len(item.changes) for item in out), default=0)
    return tuple(item for item in out if len(item.changes) == fewest)
