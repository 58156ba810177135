"""Right kernels of attention pass, whatever their order, tiles and softmax; wrong ones fail, each of them."""

import json

import numpy as np
import pytest
from support.attention_kernels import PLACES, RIGHT, WRONG, by_recipe, fused, kernel, values

import emu
from emu.base.errors import EmuError
from emu.check.attention.bound import bound_of, cancelling
from emu.check.attention.contract import Attention, attention_of
from emu.check.attention.sets import Question, Shape, random_question, strict_question
from emu.check.matmul.numbers import Draws
from emu.testing import check_attention

SHAPES = [(2, 4, 2, 5, 40, 64), (1, 2, 2, 3, 50, 64)]
THREE = ("nvfp4_torchao_1level",) * 3


def test_causal_masks_are_aligned_at_an_end():
    """Three queries and five keys: the last query sees the last key, or the first one the first; the diagonal is seen."""
    contract = Attention(*[None] * 5)
    assert contract.visible(3, 5, mask="bottom-right").tolist() == np.tri(3, 5, 2, bool).tolist()
    assert contract.visible(3, 5, mask="top-left").tolist() == np.tri(3, 5, 0, bool).tolist()
    assert contract.visible(3, 5, mask="top-left", shift=1).tolist() == np.tri(3, 5, 1, bool).tolist()
    assert contract.visible(3, 5).all()


def test_two_elements_of_different_blocks_cancel_in_every_score():
    """The first element of the first block and of the second: of one value in keys, of opposite values in queries; not always zero."""
    contract = attention_of(*THREE, "fp32", "none", "whole row", 0, None, 1.0, 24, "dim", "values", 24)
    question = strict_question(contract, Shape(*SHAPES[0]), 0.125, Draws(1, "pair"), dict.fromkeys("qkv", 0))
    keys, queries = question.values("k")[..., [0, 16]], question.values("q")[..., [0, 16]]
    assert (keys[..., 0] == keys[..., 1]).all() and (queries[..., 0] == -queries[..., 1]).all()
    rows = np.indices(queries.shape[:3]).sum(axis=0) % 2 == 1
    assert not queries[~rows].any() and not cancelling(question)[~rows].any() and 8 * (cancelling(question) > 0).sum() > rows.sum()
    for pairs in (keys, queries[rows]):
        assert 8 * np.count_nonzero(pairs) > pairs.size and len(np.unique(np.abs(pairs))) > 2


def test_a_contract_says_what_p_is():
    """Its bits, or its recipe and what is divided by."""
    plain, quantized = (
        attention_of(*THREE, "fp32", "none", "whole row", 0, p, 2688.0, 24, "dim", "codes", 24) for p in (None, "nvfp4_te_ref")
    )
    assert "(whole row maximum, P in 24 bits)" in plain.text
    assert "(whole row maximum, P in nvfp4_te_ref, divided by the sum of its codes)" in quantized.text


@pytest.mark.cases(2, 8)
@pytest.mark.parametrize("name", RIGHT)
def test_right_kernels_pass(name):
    report = check_attention(RIGHT[name], *THREE, mask="bottom-right", maximum="running", shapes=SHAPES)
    assert report.verdict == "pass" and report.exact > 1000 and report.bounded > 500 and report.bound_ratio < 1
    found = json.loads(report.json())
    assert [found[name] for name in ("exact", "bounded", "exposed", "located")] == [report.exact, report.bounded, False, ""]


ODD = {"shapes": [(1, 2, 2, 3, 48, 128), (1, 2, 1, 4, 32, 64)], "scales": (None, 0.3, 1 / 7)}  # None: 1 / sqrt(dim)


def asked_at(scale, name, change=lambda scale: scale, p=None, **given):
    """Check a kernel that multiplies a scale in at a place, by fused multiplications and additions in binary32."""
    fn = kernel(dtype=np.float32, place=name, product=fused, scaling=change, quantize=by_recipe if p else None)
    without = (lambda q, k, v, causal: fn(q, k, v, np.float32(1 / np.sqrt(q.shape[-1])), causal)) if scale is None else fn
    words = {"p": p, "maximum": "whole row"} if p else {}
    return check_attention(without, *THREE, shapes=ODD["shapes"], scales=scale and [scale], raises=False, **words, **given)


