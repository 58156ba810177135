"""Golden rows for a bench in plain Python: reads `.mem` or `.tv`, compares under masks, prints MISMATCH and RESULT lines.

This file stands alone: copy it beside your bench. It needs Python >= 3.11 alone.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

try:
    from emu.base.errors import FileError
except ImportError:  # copied into a bench

    class FileError(ValueError):  # type: ignore[no-redef]
        """A file cannot be read, is truncated or foreign."""


FLOATS: Final = {"fp16": (16, 5), "bf16": (16, 8), "fp32": (32, 8)}  # bits and exponent bits, where a NaN may have any payload
_WORD: Final = re.compile(r"([ae](?:[_ ][0-9a-f]+)+)(?: // tc=([1-9][0-9]*)((?: [a-z0-9_]+)*))?\Z")
_SHARD: Final = re.compile(r"\.s[0-9]{4}of[0-9]{4}\Z")


class Column(NamedTuple):
    """One column: its role (guard pad in r out stage mask kind), true width, hex digits, format of a lane (`-`: none)."""

    name: str
    role: str
    bits: int
    digits: int
    format: str


class GoldenRow(NamedTuple):
    """One row: columns by name as integers. masks: 1 = compare this bit. kinds: lanes (4 bits each) where any NaN is right."""

    tc: int
    inputs: dict[str, int]
    expected: dict[str, int]
    masks: dict[str, int]
    flags: tuple[str, ...]
    kinds: dict[str, int]


class Suite(NamedTuple):
    """The rows of one file, checked as a whole. negative: a self-test file, of which no digest is known."""

    stem: str
    rows_sha256: str
    columns: tuple[Column, ...]
    rows: tuple[GoldenRow, ...]
    negative: bool


class _Promise(NamedTuple):
    """What the `.json` or `.desc` beside a file says about it."""

    stem: str
    rows: int
    sha256: str
    first: int
    columns: tuple[Column, ...]
    flags: tuple[tuple[str, ...], ...]


def rows(path: str | Path, stages: bool = False) -> Iterator[GoldenRow]:
    """Yield the rows of a `.mem` or `.tv` file, of a suite, a shard or a self-test. The whole file is checked before the first row.

    path: `<stem>.json` or `<stem>.desc` stands beside it (flags of a `.tv` come from the JSON).   stages: also the stage columns of a dot.
    Raises: FileError (any defect: guard, trailer, count, width, digit, digest, line end; no row at all).
    """
    yield from read_suite(path, stages).rows


def read_suite(path: str | Path, stages: bool = False) -> Suite:
    """Return the rows of a file with its stem, digest and columns. Arguments and errors are those of `rows`."""
    file = Path(path)
    if file.suffix not in (".mem", ".tv"):
        raise FileError(f"{file}: name a .mem or .tv file")
    name = file.name.removesuffix(file.suffix)
    negative = name.endswith(".neg")
    promise = _promise(file, name.removesuffix(".neg"), negative)
    lines = _lines(file)
    words = [_word(file, number, line, promise.columns) for number, line in enumerate(lines, 1)]
    count = len(words) - 1
    if "".join(words[-1][0]) != "e" + f"{count:0{sum(column.digits for column in promise.columns[1:])}x}":
        raise FileError(f"{file}:{len(lines)}: no trailer `e` that counts {count} rows: the file is cut or edited")
    if count == 0 or (count != promise.rows and not negative):
        raise FileError(f"{file}: {count} rows, the suite has {promise.rows}")
    digest = hashlib.sha256("".join(" ".join(word) + "\n" for word, _, _ in words[:-1]).encode("ascii")).hexdigest()
    if digest != promise.sha256 and not negative:
        raise FileError(f"{file}: the rows have another digest than the suite: the file was edited")
    made = []
    for number, (word, tc, flags) in enumerate(words[:-1]):
        if word[0] != "a" or (file.suffix == ".mem" and tc != promise.first + number):
            raise FileError(f"{file}:{number + 1}: a row starts with the guard `a` and ends in tc={promise.first + number}")
        known = flags if file.suffix == ".mem" else promise.flags[number] if number < len(promise.flags) else ()
        made.append(_row(promise, promise.first + number, word, known, stages))
    return Suite(promise.stem, promise.sha256, promise.columns, tuple(made), negative)


def _row(promise: _Promise, tc: int, word: list[str], flags: tuple[str, ...], stages: bool) -> GoldenRow:
    values = {column.name: int(text, 16) for column, text in zip(promise.columns, word, strict=True)}
    roles = ("out", "stage") if stages else ("out",)
    results = [column.name for column in promise.columns if column.role in roles]
    kinds = {name: values["k_" + name] for name in results if "k_" + name in values}
    inputs = {column.name: values[column.name] for column in promise.columns if column.role in ("in", "r")}
    return GoldenRow(tc, inputs, {name: values[name] for name in results}, {name: values["m_" + name] for name in results}, flags, kinds)


def _lines(file: Path) -> list[str]:
    try:
        data = file.read_bytes()
    except OSError as error:
        raise FileError(f"{file}: {error.strerror}") from None
    if not data.isascii() or b"\r" in data or not data.endswith(b"\n"):
        raise FileError(f"{file}: not ASCII lines that end in LF: the file is cut or was converted")
    return data.decode("ascii").split("\n")[:-1]


def _word(file: Path, number: int, line: str, columns: tuple[Column, ...]) -> tuple[list[str], int, tuple[str, ...]]:
    """Return the columns of a line as text, its tc (0: none) and flags."""
    found = _WORD.match(line)
    word = found[1].split("_" if file.suffix == ".mem" else " ") if found else []
    if found is None or [len(text) for text in word] != [column.digits for column in columns]:
        raise FileError(f"{file}:{number}: not a word of {len(columns)} columns with the digits of this suite")
    if word[0] == "a" and any(int(text, 16) >> column.bits for text, column in zip(word, columns, strict=True)):
        raise FileError(f"{file}:{number}: a column has a bit above its width")
    if (found[2] is not None) != (file.suffix == ".mem" and word[0] == "a"):
        raise FileError(f"{file}:{number}: ` // tc=` stands after every row of a .mem file and nowhere else")
    return word, int(found[2] or 0), tuple((found[3] or "").split())


def _promise(file: Path, name: str, negative: bool) -> _Promise:
    """Read what stands beside the file; name: the file's own, without endings."""
    stem = _SHARD.sub("", name)
    record, flat = file.with_name(stem + ".json"), file.with_name(stem + ".desc")
    if not record.is_file() and (not flat.is_file() or stem != name):
        raise FileError(f"{file}: no {record.name} beside it{'' if stem != name else f' and no {flat.name}'}")
    try:
        return _from_json(record, name, negative) if record.is_file() else _from_desc(flat, stem)
    except (OSError, ValueError, KeyError, TypeError, StopIteration) as error:
        raise FileError(f"{record if record.is_file() else flat}: not the record of {name} ({error})") from None


