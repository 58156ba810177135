"""Netlist mutants of the running registers, as they ship: drawn rows show them, or a solver proves them equal. The counts are kept."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.running import DESIGNS, Design, Rows, drawn_rows, macros_of, plan_of, settled, suite_rows, vanishing_rows, written, yosys
from support.running_mutants import COMMAND, KIND

from emu.spec.levels import LevelsPlan
from emu.spec.registry import digest, get

RECORD = Path(__file__).parents[2] / "docs" / "evidence" / "running_mutants.json"
MUTANTS, SEED = 120, 1
MOST_DRAWN = 6  # of a design, that no row of the suites shows
STEPS = (30_000, 600_000)  # additions in the first rows, and in those for what they leave


def source(design: Design, kit: Path) -> Path:
    return kit / "rtl" / f"{design.module}.sv"


def sha256(design: Design, kit: Path) -> str:
    text = source(design, kit).read_bytes() + repr(sorted(design.parameters.items())).encode()
    return hashlib.sha256(text + digest(get("datapath", design.datapath)).encode()).hexdigest()


def drawn(design: Design, kit: Path, work: Path, count: int) -> tuple[list[str], list[str], list[str]]:
    """Write the netlist with all mutants; return the commands that make the right one, the mutations, and each without its selector."""
    (work / "design.sv").write_text(source(design, kit).read_text())
    sets = " ".join(f"-set {key} {value}" for key, value in design.parameters.items())
    module = design.module
    gold = ["read_verilog -sv design.sv", f"chparam {sets} {module}", f"prep -flatten -top {module}", f"rename -top {module}", "opt -full"]
    assert yosys(work, *gold, f"mutate -list {count} -seed {SEED} -o list.txt -ctrl mutsel 8 1").returncode == 0
    lines = [line.partition(" -src")[0].partition(" -wire")[0] for line in (work / "list.txt").read_text().splitlines()]
    (work / "apply.ys").write_text("\n".join(lines) + "\n")
    done = yosys(work, *gold, "script apply.ys", "opt_clean", "write_verilog -noattr mutants.v")
    assert done.returncode == 0, done.stderr
    return gold, lines, [line.replace(f" -ctrl mutsel 8 {number}", "") for number, line in enumerate(lines, 1)]


def built(design: Design, kit: Path, work: Path, steps: int) -> list[str]:
    """The command that runs a mutant on a file of rows."""
    macros = [word for word in macros_of(design.module, design.parameters, steps) if "PARAMETERS" not in word]
    command = ["verilator", "--binary", "-O3", "-Wno-fatal", "-Wno-lint", "--top-module", "bench", "--Mdir", str(work / "made")]
    command += [*macros, "-DPARAMETERS=", "-DMUTANTS", str(kit / "harness" / "running.sv"), str(work / "mutants.v")]
    subprocess.run(command, check=True, capture_output=True)
    return [str(work / "made" / "Vbench")]


def survivors(program: list[str], rows: Path, numbers: list[int]) -> Iterator[int]:
    """Yield the mutants that no row shows; the right netlist must be equal first."""
    for number in (0, *numbers):
        done = subprocess.run([*program, f"+rows={rows}", f"+mutant={number}"], check=True, capture_output=True, text=True)
        said = done.stdout.splitlines()[0]
        assert said.startswith("EQUAL rows=" if number == 0 else ("EQUAL rows=", "DIFFERS row=")), said
        if number and said.startswith("EQUAL"):
            yield number


def asked(plan: LevelsPlan) -> Iterator[tuple[str, Rows]]:
    """Yield lists of rows, and what each is."""
    yield "suites", suite_rows(plan)
    if plan.draws(plan.facts.k):  # of the others the suites show every mutant that the solver does not prove equal
        yield "sums that vanish", vanishing_rows(plan)
    for seed, steps in enumerate(STEPS, 1):
        yield f"seed {seed}", drawn_rows(plan, steps // plan.facts.k, seed)


def examined(name: str, kit: Path, work: Path, count: int) -> dict[str, Any]:
    design, plan = DESIGNS[name], plan_of(get("datapath", name))
    gold, lines, plain = drawn(design, kit, work, count)
    program = built(design, kit, work, plan.facts.k)
    entry: dict[str, Any] = {"datapath": name, "sha256": sha256(design, kit), "seed": SEED, "drawn": len(lines), "killed": {}}
    left = list(range(1, len(lines) + 1))
    for said, rows in asked(plan):
        before, left = left, list(survivors(program, written(work / "rows", plan, rows), left))
        entry["killed"][f"{len(rows[0])} rows, {said}"] = len(before) - len(left)
    kinds = {plain[number - 1]: settled(work, gold, [*gold, plain[number - 1]], design.module) for number in left}
    rest = [{"mutation": mutation, "verdict": kind} for mutation, kind in kinds.items() if kind != "equal"]
    return entry | {"equivalent": len(kinds) - len(rest), "unsettled": rest}


@pytest.mark.cases(0, 0)
@pytest.mark.parametrize("name", DESIGNS)
def test_netlist_mutants_are_shown_or_proven_equal(name: str, kit: Path, tmp_path: Path, need: Callable[..., None]) -> None:
    """EMU_MUTANTS=write keeps the counts as an entry of the record."""
    need("verilator", "make", "g++", "yosys", "yosys-abc")
    entry = examined(name, kit, tmp_path, MUTANTS)
    if os.environ.get("EMU_MUTANTS") == "write":
        kept = KIND.read(RECORD)["designs"] if RECORD.is_file() else []
        others = [known for known in kept if known["datapath"] != name]
        designs = sorted([*others, entry], key=lambda known: str(known["datapath"]))
        KIND.write(RECORD, {"schema": "emu-running-mutants-1", "command": COMMAND, "designs": designs})
    judged(entry)


def judged(entry: dict[str, Any]) -> None:
    """Every mutant that no row shows is proven equal, and other rows than the suites show few more."""
    suites, *drawn_ones = entry["killed"].values()
    assert suites >= MUTANTS * 3 // 4 and sum(drawn_ones) <= MOST_DRAWN, entry
    assert entry["unsettled"] == [], entry


def test_the_record_is_of_these_designs(kit: Path) -> None:
    kept = {entry["datapath"]: entry for entry in KIND.read(RECORD)["designs"]}
    assert set(kept) == set(DESIGNS)
    for name, entry in kept.items():
        assert entry["sha256"] == sha256(DESIGNS[name], kit), f"{name}: stale: run {COMMAND}"
        assert entry["drawn"] == MUTANTS and sum(entry["killed"].values()) + entry["equivalent"] + len(entry["unsettled"]) == MUTANTS
        judged(entry)
