"""Whole input spaces of the reference converters: a Verilator model of each against the C reference, and the record of it.

A line of the record says: every source code gave the code that the C reference gives. codes_sha256 is counted as `emu sweep` counts it
(leaves of 2^22 codes, NaN sources as 0 and 1 by their sign), so that a line can be compared with docs/evidence/sweeps.json.
Not here: the harness (vectors/bench/harness), golden vectors (simulator.py).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple

from emu.base.errors import EngineError, FileError, ToolError
from emu.contracts.convert.contract import ConvertContract
from emu.engines.c_ref import c_reference
from emu.files.record import Record, opens, read_lines
from emu.rtl.simulate.units import Unit
from emu.spec import derive
from emu.spec.models.common import digest_json
from emu.spec.registry import digest
from emu.vectors.suites.plan import find

HARNESS: Final = ("harness/batch.sv", "harness/sweep_convert.cpp")
LEAF: Final = 1 << 22
SMALL: Final = 16  # bits of a source whose codes meet every random integer
COMMAND: Final = "emu rtl sweep --stale"
VERILATE: Final = (
    "verilator", "--cc", "--exe", "--build", "-O3", "--x-assign", "fast", "--x-initial", "fast", "--noassert", "-Wno-fatal",
    "-MAKEFLAGS", "OPT_FAST=-O3", "--top-module", "batch",
)  # fmt: skip
ABOUT: Final = (
    "Made by `emu rtl sweep`: each line is every code of the source through a Verilator model of one unit, equal to the C reference. "
    "After the unit: the random integer of every element. rows: all source codes with each integer; mix: the top bits of "
    "code * 0x9e3779b1. codes_sha256 as in sweeps.json, where twin is the same space."
)


class Space(NamedTuple):
    """All source codes of one unit. random: as the harness takes it, empty where the rounding draws nothing."""

    unit: Unit
    operation: ConvertContract
    random: str = ""

    @property
    def name(self) -> str:
        """Unit, and the random integers."""
        return f"{self.unit.id}/{self.random}" if self.random else self.unit.id

    @property
    def names(self) -> tuple[str, str, str, str]:
        """Source, destination, rounding, policy."""
        rows = self.operation
        return (rows.src, rows.dst, rows.name.parts[1], rows.policy.id)

    @property
    def inputs(self) -> int:
        """How many inputs there are."""
        return (1 << derive.codes(self.operation.source).bits) << (self.operation.rounding.random_bits if self.random == "rows" else 0)

    @property
    def twin(self) -> str | None:
        """The line of sweeps.json that has the same inputs in the same order."""
        return f"{'/'.join(self.names[:3])}/{self.operation.entry.overflow}" if self.random in ("", "rows") else None

    @property
    def spec_sha256(self) -> str:
        """The digest of the facts that the codes depend on."""
        return digest_json([digest(self.operation.source), self.operation.name.spec_sha256])


def spaces(units: Mapping[str, Unit]) -> list[Space]:
    """Return the spaces of all converters, short ones first. A binary32 source meets the random integers `mix`."""
    found = []
    for unit in units.values():
        if not unit.suites or not unit.suites[0].startswith("convert__"):
            continue
        operation = find(unit.suites[0]).operation
        assert isinstance(operation, ConvertContract)
        bits = operation.rounding.random_bits
        wide = derive.codes(operation.source).bits > SMALL
        choices = ("",) if not bits else ("mix",) if wide else ("rows",)
        found += [Space(unit, operation, random) for random in choices]
    return sorted(found, key=lambda space: derive.codes(space.operation.source).bits > SMALL)


def rtl_sha256(kit: Path, unit: Unit) -> str:
    """Return the digest of the files and macros of a unit, and of the harness; comments and the space between words do not count."""
    names = [*(file.relative_to(kit).as_posix() for file in unit.sources), *HARNESS]
    words = {name: " ".join(re.sub(r"//.*", "", (kit / name).read_text(encoding="ascii")).split()) for name in names}
    return digest_json([unit.defines, words])


def build_library(work: Path) -> Path:
    """Compile the C reference in a copy; return its folder. Raises: ToolError, EngineError."""
    copy = work / "c_ref"
    if not (copy / "libemu_ref.a").exists():
        shutil.copytree(c_reference(), copy, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.o", "*.a", "*.so", "__pycache__"))
        _do(["make", "-s", "libemu_ref.a"], copy)
    return copy


def build_model(kit: Path, unit: Unit, work: Path) -> Path:
    """Return the program that sweeps a unit. Raises: ToolError (no Verilator), EngineError (it refuses the unit)."""
    library = build_library(work)
    macros = [f"-D{name}={value}" for name, value in unit.defines.items()]
    flags = " ".join(["-O3", f"-I{library}", *macros])
    folder = work / unit.id
    sources = [str(file) for file in (*unit.sources, *(kit / name for name in HARNESS), library / "libemu_ref.a")]
    _do([*VERILATE, *macros, "-CFLAGS", flags, "--Mdir", str(folder), *sources], work)
    return folder / "Vbatch"


def _do(command: Sequence[str], folder: Path) -> None:
    if shutil.which(command[0]) is None:
        raise ToolError(f"{command[0]}: not found: install it (Debian: {command[0]})")
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "rror" in line] or [*done.stderr.splitlines(), "no message"]
        raise EngineError(f"{command[0]}: {lines[0]}")


class Differs(EngineError):
    """The design and the C reference disagree; the message is the first line about it."""


def sweep(program: Path, space: Space) -> str:
    """Run the whole space; return codes_sha256. Raises: Differs; EngineError (the program refuses, or compared another number)."""
    reading, writing = os.pipe()
    command = [str(program), *space.names, f"codes=/dev/fd/{writing}"]
    command += [f"random={space.random}"] if space.random else []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, pass_fds=(writing,)) as running:
        os.close(writing)
        digest_of_leaves, count = _hash(reading)
        text, error = running.communicate()
    if running.returncode == 1:
        raise Differs(f"{space.name}: {text.splitlines()[0]}")
    expected = f"SWEEP {'/'.join(space.names)} compared={space.inputs} mismatch=0\n"
    if running.returncode or text != expected or count != space.inputs:
        raise EngineError(f"{space.name}: exit code {running.returncode}, {count} codes: {(text + error).strip()}")
    return digest_of_leaves


def _hash(reading: int) -> tuple[str, int]:
    """Return the digest over the digests of leaves of a stream of codes, and its length."""
    total, count = sha256(), 0
    with os.fdopen(reading, "rb") as stream:
        while leaf := stream.read(LEAF):
            total.update(sha256(leaf).digest())
            count += len(leaf)
    return total.hexdigest(), count


def line_of(kit: Path, space: Space, codes_sha256: str, verilator: str) -> dict[str, Any]:
    """Return the line of the record."""
    return {
        "inputs": space.inputs,
        "against": ["c_ref"],
        "codes_sha256": codes_sha256,
        "twin": space.twin,
        "rtl_sha256": rtl_sha256(kit, space.unit),
        "spec_sha256": space.spec_sha256,
        "simulator": verilator,
        "date": datetime.now(UTC).date().isoformat(),
    }


RECORD: Final = Record("record of sweeps", f"remove it and run {COMMAND}", opens("sweeps"), ("sweeps",), indent=0)


def read_record(path: Path) -> dict[str, dict[str, Any]]:
    """Return name -> line; empty when there is no file. Raises: FileError (not a record)."""
    return read_lines(RECORD, path, "sweeps") if path.exists() else {}


def write_record(path: Path, lines: Mapping[str, Mapping[str, Any]]) -> None:
    """Write a record, a line a space. Raises: FileError."""
    RECORD.write(path, {"about": ABOUT, "command": COMMAND, "sweeps": {name: lines[name] for name in sorted(lines)}})


def stale(kit: Path, units: Mapping[str, Unit], lines: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the names that the record lacks, has from other files or facts, or has though no unit has them."""
    known = {space.name: space for space in spaces(units)}
    wrong = [name for name, space in known.items() if not _fits(kit, space, lines.get(name))]
    return wrong + [name for name in lines if name not in known]


