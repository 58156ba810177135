"""convert and decode of the torch engine: every 16-bit code of the main contracts, thresholds of binary32, every other format and mode."""

from __future__ import annotations

import importlib
import os
from itertools import product

import numpy as np
import pytest

import emu
from emu import strategies
from emu.base.errors import EmuError, EngineError, OpenError, OperandError
from emu.base.philox import words
from emu.engines.exact.convert import convert_code
from emu.spec import derive, get, names
from emu.spec.models.rounding import Word
from emu.spec.one_table import table_is_exact

torch = importlib.import_module("torch") if os.environ.get("EMU_NEED_TORCH") else pytest.importorskip("torch", reason="no torch here")
torch_api = importlib.import_module("emu.torch.api")
can_torch = importlib.import_module("emu.engines.torch.can")
odd = importlib.import_module("emu.engines.torch.odd")

MODES = ("rne", "rna", "rz", "ru", "rd", "odd")
NARROW = ("e2m1", "e1m2", "e0m3", "e3m0", "int4", "nf4", "e2m3", "e3m2", "e4m3", "e5m2", "e8m0", "ue4m3")
POLICIES = ("nvidia", "ocp_saturate", "ieee", "amd")


def has(policy, to):
    try:
        derive.policy_entry(get("policy", policy), get("format", to))
    except EmuError:
        return False
    return True


def answer(work):
    """Codes as bytes, or what was raised."""
    try:
        found = work()
    except EmuError as error:
        return type(error)
    return found.dtype, found.shape, found.tobytes()


@pytest.mark.parametrize("source", ["bf16", "fp16"])
@pytest.mark.parametrize("to", NARROW)
def test_16_bit_codes_against_the_reference_model(source, to):
    """One code in 13, and in 97 of the other modes; modes and policies take turns, so that each pair of format and mode is met."""
    fmt_in, fmt = get("format", source), get("format", to)
    codes, compared = np.arange(1 << 16, dtype=np.uint16), 0
    finite = np.array([derive.is_finite_code(int(code), fmt_in) for code in codes])
    for number, mode in enumerate(MODES):
        rounding = get("rounding", mode)
        policies = [name for name in POLICIES if has(name, to)]
        if not policies or not can_torch.can_convert(fmt_in, fmt, rounding):
            continue
        policy = policies[number % len(policies)]
        part = codes[finite] if number else codes
        if answer(lambda p=part, m=mode, q=policy: emu.convert(p, to, m, q, source=source, engine="torch")) in (OpenError, OperandError):
            part = codes[finite]
        found = emu.convert(part, to, mode, policy, source=source, engine="torch")
        step = 13 if mode == "rne" else 97
        wanted = [convert_code(int(code), fmt_in, fmt, rounding, get("policy", policy)) for code in part[::step]]
        assert found[::step].tolist() == wanted, (mode, policy)
        compared += len(wanted)
    assert compared > 5_000


@pytest.mark.parametrize("source", ["bf16", "fp16"])
@pytest.mark.parametrize("to", ["e2m1", "e1m2"])
def test_every_16_bit_code_of_the_main_contracts(source, to):
    """nvidia, nearest even: the reference model on every code."""
    codes, fmt = np.arange(1 << 16, dtype=np.uint16), get("format", to)
    found = emu.convert(codes, to, source=source, engine="torch")
    facts = get("format", source), fmt, get("rounding", "rne"), get("policy", "nvidia")
    assert found.tolist() == [convert_code(code, *facts) for code in range(1 << 16)]


