"""Rows of datapaths of levels in which a rule shows that drawn rows meet too seldom: facts that differ from those of HAND, a row, D."""

from __future__ import annotations

from typing import Any

from support.level_samples import Row

from emu.spec.levels import LevelsPlan, level_plans_of
from emu.spec.models import Datapath
from emu.spec.models.levels import DatapathLevels
from emu.spec.registry import get

HAND: dict[str, Any] = {
    "a": ("bf16",), "b": ("bf16",), "c": "none", "k": 1, "out": {"format": "bf16", "rounding": "rz"},
    "special": {"when": "per_add", "nan": "0x7FC0", "zero": "ieee"},
}  # fmt: skip
ONE = 0x3F80
FP32 = {"format": "fp32", "rounding": "rne", "overflow": "ieee"}
CHAIN: dict[str, Any] = {"id": "k", "of": "all", "add": "chain", "start": "c", "hold": FP32}
BY_HAND: dict[str, tuple[dict[str, Any], Row, int]] = {
    "a sum that cancels is -0 where the rounding goes down": (
        {"levels": ({"id": "k", "of": "all", "add": "exact", "hold": {"format": "bf16", "rounding": "rd"}},)},
        Row([ONE, ONE | 0x8000], [ONE, ONE], [], [], None, []),
        0x8000,
    ),
    "a product that is zero does not raise E": (
        {"levels": ({"id": "k", "of": "all", "add": "aligned", "align": {"fraction_bits": 13, "cut": "rz"}},)},
        Row([0, 0x2180], [0x7B80, 0x2180], [], [], None, []),  # 0 * 2^120 + 2^-60 * 2^-60
        0x0380,
    ),
    "words of a tree follow the last product of each sum": (
        {"levels": ({"id": "k", "of": "all", "add": "pairwise", "hold": {"format": "bf16", "rounding": "sr_add8"}},)},
        Row([ONE, 0x3B80, 0x4000, 0x3C00], [ONE] * 4, [], [], None, [0, 128, 0]),  # 1 + 2^-8 stays 1, 2 + 2^-7 goes up to 2 + 2^-6
        0x4041,
    ),
    "a register that saturates symmetrically never holds its lowest code": (
        {"levels": (CHAIN | {"start": "zero", "hold": {"bits": 8, "unit_exp": 0, "rounding": "rz", "overflow": "saturate_symmetric"}},)},
        Row([0xC2C8, 0xC1E0], [ONE] * 2, [], [], None, []),  # -100 - 28
        0xC2FE,
    ),
    "an adder has room for the whole of an integer C": (
        {"c": "int8", "levels": ({"id": "k", "of": "all", "add": "aligned", "plus": "c",
                                  "align": {"fraction_bits": 2, "cut": "rz", "beyond": "wrap"}},)},
        Row([ONE], [ONE], [], [], 100, []),
        0x42CA,
    ),
    "a policy gives no -0 where zeros have no sign": (
        {
            "levels": ({"id": "k", "of": "all", "add": "exact"},),
            "out": {"format": "e4m3", "rounding": "rne", "policy": "ocp_saturate"},
            "special": {"when": "per_add", "nan": "policy", "zero": "plus"},
        },
        Row([0x8080], [ONE], [], [], None, []),
        0,
    ),
    "a block above another level": (
        {
            "a": ("e2m1",), "b": ("e2m1",), "k": 4, "scale": {"formats": ("ue4m3",), "blocks": (4,)},
            "levels": ({"id": "two", "of": 2, "add": "exact"}, {"id": "blk", "of": "block", "add": "exact", "scale": {}},
                       {"id": "k", "of": "all", "add": "exact"}),
        },
        Row([2] * 8, [2] * 8, [0x38, 0x48], [0x38, 0x38], None, []),
        0x41A0,  # 4 + 4 * 2^2
    ),
    "a running value that is too small is dropped": (
        {"c": "fp32", "levels": (CHAIN | {"align": {"fraction_bits": 13, "cut": "rz", "integer_bits": "none",
                                                    "running": {"fraction_bits": 9, "cut": "rz", "drop_below": 2}}},)},
        Row([ONE], [ONE], [], [], 0x3E000000, []),  # 1/8 is 3 below
        ONE,
    ),
    "each addition to what C started is a scope of its own": (
        {"c": "fp32", "levels": (CHAIN,), "special": {"when": "once", "nan": "0x7FC0"}},
        Row([0x7F40, 0x7F40, 0xFF80], [ONE] * 3, [], [], 0, []),
        0x7FC0,
    ),
    "the largest subnormal running value is flushed": (
        {"c": "fp32", "levels": (CHAIN,), "subnormal": {"c": "flush"}},
        Row([0x0040, 0], [ONE, 0], [], [], 0, []),  # 2^-127
        0,
    ),
    "a sum that cancels raises E all the same": (
        {"k": 4, "levels": ({"id": "two", "of": 2, "add": "exact", "exponent": "largest"},
                            {"id": "k", "of": "all", "add": "aligned", "align": {"fraction_bits": 2, "cut": "rz"}})},
        Row([0x4380, 0xC380, ONE, 0], [ONE] * 4, [], [], None, []),  # 256 - 256 and 1
        0,
    ),
    "a sum that is cut to zero is +0": (
        {"k": 2, "levels": ({"id": "k", "of": "all", "add": "exact", "hold": {"fraction_bits": 0, "rounding": "rz"}},)},
        Row([0xBE80, 0], [ONE, 0], [], [], None, []),  # -1/4
        0,
    ),
}  # fmt: skip


def by_hand(what: str) -> tuple[LevelsPlan, Row, int]:
    """Return the plan of a row, the row, and the code that it gives."""
    facts, row, code = BY_HAND[what]
    base: Datapath = get("datapath", "bf16_register")
    model = base.model_copy(update={"facts": DatapathLevels.model_validate(HAND | facts), "id": "by_hand"})
    return next(level_plans_of(model)), row, code
