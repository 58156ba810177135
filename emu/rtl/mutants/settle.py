"""Settles netlist mutants that no row kills: a miter against the right netlist, decided by yosys' SAT solver.

equivalent: no input tells them apart, so no row can.   different: the model is an input that does, and a row is missing.
unknown: no answer within the time. Designs with registers are compared by induction over time, from registers that are zero; what holds
for six cycles of any state and follows from them is equivalent.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, Literal, NamedTuple

from emu.rtl.export.yosys import run_yosys
from emu.rtl.mutants.netlist import TOP, Mutation, elaborate
from emu.rtl.simulate.units import Unit

Kind = Literal["equivalent", "different", "unknown"]
BATCH: Final = 50
STEPS: Final = 6
MARK: Final = "EMU-MUTANT"


class Verdict(NamedTuple):
    """What the solver says of one mutant. inputs: column -> value of a model, for a different one."""

    number: int
    kind: Kind
    inputs: dict[str, int]


def settle(unit: Unit, header: Path, mutations: Sequence[Mutation], work: Path, seconds: int = 10) -> list[Verdict]:
    """Return a verdict for each mutation. header: as for draw.   seconds: of solver time for one. Raises: EngineError."""
    found: list[Verdict] = []
    for start in range(0, len(mutations), BATCH):
        found += _batch(unit, header, mutations[start : start + BATCH], work, seconds)
    return found


def _batch(unit: Unit, header: Path, mutations: Sequence[Mutation], work: Path, seconds: int) -> Iterator[Verdict]:
    begin = elaborate(unit, header, work)
    registers = not re.search(r"^0 objects\.$", run_yosys([*begin, "select -count t:*dff*"], work), re.MULTILINE)
    proof = f"-tempinduct -maxsteps {STEPS} -set-init-zero" if registers else ""
    script = [*begin, f"rename {TOP} gold", "design -save right"]
    for mutation in mutations:
        model = work / f"model{mutation.number}.json"
        model.unlink(missing_ok=True)
        script += [
            f"log {MARK} {mutation.number}",
            "design -load right",
            "copy gold gate",
            mutation.command.replace(f"-module {TOP}", "-module gate"),
            "miter -equiv -flatten gold gate miter",
            "hierarchy -top miter",
            "opt -full",
            f"sat -timeout {seconds} {proof} -prove trigger 0 -show-inputs -dump_json {model.name} miter",
        ]
    log = run_yosys(script, work, (seconds + 20) * len(mutations) + 60)
    parts = re.split(rf"^{MARK} \d+$", log, flags=re.MULTILINE)[1:]
    for part, mutation in zip(parts, mutations, strict=True):
        yield _verdict(part, mutation, work / f"model{mutation.number}.json", registers)


def _verdict(log: str, mutation: Mutation, model: Path, registers: bool) -> Verdict:
    if "SUCCESS!" in log:
        return Verdict(mutation.number, "equivalent", {})
    if "FAIL!" in log and registers:
        return Verdict(mutation.number, "different", {})  # a sequence, not a row
    if "FAIL!" in log and model.is_file():
        return Verdict(mutation.number, "different", dict(_inputs(json.loads(model.read_text(encoding="ascii")))))
    return Verdict(mutation.number, "unknown", {})


def _inputs(model: dict[str, list[dict[str, str]]]) -> Iterator[tuple[str, int]]:
    """Yield (column, value) of a WaveJSON model."""
    for signal in model["signal"]:
        name = signal["name"].removeprefix("\\")
        if name.startswith("in_"):
            value = signal["data"][0] if "data" in signal else signal["wave"][0]
            yield name.removeprefix("in_"), int(value.replace("x", "0"), 2)
