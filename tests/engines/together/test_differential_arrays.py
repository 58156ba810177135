"""However the memory of an operand lies, every public function gives the bits of the plain copy, or refuses both alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import emu
from emu.engines.table import ENGINES

Array = np.ndarray[Any, Any]
X = np.linspace(-7, 7, 4 * 64, dtype=np.float32).reshape(4, 64)
CODES = (np.arange(4 * 64) * 7 % 16).astype(np.uint8).reshape(4, 64)
WORDS = (np.arange(4 * 64) * 37 % 256).reshape(4, 64)
Q = emu.quantize(X, "nvfp4_te_ref")
CONVERT_TO = emu.instruction("cvt.rn.satfinite.e1m2x2.f32")


def by_columns(array: Array) -> Array:
    return np.asfortranarray(array)


def reversed_in_memory(array: Array) -> Array:
    """Every axis the other way round in memory; an axis of one element too, whose stride NumPy else hides."""
    turned = array[(slice(None, None, -1),) * array.ndim].copy()
    return turned[(slice(None, None, -1),) * array.ndim]


def every_second(array: Array) -> Array:
    wide = np.zeros(tuple(2 * length for length in array.shape), array.dtype)
    wide[(slice(None, None, 2),) * array.ndim] = array
    return wide[(slice(None, None, 2),) * array.ndim]


def other_byte_order(array: Array) -> Array:
    return array.astype(array.dtype.newbyteorder(">"))


def read_only(array: Array) -> Array:
    array = array.copy()
    array.setflags(write=False)
    return array


def unaligned(array: Array) -> Array:
    room = np.zeros(array.nbytes + 1, np.uint8)
    place = room[1:].view(array.dtype).reshape(array.shape)
    place[...] = array
    return place


LIES: dict[str, Callable[[Array], Array]] = {
    f.__name__: f for f in (by_columns, reversed_in_memory, every_second, other_byte_order, read_only, unaligned)
}


def of_width(codes: Array, bits: int = 32, sign: str = "u") -> Array:
    """Integers wide enough to have a byte order."""
    return codes.astype(f"{sign}{bits // 8}")


# name -> operands, and the call on them: engine, jobs, operands.
Call = Callable[[str, int, Mapping[str, Array]], Any]
CALLS: dict[str, tuple[dict[str, Array], Call]] = {
    "decode": ({"codes": of_width(CODES)}, lambda e, j, o: emu.decode(o["codes"], "e2m1")),
    "decode bytes": ({"codes": CODES}, lambda e, j, o: emu.decode(o["codes"], "e4m3")),
    "decode signed": ({"codes": of_width(CODES, 16, "i")}, lambda e, j, o: emu.decode(o["codes"], "e2m1", np.float64)),
    "convert": ({"x": X}, lambda e, j, o: emu.convert(o["x"], "e2m1", engine=e, jobs=j)),
    "convert half": ({"x": X.astype(np.float16)}, lambda e, j, o: emu.convert(o["x"], "e4m3", engine=e, jobs=j)),
    "convert double": ({"x": X.astype(np.float64)}, lambda e, j, o: emu.convert(o["x"], "e2m1", "rz", engine=e, jobs=j)),
    "convert drawn": (
        {"x": X, "random": of_width(WORDS, 16)},
        lambda e, j, o: emu.convert(o["x"], "e2m1", "sr_add16", random=o["random"], engine=e, jobs=j)),
    "convert signed words": (
        {"x": X, "random": of_width(WORDS, 32, "i")},
        lambda e, j, o: emu.convert(o["x"], "e2m1", "sr_add8", random=o["random"], engine=e, jobs=j)),
    "convert codes": (
        {"x": of_width(CODES, 64, "i")}, lambda e, j, o: emu.convert(o["x"], "fp32", source="e2m1", engine=e, jobs=j)),
    "amax": ({"x": X}, lambda e, j, o: emu.amax(o["x"])),
    "amax double": ({"x": X.astype(np.float16).astype(np.float64)}, lambda e, j, o: emu.amax(o["x"])),
    "quantize": ({"x": X}, lambda e, j, o: emu.quantize(o["x"], "nvfp4_te_ref", engine=e, jobs=j)),
    "quantize columns": ({"x": X.T.copy()}, lambda e, j, o: emu.quantize(o["x"], "mxfp4_torchao_floor", axis=0, engine=e, jobs=j)),
    "quantize drawn": (
        {"x": X, "random": of_width(WORDS, 16)},
        lambda e, j, o: emu.quantize(o["x"], "ufp4_sr", random=o["random"], engine=e, jobs=j)),
    "quantize maximum": (
        {"x": X, "amax": np.array([7], np.float32)},
        lambda e, j, o: emu.quantize(o["x"], "nvfp4_te_ref", tensor_amax=o["amax"], engine=e, jobs=j)),
    "dequantize": (
        {"codes": of_width(Q.codes, sign="i"), **{level.name: of_width(level.codes, sign="i") for level in Q.levels}},
        lambda e, j, o: emu.dequantize(
            replace(Q, codes=o["codes"], levels=tuple(replace(level, codes=o[level.name]) for level in Q.levels)), engine=e, jobs=j)),
    "pack": ({"codes": of_width(CODES)}, lambda e, j, o: emu.pack(o["codes"])),
    "unpack": ({"packed": of_width(CODES * 15)}, lambda e, j, o: emu.unpack(o["packed"], axis=0)),
    "transform": ({"x": X}, lambda e, j, o: emu.transform(o["x"], "rht16_ufp4", engine=e)),
    "operate": (
        {"a": of_width(CODES), "b": of_width(CODES[::-1] * 15)},
        lambda e, j, o: emu.operate("add", o["a"], o["b"], formats=("e2m1", "e4m3"), to="e4m3", policy="nvidia", engine=e)),
    "operate without an entry": (
        {"a": of_width(CODES)}, lambda e, j, o: emu.operate("negate", o["a"], formats="e2m1", to="e4m3", engine=e)),
    "operate floats": (
        {"a": X.astype(np.float16), "b": X},
        lambda e, j, o: emu.operate("compare_less", o["a"], o["b"], engine=e)),
    "dot": (
        {"a": of_width(CODES), "b": of_width(CODES[::-1]), "sa": of_width(CODES[:, :4] + 50), "sb": of_width(CODES[:, 4:8] + 50),
         "c": X[:, 0].copy()},
        lambda e, j, o: emu.dot(o["a"], o["b"], "nv_like", o["sa"], o["sb"], o["c"], "e2m1", "e2m1", "ue4m3", engine=e)),
    "to_layout": ({"codes": of_width(CODES)}, lambda e, j, o: emu.to_layout(o["codes"], "mlx_words4")),
    "from_layout": (
        {"memory": emu.to_layout(CODES, "mlx_words4")}, lambda e, j, o: emu.from_layout(o["memory"], "mlx_words4", 4, 64)),
    "instruction": ({"a": X, "b": X[::-1].copy()}, lambda e, j, o: CONVERT_TO(o["a"], o["b"], engine=e)),
}  # fmt: skip


def told(call: Call, engine: str, jobs: int, operands: Mapping[str, Array]) -> object:
    """What a call gives, to be compared: bits and shapes, or the line of a refusal."""
    try:
        given = call(engine, jobs, operands)
    except emu.EmuError as error:
        return type(error).__name__, " / ".join(str(error).splitlines())
    if isinstance(given, emu.Quantized):
        return [plain(array) for array in (given.codes, *(level.codes for level in given.levels))]
    return plain(given)


def plain(found: Any) -> object:
    array = np.asarray(found)
    assert array.dtype.isnative
    return array.dtype.str, array.shape, array.tobytes()


@pytest.mark.parametrize("name", CALLS)
def test_memory_order_changes_no_bit(name: str) -> None:
    operands, call = CALLS[name]
    answered = 0
    for engine in ENGINES:
        for jobs in (1, 2):
            want = told(call, engine, jobs, operands)
            answered += want[0] not in ("EngineError", "ToolError") if isinstance(want, tuple) else 1
            for lie in LIES.values():
                moved = {key: lie(array) for key, array in operands.items()}
                assert told(call, engine, jobs, moved) == want, (engine, jobs, lie.__name__)
    assert answered


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 0), (0, 4), (0, 32), (1, 1), (2, 0, 32)], ids=str)
@pytest.mark.parametrize("name", [name for name, (operands, _) in CALLS.items() if "c" not in operands])
def test_nothing_and_a_single_number_end_in_an_answer_or_one_line(name: str, shape: tuple[int, ...]) -> None:
    """The same in every engine, for any number of threads, and turned round in memory."""
    operands, call = CALLS[name]
    small = {key: np.resize(array, shape).astype(array.dtype) for key, array in operands.items()}
    answers = {
        str(told(call, engine, jobs, {key: lie(array) for key, array in small.items()}))
        for engine in ENGINES
        for jobs in (1, 2)
        for lie in (np.copy, reversed_in_memory)
    }
    answers = {each for each in answers if "EngineError" not in each}
    assert len(answers) == 1, answers


@pytest.mark.parametrize("name", CALLS)
def test_repeated_memory_is_read_as_often_as_it_stands(name: str) -> None:
    """Strides of 0: one row, or one number, broadcast."""
    operands, call = CALLS[name]
    for cut in (np.s_[:1], np.s_[:1, :1]):
        wide = {
            key: np.broadcast_to(array[cut if array.ndim > 1 else np.s_[:1]], array.shape) for key, array in operands.items() if array.ndim
        }
        wide |= {key: array for key, array in operands.items() if not array.ndim}
        for engine in ENGINES:
            assert told(call, engine, 1, wide) == told(call, engine, 1, {key: array.copy() for key, array in wide.items()}), engine


@pytest.mark.parametrize("source", ["fp64", "fp32", "bf16", "fp16", "e4m3", "e2m1", "int4"])
def test_codes_may_lie_in_integers_of_any_width(source: str) -> None:
    """Narrower than the format too: a code is a number, not its bytes."""
    numbers = [0, 1, 7, 6] if source[0] in "ei" else [0, 9, 63, 54]
    codes: Array = np.array(numbers * 16, np.uint8).reshape(2, 32)
    calls: list[tuple[str, Call]] = [
        ("convert", lambda e, j, o: emu.convert(o["x"], "fp16", source=source, engine=e, jobs=j)),
        ("convert to a codebook", lambda e, j, o: emu.convert(o["x"], "int4", source=source, engine=e, jobs=j)),
        ("convert drawn", lambda e, j, o: emu.convert(o["x"], "e2m1", "sr_add8", random=codes, source=source, engine=e, jobs=j)),
        ("quantize", lambda e, j, o: emu.quantize(o["x"], "nvfp4_te_ref", source=source, engine=e, jobs=j)),
        ("quantize columns", lambda e, j, o: emu.quantize(o["x"].T, "mxfp4_torchao_floor", axis=0, source=source, engine=e, jobs=j)),
        ("transform", lambda e, j, o: emu.transform(o["x"], "rht16_ufp4", source=source, engine=e)),
        ("amax", lambda e, j, o: emu.amax(o["x"], source)),
        ("decode", lambda e, j, o: emu.decode(o["x"], source, np.float64)),
        ("operate", lambda e, j, o: emu.operate("add", o["x"], o["x"], formats=source, to="e4m3", engine=e)),
    ]
    for name, call in calls:
        for engine in ENGINES:
            want = told(call, engine, 1, {"x": codes.astype(np.uint64)})
            for bits in (8, 16, 32, 64):
                for sign in "iu":
                    assert told(call, engine, 2, {"x": of_width(codes, bits, sign)}) == want, (name, engine, bits, sign)


@pytest.mark.parametrize("name", [name for name in CALLS if name.startswith(("convert", "quantize", "dequantize"))])
def test_arrays_that_are_cut_into_parts_have_the_bits_of_one_piece(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emu.engines.parts.LEAST", 16)
    operands, call = CALLS[name]
    for engine in ENGINES:
        want = told(call, engine, 1, operands)
        for lie in LIES.values():
            assert told(call, engine, 3, {key: lie(array) for key, array in operands.items()}) == want, (engine, lie.__name__)
