"""The conversion kernel against the NumPy engine and the exact engine: every 16-bit source, every decision point, specials, every form."""

from __future__ import annotations

import numpy as np
import pytest

import emu
from emu import strategies
from emu.base.errors import EmuError, EngineError, OpenError, OperandError
from emu.engines.exact.convert import convert_code
from emu.engines.native import convert as kernel
from emu.engines.native import tables as kernel_tables
from emu.engines.native._kernels import ffi, lib
from emu.engines.native.tables import thresholds_of
from emu.engines.numpy.convert import convert as convert_numpy
from emu.spec import derive, get, names

FORMS = range(kernel.BEST_FORM + 1)
FOUR_BITS = [name for name in names("format") if derive.codes(get("format", name)).bits == 4]
CODEBOOKS = [name for name in FOUR_BITS if get("format", name).facts.class_ == "codebook"]
ROUNDINGS = [name for name in names("rounding") if not get("rounding", name).random_bits]
SOURCES = ("fp32", "bf16", "fp16")
STEPS = [-3, 0, 3, *(sign * (1 << place) for sign in (1, -1) for place in range(23))]


def policies_of(fmt):
    """Return the policies that have an entry for a format."""
    found = []
    for name in names("policy"):
        try:
            derive.policy_entry(get("policy", name), fmt)
        except EmuError:
            continue
        found.append(get("policy", name))
    return found


def near_points(name):
    """Return binary32 codes of both signs: decision points +-3 and +-2^k, exponents +-1, every bf16 number, specials, random bits."""
    points = [np.float32(float(point)).view(np.uint32) for point in strategies.decision_points(get("format", name))]
    middle = np.array([int(code) + step for code in points for step in STEPS if int(code) + step >= 0], np.uint32)
    exponents = np.array([(field << 23) + step for field in range(1, 256) for step in (-1, 0, 1)], np.uint32)
    special = np.array([0, 1, 2, 0x7F7FFFFF, 0x7F800000, 0x7F800001, 0x7F80FFFF, 0x7FC00000, 0x7FFFFFFF], np.uint32)
    random = np.random.default_rng(44).integers(0, 1 << 31, 4096, dtype=np.uint32)
    every_bf16 = np.arange(1 << 15, dtype=np.uint32) << np.uint32(16)
    positive = np.concatenate([middle, exponents, special, random, every_bf16])
    return np.concatenate([positive, positive | np.uint32(1 << 31)])


def answer(work):
    """Return a result, or the class and text of what it raised."""
    try:
        return work().tolist()
    except EmuError as error:
        return type(error), str(error)


def test_kernel_takes_every_deterministic_conversion_to_a_regular_grid():
    fp32 = get("format", "fp32")
    supported = {
        (name, rounding)
        for name in FOUR_BITS
        for rounding in names("rounding")
        if kernel.can_convert(fp32, get("format", name), get("rounding", rounding), get("policy", "nvidia"))
    }
    assert supported == {(name, rounding) for name in FOUR_BITS if name not in CODEBOOKS for rounding in ROUNDINGS}
    assert len(supported) >= 30


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", FOUR_BITS)
def test_every_16_bit_source_and_every_decision_point(name, source):
    fmt, origin, compared = get("format", name), get("format", source), 0
    codes = near_points(name) if source == "fp32" else np.arange(1 << 16, dtype=np.uint16)
    for rounding in (get("rounding", rounding) for rounding in ROUNDINGS):
        for policy in policies_of(fmt):
            if not kernel.can_convert(origin, fmt, rounding, policy):
                unable = name in CODEBOOKS and (source == "fp32" or derive.needs_code_order(rounding))
                assert unable or derive.policy_entry(policy, fmt).overflow == "wrap"
                continue
            wanted = answer(lambda r=rounding, p=policy: convert_numpy(codes, origin, fmt, r, p))
            for form in FORMS:
                assert answer(lambda r=rounding, p=policy, f=form: kernel.convert(codes, origin, fmt, r, p, form=f)) == wanted
                compared += 1
    assert compared or (name in CODEBOOKS and source == "fp32")


