"""Python targets end to end: every way to answer, right kernels pass, wrong ones are named, misbehaviour has verdicts."""

import itertools
import time

import ml_dtypes
import numpy as np
import pytest

import emu
from emu.base.errors import OperandError, SpecError
from emu.check.judge import judge
from emu.check.report.model import CLASSES
from emu.contracts import form_of
from emu.contracts.form import Expected
from emu.contracts.quantize.steps import code_text
from emu.spec import derive, get
from emu.testing import check

CONVERT, NVFP4, MXFP4 = "convert/e2m1/rne/nvidia", "quantize/nvfp4_te_ref", "quantize/mxfp4_te_pow2"
DIRECTED = {"suites": ("directed",)}


def nvfp4(x, tensor_amax):
    return emu.quantize(x, "nvfp4_te_ref", tensor_amax=tensor_amax)


def swapped(x, tensor_amax):
    packed, scales = nvfp4(x, tensor_amax).pack(), nvfp4(x, tensor_amax).scales
    return (packed >> 4 | packed << 4).astype(np.uint8), scales


RIGHT = {
    "codes": (lambda x: emu.convert(x, "e2m1"), CONVERT, {}),
    "bits": (lambda x: emu.convert(x, "e2m1", source="fp32"), CONVERT, {"takes": "numpy.bits"}),
    "bf16": (lambda x: emu.convert(x, "e2m1"), CONVERT, {"takes": "numpy.bf16"}),
    "random": (lambda x, random: emu.convert(x, "e2m1", rounding="sr_add8", random=random), "convert/e2m1/sr_add8/nvidia", {}),
    "quantized": (nvfp4, NVFP4, {}),
    "own maximum": (lambda x: emu.quantize(x, "nvfp4_te_ref"), NVFP4, {}),
    "packed pair": (lambda x, tensor_amax: (nvfp4(x, tensor_amax).pack(), nvfp4(x, tensor_amax).scales), NVFP4, {}),
    "high nibble": (swapped, NVFP4, {"packing": "high_nibble_first"}),
    "mapping": (
        lambda x, tensor_amax: {"q": nvfp4(x, tensor_amax).codes, "s": nvfp4(x, tensor_amax).scales},
        NVFP4,
        {"gives": {"q": "codes", "s": "scale"}},
    ),
    "values": (lambda x, tensor_amax: nvfp4(x, tensor_amax).dequantize(), NVFP4, {}),
    "values bf16": (lambda x, tensor_amax: nvfp4(x, tensor_amax).dequantize("bfloat16"), NVFP4, {}),
    "ml_dtypes": (lambda x: emu.convert(x, "e2m1").view(ml_dtypes.float4_e2m1fn), CONVERT, {}),
    "decode": (lambda codes: emu.decode(codes, "e2m1"), "decode/e2m1", {}),
    "transform": (lambda x: emu.transform(x, "rht16_te"), "transform/rht16_te", {}),
    "mx": (lambda x: emu.quantize(x, "mxfp4_te_pow2"), MXFP4, {}),
}


def least(contract):
    """How many answers a check compares at the least: the rows of decode are every code of a format."""
    form = form_of(contract)
    return 1 << derive.codes(form.operands[form.main]).bits if form.op == "decode" else 31


@pytest.mark.cases(3)
@pytest.mark.parametrize("name", RIGHT)
def test_a_right_kernel_passes_whatever_it_answers(name):
    fn, contract, adapter = RIGHT[name]
    report = check(fn, contract, name=name, **DIRECTED, **adapter)
    assert report.verdict == "pass" and report.exit_code == 0 and report.compared >= least(contract) and not report.failures


FORMATS = {"float16": "fp16", "bfloat16": "bf16", "float32": "fp32"}


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("contract", ["decode/e4m3", "dequantize/mxfp4_te_pow2/exact", "quantize/mxfp4_te_pow2"])
def test_wrong_values_are_judged_in_the_format_that_they_came_in(contract, dtype):
    """A kernel gives the largest finite number for all: the report shows its code in the format of the dtype."""
    top = ml_dtypes.finfo(dtype).max
    report = check(lambda *operands: np.full(operands[0].shape, top, dtype), contract, raises=False, **DIRECTED)
    shown = code_text(int(np.array(top).view(f"u{top.nbytes}")), get("format", FORMATS[dtype]))
    assert report.verdict == "differs" and {failure.example.got for failure in report.failures} == {shown}, report.text()


