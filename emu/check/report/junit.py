"""A report as JUnit XML."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

if TYPE_CHECKING:
    from emu.check.report.model import Report


def junit_of(report: Report) -> str:
    """Return one test suite: a case per suite of inputs, and one that fails per class of failure or bad behaviour."""
    broken = report.verdict not in ("pass", "differs")
    cases = [*report.suites] or ["check"]
    failing = len(report.failures) or int(broken or report.verdict == "differs")
    suite = ET.Element(
        "testsuite", name=f"emu check {_clean(report.contract)}", tests=str(len(cases) + failing), failures=str(failing), errors="0",
        skipped="0", time=f"{report.seconds:.3f}",
    )  # fmt: skip
    for name in cases:
        ET.SubElement(suite, "testcase", classname=_clean(report.contract), name=f"{_clean(report.target)} {name}", time="0")
    for failure in report.failures:
        case = ET.SubElement(suite, "testcase", classname=_clean(report.contract), name=f"{_clean(report.target)} {failure.name}", time="0")
        text = f"contract says {failure.example.want}, kernel gave {failure.example.got}"
        item = ET.SubElement(case, "failure", type=failure.name, message=f"{failure.count} in {failure.stage}: {_clean(text)}")
        item.text = _clean("\n".join([*(f"{key} {value}" for key, value in failure.example.operands.items()), *failure.example.steps]))
    if failing and not report.failures:
        case = ET.SubElement(suite, "testcase", classname=_clean(report.contract), name=f"{_clean(report.target)} verdict", time="0")
        ET.SubElement(case, "failure", type=report.verdict, message=_clean(report.message or report.verdict))
    ET.indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(suite, encoding="unicode") + "\n"


def _clean(text: str) -> str:
    """Return text without the control characters that XML cannot hold."""
    return "".join(letter for letter in text if letter >= " " or letter in "\n\t")
