"""Flags of rows: what each row is about, and which classes of faults it kills (`emu-kill-1`). Every flag in use stands in notes.yaml."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, NamedTuple

from emu.spec.loader import read

KILL_CLASSES: Final = (
    "tie", "sticky", "double_round", "carry", "saturate", "overflow_mode", "round_mode", "subnormal", "flush", "zero_sign", "inf", "nan",
    "scale_special", "decode", "packing", "acc_width", "align", "floor", "live", "order", "sr_threshold", "sr_op", "latency",
)  # fmt: skip
KINDS: Final = ("BASIC", "BOUNDARY", "SPECIAL", "TIE", "STICKY", "OVERFLOW", "UNDERFLOW", "ORDER", "OPEN")


class Note(NamedTuple):
    """What a flag says."""

    kind: str
    kills: tuple[str, ...]
    text: str
    sources: tuple[str, ...] = ()


def _read() -> dict[str, Note]:
    found: dict[str, dict[str, str]] = read(Path(__file__).with_name("notes.yaml")).data
    return {flag: Note(note["kind"], tuple(note["kills"].split()), note["text"]) for flag, note in found.items()}


NOTES: Final = _read()


def is_about(kill_class: str, flags: Iterable[str]) -> bool:
    """Tell whether one of the flags of a row names a class of faults. Raises: KeyError for an undefined flag."""
    return any(kill_class in NOTES[flag].kills for flag in flags)


def described(flags: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return the `notes` object of the flags that a suite uses, in the order of notes.yaml. Raises: KeyError for an undefined flag."""
    used = set(flags)
    missing = used - set(NOTES)
    if missing:
        raise KeyError(f"flags without a note: {', '.join(sorted(missing))}")
    return {
        flag: note._asdict() | {"kills": list(note.kills), "sources": list(note.sources)} for flag, note in NOTES.items() if flag in used
    }
