"""Seeded faults of the reference designs die by golden rows about their class; docs/evidence/KILL_rtl.json says by which.

After a change of a design, of its faults or of its suites: EMU_KILL=write pytest tests/mutation -m mutants -k rtl; without it the same run
compares, as before a release. Netlist mutants are drawn without looking: emu rtl mutants, docs/evidence/netlist_mutants.json.
"""

import json
import os
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from support.mutation_kill import catalogue_sha256, render
from support.mutation_rtl import RtlBench, RtlFault, read_rtl_faults
from support.mutation_rtl_record import COMMAND, judged_by, record

from emu.rtl.mutants.record import read_record, sources_sha256, stale
from emu.rtl.simulate import simulator
from emu.rtl.simulate.units import Unit, golden, read_units
from emu.spec.loader import read

CATALOGUE = Path(__file__).with_name("catalogue")
SURVIVORS = CATALOGUE / "survivors_rtl.yaml"
CHOSEN = 6
LEAST_RATE = 0.95  # of the netlist mutants that are not proven equivalent
NETLIST = "emu rtl mutants --out docs/evidence/netlist_mutants.json"
NEEDS = "needs Icarus Verilog: apt-get install iverilog"
CLASSES = {
    "tie", "sticky", "carry", "saturate", "overflow_mode", "round_mode", "subnormal", "flush", "zero_sign", "inf", "nan", "scale_special",
    "decode", "packing", "acc_width", "align", "floor", "live", "order", "sr_threshold", "sr_op", "latency",
}  # fmt: skip


@pytest.fixture(scope="module")
def units() -> dict[str, Unit]:
    return read_units(simulator.path())


@pytest.fixture(scope="module")
def rtl_faults(units: dict[str, Unit]) -> list[RtlFault]:
    return read_rtl_faults(sorted(CATALOGUE.glob("rtl_*.yaml")), units, simulator.path())


@pytest.fixture(scope="module")
def kill_rtl(checkout: Path) -> dict[str, Any]:
    return dict(json.loads((checkout / "docs" / "evidence" / "KILL_rtl.json").read_text(encoding="ascii")))


def bench_of(faults: list[RtlFault], units: dict[str, Unit], folder: Path) -> RtlBench:
    stems = {judged_by(units[name]) for fault in faults for name in fault.units}
    run = folder / "run"
    run.mkdir()
    return RtlBench(run, simulator.path(), units, {stem: golden(stem, folder) for stem in sorted(stems)})


def test_every_fault_can_be_made_and_every_class_is_there(rtl_faults: list[RtlFault]) -> None:
    for fault in rtl_faults:
        assert fault.changed(simulator.path())
    counts = Counter(fault.kill_class for fault in rtl_faults)
    assert set(counts) >= CLASSES, CLASSES - set(counts)
    assert len({(fault.file, fault.old, fault.new) for fault in rtl_faults}) == len(rtl_faults)


def test_the_record_is_of_these_designs_and_faults(rtl_faults: list[RtlFault], units: dict[str, Unit], kill_rtl: dict[str, Any]) -> None:
    """Every fault is killed in every unit that it names, by a row about its class, or by silence where it is one of latency."""
    assert kill_rtl["catalogue_sha256"] == catalogue_sha256(rtl_faults), COMMAND
    assert kill_rtl["units"] == {name: sources_sha256(units[name]) for name in kill_rtl["units"]}, COMMAND
    killed = {entry["id"]: entry for entry in kill_rtl["mutants"]}
    survivors = {entry["id"]: entry for entry in kill_rtl["survivors"]}
    assert {fault.id for fault in rtl_faults} == {*killed, *survivors}
    silent = {name for name, entry in killed.items() if entry["class"] == "latency" and entry["hung"]}
    assert [name for name, entry in killed.items() if not entry["rowsOfClass"] and name not in silent] == []
    assert [name for name, entry in killed.items() if entry["alive"]] == []
    assert [name for name, entry in survivors.items() if entry["proof"] not in ("exhaustion", "sat", "words") or not entry["why"]] == []


@pytest.mark.skipif(shutil.which("iverilog") is None, reason=NEEDS)
def test_a_choice_of_faults_dies_as_recorded(
    rtl_faults: list[RtlFault], units: dict[str, Unit], kill_rtl: dict[str, Any], tmp_path: Path
) -> None:
    quick = [fault for fault in rtl_faults if all(name.startswith(("decode", "convert")) for name in fault.units)]
    chosen = [fault._replace(units=fault.units[:1]) for fault in quick[:: max(1, len(quick) // CHOSEN)]]
    bench = bench_of(chosen, units, tmp_path)
    assert bench.try_one(chosen[0].units[0], None).found == {}
    recorded = {entry["id"]: entry["killedBy"] for entry in kill_rtl["mutants"]}
    for name, by_unit in bench.run(chosen).items():
        for judgement in by_unit.values():
            assert {stem: rows[0] for stem, rows in judgement.found.items()}.keys() <= recorded[name].keys(), name
            assert judgement.found or judgement.hung, name


@pytest.mark.mutants
def test_rtl_faults_die_as_recorded(rtl_faults: list[RtlFault], units: dict[str, Unit], checkout: Path, tmp_path: Path) -> None:
    path = checkout / "docs" / "evidence" / "KILL_rtl.json"
    bench = bench_of(rtl_faults, units, tmp_path)
    for name in sorted({unit for fault in rtl_faults for unit in fault.units}):
        assert bench.try_one(name, None) == ({}, ""), name
    proofs = {row["id"]: (row["proof"], row["why"]) for row in read(SURVIVORS).data["survivors"]}
    data = record(rtl_faults, bench.run(rtl_faults, os.cpu_count() or 1), units, bench.suites, proofs)
    if os.environ.get("EMU_KILL") == "write":
        path.write_text(render(data), encoding="ascii")
    assert path.read_text(encoding="ascii") == render(data), COMMAND


def test_the_record_of_netlist_mutants_is_fresh(units: dict[str, Unit], checkout: Path) -> None:
    """Of these designs; every mutant is killed, proven equivalent, or named, with the input that tells it where the solver found one."""
    entries = read_record(checkout / "docs" / "evidence" / "netlist_mutants.json")
    assert [name for name, entry in entries.items() if stale(entry, units[name])] == [], NETLIST
    for entry in entries.values():
        assert sum(entry["killed"].values()) + entry["equivalent"] + len(entry["unsettled"]) == entry["drawn"], entry["unit"]
        assert {rest["verdict"] for rest in entry["unsettled"]} <= {"different", "unknown"}, entry["unit"]
        killed = sum(entry["killed"].values())
        assert killed >= LEAST_RATE * (entry["drawn"] - entry["equivalent"]), entry["unit"]
