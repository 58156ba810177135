"""docs/riscv.md: its examples run, and what the spec has of RISC-V is on it: instructions, dot products, open points, sources."""

import re
from pathlib import Path

import pytest
import yaml

from emu.spec import get, names
from emu.spec.loader import parse
from emu.spec.registry import isolated
from tools.docs import examples
from tools.docs.riscv import PAGE, riscv_pages
from tools.isa import PAGE as PROPOSAL


@pytest.fixture(scope="module")
def page(checkout: Path) -> str:
    return (checkout / PAGE).read_text(encoding="utf-8")


def test_examples_print_what_they_say(checkout: Path) -> None:
    with isolated(checkout / "spec"):  # they load a file
        assert examples.faults(checkout, (PAGE,)) == []


def test_every_instruction_and_dot_product_is_there_with_its_open_points(page: str) -> None:
    things = [get("instruction", name) for name in names("instruction") if get("instruction", name).facts.isa == "riscv"]
    things += [get("datapath", name) for name in names("datapath") if name.startswith("rvbna")]
    assert len(things) >= 9
    for thing in things:
        assert f"reference/{thing.kind}/{thing.id}.md" in page, thing.id
        assert [point.what for point in thing.open if point.what not in page] == []
        assert [source.ref for source in thing.sources if f"[`{source.ref}`]" not in page] == []


def test_the_rows_that_it_counts_are_there(page: str, checkout: Path) -> None:
    rows = yaml.safe_load((checkout / "tests/engines/exact/rvbna_rows.yaml").read_text())["dot"]
    found = re.search(r"(\d+) rows made from the prose, of (\d+) to (\d+) products of bf16, E4M3 and E5M2", page)
    assert found is not None
    counts = {len(row["a"]) for row in rows}
    assert [int(word) for word in found.groups()] == [len(rows), min(counts), max(counts)]
    assert {row[key] for row in rows for key in ("a_format", "b_format")} == {"bf16", "e4m3", "e5m2"}


def test_levels_that_the_page_offers_are_read(page: str) -> None:
    held = re.findall(r"`hold: (\{[^`]*\})`", page)
    assert [sorted(parse(text, "page").data) for text in held] == [["rounding"], ["bits", "overflow", "unit_exp"]]


def test_a_changed_fact_changes_the_page(checkout: Path, page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = get("datapath", "rvbna4_rne")
    k = model.facts.levels[1]
    changed = k.model_copy(update={"hold": k.hold.model_copy(update={"rounding": "rd"})})
    other = model.model_copy(update={"facts": model.facts.model_copy(update={"levels": (model.facts.levels[0], changed)})})
    monkeypatch.setattr("tools.docs.riscv.get", lambda kind, name: other if name == model.id else get(kind, name))
    made = riscv_pages(checkout, (checkout / PROPOSAL).read_text(encoding="utf-8"))[PAGE]
    assert "added, rounded `rd`" in made and "added, rounded `rd`" not in page
