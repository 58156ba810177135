"""The page of foreign kernels, from the record of `python -m tools.foreign_kernels`. Not here: how they are run (emu/check/libraries)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from emu.base.errors import FileError, OperandError
from emu.check.libraries.findings import FINDINGS, LEFT_OUT
from emu.check.libraries.registry import find
from emu.docgen.markdown import code, fence, plural, prose, table

RECORD: Final = "docs/evidence/foreign_kernels.json"
PAGE: Final = "docs/foreign_kernels.md"
MARK: Final = f"<!-- generated from {RECORD} by: emu docs build -->"
COMMAND: Final = f"python -m tools.foreign_kernels --out {RECORD}"
Record = dict[str, Any]


def foreign_pages(root: Path) -> dict[str, str]:
    """Return path -> text of the page; nothing where the tree holds no record. Raises: FileError (a damaged record)."""
    path = root / RECORD
    if not path.is_file():
        return {}
    try:
        record: Record = json.loads(path.read_text("utf-8"))
        rows = [row | {"library": row["kernel"].partition(".")[0]} for row in record["rows"]]
        libraries = record["libraries"]
    except (ValueError, KeyError, TypeError) as error:
        raise FileError(f"{RECORD}: {type(error).__name__} {error}: make it again with {COMMAND}") from None
    lines = [MARK, "", *_head(libraries, rows), *_overview(libraries, rows)]
    for library in libraries:
        lines += _library(library, libraries[library], [row for row in rows if row["library"] == library])
    return {PAGE: "\n".join([*lines, *_left_out()]) + "\n"}


def _head(libraries: Record, rows: list[Record]) -> list[str]:
    equal = sum(row["verdict"] == "pass" for row in rows)
    compared = sum(_count(row, "compared") for row in rows)
    return [
        "# Kernels of other libraries, bit for bit",
        "",
        prose(
            f"{plural(len(rows), 'kernel')} of {len(libraries)} libraries, run on a CPU and compared with the contract that bears their ",
            f"name, or with the nearest one where none does: {compared:,} codes and values; {equal} kernels give every bit. A ",
            "difference is a fact about one version and one contract, not a judgement: a library may well mean what it does.",
        ),
        "",
        *fence(
            [
                "pip install -c constraints.txt 'fp4emu[foreign]'        # .ci/foreign makes an environment with all of them",
                "emu check foreign:torchao.mxfp4_floor --against quantize/mxfp4_torchao_floor",
                "emu identify foreign:torchao.mxfp4_floor --op quantize/mxfp4_torchao_floor",
                f"{COMMAND}        # this record again",
            ]
        ),
        "",
        prose(
            "Inputs: the directed rows of the contract, every bf16 pattern (conversions: every fp16 pattern too), and for E8M0 scales ",
            "binary32 maxima within 64 ulp of the places where a scale changes. *claim* says whether library and spec mean the same ",
            "contract (same), or whether it is only the nearest one (nearest): there a difference may be a documented choice.",
        ),
        "",
    ]


def _overview(libraries: Record, rows: list[Record]) -> list[str]:
    body = []
    for name, about in libraries.items():
        own = [row for row in rows if row["library"] == name]
        equal = sum(row["verdict"] == "pass" for row in own)
        body.append([f"[{name}](#{name})", f"{about['package']} {about['version']}", str(len(own)), str(equal), FINDINGS.get(name, "")])
    return ["## Overview", "", *table(["library", "version", "kernels", "equal", "what it is"], body, (2, 3)), ""]


def _library(name: str, about: Record, rows: list[Record]) -> list[str]:
    lines = [f"## {name}", "", f"{about['package']} {about['version']}: {code(about['install'])}", ""]
    body = [
        [code(row["kernel"]), row["call"], code(row["contract"]), row["claim"], row["verdict"], f"{_count(row, 'differing'):,}",
         f"{_count(row, 'compared'):,}", _identified(row)]
        for row in rows
    ]  # fmt: skip
    lines += [*table(["kernel", "call", "contract", "claim", "verdict", "differing", "compared", "identified as"], body, (5, 6)), ""]
    for row in rows:
        if row["verdict"] != "pass":
            lines += _departures(row)
    return lines


def _identified(row: Record) -> str:
    found = row.get("identified")
    return "" if not found else f"{found['kind']}: {', '.join(found['found'][:2]) or found['title']}"


def _departures(row: Record) -> list[str]:
    lines = [f"**{row['kernel']}**: {FINDINGS.get(row['kernel'], 'departs as follows.')}"]
    if row["message"]:
        lines[0] += f" It stopped: {row['message']}"
    if row["note"]:
        lines[0] += f" (Read so: {row['note']}.)"
    lines += ["", *fence(one_liners(row)), ""]
    shown = [
        [item["class"], "; ".join(f"{name} {text}" for name, text in item["operands"].items()), item["place"], item["want"], item["got"]]
        for item in row["failures"]
    ]
    return lines + ([*table(["class", "smallest input found", "place", "contract", "library"], shown), ""] if shown else [])


def one_liners(row: Record) -> list[str]:
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


def _left_out() -> list[str]:
    return ["## Not run", "", *(f"* {name}: {why}" for name, why in LEFT_OUT.items())]


def _count(row: Record, word: str) -> int:
    return sum(suite[word] for suite in row["suites"].values())
