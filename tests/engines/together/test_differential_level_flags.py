"""Exception flags of datapaths of levels: every engine that has them against the reference model, on drawn datapaths and rows."""

from __future__ import annotations

import numpy as np
import pytest
from support.level_flags import compare
from support.whole import tries

import emu
from emu.base.errors import OperandError
from emu.engines.c_ref import levels as c_ref
from emu.engines.numpy import levels as in_numpy
from emu.spec.levels import level_plans_of
from emu.spec.models.levels import DatapathLevels

ENGINES = {"c_ref": c_ref, "numpy": in_numpy}  # native: engines/native/test_native_level_flags.py


def test_drawn_datapaths_with_flags() -> None:
    seen = compare(ENGINES, range(60), 4)
    assert all(seen[name, flags] for name in ENGINES for flags in (0, 1, 2, 3)), seen


@pytest.mark.exhaustive
def test_more_drawn_datapaths_with_flags() -> None:
    seen = compare(ENGINES, range(1000, tries(1100, 1400)), 8)
    assert all(seen[name, flags] > tries(12, 50) for name in ENGINES for flags in (0, 1, 2, 3)), seen


def test_the_public_function_returns_flags() -> None:
    """2^64 * 2^64 overflows, infinity * 0 is invalid; a third row raises nothing."""
    a = np.array([[0x5F80, 0, 0, 0], [0x7F80, 0, 0, 0], [0x3F80, 0, 0, 0]])
    b = np.array([[0x5F80, 0, 0, 0], [0, 0, 0, 0], [0x3F80, 0, 0, 0]])
    for engine in ("auto", "exact", "numpy", "c_ref", "native"):
        codes, flags = emu.dot(a, b, "rvbna4_flags", flags=True, engine=engine)
        assert (codes.tolist(), flags.tolist()) == ([0x7F800000, 0x7FC00000, 0x3F800000], [2, 1, 0])
    codes, stages, flags = emu.dot(a, b, "rvbna4_flags", flags=True, stages=True)
    assert (len(stages), flags.dtype, flags.tolist()) == (3, np.uint8, [2, 1, 0])
    assert emu.dot(a, b, "rvbna4_flags").tolist() == codes.tolist()


def test_a_signalling_c_that_joins_the_finished_sum_is_invalid() -> None:
    """A quiet one is not; nor is one that nothing else makes NaN."""
    hold = {"format": "fp32", "rounding": "rne", "overflow": "ieee"}
    facts = {
        "a": ("bf16",), "b": ("bf16",), "c": "fp32", "k": 1,
        "levels": ({"id": "k", "of": "all", "add": "chain", "start": "zero", "hold": hold},),
        "out": hold | {"plus": "c"}, "special": {"when": "per_add", "nan": "0x7FC00000", "zero": "ieee"},
        "flags": {"report": ("NV", "OF"), "signalling": ("fp32",)},
    }  # fmt: skip
    base = emu.spec.get("datapath", "rvbna4_flags")
    (plan,) = level_plans_of(base.model_copy(update={"id": "own", "facts": DatapathLevels.model_validate(facts)}))
    one = np.full((3, 2), 0x3F80, np.uint16)
    for engine in ENGINES.values():
        raised = np.full(3, 255, np.uint8)
        codes = engine.dot(one, one, None, None, np.array([0x7F800001, 0x7FC00000, 0x3F800000], np.uint32), None, plan, flags=raised)
        assert (codes.tolist(), raised.tolist()) == ([0x7FC00000, 0x7FC00000, 0x40400000], [1, 0, 0])


def test_who_has_no_flags_says_so() -> None:
    for name, k in (("rvbna4", 4), ("blackwell_f8f6f4", 32)):
        formats = {} if name == "rvbna4" else {"a_format": "e4m3", "b_format": "e4m3"}
        with pytest.raises(OperandError, match=rf"^flags: datapath {name} reports none: leave flags out$"):
            emu.dot([2] * k, [2] * k, name, flags=True, **formats)
