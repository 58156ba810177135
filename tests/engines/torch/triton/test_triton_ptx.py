"""The PTX of the kernels: no approximate division or function, nothing fused, nothing flushed. Compiled, not run: no GPU is needed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

EVERY_KERNEL = [
    "transform/rht16_ufp4",
    "transform/rht16_te",
    "amax",
    "quantize/nvfp4_te_ref",
    "quantize/ufp4_sr",
    "quantize/mxfp4_torchao_even",
    "row_and_column/ufp4",
]
CAUGHT = {
    "slash": "approximate division",
    "reciprocal": "approximate division",
    "sum of a product": "a product and a sum rounded once",
    "exponential": "approximate function",
    "logarithm": "a product and a sum rounded once",
    "root": "approximate function",
    "bf16 by instruction": "a conversion instruction instead of integers",
    "fp8 by instruction": "a conversion instruction instead of integers",
}


def compiled(*words: str) -> dict[str, dict[str, str]]:
    """What a process that compiles prints; this one may interpret."""
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.mark.parametrize("capability", [pytest.param("90"), pytest.param("100", marks=pytest.mark.exhaustive)])
def test_every_kernel_rounds_each_operation_once(torch: Any, capability: str) -> None:
    assert compiled("-m", "emu.engines.torch.triton.ptx", capability, *EVERY_KERNEL) == {name: {} for name in EVERY_KERNEL}


def test_launches_bind_and_compile_as_they_would_for_a_gpu(torch: Any) -> None:
    """The types of arguments and constants that a launch finds, not those that the other tests name."""
    names = ["transform/rht16_ufp4", "amax", "quantize/nvfp4_te_ref", "row_and_column/ufp4_sr"]
    assert compiled(str(Path(__file__).with_name("bound.py")), *names) == {name: {} for name in names}


@pytest.mark.exhaustive
def test_every_recipe_and_rotation(torch: Any) -> None:
    found = compiled("-m", "emu.engines.torch.triton.ptx", "90")
    assert len(found) > 35 and not any(found.values()), found


def test_faulty_kernels_are_caught(torch: Any) -> None:
    found = compiled(str(Path(__file__).with_name("faulty.py")), "90")
    assert found.pop("right") == found.pop("the same without fusion") == {}
    assert {name: set(what.values()) for name, what in found.items()} == {name: {what} for name, what in CAUGHT.items()}


@pytest.mark.parametrize(
    ("line", "caught"),
    [
        ("\tdiv.full.f32 \t%r1, %r2, %r3;", True),
        ("\t@%p1 rcp.approx.ftz.f32 \t%r1, %r2;", True),
        ("\tadd.rn.ftz.f32 \t%r1, %r2, %r3;", True),
        ("\tfma.rn.f32 \t%r1, %r2, %r3, %r4;", True),
        ("\tfma.rn.bf16x2 \t%r1, %r2, %r3, %r4;", True),
        ("\tcvt.rn.satfinite.e2m1x2.f32 \t%r1, %r2, %r3;", True),
        ("\tdiv.rn.f32 \t%r1, %r2, %r3;", False),
        ("\tmad.lo.s32 \t%r1, %r2, %r3, %r4;", False),
        ("\tcvt.rn.f32.f64 \t%r1, %rd2;", False),
        ("\tcvt.f32.bf16 \t%r1, %rs2;", False),
        ("\t// div.full.f32 in a comment", False),
    ],
)
def test_single_instructions(torch: Any, line: str, caught: bool) -> None:
    from emu.engines.torch.triton.ptx import findings

    assert bool(findings(line)) == caught


def test_what_is_allowed_has_a_reason(torch: Any) -> None:
    from emu.engines.torch.triton.ptx import ALLOWED

    assert all(len(reason) > 20 for reason in ALLOWED.values())


@pytest.mark.gpu
def test_a_compiled_launch_is_what_was_read(torch: Any, device: str) -> None:
    """On a GPU: the launch itself keeps fusion off, so the text above is that of what runs."""
    if device == "cpu":
        pytest.skip("no CUDA device")
    from emu.engines.torch.triton.ptx import findings
    from emu.engines.torch.triton.transform import transform, transform_kernel

    transform(torch.ones((16, 32), device=device), "rht16_ufp4")
    caches = [entry for entry in transform_kernel.device_caches.values() for entry in entry[0].values()]
    assert caches and not any(findings(entry.asm["ptx"]) for entry in caches)