def edges(to, source="fp32"):
    """Codes around every decision point of a format, zeros, subnormals and specials of the source."""
    points = strategies.decision_points(to) if derive.codes(get("format", to)).bits <= 8 else ()
    points = points[:: len(points) // 64 + 1] + points[-2:]
    around = [code for point in points for code in strategies.codes_near(point, source, (-3, -1, 0, 1, 3))]
    sign = derive.codes(get("format", source)).sign_bit
    some = [*around, *(code | sign for code in around), *strategies.edge_codes(source)]
    return np.array(sorted({code for code in some if derive.is_finite_code(code, get("format", source))}), np.uint32)


@pytest.mark.parametrize("to", ["e2m1", "e1m2", "int4", "e4m3", "e5m2", "e8m0"])
def test_thresholds_of_binary32(to):
    codes, compared = edges(to), 0
    for mode, policy in product(MODES, POLICIES):
        if has(policy, to):
            wanted = answer(lambda m=mode, p=policy: emu.convert(codes, to, m, p, source="fp32", engine="exact"))
            assert answer(lambda m=mode, p=policy: emu.convert(codes, to, m, p, source="fp32", engine="torch")) == wanted
            compared += 1
    assert compared >= 6


def test_formats_roundings_and_policies_against_the_reference_model():
    """Every pair of formats; each meets every rounding somewhere."""
    draw, compared, refused = words(2606, 1 << 14), 0, set()
    modes, policies = names("rounding"), names("policy")
    for turn, (source, to) in enumerate(product(names("format"), names("format"))):
        rounding = get("rounding", modes[turn % len(modes)])
        policy = next((p for p in policies[turn % len(policies) :] + policies if has(p, to)), None)
        if policy is None:
            continue
        bits = derive.codes(get("format", source)).bits
        width = np.uint8 if bits <= 8 else np.uint16 if bits <= 16 else np.uint32 if bits <= 32 else np.uint64
        base = np.concatenate([draw[turn * 8 : turn * 8 + 24].astype(np.uint64) * 0x9E3779B97F4A7C15 & ((1 << bits) - 1)])
        codes = base.astype(width)
        drawn = None
        if rounding.random_bits:
            shared = rounding.facts.random
            lanes, wide = (shared.lanes, shared.word) if isinstance(shared, Word) else (1, rounding.random_bits)
            drawn = draw[turn : turn + -(-codes.size // lanes)].astype(np.uint64) & ((1 << wide) - 1)
        found = answer(lambda: emu.convert(codes, to, rounding, policy, source=source, random=drawn, engine="torch"))  # noqa: B023
        if found is EngineError:
            refused.add((to, rounding.id))
            continue
        wanted = answer(lambda: emu.convert(codes, to, rounding, policy, source=source, random=drawn, engine="exact"))  # noqa: B023
        assert found == wanted, (source, to, rounding.id, policy)
        compared += 1
    assert compared > 300
    assert {fmt for fmt, mode in refused} <= {"nf4", "int4", "int8", "uint1", "e0m3"}  # a codebook; grids of whole numbers under te_fma


@pytest.mark.parametrize("mode", [name for name in names("rounding") if get("rounding", name).random_bits])
def test_random_bits_at_their_thresholds(mode):
    rounding = get("rounding", mode)
    codes = np.repeat(edges("e2m1")[::5], 3)
    shared = rounding.facts.random
    lanes, wide = (shared.lanes, shared.word) if isinstance(shared, Word) else (1, rounding.random_bits)
    count = -(-codes.size // lanes)
    drawn = np.resize(np.array([0, (1 << wide) - 1, 1 << (wide - 1), (1 << (wide - 1)) - 1, 1], np.uint64), count)
    drawn ^= np.where(np.arange(count) % 2, words(7, count).astype(np.uint64) & ((1 << wide) - 1), np.uint64(0))
    found, wanted = (emu.convert(codes, "e2m1", mode, source="fp32", random=drawn, engine=engine) for engine in ("torch", "exact"))
    assert np.array_equal(found, wanted) and len(set(wanted.tolist())) > 8


@pytest.mark.parametrize("name", [name for name in names("format") if derive.codes(get("format", name)).bits <= 16])
def test_decode_every_code(name):
    fmt = get("format", name)
    codes = np.arange(1 << derive.codes(fmt).bits, dtype=np.uint8 if derive.codes(fmt).bits <= 8 else np.uint16)
    try:
        wanted = emu.decode(codes, name)
    except OperandError:
        with pytest.raises(OperandError):
            torch_api.decode(torch.from_numpy(codes), name)
        return
    found = torch_api.decode(torch.from_numpy(codes), name).numpy()
    number = ~np.isnan(wanted)
    assert np.array_equal(found.view(np.uint32)[number], wanted.view(np.uint32)[number]) and np.isnan(found[~number]).all()


def test_tables_are_used_only_where_they_are_exact():
    """The rule itself, format by format: where it says yes, the neighbours of every decision point agree with the integer path."""
    conversion = importlib.import_module("emu.engines.torch.convert")
    numbers = importlib.import_module("emu.engines.torch.numbers")
    taken = []
    for name in names("format"):
        fmt = get("format", name)
        for mode in MODES:
            mine = get("rounding", mode)
            entry = derive.EntryCodes("saturate", (0, 0))
            if not can_torch.can_convert(get("format", "fp32"), fmt, mine) or not table_is_exact(get("format", "fp32"), fmt, mine, entry):
                continue
            codes = torch.from_numpy(edges(name).astype(np.int64))
            direct = conversion.convert_number(numbers.split(codes, get("format", "fp32")), fmt, mine, entry, None)
            index = odd.odd_index(codes.to(torch.int32)).to(torch.int64) << 16
            assert torch.equal(direct, conversion.convert_number(numbers.split(index, get("format", "fp32")), fmt, mine, entry, None))
            taken.append(name)
    assert set(taken) >= {"e2m1", "e1m2", "int4", "e4m3", "e5m2", "ue4m3", "e3m2", "e2m3", "e8m0"}


def test_bad_operands_say_what_is_wrong():
    x = np.array([1.0, 2.0], np.float32)
    with pytest.raises(OperandError, match="draws nothing"):
        emu.convert(x, "e2m1", random=np.zeros(2, np.uint64), engine="torch")
    with pytest.raises(OperandError, match="needs random"):
        emu.convert(x, "e2m1", "sr_add8", engine="torch")
    with pytest.raises(OperandError, match="does not fit"):
        emu.convert(x, "e2m1", "sr_add8", random=np.array([1, 256]), engine="torch")
    for count, wanted in ((4, 1), (5, 2)):  # a word for 4 elements, the last ones too
        with pytest.raises(OperandError, match=f"random has 3 integers, rounding sr_te_sw8 needs {wanted}$"):
            torch_api.convert(torch.ones(count), "e2m1", "sr_te_sw8", random=torch.zeros(3, dtype=torch.int64))
    with pytest.raises(EngineError, match="torch cannot convert"):
        emu.convert(x, "nf4", "odd", engine="torch")
    with pytest.raises(OpenError):
        emu.convert(np.array([0x81], np.uint8), "e2m1", source="ue4m3", engine="torch")
