"""Formats of every width, with and without sign and subnormals: decoded, and read by every engine, as the reference model reads them."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import emu
from emu.engines.exact.decode import decode_code
from emu.engines.numpy.convert import code_dtype
from emu.engines.table import ENGINES
from emu.spec import derive
from emu.spec.models import Format

USUAL = (1, 2, 4, 8, 9, 17, 24, 32, 33, 53, 63, 64)  # 10 to 16 bits: tables of every code, made anew for each format


def made(facts: dict[str, Any], name: str) -> Format:
    """A format by its facts."""
    about = {"kind": "format", "id": name, "title": "of a test", "status": "proposed", "sources": ()}
    return Format.model_validate({**about, "facts": facts})


def floats_of(bits: int) -> Iterator[Format]:
    """Float formats of a width inside binary64: the narrowest exponent field, and one in the middle."""
    for signed in ("yes", "no"):
        for subnormals in ("yes", "no"):
            room = bits - (signed == "yes")
            for exp_bits in {max(1, room - 52), min(10, max(1, room // 2))}:
                ieee = exp_bits == 11
                if 0 <= room - exp_bits <= 52 and exp_bits <= 11 and not (ieee and subnormals == "no"):
                    yield made({
                        "class": "float", "signed": signed, "exp_bits": exp_bits, "frac_bits": room - exp_bits,
                        "bias": (1 << exp_bits - 1) - 1, "subnormals": subnormals, "inf": "ieee" if ieee else "none",
                        "nan": "ieee" if ieee else "none", "neg_zero": "yes" if signed == subnormals == "yes" else "no",
                    }, f"float{bits}_{signed}_{subnormals}_{exp_bits}")  # fmt: skip


def others_of(bits: int) -> Iterator[Format]:
    """Integers, powers of two and codebooks of a width."""
    for signed in ("twos_complement", "sign_magnitude", "no") if bits <= 16 else ():
        if bits > 1 or signed == "no":
            yield made({"class": "integer", "signed": signed, "bits": bits, "unit_exp": -3}, f"integer{bits}_{signed}")
    if bits <= 10:
        yield made({"class": "exponent", "signed": "no", "bits": bits, "bias": 1 << bits - 1, "nan": "none"}, f"exponent{bits}")
    if bits <= 8:
        values = tuple(str(3 * code - 3) for code in range(1 << bits))
        yield made({"class": "codebook", "bits": bits, "values": values, "tie": "lower"}, f"codebook{bits}")


def some_codes(fmt: Format) -> np.ndarray[Any, Any]:
    """The lowest and highest codes of each sign, and some between, in the dtype that holds them."""
    top = (1 << derive.codes(fmt).bits) - 1
    picked = {code & top for code in (0, 1, 2, top // 2, top // 2 + 1, top - 1, top, *(k * 0x9E3779B97F4A7C15 >> 3 for k in range(1, 9)))}
    return np.array(sorted(picked), code_dtype(fmt))


def means(value: float, code: int, fmt: Format) -> bool:
    """Tell whether a binary64 number is what a code means, by the reference model."""
    wanted = decode_code(code, fmt)
    if wanted.kind != "finite":
        return np.isnan(value) if wanted.kind == "nan" else np.isinf(value) and np.signbit(value) == wanted.sign
    return bool(np.isfinite(value) and Fraction(float(value)) == wanted.signed and np.signbit(value) == bool(wanted.sign))


def answer(call: Any) -> str:
    """Return what a call gives, or the one line of its refusal."""
    try:
        return str(np.asarray(call()).tolist())
    except emu.EmuError as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("bits", [bits if bits in USUAL else pytest.param(bits, marks=pytest.mark.exhaustive) for bits in range(1, 65)])
def test_every_width_is_read_as_the_reference_model_reads_it(bits: int) -> None:
    compared = 0
    for fmt in (*floats_of(bits), *others_of(bits)):
        codes = some_codes(fmt)
        for value, code in zip(emu.decode(codes, fmt, np.float64), codes, strict=True):
            assert means(value, int(code), fmt), (fmt.id, code)
        for dtype in (np.float32, np.float16):
            try:
                narrow = emu.decode(codes, fmt, dtype)
            except emu.OperandError:
                continue
            assert all(means(float(value), int(code), fmt) for value, code in zip(narrow, codes, strict=True)), fmt.id
        largest = answer(lambda fmt=fmt, codes=codes: emu.amax(codes, source=fmt))
        assert "engine=" not in largest
        for to, rounding, random in (("fp32", "rne", None), ("e2m1", "rz", None), ("e4m3", "sr_add8", codes.astype(np.uint64) & 255)):
            calls = {e: answer(lambda e=e, fmt=fmt, codes=codes, to=to, rounding=rounding, random=random:
                     emu.convert(codes, to, rounding, source=fmt, random=random, engine=e)) for e in ENGINES}  # fmt: skip
            found = {engine: each for engine, each in calls.items() if not each.startswith("EngineError")}
            assert {"exact", "auto"} <= set(found) and len(set(found.values())) == 1, (fmt.id, to, found)
        compared += 1
    assert compared


@pytest.mark.parametrize("bits", [6, 17, 40])
def test_every_width_can_be_written_to(bits: int) -> None:
    x = np.array([-3.5, -0.0, 0.3, 1, 1.5, 2.75, 1e-3], np.float32)
    for fmt in floats_of(bits):
        for rounding in ("rne", "rz", "odd"):
            found = {e: answer(lambda e=e, fmt=fmt, rounding=rounding: emu.convert(x, fmt, rounding, engine=e)) for e in ENGINES}
            assert len({each for each in found.values() if not each.startswith("EngineError")}) == 1, (fmt.id, found)


def test_a_value_that_no_array_holds_is_refused_in_one_line() -> None:
    """A model made by hand reaches beyond binary64; a file would have been refused."""
    wide = made({"class": "float", "signed": "yes", "exp_bits": 11, "frac_bits": 8, "bias": 1000, "subnormals": "no",
                          "inf": "none", "nan": "none", "neg_zero": "no"}, "beyond")  # fmt: skip
    with pytest.raises(emu.OperandError, match=r"^a beyond value is no binary64 number: no array of values holds it, keep its codes$"):
        emu.decode(np.uint32([0x7FFFF]), wide, np.float64)