@pytest.mark.cases(2)
@pytest.mark.parametrize("scale", ODD["scales"])
@pytest.mark.parametrize("name", PLACES)
def test_a_scale_passes_wherever_it_is_multiplied_in(name, scale):
    report = asked_at(scale, name)
    assert report.verdict == "pass" and report.exact > 200 and report.bounded > 200, report.text()


@pytest.mark.cases(1, 3)
@pytest.mark.parametrize("name", ["both", "q", "scores"])
def test_a_scale_passes_before_a_quantized_p(name):
    assert asked_at(0.3, name, p="nvfp4_te_ref").verdict == "pass"


@pytest.mark.cases(2)
@pytest.mark.parametrize("off", [lambda s: s * s, lambda s: 1.0, lambda s: s * (1 + 2.0**-12), lambda s: s * (1 - 2.0**-12)])
@pytest.mark.parametrize("name", PLACES)
def test_a_wrong_scale_fails_wherever_it_is_multiplied_in(name, off):
    assert asked_at(0.3, name, change=off).verdict == "differs"


@pytest.mark.cases(1)
@pytest.mark.parametrize("name", PLACES)
def test_outputs_one_bit_off_fail_wherever_the_scale_is_multiplied_in(name):
    for off in (-1, 1):
        finish = lambda f, out, total, off=off: (f.view(np.int32) + off).view(np.float32)  # noqa: E731
        fn = kernel(0, np.float32, place=name, product=fused, finish=finish)
        assert check_attention(fn, *THREE, shapes=ODD["shapes"][:1], raises=False).verdict == "differs"


@pytest.mark.cases(2)
@pytest.mark.parametrize("name", ["scales of the keys ignored", "scales of the values for the keys", "element of the keys missing"])
@pytest.mark.parametrize("key", range(4))
def test_a_wrong_scale_of_a_block_fails_in_every_key(name, key):
    """What the cancelling rows are for; a kernel that does not take the scale is asked less."""
    wrong = WRONG[name]
    report = check_attention(lambda q, k, v, causal: wrong(q, k, v, 0.125, causal), *THREE, shapes=SHAPES[:1], key=key, raises=False)
    assert report.verdict == "differs"


@pytest.mark.exhaustive
def test_a_kernel_that_is_wrong_for_many_keys_alone_fails():
    """More than a tile, more than a block of threads: among the shapes that are asked without others."""
    right = RIGHT[next(iter(RIGHT))]

    def late(q, k, v, scale, causal):
        return right(q, k, v, scale, causal) * (1.5 if k.shape[2] > 1024 else 1)

    report = check_attention(late, *THREE, mask="bottom-right", raises=False)
    assert report.verdict == "differs"


@pytest.mark.cases(2, 16)
@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("key", [1, 11, 12])
def test_wrong_kernels_fail(name, key):
    report = check_attention(WRONG[name], *THREE, mask="bottom-right", shapes=SHAPES[:1], key=key, raises=False)
    assert report.verdict == "differs" and report.differing and report.message


@pytest.mark.cases(2)
@pytest.mark.parametrize(
    ("name", "located"),
    [
        ("mask one key late", "the mask lets one key too many through"),
        ("mask missing", "the causal mask is missing"),
        ("heads in turn", "query heads take heads of keys in turn, not neighbours the same"),
        ("scale missing", "the scale is missing"),
        ("last tile dropped", "the last tile of 16 keys is dropped"),
        ("scales of the keys for the values", "the scales of K are used for V"),
    ],
)
def test_a_mistake_is_named(name, located):
    assert check_attention(WRONG[name], *THREE, mask="bottom-right", shapes=SHAPES[:1], raises=False).located == located


def test_an_unmasked_kernel_and_other_formats_pass():
    for formats in (("mxfp4_torchao_floor",) * 3, ("nvfp4_te_ref",) * 3, ("nvint4",) * 3):
        assert check_attention(kernel(16, np.float32), *formats, shapes=SHAPES[:1]).verdict == "pass"