def test_all_suites_compare_what_they_promise():
    report = check(lambda x: emu.convert(x, "e2m1"), CONVERT)
    assert report.suites == {"directed": 1420, "exhaustive": 2 << 16, "stratified": 1 << 16, "shapes": 4266548}
    assert report.engines["directed"] == "exact" and report.compared == sum(report.suites.values())


def test_a_dot_kernel_is_asked_by_operand_names():
    datapath = "blackwell_mxf4nvf4_b16_ue4m3"
    asked = []

    def dot(a, b, scale_a, scale_b, c):
        asked.append(a.shape)
        unused = ((scale_a | scale_b) & 0x80).any(axis=1)  # open rows: whatever is answered is not compared
        found = emu.dot(a, b, datapath, scale_a & 0x7F, scale_b & 0x7F, c)
        return np.where(unused, 0, found).view(np.float32)

    assert check(dot, f"dot/{datapath}", **DIRECTED).compared > 1000
    assert asked[0][1] == 64


def test_dequantize_takes_levels_by_name():
    def dequantize(codes, scale, tensor):
        factor = emu.decode(scale & 0x7F, "ue4m3") * np.float32(tensor) * np.array(0x39C30C31, np.uint32).view(np.float32)
        return emu.decode(codes, "e2m1") * np.repeat(factor, 16, axis=1)

    with np.errstate(all="ignore"):
        report = check(dequantize, "dequantize/nvfp4_te_ref/te", raises=False)
    assert report.verdict == "pass" and report.compared > 1 << 16


def wrong_tie(x):
    return emu.convert(x, "e2m1", rounding="rna")


def through_bf16(x):
    return emu.convert(x.astype(ml_dtypes.bfloat16), "e2m1")


def wraps(x):
    big = np.abs(x) > 7
    return np.where(big & np.isfinite(x), 0, emu.convert(x, "e2m1")).astype(np.uint8)


def loses_minus_zero(x):
    codes = emu.convert(x, "e2m1")
    return np.where(codes == 8, 0, codes)


def nan_to_zero(x):
    return np.where(np.isnan(x), 0, emu.convert(x, "e2m1")).astype(np.uint8)


def inf_to_zero(x):
    return np.where(np.isinf(x), 0, emu.convert(x, "e2m1")).astype(np.uint8)


def drops_sign(x):
    return emu.convert(x, "e2m1") & 7


def flushes(x):
    tiny = np.abs(x) < np.float32(2) ** -126
    return np.where(tiny, 0, emu.convert(x, "e4m3")).astype(np.uint8)


WRONG_CONVERT = {
    wrong_tie: ({"tie"}, 0x40200000),
    through_bf16: ({"double_rounding"}, None),
    wraps: ({"overflow"}, None),
    loses_minus_zero: ({"minus_zero"}, None),
    nan_to_zero: ({"nan"}, None),
    inf_to_zero: ({"inf"}, 0x7F800000),
    drops_sign: ({"minus_zero", "sign", "inf"}, None),
}


@pytest.mark.parametrize("fn", WRONG_CONVERT, ids=lambda fn: fn.__name__)
def test_a_wrong_conversion_is_named_and_explained(fn):
    classes, smallest = WRONG_CONVERT[fn]
    report = check(fn, CONVERT, raises=False, **DIRECTED)
    assert report.verdict == "differs" and report.exit_code == 1
    assert {failure.name for failure in report.failures} == classes
    first = report.failures[0].example
    if smallest is not None:
        assert int(first.operands["codes"], 16) == smallest
    assert first.steps[0].startswith("decode") and first.steps[-1].startswith("result") and first.want != first.got
    assert sum(failure.count for failure in report.failures) == report.differing


def test_raises_hands_the_text_over():
    with pytest.raises(AssertionError, match="DIFFERS in 8 of 1420 codes") as caught:
        check(wrong_tie, CONVERT, **DIRECTED)
    assert "contract says 0x4 (2), kernel gave 0x5 (3)" in str(caught.value)


