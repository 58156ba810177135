"""The rules of a check of products one by one, on numbers typed by hand: what a set must hold, the epilogue, the bound, equal codes."""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from emu.base.errors import OperandError
from emu.check.matmul import envelope
from emu.check.matmul.epilogue import fma, programs, to_result
from emu.check.matmul.files import digest_of
from emu.check.matmul.groups import Groups, grouped, picked, scale_starts, spread, tiled
from emu.check.matmul.locate import unequal
from emu.check.matmul.numbers import Exact, bit_length, exact_of, in_units, product, trailing_zeros
from emu.check.matmul.pair import pair_of
from emu.check.matmul.question import Needs
from emu.check.matmul.sets import Limits, Operands, _nonzero, check_operand_class, operands_of, palette, prove, singles, windows
from emu.engines.exact.decode import decode_code
from emu.spec import get

PAIR = pair_of("matmul/nvfp4/nvfp4/fp32")
ROWS = 5  # the last row is no longer among those that are tried first


def exact(rows, nominal=None):
    """Integers as exact numbers in units of 1; the last row alone is not zero."""
    n = np.zeros((ROWS, len(rows)), np.int64)
    n[-1] = rows
    low = trailing_zeros(n)
    e = np.where(n == 0, 0, low)
    top = np.where(n == 0, 0, e + bit_length(n >> low) - 1)
    return Exact(n >> low, e, top if nominal is None else np.where(n == 0, 0, nominal))


ONES = Exact(np.ones((ROWS, 3), np.int64), np.zeros((ROWS, 3), np.int64), np.zeros((ROWS, 3), np.int64))


def moved(side, by):
    live = side.n != 0
    return Exact(side.n, np.where(live, side.e + by, 0), np.where(live, side.nominal + by, 0))


def test_magnitudes_stay_below_two_to_the_bits():
    assert int(prove(exact([255, 0, 0]), ONES, Limits(8)).magnitudes.max()) == 255
    for rows in ([255, 1, 0], [128, 127, 1]):
        with pytest.raises(OperandError, match="magnitudes"):
            prove(exact(rows), ONES, Limits(8))


def test_terms_that_cancel_count():
    with pytest.raises(OperandError, match="magnitudes"):
        prove(exact([128, -128, 1]), ONES, Limits(8))
    assert int(prove(exact([64, -63, 1]), ONES, Limits(8)).sums[-1, 0]) == 2


def test_nominal_exponents_lie_in_the_window():
    """A subnormal is aligned as if it were larger: the distance of its field from the unit counts."""
    assert prove(exact([1, 1, 0], nominal=7), ONES, Limits(8)).unit[-1, 0] == 0
    with pytest.raises(OperandError, match="nominal"):
        prove(exact([1, 1, 0], nominal=8), ONES, Limits(8))


def test_units_and_sums_stay_in_the_normal_range():
    limits = Limits(8, -6, 9)
    assert prove(moved(exact([1, 1, 0]), -6), ONES, limits).unit[-1, 0] == -6
    assert prove(moved(exact([1, 0, 0]), 8), ONES, limits).unit[-1, 0] == 8
    for by in (-7, 9):
        with pytest.raises(OperandError, match="range"):
            prove(moved(exact([1, 0, 0]), by), ONES, limits)


def test_operands_fit_their_class():
    limits = Limits(operand_bits=4, operand_least=-6, operand_most=8)
    check_operand_class(exact([15, 0, 0]), limits)
    check_operand_class(moved(exact([1, 0, 0]), -6), limits)
    check_operand_class(moved(exact([1, 0, 0]), 8), limits)
    for wrong in (exact([17, 0, 0]), moved(exact([1, 0, 0]), -7), moved(exact([1, 0, 0]), 9)):
        with pytest.raises(OperandError, match="class"):
            check_operand_class(wrong, limits)


def test_one_product_fits_the_accumulator():
    assert int(singles(exact([255, 0, 0]), ONES, "a", Limits(8))[0].max()) == 255
    assert int(singles(exact([1, 0, 0], nominal=7), ONES, "a", Limits(8))[0].max()) == 1
    with pytest.raises(OperandError, match="bits"):
        singles(exact([257, 0, 0]), ONES, "a", Limits(8))
    with pytest.raises(OperandError, match="bits"):
        singles(exact([1, 0, 0], nominal=8), ONES, "a", Limits(8))
    with pytest.raises(OperandError, match="range"):
        singles(moved(exact([1, 0, 0]), -7), ONES, "a", Limits(8, -6, 9))
    with pytest.raises(OperandError, match="more than one"):
        singles(exact([1, 1, 0]), ONES, "a", Limits(8))


