"""The report of a check: verdict, what was compared, and one entry per class of failure with its smallest counterexample."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from emu.check.model import Verdict

EXIT_CODES = {"pass": 0, "nothing": 3}


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
    message: str = ""
    target_seconds: float = 0.0
    seconds: float = 0.0

    @property
    def exit_code(self) -> int:
        """0 pass, 3 nothing compared, 1 anything else."""
        return EXIT_CODES.get(self.verdict, 1)

    def data(self) -> dict[str, Any]:
        """Return the report as plain data."""
        return {"schema": "emu-check-1", **asdict(self)}

    def json(self) -> str:
        """Return the report as JSON text."""
        return json.dumps(self.data(), indent=2, ensure_ascii=False, allow_nan=False)

    def text(self) -> str:
        """Return the report as text to read."""
        from emu.check.report.text import text_of

        return text_of(self)

    def junit(self) -> str:
        """Return the report as JUnit XML: a test case per suite, failures as text."""
        from emu.check.report.junit import junit_of

        return junit_of(self)
