"""The sets are proven once more here, in fractions, from the spec's codes alone; full-range sums need the accumulator's last bit."""

from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

import numpy as np
import pytest

from emu.base.errors import OperandError, SpecError
from emu.check.matmul.default_sets import every_set
from emu.check.matmul.envelope import drawn
from emu.check.matmul.numbers import Draws, exact_of, in_units, product
from emu.check.matmul.pair import Pair, pair_of
from emu.check.matmul.question import comparable
from emu.check.matmul.run import Check
from emu.check.matmul.sets import Limits, _empty, limits_of
from emu.engines.exact.decode import decode_code
from emu.spec import derive, get
from emu.spec.models.format import FloatFacts

SHAPES = [(5, 4, 96), (3, 9, 160)]
PAIRS = (
    "nvfp4/nvfp4", "mxfp4/mxfp4", "nvfp4_1level/mxfp4", "nvint4/nvfp4", "nvufp4/nve0m3", "mxe1m2/mxfp4", "ufp4/ufp4",
    "nvfp4_te_2d_ref/nvfp4",
)  # fmt: skip
BITS = ("fp32", 14, pytest.param("fp16", marks=pytest.mark.exhaustive))


@lru_cache(None)
def fraction(code, fmt):
    value = decode_code(code, fmt)
    return Fraction(0) if value.is_zero else Fraction(value.signed)


@lru_cache(None)
def nominal(code, fmt):
    """The exponent of the field, of a subnormal that of the smallest normal number."""
    facts = fmt.facts
    magnitude = code & ~derive.codes(fmt).sign_bit
    if isinstance(facts, FloatFacts):
        field = magnitude >> facts.frac_bits
        return (field or (1 if facts.subnormals == "yes" else 0)) - facts.bias
    size = abs(fraction(code, fmt))
    return size.numerator.bit_length() - size.denominator.bit_length()  # a power of two


