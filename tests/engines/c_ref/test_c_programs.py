"""Programs of the C reference in every arithmetic a user may name: each operation and mode against `exact`, on values that meet."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emu.base.errors import EmuError
from emu.engines.c_ref.block import dequantize
from emu.engines.exact.block import dequantize as reference_model
from emu.spec import derive, load_spec
from emu.spec.registry import get, isolated, shipped_root

ARITHMETICS = ("bf16", "fp16", "fp32", "fp64")
MODES = ("rne", "rna", "rz", "ru", "rd", "odd")
LANES, ROWS = 4, 24
OPERATIONS = {
    **{op: f'op: "{op}", args: ["a", "scale"]' for op in ("add", "sub", "mul", "div")},
    **{op: f'op: "{op}", args: ["a"]' for op in ("abs", "neg")},
    "fma": 'op: "fma", args: ["a", "scale", "third"]',
    "min_drop": 'op: "min", args: ["a", "scale"], nan: "drop"',
    "max": 'op: "max", args: ["a", "scale"], nan: "propagate"',
    "clamp": 'op: "clamp", args: ["a", "scale", "third"], nan: "propagate"',
    "clamp_drop": 'op: "clamp", args: ["a", "scale", "third"], nan: "drop"',
    "round_wide": 'op: "round", args: ["a"], to: "e2m1", overflow: "none"',
    "select_lt": 'op: "select", test: "lt", args: ["a", "scale", "third", "a"]',
    "select_neg": 'op: "select", test: "neg", args: ["a", "scale", "third"]',
    "amax": 'op: "amax", args: ["a"], at: "block", nan: "propagate"',
    "amax_drop": 'op: "amax", args: ["a"], at: "block", nan: "drop"',
    **{f"sum_{order}": f'op: "sum", args: ["a"], at: "block", order: "{order}"' for order in ("exact", "sequential", "halves", "tree")},
}
BLOCK = """
kind: "block"
id: "c_{a}"
title: "a block of plain numbers"
status: "proposed"
facts:
  element: {{format: "{a}"}}
  shape: [1, 4]
  packing: "none"
  scale_layout: "row_major"
  levels:
    - {{name: "scale", format: "{a}", granularity: "block", meaning: "multiply"}}
    - {{name: "third", format: "{a}", granularity: "block", meaning: "multiply"}}
expect: []
open: []
sources: []
"""
RECIPE = """
kind: "recipe"
id: "c_{a}_{mode}"
title: "every operation by itself"
status: "proposed"
facts:
  block: "c_{a}"
  tail: "error"
  arithmetic: {{to: "{a}", round: "{mode}"}}
  steps:
    - {{out: "codes", op: "cast", args: ["x"], to: "{a}"}}
    - {{out: "largest", op: "amax", args: ["x"], at: "block", nan: "propagate"}}
    - {{op: "emit", codes: "codes", levels: {{scale: "largest", third: "largest"}}}}
  dequantize:
{profiles}
expect: []
open: []
sources: []
"""
PROFILE = """    {name}:
      - {{out: "a", op: "decode", args: ["codes"]}}
      - {{out: "found", {step}}}
      - {{out: "spread", op: "max", args: ["found", "found"], nan: "propagate"}}
      - {{out: "whole", op: "select", test: "nan", args: ["a", "found", "found"]}}
      - {{op: "emit", values: "whole"}}
"""


@pytest.fixture(scope="module")
def every_arithmetic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Blocks and recipes of this file, loaded as a user's folder."""
    folder: Path = tmp_path_factory.mktemp("spec")
    profiles = "".join(PROFILE.format(name=name, step=step) for name, step in OPERATIONS.items())
    for a in ARITHMETICS:
        (folder / f"c_{a}.yaml").write_text(BLOCK.format(a=a), encoding="utf-8")
        for mode in MODES:
            (folder / f"c_{a}_{mode}.yaml").write_text(RECIPE.format(a=a, mode=mode, profiles=profiles), encoding="utf-8")
    with isolated(shipped_root()):
        load_spec(folder)
        yield


