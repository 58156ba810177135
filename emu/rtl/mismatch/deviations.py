"""What may be wrong with a design, as answers: single deviations from a contract, and on how many rows of a log each holds.

Not here: the deviations themselves (the contracts', deviations_plain).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any, NamedTuple, TypeVar

from emu.base.errors import EmuError
from emu.contracts.columns import Column, Layout
from emu.contracts.contract import Batch, Values
from emu.contracts.rows import Answer, compares_outputs, is_nan, pack, unpack, value_of
from emu.rtl.mismatch.golden_rows import Case, Golden


class Effort(NamedTuple):
    """How many rows are looked at.

    few: rows that every hypothesis is tried on first.   some, most: of each kind, for those that held once, and for the BEST of them.
    sample: of the suite, on which equal hypotheses are told apart.   fresh: rows of no log, on which those that explain all are told apart.
    """

    few: int
    some: int
    most: int
    sample: int
    fresh: int


QUICK, SLOW = (
    Effort(32, 160, 1 << 14, 32, 1000),
    Effort(6, 48, 512, 16, 200),
)  # for operations of which `exact` does thousands a second, and hundreds
BEST = 12
FEW_ROWS = 8  # times the sample, where a log has few rows
Item = TypeVar("Item")
Outputs = dict[str, int]  # result column -> value


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """One deviation. text: in words.   stage: the first stage that it makes wrong.

    batch: values of rows -> what such a machine gives, None where it cannot say.   predict: of a design with state: tc -> outputs.
    """

    text: str
    stage: str
    batch: Batch | None = None
    predict: Callable[[int], Outputs | None] | None = None

    @property
    def of_a_sequence(self) -> bool:
        """Tell whether it is about rows one after the other, not about a row."""
        return self.batch is None


def of_contract(golden: Golden, one_lane: bool = False) -> Iterator[Hypothesis]:
    """Yield the deviations that the contract lists. one_lane: those of one lane alone, of which there are many."""
    op = golden.plan.operation
    for item in op.deviations_of_one_lane() if one_lane else op.deviations():
        yield Hypothesis(item.text, item.stage, item.batch or one_by_one(item.answer))


def one_by_one(answer: Callable[[Values], Answer | None]) -> Batch:
    """Return the answers of many rows; None for a row that the reference model refuses."""

    def each(values: Values) -> Answer | None:
        try:
            return answer(values)
        except EmuError:
            return None

    return lambda rows: [each(values) for values in rows]


@dataclass(frozen=True)
class Verdict:
    """On how many of the tried rows a hypothesis holds. bad: rows that differ from the contract; good: rows that agree with it.

    here: on the row to explain.   also: hypotheses with the same outputs on all these rows, on a sample of the suite and on fresh rows.
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
            "whole": self.whole,
        }  # fmt: skip


def packed_answer(layout: Layout, answer: Answer) -> Outputs | None:
    """Return result column -> integer of an answer, which may leave the stages out; None where no output is known.

    A column that is open as a whole is left out; an open lane of another is 0: the golden row does not compare it.
    """
    pairs = [(column, lanes) for column, lanes in zip(layout.results, answer, strict=False) if any(code >= 0 for code in lanes)]
    if not any(column.role == "out" for column, _ in pairs):
        return None
    return {column.name: pack([max(code, 0) for code in lanes], column.lane_bits) for column, lanes in pairs}


def holds(layout: Layout, case: Case, predicted: Outputs | None) -> bool:
    """Tell whether a prediction is what a simulation got: in every compared bit of the printed columns that it speaks of.

    Of a row whose outputs differ it must speak of one that does.
    """
    if predicted is None:
        return not compares_outputs(layout, case.row)
    wrong, told = case.wrong(layout), False
    for column in layout.results:
        if column.name not in case.got or column.name not in predicted:
            if column.role == "out" and column.name in case.got and value_of(layout, case.row, f"m_{column.name}"):
                return False
            continue
        if not _equal(layout, case, column, predicted[column.name]):
            return False
        told |= column.name in wrong
    outs = {column.name for column in layout.results if column.role == "out"}
    return told or not outs.intersection(wrong)


def explains(layout: Layout, case: Case, predicted: Outputs | None) -> bool:
    """Tell whether a prediction holds on a row that differs, and changes what differs: what leaves that alone explains nothing."""
    return predicted is not None and holds(layout, case, predicted) and any(name in predicted for name in case.wrong(layout))


