"""Strict reading of `.mem` and `.tv` text. Several of these defects load silently in a simulator: only a look at the file catches them."""

from __future__ import annotations

import re
from typing import Final

from emu.base.errors import FileError
from emu.contracts.columns import Layout
from emu.contracts.rows import Row
from emu.vectors.files.writers import trailer

_COMMENT: Final = re.compile(r" // tc=([1-9][0-9]*)((?: [a-z0-9_]+)*)\Z")
_HEX: Final = re.compile(r"[0-9a-f]+\Z")


def _fail(name: str, line: int, what: str) -> FileError:
    return FileError(f"{name}:{line}: {what}")


def text_lines(data: bytes, name: str) -> list[str]:
    """Return the lines of a vector file. Raises: FileError (empty, not ASCII, BOM, CR, no final LF, blank line)."""
    if not data:
        raise FileError(f"{name}: the file is empty")
    if not data.isascii():
        raise FileError(f"{name}: only ASCII is allowed" + (": remove the byte order mark" if data.startswith(b"\xef\xbb\xbf") else ""))
    if b"\r" in data:
        raise _fail(name, data[: data.index(b"\r")].count(b"\n") + 1, "carriage return: lines end in LF alone")
    if not data.endswith(b"\n"):
        raise FileError(f"{name}: the last line does not end in LF: Verilator 5.006 would drop it silently")
    lines = data.decode("ascii").split("\n")[:-1]
    if "" in lines:
        raise _fail(name, lines.index("") + 1, "blank line")
    return lines


def parse_mem(data: bytes, name: str, layout: Layout, first: int) -> list[Row]:
    """Return the rows of a `.mem` file (groups and comments are in the JSON file).

    first: tcId of its first row.   Raises: FileError with the line for every defect.
    """
    lines = text_lines(data, name)
    rows = []
    for number, line in enumerate(lines[:-1], 1):
        word, space, _ = line.partition(" ")
        comment = _COMMENT.match(line[len(word) :])
        _word(word, "_", name, number, layout, "a")
        if not space or comment is None:
            raise _fail(name, number, "a row ends in ` // tc=<id> <flags>`; no other comment, address or text is allowed")
        if int(comment[1]) != first + number - 1:
            raise _fail(name, number, f"tc={comment[1]}, expected {first + number - 1}")
        rows.append(Row("", tuple(comment[2].split()), _values(word, "_")))
    _trailer(lines[-1], "_", name, len(lines), layout, len(rows))
    return rows


def parse_tv(data: bytes, name: str, layout: Layout) -> list[tuple[int, ...]]:
    """Return the values of the rows of a `.tv` file. Raises: FileError with the line for every defect."""
    lines = text_lines(data, name)
    for number, line in enumerate(lines[:-1], 1):
        _word(line, " ", name, number, layout, "a")
    _trailer(lines[-1], " ", name, len(lines), layout, len(lines) - 1)
    return [_values(line, " ") for line in lines[:-1]]


def _values(word: str, gap: str) -> tuple[int, ...]:
    return tuple(int(digits, 16) for digits in word.split(gap)[1:])


def _word(word: str, gap: str, name: str, number: int, layout: Layout, guard: str) -> None:
    """Check one word: guard, count and width of columns, digits, unused high bits."""
    for sign, what in (("#", "`#` comment"), ("/*", "`/*` comment"), ("@", "`@` address")):
        if sign in word:
            raise _fail(name, number, f"{what}: only ` // tc=` after a row is allowed")
    parts = word.split(gap)
    if parts[0] != guard:
        kind = "the trailer `e` is missing" if guard == "e" else "a row starts with the guard `a`"
        raise _fail(name, number, f"{kind}, found {parts[0][:8]!r}")
    if len(parts) - 1 != len(layout.columns):
        raise _fail(name, number, f"{len(parts) - 1} columns, expected {len(layout.columns)}")
    for digits, column in zip(parts[1:], layout.columns, strict=True):
        if not _HEX.match(digits):
            raise _fail(name, number, f"column {column.name}: {digits!r} holds something else than 0-9 a-f")
        if len(digits) != column.digits:
            raise _fail(name, number, f"column {column.name} has {len(digits)} digits, expected {column.digits}")
        if guard == "a" and int(digits, 16) >> column.bits:
            raise _fail(name, number, f"column {column.name} has a bit above its {column.bits} bits")


def _trailer(line: str, gap: str, name: str, number: int, layout: Layout, rows: int) -> None:
    _word(line, gap, name, number, layout, "e")
    if line != trailer(layout, rows, gap):
        raise _fail(name, number, f"the trailer counts {int(''.join(line.split(gap)[1:]), 16)} rows, the file has {rows}")
