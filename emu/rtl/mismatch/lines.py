"""MISMATCH, ROW and RESULT lines of a log as data: which rows a simulation printed, and what it got."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from emu.base.errors import FileError
from emu.contracts.columns import Layout
from emu.contracts.rows import first_lane
from emu.rtl.simulate.outcome import Result, parse_result

_HEX: Final = "[0-9a-fxzXZ]+"
_MISMATCH: Final = re.compile(
    rf"MISMATCH suite=(?P<suite>[a-z0-9_.]+) tc=(?P<tc>[0-9]+) out=(?P<out>[a-z0-9_]+) in=(?P<given>{_HEX}(?:,{_HEX})*) "
    rf"want=(?P<want>{_HEX}) got=(?P<got>{_HEX}) mask=(?P<mask>[0-9a-f]+)\s*\Z"
)
_ROW: Final = re.compile(
    rf"ROW suite=(?P<suite>[a-z0-9_.]+) tc=(?P<tc>[0-9]+) in=(?P<given>{_HEX}(?:,{_HEX})*) got=(?P<got>{_HEX}(?:,{_HEX})*)\s*\Z"
)
_LEFT_OUT: Final = re.compile(r"LEFTOUT suite=(?P<suite>[a-z0-9_.]+) out=(?P<out>[a-z0-9_]+) mask=(?P<mask>[0-9a-f]+)\s*\Z")


@dataclass
class Seen:
    """One row as a simulation printed it. All values are hex text, x and z possible.

    given: its input columns, in order.   got: result column -> value; of a ROW line under its place, 0 first.
    want, mask: result column -> value, of the columns with a MISMATCH line.
    """

    suite: str
    tc: int
    given: tuple[str, ...]
    got: dict[str | int, str] = field(default_factory=dict)
    want: dict[str, str] = field(default_factory=dict)
    mask: dict[str, str] = field(default_factory=dict)

    def lane(self, layout: Layout) -> int:
        """Return the first lane of the first output that differs; 0 where none does, or digits of it are unknown."""
        column = next(column for column in layout.results if column.role == "out")
        try:
            want, got, mask = (int(side.get(column.name, "0"), 16) for side in (self.want, self.got, self.mask))
        except ValueError:
            return 0
        return first_lane((want ^ got) & mask, column)


@dataclass(frozen=True)
class Log:
    """What a log says.

    rows: (suite, tc) -> what was printed first of it.   results: RESULT lines in order.   left_out: suite -> result column -> bits that a
    port map leaves out (LEFTOUT lines of emu rtl run).   has_state: does the design hold more than one row (a DESIGN line of emu rtl run);
    None: nobody said.
    """

    rows: dict[tuple[str, int], Seen]
    results: tuple[Result, ...]
    left_out: dict[str, dict[str, int]]
    has_state: bool | None = None

    def mismatches(self) -> list[Seen]:
        """Return the rows that have a MISMATCH line, in order."""
        return [seen for seen in self.rows.values() if seen.want]


def parse_log(lines: Iterable[str], name: str = "log") -> Log:
    """Return what the lines of a log say; text before MISMATCH, ROW, RESULT, LEFTOUT on a line (a simulator's prefix) is passed over.

    Raises: FileError (a line that begins as one of these and is cut or of another form, naming its number; none of them at all).
    """
    rows: dict[tuple[str, int], Seen] = {}
    results: list[Result] = []
    left_out: dict[str, dict[str, int]] = {}
    has_state: bool | None = None
    for number, whole in enumerate(lines, 1):
        start = re.search(r"\b(MISMATCH|ROW|RESULT|LEFTOUT|DESIGN) (?=suite=|PASS |FAIL |BADFILE |state=)", whole)
        if start is None:
            continue
        line = whole[start.start() :].rstrip()
        if line.startswith("RESULT "):
            result = parse_result(line)
            if result is None:
                raise FileError(f"{name}:{number}: a RESULT line of another form: {line[:60]}")
            results.append(result)
        elif line.startswith("DESIGN "):
            if line not in ("DESIGN state=yes", "DESIGN state=no"):
                raise FileError(f"{name}:{number}: a DESIGN line of another form: {line[:60]}")
            has_state = line.endswith("yes")
        elif line.startswith("LEFTOUT "):
            found = _LEFT_OUT.match(line)
            if found is None:
                raise FileError(f"{name}:{number}: a LEFTOUT line of another form: {line[:60]}")
            left_out.setdefault(found["suite"], {})[found["out"]] = int(found["mask"], 16)
        else:
            _add(rows, line, f"{name}:{number}")
    if not rows:
        raise FileError(f"{name}: holds no MISMATCH line: give one in quotes, or the log of a simulation")
    return Log(rows, tuple(results), left_out, has_state)


def _add(rows: dict[tuple[str, int], Seen], line: str, where: str) -> None:
    found = (_MISMATCH if line.startswith("MISMATCH ") else _ROW).match(line)
    if found is None:
        raise FileError(f"{where}: cut, or of another form: {line[:60]}")
    part = found.groupdict()
    key = (part["suite"], int(part["tc"]))
    seen = rows.setdefault(key, Seen(*key, tuple(part["given"].split(","))))
    if seen.given != tuple(part["given"].split(",")):
        raise FileError(f"{where}: tc={key[1]} has other inputs than in an earlier line: one log, one suite")
    if "out" in part:
        if part["out"] not in seen.got:
            seen.got[part["out"]], seen.want[part["out"]], seen.mask[part["out"]] = part["got"], part["want"], part["mask"]
        return
    for place, value in enumerate(part["got"].split(",")):
        seen.got.setdefault(place, value)