def _equal(layout: Layout, case: Case, column: Column, predicted: int) -> bool:
    """Tell whether a predicted value is the printed one: under the mask, any NaN where the payload of a NaN is free."""
    got, mask = case.got[column.name], value_of(layout, case.row, f"m_{column.name}")
    if got is None:
        return not mask
    if not (predicted ^ got) & mask:
        return True
    if not column.any_nan:
        return False
    lanes = zip(unpack(predicted, column), unpack(got, column), unpack(mask, column), strict=True)
    return all(not (x ^ y) & bits or (is_nan(x, column.format) and is_nan(y, column.format)) for x, y, bits in lanes)


def effort_of(golden: Golden) -> Effort:
    """Return how many rows to look at."""
    return QUICK if golden.plan.operation.name.op in ("convert", "decode", "layout", "insn") else SLOW


def tried(
    golden: Golden, found: Iterable[Hypothesis], this: Case, bad: Sequence[Case], good: Sequence[Case], few: int | None = None
) -> list[Verdict]:
    """Return the hypotheses that hold on the row or on any mismatch of the first few, the best first.

    this: the row to explain.   bad, good: rows of the log that differ and that agree.   few: on so many each is tried first.
    Equal ones are one entry, under the first's name; those that explain every row are told apart on fresh rows too. Only the BEST are
    counted on every row, the others on some.
    """
    layout, effort = golden.layout, effort_of(golden)
    first = [this, *(case for case in _various(bad, few or effort.few) if case.tc != this.tc)]
    some = [_various(cases, effort.some) for cases in (bad, good)]
    most = [spread(cases, effort.most) for cases in (bad, good)]
    sample = [*(case.tc for case in (*first, *some[0], *some[1])), *spread(range(1, golden.size + 1), _wanted(effort, bad, good))]
    sample = list(dict.fromkeys(sample))
    groups: dict[tuple[Any, ...], list[Guess]] = {}
    for item in found:
        guess = Guess(golden, item)
        guess.ask([case.tc for case in first])
        if any(explains(layout, case, guess(case.tc)) for case in first):
            guess.ask(sample)
            groups.setdefault(tuple(_frozen(guess(tc)) for tc in sample), []).append(guess)
    counted = [(_counted(layout, members[0], this, some), members) for members in groups.values()]
    counted.sort(key=lambda pair: _rank(pair[0]))
    best: list[Verdict] = []
    every = [case.tc for kind in most for case in kind]
    for _, members in counted[:BEST]:
        for part in _apart(members, lambda guess: guess.predicted(every)):
            verdict = _counted(layout, part[0], this, most)
            if verdict.whole and len(part) > 1:
                rows = golden.fresh(effort.fresh)
                equal = _apart(part, lambda guess: guess.answers(rows))  # noqa: B023  called at once
                best += [_named(replace(verdict, hypothesis=members[0].hypothesis), members) for members in equal]
            else:
                best.append(_named(verdict, part))
    return [*sorted(best, key=_rank), *(_named(verdict, members) for verdict, members in counted[BEST:])]


def _named(verdict: Verdict, members: Sequence[Guess]) -> Verdict:
    return replace(verdict, also=tuple(dict.fromkeys(guess.hypothesis.text for guess in members[1:])))


def _apart(members: Sequence[Guess], told: Callable[[Guess], Sequence[Outputs | None]]) -> list[list[Guess]]:
    """Return hypotheses in sets of which all say the same. told: what one says."""
    if len(members) == 1:
        return [list(members)]
    parts: dict[tuple[Any, ...], list[Guess]] = {}
    for guess in members:
        parts.setdefault(tuple(map(_frozen, told(guess))), []).append(guess)
    return list(parts.values())


def _wanted(effort: Effort, bad: Sequence[Case], good: Sequence[Case]) -> int:
    """Return how many rows of the suite tell equal hypotheses apart: more where the log has few."""
    return effort.sample if len(bad) + len(good) >= effort.some else FEW_ROWS * effort.sample


