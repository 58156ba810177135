"""Facts of datapaths that only results show, each with a result stated here: the NaN that comes out, and where C is dropped.

The spec states them once. Where the published simulators are not installed, nothing else would say that they were changed.
"""

from __future__ import annotations

import pytest

from emu.engines.exact.datapath import dot
from emu.spec import derive, get, names
from emu.spec.datapath import plans_of, resolve
from emu.spec.models.datapath import DatapathFacts

ALL_ONES_16 = {"hopper_fp16_f16", "hopper_fp8_f16", "blackwell_f8f6f4_f16"}  # D is fp16
CANONICAL = {"cdna3_fp8"}  # any NaN: the canonical one of D
OPEN = {"blackwell_e0m3"}
KNOWN = [name for name in names("datapath") if isinstance(get("datapath", name).facts, DatapathFacts) and name not in OPEN]


def nan_of(name: str) -> int:
    """The code of NaN: all ones but for the sign, as NVIDIA's units give and the proposals copy."""
    return 0x7FFF if name in ALL_ONES_16 else 0x7FC00000 if name in CANONICAL else 0x7FFFFFFF


@pytest.mark.parametrize("name", KNOWN)
def test_the_nan_that_comes_out(name: str) -> None:
    """NaN in C, of both signs and with any payload, in either operand, in either scale; infinite by zero; infinities of both signs."""
    plan = next(iter(plans_of(name)))
    k, blocks = max(plan.facts.k, plan.block), max(plan.facts.k, plan.block) // plan.block if plan.block else 0
    one = {"ue4m3": 0x38, "e8m0": 0x7F}.get("" if plan.scale is None else plan.scale.id, 0)
    scales = [[one] * blocks, [one] * blocks]
    inf = derive.codes(plan.d).inf
    assert inf is not None
    sign, asked = derive.codes(plan.d).sign_bit, 0
    for c in (inf + 1, sign | inf + 1, inf | inf >> 1, 2 * sign - 1):
        assert dot([0] * k, [0] * k, *scales, c, plan).code == nan_of(name), hex(c)
        asked += 1
    for side in (0, 1):
        rows = [[0] * k, [0] * k]
        for code in derive.codes((plan.a, plan.b)[side]).nan:
            rows[side][k - 1] = code
            assert dot(rows[0], rows[1], *scales, 0, plan).code == nan_of(name)
            asked += 1
        for code in derive.codes(plan.scale).nan if plan.scale is not None else ():
            given = [[one] * blocks, [one] * blocks]
            given[side][-1] = code
            assert dot([0] * k, [0] * k, *given, 0, plan).code == nan_of(name)
            asked += 1
    assert asked >= 4


@pytest.mark.parametrize(("name", "fmt"), [("hopper_fp16_f16", "fp16"), ("hopper_fp16", "bf16"), ("hopper_fp8_f16", "e5m2")])
def test_what_infinities_make_of_each_other(name: str, fmt: str) -> None:
    plan = resolve(name, fmt, fmt)
    inf = derive.codes(plan.a).inf
    assert inf is not None
    minus, one, k = derive.codes(plan.a).sign_bit, {"fp16": 0x3C00, "bf16": 0x3F80, "e5m2": 0x3C}[fmt], plan.facts.k
    largest = derive.codes(plan.d).inf
    assert largest is not None
    for a, b, c, wanted in (
        ([inf], [0], 0, nan_of(name)),
        ([inf, inf | minus], [one, one], 0, nan_of(name)),
        ([inf], [one], largest | derive.codes(plan.d).sign_bit, nan_of(name)),
        ([inf], [one], 0, largest),
        ([inf | minus], [one], 0, largest | derive.codes(plan.d).sign_bit),
    ):
        rows = [side + [0] * (k - len(side)) for side in (a, b)]
        assert dot(rows[0], rows[1], [], [], c, plan).code == wanted, (a, b, c)


@pytest.mark.parametrize(
    ("c", "wanted"),
    [(0xB3000000, 0x3F7FFFFF), (0xB37FFFFF, 0x3F7FFFFF), (0xB2FFFFFF, 0x3F800000), (0x337FFFFF, 0x3F800000), (0xB3800000, 0x3F7FFFFF)],
)
def test_c_stays_down_to_25_below_the_largest_exponent(c: int, wanted: int) -> None:
    """Beside a product of 1: what stays of a negative C of exponent -25 is one unit of 2^-24; of exponent -26 nothing is left."""
    plan = resolve("cdna3_fp8", "e4m3fnuz", "e4m3fnuz")
    one, rest = 0x40, [0] * (plan.facts.k - 1)
    assert dot([one, *rest], [one, *rest], [], [], c, plan).code == wanted
