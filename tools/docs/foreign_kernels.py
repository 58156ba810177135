"""The page of foreign kernels, from the record of `python -m tools.foreign_kernels`. Not here: how they are run (emu/check/libraries)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from emu.base.errors import FileError, OperandError
from emu.check.libraries.model import find
from emu.files.record import Data
from emu.pages.render import Anchor, Code, render
from tools.docs import TEMPLATES
from tools.docs.foreign_findings import FINDINGS, LEFT_OUT
from tools.foreign_kernels import COMMAND, KIND, RECORD

PAGE: Final = "docs/foreign_kernels.md"


def foreign_pages(root: Path) -> dict[str, str]:
    """Return path -> text of the page; nothing where the tree holds no record. Raises: FileError (a damaged record)."""
    path = root / RECORD
    if not path.is_file():
        return {}
    record: Data = KIND.read(path)
    try:
        rows = [row | {"library": row["kernel"].partition(".")[0]} for row in record["rows"]]
        libraries = record["libraries"]
    except (ValueError, KeyError, TypeError) as error:
        raise FileError(f"{RECORD}: {type(error).__name__} {error}: make it again with {COMMAND}") from None
    own = {name: [row for row in rows if row["library"] == name] for name in libraries}
    text = render(
        "foreign_kernels",
        None,
        TEMPLATES,
        record=RECORD,
        command=COMMAND,
        count=len(rows),
        compared=f"{sum(_count(row, 'compared') for row in rows):,}",
        equal=_equal(rows),
        overview=[_overview(name, libraries[name], own[name]) for name in libraries],
        libraries=[_library(name, libraries[name], own[name]) for name in libraries],
        left_out=LEFT_OUT,
    )
    return {PAGE: text}


def _equal(rows: list[Data]) -> int:
    return sum(row["verdict"] == "pass" for row in rows)


def _overview(name: str, about: Data, rows: list[Data]) -> tuple[Any, ...]:
    return Anchor(name, name), f"{about['package']} {about['version']}", len(rows), _equal(rows), FINDINGS.get(name, "")


def _library(name: str, about: Data, rows: list[Data]) -> Data:
    return {
        "name": name,
        "about": about,
        "kernels": [
            (Code(row["kernel"]), row["call"], Code(row["contract"]), row["claim"], row["verdict"], f"{_count(row, 'differing'):,}",
             f"{_count(row, 'compared'):,}", _identified(row))
            for row in rows
        ],
        "departures": [
            (row, FINDINGS.get(row["kernel"], "departs as follows."), one_liners(row), [_failure(item) for item in row["failures"]])
            for row in rows
            if row["verdict"] != "pass"
        ],
    }  # fmt: skip


def _identified(row: Data) -> str:
    found = row.get("identified")
    return "" if not found else f"{found['kind']}: {', '.join(found['found'][:2]) or found['title']}"


def _failure(item: Data) -> tuple[str, ...]:
    operands = "; ".join(f"{name} {text}" for name, text in item["operands"].items())
    return item["class"], operands, item["place"], item["want"], item["got"]


def one_liners(row: Data) -> list[str]:
    """Return the commands that check the kernel of a row again and, where it was identified, identify it."""
    asked = f"emu check foreign:{row['kernel']} --against {row['contract']}"
    try:
        kernel = find(row["kernel"])
        (rows, columns), limit = kernel.multiple, " --seconds 600" if kernel.library.compiles else ""
    except OperandError:
        rows, columns, limit = 1, 1, ""
    asked += limit if (rows, columns) == (1, 1) else f" --multiple {rows}x{columns}{limit}"
    if row.get("identified") is None:
        return [asked]
    return [asked, f"emu identify foreign:{row['kernel']} --op {row['contract']}{limit}"]  # finds out by itself which sizes are taken


def _count(row: Data, word: str) -> int:
    return sum(suite[word] for suite in row["suites"].values())