def _counted(layout: Layout, guess: Guess, this: Case, cases: Sequence[Sequence[Case]]) -> Verdict:
    for kind in cases:
        guess.ask([case.tc for case in kind])
    bad = sum(holds(layout, case, guess(case.tc)) for case in cases[0])
    silent = guess.hypothesis.of_a_sequence  # the first and last rows have no neighbour
    good = sum(holds(layout, case, guess(case.tc)) or (silent and guess(case.tc) is None) for case in cases[1])
    return Verdict(guess.hypothesis, bad, len(cases[0]), good, len(cases[1]), explains(layout, this, guess(this.tc)))


def _rank(item: Verdict) -> tuple[bool, bool, bool, bool, int, int]:
    """Whole ones first, of a row before of a sequence; then those that no agreeing row refutes, that hold here, on the most rows."""
    return (
        not item.whole,
        item.whole and item.hypothesis.of_a_sequence,
        item.good < item.good_tried,
        not item.here,
        -(item.bad + item.good),
        -item.bad,
    )


def _various(cases: Sequence[Case], most: int) -> list[Case]:
    """Return at most so many rows: of every set of flags some, the first ones of each set first."""
    by_flags: dict[tuple[str, ...], list[Case]] = {}
    for case in cases:
        by_flags.setdefault(case.row.flags, []).append(case)
    turns = zip_longest(*(spread(kind, most) for kind in by_flags.values()))
    return [case for turn in turns for case in turn if case is not None][:most]


def _frozen(outputs: Outputs | None) -> tuple[tuple[str, int], ...] | None:
    return None if outputs is None else tuple(sorted((name, value) for name, value in outputs.items()))


def spread(cases: Sequence[Item], most: int) -> Sequence[Item]:
    """Return at most so many of a sequence, evenly spaced."""
    return cases if len(cases) <= most else [cases[place * len(cases) // most] for place in range(most)]


class Guess:
    """What a hypothesis predicts of rows, each asked once; a row that the reference model refuses is predicted as nothing."""

    def __init__(self, golden: Golden, hypothesis: Hypothesis) -> None:
        self.golden, self.hypothesis, self.known = golden, hypothesis, dict[int, Outputs | None]()

    def ask(self, ids: Sequence[int]) -> None:
        """Compute some rows together."""
        ids = [tc for tc in dict.fromkeys(ids) if tc not in self.known]
        if not ids:
            return
        if self.hypothesis.predict is not None:
            self.known |= {tc: self.hypothesis.predict(tc) for tc in ids}
        else:
            self.known |= dict(zip(ids, self.answers([self.golden.values(tc) for tc in ids]), strict=True))

    def predicted(self, ids: Sequence[int]) -> list[Outputs | None]:
        """Return what it predicts of rows of the suite."""
        self.ask(ids)
        return [self.known[tc] for tc in ids]

    def answers(self, rows: Sequence[Values]) -> list[Outputs | None]:
        """Return what it predicts of rows by their values; a sequence of rows says nothing of one."""
        batch = self.hypothesis.batch
        if batch is None:
            return [None] * len(rows)
        try:
            found = batch(rows)
        except EmuError:
            found = (
                [None] * len(rows) if len(rows) == 1 else [one_by_one(lambda values: batch([values])[0])([values])[0] for values in rows]
            )
        return [None if answer is None else packed_answer(self.golden.layout, answer) for answer in found]

    def __call__(self, tc: int) -> Outputs | None:
        """Return what it predicts of one row."""
        self.ask([tc])
        return self.known[tc]


def cover(verdicts: Sequence[Verdict], golden: Golden, bad: Sequence[Case]) -> list[tuple[Verdict, int]]:
    """Return few hypotheses that together explain the most mismatches: (hypothesis, mismatches that none before it explained).

    Only those that no agreeing row contradicts.
    """
    left = {case.tc: case for case in spread(bad, effort_of(golden).most)}
    verdicts = [verdict for verdict in verdicts if verdict.good == verdict.good_tried]
    guesses = {id(verdict): Guess(golden, verdict.hypothesis) for verdict in verdicts}
    out: list[tuple[Verdict, int]] = []
    while left and len(out) < 4:
        best, hits = None, set[int]()
        for verdict in verdicts:
            guess = guesses[id(verdict)]
            guess.ask(list(left))
            now = {tc for tc, case in left.items() if explains(golden.layout, case, guess(tc))}
            if len(now) > len(hits):
                best, hits = verdict, now
        if best is None:
            break
        out.append((best, len(hits)))
        left = {tc: case for tc, case in left.items() if tc not in hits}
    return out
