"""Conversions to 5 to 8 bits by the kernel against the NumPy engine and `exact`: every 16-bit source and decision point, ends of chunks."""

from __future__ import annotations

import numpy as np
import pytest

import emu
from emu import strategies
from emu.base.errors import EmuError, EngineError, OpenError
from emu.engines.exact.convert import convert_code
from emu.engines.native import convert as kernel
from emu.engines.native import tables
from emu.engines.native._kernels import ffi, lib
from emu.engines.numpy.convert import convert as convert_numpy
from emu.spec import derive, get, names
from emu.spec.models import Format, Policy

FORMS = range(kernel.BEST_FORM + 1)
CHUNK = 8192  # EMU_CHUNK of kernels.h
BYTES = [name for name in names("format") if 4 < derive.codes(get("format", name)).bits <= 8]
ROUNDINGS = [name for name in names("rounding") if not get("rounding", name).random_bits]
STEPS = (-(1 << 16), -3, -1, 0, 1, 3, 1 << 15, 1 << 16)


def _policies(fmt: Format) -> list[Policy]:
    found = []
    for name in names("policy"):
        try:
            derive.policy_entry(get("policy", name), fmt)
        except EmuError:
            continue
        found.append(get("policy", name))
    return found


def _near(fmt: Format) -> np.ndarray:
    """Binary32 codes of both signs around every decision point, the two beyond the largest number too; specials; some random ones."""
    points = strategies.decision_points(fmt)
    codes = [int(np.float32(float(point)).view(np.uint32)) for point in points if point < 2**128]
    middle = [code + step for code in codes for step in STEPS if 0 <= code + step < 1 << 31]
    special = [0, 1, 0x7F7FFFFF, 0x7F800000, 0x7F800001, 0x7FC00000, 0x7FFFFFFF]
    random = np.random.default_rng(46).integers(0, 1 << 31, 1024).tolist()
    positive = np.array(middle + special + random, np.uint32)
    return np.concatenate([positive, positive | np.uint32(1 << 31)])


def _answer(convert, *operands, **more):
    try:
        return convert(*operands, **more).tolist()
    except EmuError as error:
        return type(error), str(error)


def _compare(name: str, roundings: list[str], policies: int) -> int:
    fmt, compared = get("format", name), 0
    for source in ("fp32", "bf16", "fp16"):
        origin = get("format", source)
        codes = _near(fmt) if source == "fp32" else np.arange(1 << 16, dtype=np.uint16)
        for rounding in (get("rounding", each) for each in roundings):
            for policy in _policies(fmt)[:policies]:
                if not kernel.can_convert(origin, fmt, rounding, policy):
                    continue
                _, marks = tables.byte_tables_of(origin, fmt, rounding, derive.policy_entry(policy, fmt))
                index = codes if source != "fp32" else (((codes & 0xFFFF) + 0xFFFF | codes) >> 16).astype(np.uint16)
                bad = codes[:0] if marks is None else codes[marks[index] != 0]  # open or refused: an engine names the first one
                for one in bad[:1]:
                    asked = (np.array([one]), origin, fmt, rounding, policy)
                    assert _answer(kernel.convert, *asked) == _answer(convert_numpy, *asked)
                codes_here = codes if marks is None else codes[marks[index] == 0]
                wanted = convert_numpy(codes_here, origin, fmt, rounding, policy)
                for form in FORMS:
                    assert np.array_equal(kernel.convert(codes_here, origin, fmt, rounding, policy, form=form), wanted)
                compared += 1
    return compared


@pytest.mark.parametrize("name", BYTES)
def test_every_source_and_decision_point(name: str) -> None:
    at = BYTES.index(name)
    _compare(name, [ROUNDINGS[at % len(ROUNDINGS)]], 2)


@pytest.mark.cases(0, 6)
@pytest.mark.parametrize("name", BYTES)
def test_every_rounding_and_policy(name: str) -> None:
    _compare(name, ROUNDINGS, 99)


def test_what_the_kernel_takes() -> None:
    """Every deterministic rounding to a format whose decision points are bf16 numbers with an even last bit."""
    fp32 = get("format", "fp32")
    taken = {
        name
        for name in BYTES
        if all(kernel.can_convert(fp32, get("format", name), get("rounding", each), get("policy", "nvidia")) for each in ROUNDINGS)
    }
    assert {"e4m3", "e5m2", "e2m3", "e3m2", "ue4m3"} <= taken
    x = np.linspace(-500, 500, 1001, dtype=np.float32).reshape(7, 143)
    assert np.array_equal(emu.convert(x.T, "e4m3", engine="native"), emu.convert(x.T, "e4m3", engine="exact"))
    with pytest.raises(EngineError, match="engine native cannot convert this"):
        emu.convert(x, "int8", engine="native")  # 127.5 has 9 bits


@pytest.mark.parametrize("name", ["e4m3", "e5m2", "e3m2"])
def test_reference_model(name: str) -> None:
    fmt, fp32, policy = get("format", name), get("format", "fp32"), get("policy", "nvidia")
    codes = _near(fmt)[::3]
    for rounding in ROUNDINGS:
        how = get("rounding", rounding)
        wanted = [convert_code(int(code), fp32, fmt, how, policy) for code in codes]
        assert kernel.convert(codes, fp32, fmt, how, policy).tolist() == wanted


@pytest.mark.parametrize("form", FORMS)
def test_chunks_and_ends(form: int) -> None:
    facts = get("format", "fp32"), get("format", "e4m3"), get("rounding", "rne"), get("policy", "nvidia")
    bits = np.random.default_rng(47).standard_normal(2 * CHUNK + 70, dtype=np.float32).view(np.uint32) * 1
    wanted = convert_numpy(bits, *facts)
    for start in (0, 1, 3):
        for count in (0, 1, 31, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK + 1):
            part = slice(start, start + count)
            assert np.array_equal(kernel.convert(bits[part], *facts, form=form), wanted[part])
    table, _ = tables.byte_tables_of(*facts[:3], derive.policy_entry(facts[3], facts[1]))
    out, marks = np.full(CHUNK + 9, 0xAA, np.uint8), ffi.new("uint8_t *")
    address = kernel.address
    assert not lib.emu_convert_8bit(form, address(table), ffi.NULL, 0, address(bits), CHUNK + 3, address(out), marks)
    assert (out[CHUNK + 3 :] == 0xAA).all() and np.array_equal(out[: CHUNK + 3], wanted[: CHUNK + 3])


def test_open_results_name_their_element() -> None:
    x = np.zeros(3 * CHUNK, np.float32)
    x[[CHUNK + 1, 2 * CHUNK - 1]] = np.nan
    with pytest.raises(OpenError, match=rf"^convert/e2m3/rne/ocp_saturate: the code of element {CHUNK + 1} is open"):
        emu.convert(x, "e2m3", policy="ocp_saturate", engine="native")
    assert emu.convert(x[: CHUNK + 1], "e2m3", policy="ocp_saturate", engine="native").max() == 0
