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
