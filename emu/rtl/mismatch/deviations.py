"""What may be wrong with a design, as answers: single deviations from a contract, and on how many rows of a log each holds.

Not here: the deviations themselves (the contracts', hypotheses_plain).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import zip_longest
from typing import Any, NamedTuple, TypeVar

from emu.base.errors import EmuError
from emu.contracts.columns import Layout
from emu.contracts.contract import Deviation, Values
from emu.contracts.rows import Answer, inputs_of, pack, value_of
from emu.rtl.mismatch.golden_rows import Case, Golden


class Effort(NamedTuple):
    """How many rows are looked at.

    few: rows that every hypothesis is tried on first.   some, most: of each kind, for those that held once, and for the BEST of them.
    sample: of the suite, on which equal hypotheses are told apart.
    """

    few: int
    some: int
    most: int
    sample: int


QUICK, SLOW = Effort(32, 160, 1 << 14, 32), Effort(6, 24, 64, 8)  # for operations of which `exact` does thousands a second, and hundreds
BEST = 12
FEW_ROWS = 8  # times the sample, where a log has few rows
Item = TypeVar("Item")
Predict = Callable[[int], dict[str, int] | None]


@dataclass(frozen=True)
class Hypothesis:
    """One deviation. text: in words.   stage: the first stage that it makes wrong.   predict: tc -> outputs; None where it cannot say."""

    text: str
    stage: str
    predict: Predict


def of_contract(golden: Golden, ids: Sequence[int]) -> Iterator[Hypothesis]:
    """Yield the deviations that the contract lists. ids: tcIds that will be asked for; some deviations compute them together."""
    for item in golden.plan.operation.deviations():
        yield Hypothesis(item.text, item.stage, _predict(golden, item, ids))


def _predict(golden: Golden, item: Deviation, ids: Sequence[int]) -> Predict:
    """Return the outputs of a deviation by tcId."""

    def values(tc: int) -> Values:
        return inputs_of(golden.layout, golden.row(tc))

    @cache
    def every() -> dict[int, Answer | None]:
        assert item.batch is not None
        return dict(zip(ids, item.batch([values(tc) for tc in ids]), strict=True))

    def predict(tc: int) -> dict[str, int] | None:
        answer = item.answer(values(tc)) if item.batch is None else every().get(tc)
        return None if answer is None else packed_answer(golden.layout, answer)

    return predict


@dataclass(frozen=True)
class Verdict:
    """On how many of the tried rows a hypothesis holds. bad: rows that differ from the contract; good: rows that agree with it.

    here: on the row to explain.   also: hypotheses with the same outputs on all these rows and on a sample of the suite.
    """

    hypothesis: Hypothesis
    bad: int
    bad_tried: int
    good: int
    good_tried: int
    here: bool
    also: tuple[str, ...] = ()

    @property
    def whole(self) -> bool:
        """Tell whether it explains every row tried."""
        return (self.bad, self.good) == (self.bad_tried, self.good_tried)

    def data(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "text": self.hypothesis.text, "also": list(self.also), "stage": self.hypothesis.stage, "thisRow": self.here,
            "mismatches": self.bad, "mismatchesTried": self.bad_tried, "agreeing": self.good, "agreeingTried": self.good_tried,
        }  # fmt: skip


def packed_answer(layout: Layout, answer: Answer) -> dict[str, int] | None:
    """Return output column -> integer of a reference model's answer; None where a lane is open. Stages are left out."""
    pairs = [(column, lanes) for column, lanes in zip(layout.results, answer, strict=False) if column.role == "out"]
    if any(code < 0 for _, lanes in pairs for code in lanes):
        return None
    return {column.name: pack(lanes, column.lane_bits) for column, lanes in pairs}


def holds(layout: Layout, case: Case, predicted: dict[str, int] | None) -> bool:
    """Tell whether predicted outputs are what a simulation got, in all compared bits of the printed output columns."""
    if predicted is None:
        return False
    for column in layout.results:
        if column.role != "out" or column.name not in case.got:
            continue
        got, mask = case.got[column.name], value_of(layout, case.row, f"m_{column.name}")
        if column.name not in predicted or got is None or (predicted[column.name] ^ got) & mask:
            return False
    return True


def effort_of(golden: Golden) -> Effort:
    """Return how many rows to look at."""
    return QUICK if golden.plan.operation.name.op in ("convert", "decode", "layout", "insn") else SLOW


