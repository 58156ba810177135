"""identify the datapath of a dot-product kernel: the rows of a probe of each candidate, and what their results say."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from emu.base.caches import bounded
from emu.base.errors import OpenError, OperandError, SpecError, TargetError
from emu.check.model import Target
from emu.contracts.dot import cases
from emu.contracts.dot.rows import DotRow, answers, same_answer
from emu.contracts.form import integer_dtype
from emu.contracts.levels import cases as level_cases
from emu.contracts.levels import suite
from emu.contracts.levels.contract import LevelsContract
from emu.contracts.levels.hypotheses import Plan, Supposed, answers_of
from emu.contracts.levels.trace import register_text
from emu.engines.numpy.convert import code_dtype
from emu.explain.probe.run import Finding, Probe, make_probe
from emu.explain.probe.run import identify as read_probe
from emu.identify.model import Axis, Departure, Identity, Pair
from emu.spec.contract import level_plans, parse, plans
from emu.spec.datapath import DatapathPlan
from emu.spec.levels import LevelsPlan

SHOWN: Final = 4
DRAWN: Final = 16  # rows of each category that confirm
FIRST_DRAWN: Final = 1 << 17  # number of the first: past every row of a suite
DEPTH: Final = 1  # facts changed at a time; combinations are searched where nothing fits


def identify_dot(target: Target, among: Sequence[str] | None) -> Identity:
    """Return which datapath a kernel has.

    among: contracts without `dot/`, or ids of datapaths: the plans that are probed; each probe covers its neighbours and all datapaths with
    the same operands. None: the target's own `datapath`, a contract, where it has that attribute.
    Raises: TargetError, OperandError (none named, the kernel takes no operands of them).
    """
    wanted = among or [name for name in [getattr(target, "datapath", None)] if name is not None]
    if not wanted:
        raise OperandError(
            "identify: a dot product needs --among with datapaths, such as blackwell_mxf4nvf4_b16_ue4m3: they say its operands"
        )
    best: tuple[Probe, Finding, list[int | None]] | None = None
    for plan in _plans(wanted):
        probe = _probe(plan)
        given = _ask(target, plan, [built.row for built in probe.rows])
        if given is None:
            continue
        finding = read_probe(probe, given)
        if best is None or _rank(finding) > _rank(best[1]):
            best = (probe, finding, given)
        if finding.fits and not finding.combined:
            break
    if best is None:
        raise OperandError(f"identify: {target.name} took no row of {', '.join(wanted)}")
    return _report(target, *best, *_confirmed(target, best[0], best[1]))


def _confirmed(target: Target, probe: Probe, finding: Finding) -> tuple[list[Supposed], list[Departure]]:
    """Ask drawn rows that no choice has seen. Returns: what fits those too; where nothing does, rows where the first departs."""
    left = list(finding.fits)
    for rows in _drawn(probe.plan) if left else ():
        given = _ask(target, probe.plan, rows)
        if given is None:
            continue
        wrong = {item.text: _wrong(item, probe.plan, rows, given) for item in left}
        if all(wrong.values()):
            number, wanted = wrong[left[0].text][0]
            got = given[number]
            return [], [Departure(_texts(rows[number], probe.plan), "d", _hex(wanted), _hex(got))]
        left = [item for item in left if not wrong[item.text]]
    return left, []


def _drawn(plan: Plan) -> Iterator[Sequence[Any]]:
    """Yield drawn rows of every category."""
    if isinstance(plan, LevelsPlan):
        op = LevelsContract.of(parse(f"dot/{plan.name}"))
        for category in (name for name in level_cases.MAKERS if level_cases.applies(name, op.field)):
            rows = suite.rows(op, category, DRAWN, FIRST_DRAWN)
            yield [row for row in rows if not op.has_open_bit(row)]
        return
    for category in (name for name in cases.MAKERS if name != "chain" and cases.applies(name, plan)):
        yield [DotRow(*case) for case in cases.rows(category, plan, DRAWN, FIRST_DRAWN)]


def _texts(row: Any, plan: Plan) -> dict[str, str]:
    found: dict[str, str] = row.texts(plan)
    return found


def _wrong(item: Supposed, plan: Plan, rows: Sequence[Any], given: Sequence[int | None]) -> list[tuple[int, int | None]]:
    """Return number and wanted result of the rows where a kernel is not what is supposed; refused and open rows are not compared.

    plan: whose rows they are.
    """
    if isinstance(plan, LevelsPlan):
        mine = answers_of(rows, plan, item.plan)
    else:
        assert isinstance(item.plan, DatapathPlan)
        mine = answers(rows, item.plan)
    pairs = enumerate(zip(mine, given, strict=True))
    return [(at, want) for at, (want, got) in pairs if None not in (want, got) and not same_answer(want, got, item.plan)]


def _plans(wanted: Sequence[str]) -> Iterator[Plan]:
    """Return the plans of ids and contracts, each combination of operands once. Raises: OperandError."""
    every: list[Plan] = [*plans(), *level_plans()]
    known = [plan for plan in every if plan.name in wanted or plan.datapath.id in wanted]
    if not known:
        raise OperandError(f"identify: no datapath {', '.join(wanted)}: `emu list datapaths`")
    seen: set[tuple[Any, ...]] = set()
    for plan in known:
        key = (plan.datapath.id, plan.a.id, plan.b.id, None if plan.scale is None else plan.scale.id, plan.block)
        if key not in seen:
            seen.add(key)
            yield plan


def _probe(plan: Plan) -> Probe:
    return _made(plan.datapath.id, plan.a.id, plan.b.id, None if plan.scale is None else plan.scale.id, plan.block or None)


@bounded(8, names=True)
def _made(datapath: str, a: str, b: str, scale: str | None, block: int | None) -> Probe:
    return make_probe(datapath, a, b, scale, block, DEPTH)


def _rank(finding: Finding) -> tuple[bool, bool, int]:
    return bool(finding.fits), not finding.combined, finding.nearest_right


def _ask(target: Target, plan: Plan, rows: Sequence[Any]) -> list[int | None] | None:
    """Return the results of rows; None where there are none, or the kernel does not take them."""
    if not rows:
        return None
    operands: dict[str, Any] = {
        "a": np.array([row.a for row in rows], code_dtype(plan.a)),
        "b": np.array([row.b for row in rows], code_dtype(plan.b)),
    }
    if plan.c is not None:
        operands["c"] = np.array([row.c for row in rows], code_dtype(plan.c))
    if isinstance(plan, LevelsPlan) and rows[0].random:
        bits = max(draw.rounding.random_bits for draw in plan.draws(len(rows[0].a)))
        operands["words"] = np.array([row.random for row in rows], integer_dtype(None, bits))
    if plan.scale is not None:
        operands["scale_a"] = np.array([row.scale_a for row in rows], code_dtype(plan.scale))
        operands["scale_b"] = np.array([row.scale_b for row in rows], code_dtype(plan.scale))
    try:
        found = np.asarray(target(operands)["d"])
    except TargetError as error:
        if error.verdict in ("raises", "shape"):
            return None
        raise
    except (OpenError, SpecError):
        return None
    return [int(code) for code in found.reshape(-1)] if found.size == len(rows) else None


def _report(
    target: Target, probe: Probe, finding: Finding, given: Sequence[int | None], fits: list[Supposed], late: list[Departure]
) -> Identity:
    """Return the identity. fits: what every row confirmed.   late: rows that told against all that had fitted before."""
    plain = [item for item in fits if not item.changes]
    kind: Any = "documented" if plain else "variant" if fits else "nearest"
    shown = plain or fits or [item for item in finding.fits if not item.changes] or list(finding.nearest or finding.fits)
    names = tuple(item.text for item in shown)
    title = " or ".join(names) if fits else f"nothing documented; nearest {' or '.join(names)}"
    axes = [Axis("operands", "operands", probe.plan.name)]
    if fits and len(shown) == 1:
        axes += [Axis("datapath", path, str(value)) for path, value in shown[0].data()["changes"].items()]
        axes += _levels(shown[0].plan)
    numbers = [number for number, item in enumerate(probe.hypotheses) if item in shown]
    departures = late if finding.fits or not numbers else list(_departures(probe, numbers[0], given))
    right = finding.given - len(departures) if finding.fits else finding.nearest_right
    pairs = tuple(_pairs(probe, numbers[0])) if numbers else ()
    return Identity(target.name, target.op, kind, names, title, tuple(axes), pairs, tuple(departures[:SHOWN]), finding.given, right)


def _levels(plan: Plan) -> Iterator[Axis]:
    """What each level of a datapath of levels does: how it adds, in which order, and the register."""
    for level in plan.levels if isinstance(plan, LevelsPlan) else ():
        words = level.facts
        every = f", every {words.take.every}-th" if words.take.every > 1 else ""
        by = f", {words.by} at a time" if (words.by or 1) > 1 else ""
        start = f", from {words.start}" if words.start else ""
        yield Axis("level", words.id, f"{words.add} of {words.of}{every}{by}{start}; {register_text(words.hold, level.unit_exp)}")
    if isinstance(plan, LevelsPlan):
        yield Axis("level", "out", register_text(plan.facts.out, None))


def _departures(probe: Probe, number: int, given: Sequence[int | None]) -> Iterator[Departure]:
    for place, (wanted, got) in enumerate(zip(probe.answers[number], given, strict=True)):
        if wanted is not None and got is not None and not same_answer(wanted, got, probe.plan):
            yield Departure(_texts(probe.rows[place].row, probe.plan), "d", f"{wanted:#x}", f"{got:#x}")


def _pairs(probe: Probe, number: int) -> Iterator[Pair]:
    """Yield the verdict on what was found and every other hypothesis of the probe."""
    mine = probe.answers[number]
    together: Callable[[int], bool] = lambda other: any(number in members and other in members for members in probe.classes)  # noqa: E731
    for other, item in enumerate(probe.hypotheses):
        if other == number:
            continue
        first, second = probe.hypotheses[number].text, item.text
        if together(other):
            yield Pair(first, second, "not separated", f"{probe.tried} rows tried")
            continue
        places = (at for at, (one, two) in enumerate(zip(mine, probe.answers[other], strict=True)) if not same_answer(one, two, probe.plan))
        at = next(places)
        yield Pair(
            first, second, "separated", f"d {_hex(mine[at])} and {_hex(probe.answers[other][at])}", _texts(probe.rows[at].row, probe.plan)
        )


def _hex(code: int | None) -> str:
    return "refused" if code is None else f"{code:x}"