def _from_json(path: Path, name: str, negative: bool) -> _Promise:
    record = json.loads(path.read_text(encoding="ascii"))
    columns = tuple(Column(item["name"], item["role"], item["bits"], item["hex"], item.get("format") or "-") for item in record["columns"])
    shard = record["shards"][0] if negative else next(item for item in record["shards"] if item["file"] == name + ".mem")
    tests = [tuple(test["flags"]) for group in record["groups"] for test in group.get("tests", ())]
    if len(tests) != record["numberOfTests"]:  # large suites list no tests: their flags are in the .mem alone
        tests = []
    first = shard["tcFirst"]
    return _Promise(name, shard["rows"], shard["sha256"], first, columns, tuple(tests[first - 1 : first - 1 + shard["rows"]]))


def _from_desc(path: Path, stem: str) -> _Promise:
    words = [line.split() for line in path.read_text(encoding="ascii").splitlines()]
    facts = {word[0]: word[1] for word in words[:3]}
    if facts["stem"] != stem or any(word[0] != "col" for word in words[3:]):
        raise ValueError("stem or columns")
    columns = tuple(Column(name, role, int(bits), int(digits), form) for _, name, role, bits, digits, form in words[3:])
    return _Promise(stem, int(facts["rows"]), facts["rows_sha256"], 1, columns, ())


