"""emu explain mismatch: a MISMATCH line or log beside `exact`: the trace of the row, what differs, the first wrong stage, and which
single deviations explain it, with the number of rows on which each holds.

Not here: its text (mismatch.txt.j2), reading logs (lines), the deviations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from emu.base.errors import FileError
from emu.base.templates import filled
from emu.contracts import parse
from emu.contracts.columns import Column
from emu.contracts.rows import first_lane, inputs_of, unpack, value_of
from emu.contracts.text import meaning, waves
from emu.explain.link import lines_of_part, of_values
from emu.rtl.mismatch.deviations import BEST, Hypothesis, Verdict, cover, of_contract, tried
from emu.rtl.mismatch.deviations_plain import inputs_changed, neighbours, one_lane, other_contracts, plain
from emu.rtl.mismatch.golden_rows import Case, Golden, cases_of
from emu.rtl.mismatch.lines import Log
from emu.spec.models import Format
from emu.spec.registry import get

Data = dict[str, Any]
FEWER = 2  # that hold on some rows, beside those that hold on all
MOST_LANES = 8
MOST_ALSO = 4
CLEAR = 4  # mismatch rows from which a verdict on all of them means something
STAGE_ORDER = ("sg", "tm", "ss", "lv", "e", "xa", "xc", "p", "s", "rs")


def explain_mismatch(log: Log, vectors: Path | None = None, suite: str | None = None, tc: int | None = None) -> Data:
    """Return the explanation of one row of a log as plain data.

    log: what a simulation printed.   vectors: folder of golden vectors; None: rows are computed.   suite, tc: the row; None: the suite with
    the most rows that differ, and its first one.
    Raises: FileError (no such row, a row that agrees, inputs or expected values that are not those of the golden row).
    Tests: tests/rtl/test_rtl_explain_mismatch.py.
    """
    golden, this, bad, good = chosen(log, vectors, suite, tc)
    verdicts = ranked(golden, this, bad, good, log.has_state)
    together = [] if not verdicts or verdicts[0].whole else cover(verdicts, golden, bad)
    plan = golden.plan
    out: Data = {"suite": golden.name, "tc": this.tc, "contract": str(plan.operation.name), "flags": list(this.row.flags)}
    part = of_values(plan.operation, inputs_of(golden.layout, this.row), _lane(golden, this))
    out |= {"link": part.link, "see": lines_of_part(plan.operation, part)}
    out["left_out"] = golden.left_out_words()
    out |= {"comment": this.row.comment, "digest": golden.digest_words(log), "inputs": _inputs(golden, this)}
    out |= {"trace": _trace(golden, this), "columns": [_compared(golden, column, this) for column in _printed(golden, this)]}
    out |= {"differ": len(bad), "agree": len(good), "first_wrong": _first_wrong(golden, this, verdicts)}
    whole = sum(item.whole for item in verdicts)
    shown = verdicts[: min(whole + FEWER, BEST) if whole else BEST]
    out["hypotheses"] = [item.data() for item in shown]
    out["more"] = len(verdicts) - len(shown)
    out["confident"] = confident(verdicts)
    out["together"] = [{"text": item.hypothesis.text, "stage": item.hypothesis.stage, "explains": count} for item, count in together]
    return out


def chosen(log: Log, vectors: Path | None, suite: str | None, tc: int | None) -> tuple[Golden, Case, list[Case], list[Case]]:
    """Return the golden rows, the row to explain, and the rows of its suite that differ and that agree. Raises: as explain_mismatch."""
    names = Counter(name for name, _ in log.rows)
    if suite is not None and suite not in names:
        raise FileError(f"{suite}: the log has no rows of it, only of {', '.join(names)}")
    found = []
    for name in [suite] if suite is not None else names:
        golden = Golden(name, vectors, log.left_out.get(name))
        found.append((golden, *cases_of(golden, log)))
    golden, bad, good = max(found, key=lambda item: len(item[1]))
    if tc is not None:
        this = next((case for case in (*bad, *good) if case.tc == tc), None)
        if this is None:
            raise FileError(f"{golden.name}: the log has no row {tc}")
        if this not in bad:
            raise FileError(f"{golden.name} tc={tc}: agrees with the golden row")
        return golden, this, bad, good
    if not bad:
        raise FileError(f"{golden.name}: every row of the log agrees with the golden one")
    return golden, bad[0], bad, good


def ranked(golden: Golden, this: Case, bad: Sequence[Case], good: Sequence[Case], has_state: bool | None = None) -> list[Verdict]:
    """Return the single deviations that hold on some rows, the best first: documented contracts, what may be wrong everywhere, then, where
    nothing explains every row, what may be wrong in one lane alone, and other contracts.

    this: the row to explain.   bad, good: the rows of the log.   has_state: does the design hold more than one row; None: nobody said.
    """
    found = tried(golden, deviations(golden, bad, has_state), this, bad, good)
    if found and found[0].whole:
        return found
    lanes = chain(one_lane(golden), of_contract(golden, one_lane=True), other_contracts(golden, close=False))
    return sorted([*found, *tried(golden, lanes, this, bad, good, few=2)], key=_place)


def _place(item: Verdict) -> tuple[bool, bool, bool, int]:
    return not item.whole, item.good < item.good_tried, not item.here, -(item.bad + item.good)


def deviations(golden: Golden, bad: Sequence[Case], has_state: bool | None = None) -> Iterator[Hypothesis]:
    """Yield the single deviations to try first, documented contracts before others. bad: the rows of the log that differ."""
    others = other_contracts(golden, close=True) if golden.plan.operation.neighbours else iter(())
    sequence = iter(()) if has_state is False else neighbours(golden)
    return chain(others, of_contract(golden), plain(golden, bad), inputs_changed(golden), sequence)


def confident(verdicts: Sequence[Verdict]) -> bool:
    """Tell whether the best explanation is the only one: of every row that was tried, of enough rows, and no rival is left."""
    whole = [item for item in verdicts if item.whole]
    return len(whole) == 1 and whole[0].bad_tried >= CLEAR


def _inputs(golden: Golden, this: Case) -> Data:
    pairs = zip(golden.layout.inputs, inputs_of(golden.layout, this.row), strict=True)
    return {column.name: f"{value:0{column.digits}x}" for column, value in pairs}


def _printed(golden: Golden, this: Case) -> list[Column]:
    return [column for column in golden.layout.results if column.name in this.got]


def _compared(golden: Golden, column: Column, this: Case) -> Data:
    """Return want and got of a column, lane by lane where lanes differ."""
    want, mask = (value_of(golden.layout, this.row, name) for name in (column.name, f"m_{column.name}"))
    got = this.got[column.name]
    out: Data = {"column": column.name, "want": f"{want:0{column.digits}x}", "got": this.text[column.name]}
    out |= {"differs": column.name in this.wrong(golden.layout), "unknown": got is None, "masked": not mask, "single": column.lanes == 1}
    if got is not None and column.format is not None:
        lanes = zip(unpack(want, column), unpack(got, column), unpack(mask, column), strict=True)
        out["lanes"] = [
            {"lane": lane, "want": _named(x, column), "got": _named(y, column)} for lane, (x, y, m) in enumerate(lanes) if (x ^ y) & m
        ]
    return out


def _named(code: int, column: Column) -> str:
    fmt: Format = get("format", column.format or "")
    return f"{code:0{-(-column.lane_bits // 4)}x} ({meaning(code, fmt)})"


def _trace(golden: Golden, this: Case) -> Data:
    """Return the trace of the exact engine under one key, which names the operation."""
    op, values = golden.plan.operation, inputs_of(golden.layout, this.row)
    return {op.name.op: op.trace(values, _lane(golden, this))}


def _lane(golden: Golden, this: Case) -> int:
    """Return the first lane of the first output that differs; 0 where none does."""
    column = next(column for column in golden.layout.results if column.role == "out")
    got = this.got.get(column.name)
    if got is None:
        return 0
    want, mask = (value_of(golden.layout, this.row, name) for name in (column.name, f"m_{column.name}"))
    return first_lane((want ^ got) & mask, column)


def _first_wrong(golden: Golden, this: Case, verdicts: Sequence[Verdict]) -> Data:
    """Name the first stage that is wrong, and how that is known."""
    wrong = this.wrong(golden.layout)
    stages = [column.name for column in golden.layout.results if column.role == "stage" and column.name in this.got]
    bad = sorted((name for name in wrong if name in stages), key=_stage_place)
    if bad:
        return {"stage": bad[0], "by": f"stage columns of the design: {len(bad)} of {len(stages)} printed ones differ", "settled": True}
    best = verdicts[0] if verdicts and verdicts[0].here else None
    if best is not None and best.good == best.good_tried:
        equal = [item for item in verdicts if item.here and (item.bad, item.good, item.bad_tried) == (best.bad, best.good, best.bad_tried)]
        others = sorted({item.hypothesis.stage for item in equal} - {best.hypothesis.stage})
        more = f"; not settled: {len(equal) - 1} others explain as much, some of them in {', '.join(others)}" if others else ""
        part = "" if best.whole else f"; it explains {best.bad} of {best.bad_tried} rows that differ"
        by = f"what explains this row: {best.hypothesis.text}{part}{more}"
        return {"stage": best.hypothesis.stage, "by": by, "settled": best.whole and not others}
    levels = [name for name in wrong if name != "codes"]
    if levels and any(column.name == "codes" for column in golden.layout.results):
        return {"stage": levels[0], "by": "levels are made before codes", "settled": True}
    known = f"every one of {len(stages)} printed stages is right, the output is not" if stages else "no stage is printed"
    return {"stage": wrong[0], "by": f"{known}; no deviation that was tried explains it", "settled": False}


def _stage_place(name: str) -> tuple[int, int, str]:
    """Return the place of a stage column in the order of computation: fused step, kind, term."""
    step, _, rest = name.removeprefix("u").partition("_")
    kind = rest.rstrip("0123456789")
    place = STAGE_ORDER.index(kind) if kind in STAGE_ORDER else len(STAGE_ORDER)
    return (int(step) if step.isdigit() else 0, place, f"{int(rest[len(kind) :] or 0):04d}")


def vcd_of(log: Log, vectors: Path | None, suite: str | None, tc: int | None) -> str:
    """Return the explained row for a wave viewer: of a dot product its golden stages; of others inputs, stages of a conversion, want, got.

    Raises: as explain_mismatch.
    """
    golden, this, _, _ = chosen(log, vectors, suite, tc)
    op, values = golden.plan.operation, inputs_of(golden.layout, this.row)
    return waves(op.signals(values, this.got), f"{golden.name} tc={this.tc}")


def lines_of(found: Data) -> list[str]:
    """Return the text of explain_mismatch."""
    ((_, trace),) = found["trace"].items()
    told = parse(found["contract"]).lines(trace)
    template = Path(__file__).with_name("mismatch.txt.j2")
    return filled(template, found=found, trace=told, most_lanes=MOST_LANES, most_also=MOST_ALSO, clear=CLEAR).splitlines()
