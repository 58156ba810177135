"""What was never asked: every scale code, blocks beyond 256 and 512, lengths beyond 16 bits. A product that is wrong there alone fails."""

from functools import lru_cache

import numpy as np
import pytest

import emu
from emu.check.matmul.default_sets import default_shapes, every_set, thin_shapes
from emu.check.matmul.ends import every_scale, legal_scales, long_rows
from emu.check.matmul.locate import unequal
from emu.check.matmul.numbers import Draws
from emu.check.matmul.pair import pair_of
from emu.check.matmul.question import Question
from emu.check.matmul.run import Check
from emu.check.matmul.sets import Limits
from emu.check.matmul.target import python_gemm
from emu.spec import get
from emu.testing import check_matmul

PAIRS = {"nvfp4_1level": ("e2m1", "ue4m3", 16), "mxfp4": ("e2m1", "e8m0", 32)}


def kernel(name, change):
    """A right product in binary64 but for a change of the scale values [rows, blocks] by their codes."""
    element, scale, size = PAIRS[name]

    def side(q):
        codes = q.scales.copy()
        values = change(codes, emu.decode(codes, scale).astype(np.float64))
        return emu.decode(q.codes, element).astype(np.float64) * np.repeat(values, size, axis=1)[:, : q.codes.shape[1]]

    return lambda a, b: (side(a) @ side(b).T).astype(np.float32)


def read_as(code, value):
    return lambda codes, values: np.where(codes == code, value, values)


def wrapped(at):
    return lambda codes, values: values[:, np.arange(values.shape[1]) % at]


@lru_cache(None)
def thin_sets(name):
    """The sets of the default shapes that this page is about."""
    pair = pair_of(f"matmul/{name}/{name}/fp32")
    shapes = thin_shapes(PAIRS[name][2])
    sets = [asked for asked in every_set(pair, shapes, Limits(), 1, []) if "every scale" in asked.name or asked.shape in shapes]
    return pair, [Question(pair, asked, ("a", "b"), dict.fromkeys(("ta", "tb", "alpha", "beta"), 0), None) for asked in sets]


def fails(name, product):
    """Whether one of those sets tells a product from a right one."""
    pair, questions = thin_sets(name)
    target = python_gemm(product, pair.text)
    return any((unequal(target(each.operands)["d"], each.want, pair) & each.known).any() for each in questions)


@pytest.mark.cases(1)
@pytest.mark.parametrize("name", PAIRS)
def test_the_right_product_passes_and_says_that_every_scale_code_was_asked(name):
    report = check_matmul(kernel(name, lambda codes, values: values), name, name)
    of = {"nvfp4_1level": 127, "mxfp4": 255}[name]
    assert report.verdict == "pass" and not any("never asked" in note or "wraps" in note for note in report.notes)
    said = {stage.name: stage.reached for stage in report.stages}
    assert all(f"{of} of {of} scale codes" in said[f"order-free, one-hot rows of {side}, every scale"][side] for side in "ab")


@pytest.mark.parametrize(
    ("name", "code", "value"),
    [("mxfp4", 0x00, 0.0), ("mxfp4", 0xFE, 0.0), ("mxfp4", 0x01, 2.0**-127), ("mxfp4", 0xFD, 2.0**127), ("mxfp4", 0x00, 2.0**-126),
     ("mxfp4", 0xFE, 2.0**126), ("nvfp4_1level", 0x00, 2.0**-10), ("nvfp4_1level", 0x00, 1.0), ("nvfp4_1level", 0x7E, 480.0),
     ("nvfp4_1level", 0x01, 0.0)],
)  # fmt: skip
def test_a_code_at_an_end_that_is_read_as_another_number_fails(name, code, value):
    assert fails(name, kernel(name, read_as(code, value))) and not fails(name, kernel(name, lambda codes, values: values))


@pytest.mark.parametrize("at", [128, 256, 512])
@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("sides", ["a", "b", "ab"])
def test_an_index_of_the_block_that_wraps_fails(name, at, sides):
    def product(a, b):
        change = {side: wrapped(at) if side in sides else lambda codes, values: values for side in "ab"}
        values = [kernel_side(name, q, change[side]) for side, q in (("a", a), ("b", b))]
        return (values[0] @ values[1].T).astype(np.float32)

    assert fails(name, product)


@pytest.mark.cases(1)
@pytest.mark.parametrize(("name", "change"), [("mxfp4", read_as(0x00, 0.0)), ("nvfp4_1level", wrapped(256))])
def test_a_whole_check_fails(monkeypatch, name, change):
    monkeypatch.setattr(Check, "explain", lambda self: None)
    assert check_matmul(kernel(name, change), name, name, raises=False).verdict == "differs"


