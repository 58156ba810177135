"""What a bench printed: MISMATCH, ROW and RESULT lines, and the exit code that follows. Not here: running it (simulator.py)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, Literal, NamedTuple

Verdict = Literal["PASS", "FAIL", "BADFILE"]
FINE, DIFFERS, MISUSE, NOTHING, UNKNOWN, NO_TOOL = 0, 1, 2, 3, 4, 5  # exit codes of judges and commands
_STRENGTH: Final = (MISUSE, DIFFERS, UNKNOWN, NOTHING, NO_TOOL, FINE)  # the first of them wins
_RESULT: Final = re.compile(
    r"RESULT (?P<verdict>PASS|FAIL|BADFILE) reason=(?P<reason>none|mismatch|x|count|timeout|guard) suite=(?P<suite>[a-z0-9_.]+) "
    r"rows_sha256=(?P<rows_sha256>[0-9a-f]{64}) compared=(?P<compared>\d+) mismatch=(?P<mismatch>\d+) x=(?P<x>\d+) masked=(?P<masked>\d+)"
)
_KEPT: Final = ("RESULT ", "MISMATCH ", "ROW ")


class Result(NamedTuple):
    """The fields of a RESULT line; counts are rows."""

    verdict: Verdict
    reason: str
    suite: str
    rows_sha256: str
    compared: int
    mismatch: int
    x: int
    masked: int


class Outcome(NamedTuple):
    """One run of a bench.

    exit_code: 0 passed, 1 differs or does not answer, 2 bad file or not one good RESULT line, 3 nothing compared, 4 X or Z.
    lines: what the bench printed for machines, in order.   result: None where there was not exactly one RESULT line.
    other: everything else that the simulator printed, its last part.   why: in one line.
    """

    exit_code: int
    lines: tuple[str, ...]
    result: Result | None
    other: str
    why: str


def parse_result(line: str) -> Result | None:
    """Return the fields of a RESULT line; None for any other text."""
    found = _RESULT.fullmatch(line)
    if found is None:
        return None
    fields = found.groupdict()
    return Result(*(int(value) if name in Result._fields[4:] else value for name, value in fields.items()))  # type: ignore[arg-type]


def strongest(codes: Iterable[int]) -> int:
    """Return the exit code of several runs: 2 beats 1 beats 4 beats 3 beats 5. Nothing run: 3."""
    found = set(codes)
    return next((code for code in _STRENGTH if code in found), NOTHING)


def outcome(text: str, status: int | None) -> Outcome:
    """Return what a run says.

    text: all it printed.   status: the simulator's exit code; None: it was stopped because it took too long.
    """
    every = text.splitlines()
    lines = tuple(line for line in every if line.startswith(_KEPT))
    other = "\n".join(line for line in every if not line.startswith(_KEPT))[-2000:]
    last = [line for line in lines if line.startswith("RESULT ")]
    result = parse_result(last[0]) if len(last) == 1 else None
    code, why = _judged(result, len(last), status)
    return Outcome(code, lines, result, other, why)


def _judged(result: Result | None, count: int, status: int | None) -> tuple[int, str]:
    """Return exit code and reason; 0 only for a pass that all signs agree on."""
    if status is None:
        return DIFFERS, "the simulation did not end in time"
    if result is None:
        if count == 0 and status:
            return DIFFERS, f"the simulation ended with code {status} before a RESULT line"
        if not count:
            return MISUSE, "the simulation ended without a RESULT line of the bench: does the design call $finish or $stop?"
        return MISUSE, f"{count} RESULT lines, or one of another form: one is expected, of the bench: does the design print its own?"
    said = f"{result.verdict} reason={result.reason} compared={result.compared} mismatch={result.mismatch} x={result.x}"
    if result.verdict == "BADFILE":
        return MISUSE, said
    if result.verdict == "FAIL":
        return (UNKNOWN if result.reason == "x" else DIFFERS), said
    if result.compared == 0:
        return NOTHING, "nothing was compared"
    if result.reason != "none" or result.mismatch or result.x:
        return MISUSE, f"a RESULT line that contradicts itself: {said}"
    if status:
        return DIFFERS, f"PASS, yet the simulator ended with code {status}"
    return FINE, said
