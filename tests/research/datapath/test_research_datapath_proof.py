"""The product sum of one instruction: the loader's widths against an enumeration that shares nothing with it, rows, and the lost bit."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
import yaml

from emu.engines.exact.datapath import dot
from emu.spec import get
from emu.spec.datapath import resolve
from emu.spec.registry import shipped_root
from research.datapath import proof

STEP, GROUP = 64, 16


def facts(name: str) -> dict:
    """The facts of a format as they stand in its file."""
    return yaml.safe_load((shipped_root() / "format" / f"{name}.yaml").read_text(encoding="utf-8"))["facts"]


def values(name: str) -> list[tuple[Fraction, int]]:
    """Every finite value of a format with the exponent that its code names, from the file alone."""
    given = facts(name)
    if given["class"] == "integer":
        bits = given["bits"]
        codes = [code if given["signed"] == "sign_magnitude" else code - (code >> bits - 1 << bits) for code in range(1 << bits)]
        if given["signed"] == "sign_magnitude":
            codes = [(-1) ** (code >> bits - 1) * (code & (1 << bits - 1) - 1) for code in codes]
        return [(Fraction(code) * Fraction(2) ** given["unit_exp"], given["unit_exp"]) for code in codes]
    exp_bits, frac_bits, bias = given["exp_bits"], given["frac_bits"], given["bias"]
    nan = [int(code, 16) for code in given["nan"]] if given["nan"] != "none" else []
    found = []
    for sign, field, fraction in itertools.product(
        (1, -1) if given["signed"] == "yes" else (1,), range(1 << exp_bits), range(1 << frac_bits)
    ):
        if field << frac_bits | fraction in nan:
            continue
        exp = max(field, 1) - bias
        significand = Fraction(fraction, 1 << frac_bits) + (field > 0)
        found.append((sign * significand * Fraction(2) ** exp, exp))
    return found


def lsb_exp(numbers: set[Fraction]) -> int:
    """The largest power of two that divides all of them."""
    found = []
    for number in numbers - {Fraction(0)}:
        twos = (number.numerator & -number.numerator).bit_length() - 1
        found.append(twos - (number.denominator.bit_length() - 1))
    return min(found)


def enumerated(a: str, b: str) -> dict[str, int]:
    """Widths of one instruction from all pairs of element codes and all pairs of scale codes."""
    elements_a, elements_b, scales = values(a), values(b), values("ue4m3")
    products = {x * y for x, _ in elements_a for y, _ in elements_b}
    least = min(exp for _, exp in elements_a) + min(exp for _, exp in elements_b)  # the exponent of a group sum names no element's
    pairs = {(x * y, p + q) for x, p in scales for y, q in scales if x * y}
    group = max(map(abs, products)) * GROUP
    lsb = lsb_exp(products) + lsb_exp({scale for scale, _ in pairs})
    relative = max(group * scale / Fraction(2) ** (exp + least) for scale, exp in pairs)
    total = relative * (STEP // GROUP) + 2  # |C| < 2 * 2^(its exponent)
    top = max(exp for _, exp in pairs) + least
    largest = group * max(scale for scale, _ in pairs) / Fraction(2) ** lsb
    integer_bits = next(bits for bits in itertools.count() if total <= 1 << bits)
    return {
        "group_sum": int(group / Fraction(2) ** lsb_exp(products)),
        "lsb_exp": lsb,
        "largest_exp": top,
        "integer_bits": integer_bits,
        "frac_bits": top - lsb,
        "adder_bits": top - lsb + integer_bits + 1,
        "fixed_point_bits": int(largest * (STEP // GROUP)).bit_length() + 1,
        "largest_int64_k": ((1 << 63) - 1) // int(largest) * GROUP,
    }


@pytest.mark.parametrize(("a", "b"), proof.PAIRS)
def test_widths_from_the_spec_equal_an_enumeration(a: str, b: str) -> None:
    found, wanted = proof.facts_of(a, b), enumerated(a, b)
    assert {name: found[name] for name in wanted} == wanted


def test_the_uniform_grid_fits_the_reported_adder() -> None:
    """The claim, in its own numbers: 38 fraction and 10 integer bits and a sign are the 49 bits of the reported adder; E2M1 needs 50."""
    reported = resolve(proof.REPORTED)
    uniform, other = proof.facts_of("e1m2", "e1m2"), proof.facts_of("e2m1", "e2m1")
    assert (uniform["frac_bits"], uniform["integer_bits"], uniform["adder_bits"]) == (38, 10, 49)
    assert (reported.frac_bits, reported.integer_bits, reported.adder_bits) == (35, 13, 49)
    assert (other["frac_bits"], other["adder_bits"], other["reported_exact_up_to"]) == (36, 50, 15)
    assert (uniform["largest_int64_k"], uniform["fixed_point_bits"]) == (3577648, 49)


def test_largest_k_is_the_largest() -> None:
    """K products at the largest values fill int64, one block more does not."""
    for a, b in proof.PAIRS:
        found = proof.facts_of(a, b)
        largest = max(abs(x * y) for x, _ in values(a) for y, _ in values(b)) * GROUP * max(scale for scale, _ in values("ue4m3")) ** 2
        units = largest / Fraction(2) ** found["lsb_exp"]
        blocks = found["largest_int64_k"] // GROUP
        assert blocks * units <= (1 << 63) - 1 < (blocks + 1) * units


@pytest.mark.parametrize(("a", "b"), proof.PAIRS[:3])
def test_rows_are_exact_sums_cut_once(a: str, b: str) -> None:
    """nv_like_exact is the exact product sum rounded once toward zero, on every row; F = 35 is not where the table says so."""
    found = proof.row_counts(a, b, 256)
    assert found["uniform"]["nv_like_exact"] == found["cancelling"]["nv_like_exact"] == 0
    facts_of = proof.facts_of(a, b)
    always = facts_of["reported_exact_up_to"] == facts_of["largest_exp"]
    assert (found["cancelling"]["nv_like"] == 0) == always


def test_nv_like_exact_is_ideal_toward_zero() -> None:
    """For C = 0 the aligned adder with F exact equals one exact sum rounded toward zero, on rows of the whole scale range."""
    for pair in (("e1m2", "e1m2"), ("e2m1", "e1m2")):
        aligned = resolve("nv_like_exact", *pair, "ue4m3", 16)
        ideal = get("datapath", "ideal")
        cut = ideal.facts.model_copy(update={"round": ideal.facts.round.model_copy(update={"mode": "rz"})})
        exact = resolve(ideal.model_copy(update={"id": "ideal_rz", "facts": cut}), *pair, "ue4m3", 16)
        for rows in (proof.uniform_rows(aligned, 24), proof.cancelling_rows(aligned, 24)):
            for i in range(24):
                row = [part[i].tolist() for part in (rows.a, rows.b, rows.scale_a, rows.scale_b)]
                assert dot(*row, 0, aligned).code == dot(*row, 0, exact).code


def test_a_large_c_costs_product_bits() -> None:
    """The limit of the claim: C = 2^17 raises E above 16, and the finest product, 2^-22, is cut; with C = 2^16 it still counts."""
    plan = resolve("nv_like_exact", "e1m2", "e1m2", "ue4m3", 16)
    small, scales = [1] + [0] * 63, [1, 0, 0, 0]
    minus = {exp: int(np.array(-(2.0**exp), np.float32).view(np.uint32)) for exp in (16, 17)}
    kept, lost = (dot(small, small, scales, scales, minus[exp], plan).steps[0] for exp in (16, 17))
    assert (kept.exp, kept.aligned[0], lost.exp, lost.aligned[0]) == (16, 1, 17, 0)


def test_the_smallest_loss() -> None:
    """A row of three products loses a bit with F = 35 and none with F = 36; made smaller, two products are enough."""
    row = [[0] * STEP, [0] * STEP, [0x78, 1, 0, 0], [0x78, 1, 0, 0]]
    for k, x, y in ((0, 1, 1), (8, 1, 9), (16, 1, 1)):
        row[0][k], row[1][k] = x, y
    reported, wider = resolve(proof.REPORTED), resolve("nv_like_exact", "e2m1", "e2m1", "ue4m3", 16)
    codes = [dot(*row, 0, plan).code for plan in (reported, wider)]
    assert codes == [0, 0x35800000]  # 0 and 2^-20
    loss = proof.smaller(tuple(map(tuple, row)), reported, wider)
    assert sum(x * y > 0 for x, y in zip(loss.row[0], loss.row[1], strict=True)) == 2
    assert loss.code != loss.wider


def test_lost_sums_fall_with_the_width_and_end_where_the_loader_says() -> None:
    for a, b in proof.WIDTH_PAIRS:
        found = proof.width_counts(a, b, 64)
        lost = [row["lost"] for row in found]
        exact = resolve("nv_like_exact", a, b, proof.SCALE, proof.BLOCK).adder_bits
        assert lost == sorted(lost, reverse=True) and lost[0] > 0
        assert [row["adder_bits"] for row in found if not row["lost"]][-1] >= exact
        assert all(not row["lost"] for row in found if row["adder_bits"] >= exact)
