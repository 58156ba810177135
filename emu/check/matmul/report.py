"""The report of a check of a product: the verdict, each stage with what it could see, and where a wrong kernel went wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from emu.base.text import readable
from emu.check.again import line
from emu.check.report.model import _BROKEN, Report


@dataclass(frozen=True)
class Stage:
    """One stage. compared, differing: outputs.   reached: what it could see, as words."""

    name: str
    compared: int
    differing: int
    reached: dict[str, str] = field(default_factory=dict)


@dataclass
class GemmReport(Report):
    """What a check of a product found, beside what every report says.

    equals: the datapath and order whose bits it gives on random data; None: none that was tried.   epilogue: the programs that it equals.
    accumulator_bits: significand bits with which every sum came out exactly; 0 where it is not known.
    batch_invariant: does a row have the same bits whatever the number of rows; None: not asked.
    envelope_ratio: largest error on random data over the bound for any order of summation; None: not measured.
    bound_ratio: largest error over the bound that a standard states; None: no such bound was asked.
    located: hypothesis and, where they are known, k, block, tile, row, column and values; empty when nothing explains the answers.
    """

    equals: str | None = None
    epilogue: str | None = None
    accumulator_bits: int = 0
    batch_invariant: bool | None = None
    envelope_ratio: float | None = None
    bound_ratio: float | None = None
    stages: list[Stage] = field(default_factory=list)
    located: dict[str, Any] = field(default_factory=dict)

    def text(self) -> str:
        """Return the report as text to read."""
        return readable(_lines(self))


def _lines(report: GemmReport) -> Iterator[str]:
    head = f"{report.target} against {report.contract}: "
    if report.verdict in _BROKEN:
        yield f"{head}{report.verdict.upper()}: {report.message or _BROKEN[report.verdict]}"
    elif report.verdict == "differs":
        yield f"{head}DIFFERS in {report.differing} of {report.compared} outputs" + (f": {report.message}" if report.message else "")
    else:
        yield f"{head}pass, {report.compared} outputs " + ("equal" if report.bound_ratio is None else "inside of the bound")
    if report.located:
        where = ", ".join(f"{name} {value}" for name, value in report.located.items() if name != "hypothesis")
        yield f"  located: {report.located['hypothesis']}" + (f" ({where})" if where else "")
    elif report.verdict == "differs":
        yield "  located: no single mistake that was tried gives these outputs"
    for stage in report.stages:
        yield f"  {stage.name}: {stage.differing} of {stage.compared} outputs {'differ' if report.bound_ratio is None else 'are outside'}"
        yield "    " + "; ".join(f"{name}: {value}" for name, value in stage.reached.items() if name != "made of")
    if report.accumulator_bits:
        yield f"  accumulator: {report.accumulator_bits} significand bits hold every sum"
    if report.epilogue is not None:
        yield f"  epilogue: {report.epilogue}"
    if report.envelope_ratio is not None:
        yield f"  largest error on random data: {report.envelope_ratio:.3g} of the bound for any order"
    if report.bound_ratio is not None:
        yield f"  largest error: {report.bound_ratio:.3g} of the bound"
    elif report.verdict == "pass":
        yield f"  on random data it equals: {report.equals or 'none of the datapaths and orders tried, which is no fault'}"
    if report.again:
        yield "  " + line(report.calls, report.again)
    yield from (f"  note: {note}" for note in report.notes)