def test_outputs_that_need_all_bits_are_counted_and_room_is_left_for_c():
    proven = prove(exact([129, 2, 0]), ONES, Limits(8))
    found = operands_of("x", {"a": np.zeros((5, 3)), "b": np.zeros((5, 3))}, {"a": None, "b": None}, proven, Limits(8), "")
    assert found.full == ROWS and int(found.room[-1, 0]) == 255 - 131 and int(found.room[0, 0]) == 255
    for rows in ([127, 0, 0], [129, 1, 0]):
        proven = prove(exact(rows), ONES, Limits(8))
        assert operands_of("x", {"a": np.zeros((5, 3)), "b": np.zeros((5, 3))}, {"a": None, "b": None}, proven, Limits(8), "").full == 0


@pytest.mark.parametrize("bits", [1, 4, 12])
def test_the_scales_of_a_window_are_integers_of_so_many_bits_in_one_unit(bits):
    colours = palette(PAIR.a, Limits())
    for window in windows(colours, bits, 0):
        value = exact_of(window.scales, get("format", "ue4m3"))
        assert window.e == value.e.min()
        top = (value.e + bit_length(value.n)).max()
        assert int(top - value.e.min()) <= bits


def test_subnormals_have_the_nominal_exponent_of_the_smallest_normal_number():
    value = exact_of(np.array([1, 7, 8, 9]), get("format", "ue4m3"))  # 2^-9, 7 x 2^-9, 2^-6, 9 x 2^-9
    assert value.nominal.tolist() == [-6, -6, -6, -6] and value.e.tolist() == [-9, -9, -6, -9]
    both = PAIR.a.values(np.array([[1] * 16]), np.array([[1]]))  # 1/2, a subnormal of E2M1, times 2^-9
    assert int(both.nominal[0, 0]) == -6 and int(both.e[0, 0]) == -10


def test_fma_rounds_once():
    one, tiny = np.float32(1 + 2.0**-12), np.float32(2.0**-100)
    tie = np.float32(1 + 2.0**-11)  # one x one = tie + 2^-24, half way
    assert fma(one, one, np.float32(0)) == tie
    assert fma(one, one, tiny) == np.nextafter(tie, np.float32(2)) and fma(one, one, -tiny) == tie
    for x, y, z in ((1.5, 2.0**-24, 1.0), (3.0, -(2.0**-25), 1.0), (one, -one, 1.0)):
        total = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
        found = fma(np.float32(x), np.float32(y), np.float32(z))
        found = found.reshape(-1)[0]
        near = (np.nextafter(found, np.float32(-9)), np.nextafter(found, np.float32(9)))
        assert all(abs(Fraction(float(found)) - total) <= abs(Fraction(float(other)) - total) for other in near)


def test_the_list_of_epilogues_and_what_each_does():
    s = np.arange(3, 99, dtype=np.float32) / np.float32(7)
    values = {"S": s, "ta": np.float32(0.1), "tb": np.float32(7.3), "C": np.float32(1.7), "beta": np.float32(-0.3)}
    found = {item.name: item.run(values) for item in programs(("ta", "tb"), True, True)}
    f = np.float32
    scaled = (s * f(0.1)) * f(7.3)
    wanted = {
        "(S * ta) * tb, + beta * C": scaled + f(f(-0.3) * f(1.7)),
        "S * (ta * tb), + beta * C": s * f(f(0.1) * f(7.3)) + f(f(-0.3) * f(1.7)),
        "(S * tb) * ta, fma(beta, C, .)": fma(f(-0.3), f(1.7), (s * f(7.3)) * f(0.1)),
        "fma((S * ta), tb, beta * C)": fma(s * f(0.1), f(7.3), f(f(-0.3) * f(1.7))),
    }
    assert all(np.array_equal(found[name], out) for name, out in wanted.items())
    assert not np.array_equal(wanted["fma((S * ta), tb, beta * C)"], wanted["(S * ta) * tb, + beta * C"])
    assert len(found) == 10 and "in binary64, rounded once" in found


def test_results_are_rounded_to_nearest_even():
    values = np.array([1 + 2.0**-8, 1 + 3 * 2.0**-8, 1 + 2.0**-8 + 2.0**-20, 2.0**127 * 1.999], np.float32)
    assert to_result(values, get("format", "bf16")).tolist() == [0x3F80, 0x3F82, 0x3F81, 0x7F80]


def test_zeros_and_not_a_numbers_are_equal_and_infinity_is_neither():
    one = np.array([0, 1 << 31, 0x7FC00000, 0x7F800000, 0x7F800000, 0x3F800000, 0], np.uint32)
    other = np.array([1 << 31, 0, 0xFF800001, 0x7F800001, 0x7F800000, 0xBF800000, 1], np.uint32)
    assert unequal(one, other, PAIR).tolist() == [False, False, False, True, False, True, True]


