"""The page of datapath errors, from the record of `python -m research datapath`. Not here: the figures (emu.analysis)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from emu.docgen.datapath_errors_datapath import datapath_lines, datapath_picture
from emu.docgen.datapath_errors_order import order_lines
from emu.docgen.datapath_errors_proof import proof_lines
from emu.docgen.datapath_errors_quantization import input_lines, quantization_lines, quantization_picture
from emu.docgen.datapath_errors_short import short_lines
from emu.docgen.markdown import fence, plural, prose
from research.datapath.study import COMMAND, RECORD, read_record

PAGE: Final = "docs/datapath_errors.md"
PICTURES: Final = "docs/datapath_errors"  # _quantization.svg, _datapath.svg, _order.svg
MARK: Final = f"<!-- generated from {RECORD} by: emu docs build -->"
Record = dict[str, Any]


def study_pages(root: Path) -> dict[str, str]:
    """Return path -> text of the page and its pictures; nothing where the tree holds no record. Raises: FileError (a damaged record)."""
    if not (root / RECORD).is_file():
        return {}
    record = read_record(root / RECORD)
    order, order_picture = order_lines(record)
    lines = [MARK, "", *_head(record), *short_lines(record), *input_lines(record), *quantization_lines(record), *datapath_lines(record)]
    text = "\n".join([*lines, *order, *proof_lines(record["proof"]), *_limits(record)]) + "\n"
    return {
        PAGE: text,
        f"{PICTURES}_quantization.svg": quantization_picture(record),
        f"{PICTURES}_datapath.svg": datapath_picture(record),
        f"{PICTURES}_order.svg": order_picture,
    }


def _head(record: Record) -> list[str]:
    return [
        "# What quantization costs a matrix product, and what the datapath adds",
        "",
        prose(
            "For architects: which elements, which scales, which adder. Every figure comes from one command; this ",
            "page is its record as text.",
        ),
        "",
        *fence([record["command"], "emu docs build                                        # this page and its pictures"]),
        "",
        prose(
            f"The record is [{RECORD.removeprefix('docs/')}]({RECORD.removeprefix('docs/')}). `python -m research datapath ",
            f"--check {RECORD}` says whether it ",
            "still fits the spec; `--part` and `--only` run a piece and print it.",
        ),
        "",
    ]


def _limits(record: Record) -> list[str]:
    skipped = "`nv_like_exact` with UE5M3 or E8M0 scales: its adder has 81 bits and more"
    return [
        "",
        "## What is not in it",
        "",
        f"- {skipped}.",
        prose(
            "- Recipes without a datapath: no published one takes FP32 scales; only the proposed `promote` does. ",
            "`int64` takes UE4M3 alone: the exact sum under ",
            "other scales is longer.",
        ),
        prose(
            "- C other than +0 at the start (inside the chain, D of one instruction is C of the next); training; ",
            "accuracy of a whole model.",
        ),
        prose(
            f"- Hardware. The {plural(2, 'Blackwell datapath')} are models of published reports, the others proposals; ",
            "their pages say which.",
        ),
        f"- `{COMMAND}` needs the model package and takes minutes; without it the drawn data alone can be run.",
    ]
