"""emu.engines.numpy.convert against `exact` and against a search of the grid: every 16-bit source, every threshold, every policy."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from emu import strategies
from emu.base.errors import EmuError, OpenError, OperandError, SpecError
from emu.engines.exact.convert import convert_code, convert_value
from emu.engines.exact.decode import decode_code
from emu.engines.exact.encode import encode_value
from emu.engines.exact.value import finite
from emu.engines.numpy import convert as npy
from emu.engines.numpy import tables
from emu.spec import derive
from emu.spec.derive import EntryCodes
from emu.spec.models import Format
from emu.spec.models.format import CodebookFacts
from emu.spec.registry import get, names

MODES = ("odd", "rd", "rna", "rne", "ru", "rz")
ALL = tuple(names("format"))
NARROW = tuple(name for name in ALL if derive.codes(get("format", name)).bits <= 8)
P3109 = {f"binary4p2{sign}{domain}": f"series_p3109_{sign}_{domain}" for sign in "su" for domain in "ef"}
WORDS = ("saturate", "inf", "nan", "ieee_inf", "ieee_nan")
CHOSEN = ("nvidia", "ieee_inf", "ieee_nan", "inf", "nan")


def is_codebook(name: str) -> bool:
    return isinstance(get("format", name).facts, CodebookFacts)


def modes(name: str) -> tuple[str, ...]:
    """Deterministic modes with a meaning: the code order of a codebook says nothing, so it has no odd codes."""
    return tuple(mode for mode in MODES if mode != "odd" or not is_codebook(name))


def entries(name: str) -> dict[str, EntryCodes]:
    """What each policy, and each overflow word by itself, says of a destination; equal entries once."""
    fmt = get("format", name)
    found: dict[EntryCodes, str] = {}
    for policy in names("policy"):
        if get("policy", policy).facts.keys() & {name, "with_nan" if derive.codes(fmt).nan else "without_nan"}:
            found.setdefault(derive.policy_entry(get("policy", policy), fmt), policy)
    for word in WORDS:
        try:
            derive.check_overflow(word, fmt)
        except SpecError:
            continue
        nan = (derive.codes(fmt).nan[0], derive.codes(fmt).nan[-1]) if word.endswith("nan") else None
        found.setdefault(EntryCodes(word, (derive.OPEN, 1), nan), word)
    return {label: entry for entry, label in found.items()}


def values_of(source: str, codes: Any) -> Any:
    """Values of 16-, 32- and 64-bit float codes as NumPy floats."""
    if source == "bf16":
        return (codes.astype(np.uint32) << 16).view(np.float32)
    return codes.view({"fp16": np.float16, "fp32": np.float32, "fp64": np.float64}[source])


def all_codes(source: str) -> Any:
    return np.arange(1 << derive.codes(get("format", source)).bits, dtype=np.uint8 if source not in ("bf16", "fp16") else np.uint16)


def marked(codes: Any, source: str, name: str, mode: str, entry: EntryCodes, random: Any = None) -> Any:
    """Codes of the NumPy engine as int64 (64-bit codes by their bits), OPEN and REFUSE as -1 and -2."""
    fmt = get("format", name)
    found = npy.convert_marked(codes, get("format", source), fmt, get("rounding", mode), entry, random)
    out = found.astype(np.int64)
    for word in (derive.OPEN, derive.REFUSE):
        out[found == tables.mark(word, fmt)] = word
    return out


def exact(codes: Any, source: str, name: str, mode: str, entry: EntryCodes, random: Any = None) -> Any:
    fmt, rounding = get("format", name), get("rounding", mode)
    drawn = [None] * len(codes) if random is None else random.tolist()
    values = [decode_code(code, get("format", source)) for code in codes.tolist()]
    found = [convert_value(value, fmt, rounding, entry, bits) for value, bits in zip(values, drawn, strict=True)]
    return np.array([code - (1 << 64) if code >> 63 > 0 else code for code in found], np.int64)


def differs(codes: Any, got: Any, wanted: Any, random: Any = None) -> str:
    """Empty, or the first difference in words; never compares nothing."""
    assert len(codes) == len(got) == len(wanted) > 0
    bad = np.flatnonzero(got != wanted)
    if not bad.size:
        return ""
    i = int(bad[0])
    drawn = "" if random is None else f" random {int(random[i]):#x}"
    return f"{int(codes[i]):#x}{drawn}: fast {int(got[i]):#x}, right {int(wanted[i]):#x} and {bad.size - 1} more"


def test_the_modes_typed_here_are_all_deterministic_ones() -> None:
    """odd_by_parity is odd but for what lies beyond the maximum: test_differential_p3109.py has its rows."""
    typed = (*MODES, "odd_by_parity")
    assert sorted(name for name in names("rounding") if not get("rounding", name).random_bits) == sorted(typed)


@pytest.mark.cases(4, 14)
@pytest.mark.parametrize("source", ["bf16", "fp16"])
@pytest.mark.parametrize("name", [name for name in NARROW if not is_codebook(name)])
def test_every_16_bit_source_against_the_grid(judge: Any, name: str, source: str) -> None:
    """All policies under rne; every mode under nvidia and the words that see it."""
    codes, compared = all_codes(source), 0
    values = values_of(source, codes)
    for label, entry in entries(name).items():
        if entry.overflow == "wrap":
            continue
        ways = (
            MODES
            if label == "nvidia" or (label.startswith("ieee_") and source == "bf16")
            else ("rne", "rd")
            if label in WORDS
            else ("rne",)
        )
        for mode in ways:
            got = marked(codes, source, name, mode, entry)
            assert not differs(codes, got, judge(values, get("format", name), mode, entry)), (mode, label)
            compared += 1
    assert compared >= len(MODES)


@pytest.mark.parametrize("source", ["bf16", "fp16"])
@pytest.mark.parametrize("name", ["bf16", "fp16"])
def test_every_16_bit_source_to_16_bits_against_the_grid(judge: Any, name: str, source: str) -> None:
    codes = all_codes(source)
    for mode in MODES:
        for word in ("saturate", "inf", "ieee_inf"):
            entry = EntryCodes(word, (0x7FFF, 0xFFFF))
            wanted = judge(values_of(source, codes), get("format", name), mode, entry)
            assert not differs(codes, marked(codes, source, name, mode, entry), wanted), (mode, word)


@pytest.mark.cases(2, 12)
@pytest.mark.parametrize("name", ALL)
def test_16_bit_sources_against_the_reference_model(name: str) -> None:
    """Every 7th code of 4-bit formats under rne, every 401st or fewer elsewhere."""
    four = derive.codes(get("format", name)).bits <= 4 and not is_codebook(name)
    for label, entry in entries(name).items():
        for mode in modes(name) if label in CHOSEN else ("rne", "rd"):
            for source in ("bf16", "fp16"):
                step = 7 if four and (mode, label) == ("rne", "nvidia") else 401 if label == "nvidia" else 4099
                codes = all_codes(source)[(len(mode) + len(label)) % step :: step]
                got, wanted = marked(codes, source, name, mode, entry), exact(codes, source, name, mode, entry)
                assert not differs(codes, got, wanted), (source, mode, label)


@pytest.mark.cases(0, 6)
@pytest.mark.parametrize(("name", "mode"), [(name, mode) for name in ALL for mode in modes(name)])
def test_every_16_bit_source_against_the_reference_model(name: str, mode: str) -> None:
    """bf16 whole, every third fp16 (the grid judges them all); one policy: the grid judges what the others add."""
    entry = entries(name)["nvidia"]
    for source in ("bf16", "fp16"):
        codes = all_codes(source)[:: 5 if is_codebook(name) else 3 if source == "fp16" else 1]
        assert not differs(codes, marked(codes, source, name, mode, entry), exact(codes, source, name, mode, entry)), source


def grid_points(name: str) -> list[Fraction]:
    """Grid points and midpoints from decoded codes alone, one step beyond the maximum; of a codebook the magnitudes."""
    fmt = get("format", name)
    decoded = [decode_code(code, fmt) for code in range(1 << derive.codes(fmt).bits)]
    values = {value.signed for value in decoded if value.kind == "finite"}
    if is_codebook(name):
        order = sorted(values)
        return sorted({abs(point) for point in order} | {abs(a + b) / 2 for a, b in pairwise(order)})
    order = sorted({abs(value) for value in values})
    doubles = len(order) > 2 and all(b == 2 * a for a, b in pairwise(order[-3:]))
    order.append(2 * order[-1] if doubles else 2 * order[-1] - order[-2])
    return sorted({*order, *((a + b) / 2 for a, b in pairwise(order))})


@pytest.mark.parametrize("name", [name for name in NARROW if name != "ue1m0"])
def test_thresholds_are_those_of_the_decoded_grid(name: str) -> None:
    fmt, entry = get("format", name), entries(name)["nvidia"]
    points = {point for point in grid_points(name) if name not in ("int4", "int8") or point <= derive.codes(fmt).max_code + 1}
    assert points <= set(strategies.decision_points(name))
    used = {abs(value) for mode in modes(name) for value in tables.thresholds(fmt, get("rounding", mode), entry)}
    assert used <= set(grid_points(name))
    top = max(used)
    assert {point for point in points if point < top} <= used


def near_fp32(name: str, powers: bool) -> Any:
    """fp32 codes of both signs within 3 ulp of each threshold, and at +-2^k ulp."""
    steps = [*range(-3, 4), *(sign * (1 << k) for k in range(2, 23) for sign in (1, -1) if powers)]
    found = {code for point in grid_points(name) for code in strategies.codes_near(point, "fp32", steps)}
    extra = strategies.edge_codes("fp32")
    codes = np.array(sorted({*found, *extra} - {0x80000000 | code for code in found}), np.uint32)
    return np.unique(np.concatenate([codes, codes ^ np.uint32(0x80000000)]))


@pytest.mark.cases(2)
@pytest.mark.parametrize("name", NARROW)
def test_fp32_beside_every_threshold(judge: Any, name: str) -> None:
    codes = near_fp32(name, powers=True)
    some = codes[:: max(1, len(codes) // 300)]
    assert len(codes) > 20 * len(grid_points(name)) // 4
    for label, entry in entries(name).items():
        for mode in modes(name) if label in CHOSEN else ("rne",):
            if label == "nvidia" and mode in ("rne", "rd"):
                assert not differs(some, marked(some, "fp32", name, mode, entry), exact(some, "fp32", name, mode, entry)), (mode, label)
            if not is_codebook(name) and entry.overflow != "wrap":
                wanted = judge(codes.view(np.float32), get("format", name), mode, entry)
                assert not differs(codes, marked(codes, "fp32", name, mode, entry), wanted), (mode, label)


@pytest.mark.cases(0, 16)
@pytest.mark.parametrize(("name", "mode"), [(name, mode) for name in NARROW for mode in modes(name)])
def test_fp32_beside_every_threshold_against_the_reference_model(name: str, mode: str) -> None:
    """Every 5th code under nvidia, every 31st under the ieee words; the grid judges them all in the default run."""
    every = near_fp32(name, powers=True)
    for label, step in (("nvidia", 5), ("ieee_inf", 31), ("ieee_nan", 31)):
        if label in entries(name):
            codes, entry = every[::step], entries(name)[label]
            assert not differs(codes, marked(codes, "fp32", name, mode, entry), exact(codes, "fp32", name, mode, entry)), label


@pytest.mark.parametrize("name", ["bf16", "fp16", "fp32"])
@pytest.mark.parametrize("mode", MODES)
def test_fp32_and_fp64_to_wide_formats(name: str, mode: str) -> None:
    """Grid points and midpoints of every 401st code and of the ends, within 3 ulp, both signs, subnormals and beyond the maximum."""
    fmt, entry = get("format", name), EntryCodes("ieee_inf", (derive.codes(get("format", name)).nan[0],) * 2)
    top = derive.codes(fmt).max_code
    chosen = [*range(4), 0x3FE, 0x3FF, 0x400, *range(9, top, top // 23), *range(top - 4, top)]
    grid = [decode_code(code, fmt).magnitude for code in chosen]
    points = [
        point for code, a in zip(chosen, grid, strict=True) for point in (a, (a + decode_code(min(code + 1, top), fmt).magnitude) / 2)
    ]
    points.append(2 * grid[-1] - decode_code(top - 2, fmt).magnitude)
    for source in ("fp32", "fp64"):
        found = sorted({code for point in points for code in strategies.codes_near(point, source)} | set(strategies.edge_codes(source)))
        sign = derive.codes(get("format", source)).sign_bit
        codes = np.array([*found, *(code ^ sign for code in found)], np.uint64 if source == "fp64" else np.uint32)
        assert not differs(codes, marked(codes, source, name, mode, entry), exact(codes, source, name, mode, entry)), source


def fp64_code(value: Fraction) -> int:
    return encode_value(finite(value), get("format", "fp64"))


@pytest.mark.parametrize("name", NARROW)
def test_fp64_is_rounded_once(judge: Any, name: str) -> None:
    """binary64 neighbours of every threshold: a first rounding to binary32 or bf16 would hide them."""
    fmt = get("format", name)
    base = np.array(sorted({fp64_code(point) for point in grid_points(name) if point}), np.uint64)
    steps = [0, 1, 2, 3, 1 << 28, 1 << 29, 1 << 30, 1 << 44, 1 << 45, (1 << 29) + 1]
    shifted = [base + np.uint64(step) for step in steps] + [base - np.uint64(step) for step in steps]
    codes = np.unique(np.concatenate([*shifted, np.array(strategies.edge_codes("fp64"), np.uint64)]))
    codes = np.concatenate([codes, codes ^ np.uint64(1 << 63)])
    some = codes[:: max(1, len(codes) // 150)]
    for mode in modes(name):
        entry = entries(name)["nvidia"]
        if not is_codebook(name):
            wanted = judge(codes.view(np.float64), fmt, mode, entry)
            assert not differs(codes, marked(codes, "fp64", name, mode, entry), wanted), mode
        assert not differs(some, marked(some, "fp64", name, mode, entry), exact(some, "fp64", name, mode, entry)), mode


def test_zeros_and_negative_numbers_of_binary64_have_codes_of_their_own() -> None:
    """Zeros, the numbers nearest to them, Inf and NaN of both signs, to entries with a code for zeros and one for what is negative."""
    codes = np.array([0, 1, 0x7FF0 << 48, 0x7FF8 << 48], np.uint64)
    codes = np.concatenate([codes, codes | np.uint64(1 << 63)])
    for name in NARROW:
        for zero, negative in (((1, 2), None), (None, 3), ((1, 2), 3)):
            entry = EntryCodes("saturate", (derive.OPEN, 1), zero=zero, negative=negative)
            assert not differs(codes, marked(codes, "fp64", name, "rne", entry), exact(codes, "fp64", name, "rne", entry)), (name, entry)


def test_fp64_just_above_a_tie() -> None:
    """0.25 + 2^-54 is code 1 of e2m1; through binary32 it would be 0."""
    x = np.array([Fraction(1, 4) + Fraction(2) ** -54, Fraction(1, 4), Fraction(5) + Fraction(2) ** -50], object).astype(np.float64)
    found = npy.convert(x.view(np.uint64), get("format", "fp64"), get("format", "e2m1"), get("rounding", "rne"), get("policy", "nvidia"))
    assert found.tolist() == [1, 0, 7] and found.dtype == np.uint8


@pytest.mark.cases(5)
@pytest.mark.parametrize("source", NARROW)
def test_narrow_sources(source: str) -> None:
    """Every code of every format of at most 8 bits, to every format."""
    codes = all_codes(source)
    for name in ALL:
        for mode in ("rne", "ru") if len(codes) > 16 else modes(name):
            entry = entries(name)["nvidia"]
            some = codes[:: 1 if len(codes) <= 64 else 5 if name in ("e2m1", "e4m3") else 23]
            assert not differs(some, marked(some, source, name, mode, entry), exact(some, source, name, mode, entry)), (name, mode)


@pytest.mark.cases(26)
@pytest.mark.parametrize("policy", names("policy"))
@pytest.mark.parametrize("source", ["fp16", "bf16", "fp32", "fp64"])
def test_specials_through_the_public_column(source: str, policy: str) -> None:
    """NaN of both signs and kinds, Inf, zeros, subnormals to all but binary32 and 64: the code or the error of the reference model."""
    fmt_in, conversion, compared = get("format", source), get("policy", policy), 0
    codes = np.array(strategies.edge_codes(source), np.uint64)
    for name in (*NARROW, "bf16", "fp16", *P3109):
        fmt: Format = get("format", name)
        if not conversion.facts.keys() & {name, "with_nan" if derive.codes(fmt).nan else "without_nan", P3109.get(name)}:
            continue
        for code in codes.astype(npy.code_dtype(fmt_in)):
            wanted = outcome(lambda code=code, fmt=fmt: convert_code(int(code), fmt_in, fmt, get("rounding", "rne"), conversion))
            got = outcome(lambda code=code, fmt=fmt: int(npy.convert(np.array([code]), fmt_in, fmt, get("rounding", "rne"), conversion)[0]))
            assert got == wanted, (name, hex(code))
            compared += 1
    assert compared


def outcome(call: Any) -> int | type[EmuError]:
    try:
        return int(call())
    except (OpenError, OperandError) as error:
        return type(error)


@pytest.mark.parametrize("source", ["e2m1", "bf16", "fp32", "fp64"])
def test_a_codebook_has_no_odd_codes(source: str) -> None:
    fmt_in, codes = get("format", source), np.array([3], npy.code_dtype(get("format", source)))
    for call in (
        lambda: npy.convert(codes, fmt_in, get("format", "nf4"), get("rounding", "odd"), get("policy", "nvidia")),
        lambda: convert_code(3, fmt_in, get("format", "nf4"), get("rounding", "odd"), get("policy", "nvidia")),
    ):
        with pytest.raises(SpecError, match="codebook"):
            call()


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "odd"])
def test_a_codebook_with_values_that_no_float_holds(mode: str) -> None:
    """Thirds and their midpoints lie between binary64 numbers: the neighbours on both sides, both signs."""
    facts = {"class": "codebook", "bits": 2, "values": ("-1/3", "0", "1/3", "7/9"), "tie": "lower"}
    about = {"kind": "format", "id": "thirds", "title": "thirds", "status": "proposed", "sources": (), "facts": facts}
    fmt, entry = Format.model_validate(about), EntryCodes("saturate", (1, 1))
    points = [Fraction(1, 3), Fraction(1, 6), Fraction(5, 9), Fraction(7, 9), Fraction(0), Fraction(1, 4)]
    for source, dtype in (("fp64", np.uint64), ("fp32", np.uint32), ("bf16", np.uint16)):
        fmt_in = get("format", source)
        found = {code for point in points for code in strategies.codes_near(point, source)}
        codes = np.array(sorted(found | {code | derive.codes(fmt_in).sign_bit for code in found}), dtype)
        got = npy.convert_marked(codes, fmt_in, fmt, get("rounding", mode), entry)
        assert got.tolist() == [convert_value(decode_code(int(code), fmt_in), fmt, get("rounding", mode), entry) for code in codes]
