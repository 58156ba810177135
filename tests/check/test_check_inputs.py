"""Inputs: counts that an option raises but never lowers, the same for a key, whole spaces whole, tensor maxima carried by tensors."""

import numpy as np
import pytest

from emu.base.errors import OpenError
from emu.check.inputs.suites import questions
from emu.contracts import form_of
from emu.contracts.drawn import CHUNK, ELEMENTS
from emu.contracts.form import expect
from emu.engines.numpy.block import amax_bits
from emu.engines.run import run_quantize
from emu.spec import derive, get

CONVERT, NVFP4 = form_of("convert/e2m1/rne/nvidia"), form_of("quantize/nvfp4_te_ref")


def asked(form, suite, takes_amax=True, multiple=(1, 1), count=None, key=1):
    return list(questions(form, suite, takes_amax, {"count": count, "key": key, "multiple": multiple, "calls": "arrays"}))


@pytest.mark.parametrize("count", [None, 1, ELEMENTS, ELEMENTS + 5, CHUNK + 7])
def test_a_count_is_raised_and_never_lowered(count):
    assert sum(item.operands["codes"].size for item in asked(CONVERT, "stratified", count=count)) == max(count or 0, ELEMENTS)


@pytest.mark.exhaustive
def test_a_key_decides_the_inputs_and_nothing_else():
    first, again, other = (asked(NVFP4, "stratified", key=key)[0].operands["x"] for key in (1, 1, 2))
    assert np.array_equal(first, again) and not np.array_equal(first, other)
    whole, rest = (item.operands["codes"] for item in asked(CONVERT, "stratified", count=CHUNK + 9))
    assert np.unique(whole).size > CHUNK // 2 and rest.size == 9 and not np.isin(rest, whole[:9]).any()


@pytest.mark.parametrize("contract", ["quantize/nvfp4_te_ref", "transform/rht16_te"])
@pytest.mark.parametrize("source", ["fp32", "bf16", "fp16"])
def test_strata_hold_numbers_of_every_size(contract, source):
    form, fmt = form_of(contract, source), get("format", source)
    tensors = [item.operands["x"] for item in asked(form, "stratified")]
    assert all(x.shape[0] > 128 and x.shape[1] == 256 for x in tensors)  # several tiles of a scale layout each way
    found = np.concatenate([x.reshape(-1) for x in tensors])
    plain = found & found.dtype.type(derive.codes(fmt).sign_bit - 1)
    assert plain.max() <= derive.codes(fmt).max_code and not plain.min()
    assert np.unique(plain >> fmt.facts.frac_bits).size > 0.9 * (derive.codes(fmt).max_code >> fmt.facts.frac_bits)
    assert ((plain > 0) & (plain < 1 << fmt.facts.frac_bits)).sum() > 10  # subnormal ones


def test_every_bf16_and_fp16_pattern_is_converted():
    (question,) = asked(CONVERT, "exhaustive")
    codes = set(question.operands["codes"].tolist())
    assert {pattern << 16 for pattern in range(1 << 16)} <= codes
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    finite = halves[np.isfinite(halves)].astype(np.float32).view(np.uint32)
    assert set(finite.tolist()) <= codes
    (narrow,) = asked(form_of("convert/e2m1/rne/nvidia", "fp16"), "exhaustive")
    assert np.array_equal(narrow.operands["codes"], np.arange(1 << 16))


@pytest.mark.parametrize("source", ["fp32", "bf16", "fp16"])
def test_every_pattern_is_in_a_block(source):
    seen = set()
    for question in asked(form_of("quantize/nvfp4_te_ref", source), "exhaustive"):
        assert question.operands["x"].shape[1] % 16 == 0
        seen |= set(question.operands["x"].reshape(-1).tolist())
    shift = 16 if source == "fp32" else 0
    assert {pattern << shift for pattern in range(1 << 16)} <= seen


def test_tensors_carry_the_maximum_for_a_kernel_that_takes_its_own():
    source = get("format", "fp32")
    wanted = {int(question.operands["tensor_amax"]) for question in asked(NVFP4, "directed")}
    own = [question for question in asked(NVFP4, "directed", False) if "carrier" in question.why]
    assert own and all("tensor_amax" not in question.operands for question in own)
    assert {amax_bits(question.operands["x"], source) for question in own} <= wanted


def test_multiples_are_kept_and_padding_is_zero():
    for question in asked(NVFP4, "directed", multiple=(128, 64)):
        rows, columns = question.operands["x"].shape
        assert rows % 128 == 0 and columns % 64 == 0 and len(question.why) == rows
        assert not question.operands["x"][np.array(question.why) == "padding"].any()


CONTRACTS = (
    "decode/e2m1", "convert/e2m1/rne/nvidia", "convert/e4m3/rna/ocp_saturate", "convert/e2m1/sr_add8/nvidia",
    "convert/e2m1/sr_ptx_split8/nvidia", "quantize/nvfp4_te_ref", "quantize/mxfp4_torchao_floor", "quantize/ufp4_sr",
    "dequantize/nvfp4_te_ref/te", "transform/rht16_te", "quantize/hif4", "quantize/nvfp4_te_2d_ref", "quantize/if4_mse",
    "dot/blackwell_mxf4nvf4_b16_ue4m3",
)  # fmt: skip


@pytest.mark.cases(6)
@pytest.mark.parametrize("contract", CONTRACTS)
def test_the_quick_engine_says_what_the_reference_model_says_where_it_is_known(contract):
    form = form_of(contract)
    for question in asked(form, "directed"):
        exact, quick = (expect(form, question.operands, engine) for engine in ("exact", "auto"))
        for name, want in exact.arrays.items():
            known = exact.known.get(name, np.ones(want.shape, bool))
            assert np.array_equal(known, quick.known.get(name, np.ones(want.shape, bool)))
            same = (want == quick.arrays[name]) | ~known
            if derive.codes(get("format", "fp32")).bits == want.dtype.itemsize * 8:
                same |= (want & 0x7FFFFFFF > 0x7F800000) & (quick.arrays[name] & 0x7FFFFFFF > 0x7F800000)
            assert same.all(), name


def test_what_nobody_knows_is_masked_not_guessed():
    form = form_of("quantize/nvfp4_torchao")
    x = np.array([[0x7FC00000] + [0x3F800000] * 15], np.uint32)
    found = expect(form, {"x": x, "tensor_amax": np.array(0x3F800000, np.uint32)}, "auto")
    assert not found.known["codes"].all() and "scale" not in found.known and found.arrays["scale"][0, 0] == 0x7F
    with pytest.raises(OpenError):
        run_quantize(get("recipe", "nvfp4_torchao"), x, get("format", "fp32"), engine="auto", tensor_amax=0x3F800000)


@pytest.mark.parametrize("source", ["fp32", "bf16"])
def test_examples_of_the_recipe_are_asked(source):
    """Every whole worked example that the source can state, under its own tensor maximum."""
    form = form_of("quantize/nvfp4_f46_mse", source)
    found = {
        (tuple(row), int(question.operands["tensor_amax"]))
        for question in asked(form, "directed")
        if set(question.why) == {"example"}
        for row in question.operands["x"].tolist()
    }
    low = 16 if source == "bf16" else 0
    rows = [([int(word, 16) for word in row.x.split()], int(row.tensor_amax, 16)) for row in get("recipe", "nvfp4_f46_mse").expect]
    wanted = {(tuple(code >> low for code in x), amax) for x, amax in rows if not any(code & (1 << low) - 1 for code in x)}
    assert found == wanted and len(rows) - len(wanted) == (source == "bf16")