def reference(x, tensor_amax, divide=False, rounding="rne"):
    """NVFP4 of Transformer Engine's reference, step by step on binary32."""
    fp32 = np.float32
    width = x.shape[1]
    x = np.pad(x, ((0, 0), (0, -width % 16)))
    most, limit = fp32(np.finfo(np.float32).max), fp32(448)
    with np.errstate(all="ignore"):
        multiplier = np.minimum(fp32(2688) / fp32(tensor_amax), most)
        multiplier = fp32(1) if multiplier == 0 else multiplier
        blocks = x.reshape(len(x), -1, 16)
        amax = np.abs(blocks).max(axis=2)
        raw = amax * multiplier / fp32(6) if divide else amax * (multiplier * np.array(0x3E2AAAAB, np.uint32).view(fp32))
        scale = emu.convert(np.clip(np.minimum(raw, most), -limit, limit), "ue4m3")
        factor = emu.decode(scale, "ue4m3") * (fp32(1) / multiplier)
        scaled = np.clip(blocks * np.minimum(fp32(1) / factor, most)[..., None], fp32(-6), fp32(6))
        scaled = np.where(scaled == 0, fp32(0), scaled)
        codes = np.where(np.isnan(scaled), 0, emu.convert(scaled, "e2m1", rounding=rounding))
    return codes.reshape(len(x), -1)[:, :width].astype(np.uint8), scale


def test_a_kernel_written_by_hand_passes():
    assert check(reference, NVFP4).verdict == "pass"


@pytest.mark.exhaustive
def test_a_division_for_a_reciprocal_is_a_scale_failure_of_one_element():
    report = check(lambda x, tensor_amax: reference(x, tensor_amax, divide=True), NVFP4, raises=False, wants=("tensor_amax",))
    assert {failure.stage for failure in report.failures} == {"scale"}
    example = next(failure.example for failure in report.failures if failure.name == "scale")
    elements = example.operands["x"].split()
    assert len(elements) == 16 and elements.count("00000000") == 15
    assert example.steps[-1].startswith("scale = cast(scale_clamped) = ")


def test_codes_under_a_wrong_scale_are_a_consequence():
    form = form_of(NVFP4)
    codes, scale, tensor = np.zeros((2, 32), np.uint8), np.full((2, 2), 0x38, np.uint8), np.array(0, np.uint32)
    wrong_codes, wrong_scale = codes.copy(), scale.copy()
    wrong_codes[0, 3], wrong_codes[1, 20], wrong_scale[0, 0] = 1, 1, 0x39
    found = judge(form, Expected({"codes": codes, "scale": scale, "tensor": tensor}, {}), {"codes": wrong_codes, "scale": wrong_scale})
    assert [(item.name, np.argwhere(item.wrong).tolist()) for item in found.differences] == [("scale", [[0, 0]]), ("codes", [[1, 20]])]
    assert (found.compared, found.hidden) == (64 + 4 - 16, 16)
    found = judge(form, Expected({"codes": codes, "scale": scale}, {"codes": np.zeros((2, 32), bool)}), {"codes": wrong_codes})
    assert found.compared == 0 and not found.differences  # nothing is known, nothing is compared


def test_nibble_order_and_layout_are_named_as_such():
    report = check(swapped, NVFP4, raises=False, **DIRECTED)
    assert [failure.name for failure in report.failures] == ["nibble_order"]

    def transposed(x, tensor_amax):
        codes, scale = reference(x, tensor_amax)
        return codes, np.ascontiguousarray(scale.T).reshape(scale.shape)

    report = check(transposed, NVFP4, raises=False, suites=("stratified",))
    assert [failure.name for failure in report.failures] == ["layout"]


