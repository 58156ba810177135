"""Operations of IEEE P3109 (draft) in every engine that has them: exhaustive on small formats, drawn on others; and what is refused."""

from __future__ import annotations

import itertools
import os
import zlib
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

import emu
from emu.base.errors import EmuError, EngineError, OperandError, ShapeError
from emu.spec import derive, get
from emu.spec.models import Format
from emu.spec.operations import OPERATIONS

F4, F8, FX = ("binary4p2sf",), ("binary8p4se", "binary8p3se"), ("fp32", "fp16", "bf16")
SMALL, WIDE = (*F4, *F8), (*F8, *FX)
SCALE = "binary8p1uf"
EVERY = [f"binary{k}p{p}{sign}{domain}" for k in range(3, 9) for sign in "su" for p in range(1, k + (sign == "u")) for domain in "ef"]
MODES = ("rne", "rna", "ru", "rd", "rz", "odd_by_parity")
UNARY = [name for name, operation in OPERATIONS.items() if operation.operands == 1]
REQUIRED = [  # 4.5 of the report: operation, formats of its operands, format of its result
    *(("convert", (f,), to) for f in (*SMALL, *FX) for to in (*SMALL, *FX)),
    *((name, (f,), f) for name in ("negate", "abs") for f in SMALL),
    *(("recip", (f,), to) for f in (*SMALL, *FX) for to in (*SMALL, *FX)),
    *((name, (f, g), to) for name in ("add", "subtract", "multiply") for f in SMALL for g in SMALL for to in WIDE),
    *((name, (f, g, to), to) for name in ("fma", "faa") for f in SMALL for g in SMALL for to in FX),
    *((name, (f, f), f) for name in OPERATIONS if name.startswith(("minimum", "maximum")) for f in SMALL),
    *((name, (f, f), None) for name in OPERATIONS if name.startswith("compare_") for f in SMALL),
    *((name, (f,), None) for name in OPERATIONS if name.startswith(("is_", "next_")) for f in SMALL),
    *((f"scaled_{n}", (SCALE, f, SCALE, g), to) for n in ("add", "subtract", "multiply") for f in SMALL for g in SMALL for to in WIDE),
]  # fmt: skip


def policy_for(to: str | None) -> str:
    return "ieee" if to in FX else "p3109_sat_none"