@pytest.mark.cases(16)
@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("name", [name for name in FOUR_BITS if name not in CODEBOOKS])
def test_reference_model_at_every_decision_point(name, rounding):
    fmt, fp32, how, policy = get("format", name), get("format", "fp32"), get("rounding", rounding), get("policy", "nvidia")
    codes = np.concatenate([part[: part.size // 16] for part in np.split(near_points(name), 2)])  # decision points, exponents
    wanted = [convert_code(int(code), fp32, fmt, how, policy) for code in codes]
    for form in FORMS:
        assert kernel.convert(codes, fp32, fmt, how, policy, form=form).tolist() == wanted


@pytest.mark.parametrize("form", FORMS)
def test_lengths_alignments_and_packing(form):
    fp32, e2m1, rne, policy = get("format", "fp32"), get("format", "e2m1"), get("rounding", "rne"), get("policy", "nvidia")
    bits = np.random.default_rng(45).standard_normal(9000, dtype=np.float32).view(np.uint32) * 1
    wanted = convert_numpy(bits, fp32, e2m1, rne, policy)
    for start in (0, 1, 3):
        for count in (*range(70), 4095, 4096, 4097, 8191, 8193):
            part, want = bits[start : start + count], wanted[start : start + count]
            assert np.array_equal(kernel.convert(part, fp32, e2m1, rne, policy, form=form), want)
            packed = kernel.convert_packed(part, fp32, e2m1, rne, policy, form=form)
            both = np.concatenate([want, np.zeros(count % 2, np.uint8)])
            assert packed.tolist() == (both[0::2] | both[1::2] << 4).tolist()


def test_nothing_is_written_beyond_the_end():
    fp32, e2m1, rne = get("format", "fp32"), get("format", "e2m1"), get("rounding", "rne")
    thresholds = thresholds_of(fp32, e2m1, rne, derive.policy_entry(get("policy", "nvidia"), e2m1))
    x, marks = np.full(200, 0xC0E00000, np.uint32), ffi.new("uint8_t *")
    for form in FORMS:
        for packed in (0, 1):
            for count in range(130):
                out = np.full(200, 0xAA, np.uint8)
                error = lib.emu_convert_4bit(form, thresholds, 0, kernel.address(x), count, packed, kernel.address(out), marks)
                used = -(-count // 2) if packed else count
                assert error == 0 and (out[used:] == 0xAA).all() and (out[:used] != 0xAA).all()


@pytest.mark.parametrize("engine", ["native", "auto"])
def test_open_results_name_their_element(engine):
    x = np.zeros(5000, np.float32)
    x[[4097, 4999]] = np.nan
    with pytest.raises(OpenError, match=r"^convert/e2m1/rne/ocp_saturate: the code of element 4097 is open"):
        emu.convert(x, "e2m1", policy="ocp_saturate", engine=engine)
    assert emu.convert(x[:4097], "e2m1", policy="ocp_saturate", engine=engine).max() == 0


def test_public_convert_takes_the_kernel_for_any_shape():
    x = np.arange(-8, 8, 0.25, dtype=np.float32).reshape(4, 4, 4)
    for view in (x, x.T, x[::2, ::-1], np.asfortranarray(x), x[0, 0, 0], x[:0]):
        assert emu.convert(view, "e1m2", engine="native").tolist() == emu.convert(view, "e1m2", engine="exact").tolist()
        assert emu.convert(view, "e1m2").shape == view.shape


def test_what_the_kernel_cannot_do_is_refused():
    x = np.ones(4, np.float32)
    with pytest.raises(EngineError, match="engine native cannot convert this: use numpy or exact or c_ref"):
        emu.convert(x, "nf4", engine="native")
    with pytest.raises(EngineError, match="engine native cannot convert this"):
        emu.convert(x, "e2m1", rounding="sr_add8", random=np.zeros(4, np.uint8), engine="native")
    with pytest.raises(EngineError, match="engine native cannot convert this"):
        emu.convert(x.astype(np.float64), "e2m1", engine="native")
    with pytest.raises(OperandError, match="draws nothing"):
        emu.convert(x, "e2m1", random=np.zeros(4, np.uint8), engine="native")
    facts = get("format", "fp32"), get("format", "e2m1"), get("rounding", "rne"), get("policy", "nvidia")
    with pytest.raises(EngineError, match="lacks the instructions"):
        kernel.convert(x.view(np.uint32), *facts, form=lib.EMU_AVX512 + 1)


@pytest.mark.parametrize(
    ("name", "wanted"), [("e2m1", True), ("ue4m3", True), ("e8m0", True), ("int4", True), ("nf4", False), ("fp16", False)]
)
def test_which_formats_decide_by_bf16(name, wanted):
    fmt = get("format", name)
    assert kernel_tables.decides_by_bf16(fmt, get("rounding", "rne"), derive.EntryCodes("saturate", (0, 0))) is wanted
