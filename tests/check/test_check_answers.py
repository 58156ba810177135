"""What a kernel answers, as codes: bits that no code has, other shapes, layouts and dtypes are refused."""

import ml_dtypes
import numpy as np
import pytest

from emu.base.errors import TargetError
from emu.check.targets.answers import Reading, bits_of, named, read
from emu.contracts import form_of

FORM = form_of("quantize/nvfp4_te_ref")
OPERANDS = {"x": np.zeros((4, 48), np.uint32), "tensor_amax": np.array(0x40000000, np.uint32)}
CODES, SCALE = np.arange(192, dtype=np.uint8).reshape(4, 48) % 16, np.arange(12, dtype=np.uint8).reshape(4, 3)


def asked(reading=None, **answers):
    return read(answers, FORM, OPERANDS, reading or Reading(), None)[0]


def test_what_fits_is_read():
    found = asked(codes=CODES.astype(np.int64), scale=SCALE.view(ml_dtypes.float8_e4m3fn))
    assert np.array_equal(found["codes"], CODES) and np.array_equal(found["scale"], SCALE)


@pytest.mark.parametrize("kind", [np.uint8, np.int64, np.float32, ml_dtypes.bfloat16])
def test_an_answer_keeps_its_bits_when_its_memory_is_written_again(kind):
    answer = np.ones((2, 3), kind)
    bits, wanted = bits_of("codes", answer)[0], answer.copy()
    answer[...] = 0
    assert bits.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("code", [16, 31, -1, -128])
def test_bits_that_no_code_has_are_refused(code):
    codes = CODES.astype(np.int16)
    codes[2, 5] = code
    with pytest.raises(TargetError, match="codes holds"):
        asked(codes=codes)


def test_a_shape_is_the_contracts():
    assert np.array_equal(asked(scale=SCALE[..., None])["scale"], SCALE)
    for other in (SCALE.T, SCALE.reshape(2, 6), SCALE.reshape(-1)):
        with pytest.raises(TargetError, match="has shape"):
            asked(scale=np.ascontiguousarray(other))


def test_a_layout_with_too_few_scales_is_refused():
    reading = Reading(scale_layout="128x4")
    whole = np.arange(512, dtype=np.uint16).astype(np.uint8)
    wanted = asked(reading, scale=whole)["scale"]  # row r begins at 16 r: the last of 4 x 3 is the 51st
    assert wanted.reshape(-1).tolist() == [16 * row + column for row in range(4) for column in range(3)]
    assert np.array_equal(asked(reading, scale=whole[:51])["scale"], wanted)
    with pytest.raises(TargetError, match="too few"):
        asked(reading, scale=whole[:50])


def test_a_tuple_without_names_is_codes_then_levels_from_the_innermost():
    form = form_of("quantize/hif4")
    assert list(named((SCALE,) * 4, form, Reading())) == ["codes", "level4", "level8", "scale"]


@pytest.mark.parametrize("name", ["float8_e5m2", "float8_e8m0fnu", "bfloat16"])
def test_a_float_dtype_is_the_contracts(name):
    kind = np.dtype(getattr(ml_dtypes, name))
    with pytest.raises(TargetError, match="came as"):
        asked(scale=np.zeros((4, 3), kind))


@pytest.mark.parametrize(("found", "said"), [((CODES, SCALE), "tuple of 2"), (CODES, "ndarray")])
def test_an_answer_that_is_no_mapping_is_named(found, said):
    with pytest.raises(TargetError, match=f"it answered {said}, declared was a mapping with q$"):
        named(found, FORM, Reading(gives={"q": "codes"}))


@pytest.mark.parametrize("names", [("codes", "packed"), ("packed", "codes"), ("scale", "scales"), ("tensor", "tensor_scale")])
def test_two_names_of_one_answer_are_refused(names):
    with pytest.raises(TargetError, match=f"twice, as {names[0]} and {names[1]}"):
        asked(**dict.fromkeys(names, SCALE))


@pytest.mark.parametrize(("kind", "high"), [(np.uint16, 0x100), (np.int64, -1), (np.int32, 0x7FFFFF00), (np.int16, 256)])
def test_bits_above_two_packed_codes_are_refused(kind, high):
    packed = (CODES[:, 0::2] | CODES[:, 1::2] << 4).astype(kind)
    assert np.array_equal(asked(packed=packed)["codes"], CODES)
    packed[3, 23] = high if high < 0 else packed[3, 23] | high
    for name in ("packed", "codes"):
        with pytest.raises(TargetError, match="two codes are a byte"):
            asked(**{name: packed})


def test_packed_codes_are_bytes_of_either_sign():
    packed = CODES[:, 0::2] | CODES[:, 1::2] << 4
    assert np.array_equal(asked(packed=packed.view(np.int8))["codes"], CODES)


def test_what_is_masked_is_no_answer():
    masked = np.ma.masked_array(CODES, mask=np.zeros(CODES.shape, bool))
    assert np.array_equal(asked(codes=masked)["codes"], CODES)
    masked[3, 47] = np.ma.masked
    with pytest.raises(TargetError, match="codes is masked"):
        asked(codes=masked)


@pytest.mark.parametrize("kind", [">i4", ">u2", ">i8", "<i4"])
def test_integers_of_either_byte_order_are_read(kind):
    assert np.array_equal(bits_of("codes", CODES.astype(kind))[0], CODES)
    wide = form_of("decode/e2m1")
    found = read({"values": np.arange(5).astype(kind)}, wide, {"codes": np.zeros(5, np.uint8)}, Reading(), "fp32")[0]
    assert np.array_equal(found["values"], np.arange(5))


class Unreadable:
    """An answer that its library cannot hand out."""

    def __array__(self, *_args, **_options):
        raise RuntimeError("no data\non the device meta")


def test_an_answer_that_cannot_be_read_has_a_verdict():
    with pytest.raises(TargetError, match=r"codes is no array that can be read: RuntimeError: no data$") as found:
        asked(codes=Unreadable())
    assert found.value.verdict == "dtype"
