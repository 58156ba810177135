"""identify of whatever a kernel may answer: a name or one line. Nothing ends in an error that is not emu's own."""

from contextlib import contextmanager

import ml_dtypes
import numpy as np
import pytest

import emu
from emu.base.errors import EmuError
from emu.check.targets.answers import ANY_SHAPE
from emu.check.targets.python import python_target
from emu.cli.main import run
from emu.engines.numpy.layout import places
from emu.identify.run import identify
from emu.identify.signatures import contracts_of, identify_any
from emu.spec import get


def finite(x):
    return np.nan_to_num(x, nan=0, posinf=2.0**60, neginf=-(2.0**60))


def quantized(x, recipe="mxfp4_te_pow2", **operands):
    found = emu.quantize(finite(x), recipe, **operands)
    return found.codes, next(level.codes for level in found.levels if level.name == "scale")


def in_tiles(scale):
    """Return scales as a flat array in tiles of 128 x 4, with padding."""
    out = np.zeros((-(-scale.shape[0] // 128) * 128) * (-(-scale.shape[1] // 4) * 4), scale.dtype)
    out[places(*scale.shape, get("layout", "sf128x4"))] = scale
    return out


def rearranged(arranged, codes, scale):
    return codes, arranged(scale)


def zeros(x, dtype=np.uint8):
    return np.zeros(x.shape, dtype)


ANSWERS = {
    "None": lambda x: None,
    "a string": lambda x: "codes",
    "bytes": lambda x: b"ab",
    "a number": lambda x: 7,
    "NaN": lambda x: np.float32(np.nan),
    "a list": lambda x: [1, 2, 3],
    "an empty list": lambda x: [],
    "a ragged list": lambda x: [[1, 2], [3]],
    "a set": lambda x: {1, 2},
    "a generator": lambda x: (item for item in range(3)),
    "a type": lambda x: int,
    "an empty array": lambda x: np.zeros(0, np.uint8),
    "no rows": lambda x: np.zeros((0, 64), np.uint8),
    "half of the columns": lambda x: zeros(x)[:, : x.shape[1] // 2 - 1],
    "one row": lambda x: zeros(x)[:1],
    "four axes": lambda x: quantized(x)[0][None, :, :, None],
    "objects": lambda x: np.array([None] * 3, object),
    "strings": lambda x: np.array(["a", "b"]),
    "records": lambda x: np.zeros(3, [("a", "u1"), ("b", "f4")]),
    "dates": lambda x: zeros(x, "M8[s]"),
    "complex numbers": lambda x: x.astype(np.complex64),
    "booleans": lambda x: x > 0,
    "negative codes": lambda x: zeros(x, np.int64) - 9,
    "codes of 60 bits": lambda x: zeros(x, np.int64) + (1 << 60),
    "codes of binary32": lambda x: x.view(np.uint32),
    "binary64": lambda x: x.astype(np.float64),
    "a masked array": lambda x: np.ma.masked_array(x, x > 0),
    "an empty mapping": lambda x: {},
    "unknown names": lambda x: {"foo": x},
    "names that are no strings": lambda x: {0: x, None: x},
    "codes that are None": lambda x: {"codes": None},
    "codes twice": lambda x: {"codes": zeros(x), "out": zeros(x)},
    "scales alone": lambda x: {"scale": quantized(x)[1]},
    "a pair of None": lambda x: (None, None),
    "pairs of pairs": lambda x: ((x, x), (x,)),
    "eleven arrays": lambda x: (x,) * 11,
    "no scale": lambda x: (quantized(x)[0], None),
    "an empty scale": lambda x: (quantized(x)[0], np.zeros(0, np.uint8)),
    "a string as a scale": lambda x: (quantized(x)[0], "s"),
    "scales of NaN": lambda x: (quantized(x)[0], np.full(quantized(x)[1].shape, np.nan, np.float32)),
    "scales before codes": lambda x: quantized(x)[::-1],
    "of two operands": lambda codes, scale: codes * scale,
    "of no operand": lambda: 1,
    "an exception": lambda x: 1 / 0,
    "the end of an iterator": lambda x: next(iter([])),
}
AMONG = {"quantize": None, "convert": None, "decode": None, "transform": None, "dot": ["blackwell_mxf4nvf4_b16_ue4m3"], "dequantize": None}


def found_of(kernel, op="quantize"):
    """Return what the command finds of a kernel without a word on its layout."""

    @contextmanager
    def opened(contract):
        yield python_target(kernel, contract, name="kernel", scale_layout=ANY_SHAPE)

    return identify_any(contracts_of(op, AMONG[op]), opened, AMONG[op])


def found_or_refused(kernel, op="quantize"):
    """Return what is found, and None; or None and the one line."""
    try:
        return found_of(kernel, op), None
    except EmuError as error:
        return None, error


def is_one_line(error):
    return bool(str(error)) and "\n" not in str(error)


def is_nearest(found):
    return found.exit_code == 1 and found.kind == "nearest" and bool(found.json())


@pytest.mark.cases(75)
@pytest.mark.parametrize("op", ["quantize", "convert", "decode", "transform", "dot"])
@pytest.mark.parametrize("what", ANSWERS)
def test_what_is_no_answer_is_one_line(what, op):
    """Also where such an answer is taken as a row of what was asked: then it is nothing documented."""
    found, error = found_or_refused(ANSWERS[what], op)
    assert is_one_line(error) if found is None else is_nearest(found)


@pytest.mark.exhaustive
@pytest.mark.parametrize("what", ["None", "an empty list", "codes of 60 bits", "of two operands"])
def test_what_is_no_answer_of_a_dequantize_kernel_is_one_line(what):
    """The product of float codes and float scales is an answer in the dtype of the scales: nothing documented."""
    found, error = found_or_refused(ANSWERS[what], "dequantize")
    assert is_nearest(found) if what == "of two operands" else is_one_line(error)


KERNELS = {
    "e2m1": (lambda x: emu.convert(x, "e2m1"), "convert/e2m1/rne/"),
    "e4m3": (lambda x: emu.convert(x, "e4m3"), "convert/e4m3/rne/"),
    "e5m2 of a dtype": (lambda x: emu.convert(x, "e5m2").view(ml_dtypes.float8_e5m2), "convert/e5m2/rne/"),
    "mxfp4 tiles": (lambda x: rearranged(in_tiles, *quantized(x)), "mxfp4_te_pow2"),
    "mxfp4 in a row": (lambda x: rearranged(np.ravel, *quantized(x)), "mxfp4_te_pow2"),
    "mxfp4 mapping": (lambda x: dict(zip(("codes", "scales"), quantized(x), strict=True)), "mxfp4_te_pow2"),
    "mxfp6": (lambda x: quantized(x, "mxfp6_e2m3_torchao_floor"), "mxfp6_e2m3_torchao_floor"),
    "mxfp8": (lambda x: quantized(x, "mxfp8_e4m3_torchao_floor"), "mxfp8_e4m3_torchao_floor"),
    "int8": (lambda x: np.clip(finite(x), -127, 127).astype(np.int8), ""),
    "codes of a quantizer": (lambda x: quantized(x)[0], ""),
    "codes of zero": (lambda x: (zeros(x), np.zeros((x.shape[0], x.shape[1] // 32), np.uint8)), ""),
    "values as they came": (lambda x: x.copy(), ""),
    "values of NaN": (lambda x: np.full(x.shape, np.nan, np.float32), ""),
    "a scale for all": (lambda x: (zeros(x), np.uint8(0)), ""),
}


@pytest.mark.cases(3)
@pytest.mark.parametrize("what", KERNELS)
def test_kernels_of_every_kind_are_named_or_nearest(what):
    """Nothing says which operation it is; a kernel that has finite numbers for NaN is near its recipe."""
    kernel, name = KERNELS[what]
    found, error = found_or_refused(kernel)
    if found is None:
        assert not name and is_one_line(error), str(error)
    else:
        assert found.found[0].startswith(name) and found.exit_code == (0 if found.kind == "documented" else 1), found.text()


def arranged_by(arranged):
    def kernel(x):
        found = emu.quantize(x, "mxfp4_te_pow2")
        return found.codes, arranged(found.levels[0].codes)

    return kernel


@pytest.mark.parametrize(
    ("arranged", "said"),
    [
        (in_tiles, "sf128x4"),
        (lambda scale: in_tiles(scale).reshape(-1, 32, 4, 4), "sf128x4"),
        (lambda scale: scale.reshape(-1), "row_major"),
        (lambda scale: np.ascontiguousarray(scale.T), "transposed in memory"),
    ],
)
def test_scales_of_any_shape_are_read_as_they_lie(arranged, said):
    target = python_target(arranged_by(arranged), "quantize/mxfp4_te_pow2", scale_layout=ANY_SHAPE)
    found = identify(target, among=["mxfp4_te_pow2"])
    assert (found.kind, found.found[0]) == ("documented", "mxfp4_te_pow2"), found.text()
    assert {axis.axis: axis.finding for axis in found.axes}["scales"] == said


def test_scales_of_any_shape_are_of_identify_alone():
    """A kernel whose layout nobody stated does not pass a check by accident: its shape is refused."""
    x = np.ones((128, 128), np.float32)
    with pytest.raises(EmuError, match=r"scale has shape \(512,\), the contract says \(128, 4\)"):
        python_target(arranged_by(in_tiles), "quantize/mxfp4_te_pow2")({"x": x.view(np.uint32)})


@pytest.mark.exhaustive
def test_flat_tiles_are_found_by_the_command(tmp_path, capsys):
    lines = (
        "import numpy as np, emu", "from emu.spec import get", "from emu.engines.numpy.layout import places", "def f(x):",
        " q = emu.quantize(x, 'mxfp4_te_pow2')", " s = q.levels[0].codes",
        " out = np.zeros(-(-s.shape[0] // 128) * 128 * -(-s.shape[1] // 4) * 4, np.uint8)",
        " out[places(*s.shape, get('layout', 'sf128x4'))] = s", " return q.codes, out",
    )  # fmt: skip
    (tmp_path / "k.py").write_text("\n".join(lines) + "\n")
    assert run(["identify", f"{tmp_path / 'k.py'}:f"]) == 0
    said = capsys.readouterr().out
    assert "documented as: mxfp4_te_pow2" in said and "layout, scales: sf128x4" in said


def test_the_fault_is_that_of_the_form_which_was_answered_most():
    """An MXFP8 kernel that raises on NaN is told of that, not of the widths of other forms' codes."""

    def kernel(x):
        if np.isnan(x).any():
            raise ValueError("of a kind")
        return quantized(x, "mxfp8_e4m3_torchao_floor")

    with pytest.raises(EmuError, match=r"ValueError: of a kind \(asked as quantize/mxfp8_e4m3_comfy; no form of \d+ fits"):
        found_of(kernel)