def drawn(name: str, rng: np.random.Generator, count: int) -> np.ndarray:
    """Codes of a format: all kinds in half of them, of wide formats numbers between 2^-20 and 2^20 in the other half."""
    fmt: Format = get("format", name)
    bits = derive.codes(fmt).bits
    found = rng.integers(0, 1 << bits, count, dtype=np.uint64)
    if bits > 8:
        near = (rng.standard_normal(count) * 2.0 ** rng.integers(-20, 20, count)).astype(np.float32)
        found = np.where(rng.random(count) < 0.5, found, emu.convert(near, name, policy="ieee").astype(np.uint64))
        found[: count // 4] = rng.choice([0, 1 << bits - 1, derive.codes(fmt).nan[0], derive.codes(fmt).inf or 0], count // 4)
    return found.astype(np.uint8 if bits <= 8 else np.uint16 if bits == 16 else np.uint32)


ENGINES = ("exact", "numpy", "c_ref", *(("torch",) if os.environ.get("EMU_NEED_TORCH") or find_spec("torch") else ()))


def agree(name: str, codes: list[Any], formats: tuple[str, ...], engines: tuple[str, ...] = ENGINES, **how: Any) -> None:
    """The engines give the same codes or truth values."""
    first, *others = (emu.operate(name, *codes, formats=list(formats), engine=engine, **how) for engine in engines)
    for engine, found in zip(engines[1:], others, strict=True):
        assert found.dtype == first.dtype and found.shape == first.shape
        where = np.flatnonzero(found.reshape(-1) != first.reshape(-1))
        assert not where.size, (name, engine, formats, how, where[0], [np.ravel(part)[where[0]] for part in (*codes, first, found)])


def case(name: str, formats: tuple[str, ...], to: str | None, count: int, engines: tuple[str, ...] = ENGINES) -> None:
    rng = np.random.default_rng(zlib.crc32(f"{name}{formats}{to}".encode()))
    how = {} if to is None else {"to": to, "policy": policy_for(to)}
    agree(name, [drawn(fmt, rng, count) for fmt in formats], formats, engines, **how)


def test_everything_that_the_report_requires() -> None:
    """A few operands of each of the specializations of 4.5, torch on every seventh; many of them in the exhaustive run."""
    assert len(REQUIRED) == len(set(REQUIRED)) == 477
    for number, (name, formats, to) in enumerate(REQUIRED):
        case(name, formats, to, 6, ENGINES if number % 7 == 0 else ENGINES[:3])


@pytest.mark.exhaustive
@pytest.mark.parametrize("start", range(6))
def test_everything_that_the_report_requires_drawn(start: int) -> None:
    for name, formats, to in REQUIRED[start::6]:
        case(name, formats, to, 300)


def test_every_pair_of_the_four_bit_format() -> None:
    a, b = np.meshgrid(np.arange(16, dtype=np.uint8), np.arange(16, dtype=np.uint8))
    for name, operation in OPERATIONS.items():
        if operation.operands == 2:
            how = {"to": "binary8p3se"} if operation.gives == "number" else {}
            agree(name, [a, b], F4 * 2, **how)


@pytest.mark.parametrize("fmt", [*SMALL, "binary5p2ue"])
def test_every_code_of_the_small_formats(fmt: str) -> None:
    for name in UNARY:
        agree(name, [np.arange(1 << int(fmt[6]), dtype=np.uint8)], (fmt,))


@pytest.mark.cases(0, 3)
@pytest.mark.parametrize("k", range(3, 9))
def test_every_code_of_every_format(k: int) -> None:
    """What takes one operand, on all codes of the formats of K bits; each format in one mode, all modes among the formats."""
    modes = itertools.cycle(MODES)
    for fmt in (name for name in EVERY if name.startswith(f"binary{k}")):
        for name in UNARY:
            how = {"rounding": next(modes)} if OPERATIONS[name].gives == "number" else {}
            agree(name, [np.arange(1 << k, dtype=np.uint8)], (fmt,), **how)


@pytest.mark.cases(0, 2)
@pytest.mark.parametrize("start", range(6))
def test_every_pair_of_codes_of_up_to_five_bits(start: int) -> None:
    """What takes two operands, on all codes of all pairs of formats of at most 5 bits: the other engines, exact on one operation a pair."""
    small = [name for name in EVERY if int(name[6]) <= 5]
    binary = [name for name, operation in OPERATIONS.items() if operation.operands == 2]
    for number, (one, other) in enumerate(itertools.product(small, small)):
        if number % 6 != start:
            continue
        codes = [np.ascontiguousarray(part) for part in np.meshgrid(*(np.arange(1 << int(fmt[6]), dtype=np.uint8) for fmt in (one, other)))]
        for place, name in enumerate(binary):
            how = {"to": EVERY[(number + 7 * place) % 120], "rounding": MODES[(number + place) % 6]}
            engines = ENGINES if place == number // 6 % len(binary) else ENGINES[1:]
            agree(name, codes, (one, other), engines, **(how if OPERATIONS[name].gives == "number" else {}))


def test_saturation_and_direction_of_a_sum() -> None:
    """Every mode and policy where sums pass the maximum, cancel, or fall below zero of a format without sign."""
    rng = np.random.default_rng(11)
    for to, rounding, policy in itertools.product(
        ("binary8p3se", "binary5p2ue"), MODES, ("p3109_sat_none", "p3109_sat_finite", "p3109_sat_propagate")
    ):
        agree("add", [drawn(F8[0], rng, 24) for _ in range(2)], (F8[0],) * 2, to=to, rounding=rounding, policy=policy)


def test_sums_of_three_are_rounded_once() -> None:
    """2^24 + 1 + 2^-30: the last term turns the tie; so does its negative, and a cancelled first pair leaves it alone."""
    big, one, tiny = np.float32(2**24), np.float32(1), np.float32(2**-30)
    for engine in ENGINES:
        for terms, wanted in (((big, one, tiny), 2**24 + 2), ((big, one, -tiny), 2**24), ((big, tiny, -big), 2**-30)):
            for order in itertools.permutations(terms):
                code = emu.operate("faa", *order, to="fp32", policy="ieee", engine=engine)
                assert float(code.view(np.float32)) == wanted, (engine, order)


@pytest.mark.parametrize(
    ("arguments", "how", "error", "line"),
    [
        (("plus", 1, 1), {"formats": F8[0]}, OperandError, "operation 'plus' is unknown: one of convert, "),
        (("add", 1), {"formats": F8[0]}, OperandError, r"operation add takes 2 operands \(2\), not 1"),
        (("scaled_add", 1, 1), {"formats": F8[0]}, OperandError, "takes 4 operands .scale, number, scale, number., not 2"),
        (("add", 1, 1), {"formats": [F8[0]]}, OperandError, "2 operands and 1 formats: name one for all, or one for each"),
        (("add", 1, 1), {}, OperandError, "operation add: integers are codes: say their formats"),
        (("add", "1", "1"), {}, OperandError, "is not taken"),
        (("add", 1, 1), {"formats": [*F8]}, OperandError, "the operands have several formats: say `to`"),
        (("is_nan", 1), {"formats": F8[0], "to": F8[0]}, OperandError, "gives no number to project: leave `to` out"),
        (("add", 1, 1), {"formats": "e8m0"}, OperandError, "takes float formats: e8m0 is none"),
        (("add", 1, 1), {"formats": F8[0], "to": "e8m0"}, OperandError, "gives float formats: e8m0 is none"),
        (("next_less_than", 1), {"formats": "fp16"}, OperandError, "takes formats of at most 8 bits: fp16 has 16"),
        (("next_less_than", 1), {"formats": "e2m1"}, OperandError, "e2m1 has no NaN, which is what lies beyond its last number"),
        (("add", 1, 1), {"formats": F8[0], "rounding": "sr_add8"}, OperandError, "takes no rounding that draws: sr_add8 does"),
        (("add", [1, 2], [1, 2, 3]), {"formats": F8[0]}, ShapeError, r"shapes \(2,\), \(3,\) do not broadcast"),
        (("add", 1, 300), {"formats": F8[0]}, OperandError, "it is no binary8p4se code"),
        (("add", 1, 1), {"formats": F8[0], "to": "fp32"}, EmuError, "fp32"),
        (("multiply", 1, 1), {"formats": "fp64", "policy": "ieee", "engine": "numpy"}, EngineError, "numpy cannot operate this: use exact"),
    ],
)  # fmt: skip
def test_what_is_refused(arguments: tuple[Any, ...], how: dict[str, Any], error: type[Exception], line: str) -> None:
    operands = [np.array(item) for item in arguments[1:]]
    with pytest.raises(error, match=line):
        emu.operate(arguments[0], *operands, **how)


@pytest.mark.parametrize("fmt", ["e4m3", "e5m2", "e4m3fnuz", "e5m2fnuz", "ue5m3"])
def test_neighbours_in_formats_of_others(fmt: str) -> None:
    """-0, where there is one, is no number of its own: its neighbours are those of 0, and it is nobody's."""
    for step in ("next_greater_than", "next_less_than"):
        agree(step, [np.arange(256, dtype=np.uint8)], (fmt,))


def test_formats_without_zero() -> None:
    """Their least number is a normal one; with a sign, the neighbour of the least positive number is the least negative one."""
    for engine in ENGINES:
        assert emu.operate("is_normal", np.arange(3, dtype=np.uint8), formats="e6m2", engine=engine).all()
        assert not emu.operate("is_subnormal", np.arange(256, dtype=np.uint8), formats="e6m2", engine=engine).any()
    facts = {"class": "float", "signed": "yes", "exp_bits": 3, "frac_bits": 1, "bias": 3, "subnormals": "no", "neg_zero": "no"}
    frame = {"kind": "format", "id": "both", "title": "drawn", "status": "proposed", "expect": (), "open": (), "sources": ()}
    both = Format.model_validate({**frame, "facts": {**facts, "inf": "none", "nan": ("0x0F", "0x1F")}})
    stairs = [0x00, 0x10, 0x11]  # the least numbers of both signs, and one below
    for engine in (name for name in ENGINES if name != "numpy"):
        below = emu.operate("next_less_than", np.array(stairs[:2], np.uint8), formats=both, engine=engine)
        above = emu.operate("next_greater_than", np.array(stairs[:0:-1], np.uint8), formats=both, engine=engine)
        assert below.tolist() == stairs[1:] and above.tolist() == stairs[1::-1]
    with pytest.raises(EngineError, match="numpy cannot operate this"):
        emu.operate("next_less_than", 0, formats=both, engine="numpy")
