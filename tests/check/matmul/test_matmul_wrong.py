"""Wrong products fail, each of them, under keys that were not used to build the sets; and what is wrong is said."""

from functools import partial

import numpy as np
import pytest

import emu
from emu.testing import check_matmul

SHAPES = [(48, 7, 48), (7, 24, 96), (5, 9, 160)]


def parts(q):
    """(codes, scales, multiplier of the tensor) of an operand of blocks of 16."""
    multiplier = q.levels[0].codes.view(np.float32) / np.float32(2688) if len(q.levels) > 1 else np.float32(1)
    return q.codes.copy(), q.scales.copy(), multiplier


def value(codes, scales, fmt="e2m1"):
    return emu.decode(codes, fmt).astype(np.float64) * np.repeat(emu.decode(scales, "ue4m3"), 16, axis=1)[:, : codes.shape[1]]


def gemm(a, b, change_a=None, change_b=None, after=None):
    """A right product, but for a change of codes and scales, and of the sums."""
    (x, sx, ta), (y, sy, tb) = parts(a), parts(b)
    x, sx = change_a(x, sx) if change_a else (x, sx)
    y, sy = change_b(y, sy) if change_b else (y, sy)
    found = value(x, sx) @ value(y, sy).T
    found = after(found) if after else found
    return (found.astype(np.float32) * np.float32(ta)) * np.float32(tb)


def halves(codes):
    return codes.reshape(len(codes), -1, 2)[:, :, ::-1].reshape(codes.shape)


def at(codes, where, new):
    """Codes with some places changed, where the array has them."""
    out = codes.copy()
    try:
        out[where] = new
    except (IndexError, ValueError):
        pass
    return out


def copied(scales, to, source):
    """Scales with one block's taken from another, where there are so many."""
    return at(scales, np.s_[:, to], scales[:, source]) if scales.shape[1] > max(to, source) else scales


def on_a(change):
    return lambda a, b: gemm(a, b, change_a=change)


def on_b(change):
    return lambda a, b: gemm(a, b, change_b=change)


def after(change):
    return lambda a, b: gemm(a, b, after=change)


def short(a, b, last):
    x, y = value(*parts(a)[:2]), value(*parts(b)[:2])
    return ((x[:, :last] @ y[:, :last].T).astype(np.float32) * parts(a)[2]) * parts(b)[2]


def scaled(power_a, power_b):
    def kernel(a, b):
        (x, sx, ta), (y, sy, tb) = parts(a), parts(b)
        return (value(x, sx) @ value(y, sy).T).astype(np.float32) * np.float32(ta) ** power_a * np.float32(tb) ** power_b

    return kernel


def exact_rows(found, row, new):
    found[row] = new
    return found


def plain_mantissa(codes, scales):
    return codes, scales & 0x78


def unsigned(codes, scales):
    return codes & 7, scales


def rounded(name, which="ab"):
    """The values of some operands are rounded to another format."""

    def kernel(a, b):
        (x, sx, ta), (y, sy, tb) = parts(a), parts(b)
        found = {"a": value(x, sx), "b": value(y, sy)}
        found |= {side: emu.decode(emu.convert(found[side].astype(np.float32), name), name).astype(np.float64) for side in which}
        return ((found["a"] @ found["b"].T).astype(np.float32) * ta) * tb

    return kernel


def scales_of(other, codes, scales):
    """Codes under scales of another operand, its rows in turn."""
    return codes, other[np.arange(len(codes)) % len(other)]


def cut_accumulator(bits):
    """A running sum of so many bits, one product after the other, rounded to nearest."""

    def kernel(a, b):
        (x, sx, ta), (y, sy, tb) = parts(a), parts(b)
        x, y = value(x, sx), value(y, sy)
        total = np.zeros((len(x), len(y)))
        for k in range(x.shape[1]):
            total = total + x[:, k, None] * y[None, :, k]
            fraction, exponent = np.frexp(total)
            total = np.ldexp(np.rint(np.ldexp(fraction, bits)), exponent - bits)
        return (total.astype(np.float32) * ta) * tb

    return kernel