def _fits(kit: Path, space: Space, line: Mapping[str, Any] | None) -> bool:
    if line is None:
        return False
    made = line_of(kit, space, str(line.get("codes_sha256")), "")
    return all(line.get(key) == made[key] for key in ("inputs", "against", "twin", "rtl_sha256", "spec_sha256"))


def run(kit: Path, units: Mapping[str, Unit], out: Path, work: Path, names: Sequence[str], told: Callable[[str], None]) -> list[str]:
    """Sweep the spaces of these names one by one and keep each as it is done; lines of spaces that are gone leave the record.

    told: gets a word on each.   Returns: the names done.   Raises: Differs, EngineError, FileError, ToolError.
    """
    known = {space.name: space for space in spaces(units)}
    version = verilator_version()
    done = []
    for name, space in known.items():
        if name in names:
            told(name)
            before = rtl_sha256(kit, space.unit)
            codes = sweep(build_model(kit, space.unit, work), space)
            made = line_of(kit, space, codes, version)
            if made["rtl_sha256"] != before:
                raise FileError(f"{name}: its files changed while it ran: run it again")
            write_record(out, {key: line for key, line in read_record(out).items() if key in known} | {name: made})
            done.append(name)
    return done


def verilator_version() -> str:
    """Return name and version. Raises: ToolError (not there)."""
    if shutil.which("verilator") is None:
        raise ToolError("verilator: not found: install it (Debian: verilator)")
    text = subprocess.run(["verilator", "--version"], capture_output=True, text=True, check=False).stdout
    found = re.match(r"Verilator ([0-9.]+)", text)
    return found[0] if found else text.strip() or "Verilator"
