"""The page about products: its examples run, and its table of pairs is what the code does."""

import doctest
from pathlib import Path

import pytest

from emu.base.errors import OperandError, SpecError
from emu.check.matmul.default_sets import every_set
from emu.check.matmul.pair import pair_of, side_of
from emu.check.matmul.sets import limits_of
from emu.spec import get, names
from emu.spec.contract import recipes_of_blocks

PAGE = Path(__file__).parents[3] / "docs" / "howto_check_matmul.md"


@pytest.mark.exhaustive
def test_the_examples_of_the_page_run():
    found = doctest.testfile(str(PAGE), module_relative=False)
    assert found.attempted >= 8 and not found.failed


def test_the_page_names_every_block_and_recipe_without_sets():
    text = PAGE.read_text("utf-8")
    refused = []
    for name in recipes_of_blocks():
        try:
            side_of(name)
        except SpecError:
            refused.append(name)
    assert refused == ["hif4", "if4_abs_max", "if4_mae", "if4_mse", "nvfp4_te_row_scaled"] and all(f"`{name}`" in text for name in refused)


MADE = {get("recipe", name).facts.block for name in recipes_of_blocks()}
FEWER = {"mxfp8_e4m3": 6, "nf4_block64": 6, "mxfp8_e5m2": 2}  # their sums need a wider accumulator: the page says so


@pytest.mark.parametrize("block", [name for name in names("block") if name in MADE and name not in ("hif4", "if4", "nvfp4_row")])
def test_every_other_block_has_all_sets(block):
    assert get("block", block)
    pair, left = pair_of(f"matmul/{block}/{block}/fp32"), []
    shape = (17, 9, -(-96 // pair.step) * pair.step)
    found = {asked.name for asked in every_set(pair, [shape], limits_of("fp32", "exact", "fp32"), 5, left)}
    assert len(found) == FEWER.get(block, 7) and bool(left) == (block in FEWER)


def test_operands_in_fp8_allow_some_scales_and_a_codebook_needs_a_wider_class():
    limits = limits_of("fp32", "fp8", "fp32")
    pair, left = pair_of("matmul/nvfp4/nvfp4/fp32"), []
    found = list(every_set(pair, [(5, 4, 96)], limits, 5, left))
    assert {asked.name for asked in found} >= {"signed, windows of a", "signed, windows of b"}
    with pytest.raises(OperandError, match="unknown"):
        limits_of("fp32", "fp12", "fp32")