WRONG = {
    "halves of a": (on_a(lambda c, s: (halves(c), s)), "a or b: the two halves of each byte"),
    "halves of b": (on_b(lambda c, s: (halves(c), s)), "a or b: the two halves of each byte"),
    "scales of a shifted": (on_a(lambda c, s: (c, np.roll(s, 1, 1))), "a: scales shifted by 1 blocks"),
    "scales of b shifted": (on_b(lambda c, s: (c, np.roll(s, -1, 1))), "b: scales shifted by -1 blocks"),
    "scales of the next row": (on_b(lambda c, s: (c, np.roll(s, -1, 0))), "b: scales shifted by -1 rows"),
    "scales reversed": (on_a(lambda c, s: (c, s[:, ::-1])), "a: scales are reversed"),
    "scales transposed": (on_a(lambda c, s: (c, np.ascontiguousarray(s.T).reshape(s.shape))), "a: scales are transposed"),
    "scales by column": (on_b(lambda c, s: (c, s.reshape(s.shape[::-1]).T)), "b: scales lie column after column"),
    "scales ignored": (on_a(lambda c, s: (c, np.full_like(s, 0x38))), "a: scales are ignored"),
    "first scale for the row": (on_b(lambda c, s: (c, np.repeat(s[:, :1], s.shape[1], 1))), "b: the scale of the first block"),
    "blocks of 32": (on_a(lambda c, s: (c, s[:, np.arange(s.shape[1]) // 2 * 2])), "a: two blocks share"),
    "scale of the other operand": (
        lambda a, b: gemm(a, b, change_a=partial(scales_of, b.scales)),
        "a: scales of the other operand",
    ),
    "mantissas of scales": (on_a(plain_mantissa), "a: the fraction field of scales is cleared"),
    "both mantissas": (lambda a, b: gemm(a, b, plain_mantissa, plain_mantissa), "both operands: the fraction field of scales is cleared"),
    "subnormal scales flushed": (on_a(lambda c, s: (c, np.where(s < 8, 0, s).astype(np.uint8))), "a: subnormal scales"),
    "signs ignored": (on_b(unsigned), "b: signs of elements"),
    "elements reversed": (on_a(lambda c, s: (c[:, ::-1], s)), "a: the elements of a row are reversed"),
    "shifted by an element": (on_a(lambda c, s: (np.roll(c, 1, 1), s)), "a: codes shifted by 1 along K"),
    "another row": (on_b(lambda c, s: (np.roll(c, 1, 0), s)), "b: codes of the previous row"),
    "another element format": (
        lambda a, b: ((value(*parts(a)[:2], "int4") @ value(*parts(b)[:2]).T).astype(np.float32) * parts(a)[2]) * parts(b)[2],
        "a: elements read as int4",
    ),
    "one element dropped": (on_a(lambda c, s: (at(c, np.s_[:, 37], 0), s)), "the element at k is missing"),
    "last element dropped": (lambda a, b: short(a, b, -1), "the last 1 elements"),
    "last tile dropped": (lambda a, b: short(a, b, -16), "the last 16 elements"),
    "K cut to 32": (lambda a, b: short(a, b, a.shape[1] // 32 * 32), "missing"),
    "a block dropped": (on_b(lambda c, s: (at(c, np.s_[:, 16:32], 0), s)), "a block along K is missing"),
    "a block twice": (
        lambda a, b: gemm(a, b) + gemm(a, b, change_a=lambda c, s: (at(c, np.s_[:, 16:], 0), s)),
        "a block along K enters twice",
    ),
    "a stale block": (on_a(lambda c, s: (at(c, np.s_[:, 32:48], c[:, 16:32]), copied(s, 2, 1))), "a: a block along K is stale"),
    "a stale scale": (on_a(lambda c, s: (c, copied(s, 2, 1))), "a: one block has the scale of its neighbour"),
    "an element of one row": (on_a(lambda c, s: (at(c, np.s_[2, 17], 0), s)), "the element at k is missing"),
    "a masked row": (after(lambda found: exact_rows(found, -1, 0)), "left zero"),
    "a row of another": (after(lambda found: exact_rows(found, 3, found[1])), "a row of the result"),
    "negated": (after(lambda found: -found), "negated"),
    "transposed in memory": (after(lambda found: np.ascontiguousarray(found.T).reshape(found.shape)), "column after column"),
    "tensor scale of a missing": (scaled(0, 1), "the tensor scale of a is missing"),
    "tensor scale of b missing": (scaled(1, 0), "the tensor scale of b is missing"),
    "both missing": (scaled(0, 0), "the tensor scale of a is missing and the tensor scale of b is missing"),
    "of a for both": (scaled(2, 0), "the tensor scale of a is used for both"),
    "tensor scale twice": (scaled(1, 2), "the tensor scale of b enters twice"),
    "operands in fp8": (rounded("e4m3"), "rounded to e4m3"),
    "sum in bf16": (after(lambda found: emu.decode(emu.convert(found.astype(np.float32), "bf16"), "bf16").astype(np.float64)), "bf16"),
    "one code": (on_a(lambda c, s: (np.where(c == 7, 6, c).astype(np.uint8), s)), "a: element code 0x7 (6) is read as 4"),
}  # fmt: skip


@pytest.mark.cases(2, 13)
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_product_fails_and_is_located(name):
    kernel, words = WRONG[name]
    report = check_matmul(kernel, "nvfp4_te_ref", "nvfp4_te_ref", shapes=SHAPES, key=4711, raises=False)
    assert report.verdict == "differs" and report.exit_code == 1 and report.differing
    assert words in report.located.get("hypothesis", ""), report.text()


@pytest.mark.parametrize(("powers", "name"), [((2, 0), "a"), ((0, 2), "b")])
def test_the_tensor_scale_that_serves_both_is_named(powers, name):
    report = check_matmul(scaled(*powers), "nvfp4_te_ref", "nvfp4_te_ref", shapes=SHAPES[:1], key=4711, raises=False)
    assert report.located["hypothesis"] == f"the tensor scale of {name} is used for both operands"


@pytest.mark.parametrize("factor", [0, 2, -1])
@pytest.mark.parametrize("place", [np.s_[-1], np.s_[:, -1]], ids=["row", "column"])
def test_wrong_outputs_are_no_wrong_term(place, factor):
    """In one-hot rows a row of zeros is a missing element, a doubled one an element twice; sums of several blocks tell them apart."""

    def change(found):
        found[place] *= factor
        return found

    report = check_matmul(after(change), "nvfp4", "nvfp4", shapes=SHAPES[:1], raises=False)
    said = report.located.get("hypothesis", "")
    assert report.verdict == "differs" and "along K" not in said and "at k" not in said, report.text()
    assert "left zero" in said or factor, report.text()


def test_what_is_wrong_has_a_place():
    report = check_matmul(WRONG["one element dropped"][0], "nvfp4", "nvfp4", shapes=SHAPES, raises=False)
    assert report.located["k"] == 37
    report = check_matmul(WRONG["a stale scale"][0], "nvfp4", "nvfp4", shapes=SHAPES, raises=False)
    assert report.located["block"] == 2 and report.located["k"] == "32 to 47"


OF_ONE = {
    "a: scales of the other operand": lambda a, b: gemm(a, b, change_a=partial(scales_of, b.scales)),
    "b: scales of the other operand": lambda a, b: gemm(a, b, change_b=partial(scales_of, a.scales)),
    "a: dequantized values are rounded to e4m3": rounded("e4m3", "a"),
    "b: dequantized values are rounded to e4m3": rounded("e4m3", "b"),
    "both operands: dequantized values are rounded to e4m3": rounded("e4m3"),
    "a: scale code 0x7e (448) is read as 416": on_a(lambda c, s: (c, np.where(s == 0x7E, 0x7D, s))),
    "a: element code 0x5 (3) is read as 0.5": on_a(lambda c, s: (np.where(c == 5, 1, c).astype(np.uint8), s)),
    "b: scale code 0x38 (1) is read as 1.125": on_b(lambda c, s: (c, np.where(s == 0x38, 0x39, s))),
}


@pytest.mark.parametrize("words", OF_ONE)
def test_the_operand_that_is_wrong_is_named(words):
    report = check_matmul(OF_ONE[words], "nvfp4_te_ref", "nvfp4_te_ref", shapes=SHAPES[:1], key=4711, raises=False)
    assert report.verdict == "differs" and report.located["hypothesis"] == words, report.text()


@pytest.mark.parametrize(
    ("shape", "key", "words"),
    [
        ((7, 24, 96), 4711, "a: scale code 0x7e (448) is read as 416"),  # not that the element 6 is read as 5.57, which no code is
        ((24, 7, 96), 0, "no single mistake that was tried gives these outputs"),  # not a narrow accumulator: sums of 24 bits are right
    ],
)
def test_what_a_few_questions_say_is_not_overstated(shape, key, words):
    report = check_matmul(OF_ONE["a: scale code 0x7e (448) is read as 416"], "nvfp4_te_ref", "nvfp4_te_ref",
                          shapes=[shape], key=key, raises=False)  # fmt: skip
    assert report.verdict == "differs" and f"located: {words}" in report.text()


def test_where_no_mistake_is_found_the_smallest_wrong_question_is_shown():
    """Of 48 x 4 x 25 and 16 x 10 x 20 products the second, which has more outputs and was asked later."""

    def nonsense(a, b):
        found = gemm(a, b)
        row, column = np.indices(found.shape)
        return np.where(row * column % 3 == 1, found + row.astype(np.float32) + np.float32(0.5), found)

    report = check_matmul(nonsense, "nvfp4", "nvfp4", shapes=[(4, 25, 48), (10, 20, 16)], raises=False)
    assert report.verdict == "differs" and not report.located and report.accumulator_bits == 0
    assert any(note.startswith("first wrong question: one-hot rows of a, M, N, K = (10, 20, 16), ") for note in report.notes), report.notes


WIDTHS = [("nvfp4_1level", 23), ("mxfp4", 16), ("nvfp4_1level", 12)]
MORE = [
    (pair, bits)
    for pair in ("nvfp4_1level", "mxfp4", "nvint4")
    for bits in (23, 22, 20, 18, 16, 14, 13, 11, 10)
    if (pair, bits) not in (*WIDTHS, ("nvint4", 10))
]


@pytest.mark.cases(1, 2)
@pytest.mark.parametrize(("pair", "bits"), [*WIDTHS, *MORE])
def test_an_accumulator_of_one_bit_less_fails_and_of_as_many_passes(pair, bits):
    def kernel(a, b):
        x, y = (q.dequantize(np.float64) for q in (a, b))
        total = np.zeros((len(x), len(y)))
        for k in range(x.shape[1]):
            total = total + x[:, k, None] * y[None, :, k]
            fraction, exponent = np.frexp(total)
            total = np.ldexp(np.rint(np.ldexp(fraction, bits)), exponent - bits)
        return total.astype(np.float32)

    shapes = [(9, 17, 96), (17, 9, 160)]
    right = check_matmul(kernel, pair, pair, accumulate=bits, shapes=shapes, raises=False)
    wrong = check_matmul(kernel, pair, pair, accumulate=bits + 1, shapes=shapes, raises=False)
    assert right.verdict == "pass" and right.accumulator_bits == bits, right.text()
    assert wrong.verdict == "differs" and wrong.accumulator_bits == bits, wrong.text()


def test_a_narrow_accumulator_is_said():
    report = check_matmul(cut_accumulator(18), "nvfp4", "nvfp4", shapes=SHAPES, raises=False)
    assert report.located["hypothesis"] == "sums are held in 18 significand bits, 24 were declared"


def ours(a_codes, a_scales, b_codes, b_scales, c, alpha, beta):
    return np.float32(alpha) * (value(a_codes, a_scales) @ value(b_codes, b_scales).T).astype(np.float32), c, np.float32(beta)


WRONG_EPILOGUES = {
    "C missing": (lambda found, c, beta: found, "C is missing"),
    "beta missing": (lambda found, c, beta: found + c, "beta is missing"),
    "C twice": (lambda found, c, beta: found + beta * c * 2, "C enters twice"),
    "C subtracted": (lambda found, c, beta: found - beta * c, "C is subtracted"),
    "C read when beta is 0": (lambda found, c, beta: found + beta * c, "epilogue"),
    "C transposed": (lambda found, c, beta: found + beta * np.ascontiguousarray(c.T).reshape(c.shape), "C is transposed"),
    "scaled in fp16": (lambda found, c, beta: (found.astype(np.float16) + beta * c).astype(np.float32), ""),
}


@pytest.mark.cases(3)
@pytest.mark.parametrize("name", WRONG_EPILOGUES)
def test_a_wrong_epilogue_fails(name):
    change, words = WRONG_EPILOGUES[name]

    def kernel(a_codes, a_scales, b_codes, b_scales, c, alpha, beta):
        return change(*ours(a_codes, a_scales, b_codes, b_scales, c, alpha, beta)).astype(np.float32)

    report = check_matmul(kernel, "nvfp4", "nvfp4", shapes=SHAPES, raises=False)
    assert report.verdict == "differs" and words in report.located.get("hypothesis", "") + report.message, report.text()


def inexact_scale(a, b):
    """The tensor scales as reciprocals of reciprocals: right for powers of two, wrong in the last bit for others."""
    (x, sx, ta), (y, sy, tb) = parts(a), parts(b)
    return ((value(x, sx) @ value(y, sy).T).astype(np.float32) / (np.float32(1) / ta)) / (np.float32(1) / tb)


def test_a_last_bit_in_the_epilogue_is_not_named():
    report = check_matmul(inexact_scale, "nvfp4", "nvfp4", shapes=SHAPES, raises=False)
    assert report.verdict == "differs" and "none of the" in report.message and report.epilogue is None


BEHAVIOURS = {
    "raises": lambda a, b: 1 / 0,
    "shape": lambda a, b: np.zeros((2, 2), np.float32),
    "dtype": lambda a, b: np.zeros((a.shape[0], b.shape[0]), np.float64),
    "unstable": lambda a, b, calls=[0]: np.full((a.shape[0], b.shape[0]), calls.append(0) or len(calls), np.float32),
}


@pytest.mark.parametrize("verdict", BEHAVIOURS)
def test_misbehaviour_has_a_verdict(verdict):
    report = check_matmul(BEHAVIOURS[verdict], "nvfp4", "nvfp4", shapes=SHAPES[:1], raises=False)
    assert report.verdict == verdict and report.message and report.exit_code == 1


def test_a_changed_operand_is_a_verdict():
    def kernel(a_codes, a_scales, b_codes, b_scales):
        a_codes[0, 0] ^= 1
        return np.zeros((len(a_codes), len(b_codes)), np.float32)

    assert check_matmul(kernel, "nvfp4", "nvfp4", shapes=SHAPES[:1], raises=False).verdict == "mutates"


def test_not_a_number_and_infinity_fail():
    for bad in (np.nan, np.inf):
        report = check_matmul(lambda a, b, bad=bad: gemm(a, b) + np.float32(bad), "nvfp4", "nvfp4", shapes=SHAPES[:1], raises=False)
        assert report.verdict == "differs"


@pytest.mark.exhaustive
def test_an_undeclared_rounding_of_operands_or_partial_sums_fails():
    def partials(a, b):
        x, y = value(*parts(a)[:2]), value(*parts(b)[:2])
        found = [(x[:, each::2] @ y[:, each::2].T).astype(np.float16).astype(np.float32) for each in (0, 1)]
        return ((found[0] + found[1]) * parts(a)[2]) * parts(b)[2]

    assert check_matmul(partials, "nvfp4", "nvfp4", shapes=SHAPES, raises=False).verdict == "differs"
    assert check_matmul(rounded("e4m3"), "nvfp4", "nvfp4", shapes=SHAPES, raises=False).verdict == "differs"


def test_a_failure_without_raises_is_an_assertion():
    with pytest.raises(AssertionError, match="located: a or b: the two halves"):
        check_matmul(WRONG["halves of a"][0], "nvfp4", "nvfp4", shapes=SHAPES)


@pytest.mark.exhaustive
def test_a_width_is_not_named_where_a_single_product_speaks_against_it():
    """Each of these is right in all sums of few bits that a width would be found with, and no narrow accumulator gives its products."""

    def read_low(codes, scales):
        return codes, np.where(scales == 0x7E, 0x7D, scales)

    before = {}

    def stale(a, b):
        found = gemm(a, b)
        last, before["last"] = before.get("last"), found
        return found if last is None or last.shape != found.shape else last

    def half_of_long(a, b):
        return gemm(a, b, change_a=lambda codes, scales: (codes * (np.arange(codes.shape[1]) < 2048), scales))

    for kernel in (on_a(read_low), stale, half_of_long):
        report = check_matmul(kernel, "nvfp4", "nvfp4", shapes=[(48, 7, 48), (5, 3, 48), (3, 5, 2064)], raises=False)
        assert report.verdict == "differs" and report.accumulator_bits == 0
        assert "significand bits" not in str(report.located)
