"""The kill suite of a contract of a user's own file: chosen among its rows by its own deviations, judged on others."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.generated_mutants import golden_of, mutants_of, noticed
from support.whole import tries

from emu.contracts import parse
from emu.spec.registry import added, load_spec, restored
from emu.vectors import build, find, load, verify
from emu.vectors.suites import own
from emu.vectors.suites.plan import plans, rows_of_stems

STEM = "dot__e1m2xe1m2_ue4m3_to_fp32__mychip"


@pytest.fixture(scope="module")
def spec(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The files of the tutorial's chip, and a recipe with another name, loaded."""
    folder = tmp_path_factory.mktemp("own") / "spec"
    shutil.copytree(checkout / "docs/tutorial_chip/spec", folder)
    text = (checkout / "spec/recipe/mxfp4_torchao_floor.yaml").read_text(encoding="utf-8")
    (folder / "recipe").mkdir()
    (folder / "recipe/my_floor.yaml").write_text(text.replace('id: "mxfp4_torchao_floor"', 'id: "my_floor"'), encoding="utf-8")
    golden_of.cache_clear()
    with restored():
        load_spec(folder)
        yield folder
    golden_of.cache_clear()


@pytest.mark.exhaustive
def test_a_datapath_of_ones_own_has_a_kill_suite_of_its_rows(spec: Path, tmp_path: Path) -> None:
    there = [case for suite in own.FROM for case in find(f"{STEM}__{suite}").cases(0, find(f"{STEM}__{suite}").size)]
    plan = find(f"{STEM}__kill")
    rows = plan.cases(0, plan.size)
    places = [there.index(case) for case in rows]
    assert places == sorted(set(places)) and 10 <= len(rows) < len(there) // 4
    flags = {flag for case in rows for flag in case.flags}
    assert flags >= {flag for case in find(f"{STEM}__directed").cases(0, 1000) for flag in case.flags}
    build(tmp_path, ["kill"], ["dot/mychip"])
    assert len(load(tmp_path / "dot", f"{STEM}__kill").rows) == len(rows)
    assert verify(tmp_path).exit_code == 0


@pytest.mark.exhaustive
def test_it_kills_what_it_was_not_chosen_for(spec: Path) -> None:
    """Deviations that choosing leaves out: every n-th but one, and those that are of no contract's list (results, operands, neighbours)."""
    golden = golden_of(f"{STEM}__directed")
    op = golden.plan.operation
    listed = [item.text for item in op.deviations()]
    tried = {*listed[:: len(listed) // own._TRIED]}
    others = [item for item in mutants_of(golden) if item.text not in tried][:: tries(9, 3)]
    kill = [case.values for case in find(f"{STEM}__kill").cases(0, 1000)]
    directed = [case.values for case in golden.plan.cases(0, golden.size)]
    told = [bool(noticed(golden, item, kill, 1)) for item in others if noticed(golden, item, directed, 1)]
    assert len(told) > tries(40, 120) and sum(told) >= 0.9 * len(told), (sum(told), len(told))


@pytest.mark.parametrize("more", [-1, 0, own._TRIED - 1, own._TRIED, 3 * own._TRIED])
def test_rows_are_chosen_for_deviations_at_one_distance(more: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of a short list; of a longer one every n-th, from the first on, over the whole list."""
    count, tried = own._TRIED + more, list[int]()
    monkeypatch.setattr(own, "_killed_by", lambda operation, item, rows, right: tried.append(item) or [])
    monkeypatch.setattr(own, "decided_by_bits", lambda *_: [])
    monkeypatch.setattr(own, "choose", lambda *_: [])
    listed: Any = SimpleNamespace(deviations=lambda: iter(range(count)))
    assert own._rows(listed, []) == ()
    assert tried == list(range(0, count, max(1, count // own._TRIED)))


@pytest.mark.exhaustive
def test_a_recipe_of_ones_own_has_one_too(spec: Path) -> None:
    plan = find("quantize__bf16_to_mxfp4__my_floor__kill")
    assert added("recipe", "my_floor") and not added("recipe", "mxfp4_torchao_floor") and 8 < plan.size < 40


def test_a_bit_of_an_operand_that_does_not_move_is_seen_whatever_rows_were_chosen_for() -> None:
    """Rows chosen for the bits alone: each bit of the number and of the random integer stuck at 0 and at 1."""
    op = parse("convert/e2m1/sr_add8/nvidia", "fp16")
    rows = {("directed", number): case.values for number, case in enumerate(op.directed(), 1)}
    chosen = [rows[place] for place in own.choose(own.decided_by_bits(op, rows), {})]
    assert 10 < len(chosen) < 30
    for at, column in enumerate(op.layout.inputs):
        for bit in range(column.bits):
            for stuck in (0, 1):
                read = [(*row[:at], row[at] & ~(1 << bit) | stuck << bit, *row[at + 1 :]) for row in chosen]
                assert any(op.exact(one) != op.exact(row) for one, row in zip(read, chosen, strict=True)), (column.name, bit, stuck)


def test_no_bit_of_wide_operands_is_asked_for_by_itself() -> None:
    op = parse("dot/fp32_fma_chain")
    assert own.decided_by_bits(op, {("directed", 1): op.directed()[0].values}) == []


@pytest.mark.exhaustive
def test_shipped_contracts_have_the_rows_of_the_data_alone(spec: Path) -> None:
    made = [plan.stem.replace("__kill", "__directed") for plan in plans("convert") if plan.suite == "kill"]
    assert sorted(made) == sorted(stem for stem in rows_of_stems() if stem.startswith("convert")) != []


@pytest.mark.exhaustive
def test_other_facts_choose_again(checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same name with another register: rows are not those that were kept."""
    monkeypatch.setattr(own, "_TRIED", 20)
    text = (checkout / "docs/tutorial_chip/spec/datapath/mychip.yaml").read_text(encoding="utf-8").replace('id: "mychip"', 'id: "again"')
    old, found = 'hold: {format: "bf16", rounding: "rne", overflow: "ieee"}', []
    assert text.count(old) == 1
    text = text.partition("expect:")[0] + "open: []\n" + text.partition("open: []\n")[2]
    for bits in (24, 12):
        folder = tmp_path / str(bits)
        folder.mkdir()
        changed = text.replace(old, f'hold: {{bits: {bits}, unit_exp: -4, rounding: "rz", overflow: "wrap"}}')
        (folder / "again.yaml").write_text(changed, encoding="utf-8")
        with restored():
            load_spec(folder)
            plan = find("dot__e1m2xe1m2_ue4m3_to_fp32__again__kill")
            found.append([case.values for case in plan.cases(0, plan.size)])
    assert found[0] != found[1] and all(len(rows) >= 10 for rows in found)
