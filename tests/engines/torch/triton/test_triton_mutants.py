"""One-fact changes of what the kernels are told: each must show in the codes or levels of ordinary and special blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import emu


def blocks() -> Any:
    """Ties, zeros, -0, NaN, Inf, tiny and huge blocks, and drawn ones. uint32 [12, 32]."""
    rng = np.random.default_rng(21)
    x = rng.standard_normal((12, 32)).astype(np.float32)
    x[0] = np.tile(np.array([6, 5, 2.5, 1.75, -0.75, -0.25, 0.75, -0.0], np.float32), 4)
    x[1] = np.tile(np.array([7, 6.5, 3.5, 1.25, 0.375, 0.125, -1.125, 0], np.float32), 4) / 4
    x[2], x[3, 3], x[4, 4], x[5] = 0, np.nan, -np.inf, x[5] * np.float32(1e-40)
    x[6] *= np.float32(1e38)
    x[7] *= np.exp2(np.arange(32, dtype=np.float32) - 16)
    return x.view(np.uint32)


def step_of(op: str, change: Callable[[tuple[Any, ...]], tuple[Any, ...]], first: bool = False) -> Callable[[Any], Any]:
    """A change of the last step of an operation, or of the first one."""

    def mutate(program: Any) -> Any:
        steps = list(program.steps)
        places = [number for number, step in enumerate(steps) if step[0] == op]
        at = places[0 if first else -1]
        assert change(steps[at]) != steps[at]
        steps[at] = change(steps[at])
        return program._replace(steps=tuple(steps))

    return mutate


def facts(place: int, value: Any) -> Callable[[Any], Any]:
    """A change of one fact of the element cast."""
    return step_of("cast", lambda step: (*step[:3], (*step[3][:place], value, *step[3][place + 1 :]), *step[4:]))


MUTANTS = {
    "ties away": ("mxfp4_te_pow2", facts(1, (0, 1, 1))),
    "ties toward zero for negatives": ("mxfp4_te_pow2", facts(2, (0, 0, 1))),
    "largest code 6": ("nvfp4_te_ref", facts(4, 6)),
    "no sign": ("ufp4", facts(5, 0)),
    "NaN as 6": ("nvfp4_te_ref", facts(6, 7)),
    "the grid of E2M1": ("ufp4", facts(0, (1, 0))),
    "wraps": ("mxfp4_torchao_floor", facts(7, 15)),
    "maximum drops NaN": ("ufp4", step_of("amax", lambda step: (*step[:2], True))),
    "product for quotient": ("ufp4", step_of("div", lambda step: ("mul", *step[1:]))),
    "quotient turned round": ("nvufp4", step_of("div", lambda step: ("div", step[2], step[1]))),
    "another constant": ("nvfp4_te_ref", step_of("const", lambda step: ("const", step[1] ^ 1 << 22), first=True)),
    "select never": ("ufp4", step_of("select", lambda step: (*step[:4], step[5], step[5]))),
    "clamp without a lower end": ("nvfp4_te_ref", step_of("clamp", lambda step: (*step[:2], step[3], *step[3:]))),
    "scale rule ceil for floor": ("mxfp4_torchao_floor", step_of("e8m0_rule", lambda step: (*step[:2], "ceil", *step[3:]))),
    "scale rule with another emax": ("mxfp4_torchao_even", step_of("e8m0_rule", lambda step: (*step[:3], 3, step[4]))),
    "bias of the decoded scale": ("nvfp4_te_ref", step_of("decode", lambda step: (*step[:3], (3, 8, *step[3][2:])))),
    "rotation adds in sequence": ("ufp4", step_of("rotate", lambda step: (*step[:2], ("sequential", *step[2][1:])))),
    "rotation without its scale": ("ufp4", step_of("rotate", lambda step: (*step[:2], (step[2][0], 0, step[2][2])))),
    "rotation not rounded to bf16": ("ufp4", step_of("rotate", lambda step: (*step[:2], (*step[2][:2], ())))),
}


@pytest.mark.parametrize("mutant", [None, *MUTANTS])
def test_a_changed_program_is_noticed(tensor: Any, bits: Any, monkeypatch: pytest.MonkeyPatch, mutant: str | None) -> None:
    """None: the programs as they are, which must not be noticed."""
    from emu.engines.torch.triton import program as lowering
    from emu.engines.torch.triton import side
    from emu.engines.torch.triton.quantize import quantize

    chosen = sorted({name for name, _ in MUTANTS.values()}) if mutant is None else [MUTANTS[mutant][0]]
    if mutant is not None:
        monkeypatch.setattr(side, "kernel_program", lambda recipe: MUTANTS[mutant][1](lowering.kernel_program(recipe)))
    for recipe in chosen:
        rows = blocks()
        if recipe.startswith("mxfp4_torchao"):
            rows = rows[[0, 1, 2, 5, 6, 7, 8, 9, 10, 11]]  # NaN and Inf are open there
        amax = np.array(0x40C00000, np.uint32)
        reads = recipe.startswith("nv")
        want = emu.quantize(rows, recipe, source="fp32", tensor_amax=amax.view(np.float32) if reads else None)
        found = quantize(tensor(rows, "fp32"), recipe, tensor_amax=tensor(amax.reshape(1), "fp32") if reads else None, check=False)
        same = np.array_equal(bits(found.codes), want.codes) and all(
            np.array_equal(bits(mine).reshape(-1), level.codes.reshape(-1)) for mine, level in zip(found.levels, want.levels, strict=True)
        )
        assert same == (mutant is None), recipe


@pytest.mark.parametrize("change", ["key", "stream", "row", "low bits", "transposed"])
def test_a_changed_draw_is_noticed(tensor: Any, bits: Any, change: str) -> None:
    from emu.base import philox
    from emu.engines.torch.triton.quantize import quantize

    codes = np.random.default_rng(4).standard_normal((32, 32)).astype(np.float32).view(np.uint32)
    words = philox.words(3, codes.size, 0, 5).reshape(codes.shape)
    random = {
        "key": philox.words(4, codes.size, 0, 5).reshape(codes.shape) & 0xFF,
        "stream": philox.words(3, codes.size, 0, 6).reshape(codes.shape) & 0xFF,
        "row": np.roll(words, 1, axis=1) & 0xFF,
        "low bits": words >> 24,
        "transposed": words.T & 0xFF,
    }[change]
    found = quantize(tensor(codes, "fp32"), "ufp4_sr", key=3, stream=5)
    want = emu.quantize(codes, "ufp4_sr", source="fp32", random=words & 0xFF)
    other = emu.quantize(codes, "ufp4_sr", source="fp32", random=random)
    np.testing.assert_array_equal(bits(found.codes), want.codes)
    assert not np.array_equal(bits(found.codes), other.codes)
