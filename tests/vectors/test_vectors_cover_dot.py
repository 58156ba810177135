"""Coverage of dot products and chains: hand-checked distances, proofs that no row refutes, directed rows that reach what can be reached."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest

from emu.base.errors import EngineError
from emu.contracts.dot.cover import DotCover
from emu.contracts.dot.cover_operand import multiplied, profile_of
from emu.contracts.dot.cover_proof import Proofs
from emu.contracts.dot.suite import random
from emu.vectors import find
from emu.vectors.coverage.count import crosses_of, subject_of
from emu.vectors.coverage.model import Cross

MAIN = "dot__e2m1xe2m1_ue4m3_to_fp32__blackwell_mxf4nvf4_b16_ue4m3__directed"
FAR = {("29", "term", "cut"), ("30", "term", "cut")}  # known holes: they need all products and both scales at their largest
E2M1 = [Fraction(n, 2) for n in (0, 1, 2, 3, 4, 6, 8, 12)]
OTHERS = (
    "dot__e4m3xe4m3_to_fp32__hopper_fp8__directed",
    "dot__e2m1xe2m1_e8m0_to_fp32__blackwell_mxf4_b32_ue8m0__directed",
    "dot__e1m2xe1m2_ue4m3_to_fp32__nv_like_b16__directed",
    "dot__e1m2xe1m2_ue4m3_to_fp32__int64_b16__directed",
    "dot__e1m2xe1m2_fp32_to_fp32__promote_b16__directed",
    "dot__e4m3fnuzxe4m3fnuz_to_fp32__cdna3_fp8__directed",
)


def crosses(stem: str, rows: Sequence[tuple[int, ...]]) -> dict[str, Cross]:
    return {cross.name: cross for cross in crosses_of(stem, list(enumerate(rows, 1)))}


@pytest.fixture(scope="module")
def directed() -> dict[str, Cross]:
    """The directed rows of the main datapath."""
    plan = find(MAIN)
    return crosses(MAIN, [case.values for case in plan.cases(0, plan.size)])


@pytest.mark.exhaustive
def test_directed_rows_reach_all_that_is_not_proved_out_of_reach(directed: dict[str, Cross]) -> None:
    assert {name: set(cross.holes()) for name, cross in directed.items()} == {name: FAR if name == "shift" else set() for name in directed}
    assert set(directed) == {"live", "exponent", "shift", "cancel", "normalise", "rounding", "result", "special"}
    assert {name: cross.size for name, cross in directed.items()} == {
        "live": 32, "exponent": 256, "shift": 2 * 38 * 4, "cancel": 40, "normalise": 98, "rounding": 80, "result": 16, "special": 16,
    }  # fmt: skip


def one_product(code: int, c: int) -> tuple[int, ...]:
    """Inputs of one product code x 1 in lane 0 under scales of 1, and C."""
    return (code, 0x38383838, 2, 0x38383838, c)


def test_distances_of_one_product_and_c_are_those_of_their_exponents() -> None:
    """E of a group is that of its scales, 2^0; C is 2^n with a fraction of all ones."""
    rows = [one_product(code, (127 + exp) << 23 | 0x7FFFFF) for code in (1, 7) for exp in (-40, -37, -13, -12, -1, 0, 1, 30, 36, 37)]
    found = set(crosses(MAIN, rows)["shift"].hits)
    wanted = set()
    for value in (E2M1[1], E2M1[7]):
        for exp in (-40, -37, -13, -12, -1, 0, 1, 30, 36, 37):
            top, c = max(exp, 0), (2 - Fraction(1, 1 << 23)) * Fraction(2) ** exp
            unit = Fraction(2) ** (top - 35)
            for name, number, distance in (("term", value, top), ("c", c, top - exp)):
                kept = "exact" if number % unit == 0 else "cut" if number >= unit else "gone"
                wanted.add((f"{distance}" if distance < 37 else "37_up", name, kept))
    assert found == wanted and len(found) == 12


def test_leading_bits_of_sums_are_counted_from_e() -> None:
    rows = [one_product(2, c) for c in (0, 0x3F800000, 0x40400000, 0xBF7FFFFF, 0xBF800000, 0xC0000000)]
    found = crosses(MAIN, rows)["normalise"]
    assert {" ".join(one): hit.first for one, hit in found.hits.items()} == {
        "0 plus": (1,), "1 plus": (2, 3), "-24 plus": (4,), "zero plus": (5,), "-1 minus": (6,),
    }  # fmt: skip


# Bins that no row hits and no proof excludes yet: pairs of special operands of promoted sums, signs of a NaN, lost results.
UNPROVEN: dict[str, tuple[int, list[tuple[str, str]]]] = {
    "promote_b16": (19, [("vanished", "plus"), ("vanished", "minus")]),
    "cdna3_fp8": (0, [("nan", "minus")]),
}


@pytest.mark.cases(2)
@pytest.mark.parametrize("stem", [MAIN, *OTHERS])
def test_no_random_row_refutes_a_proof(stem: str) -> None:
    op: Any = find(stem).operation
    start = 60
    found = crosses(stem, [case.values for case in random(op, stem.replace("directed", "random"), start, start + 60)])
    assert sum(len(cross.hits) for cross in found.values()) > 12
    assert all(len(cross.hits) + len(cross.unreachable) + len(cross.holes()) == cross.size for cross in found.values())


@pytest.mark.exhaustive
@pytest.mark.parametrize("stem", OTHERS)
def test_directed_rows_of_other_datapaths(stem: str) -> None:
    plan = find(stem)
    found = crosses(stem, [case.values for case in plan.cases(0, plan.size)])
    special, result = UNPROVEN.get(stem.split("__")[2], (0, []))
    for name, cross in found.items():
        assert 10 * len(cross.holes()) < 2 * cross.size or (name == "special" and special)
    assert len(found["special"].holes()) == special and found["result"].holes() == result


def test_a_wrong_proof_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Proofs, "shift", lambda self, one: ("enumeration", "wrong") if one == ("1", "c", "exact") else None)
    with pytest.raises(EngineError, match="shift: 1 c exact: test case 2 reaches it, and it is said that nothing does: wrong"):
        crosses(MAIN, [one_product(2, 0), one_product(2, 0x3F000000)])


def test_profiles_know_every_product() -> None:
    first, second = [1, 6, 12, 5], [3, 4, 10]
    products = [x * y for x in first for y in second]
    found = multiplied(profile_of(first), profile_of(second))
    assert found == profile_of(products)
    assert found == {0: (3, 15), 1: (10, 50), 2: (4, 60), 3: (24, 120), 4: (48, 48)}


def test_group_sums_are_those_of_an_own_enumeration() -> None:
    subject = subject_of(find(MAIN).operation)
    assert isinstance(subject, DotCover)
    values = {int(sign * 2 * value) for value in E2M1 for sign in (1, -1)}
    sums = {0}
    for _ in range(16):
        sums = {total + x * y for total in sums for x in values for y in values}
    assert subject.proofs.group_sums == profile_of(sorted(sums))


def test_specials_are_pairs_of_kinds() -> None:
    nan, one, zero = 0x3838387F, 0x38383838, 0
    rows = [
        (2, nan, 2, one, 0x7FC00000),
        (zero, nan, 2, one, 0xFF800000),
        (2, nan, 2, 0x38387F38, 0x7F800000),
        (2, one, 2, one, 0x7F800000),
    ]
    found = crosses(MAIN, rows)["special"]
    assert {one[0]: hit.first for one, hit in found.hits.items()} == {
        "c_plus_inf": (4,), "nan_scale+nan_c": (1,), "nan_scale_zero_block+c_minus_inf": (2,), "several": (3,),
    }  # fmt: skip


def test_rows_of_a_chain_know_their_place() -> None:
    stem = "accumulate__e2m1xe2m1_ue4m3_to_fp32__blackwell_mxf4nvf4_b16_ue4m3__smoke"
    plan = find(stem)
    found = crosses(stem, [case.values for case in plan.cases(0, plan.size)])["chain"]
    assert sum(hit.rows for hit in found.hits.values()) == plan.size
    assert {one[1]: hit.rows for one, hit in found.hits.items() if one[1] != "middle"} == {"first": 1, "last": 1}
