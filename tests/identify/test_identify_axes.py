"""Axes as data: every rule applies somewhere and changes what it says; the files are strict; kept rows are those of the spec."""

import json

import numpy as np
import pytest

from emu.base.errors import FileError, SpecError
from emu.contracts.quantize import axes as axes_module
from emu.contracts.quantize.axes import Axes, axes
from emu.contracts.quantize.edit import apply, is_joint, stages
from emu.contracts.quantize.variants import documented, scale_variants
from emu.identify import kept_rows
from emu.identify import refresh as refresh_module
from emu.identify.kept_rows import COMMAND, kept, path_of, stem_of
from emu.identify.proof import of_maxima, verdict
from emu.identify.refresh import derive, shapes, text_of
from emu.spec import get, load_spec
from emu.spec.registry import restored, shipped_root

SMALL = [(1, 64), (16, 16), (1, 32)]


@pytest.mark.parametrize("stage", ["scale", "codes"])
def test_every_rule_fits_a_documented_recipe(stage):
    recipes = [item.recipe for item in documented()]
    recipes.append(apply(get("recipe", "nvfp4_te_ref"), axes("scale").rule("nan_dropped"), "scale"))  # no recipe drops it
    lost = [rule.id for _, rule in axes(stage).pairs() if all(apply(recipe, rule, stage) is None for recipe in recipes)]
    assert not lost


def test_codes_rules_leave_the_steps_of_the_scale_alone():
    recipe = get("recipe", "nvfp4_te_ref")
    kept_steps = [step for step, stage in zip(recipe.facts.steps, stages(recipe), strict=False) if stage == "scale"]
    for _, rule in axes("codes").pairs():
        changed = apply(recipe, rule, "codes")
        if changed is not None:
            assert all(step in changed.facts.steps for step in kept_steps), rule.id


def test_recipes_that_choose_by_error_are_joint():
    assert is_joint(get("recipe", "nvfp4_te_4over6_mse_256")) and not is_joint(get("recipe", "nvfp4_te_ref"))


def test_division_and_reciprocal_undo_one_another():
    torchao = get("recipe", "mxfp4_torchao_floor")
    once = apply(torchao, axes("codes").rule("reciprocal"), "codes")
    assert apply(once, axes("codes").rule("division"), "codes").facts.steps[-2] == torchao.facts.steps[-2]


@pytest.mark.parametrize("fault", [{"stage": "values"}, {"more": "x"}, {"axes": ()}])
def test_axes_are_strict(fault):
    data = axes("scale").model_dump() | fault
    with pytest.raises(ValueError, match="1 validation error"):
        Axes.model_validate(data)


def test_a_rule_that_is_not_there():
    with pytest.raises(SpecError, match="no rule 'other'"):
        axes("scale").rule("other")


@pytest.mark.parametrize("shape", shapes())
def test_kept_rows_are_those_of_the_spec(shape):
    stale = kept(stem_of(shape)).stale()
    assert not stale, f"{stem_of(shape)}: {', '.join(stale)} changed since: run `{COMMAND}`"


def test_kept_rows_are_small():
    assert sum(path_of(stem_of(shape)).stat().st_size for shape in shapes()) < 200_000


def test_a_changed_spec_makes_rows_stale(monkeypatch):
    monkeypatch.setattr(kept_rows, "axes_digest", lambda: "other")
    assert kept(stem_of((1, 64))).stale() == ("axes",)


def test_a_file_that_is_none(monkeypatch, tmp_path):
    (tmp_path / "quantize_1x64.json").write_text('{"version": 1}')
    monkeypatch.setattr(kept_rows, "path_of", lambda stem: tmp_path / f"{stem}.json")
    kept.cache_clear()
    with pytest.raises(FileError, match="not a file of kept rows"):
        kept("quantize_1x64")
    kept.cache_clear()


def test_refresh_looks_at_the_shipped_spec_alone(tmp_path, monkeypatch):
    """A user's recipe is known to identify, but never gets into the package's files."""
    own = (shipped_root() / "recipe" / "nvfp4_te_ref.yaml").read_text("utf-8").replace('id: "nvfp4_te_ref"', 'id: "mine"')
    (tmp_path / "mine.yaml").write_text("\n".join(line for line in own.splitlines() if not line.startswith("aliases")), "utf-8")
    seen = []
    monkeypatch.setattr(refresh_module, "_refreshed", lambda shape, _: seen.append([item.base for item in documented()]) or "")
    with restored():
        load_spec(tmp_path)
        refresh_module.refresh(tmp_path, [(1, 64)])
        assert "mine" in [item.base for item in documented()]
    assert "nvfp4_te_ref" in seen[0] and "mine" not in seen[0] and "mine" not in [item.base for item in documented()]


@pytest.mark.cases(0, 1)
@pytest.mark.parametrize("shape", SMALL)
def test_kept_rows_are_derived_again(shape):
    assert path_of(stem_of(shape)).read_text() == text_of(derive(shape)), f"run `{COMMAND}`"


def test_equal_by_exhaustion_of_block_maxima():
    base = documented(["mxfp4_te_pow2"])[0]
    made = {item.changes[0][1]: item for item in scale_variants(base)[1:]}
    assert verdict(base, made["block maximum times the reciprocal of the element maximum"])[0] == "equal"
    assert verdict(base, made["power-of-two scale rounded down"])[0] == "separated"
    assert np.array_equal(of_maxima(base)[0x3F80:0x3F82, 0], [125, 125]) and of_maxima(base)[0x40C1, 0] == 128


@pytest.mark.parametrize("shape", shapes())
def test_kept_pairs_name_why(shape):
    data = json.loads(path_of(stem_of(shape)).read_text())
    assert all(len(item) == 4 and item[2] in ("equal", "not separated", "separated") for item in data["equal"])
    assert all(len(item) == 5 and item[3] in ("equal", "not separated", "separated", "unobservable") for item in data["same"])
    assert axes_module.axes_digest() == data["axes"]


def test_kept_rows_of_rotated_recipes_hold_signs():
    assert {row.signs for row in kept(stem_of((1, 16))).rows} > {0}
    assert all({row.signs for row in kept(stem_of(shape)).rows} == {0} for shape in SMALL)
