"""Changes of published suites: rows are appended, a wrong row is masked and corrected by a new one, and what a change costs in version.

MAJOR: a bit of a row changed. MINOR: rows appended, or an existing row masked. PATCH: comments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

from emu.base.errors import FileError
from emu.contracts.columns import Layout
from emu.contracts.rows import Input, Row, make_row, value_of
from emu.vectors.files.suite import Suite, refreshed

Level = Literal["none", "patch", "minor", "major"]
_ORDER: Final[tuple[Level, ...]] = ("none", "patch", "minor", "major")


class Change(NamedTuple):
    """What lies between two versions of a suite. rows: one line per changed row."""

    level: Level
    rows: tuple[str, ...]


def bump(version: str, level: Level) -> str:
    """Return the version after a change."""
    major, minor, patch = (int(part) for part in version.split("."))
    if level == "major":
        return f"{major + 1}.0.0"
    if level == "minor":
        return f"{major}.{minor + 1}.0"
    return f"{major}.{minor}.{patch + 1}" if level == "patch" else version


def append_rows(suite: Suite, cases: Sequence[Input], answers: Sequence[Any]) -> Suite:
    """Return the suite with rows at its end: new ids, MINOR. answers: of the reference model, one per case."""
    added = tuple(make_row(suite.layout, case, answer) for case, answer in zip(cases, answers, strict=True))
    return _with_rows(suite, (*suite.rows, *added), "minor")


def apply_erratum(suite: Suite, erratum: Mapping[str, Any], grown: bool = False) -> Suite:
    """Return the suite with one wrong row masked 0, its bits kept, and the correction as a new row; MINOR.

    erratum: {stem, tcId, column, old, new, why, fixed_by}; old, new: hex strings; the row may hold either (an old file, a new build).
    A row with several wrong columns has an erratum for each, with one fixed_by: those after the first mend both rows of the first.
    grown: rows were appended after the erratum: a build puts the correction before them, so that every row keeps its id.
    Raises: FileError when the erratum does not fit the suite.
    """
    layout, number, column = suite.layout, int(erratum["tcId"]), str(erratum["column"])
    before = int(erratum["fixed_by"]) - 1
    follows = 1 <= number <= before < len(suite.rows) and suite.rows[before].comment == _corrects(number)
    if erratum["stem"] != suite.stem or not 1 <= number <= len(suite.rows) or not (follows or _is_next(suite, erratum, grown)):
        raise FileError(
            f"erratum of {erratum['stem']} tc={number}: the suite {suite.stem} has {len(suite.rows)} rows; fixed_by is the next id"
        )
    row, old, new = suite.rows[number - 1], int(erratum["old"], 16), int(erratum["new"], 16)
    if value_of(layout, row, column) not in (old, new):
        raise FileError(f"erratum of {suite.stem} tc={number}: column {column} holds neither {erratum['old']} nor {erratum['new']}")
    wrong = _replaced(layout, masked(layout, row), column, old)._replace(flags=("erratum",))
    if follows:
        right = _replaced(layout, suite.rows[before], column, new)
    else:
        right = _replaced(layout, row, column, new)._replace(
            flags=(*row.flags, "correction"), group="corrections", comment=_corrects(number)
        )
    rows = (*suite.rows[: number - 1], wrong, *suite.rows[number:before], right, *suite.rows[before + follows :])
    return _with_rows(suite, rows, "minor")


def _corrects(number: int) -> str:
    """Return the comment of the row that corrects row `number`."""
    return f"corrects tc={number}"


def _is_next(suite: Suite, erratum: Mapping[str, Any], grown: bool) -> bool:
    """Tell whether fixed_by is the next id of the suite, or was before the suite grew."""
    place, following = int(erratum["fixed_by"]), len(suite.rows) + 1
    return int(erratum["tcId"]) < place <= following if grown else place == following


def masked(layout: Layout, row: Row) -> Row:
    """Return a row with every mask and kind 0."""
    values = tuple(0 if column.role in ("mask", "kind") else value for column, value in zip(layout.columns, row.values, strict=True))
    return row._replace(values=values)


def _replaced(layout: Layout, row: Row, column: str, value: int) -> Row:
    at = layout.index(column)
    return row._replace(values=(*row.values[:at], value, *row.values[at + 1 :]))


def _with_rows(suite: Suite, rows: tuple[Row, ...], level: Level) -> Suite:
    data = suite.record | {"vectors_version": bump(suite.record["vectors_version"], level)}
    return Suite(refreshed(data, suite.layout, rows), suite.layout, rows)


def compare(old: Suite, new: Suite) -> Change:
    """Return what changed between two versions of one suite, and the level that this takes."""
    lines: list[str] = []
    level: Level = "none"
    if old.layout != new.layout:
        return Change("major", (f"{old.stem}: the columns changed",))
    for number, (before, after) in enumerate(zip(old.rows, new.rows, strict=False), 1):
        step = _row_level(old.layout, before, after)
        if step != "none":
            lines.append(f"{old.stem} tc={number}: {step}: {_shown(before)} -> {_shown(after)}")
        level = _worse(level, step)
    if len(new.rows) != len(old.rows):
        grown = len(new.rows) > len(old.rows)
        lines.append(f"{old.stem}: {abs(len(new.rows) - len(old.rows))} rows {'appended' if grown else 'removed'}")
        level = _worse(level, "minor" if grown else "major")
    return Change(level, tuple(lines))


def _worse(one: Level, other: Level) -> Level:
    return max(one, other, key=_ORDER.index)


def _row_level(layout: Layout, before: Row, after: Row) -> Level:
    if before.values == after.values:
        return "none" if before[:2] == after[:2] and before.comment == after.comment else "patch"
    compared = [place for place, column in enumerate(layout.columns) if column.role not in ("mask", "kind")]
    same_bits = all(before.values[place] == after.values[place] for place in compared)
    return "minor" if same_bits and masked(layout, after).values == after.values else "major"


def _shown(row: Row) -> str:
    return " ".join(f"{value:x}" for value in row.values)
