"""Sums of 4, 8 and 16 products of E2M1, E1M2 and INT4 with adders of several shapes: proven lane by lane, the proofs kept as a record."""

import hashlib
import os
import resource
import shutil
from pathlib import Path

import pytest
from support.lane_proofs import COMMAND, KIND

from emu.base.errors import SpecError
from emu.cli.main import run
from emu.rtl.export import lemmas as lemmas_module
from emu.rtl.export.equivalence import VACUOUS
from emu.rtl.export.functions import golden
from emu.rtl.export.prove import Proof, prove

LANES_SV = Path(__file__).with_name("lanes.sv")
RECORD = Path(__file__).parents[2] / "docs" / "evidence" / "rtl_proofs.json"
FORMATS, LANES, ADDERS = ("e2m1", "e1m2", "int4"), (4, 8, 16), ("CHAIN", "HALVES", "SAVE", "SIGNS")
SECONDS = 600

needs_yosys = pytest.mark.skipif(not (shutil.which("yosys") and shutil.which("yosys-abc")), reason="yosys absent: apt-get install yosys")
needs_icarus = pytest.mark.skipif(shutil.which("iverilog") is None, reason="Icarus Verilog absent: apt-get install iverilog")


def proven(fmt: str, lanes: int, adders: str, *more: str, file: Path = LANES_SV) -> Proof:
    item = golden(f"group_sum/{fmt}x{fmt}/{lanes}")
    bits = item.layout.results[0].bits
    return prove(item, [file], [f"LANES={lanes}", f"BITS={bits}", fmt.upper(), adders, *more], SECONDS, lemmas=True)


@needs_yosys
@pytest.mark.cases(0, 2)
@pytest.mark.parametrize(("fmt", "adders"), [("int4", "SAVE"), ("e2m1", "SIGNS")])
def test_a_lane_of_four_is_proven_by_lemmas(fmt: str, adders: str) -> None:
    found = proven(fmt, 4, adders)
    assert found[:3] == ("proven", None, False)
    assert found.lemmas is not None and found.lemmas.proven == 5


@needs_yosys
@needs_icarus
@pytest.mark.cases(0, 2)
@pytest.mark.parametrize("adders", ["HALVES", "CHAIN"])
def test_a_fault_of_two_lanes_comes_back_as_a_row(adders: str) -> None:
    found = proven("e1m2", 4, adders, "FAULT")
    assert found.kind == "counterexample" and found.row is not None and found.got is not None
    a, b, want = found.row.values[:3]
    assert (a & 15, b & 15, a >> 12) == (9, 7, 5)
    assert int(found.got["sg"], 16) == (want + 1) & 0x1FF
    assert found.simulator == "icarus"


@needs_yosys
@pytest.mark.cases(1, 2)
@pytest.mark.parametrize("new", ["1'b0", "~valid | ~open & (got != got)", "~valid | ~open & (want != want)"])
def test_lemmas_that_compare_nothing_are_found_out(new: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text, old = lemmas_module.TEMPLATE.read_text(), "~valid | ~open & (got != want)"
    assert text.count(old) == 1
    (tmp_path / "blind.v.j2").write_text(text.replace(old, new))
    monkeypatch.setattr(lemmas_module, "TEMPLATE", tmp_path / "blind.v.j2")
    assert proven("int4", 4, "CHAIN", "FAULT")[:4] == ("unknown", None, False, f"lemma 0: {VACUOUS}")


@needs_yosys
@pytest.mark.cases(0, 2)
@pytest.mark.parametrize(
    ("old", "new"), [("got{{ lane - 1 }} + wide{{ lane }}", "wide{{ lane }}"), ("2 ** (width // lanes * lane) - 1", "2 ** width - 1")]
)
def test_lemmas_of_another_sum_are_not_proven(old: str, new: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lemma that forgets the lanes before, or one whose copies do not leave lanes out, is false of a right design."""
    text = lemmas_module.TEMPLATE.read_text()
    assert text.count(old) == 1
    (tmp_path / "other.v.j2").write_text(text.replace(old, new))
    monkeypatch.setattr(lemmas_module, "TEMPLATE", tmp_path / "other.v.j2")
    monkeypatch.setattr("emu.rtl.export.prove.replay", lambda *_: ("(not asked)", None))
    assert proven("int4", 4, "CHAIN").kind == "counterexample"


def test_lemmas_are_for_sums_alone() -> None:
    for contract in ("product/int4xint4", "decode/int4"):
        with pytest.raises(SpecError, match="lemmas are for group_sum"):
            lemmas_module.sums_of(golden(contract))
    with pytest.raises(SpecError, match="code 0 is 0"):
        lemmas_module.sums_of(golden("group_sum/e8m0xe8m0/2"))
    assert run(["rtl", "prove", "group_sum/int4xint4/4", str(LANES_SV), "--lemmas", "--solver", "z3"]) == 2


def sources() -> str:
    return hashlib.sha256(LANES_SV.read_bytes()).hexdigest()


def test_the_record_holds_every_lane() -> None:
    kept = KIND.read(RECORD)
    assert kept["design_sha256"] == sources()
    wanted = {(fmt, lanes, adders) for fmt in FORMATS for lanes in LANES for adders in ("chain", "halves")}
    wanted |= {("int4", lanes, "save") for lanes in LANES}
    assert {(entry["format"], entry["lanes"], entry["adders"]) for entry in kept["proofs"]} == wanted
    for entry in kept["proofs"]:
        assert (entry["result"], entry["lemmas"]) == ("proven", entry["lanes"] + 1) and entry["cpu_seconds"] <= SECONDS


@needs_yosys
@pytest.mark.cases(0, 1)
@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("adders", ADDERS)
def test_a_lane_is_proven_again(fmt: str, lanes: int, adders: str) -> None:
    """EMU_PROOFS=write keeps each as an entry of the record."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    found = proven(fmt, lanes, adders)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert found.kind == "proven" and found.lemmas is not None
    if os.environ.get("EMU_PROOFS") == "write":
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        entry = {"format": fmt, "lanes": lanes, "adders": adders.lower(), "result": found.kind, "lemmas": found.lemmas.proven}
        entry |= {"cpu_seconds": round(cpu, 1), "lemmas_sha256": found.lemmas.sha256}
        keep(entry)


def keep(entry: dict[str, object]) -> None:
    kept = KIND.read(RECORD) if RECORD.is_file() else {"proofs": []}
    proofs = kept["proofs"] if kept.get("design_sha256") == sources() else []
    key = ("format", "lanes", "adders")
    others = [known for known in proofs if any(known[name] != entry[name] for name in key)]
    ordered = sorted([*others, entry], key=lambda known: (str(known["format"]), int(str(known["lanes"])), str(known["adders"])))
    head = {"schema": "emu-rtl-proofs-1", "command": COMMAND, "design": "tests/rtl/lanes.sv", "design_sha256": sources()}
    KIND.write(RECORD, head | {"proofs": ordered})