def tried(golden: Golden, found: Iterable[Hypothesis], this: Case, bad: Sequence[Case], good: Sequence[Case]) -> list[Verdict]:
    """Return the hypotheses that hold on the row or on any mismatch of the first few, the best first.

    this: the row to explain.   bad, good: rows of the log that differ and that agree.   Equal ones are one entry, under the first's name.
    Only the BEST are counted on every row; the others, behind them, on some.
    """
    layout, effort = golden.layout, effort_of(golden)
    first = [this, *(case for case in _various(bad, effort.few) if case.tc != this.tc)]
    some = [_various(cases, effort.some) for cases in (bad, good)]
    most = [spread(cases, effort.most) for cases in (bad, good)]
    sample = [*(case.tc for case in (*first, *some[0], *some[1])), *spread(range(1, golden.size + 1), _wanted(effort, bad, good))]
    out: dict[tuple[Any, ...], Verdict] = {}
    for item in found:
        guess = _Guess(item.predict)
        if not any(holds(layout, case, guess(case.tc)) for case in first):
            continue
        said = tuple(_frozen(guess(tc)) for tc in sample)
        if said in out:
            out[said] = replace(out[said], also=(*out[said].also, item.text))
        else:
            out[said] = _counted(layout, replace(item, predict=guess), this, some)
    ranked = sorted(out.values(), key=_rank)
    best = [_counted(layout, verdict.hypothesis, this, most, verdict.also) for verdict in ranked[:BEST]]
    return [*sorted(best, key=_rank), *ranked[BEST:]]


def rows_needed(golden: Golden, bad: Sequence[Case], good: Sequence[Case]) -> list[int]:
    """Return every tcId that `tried` may ask a hypothesis for, whichever row is explained."""
    effort = effort_of(golden)
    cases = [*bad, *_various(good, effort.some), *spread(good, effort.most)]
    return sorted({case.tc for case in cases} | set(spread(range(1, golden.size + 1), _wanted(effort, bad, good))))


def _wanted(effort: Effort, bad: Sequence[Case], good: Sequence[Case]) -> int:
    """Return how many rows of the suite tell equal hypotheses apart: more where the log has few."""
    return effort.sample if len(bad) + len(good) >= effort.some else FEW_ROWS * effort.sample


def _counted(layout: Layout, item: Hypothesis, this: Case, cases: Sequence[Sequence[Case]], also: tuple[str, ...] = ()) -> Verdict:
    bad, good = (sum(holds(layout, case, item.predict(case.tc)) for case in kind) for kind in cases)
    return Verdict(item, bad, len(cases[0]), good, len(cases[1]), holds(layout, this, item.predict(this.tc)), also)


def _rank(item: Verdict) -> tuple[bool, bool, bool, int, int]:
    """Whole ones first, then those that hold on the row, that no agreeing row refutes, on the most rows."""
    return not item.whole, not item.here, item.good < item.good_tried, -(item.bad + item.good), -item.bad


def _various(cases: Sequence[Case], most: int) -> list[Case]:
    """Return at most so many rows: of every set of flags some, the first ones of each set first."""
    by_flags: dict[tuple[str, ...], list[Case]] = {}
    for case in cases:
        by_flags.setdefault(case.row.flags, []).append(case)
    turns = zip_longest(*(spread(kind, most) for kind in by_flags.values()))
    return [case for turn in turns for case in turn if case is not None][:most]


def _frozen(outputs: dict[str, int] | None) -> tuple[tuple[str, int], ...] | None:
    return None if outputs is None else tuple(sorted((name, value) for name, value in outputs.items()))


def spread(cases: Sequence[Item], most: int) -> Sequence[Item]:
    """Return at most so many of a sequence, evenly spaced."""
    return cases if len(cases) <= most else [cases[place * len(cases) // most] for place in range(most)]


class _Guess:
    """A prediction, made once per row; a deviation that the reference model refuses predicts nothing."""

    def __init__(self, predict: Predict) -> None:
        self.predict, self.known = predict, dict[int, dict[str, int] | None]()

    def __call__(self, tc: int) -> dict[str, int] | None:
        if tc not in self.known:
            try:
                self.known[tc] = self.predict(tc)
            except EmuError:
                self.known[tc] = None
        return self.known[tc]


def cover(verdicts: Sequence[Verdict], golden: Golden, bad: Sequence[Case]) -> list[tuple[Verdict, int]]:
    """Return few hypotheses that together explain the most mismatches: (hypothesis, mismatches that none before it explained).

    Only those that no agreeing row contradicts.
    """
    left = {case.tc: case for case in spread(bad, effort_of(golden).most)}
    verdicts = [verdict for verdict in verdicts if verdict.good == verdict.good_tried]
    out: list[tuple[Verdict, int]] = []
    while left and len(out) < 4:
        best, hits = None, set[int]()
        for verdict in verdicts:
            now = {tc for tc, case in left.items() if holds(golden.layout, case, verdict.hypothesis.predict(tc))}
            if len(now) > len(hits):
                best, hits = verdict, now
        if best is None:
            break
        out.append((best, len(hits)))
        left = {tc: case for tc, case in left.items() if tc not in hits}
    return out
