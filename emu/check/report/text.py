"""A report as text to read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from emu.check.report.classes import CLASSES

if TYPE_CHECKING:
    from emu.check.report.model import Failure, Report

_BROKEN = {
    "raises": "the target raised", "hangs": "the target hung", "shape": "wrong shape", "dtype": "wrong dtype",
    "mutates": "the target changed its input", "unstable": "the target is not deterministic", "nothing": "nothing was compared",
}  # fmt: skip


def text_of(report: Report) -> str:
    """Return the whole report, one line an item."""
    return "\n".join(_lines(report))


def _lines(report: Report) -> Iterator[str]:
    head = f"{report.target} against {report.contract}: "
    if report.verdict in _BROKEN:
        yield f"{head}{report.verdict.upper()}: {report.message or _BROKEN[report.verdict]}"
    elif report.verdict == "differs":
        yield f"{head}DIFFERS in {report.differing} of {report.compared} codes"
    else:
        yield f"{head}pass, {report.compared} codes equal"
    for suite, count in report.suites.items():
        yield f"  {suite}: {count} codes, judged by {report.engines.get(suite, 'exact')}"
    for test in report.statistics:
        yield f"  {test['name']}: {test['tests']} tests, {test['rejected']} rejected; {test['rule']}"
    yield from (f"  note: {note}" for note in report.notes)
    for number, failure in enumerate(report.failures, 1):
        yield ""
        yield from _failure(number, failure)


def _failure(number: int, failure: Failure) -> Iterator[str]:
    example = failure.example
    yield f"{number}. {failure.name}: {CLASSES[failure.name]}; {failure.count} in {failure.stage}"
    yield f"   smallest counterexample ({example.why}, {example.calls} calls to shrink it):"
    yield from (f"     {name:<12} {text}" for name, text in example.operands.items())
    yield from (f"     {step}" for step in example.steps)
    yield f"   {example.place}: contract says {example.want}, kernel gave {example.got}"
    if example.note:
        yield f"   {example.note}"
