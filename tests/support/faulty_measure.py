"""What `emu explain mismatch` says of the faulty designs, and whether it is true.

An explanation is true when it gives what the design gives, on fresh rows that no log holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

from support.faulty_designs import Design, Fault, Lanes, blind

from emu.contracts.rows import Input, Row, is_nan, make_row, mismatches, unpack, value_of
from emu.rtl.mismatch.deviations import Guess, Verdict
from emu.rtl.mismatch.explain import confident, ranked
from emu.rtl.mismatch.golden_rows import Case, Golden
from emu.spec.loader import read

LIST: dict[str, Any] = read(Path(__file__).parents[1] / "rtl" / "faulty_designs.yaml").data
FIRST = 3


@dataclass(frozen=True)
class Found:
    """What was said of one design. place: of the first true explanation, 1 the best; 0: none among the first three."""

    stem: str
    fault: str
    is_blind: bool
    differ: int
    agree: int
    place: int
    confident: bool
    said: str
    fresh: int

    @property
    def is_wrong(self) -> bool:
        """Tell whether a false explanation was given as the only one."""
        return self.confident and self.place != 1


@cache
def golden_of(stem: str) -> Golden:
    return Golden(stem, None)


def lanes_of(golden: Golden, values: Sequence[int]) -> Lanes:
    return {column.name: list(unpack(value, column)) for column, value in zip(golden.layout.inputs, values, strict=True)}


def design_row(golden: Golden, design: Design, values: tuple[int, ...]) -> tuple[Row, tuple[tuple[int, ...], ...]]:
    """Return the golden row of some inputs and what the design gives in its output columns."""
    right = golden.answer(values)
    row = make_row(golden.layout, Input("", (), values), right)
    outs = [column for column in golden.layout.results if column.role == "out"]
    given = design.answer(lanes_of(golden, values))
    answer = []
    for column, lanes in zip(outs, right, strict=False):
        told = given.get(column.name)
        answer.append(tuple(max(code, 0) for code in lanes) if told is None else tuple(max(int(code), 0) for code in told))
    return row, tuple(answer)


def log_of(golden: Golden, design: Design) -> tuple[list[Case], list[Case]]:
    """Return the rows that differ and those that agree, as a log with ROW lines gives them."""
    bad, good = list[Case](), list[Case]()
    for tc in range(1, golden.size + 1):
        row, answer = design_row(golden, design, golden.values(tc))
        outs = [column for column in golden.layout.results if column.role == "out"]
        got: dict[str, int | None] = {
            column.name: sum(code << place * column.lane_bits for place, code in enumerate(lanes))
            for column, lanes in zip(outs, answer, strict=True)
        }
        case = Case(tc, golden.row(tc), got, {name: f"{value:x}" for name, value in got.items()})
        (bad if mismatches(golden.layout, row, answer) else good).append(case)
    return bad, good


def is_true(golden: Golden, design: Design, verdict: Verdict, fresh: Sequence[tuple[int, ...]]) -> bool:
    """Tell whether an explanation gives what the design gives on rows of no log."""
    if verdict.hypothesis.of_a_sequence or not verdict.whole:
        return False
    told = Guess(golden, verdict.hypothesis).answers(fresh)
    for values, outputs in zip(fresh, told, strict=True):
        row, answer = design_row(golden, design, values)
        for column, lanes in zip(golden.layout.results, answer, strict=False):
            mask = unpack(value_of(golden.layout, row, f"m_{column.name}"), column)
            if not any(mask):
                continue
            if outputs is None or column.name not in outputs:
                return False
            for got, said, bits in zip(lanes, unpack(outputs[column.name], column), mask, strict=True):
                if (got ^ said) & bits and not (column.any_nan and is_nan(got, column.format) and is_nan(said, column.format)):
                    return False
    return True


def faults_of(entry: Mapping[str, Any], golden: Golden) -> Iterator[tuple[str, bool, Fault]]:
    """Yield (name, is it drawn, fault) of a design: those written down, then those drawn that change a row of its suite."""
    for item in entry["faults"]:
        yield (
            item["name"],
            False,
            Fault(item.get("choice", {}), item.get("wire", ""), item.get("kind", ""), item.get("n", 0), item.get("lane")),
        )
    rows = [lanes_of(golden, golden.values(tc)) for tc in range(1, golden.size + 1, max(1, golden.size // 40))]
    drawn = blind(entry["model"], entry["config"], rows, f"{LIST['seed']} {entry['stem']}")
    for _ in range(entry["blind"]):
        for fault in drawn:
            if log_of(golden, Design(entry["model"], entry["config"], fault))[0]:
                yield fault.words(), True, fault
                break


def measured(entry: Mapping[str, Any], only: int | None = None, fresh: int = 200) -> Iterator[Found]:
    """Yield what is said of the designs of an entry. only: the number of one of them.   fresh: rows of each kind that judge it."""
    golden = golden_of(entry["stem"])
    for number, (name, is_blind, fault) in zip(count(), faults_of(entry, golden), strict=False):
        if only not in (None, number):
            continue
        design = Design(entry["model"], entry["config"], fault)
        bad, good = log_of(golden, design)
        verdicts = ranked(golden, bad[0], bad, good)
        rows = fresh_rows(golden, fresh)
        place = next((at for at, item in enumerate(verdicts[:FIRST], 1) if is_true(golden, design, item, rows)), 0)
        said = verdicts[0].hypothesis.text if verdicts else "nothing"
        yield Found(entry["stem"], name, is_blind, len(bad), len(good), place, confident(verdicts), said, len(rows))


def fresh_rows(golden: Golden, wanted: int) -> list[tuple[int, ...]]:
    """Return rows of another stream than those that `emu explain mismatch` tells explanations apart on; every code of a decoder."""
    op = golden.plan.operation
    if op.chooser is None:
        return [golden.values(tc) for tc in range(1, golden.size + 1)]
    rows = [*op.draw(100_000, 100_000 + wanted), *op.directed("a judge of explanations")]
    return [case.values for case in rows[: 2 * wanted]]
