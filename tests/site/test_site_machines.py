"""The record of machines: it holds the pairs of the spec, its facts are those of today, and its rows give what it says."""

import copy
from pathlib import Path

import pytest

from emu.files.record import Data
from tools import machines

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def record() -> Data:
    return machines.KIND.read(ROOT / machines.RECORD)


@pytest.fixture
def few(record: Data, monkeypatch: pytest.MonkeyPatch) -> Data:
    """The record of three pairs: of fused chains, of a chain and levels, and one that is equal."""
    todo = machines.pairs()
    chosen = [
        next(n for n, pair in enumerate(record["pairs"]) if wanted in (pair["first"], pair["second"], pair["verdict"])) for wanted in WANTED
    ]
    monkeypatch.setattr(machines, "pairs", lambda: [todo[number] for number in chosen])
    return record | {"pairs": [record["pairs"][number] for number in chosen]}


WANTED = ("hopper_fp8/e4m3xe4m3", "bf16_pairwise", machines.EQUAL)


def test_the_record_fits_the_spec_and_every_row_differs_as_it_says(record: Data) -> None:
    assert machines.faults(record) == []
    assert {pair["verdict"] for pair in record["pairs"]} == {machines.EQUAL, machines.ALIKE, machines.DIFFERS}


@pytest.mark.parametrize("number", [pytest.param(1, marks=pytest.mark.exhaustive), 2])
def test_a_pair_is_compared_again_with_the_same_result(few: Data, number: int) -> None:
    assert machines.compared(*machines.pairs()[number]) == few["pairs"][number]


@pytest.mark.parametrize("number", [0, 1])
def test_a_wrong_result_is_seen(few: Data, number: int) -> None:
    wrong = copy.deepcopy(few)
    code, value = wrong["pairs"][number]["results"][1]
    wrong["pairs"][number]["results"][1] = [f"0x{int(code, 16) ^ 1:08x}", value]
    assert [fault.partition(":")[0] for fault in machines.faults(wrong)] == [
        " and ".join(few["pairs"][number][key] for key in ("first", "second"))
    ]
    assert machines.faults(few) == []


def test_a_row_on_which_two_agree_is_seen(few: Data) -> None:
    wrong = copy.deepcopy(few)
    row = wrong["pairs"][0]["row"]
    row["a"] = "0" * len(row["a"])
    row["c"] = "00000000"
    assert len(machines.faults(wrong)) == 1


def test_other_facts_and_missing_pairs_are_seen(few: Data) -> None:
    wrong = copy.deepcopy(few)
    wrong["facts"]["hopper_fp8"] = "0"
    assert machines.faults(wrong) == ["hopper_fp8: other facts now"]
    missing = few | {"pairs": few["pairs"][1:]}
    assert machines.faults(missing) == [f"{few['pairs'][0]['first']} and {few['pairs'][0]['second']}: in one of spec and record only"]
    turned = few | {"pairs": few["pairs"][::-1]}
    assert machines.faults(turned) == ["the pairs stand in another order"]


def test_an_unknown_folder_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machines, "survey", lambda: iter([{"schema": machines.SCHEMA, "command": "", "facts": {}, "pairs": [LAST]}]))
    assert machines.main(["--out", str(tmp_path / "none" / "machines.json")]) == 2
    assert capsys.readouterr().err.startswith("emu: ")
    assert machines.main(["--out", str(tmp_path / "machines.json")]) == 0
    assert machines.KIND.read(tmp_path / "machines.json")["pairs"] == [LAST]


LAST = {"first": "a", "second": "b", "verdict": machines.ALIKE, "differ": 0, "rows": 1}
