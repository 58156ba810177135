"""Rows to be counted, read from golden suites, from a user's own `.tv` rows, or from the ROW and MISMATCH lines of a simulation log."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from emu.base.errors import FileError
from emu.base.inputs import read_bytes
from emu.contracts.columns import Column, Layout
from emu.contracts.contract import Values
from emu.vectors.coverage.count import suite_rows
from emu.vectors.files.lint import parse_tv, text_lines
from emu.vectors.files.manifest import BENCH, OPERATIONS
from emu.vectors.files.suite import ENDINGS, load, stem_of
from emu.vectors.suites.plan import find

Rows = list[tuple[int, Values]]
_ROW: Final = re.compile(r"\bROW suite=(\S+) tc=([1-9][0-9]*) in=([0-9a-f,]+) got=[0-9a-fxzXZ,]+\s*\Z")
_MISMATCH: Final = re.compile(
    r"\bMISMATCH suite=(\S+) tc=([1-9][0-9]*) out=\S+ in=([0-9a-f,]+) want=[0-9a-f]+ got=[0-9a-fxzXZ]+ mask=[0-9a-f]+\s*\Z"
)
_FORMS: Final = (("ROW suite=", _ROW), ("MISMATCH suite=", _MISMATCH))
_HEX: Final = re.compile(r"[0-9a-f]+\Z")


def rows_of(path: Path, stem: str | None = None) -> dict[str, Rows]:
    """Return stem -> rows (test-case id, input values) of a file or folder; a log without rows gives none.

    path: a folder of suites, or of folders of them; any file of a suite, or its stem; a `.tv` file with rows of the caller's own (guard and
    input columns, or all columns of a suite); a simulation log.   stem: whose columns the rows have, where the file name does not say it.
    Raises: FileError (no such file, a damaged suite, a malformed line with its number, a suite that is not planned, a foreign file).
    """
    if path.is_dir():
        return dict(_folder(path))
    named = stem_of(path.name) or (path.name if (path.parent / f"{path.name}.json").is_file() else None)
    if stem is None and named is not None and (path.parent / f"{named}.json").is_file():
        return {named: suite_rows(load(path.parent, named))}
    try:
        data = read_bytes(path)
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}") from None
    if path.suffix == ".tv":
        return _own(data, path.name, stem or path.name.removesuffix(".tv"))
    if path.name.endswith(ENDINGS):
        raise FileError(f"{path}: no {named}.json beside it: a golden file is read with the others of its suite, own rows as .tv")
    return _log(data, path.name)


def _folder(path: Path) -> Iterator[tuple[str, Rows]]:
    """Yield the suites of a folder, or of the folders of operations in it."""
    inner = [path / op for op in OPERATIONS if (path / op).is_dir()] if path.name != BENCH else []
    for folder in inner or [path]:
        stems = {stem for file in folder.iterdir() if (stem := stem_of(file.name)) is not None}
        for stem in sorted(stems):
            yield stem, suite_rows(load(folder, stem))


def _own(data: bytes, name: str, stem: str) -> dict[str, Rows]:
    """Read the caller's rows: whole rows with a trailer, or guard and inputs alone, where a trailer `e` may stand at the end."""
    layout = find(stem).operation.layout
    lines = text_lines(data, name)
    if len(lines[0].split(" ")) == 1 + len(layout.columns) != 1 + len(layout.inputs):
        places = [place for place, column in enumerate(layout.columns) if column.role in ("in", "r")]
        rows = [tuple(values[place] for place in places) for values in parse_tv(data, name, layout)]
    else:
        body = lines[:-1] if lines[-1].startswith("e") else lines
        rows = [_words(line.split(" "), f"{name}:{number}", layout) for number, line in enumerate(body, 1)]
    return {stem: list(enumerate(rows, 1))}


def _words(words: list[str], where: str, layout: Layout) -> Values:
    """Read one line of guard and inputs."""
    if words[0] != "a":
        raise FileError(f"{where}: a row starts with the guard `a`, found {words[0][:8]!r}")
    return _values(words[1:], where, layout)


def _values(words: list[str], where: str, layout: Layout) -> Values:
    """Return the values of the input columns."""
    if len(words) != len(layout.inputs):
        names = ", ".join(column.name for column in layout.inputs)
        raise FileError(f"{where}: {len(words)} input columns, expected {len(layout.inputs)}: {names}")
    return tuple(_value(word, where, column) for word, column in zip(words, layout.inputs, strict=True))


def _value(word: str, where: str, column: Column) -> int:
    if not _HEX.match(word) or len(word) != column.digits or int(word, 16) >> column.bits:
        raise FileError(f"{where}: column {column.name}: {word[:40]!r} is no {column.bits}-bit number of {column.digits} hex digits")
    return int(word, 16)


def _log(data: bytes, name: str) -> dict[str, Rows]:
    """Read a simulation log. A row that was driven twice counts once; the self-test's rows are those of the suite."""
    found: dict[str, dict[tuple[int, Values], None]] = {}
    layouts: dict[str, Layout] = {}
    known = False
    for number, line in enumerate(data.decode("ascii", errors="replace").splitlines(), 1):
        known = known or "RESULT " in line
        for start, form in _FORMS:
            if start not in line:
                continue
            match = form.search(line)
            if match is None:
                raise FileError(
                    f"{name}:{number}: not a {start.split()[0]} line as the benches print it: suite, tc, in, got: {line[:60]!r}"
                )
            stem = match[1]
            if stem not in layouts:
                layouts[stem] = find(stem).operation.layout
            values = _values(match[3].split(","), f"{name}:{number}", layouts[stem])
            found.setdefault(stem, {})[int(match[2]), values] = None
    if not found and not known:
        raise FileError(f"{name}: neither a vector file nor a log of a bench: run the bench with +rows, or name a .tv file")
    return {stem: list(rows) for stem, rows in found.items()}
