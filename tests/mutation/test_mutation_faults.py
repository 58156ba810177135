"""Seeded faults of spec and engines die by golden rows; docs/evidence/KILL.json says which row kills which.

After a change of the catalogue: EMU_KILL=changed pytest tests/mutation -m mutants -k kill tries the new and the changed faults;
EMU_KILL=write tries all of them, about ten minutes on 2 cores, and writes; without it the same run compares, as before a release.
"""

import hashlib
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from support.mutants import validated
from support.mutation import LAYERS, Fault, refused
from support.mutation_kill import PROOFS, SCHEMA, Bench, catalogue_sha256, merged, record, render, right, untried
from support.mutation_rows import Shelf
from support.whole import tries

from emu import SpecError
from emu.spec.registry import replaced

COMMAND = "EMU_KILL=changed pytest tests/mutation -m mutants -k kill"
SEED = 20261121
CHOSEN, SUITES = tries(1, 4), 2
NEEDED = (
    "tie", "sticky", "double_round", "carry", "saturate", "overflow_mode", "round_mode", "subnormal", "flush", "zero_sign", "inf", "nan",
    "scale_special", "decode", "packing", "order", "sr_threshold", "sr_op",
)  # fmt: skip
LEAST = 30
HEAD = ["id", "layer", "class", "ops", "where", "change", "text"]
KILLED, SURVIVING = [*HEAD, "rows", "suites", "rowsOfClass", "killedBy"], [*HEAD, "proof", "why"]


@pytest.fixture(scope="module")
def kill_file(checkout: Path) -> Path:
    return checkout / "docs" / "evidence" / "KILL.json"


@pytest.fixture(scope="module")
def kill_data(kill_file: Path) -> dict[str, Any]:
    return dict(json.loads(kill_file.read_text(encoding="ascii")))


def test_every_fault_can_be_made(faults: list[Fault]) -> None:
    assert refused(faults) == []


def test_every_class_and_layer_is_there(faults: list[Fault]) -> None:
    counts = Counter(fault.layer for fault in faults)
    assert set(counts) == set(LAYERS) and min(counts.values()) >= LEAST, counts
    assert set(NEEDED) <= {fault.kill_class for fault in faults}
    assert len({(fault.where(), fault.edit()) for fault in faults}) == len(faults)


def test_the_record_is_fresh(faults: list[Fault], equivalent: dict[str, Any], shelf: Shelf, kill_data: dict[str, Any]) -> None:
    """KILL.json is of these faults and these rows; every fault is killed by a row that is about its class, or proven equivalent."""
    assert kill_data["schema"] == SCHEMA and kill_data["catalogue_sha256"] == catalogue_sha256(faults), COMMAND
    known = {stem: shelf.planned.get(stem) or shelf.suite(stem).sha256 for stem in kill_data["suites"] if stem not in shelf.blocks}
    assert {stem: digest for stem, digest in kill_data["suites"].items() if known.get(stem, digest) != digest} == {}, COMMAND
    killed, survivors = kill_data["mutants"], kill_data["survivors"]
    assert all(list(row) == KILLED for row in killed) and all(list(row) == SURVIVING for row in survivors)
    assert all(set(row["killedBy"]) <= set(kill_data["suites"]) for row in killed)
    assert [row["id"] for row in killed if not row["rowsOfClass"] or not row["killedBy"]] == []
    assert {row["id"]: (row["proof"], row["why"]) for row in survivors} == equivalent
    assert all(proof in PROOFS and why for proof, why in equivalent.values())
    assert {row["id"] for row in (*killed, *survivors)} == {fault.id for fault in faults} and len(killed) >= 100


def test_a_record_is_made_again_from_its_parts(faults: list[Fault], kill_file: Path, kill_data: dict[str, Any]) -> None:
    """What EMU_KILL=changed does: only faults that the record does not hold as they are tried, and the file is written the same."""
    other = [faults[0]._replace(text="another fault"), *faults[1:]]
    assert untried(faults, kill_data) == [] and untried(other, kill_data) == other[:1]
    assert render(merged(faults, kill_data, record([], {}, {}, {}))) == kill_file.read_text(encoding="ascii"), COMMAND


def chosen(faults: list[Fault], layer: str) -> list[Fault]:
    """A seeded choice, the same on every machine."""
    mine = [fault for fault in faults if fault.layer == layer]
    return sorted(mine, key=lambda fault: hashlib.sha256(f"{SEED}/{fault.id}".encode()).digest())[:CHOSEN]


# The loader itself notices these too: a datapath or a recipe asks for a mode that no longer is what it was. Rows are derived all the same.
REFUSED = {"spec_rne_above_half", "spec_rz_above_half", "spec_rne_tie_keep"}


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", sorted(REFUSED))
def test_the_loader_refuses_these_faults(faults: list[Fault], name: str) -> None:
    found = next(fault for fault in faults if fault.id == name)
    with pytest.raises(SpecError), replaced(validated(found.mutant())):
        pass


@pytest.mark.exhaustive
@pytest.mark.parametrize("layer", LAYERS)
def test_a_seeded_choice_is_killed_by_the_rows_of_the_record(
    layer: str, faults: list[Fault], equivalent: dict[str, Any], shelf: Shelf, kill_data: dict[str, Any], tmp_path: Path
) -> None:
    mine = chosen([fault for fault in faults if fault.id not in equivalent], layer)
    listed = {row["id"]: dict(list(row["killedBy"].items())[:SUITES]) for row in kill_data["mutants"]}
    suites = shelf.suites(sorted({stem for fault in mine for stem in listed[fault.id]}))
    kills = Bench(tmp_path, suites).run([right(layer, list(suites)), *mine])
    assert kills[f"{layer}_right"].found == {} and kills[f"{layer}_right"].derived >= CHOSEN
    for fault in mine:
        found = {stem: {"count": len(ids), "first": ids[:5]} for stem, ids in kills[fault.id].found.items()}
        assert {stem: found.get(stem) for stem in listed[fault.id]} == listed[fault.id], f"{fault.id}: {COMMAND}"


@pytest.mark.mutants
def test_kill_json(faults: list[Fault], equivalent: dict[str, Any], shelf: Shelf, kill_file: Path, tmp_path: Path) -> None:
    """Every fault, on every row of its operations; with EMU_KILL=changed only those that the record does not hold as they are."""
    mode, old = os.environ.get("EMU_KILL"), json.loads(kill_file.read_text(encoding="ascii"))
    suites = shelf.everything()
    digests = {suite.stem: suite.sha256 for found in suites.values() for suite in found}
    todo = untried(faults, old, digests) if mode == "changed" else faults
    bench = Bench(tmp_path, suites)
    unharmed = bench.run([right(layer, list(suites)) for layer in LAYERS])
    assert {name: kill.found for name, kill in unharmed.items()} == {name: {} for name in unharmed}
    data = record(todo, bench.run(todo, min(4, os.cpu_count() or 1)), suites, equivalent)
    text = render(merged(faults, old, data))
    if mode in ("write", "changed"):
        kill_file.write_text(text, encoding="ascii")
    assert kill_file.read_text(encoding="ascii") == text, COMMAND