def terms(pair, asked, i, j):
    """(value, nominal exponent) of every term of an output that is not zero."""
    out = []
    for k in range(asked.a.shape[1]):
        value, exponent = Fraction(1), 0
        for side, codes, scales, row in ((pair.a, asked.a, asked.sa, i), (pair.b, asked.b, asked.sb, j)):
            code = int(codes[row, k])
            element = fraction(code, side.element)
            value *= element
            if element:
                exponent += nominal(code, side.element)
            if scales is not None:
                value *= fraction(int(scales[row, k // side.size]), side.scale)
                exponent += nominal(int(scales[row, k // side.size]), side.scale)
        if value:
            out.append((value, exponent))
    return out


@pytest.mark.cases(5)
@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("name", PAIRS)
def test_every_partial_sum_of_a_set_is_exact_in_fractions(name, bits):
    pair, limits = pair_of(f"matmul/{name}/fp32"), limits_of(bits, "exact", "fp32")
    sets = list(every_set(pair, SHAPES, limits, 3, []))
    assert {asked.name for asked in sets} >= {"one-hot rows of a", "signed, windows of a", "signed, windows of b"}
    for asked in sets:
        m, n, _ = asked.shape
        for i, j in {(0, 0), (m - 1, n - 1), (m // 2, n // 3)}:
            found = terms(pair, asked, i, j)
            unit = Fraction(2) ** int(asked.unit[i, j])
            assert sum(value for value, _ in found) == int(asked.sums[i, j]) * unit
            if not found:
                continue
            assert all((value / unit).denominator == 1 for value, _ in found)
            if not asked.name.startswith("one-hot"):
                assert sum(abs(value) for value, _ in found) < 2**limits.bits * unit
                assert Fraction(2) ** max(exponent for _, exponent in found) <= 2 ** (limits.bits - 1) * unit
            else:
                assert len(found) == 1 and abs(found[0][0] / unit) < 2**limits.bits
            assert Fraction(2) ** limits.least <= unit


@pytest.mark.parametrize("bits", [24, 20, 16, 14])
@pytest.mark.parametrize("name", ["nvfp4/nvfp4", "mxfp4/mxfp4", "nvint4/nvint4"])
def test_full_range_sums_are_odd_and_need_the_last_bit(name, bits):
    pair = pair_of(f"matmul/{name}/fp32")
    full = [asked for asked in every_set(pair, SHAPES, Limits(bits), 3, []) if asked.name == "full range"]
    assert full
    for asked in full:
        needy = (np.abs(asked.sums) >= 2 ** (bits - 1)) & (asked.sums % 2 == 1)
        assert int(needy.sum()) == asked.full > 0 and int(np.abs(asked.sums).max()) < 2**bits


def test_every_scale_code_and_element_code_is_in_some_set():
    pair = pair_of("matmul/nvfp4/nvfp4/fp32")
    scales, codes = {"a": set(), "b": set()}, {"a": set(), "b": set()}
    for asked in every_set(pair, [(33, 17, 160), (17, 33, 272)], Limits(), 1, []):
        for name, element, scale in (("a", asked.a, asked.sa), ("b", asked.b, asked.sb)):
            codes[name] |= set(element.ravel().tolist())
            live = (element != 0).reshape(*scale.shape, 16).any(axis=2)
            scales[name] |= set(scale[live].tolist())
    assert codes == {"a": set(range(16)), "b": set(range(16))}
    assert all(found >= set(range(1, 127)) for found in scales.values())


@pytest.mark.parametrize("name", ["mxfp4", "nvint4"])
def test_random_operands_have_every_element_code_small_ones_more_often(name):
    pair = pair_of(f"matmul/{name}/{name}/fp32")
    asked = drawn(pair, (24, 24, 2048), Limits(), Draws(1, "random"))
    for codes, side in ((asked.a, pair.a), (asked.b, pair.b)):
        size = np.abs([float(fraction(code, side.element)) for code in derive.finite_codes(side.element)])
        times = np.bincount(codes.ravel(), minlength=len(size))
        assert len(times) == len(size) and times.all()
        assert times[size < np.median(size)].sum() > 2 * times[size > np.median(size)].sum()


def exponents(asked, pair):
    """The least and the largest exponent of the scales of a and of b."""
    values = (exact_of(asked.sa, pair.a.scale).nominal, exact_of(asked.sb, pair.b.scale).nominal)
    return [(int(each.min()), int(each.max())) for each in values]


def centres(sets, pair):
    """About which power of two the windows of each signed set lie: the other side's scales lie about its reciprocal, as proven here."""
    found = {"a": [], "b": []}
    for asked in sets:
        if asked.name.startswith("signed"):
            mine, (low, high) = exponents(asked, pair)[:: 1 if asked.name.endswith("a") else -1]
            centre = next((centre for centre in (0, 50, -50, 100, -100) if -centre - 3 <= low <= high <= -centre + 3), None)
            assert centre is not None and centre - 30 <= mine[0] < mine[1] <= centre + 40
            found[asked.name[-1]].append(centre)
    return found


def bulks(sets, pair):
    """The side of each set of full sums whose scales are the large ones."""
    spans = [[high - low for low, high in exponents(asked, pair)] for asked in sets if asked.name == "full range"]
    return "".join("a" if a > b else "b" for a, b in spans)


def test_large_and_small_scales_are_in_sums_where_the_format_has_them():
    """E8M0 has 2^-127 to 2^127: shape after shape takes another part of them, and full sums of the other side."""
    pair = pair_of("matmul/mxfp4/mxfp4/fp32")
    sets = list(every_set(pair, [(5, 4, 96)] * 6, Limits(), 1, []))
    wanted = [0, 50, -50, 100, -100, 0]
    assert centres(sets, pair) == {"a": wanted, "b": wanted} and bulks(sets, pair) == "ababab"


class Several:
    """A target of several products that is never called."""

    name = "several"

    def __init__(self, *wants):
        self.wants = wants


def test_each_shape_of_experts_is_asked_with_two_parts_of_the_scales_and_full_sums_of_both_sides():
    pair = pair_of("matmul/mxfp4/mxfp4/fp32")
    shapes = [(3, 20, 7, 96), (2, 10, 5, 64), (2, 10, 5, 96)]
    check = Check(Several("a", "b", "offsets"), pair, Limits(), "any", shapes, 1, True)
    sets = list(check.sets(shapes, Limits(), []))
    assert list(dict.fromkeys(asked.shape for asked in sets)) == shapes
    wanted = [0, 50, 50, -50, -50, 100]
    assert centres(sets, pair) == {"a": wanted, "b": wanted} and bulks(sets, pair) == "abbaab"


def test_shape_after_shape_of_a_batch_is_asked_with_another_part_of_the_scales():
    pair = pair_of("matmul/mxfp4/mxfp4/fp32")
    shapes = [(3, 4, 7, 96), (2, 5, 3, 64), (2, 3, 5, 96)]
    sets = list(Check(Several("a", "b"), pair, Limits(), "any", shapes, 1, True, batched=True).sets(shapes, Limits(), []))
    assert centres(sets, pair) == {"a": [0, 50, -50], "b": [0, 50, -50]} and bulks(sets, pair) == "aba"


def test_operands_of_a_class_fit_it():
    for operands, fmt in (("bf16", "bf16"), ("fp16", "fp16"), ("fp8", "e4m3")):
        limits, facts = limits_of("fp32", operands, "fp32"), get("format", fmt).facts
        pair = pair_of("matmul/nvfp4/nvfp4/fp32")
        for asked in every_set(pair, [(5, 4, 96)], limits, 1, []):
            value = pair.a.values(asked.a, asked.sa)
            live = value.n != 0
            assert int(np.abs(value.n).max()) < 2 ** (facts.frac_bits + 1)
            assert int((value.e[live]).min()) >= 1 - facts.bias - facts.frac_bits


def test_the_key_changes_the_operands_and_nothing_else_does():
    pair = pair_of("matmul/nvfp4/nvfp4/fp32")
    one, again, other = ([asked.a.tobytes() for asked in every_set(pair, SHAPES, Limits(), key, [])] for key in (1, 1, 2))
    assert one == again and one != other


def test_a_codebook_is_added_with_its_short_codes_and_shows_all_in_one_hot_rows():
    """NF4: -1 is code 0, 0 is code 7, 1 is code 15, the others have up to 24 bits."""
    plain = pair_of("matmul/ufp4/ufp4/fp32")
    nf4, e2m1 = (replace(plain.a, element=get("format", name)) for name in ("nf4", "e2m1"))
    assert nf4.zero == 7 and e2m1.zero == 0
    for other in (nf4, e2m1):
        pair = Pair("matmul/nf4", nf4, other, plain.out)
        for asked in every_set(pair, SHAPES, Limits(), 1, []):
            codes = set(asked.a.ravel().tolist())
            if "long" in asked.wide:
                assert codes <= {0, 7, 15}
                continue
            assert (
                codes == set(range(16)) if asked.name == "one-hot rows of a" else codes <= {0, 7, 15} or asked.name == "one-hot rows of b"
            )
            for i in (0, len(asked.a) - 1):
                total = sum(value for value, _ in terms(pair, asked, i, 1))
                assert total == int(asked.sums[i, 1]) * Fraction(2) ** int(asked.unit[i, 1])
        assert "one-hot rows of a" in {asked.name for asked in every_set(pair, SHAPES, Limits(), 1, [])}


def test_blocks_are_made_zero_where_a_row_has_three_or_more():
    side = pair_of("matmul/nvfp4/nvfp4/fp32").a
    for blocks, some in ((1, False), (2, False), (3, True), (4, True)):
        codes = np.full((60, blocks * side.size), 1, np.uint8)
        _empty(codes, side, Draws(1, "empty"))
        gone = (codes == side.zero).reshape(60, blocks, -1)
        assert (gone.all(axis=2) == gone.any(axis=2)).all()  # whole blocks
        assert (5 * gone.size // 90 < gone.sum() < 18 * gone.size // 90) if some else not gone.any()


def test_integers_that_would_not_fit_are_refused():
    wide = np.array([[1 << 31, 1]], np.int64)
    with pytest.raises(OperandError, match="62 bits"):
        product(wide, wide)
    value = exact_of(np.array([[0x00800000, 0x7F000000]]), get("format", "fp32"))
    with pytest.raises(OperandError, match="too many powers of two"):
        in_units(value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("matmul/nvfp4/nvfp4", "write matmul/<a>/<b>/<out>"),
        ("matmul/nvfp4/nvfp4/fp64", "one of fp32, bf16, fp16"),
        ("matmul/hif4/nvfp4/fp32", "level8"),
        ("matmul/if4/nvfp4/fp32", "flag"),
        ("matmul/nonsense/nvfp4/fp32", "nonsense"),
    ],
)
def test_what_has_no_operands_of_this_kind_is_refused_in_one_line(text, words):
    with pytest.raises(SpecError, match=words) as caught:
        pair_of(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("words", [("fp64", "exact"), ("3", "exact"), (25, "exact"), ("fp32", "fp4")])
def test_an_unknown_accumulator_or_class_is_refused(words):
    with pytest.raises(OperandError):
        limits_of(words[0], words[1], "fp32")


def test_long_binary32_scales_are_in_one_hot_rows():
    pair = pair_of("matmul/ufp4/nvfp4/fp32")
    long = [asked for asked in every_set(pair, SHAPES, Limits(), 1, []) if "long" in asked.wide]
    assert [asked.name for asked in long] == ["one-hot rows of a"]
    value = exact_of(long[0].sa, get("format", "fp32"))
    assert int((value.n >= 1 << 14).sum()) > value.n.size // 3


@pytest.mark.parametrize("out", ["fp32", "bf16", "fp16"])
def test_only_zeros_and_normal_numbers_of_the_result_are_comparable(out: str) -> None:
    fmt = get("format", out)
    codes = derive.codes(fmt)
    normal = 1 << fmt.facts.frac_bits
    values = [float(decode_code(code, fmt).signed) for code in (0, 1, normal - 1, normal, codes.max_code)]
    beyond = [values[-1] * (1 + 2.0**-30), float("inf"), float("nan")]
    for sign in (1, -1):
        found = comparable(sign * np.array([*values, *beyond]), fmt)
        assert found.tolist() == [True, False, False, True, True, False, False, False]