def kernel_side(name, q, change):
    element, scale, size = PAIRS[name]
    values = change(q.scales, emu.decode(q.scales, scale).astype(np.float64))
    return emu.decode(q.codes, element).astype(np.float64) * np.repeat(values, size, axis=1)


@pytest.mark.parametrize("what", ["rows", "columns", "elements"])
def test_a_length_that_wraps_at_16_bits_fails(what):
    right = kernel("mxfp4", lambda codes, values: values)

    def product(a, b):
        if what == "elements" and a.shape[1] > 65536:
            x, y = (kernel_side("mxfp4", q, lambda codes, values: values)[:, :65536] for q in (a, b))
            return (x @ y.T).astype(np.float32)
        found = right(a, b)
        if what == "rows":
            found[65536:] = 0
        elif what == "columns":
            found[:, 65536:] = 0
        return found

    assert fails("mxfp4", product)


@pytest.mark.parametrize("name", ["nvfp4/nvfp4", "mxfp4/mxfp4", "nvfp4_1level/mxfp4", "nvint4/nvufp4", "nvfp4_te_2d_ref/nvfp4"])
def test_every_block_of_a_long_row_is_met_under_scales_that_differ_where_an_index_wraps(name):
    pair = pair_of(f"matmul/{name}/fp32")
    for blocks in (257, 513):
        asked = long_rows(pair, (9, 3, blocks * pair.step), Limits(), Draws(5, "long"))
        live = (pair.a.values(asked.a, asked.sa).n != 0) & (pair.b.values(asked.b, asked.sb).n != 0).any(axis=0)
        assert live.reshape(9, -1, pair.a.size).any(axis=2).any(axis=0).all()
        for scales in (asked.sa, asked.sb):
            assert all((scales[:, at:] != scales[:, :-at]).all() for at in (128, 256, 512) if at < scales.shape[1])


@pytest.mark.parametrize("name", ["mxfp4/mxfp4", "nvfp4/nvfp4", "nve0m3/nvufp4"])
def test_every_scale_is_met_by_one_of_opposite_size(name):
    pair = pair_of(f"matmul/{name}/fp32")
    for hot in "ab":
        asked = every_scale(pair, Limits(), hot, Draws(5, "ends"))
        side, codes, scales = (pair.a, asked.a, asked.sa) if hot == "a" else (pair.b, asked.b, asked.sb)
        met = np.repeat(scales, side.size, axis=1)[codes != side.zero]
        assert set(met.tolist()) == set(legal_scales(side.scale).tolist())
        top = asked.sums[asked.sums != 0]
        assert len(top) and int((asked.unit + np.log2(np.maximum(np.abs(asked.sums), 1)))[asked.sums != 0].max()) < 48


def test_legal_scales_are_all_of_a_narrow_format_and_both_ends_of_a_wide_one():
    assert set(legal_scales(get("format", "e8m0")).tolist()) == set(range(255))
    assert set(legal_scales(get("format", "ue4m3")).tolist()) == set(range(127))
    wide = legal_scales(get("format", "fp16")).tolist()
    assert {0, 1, 0x7BFF} <= set(wide) and len(wide) <= 257
    assert {code >> 23 for code in legal_scales(get("format", "fp32")).tolist()} >= set(range(1, 255))


def test_given_shapes_ask_no_others_and_say_which_codes_were_never_asked():
    pair = pair_of("matmul/mxfp4/mxfp4/fp32")
    shapes = [(5, 4, 96), (3, 9, 160)]
    assert {asked.shape for asked in every_set(pair, shapes, Limits(), 3, [], given=True)} == set(shapes)
    report = check_matmul(kernel("mxfp4", lambda codes, values: values), "mxfp4", "mxfp4", shapes=shapes)
    assert any("scale codes of a were never asked" in note for note in report.notes)
    assert any("no row has more than 256 blocks" in note for note in report.notes)
    long = check_matmul(kernel("mxfp4", wrapped(256)), "mxfp4", "mxfp4", shapes=[(3, 4, 257 * 32)], raises=False)
    assert long.located["hypothesis"] == "the index of the block wraps at 256 in the scales of a and b"
    assert not any("no row has more" in note for note in long.notes)


def test_the_default_shapes_go_beyond_8_and_16_bits():
    for step in (16, 32):
        found = default_shapes(step)
        assert {257, 513} <= {k // step for _, _, k in found} and max(k for _, _, k in found) > 65536
        assert max(m for m, _, _ in found) > 65536 < max(n for _, n, _ in found)