def test_values_blocked_along_the_keys_are_as_quantize_makes_them():
    """Axes, shapes and numbers; the right kernel passes, and one that takes the scales of the dimension before fails."""
    contract = attention_of(*THREE, "fp32", "none", "whole row", 0, None, 1.0, 24, "keys", "values", 24)
    question = random_question(contract, Shape(2, 4, 2, 3, 48, 64), 0.125, Draws(1, "v"))
    given, made = question.operands()["v"], emu.quantize(np.ones((2, 2, 48, 64), np.float32), THREE[2], axis=-2)
    for q in (given, made):
        assert (q.axis, q.row_axis, q.shape, q.codes.shape, q.scales.shape) == (-2, -1, (2, 2, 48, 64), (2, 2, 48, 64), (2, 2, 3, 64))
    assert np.array_equal(given.dequantize(np.float64), question.values("v"))

    def shifted(q, k, v, x, y, z):
        scales = np.roll(emu.decode(v.scales, "ue4m3"), 1, axis=-1)
        return x, y, emu.decode(v.codes, "e2m1") * np.repeat(scales, 16, axis=-2)

    for asked, verdict in ((kernel(16), "pass"), (kernel(16, change=shifted), "differs")):
        assert check_attention(asked, *THREE, v_axis="keys", shapes=[(1, 2, 1, 3, 32, 64)], raises=False).verdict == verdict


def test_a_coarse_exponential_that_errs_one_way_in_every_tile_is_inside():
    """Tiles of one key, exp of 8 bits: 1 + 2^-8 in each of 111 factors adds up to half of the first key's small weight.

    Its score is -6, of the last key 0, of the others -12; V is 1 at the first key and 0 elsewhere, so the result is its share.
    """
    contract = attention_of(*THREE, "fp32", "none", "running", 1, None, 1.0, 24, "dim", "values", 8)
    question = Question(contract, Shape(1, 1, 1, 1, 112, 64), 4.0, powers=dict.fromkeys("qkv", 0))
    codes = {name: np.zeros((1, 1, rows, 64), np.uint8) for name, rows in (("q", 1), ("k", 112), ("v", 112))}
    codes["q"][..., 0] = codes["v"][:, :, 0] = 2  # 1
    codes["k"][:, :, 0, 0], codes["k"][:, :, 1:-1, 0] = 0xB, 0xD  # -1.5, -3
    question.codes |= codes
    question.scales |= {name: np.full((*item.shape[:-1], 4), 0x38, np.uint8) for name, item in codes.items()}  # 1
    bound = bound_of(question, (0, 0, 0), {name: question.values(name) for name in "qkv"}, None)
    scores = [-6.0, *[-12.0] * 110, 0.0]
    for off in (0, 2.0**-8, -(2.0**-8)):
        top, total, out = scores[0], 0.0, 0.0
        for key, score in enumerate(scores):
            new = max(top, score)
            old = np.exp(top - new) * (1 + off)
            total, out, top = total * old + np.exp(score - new), out * old + (key == 0) * np.exp(score - new), new
        assert all(low < out / total < high for low, high in zip(bound.low, bound.high, strict=True))
    assert 0 < max(bound.high) < 0.02


def test_rows_whose_weights_may_be_off_by_half_are_left_out():
    """130 tiles, each with an exp of 8 bits: nothing is bounded then, and the report says so and is no pass."""
    given = {"shapes": [(1, 1, 1, 2, 130, 64)], "maximum": "running", "tile": 1, "raises": False}
    left_out = check_attention(kernel(16), *THREE, **given, exp_bits=8)
    assert left_out.verdict == "too_little" and not left_out.bounded and left_out.exact
    assert "rows whose errors are too large for a bound were left out" in left_out.notes
    assert check_attention(kernel(16), *THREE, **given, exp_bits=9).bounded


P = {"p": "nvfp4_te_ref", "maximum": "running", "tile": 16, "shapes": [(1, 2, 2, 3, 64, 64)]}


@pytest.mark.exhaustive
def test_a_quantized_p_passes_hidden_and_shown():
    for dtype in (np.float32, np.float64):
        hidden = check_attention(kernel(16, dtype, quantize=by_recipe), *THREE, **P, exp_bits=8)
        assert hidden.verdict == "pass" and hidden.straddling and not hidden.exposed
        assert check_attention(kernel(16, dtype, quantize=by_recipe, expose=True), *THREE, **P).exposed


def changed(where):
    def wrong(q, k, v, scale, causal):
        found = kernel(16, quantize=by_recipe, expose=True)(q, k, v, scale, causal)
        found[where] = found[where].copy()
        found[where].reshape(-1)[7] ^= 1
        return found

    return wrong


