"""Spec kind training: what is resolved from its facts, and one line with file and line for what contradicts itself or other files."""

from __future__ import annotations

from fractions import Fraction

import pytest

import emu
from emu.base.errors import SpecError
from emu.cli.main import run
from emu.spec import load_spec
from emu.spec.registry import isolated, shipped_root
from emu.spec.training import kept_layers, plan_of, rotation_of

BASE = """kind: "training"
id: "mine"
title: "t"
status: "proposed"
based_on: "ufp4"
facts:
  {facts}
sources: []
"""


def loaded(tmp_path, facts):
    (tmp_path / "mine.yaml").write_text(BASE.replace("{facts}", facts))
    with isolated(shipped_root()):
        load_spec(tmp_path)
        return emu.spec.get("training", "mine")


def test_ids_and_public_names():
    wanted = {"bf16", "nvfp4_te_train", "e2m1_baseline", "ufp4", "nvufp4", "nve0m3", "mxfp4_train", "int4_train"}
    wanted |= {"e2m1_rht3", "e2m1_no_rht", "e2m1_wgrad_rht_no_sr", "ufp4_no_sr", "ufp4_sr_all", "e1m2_no_rht", "e1m2_wgrad_rht"}
    assert set(emu.spec.names("training")) == wanted
    assert emu.spec.get("training", "ufp4").facts.dgrad.dy.round == "sr_add8"


@pytest.mark.parametrize("name", emu.spec.names("training"))
def test_each_operand_is_blocked_along_the_axis_that_is_summed(name):
    plan = plan_of(name)
    axes = {"fprop.x": 1, "fprop.w": 1, "dgrad.dy": 1, "dgrad.w": 0, "wgrad.dy": 0, "wgrad.x": 0}
    assert {key: operand.axis for key, operand in plan.operands.items()} == axes
    for gemm in ("fprop", "dgrad", "wgrad"):
        first, second = (rotation_of(operand) for operand in plan.pair(gemm))
        assert (first and first.id) == (second and second.id)


def test_ablations_change_one_thing():
    base, found = emu.spec.get("training", "ufp4").facts, emu.spec.get("training", "ufp4_no_sr").facts
    assert found.fprop == base.fprop and found.dgrad.w == base.dgrad.w and found.dgrad.dy.recipe == base.dgrad.dy.recipe
    assert {item.round for _, _, item in emu.spec.get("training", "ufp4_sr_all").operands()} == {"sr_add8"}
    rotated = {name: sum(rotation_of(item) is not None for item in plan_of(name).operands.values()) for name in emu.spec.names("training")}
    assert [rotated[name] for name in ("e2m1_no_rht", "e2m1_baseline", "e2m1_rht3", "e1m2_no_rht", "e1m2_wgrad_rht", "ufp4")] == [
        0,
        2,
        6,
        0,
        2,
        6,
    ]


@pytest.mark.parametrize("count", [1, 6, 7, 20, 40])
def test_kept_layers_are_rounded_up(count):
    kept = kept_layers(emu.spec.get("training", "nvfp4_te_train"), count)
    share = Fraction(emu.spec.get("training", "nvfp4_te_train").facts.kept_last)
    assert max(kept) == count - 1 and len(kept) - 1 < share * count <= len(kept)
    assert kept_layers(emu.spec.get("training", "ufp4"), count) == frozenset()


def test_a_file_of_ones_own(tmp_path):
    found = loaded(tmp_path, 'kept_last: "1/2"')
    assert found.facts.fprop == emu.spec.get("training", "ufp4").facts.fprop and kept_layers(found, 3) == {1, 2}


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ('fprop: {x: {recipe: "none"}}', "facts.fprop.x: round: state the rounding of the element cast where there is a recipe"),
        ('fprop: {x: {transform: "rht16_ufp4"}}', "fprop.x: ufp4 rotates in its own program: transform must be none"),
        ('fprop: {x: {recipe: "e1m2_fp32scale"}}', "fprop: one operand is rotated and the other one not in the same way"),
        ('signs: "none"', "signs: none, but an operand is rotated"),
        ('signs: "transform"', "signs: transform does not fit rht16_ufp4 of fprop.x, whose signs_operand is yes"),
        ('random: "none"', "random: none does not fit the roundings of the operands"),
        ('dgrad: {dy: {round: "sr_te_sw8"}}', "dgrad.dy: rounding sr_te_sw8 shares a word between elements"),
        ('dgrad: {dy: {recipe: "if4_mse"}}', "dgrad.dy: recipe if4_mse chooses among several element casts"),
        ('dgrad: {dy: {recipe: "upf4"}}', "recipe 'upf4' is unknown: did you mean ufp4"),
        ('operands: "e8m0"', "operands: e8m0 is no float format"),
        ('kept_last: "0.5"', "facts.kept_last"),
        ('tail: {tokens: "drop"}', 'facts.tail.tokens: "drop" is not one of error, zero_pad'),
    ],
)
def test_faults_are_one_line_with_their_place(tmp_path, facts, message):
    with pytest.raises(SpecError) as caught:
        loaded(tmp_path, facts)
    text = str(caught.value)
    assert message in text and "mine.yaml:" in text and "\n" not in text


def test_list_and_show(capsys):
    assert run(["list", "trainings"]) == 0
    assert "nvfp4_te_train" in capsys.readouterr().out
    assert run(["show", "training/nvfp4_te_train"]) == 0
    shown = capsys.readouterr().out
    assert "wgrad: dW = dY^T X" in shown and "rht16_te" in shown and "3/20 at the end" in shown
