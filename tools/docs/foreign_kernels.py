"""The page of foreign kernels, from the record of `python -m tools.foreign_kernels`. Not here: how they are run (emu/check/libraries)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, TypeVar

from emu.base.errors import FileError, OperandError
from emu.check.libraries.model import Kernel, find
from emu.files.record import Data
from emu.pages.render import Anchor, Code, render
from tools.docs import TEMPLATES
from tools.docs.foreign_findings import FINDINGS, LEFT_OUT
from tools.foreign_kernels import COMMAND, KIND, RECORD

PAGE: Final = "docs/foreign_kernels.md"
SECONDS: Final = " --seconds 600"
SHOWN: Final = 2  # inputs of a kernel, the shortest; the record has one for each class of inputs
Told = TypeVar("Told", str, tuple[str, ...])


def foreign_pages(root: Path) -> dict[str, str]:
    """Return path -> text of the page; nothing where the tree holds no record. Raises: FileError (a damaged record)."""
    path = root / RECORD
    if not path.is_file():
        return {}
    record: Data = KIND.read(path)
    rows, libraries = told(record), record["libraries"]
    own = {name: [row for row in rows if row["library"] == name] for name in libraries}
    text = render(
        "foreign_kernels",
        None,
        TEMPLATES,
        record=RECORD,
        command=COMMAND,
        count=len(rows),
        compared=f"{sum(row['compared'] for row in rows):,}",
        equal=_equal(rows),
        overview=[_overview(name, libraries[name], own[name]) for name in libraries],
        libraries=[_library(name, libraries[name], own[name]) for name in libraries],
        left_out=LEFT_OUT,
    )
    return {PAGE: text}


def told(record: Data) -> list[Data]:
    """Return the rows of a record with what every page says of them.

    Added: library, package (with its version), compared and differing (codes and values of all suites), source (format of the codes or of
    x), identified (what emu identify names: itself, or in words; "" where it does not look).   Raises: FileError (a damaged record).
    """
    try:
        return [_told(row, record["libraries"]) for row in record["rows"]]
    except (ValueError, KeyError, TypeError) as error:
        raise FileError(f"{RECORD}: {type(error).__name__} {error}: make it again with {COMMAND}") from None


def _told(row: Data, libraries: Data) -> Data:
    name, kernel = row["kernel"].partition(".")[0], _kernel_of(row)
    package = f"{libraries[name]['package']} {libraries[name]['version']}"
    counts = {word: sum(suite[word] for suite in row["suites"].values()) for word in ("compared", "differing")}
    source = "fp32" if kernel is None else kernel.options.get("source", "fp32")
    return row | counts | {"library": name, "package": package, "source": source, "identified": _identified(row)}


def _kernel_of(row: Data) -> Kernel | None:
    """Return the kernel of a row; None where this emu has none of that name."""
    try:
        return find(row["kernel"])
    except OperandError:
        return None


def _equal(rows: list[Data]) -> int:
    return sum(row["verdict"] == "pass" for row in rows)


def _overview(name: str, about: Data, rows: list[Data]) -> tuple[Any, ...]:
    return Anchor(name, name), f"{about['package']} {about['version']}", len(rows), _equal(rows), FINDINGS.get(name, "")


def _library(name: str, about: Data, rows: list[Data]) -> Data:
    departing = [row for row in rows if row["verdict"] != "pass"]
    asked = {options(row) for row in rows}
    alike = asked.pop() if len(asked) == 1 else None
    return {
        "name": name,
        "about": about,
        "header": ("kernel", "call", "contract", "claim", "verdict", "identified") + (("options",) if alike is None else ()),
        "kernels": [_kernel(row) + ((_code(options(row)),) if alike is None else ()) for row in rows],
        "options": alike,
        "findings": _shared((_finding(row), row) for row in departing),
        "notes": _shared((row["note"], row) for row in departing if row["note"]),
        "examples": [(own, *found) for own, found in _shared((_failure(item), row) for row in departing for item in _shortest(row))],
    }


def _kernel(row: Data) -> tuple[Any, ...]:
    return Code(row["kernel"]), row["call"], Code(row["contract"]), row["claim"], _verdict(row), row["identified"]


def _code(text: str) -> Code | str:
    return Code(text) if text else ""


def _shared(told: Iterable[tuple[Told, Data]]) -> list[tuple[list[Code], Told]]:
    """Return (kernels, what is told of them), each thing that is told once."""
    found: dict[Told, list[Code]] = {}
    for words, row in told:
        found.setdefault(words, []).append(Code(row["kernel"].partition(".")[2]))
    return [(kernels, words) for words, kernels in found.items()]


def _finding(row: Data) -> str:
    return FINDINGS.get(row["kernel"], "departs as follows.") + (f" It stopped: {row['message']}" if row["message"] else "")


def _verdict(row: Data) -> str:
    compared, differing = (f"{row[word]:,}" for word in ("compared", "differing"))
    return f"equal in {compared}" if row["verdict"] == "pass" else f"{row['verdict']} in {differing} of {compared}"


def _identified(row: Data) -> str:
    found = row.get("identified")
    if not found:
        return ""
    told = ", ".join(found["found"][:2]) or found["title"]
    return "itself" if found["kind"] == "documented" and told == row["contract"] else f"{found['kind']}: {told}"


def _shortest(row: Data) -> list[Data]:
    """Return the failures of a kernel with the shortest inputs."""
    return sorted(row["failures"], key=lambda item: len(_failure(item)[1]))[:SHOWN]


def _failure(item: Data) -> tuple[str, ...]:
    operands = "; ".join(f"{name} {text}" for name, text in item["operands"].items())
    return item["class"], operands, item["want"], item["got"]


def one_liners(row: Data) -> list[str]:
    """Return the commands that check the kernel of a row again and, where it was identified, identify it."""
    asked = f"emu check foreign:{row['kernel']} --against {row['contract']} {options(row)}".rstrip()
    if row.get("identified") is None:
        return [asked]
    found = f"emu identify foreign:{row['kernel']} --op {row['contract']}"  # finds out by itself which sizes are taken
    return [asked, found + (SECONDS if SECONDS in asked else "")]


def options(row: Data) -> str:
    """Return what `emu check` must be told of a kernel: the sizes that it takes, time to compile."""
    kernel = _kernel_of(row)
    if kernel is None:
        return ""
    (rows, columns), limit = kernel.multiple, SECONDS if kernel.library.compiles else ""
    return ((f" --multiple {rows}x{columns}" if (rows, columns) != (1, 1) else "") + limit).lstrip()