def test_the_bound_is_the_one_that_is_stated():
    """K = 16, one term of 1: gamma (1 + 2^E) + half an ulp + K + 4 of the smallest normal number, E of the largest field."""
    a = np.zeros((1, 16), np.uint8)
    a[0, 3] = 2
    scale = np.full((1, 1), 0x38, np.uint8)
    sums, magnitudes, unit = envelope.exact_sums(PAIR, a, scale, a, scale)
    asked = Operands("random", a, scale, a, scale, sums, unit, magnitudes, 0, "")
    m, u = 20, Fraction(1, 1 << 23)
    gamma = m * u / (1 - m * u)
    bound = gamma * 2 + Fraction(1, 1 << 23) + Fraction(1, 1 << 150) + m * Fraction(1, 1 << 126)
    for error in (2.0**-23, 2.0**-18, 2.0**-17):
        worst, beyond = envelope.ratios(PAIR, asked, np.array([[1 + error]]), Limits())
        assert worst == Fraction(error) / bound and beyond == int(Fraction(error) > bound)
    assert envelope.ratios(PAIR, asked, np.array([[np.nan]]), Limits())[1] == 1


def test_steps_of_a_pair_and_levels_of_a_tensor():
    assert pair_of("matmul/nvfp4/mxfp4/fp32").step == 32 and PAIR.step == 16
    for power in (-3.0, 0.0, 5.0):
        assert np.uint32(PAIR.a.multiplier(PAIR.a.tensor_code(2.0**power))).view(np.float32) == 2.0**power
    side = pair_of("matmul/nvfp4_te_2d_ref/nvfp4/fp32").a
    codes = side.quantized(np.zeros((18, 16), np.uint8), np.arange(18, dtype=np.uint8)[:, None] // 16 + 0x38, 0x3F800000).scales
    assert codes.shape == (32, 1) and codes[[0, 15, 16, 17], 0].tolist() == [0x38, 0x38, 0x39, 0x39]


def test_the_digest_of_a_question_covers_names_types_shapes_and_bytes():
    one = {"a": np.zeros((2, 3), np.uint8), "b": np.ones(4, np.uint8)}
    others = [
        {"a": one["a"], "c": one["b"]}, {**one, "a": one["a"].reshape(3, 2)}, {**one, "b": np.ones(4, np.int8)}, {**one, "b": one["b"] * 2},
    ]  # fmt: skip
    assert len({digest_of(found) for found in (one, *others)}) == 5 and digest_of(dict(one)) == digest_of(one)


def test_groups_choose_the_outputs_of_their_own_matrix():
    groups = Groups(np.array([0, 4, 4]), np.array([3, 0, 2]), 8, 2, False, (3, 5, 2, 16))
    assert groups.owner[groups.live].tolist() == [0, 0, 0, 2, 2] and groups.live.tolist() == [True] * 3 + [False, True, True, False, False]
    table = np.arange(8 * 6).reshape(8, 6)
    assert groups.of(table)[[0, 2, 4, 5]].tolist() == [[0, 1], [12, 13], [28, 29], [34, 35]]
    assert groups.offsets().tolist() == [0, 4, 4, 6]
    assert spread(groups)["tb"].ravel()[groups.live].tolist() == [0, 0, 0, -2, -2]
    sums = np.full((8, 6), 129)
    plain = Operands("x", np.zeros((8, 16)), None, np.zeros((6, 16)), None, sums, 0 * sums, 0 * sums, 1, "")
    found = grouped(plain, groups, 8)
    assert found.full == 10 and found.sums.shape == (8, 2) and found.shape == (3, 5, 2, 16)


def test_rows_that_are_moved_keep_their_matrix():
    groups = Groups(np.array([0, 2]), np.array([2, 1]), 3, 1, False, (2, 3, 1, 1))
    a, b, none = np.array([[1], [2], [3]]), np.array([[5], [7]]), np.zeros((3, 1))
    asked = Operands("x", a, None, b, None, np.array([[5], [10], [21]]), none, none, 0, "", groups)
    new, now, old = picked(asked, [np.array([2]), np.array([1, 0])], [1, 0], 4)
    assert now.tolist() == [0, 4, 5] and old.tolist() == [2, 1, 0] and new.b.ravel().tolist() == [7, 5]
    assert new.a.ravel()[now].tolist() == [3, 2, 1] and new.sums.ravel()[now].tolist() == [21, 10, 5]
    assert new.groups.sizes.tolist() == [1, 2] and new.groups.starts.tolist() == [0, 4]


def test_scales_of_groups_lie_in_whole_tiles():
    sizes = np.array([2, 0, 130, 1])
    assert scale_starts(np.zeros(4), sizes).tolist() == [0, 128, 128, 384, 512]
    codes = (np.arange(133)[:, None] % 100 + np.arange(3)).astype(np.uint8)
    memory = tiled(codes, np.array([0, 2, 2, 132]), sizes, get("layout", "sf128x4"), 255)
    assert memory.size == 512 * 4 and int((memory == 255).sum()) == 512 * 4 - 133 * 3
    assert memory[:3].tolist() == [0, 1, 2] and memory[16:19].tolist() == [1, 2, 3]  # row 1 is 16 places on
    assert memory[512:515].tolist() == [2, 3, 4] and memory[1024 + 16 : 1024 + 19].tolist() == [31, 32, 33]  # rows 0 and 129 of the third
    assert memory[1536:1539].tolist() == [32, 33, 34]


def _needs(sums, wrong, ones=1, needs=None):
    """What outputs of a question say; each is one product, or of two. needs: of questions before."""
    asked = SimpleNamespace(
        shape=(1, 2, len(sums)),
        a=np.array([[2, 2 * (ones > 1)]]),
        b=np.array([[2, 2]]),
        sums=np.array([sums]),
        unit=np.array([[0]]),
        groups=None,
    )
    found = Needs() if needs is None else needs
    found.add(SimpleNamespace(asked=asked, pair=PAIR, known=np.ones((1, len(sums)), bool), c=None), np.array([wrong]))
    return found


def test_widths_below_what_a_single_product_needs_are_not_named():
    right = _needs([255], [False])
    assert right.right == 8 and right.fits(8, Limits(8)) and not right.fits(7, Limits(7))
    both = _needs([255, 255], [False, True])
    assert not both.fits(8, Limits(8)) and not both.fits(9, Limits(9)) and not both.fits(7, Limits(7))


def test_widths_are_not_named_where_most_sums_that_need_more_are_right():
    assert not _needs([511, 511, 1023, 1], [True, False, False, False], 2).fits(8, Limits(8))
    for least in (_needs([511, 510, 1023, 511], [True, False, True, False], 2), _needs([511, 255], [True, False], 2)):
        assert least.fits(8, Limits(8)) and least.right == 0
    other = _needs([511], [True], 2)
    assert _needs([511, 1023], [False, False], 2, other).fits(8, Limits(8))  # right ones of a shape without a wrong one say nothing
    assert not _needs([511, 1023, 511, 511], [False, False, True, False], 2, other).fits(8, Limits(8))


@pytest.mark.parametrize("bits", [25, 26, 27, 30])
def test_products_of_integers_are_exact_where_binary64_holds_them_and_beyond(bits):
    """Two products of odd integers: their sum needs 2 * bits + 2 bits, on both sides of 53; refused from 62 bits on."""
    most = (1 << bits) + 1
    a, b = np.array([[most, most], [1, -most]]), np.array([[most, most - 2]])
    assert product(a, b).tolist() == [[most * most + most * (most - 2)], [most - most * (most - 2)]]
    with pytest.raises(OperandError, match="62 bits"):
        product(np.array([[1 << 30, 1]]), np.array([[1 << 31, 1]]))
    assert product(np.array([[1 << 30]]), np.array([[(1 << 32) - 1]])).tolist() == [[(1 << 62) - (1 << 30)]]
    assert product(np.zeros((2, 0), np.int64), np.zeros((3, 0), np.int64)).tolist() == [[0] * 3] * 2


def test_a_row_of_units_may_span_31_bits_and_no_more():
    def row(*terms):
        n, e = np.array([terms], np.int64).transpose(2, 0, 1)
        return Exact(n, e, e)

    assert [item.tolist() for item in in_units(row((1, 30), (0, -90), (-3, 0)))] == [[[1 << 30, 0, -3]], [0]]
    assert [item.tolist() for item in in_units(row((0, 7), (0, 9)))] == [[[0, 0]], [0]]
    with pytest.raises(OperandError, match="spans too many"):
        in_units(row((1, 31), (-3, 0)))


@pytest.mark.parametrize(("name", "single"), [("e2m1", [2, 4, 6, 10, 12, 14]), ("e1m2", [4, 12]), ("int4", [8])])
def test_single_codes_are_powers_of_two_normal_where_the_format_has_such(name, single):
    fmt, codes = get("format", name), np.arange(16, dtype=np.uint8)
    assert _nonzero(codes, fmt, "single").tolist() == single
    assert _nonzero(codes, fmt, "every").tolist() == [code for code in range(16) if decode_code(code, fmt).signed]