@pytest.mark.cases(1, 3)
@pytest.mark.parametrize(
    "wrong",
    [
        kernel(16),
        kernel(0, quantize=by_recipe),
        kernel(32, quantize=by_recipe, expose=True),
        kernel(16, quantize=lambda p: by_recipe(p * np.float32(0.9))),
        kernel(16, quantize=lambda p: by_recipe(np.minimum(p, np.float32(0.75)))),
        changed("p_codes"),
        changed("p_scales"),
    ],
    ids=["p not quantized", "another tile", "another tile, shown", "p too small", "p clamped", "a code", "a scale"],
)
def test_a_wrong_p_fails(wrong):
    assert check_attention(wrong, *THREE, **P, raises=False).verdict == "differs"


def test_a_weight_above_one_fails():
    """No score lies above the maximum: the next number after 1 is too large, though its codes are those of 1."""

    def above(q, k, v, scale, causal):
        found = kernel(16, quantize=by_recipe, expose=True)(q, k, v, scale, causal)
        return found | {"p": np.where(found["p"] == 1, np.nextafter(np.float32(1), np.float32(2)), found["p"])}

    report = check_attention(above, *THREE, **P | {"shapes": [(1, 1, 1, 2, 32, 64)]}, raises=False)
    assert report.verdict == "differs" and "the P before it is quantized lies outside its bound" in report.message


def divided(by, recipe):
    """Two passes, P quantized over the whole row; divided by the sum of what `by` makes of (P, its codes' values)."""

    def attend(q, k, v, scale, causal):
        x, y, z = (values(part, np.float64) for part in (q, k, v))
        scores = (x @ y.swapaxes(-1, -2)) * scale
        p = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weight = emu.quantize(p.astype(np.float32), recipe, **AMAX[recipe]).dequantize().astype(np.float64)
        return ((weight @ z) / by(p, weight).sum(axis=-1, keepdims=True)).astype(np.float32)

    return attend


AMAX = {"nvfp4_te_ref": {"tensor_amax": np.float32(2688)}, "mxfp4_torchao_floor": {}}


@pytest.mark.parametrize("recipe", AMAX)
def test_the_sum_of_codes_and_the_sum_of_values_are_told_apart(recipe):
    """MXFP4 has a code for 1, NVFP4 makes 33/32 of it: then no exact question is left, and the report says why.

    Beside 1 a block of MXFP4 may have either of two scales: the bound holds both, and both sums lie in it.
    """
    of_values, of_codes = (divided(by, recipe) for by in (lambda p, weight: p, lambda p, weight: weight))
    given = {"p": recipe, "shapes": [(1, 1, 1, 2, 32, 64)], "raises": False}
    for right, wrong, denominator in ((of_codes, of_values, "codes"), (of_values, of_codes, "values")):
        found = check_attention(right, *THREE, **given, denominator=denominator)
        without = recipe == "nvfp4_te_ref" and denominator == "codes"
        assert found.verdict == ("too_little" if without else "pass") and found.bounded and found.bound_ratio < 1
        assert any(note.startswith("nothing is exact here: P = 1 becomes codes") for note in found.notes) is without
        if recipe == "nvfp4_te_ref":
            assert check_attention(wrong, *THREE, **given, denominator=denominator).verdict == "differs"


@pytest.mark.parametrize(
    ("words", "match"),
    [
        ({"mask": "left"}, "mask 'left' is unknown"),
        ({"p": "nvfp4_te_ref", "maximum": "running"}, "say tile="),
        ({"p": "nvfp4_te_4over6_mse_448"}, "more than the maximum"),
        ({"p": "nvfp4_te_ref", "p_amax": 1.0}, "no power of two"),
        ({"shapes": [(1, 3, 2, 4, 8, 64)]}, "multiple of the heads of keys"),
        ({"mask": "bottom-right", "shapes": [(1, 2, 2, 9, 8, 64)]}, "no more queries than keys"),
    ],
)
def test_bad_words_are_refused_in_one_line(words, match):
    with pytest.raises(EmuError, match=match) as error:
        check_attention(kernel(), *THREE, **words)
    assert "\n" not in str(error.value)


def test_a_kernel_that_misbehaves_gets_a_verdict():
    def raising(q, k, v):
        raise ValueError("no")

    def short(q, k, v):
        return np.zeros((1, 2), np.float32)

    for wrong, verdict in ((raising, "raises"), (short, "shape")):
        assert check_attention(wrong, *THREE, shapes=SHAPES, raises=False).verdict == verdict
    with pytest.raises(AssertionError, match="RAISES"):
        check_attention(raising, *THREE, shapes=SHAPES)
