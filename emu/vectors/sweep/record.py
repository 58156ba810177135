"""docs/evidence/sweeps.json: one line a sweep, with the digests of its codes and of the facts they came from; and what is stale in it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from emu.base.errors import FileError
from emu.files.record import Record, changed, opens, read_lines
from emu.vectors.sweep.inputs import count_inputs
from emu.vectors.sweep.runner import Result, code_sha256
from emu.vectors.sweep.space import Sweep, planned

COMMAND: Final = "emu sweep --stale"
ABOUT: Final = (
    "Made by `emu sweep`: each line is a whole space of inputs on which all named engines gave the same codes, byte for byte; exact: "
    "inputs that `exact` derived too. codes_sha256 is over the digests of the leaves (emu/vectors/sweep/inputs.py); spec_sha256 over "
    "the facts."
)


class Stale(NamedTuple):
    """Names of sweeps that the spec has and the record has not, has from other facts, or has though the spec has them no more."""

    missing: tuple[str, ...]
    changed: tuple[str, ...]
    extra: tuple[str, ...]

    def line(self, path: Path) -> str | None:
        """Return one line that says what is wrong and the command that mends it; None when nothing is."""
        every = [*self.missing, *self.changed, *self.extra]
        if not every:
            return None
        counts = ", ".join(
            f"{len(names)} {word}"
            for word, names in zip(("missing", "of other facts", "no longer in the spec"), self, strict=True)
            if names
        )
        return f"{path}: {counts} (first: {every[0]}): to mend it: {COMMAND}"


RECORD: Final = Record("record of sweeps", "remove it and run emu sweep", opens("missing", "sweeps"), ("sweeps",), indent=0)


def read_record(path: Path) -> dict[str, dict[str, Any]]:
    """Return name -> line of a record; empty when there is no file. Raises: FileError (not a record)."""
    return read_lines(RECORD, path, "sweeps") if path.exists() else {}


def is_partial(result: Result) -> bool:
    """Tell whether a result covers a part of its space only: such a one is no proof and never enters the record."""
    return result.inputs != count_inputs(result.sweep)


def add_result(path: Path, result: Result) -> None:
    """Put a sweep into the record, in the place of an earlier one. Raises: FileError (a partial sweep; unwritable)."""
    if is_partial(result):
        raise FileError(f"{path}: {result.sweep.name} covers {result.inputs} inputs of {count_inputs(result.sweep)}: leave --codes out")
    lines = read_record(path)
    lines[result.sweep.name] = {
        "inputs": result.inputs,
        "engines": list(result.engines),
        "exact": result.exact,
        "policies": list(result.sweep.policies),
        "codes_sha256": result.codes_sha256,
        "spec_sha256": result.sweep.spec_sha256,
        "code_sha256": result.code_sha256,
        "date": datetime.now(UTC).date().isoformat(),
    }
    write_record(path, lines)


def write_record(path: Path, lines: dict[str, dict[str, Any]]) -> None:
    """Write a record, sorted by name, one line a sweep; names that the spec has beside them stand under `missing`. Raises: FileError."""
    missing = [sweep.name for sweep in planned() if sweep.name not in lines]
    lack = {"missing": missing} if missing else {}
    RECORD.write(path, {"about": ABOUT, "command": "emu sweep", **lack, "sweeps": {name: lines[name] for name in sorted(lines)}})


def drop(path: Path, names: Sequence[str]) -> None:
    """Take sweeps that the spec has no more out of the record, and name anew what is missing in it. Raises: FileError."""
    lines = read_record(path)
    if lines:
        write_record(path, {name: line for name, line in lines.items() if name not in names})


def stale_sweeps(path: Path, sweeps: Sequence[Sweep]) -> Stale:
    """Compare a record with the sweeps that the spec has now. Raises: FileError."""
    lines = read_record(path)
    now = {sweep.name: sweep.spec_sha256 for sweep in sweeps}
    missing = tuple(name for name in now if name not in lines)
    made = {name: line.get("spec_sha256") for name, line in lines.items()}
    others = tuple(name for name in changed(made, now) if name in lines)
    return Stale(missing, others, tuple(sorted(lines.keys() - now.keys())))


def of_other_code(path: Path) -> int:
    """Return how many sweeps of a record were made by other code of the engines. Raises: FileError."""
    return sum(line.get("code_sha256") != code_sha256() for line in read_record(path).values())