def test_a_swizzled_scale_is_read_when_it_is_declared():
    from emu.engines.numpy.layout import places
    from emu.spec import get

    def swizzled(x, tensor_amax):
        codes, scale = reference(x, tensor_amax)
        memory = np.zeros(-(-scale.shape[0] // 128) * -(-scale.shape[1] // 4) * 512, np.uint8)
        memory[places(*scale.shape, get("layout", "sf128x4"))] = scale
        return codes, memory

    assert check(swizzled, NVFP4, scale_layout="128x4", suites=("stratified",)).verdict == "pass"
    assert check(swizzled, NVFP4, suites=("stratified",), raises=False).verdict == "shape"


@pytest.mark.exhaustive
def test_shrinking_finds_the_known_minimal_case():
    """A kernel that is wrong where lane 5 is negative and lane 9 is not zero shrinks to these two elements, both powers of two."""

    def wrong(x, tensor_amax):
        codes, scale = reference(x, tensor_amax)
        wide = np.pad(codes, ((0, 0), (0, -codes.shape[1] % 16))).reshape(len(codes), -1, 16)
        source = np.pad(x, ((0, 0), (0, -x.shape[1] % 16))).reshape(len(x), -1, 16)
        bad = (source[..., 5] < 0) & (source[..., 9] != 0) & (wide[..., 9] & 7 == 7)
        wide[..., 9] ^= bad.astype(np.uint8)
        return wide.reshape(len(codes), -1)[:, : codes.shape[1]], scale

    report = check(wrong, NVFP4, raises=False)
    examples = [failure.example for failure in report.failures if len(failure.example.operands["x"].split()) == 16]
    for example in examples:
        words = example.operands["x"].split()
        assert [place for place, word in enumerate(words) if word != "00000000"] == [5, 9] and example.calls <= 600
        assert all(int(word, 16) & 0x7FFFFF == 0 for word in words) or example.why == "decision"  # beside a change every bit counts
    assert examples


def test_a_counterexample_is_left_with_what_the_fault_needs():
    """A kernel that is wrong where lanes 3 and 20 are not zero: these two elements stay, of plain numbers two ones."""

    def wrong(x):
        found = emu.quantize(x, "mxfp4_te_pow2")
        bad = (np.arange(x.shape[1]) == 20) & (x != 0) & (x[:, 3:4] != 0).any(axis=1, keepdims=True)
        return found.codes ^ bad.astype(np.uint8), found.scales

    report = check(wrong, MXFP4, suites=("directed",), raises=False)
    found = {failure.name: failure.example.operands["x"].split() for failure in report.failures}
    places = {name: {place: word for place, word in enumerate(words) if word != "00000000"} for name, words in found.items()}
    assert places["code"] == {3: "3F800000", 20: "3F800000"} and {"subnormal", "tie", "double_rounding"} < places.keys()
    assert all(words.keys() == {3, 20} for name, words in places.items() if name != "inf")  # Inf is beside them: it makes the class


def misbehaves(kind):
    count = itertools.count()

    def fn(x):
        codes = emu.convert(x, "e2m1")
        if kind == "raises":
            raise ZeroDivisionError("oops")
        if kind == "mutates":
            x[...] = 0
        if kind == "unstable":
            return codes ^ np.uint8(next(count) % 2)
        if kind == "hangs":
            time.sleep(60)
        return {"shape": codes[1:], "dtype": codes.astype(np.float32)}.get(kind, codes)

    return fn


@pytest.mark.parametrize("kind", ["raises", "mutates", "unstable", "shape", "dtype", "hangs"])
def test_misbehaviour_has_a_verdict_of_its_own(kind):
    limit = {"seconds": 1} if kind == "hangs" else {}
    report = check(misbehaves(kind), CONVERT, raises=False, **DIRECTED, **limit)
    assert report.verdict == kind and report.exit_code == 1 and report.message
    assert report.message in report.text()


def test_a_forked_kernel_answers_like_one_in_this_process():
    assert check(wrong_tie, CONVERT, raises=False, seconds=30, **DIRECTED).differing == 8


def test_nothing_compared_is_a_verdict():
    report = check(lambda codes: emu.decode(codes, "e2m1"), "decode/e2m1", suites=("stratified",), raises=False)
    assert report.verdict == "nothing" and report.exit_code == 3
    with pytest.raises(AssertionError, match="NOTHING"):
        check(lambda codes: emu.decode(codes, "e2m1"), "decode/e2m1", suites=("stratified",))


@pytest.mark.parametrize(
    ("contract", "options", "error", "words"),
    [
        ("quantize/nothing", {}, SpecError, "nothing"),
        ("layout/nvfp4/row_major", {}, SpecError, "layout is not judged here"),
        (CONVERT, {"takes": "numpy.fp8"}, OperandError, "takes 'numpy.fp8' is unknown"),
        (CONVERT, {"packing": "middle"}, OperandError, "packing 'middle' is unknown"),
        (CONVERT, {"scale_layout": "64x4"}, OperandError, "scale_layout '64x4' is unknown"),
        (CONVERT, {"wants": ("seed",)}, OperandError, "wants 'seed' is unknown"),
        (CONVERT, {"suites": ("all",)}, OperandError, "suite 'all' is unknown"),
    ],
)
def test_a_call_without_meaning_is_refused(contract, options, error, words):
    with pytest.raises(error, match=words):
        check(lambda x: x, contract, **options)


def test_integers_as_values_ask_for_a_declaration():
    report = check(lambda x, tensor_amax: nvfp4(x, tensor_amax).dequantize().view(np.uint32), NVFP4, gives="values", raises=False)
    assert report.verdict == "dtype" and "declare their format with result=" in report.message
    report = check(
        lambda x, tensor_amax: nvfp4(x, tensor_amax).dequantize().view(np.uint32), NVFP4, gives="values", result="fp32", **DIRECTED
    )
    assert report.verdict == "pass"


def test_every_class_has_a_text():
    assert all(text and text.isprintable() for text in CLASSES.values())