def operands(rng: np.random.Generator, name: str) -> tuple[Any, Any, Any]:
    """Codes that meet: near one another, ties apart, exact opposites, specials, subnormals, any bits."""
    fmt = get("format", name)
    derived = derive.codes(fmt)
    dtype = np.dtype(f"u{derived.bits // 8}")
    anything = rng.integers(0, 1 << derived.bits, (ROWS, LANES), np.uint64, endpoint=False) if derived.bits < 64 else rng.integers(
        0, (1 << 64) - 1, (ROWS, LANES), np.uint64, endpoint=True
    )  # fmt: skip
    one = np.uint64(((1 << fmt.facts.exp_bits - 1) - 1) << fmt.facts.frac_bits)
    near = one + anything % np.uint64(4 << fmt.facts.frac_bits) | anything & np.uint64(derived.sign_bit)
    assert derived.inf is not None
    special = np.array([0, derived.sign_bit, derived.inf, derived.inf | derived.sign_bit, derived.nan[0], 1, derived.max_code], np.uint64)
    kind = rng.integers(0, 5, anything.shape)
    a = np.select([kind < 3, kind == 3], [near, anything], special[rng.integers(0, special.size, anything.shape)])
    scale = np.where(rng.random((ROWS, 1)) < 0.3, a[:, :1] ^ np.uint64(derived.sign_bit), near[:, 1:2])
    third = np.where(rng.random((ROWS, 1)) < 0.3, special[rng.integers(0, special.size, (ROWS, 1))], near[:, 2:3])
    a[0], a[1] = 0, derived.sign_bit  # sums of zeros alone
    return a.astype(dtype), scale.astype(dtype), third.astype(dtype)


@pytest.mark.cases(4)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ARITHMETICS)
def test_each_operation_equals_the_reference_model_in_each_arithmetic(every_arithmetic: None, name: str, mode: str) -> None:
    recipe = get("recipe", f"c_{name}_{mode}")
    a, scale, third = operands(np.random.default_rng([ARITHMETICS.index(name), MODES.index(mode)]), name)
    levels, lists = {"scale": scale, "third": third}, {"scale": scale.tolist(), "third": third.tolist()}
    numbers = 0
    for profile in OPERATIONS:
        found = dequantize(recipe, a, levels, profile=profile).tolist()
        assert found == reference_model(recipe, a.tolist(), lists, profile=profile), profile
        numbers += len({code for row in found for code in row})
    assert numbers > 20 * len(OPERATIONS)


def test_pow2_takes_integers_alone(every_arithmetic: None, tmp_path: Path) -> None:
    text = RECIPE.format(a="fp16", mode="rne", profiles=PROFILE.format(name="power", step='op: "pow2", args: ["a"]')).replace(
        "c_fp16_rne", "c_power"
    )
    (tmp_path / "c_power.yaml").write_text(text, encoding="utf-8")
    load_spec(tmp_path)
    recipe = get("recipe", "c_power")
    codes = [[0x0000, 0x8000, 0xCA80, 0xCE00], [0x4B80, 0x4C00, 0x7C00, 0xFC00], [0x4A80, 0x7E00, 0xCB80, 0x7BFF]]
    codes = np.array([*codes, [0x4C40, 0x4D00, 0x5000, 0xCE40]], np.uint16)  # 17, 20, 32: beyond the largest exponent; -25: below the least
    whole = {name: np.full((4, 1), 0x3C00, np.uint16) for name in ("scale", "third")}
    found = dequantize(recipe, codes, whole).tolist()
    assert found[:3] == [[0x3C00, 0x3C00, 0x0800, 0x0001], [0x7800, 0x7C00, 0x7C00, 0x0000], [0x7000, 0x7E00, 0x0200, 0x7C00]]
    assert found[3] == [0x7C00, 0x7C00, 0x7C00, 0x0000]
    assert found == reference_model(recipe, codes.tolist(), {name: level.tolist() for name, level in whole.items()})
    codes[0, 0] = 0x3800  # one half
    with pytest.raises(EmuError):
        dequantize(recipe, codes, whole)
