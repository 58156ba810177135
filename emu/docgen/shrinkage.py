"""The page of the shrinkage study, from the record of `python -m research reproduce`. Not here: the figures (research.reproduction)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from emu.docgen.markdown import fence, prose, table
from emu.docgen.shrinkage_real import real_lines, real_picture
from emu.docgen.shrinkage_short import short_lines
from emu.docgen.shrinkage_tables import depth_lines, depth_picture, equal_lines, gemm_lines, scale_lines, tensor_lines, tensor_picture
from research.reproduction.compare import DB, RATIO, ComparedClaim, rows
from research.reproduction.paper import NOTES, PAPER
from research.reproduction.record import COMMAND, RECORD, read_record

PAGE: Final = "docs/shrinkage.md"
PICTURES: Final = "docs/shrinkage"  # _tensors.svg, _depth.svg, _minilm.svg
MARK: Final = f"<!-- generated from {RECORD} by: emu docs build -->"
COMMANDS: Final = {
    "bias": "emu study bias",
    "tensors": "python -m research reproduce --part tensors",
    "model": "python -m research reproduce --part model",
    "gemm": "python -m research gemm --shape 512 512 4096",
    "depth": "python -m research depth --full",
    "captured": "python -m research reproduce --tensors FILE",
    "training": "python -m research train",
    "none": "",
}
Record = dict[str, Any]


def shrinkage_pages(root: Path) -> dict[str, str]:
    """Return path -> text of the page and its pictures; nothing where the tree holds no record. Raises: FileError (a damaged record)."""
    if not (root / RECORD).is_file():
        return {}
    record = read_record(root / RECORD)
    lines = [MARK, "", *_head(), *short_lines(record), *_compared(record), *tensor_lines(record), *gemm_lines(record)]
    lines += [*depth_lines(record), *scale_lines(record), *equal_lines(record), *real_lines(record), *_limits(record)]
    return {
        PAGE: "\n".join(lines) + "\n",
        f"{PICTURES}_tensors.svg": tensor_picture(record),
        f"{PICTURES}_depth.svg": depth_picture(record),
        f"{PICTURES}_minilm.svg": real_picture(record),
    }


def _head() -> list[str]:
    return [
        "# Shrinkage bias and the uniform grid, measured",
        "",
        prose(
            f"{PAPER} says: bins of E2M1 shrink values towards zero, the loss multiplies over layers, a random Hadamard ",
            "rotation (RHT) makes it worse, and a uniform grid turns the rotation into a gain. This page has what comes ",
            "out here, side by side, also where it does not agree. Every figure comes from one command:",
        ),
        "",
        *fence([COMMAND, "emu docs build                                        # this page and its pictures"]),
        "",
        prose(
            f"The record is [{RECORD.removeprefix('docs/')}]({RECORD.removeprefix('docs/')}); `python -m research reproduce --check {RECORD}` ",
            "says whether it still fits the spec. The whole takes about a minute on one core. Single pieces: ",
            "`emu study bias`, `tensor`, `scales`, `gemm`, `depth`; training: [training.md](training.md).",
        ),
        "",
    ]


def _compared(record: Record) -> list[str]:
    found = [
        (_where(row), row.claim.what, f"{row.paper} ({row.claim.status})" if row.claim.values else "unknown", *_ours(row))
        for row in rows(record)
    ]
    return [
        "## Paper and here, side by side",
        "",
        *table(("where in the paper", "what", "paper", "data here", "here", "same sign", "same size", "command"), found),
        "",
        prose(
            f"The text of the paper was not at hand. *paper*: quoted as the paper's in notes on it. *reported*: {NOTES}, ",
            "have the value to all digits. *unknown*: neither. Same size: both values of a change within ",
            f"{DB} dB, or {RATIO} of a bucket ratio; a change that the paper finds close to nothing, within {DB / 10} dB. ",
            "Counts are over tensors or layers. The paper's tensors are of its own models: ours are other ",
            "tensors, so sizes need not agree.",
        ),
        "",
    ]


def _where(row: ComparedClaim) -> str:
    return row.claim.where


def _ours(row: ComparedClaim) -> tuple[str, ...]:
    ours = row.ours.replace("docs/training.md", "[training.md](training.md)")
    command = COMMANDS[row.part]
    return row.data or "-", ours, row.sign, row.size, f"`{command}`" if command else "-"


def _limits(record: Record) -> list[str]:
    setting = record["setting"]
    return [
        "## What is not in it",
        "",
        prose(
            "- Training. Scope of RHT and of SR, loss against BF16 and its course with size are in [training.md](training.md); ",
            "models of the paper's size are out of reach here.",
        ),
        "- Times of fused kernels: hardware. Step times of the emulation are in [benchmarks.md](benchmarks.md).",
        prose(
            "- Rounding of the accumulator: products here are those of the dequantized operands in binary64; see ",
            "[datapath_errors.md](datapath_errors.md).",
        ),
        prose(
            f"- Other signs. One mask, {setting['signs']}, turns everything here; gains after the rotation move in the third or fourth ",
            "digit with another one.",
        ),
    ]