def is_nan(code: int, fmt: str) -> bool:
    """Tell whether a code of fp16, bf16 or fp32 is a NaN. Raises: KeyError (another format)."""
    bits, exp_bits = FLOATS[fmt]
    frac_bits = bits - 1 - exp_bits
    return code & ((1 << (bits - 1)) - 1) > ((1 << exp_bits) - 1) << frac_bits


def judge_column(row: GoldenRow, column: Column, got: str) -> str:
    """Compare what a design gave for one output column under the row's mask and NaN kinds.

    got: its bits, the highest first, `0` or `1`; every other letter is an unknown value.   Returns: `equal`, `mismatch` or `x`.
    Raises: FileError (the design's port has another width than the column).
    """
    if len(got) != column.bits:
        raise FileError(f"{column.name}: the design gives {len(got)} bits, the column has {column.bits}")
    mask, kinds = row.masks[column.name], row.kinds.get(column.name, 0)
    if any(bit not in "01" and mask >> place & 1 for place, bit in enumerate(reversed(got))):
        return "x"
    code = int("".join(bit if bit in "01" else "0" for bit in got), 2)
    lane_bits = FLOATS[column.format][0] if kinds else column.bits
    for lane in range(column.bits // lane_bits):
        if kinds >> (4 * lane) & 15:
            ones = ((1 << lane_bits) - 1) << (lane_bits * lane)
            if mask & ones and not is_nan((code & ones) >> (lane_bits * lane), column.format):
                return "mismatch"
            mask &= ~ones
    return "mismatch" if (code ^ row.expected[column.name]) & mask else "equal"


class Score:
    """Counts what a bench compared and says the verdict. Print what `add` and `result` return."""

    def __init__(self, suite: Suite) -> None:
        self.suite = suite
        self.compared = self.mismatch = self.x = self.masked = 0

    def add(self, row: GoldenRow, got: Mapping[str, str]) -> str | None:
        """Judge one row. got: column -> bits as text (see judge_column). Returns a MISMATCH line for each of the first three wrong rows."""
        columns = [column for column in self.suite.columns if column.name in row.expected]
        if not any(row.masks.values()):
            self.masked += 1
            return None
        found = {column: judge_column(row, column, got[column.name]) for column in columns}
        wrong = [column for column in columns if found[column] != "equal"]
        self.compared += 1
        self.x += "x" in found.values()
        self.mismatch += bool(wrong) and "x" not in found.values()
        if not wrong or self.x + self.mismatch > 3:
            return None
        column = wrong[0]
        given = ",".join(f"{row.inputs[each.name]:0{each.digits}x}" for each in self.suite.columns if each.name in row.inputs)
        want, mask = (f"{values[column.name]:0{column.digits}x}" for values in (row.expected, row.masks))
        bits = _hex(got[column.name], column.digits)
        return f"MISMATCH suite={self.suite.stem} tc={row.tc} out={column.name} in={given} want={want} got={bits} mask={mask}"

    @property
    def passed(self) -> bool:
        """Whether every row was taken, at least one compared, and all agreed."""
        total = self.compared + self.masked
        return total == len(self.suite.rows) and self.compared > 0 and self.mismatch == self.x == 0

    def result(self, fault: str | None = None) -> str:
        """Return the RESULT line. fault: `count` or `timeout`, where the design gave too many or no results."""
        if fault is None and (self.compared + self.masked != len(self.suite.rows) or self.compared == 0):
            fault = "count"
        reason = fault or ("mismatch" if self.mismatch else "x" if self.x else "none")
        verdict = "PASS" if reason == "none" else "BADFILE" if self.masked == len(self.suite.rows) else "FAIL"
        counts = f"compared={self.compared} mismatch={self.mismatch} x={self.x} masked={self.masked}"
        return f"RESULT {verdict} reason={reason} suite={self.suite.stem} rows_sha256={self.suite.rows_sha256} {counts}"


def _hex(bits: str, digits: int) -> str:
    """Return bits as hex; `x` for a digit with an unknown bit."""
    padded = bits.rjust(4 * digits, "0")
    nibbles = [padded[at : at + 4] for at in range(0, len(padded), 4)]
    return "".join(f"{int(nibble, 2):x}" if set(nibble) <= {"0", "1"} else "x" for nibble in nibbles)
