"""The report of a check: verdict, what was compared, and one entry per class of failure with its smallest counterexample."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, Final
from xml.etree import ElementTree as ET

from emu.base.text import in_xml, json_text, readable
from emu.check.again import line
from emu.check.model import Verdict
from emu.contracts.reach import Reach
from emu.explain.link import Part, lines_of

EXIT_CODES = {"pass": 0, "nothing": 3, "too_little": 3}


@dataclass(frozen=True)
class Example:
    """One counterexample. operands: name -> hex codes, element 0 first.   place: of the answer that differs.   steps: of the contract."""

    operands: dict[str, str]
    place: str
    want: str
    got: str
    why: str
    steps: tuple[str, ...] = ()
    calls: int = 0
    note: str = ""
    link: str | None = None  # into the explorer's page, None where no room shows it
    part: str = ""  # which part of the answer the link shows; without a link, why there is none


@dataclass(frozen=True)
class Failure:
    """One class of failure. name: a key of classes.CLASSES.   stage: the answer that differs.   count: of codes looked at."""

    name: str
    stage: str
    count: int
    example: Example


@dataclass
class Report:
    """What a check found.

    compared: codes compared; differing: of them, consequences left out.   suites: suite -> codes compared.
    engines: suite -> which engine said what is right.   notes: what was left out, and why.   message: of other verdicts.
    calls: calls of the target whose bits were judged, shrinking left out; again: of them, questions asked again.
    hidden: codes that were not compared, because the scale of their block differs.   unjudged: padding that nothing says anything about.
    own_signs: the only signs of a rotation that were asked, as the target takes none; "": others too, or there are none.
    parted: answers on which right orders of additions part: held to a bound, not compared bit for bit.
    reach: of a quantizer, what the inputs beside its decisions reached (emu.contracts.reach.Reach.data).
    """

    target: str
    contract: str
    verdict: Verdict = "pass"
    compared: int = 0
    differing: int = 0
    failures: list[Failure] = field(default_factory=list)
    suites: dict[str, int] = field(default_factory=dict)
    engines: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    statistics: list[dict[str, Any]] = field(default_factory=list)
    reach: dict[str, int] = field(default_factory=dict)
    parted: int = 0
    own_signs: str = ""
    message: str = ""
    calls: int = 0
    again: int = 0
    hidden: int = 0
    unjudged: list[str] = field(default_factory=list)
    target_seconds: float = 0.0
    seconds: float = 0.0

    @property
    def exit_code(self) -> int:
        """0 pass, 3 nothing compared or too little reached, 1 anything else."""
        return EXIT_CODES.get(self.verdict, 1)

    def data(self) -> dict[str, Any]:
        """Return the report as plain data."""
        return {"schema": "emu-check-1", **asdict(self)}

    def json(self) -> str:
        """Return the report as JSON text."""
        return json_text(self.data())

    def text(self) -> str:
        """Return the report as text to read."""
        return text_of(self)

    def junit(self) -> str:
        """Return the report as JUnit XML: a test case per suite, failures as text."""
        return junit_of(self)


# A report as JUnit XML.


def junit_of(report: Report) -> str:
    """Return one test suite: a case per suite of inputs, and one that fails per class of failure or bad behaviour."""
    broken = report.verdict not in ("pass", "differs")
    cases = [*report.suites] or ["check"]
    failing = len(report.failures) or int(broken or report.verdict == "differs")
    suite = ET.Element(
        "testsuite", name=f"emu check {in_xml(report.contract)}", tests=str(len(cases) + failing), failures=str(failing), errors="0",
        skipped="0", time=f"{report.seconds:.3f}",
    )  # fmt: skip
    for name in cases:
        ET.SubElement(suite, "testcase", classname=in_xml(report.contract), name=f"{in_xml(report.target)} {name}", time="0")
    for failure in report.failures:
        case = ET.SubElement(suite, "testcase", classname=in_xml(report.contract), name=f"{in_xml(report.target)} {failure.name}", time="0")
        text = f"contract says {failure.example.want}, kernel gave {failure.example.got}"
        item = ET.SubElement(case, "failure", type=failure.name, message=f"{failure.count} in {failure.stage}: {in_xml(text)}")
        item.text = in_xml("\n".join([*(f"{key} {value}" for key, value in failure.example.operands.items()), *failure.example.steps]))
    if failing and not report.failures:
        case = ET.SubElement(suite, "testcase", classname=in_xml(report.contract), name=f"{in_xml(report.target)} verdict", time="0")
        ET.SubElement(case, "failure", type=report.verdict, message=in_xml(report.message or report.verdict))
    ET.indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(suite, encoding="unicode") + "\n"


# A report as text to read.


_BROKEN = {
    "raises": "the target raised", "hangs": "the target hung", "shape": "wrong shape", "dtype": "wrong dtype",
    "mutates": "the target changed its input", "unstable": "the target is not deterministic",
    "padding": "padding holds something else than its layout says", "nothing": "nothing was compared",
    "too_little": "too little was reached",
}  # fmt: skip


def text_of(report: Report) -> str:
    """Return the whole report, one line an item."""
    return readable(_lines(report))


def headline(report: Report) -> str:
    """Return the first line: the verdict and the first counterexample before any name, so that a line that is cut short still says them."""
    who = f"{report.target} against {report.contract}"
    if report.verdict in _BROKEN:
        return f"{report.verdict.upper().replace('_', ' ')}: {report.message or _BROKEN[report.verdict]}: {who}"
    limits = f", under the signs {report.own_signs} alone" if report.own_signs else ""
    limits += ", padding not judged" if report.unjudged else ""
    if report.verdict == "pass":
        share = f"{100 * report.parted / (report.parted + report.compared):.2g} %" if report.parted else ""
        parted = f", {report.parted} ({share}) on which orders of the additions part held to a bound" if report.parted else ""
        return f"pass, {report.compared} codes equal{parted}{limits}: {who}"
    first = report.failures[0] if report.failures else None
    shown = "" if first is None else f" ({first.name}: {first.example.want} wanted, {first.example.got} given)"
    return f"DIFFERS in {report.differing} of {report.compared} codes{shown}{limits}: {who}"


def _lines(report: Report) -> Iterator[str]:
    yield headline(report)
    for number, failure in enumerate(report.failures, 1):
        yield ""
        yield from _failure(number, failure, report.contract)
    if report.failures:
        yield ""
    for suite, count in report.suites.items():
        yield f"  {suite}: {count} codes, judged by {report.engines.get(suite, 'exact')}"
    if report.reach:
        yield "  reached: " + Reach.line(report.reach)
    for test in report.statistics:
        yield f"  {test['name']}: {test['tests']} tests, {test['rejected']} rejected; {test['rule']}"
    if report.hidden:
        yield f"  not judged: {report.hidden} codes whose scale differs"
    if report.again:
        yield "  " + line(report.calls, report.again)
    yield from (f"  note: {note}" for note in report.notes)


def _failure(number: int, failure: Failure, contract: str) -> Iterator[str]:
    example = failure.example
    yield f"{number}. {failure.name}: {CLASSES[failure.name]}; {failure.count} in {failure.stage}"
    yield f"   {example.place}: contract says {example.want}, kernel gave {example.got}"
    yield f"   smallest counterexample ({example.why}, {example.calls} calls to shrink it):"
    yield from (f"     {name:<12} {text}" for name, text in example.operands.items())
    yield from (f"     {step}" for step in example.steps)
    yield from (f"   {line}" for line in lines_of(Part(example.link, example.part), contract))
    if example.note:
        yield f"   {example.note}"


# Classes of failures: what kind of input or answer a difference belongs to. The list, and how one difference is put into it.


CLASSES: Final = {
    "layout": "scale codes are right but in other places: transposed, swizzled or not",
    "nibble_order": "element codes are right but the two halves of each byte are exchanged",
    "nan": "NaN among the inputs, or NaN given or missing",
    "inf": "infinity among the inputs",
    "minus_zero": "only the sign of a zero differs",
    "sign": "only the sign differs",
    "zero_block": "a block of zeros",
    "tail": "the last, short block of a row",
    "scale_saturation": "the scale is the largest or the smallest code of its format",
    "scale": "another scale",
    "overflow": "beyond the largest number",
    "subnormal": "a subnormal source or result",
    "tie": "exactly half way between two codes",
    "double_rounding": "rounded to a narrower float first",
    "flags": "exception flags that are missing, or raised for nothing",
    "random": "stochastic rounding: the random operand, or its distribution",
    "code": "another code",
    "value": "another value",
}
