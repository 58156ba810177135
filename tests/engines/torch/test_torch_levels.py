"""Datapaths of levels in the torch engine against the exact engine: shipped and drawn ones; integers of any width."""

from __future__ import annotations

import importlib
import math
import os
from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np
import pytest
from support.level_compare import all_plans, compare, exact, together
from support.level_flags import compare as compare_flags
from support.level_flags import compare_plan as compare_flags_of
from support.level_hand import BY_HAND, by_hand
from support.level_samples import PLAIN, RANDOM, Row, drawn_datapath, drawn_row

import emu
from emu.base.errors import EmuError, EngineError, OpenError, OperandError, ShapeError
from emu.engines.exact.levels import Number, shifted
from emu.engines.exact.levels import wrapped as wrapped_exact
from emu.spec import derive
from emu.spec.levels import level_plans_of
from emu.spec.models import Datapath
from emu.spec.registry import get

torch = importlib.import_module("torch") if os.environ.get("EMU_NEED_TORCH") else pytest.importorskip("torch", reason="no torch here")
can_torch = importlib.import_module("emu.engines.torch.can")
in_torch = importlib.import_module("emu.engines.torch.levels")
edge = importlib.import_module("emu.engines.torch.levels_arrays")
wide = importlib.import_module("emu.engines.torch.wide")


def test_shipped_datapaths() -> None:
    rng, seen, plans = Random(13), Counter[str](), all_plans()
    for plan in plans:
        assert can_torch.can_levels(plan), plan.name
        seen += compare(edge.dot, plan, rng, 3)
    assert len(plans) > 60 and seen["code"] > 300


def test_drawn_datapaths() -> None:
    _compare_drawn(range(9000, 9160), 3)


@pytest.mark.exhaustive
def test_more_drawn_datapaths() -> None:
    _compare_drawn(range(10000, 12000), 5)


def _compare_seed(seed: int, rows: int) -> Counter[str]:
    seen: Counter[str] = Counter()
    for plan in list(level_plans_of(drawn_datapath(seed)))[:2]:
        assert can_torch.can_levels(plan), plan.name
        seen += compare(edge.dot, plan, Random(seed), rows)
    return seen


def _compare_drawn(seeds: Sequence[int], rows: int) -> None:
    seen: Counter[str] = Counter()
    for seed in seeds:
        seen += _compare_seed(seed, rows)
    assert seen["code"] > 2 * len(seeds) and seen["OpenError"]


def test_flags_of_shipped_and_drawn_datapaths() -> None:
    seen = compare_flags({"torch": edge}, range(60), 4)
    shipped = [plan for plan in all_plans() if plan.facts.flags is not None]
    for plan in shipped:
        seen += compare_flags_of({"torch": edge}, plan, Random(1), 20)
    assert shipped and all(seen["torch", flags] > 10 for flags in (0, 1, 2, 3)), seen


@pytest.mark.exhaustive
def test_flags_of_more_drawn_datapaths() -> None:
    seen = compare_flags({"torch": edge}, range(2000, 2400), 6)
    assert all(seen["torch", flags] > 50 for flags in (0, 1, 2, 3)), seen


def test_flags_of_many_rows_by_the_public_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each row of tiles of two rows has its own flags: 2^64 * 2^64 overflows, infinity * 0 is invalid, 1 raises nothing."""
    values = [(0x5F80, 0x5F80, 2), (0x7F80, 0, 1), (0x3F80, 0x3F80, 0), (0x7FA0, 0x3F80, 1), (0x7FC0, 0x3F80, 0)]
    a, b = (np.zeros((5, 4), np.uint16) for _ in range(2))
    a[:, 0], b[:, 0] = [x for x, _, _ in values], [y for _, y, _ in values]
    monkeypatch.setattr(in_torch, "TILE", 2 * 4 * in_torch._SHARE)
    codes, flags = emu.dot(a, b, "rvbna4_flags", flags=True, engine="torch")
    assert flags.tolist() == [raised for _, _, raised in values]
    assert (codes.tolist(), flags.tolist()) == tuple(x.tolist() for x in emu.dot(a, b, "rvbna4_flags", flags=True, engine="exact"))
    plan = next(level_plans_of("rvbna4_flags"))
    raised = torch.zeros((5, 5), dtype=torch.uint8)
    c = torch.zeros((5, 5), dtype=torch.int64)
    every = in_torch.matmul(_tensor(a), _tensor(b), None, None, c, None, plan, raised)
    rows, columns = np.repeat(a, 5, 0), np.tile(b, (5, 1))
    want = tuple(x.tolist() for x in emu.dot(rows, columns, "rvbna4_flags", flags=True, engine="exact"))
    assert (every.flatten().tolist(), raised.flatten().tolist()) == want
    given: dict[str, Any] = {"a_format": plan.a, "b_format": plan.b, "flags": True}
    x, y = _tensor(a), _tensor(b)
    for ask in (emu.torch.matmul, torch.compile(emu.torch.matmul, backend="eager")):
        found = ask(x, y, "rvbna4_flags", **given)
        assert tuple(item.flatten().tolist() for item in found) == want and found[1].dtype == torch.uint8
    pairs = emu.torch.dot(x, y, "rvbna4_flags", **given)
    assert (pairs[0].tolist(), pairs[1].tolist()) == (codes.tolist(), flags.tolist())
    with pytest.raises(OperandError, match=r"^flags: datapath int12_wrap reports none: leave flags out$"):
        emu.torch.dot(torch.zeros((1, 16), dtype=torch.uint8), torch.zeros((1, 16), dtype=torch.uint8), "int12_wrap", flags=True)


def test_tiles_never_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    rng, plan = Random(3), next(level_plans_of("bf16_register_random"))
    rows: list[Row] = []
    while len(rows) < 33:
        row = drawn_row(plan, rng)
        rows += [row] if row is not None and len(row.a) == 4 else []
    monkeypatch.setattr(in_torch, "TILE", 5 * 4 * in_torch._SHARE)
    assert [exact(plan, row) for row in rows] == together(edge.dot, plan, rows).tolist()


def _overflows() -> Datapath:
    """A register that refuses what it does not hold."""
    model: Datapath = get("datapath", "int12_saturate")
    (level,) = model.facts.levels
    held = level.model_copy(update={"hold": level.hold.model_copy(update={"overflow": "error"})})
    return model.model_copy(update={"facts": model.facts.model_copy(update={"levels": (held,)})})


def test_errors_name_their_row(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = next(level_plans_of(_overflows()))
    monkeypatch.setattr(in_torch, "TILE", 4 * plan.facts.k * in_torch._SHARE)
    a, b = (np.zeros((10, 16), np.uint8) for _ in range(2))
    a[6:8] = b[6:8] = derive.codes(plan.a).max_code
    with pytest.raises(OpenError, match=r"^datapath int12_saturate: row 6: a register overflows where the datapath says error$"):
        edge.dot(a, b, None, None, None, None, plan)
    drawing = next(level_plans_of("bf16_register_random"))
    zeros, words = np.zeros((2, 4), np.uint16), np.zeros((2, 4), np.uint32)
    words[1, 2] = 1 << 31
    with pytest.raises(OperandError, match=r"^random: word 2 does not fit the \d+ bits of sr_\w+$"):
        edge.dot(zeros, zeros, None, None, zeros[:, 0], words, drawing)
    with pytest.raises(ShapeError, match=r"^random: datapath bf16_register_random takes 4 words for K = 4, not 0$"):
        edge.dot(zeros, zeros, None, None, zeros[:, 0], None, drawing)
    scaled = next(level_plans_of("mx_lane24"))
    a, scales = np.zeros((3, 64), np.uint8), np.full((3, 2), 127, np.uint8)
    with pytest.raises(OperandError, match=r"^a code has more than 4 bits: it is no e2m1 code$"):
        edge.dot(a | 16, a, scales, scales, None, None, scaled)


def test_public_functions_ask_the_engine_by_name() -> None:
    rng = np.random.default_rng(5)
    for name in ("mx_lane24", "rvbna4", "int12_wrap", "systolic_4way"):
        plan = next(level_plans_of(name))
        size = math.lcm(plan.facts.k, plan.block or 1)
        a, b = (rng.integers(0, 1 << 16, (7, size), np.uint16) for _ in range(2))
        masks = [(1 << derive.codes(fmt).bits) - 1 for fmt in (plan.a, plan.b)]
        scales: dict[str, Any] = {}
        if plan.scale is not None:
            scales = {side: rng.integers(120, 135, (7, size // plan.block), np.uint8) for side in ("a_scales", "b_scales")}
        given = {"a_format": plan.a, "b_format": plan.b, "scale_format": plan.scale} | scales
        found, wanted = (emu.dot(a & masks[0], b & masks[1], name, engine=engine, **given) for engine in ("torch", "exact"))
        assert found.dtype == wanted.dtype and found.tolist() == wanted.tolist(), name


def _tensor(x: np.ndarray) -> Any:
    return torch.from_numpy(x)


def test_tensors_in_and_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows in pairs and products of matrices, with C, scales and random words; parts of the outputs at a time; a compiled graph."""
    rng, name = np.random.default_rng(7), "bf16_register_random"
    a, b = (rng.integers(0x3F00, 0x4080, (rows, 8), np.uint16) for rows in (3, 5))
    c, words = rng.integers(0x3F00, 0x4080, (3, 5), np.uint16), rng.integers(0, 1 << 8, (3, 5, 8), np.uint16)
    left, right = np.repeat(a, 5, 0), np.tile(b, (3, 1))
    wanted = emu.dot(left, right, name, c=c.reshape(-1), random=words.reshape(-1, 8), engine="exact").tolist()
    x, y = _tensor(a), _tensor(b)
    found = torch.compile(lambda p, q: emu.torch.matmul(p, q, name, c=_tensor(c), random=_tensor(words)), backend="eager")(x, y)
    assert found.dtype == torch.uint16 and found.flatten().tolist() == wanted
    monkeypatch.setattr(in_torch, "TILE", 4 * 8 * in_torch._SHARE)
    assert emu.torch.matmul(x, y, name, c=_tensor(c), random=_tensor(words)).flatten().tolist() == wanted
    given = {"c": _tensor(c.reshape(-1)), "random": _tensor(words.reshape(-1, 8))}
    assert emu.torch.dot(_tensor(left), _tensor(right), name, **given).tolist() == wanted
    codes, scales = rng.integers(0, 16, (4, 64), np.uint8), rng.integers(120, 135, (4, 2), np.uint8)
    scaled = emu.dot(codes, codes, "mx_lane24", scales, scales, engine="exact").tolist()
    given = {"a_scales": _tensor(scales), "b_scales": _tensor(scales)}
    square = emu.torch.matmul(_tensor(codes), _tensor(codes), "mx_lane24", **given).tolist()
    assert [row[i] for i, row in enumerate(square)] == scaled


def test_tensors_that_do_not_fit() -> None:
    a = torch.zeros((2, 4), dtype=torch.int16)
    with pytest.raises(OperandError, match=r"^c: datapath int12_wrap has no C: leave it out$"):
        emu.torch.dot(torch.zeros((2, 16), dtype=torch.uint8), torch.zeros((2, 16), dtype=torch.uint8), "int12_wrap", c=a[:, 0])
    with pytest.raises(ShapeError, match=r"^random: shape \(4, 1\) is not \(2,\) and the words of each output$"):
        emu.torch.dot(a, a, "bf16_register_random", random=torch.zeros((4, 1), dtype=torch.int16))
    with pytest.raises(ShapeError, match=r"^random: datapath bf16_register_random takes 4 words for K = 4, not 0$"):
        emu.torch.dot(a, a, "bf16_register_random")
    half = torch.zeros((1, 16), dtype=torch.int16)
    with pytest.raises(OperandError, match=r"^random: datapath hopper_fp16 draws nothing: leave random out$"):
        emu.torch.dot(half, half, "hopper_fp16", a_format="fp16", b_format="fp16", random=half)
    rows = torch.tensor([[0] * 16, [7] * 16], dtype=torch.uint8)
    with pytest.raises(OpenError, match=r"^datapath int12_saturate: row 1, column 0: a register overflows where the datapath says error$"):
        emu.torch.matmul(rows, rows[1:], _overflows())


def test_elements_of_binary64() -> None:
    """Products of 106 bits, codes of 64."""
    model: Datapath = get("datapath", "fp32_fma_chain")
    facts = model.facts.model_copy(update={"a": ("fp64",), "b": ("fp64",)})
    plan, rng = next(level_plans_of(model.model_copy(update={"id": "fp64_in", "facts": facts}))), Random(4)
    rows = []
    for _ in range(40):
        values = [rng.choice((-1, 1)) * rng.random() * 2.0 ** rng.choice((0, 1, -1, -600, 500)) for _ in range(8)]
        codes = np.array(values).view(np.uint64).tolist()
        rows.append(Row(codes[:4], codes[4:], [], [], int(np.float32(rng.random()).view(np.uint32)), []))
    assert together(edge.dot, plan, rows).tolist() == [exact(plan, row) for row in rows]


def test_what_is_refused_is_said() -> None:
    model: Datapath = get("datapath", "fp32_fma_chain")
    out = model.facts.out.model_copy(update={"format": "fp64", "rounding": "rne"})
    held = model.model_copy(update={"id": "wide_out", "facts": model.facts.model_copy(update={"out": out, "epilogue": None})})
    operands: Any = np.zeros(1, np.uint32), np.zeros(1, np.uint32)
    why = r"^engine torch does not take this datapath of levels \(fp64 is held in more than 32 bits\); engine .*exact does$"
    with pytest.raises(EngineError, match=why):
        emu.dot(*operands, held, engine="torch")
    why = r"^engine torch does not do wide_out \(fp64 is held in more than 32 bits\): engine exact does it$"
    with pytest.raises(EngineError, match=why):
        edge.dot(operands[0][None], operands[1][None], None, None, np.zeros(1, np.uint32), None, next(level_plans_of(held)))


# Integers of any width, against those of Python


WIDTHS = (1, 24, 61, 62, 63, 84, 85, 200)


def _wide(numbers: list[int], bits: int) -> Any:
    """The magnitudes of integers."""
    if bits <= 62:
        limbs = [[abs(x) for x in numbers]]
    else:
        limbs = [[abs(x) >> (28 * i) & ((1 << 28) - 1) for x in numbers] for i in range(-(-bits // 28))]
    return wide.Wide(torch.tensor(limbs), bits)


def _integers(x: Any) -> list[int]:
    return [sum(limb << (28 * i) for i, limb in enumerate(limbs)) for limbs in zip(*x.limbs.tolist(), strict=True)]


def _numbers(rng: Random, bits: int, count: int = 40) -> list[int]:
    top = (1 << bits) - 1
    sparse = [rng.choice((1, -1)) * (1 << rng.randrange(bits)) for _ in range(count)]
    return [0, 1, top, -top, -1, *sparse, *(rng.choice((1, -1)) * (rng.getrandbits(bits) >> rng.randrange(bits)) for _ in range(count))]


@pytest.mark.parametrize("bits", WIDTHS)
def test_cuts_of_any_width(bits: int) -> None:
    rng = Random(bits)
    for name in (*PLAIN, *RANDOM):
        rounding, numbers = get("rounding", name), _numbers(rng, bits)
        places = [rng.choice((0, 1, 27, 28, 29, 56, bits - 1, bits, bits + 1, 300, -1, -30, rng.randrange(bits))) for _ in numbers]
        words = [rng.choice((0, (1 << rounding.random_bits) - 1, rng.getrandbits(max(rounding.random_bits, 1)))) for _ in numbers]
        words = [min(word, (1 << rounding.random_bits) - 1) for word in words]
        negative = torch.tensor([x < 0 for x in numbers])
        found = wide.cut(_wide(numbers, bits), torch.tensor(places), bits + 31, negative, rounding, torch.tensor(words))
        for x, place, word, kept in zip(numbers, places, words, _integers(found), strict=True):
            wanted = shifted(Number(x, 0, 0, True), place, rounding, word if rounding.random_bits else None)
            assert kept == abs(wanted), (name, x, place, word)


@pytest.mark.parametrize("bits", WIDTHS)
def test_sums_products_and_low_bits_of_any_width(bits: int) -> None:
    rng = Random(bits)
    numbers = _numbers(rng, bits)
    x, negative = _wide(numbers, bits), torch.tensor([x < 0 for x in numbers])
    assert x.top.clamp(min=-1).tolist() == [abs(number).bit_length() - 1 for number in numbers]
    for other in WIDTHS:
        more = _numbers(rng, other)
        y, room = _wide(more, other), max(bits, other) + 1
        both = wide.Wide(torch.stack([wide.resized(x, room).limbs, wide.resized(y, room).limbs], -1), room)
        size, below = wide.total(both, torch.stack([negative, torch.tensor([v < 0 for v in more])], -1), room)
        assert _integers(size) == [abs(u + v) for u, v in zip(numbers, more, strict=True)]
        assert below.tolist() == [u + v < 0 for u, v in zip(numbers, more, strict=True)]
        assert _integers(wide.product(x, y)) == [abs(u * v) for u, v in zip(numbers, more, strict=True)]
    for width in {2, 28, 56, bits - 1, bits, bits + 1} - {0}:
        size, below = wide.wrapped(x, negative, width)
        signed = [-u if sign else u for u, sign in zip(_integers(size), below.tolist(), strict=True)]
        assert signed == [wrapped_exact(u, width) for u in numbers], width


# One wrong step at a time


def _no_sticky(x: Any, places: Any) -> Any:
    kept, rest, shift = REAL["_right"](x, places)
    return kept, rest & ~1, shift


REAL: dict[str, Any] = {"_right": wide._right, "add": in_torch.add, "multiply": in_torch.multiply, "held": in_torch.held}
FAULTS: dict[str, tuple[int | str, Any, str, Any]] = {  # a seed, or a row by hand, and what becomes of a step
    "what falls off far below is forgotten": (9018, wide, "_right", _no_sticky),
    "a carry is lost": (9001, wide, "_carried", lambda limbs: limbs),
    "a sum that cancels is dead": (
        "a sum that cancels raises E all the same", in_torch, "add",
        lambda *given: REAL["add"](*given[:2], given[2]._replace(cancelled_counts=False)),
    ),
    "an exact zero is plus": (9067, in_torch, "add", lambda *given: REAL["add"](*given[:2], given[2]._replace(goes_down=None))),
    "the exponent of a sum is zero": (9327, in_torch, "add", lambda *given: REAL["add"](*given[:2], given[2]._replace(exponent="zero"))),
    "a product of zero is live": (
        "a product that is zero does not raise E", in_torch, "multiply", lambda x, y: REAL["multiply"](x, y)._replace(live=x.live | y.live),
    ),
    "a cut zero keeps the sign of its sum": (
        "a sum that is cut to zero is +0", in_torch, "held", lambda *given: REAL["held"](*given[:4], False, given[5]),
    ),
    "operands decide nothing": (9066, in_torch, "_decided", lambda found, running, told: found),
    "subnormal running values stay": ("the largest subnormal running value is flushed", in_torch, "flushed", lambda x, fmt: x),
    "of several faults the last counts": (9027, in_torch, "first_fault", lambda faults: faults[..., -1]),
}  # fmt: skip


@pytest.mark.parametrize("what", BY_HAND)
def test_rows_by_hand(what: str) -> None:
    plan, row, code = by_hand(what)
    assert together(edge.dot, plan, [row]).tolist() == [exact(plan, row)] == [code]


@pytest.mark.parametrize("fault", list(FAULTS))
def test_a_wrong_step_is_seen(monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    """Each fault changes a code or an error of rows that the tests above compare."""
    rows, *change = FAULTS[fault]

    def judge() -> None:
        if isinstance(rows, str):
            plan, row, code = by_hand(rows)
            assert together(edge.dot, plan, [row]).tolist() == [code]
        else:
            _compare_seed(rows, 3)

    judge()
    monkeypatch.setattr(*change)
    with pytest.raises((AssertionError, EmuError)):
        judge()


FLAG_FAULTS: dict[str, tuple[int, Any, str, Any]] = {  # a seed, and what becomes of a step
    "infinities of both signs are valid": (14, in_torch, "add", lambda x, y, way: REAL["add"](x, y, way._replace(nv=None))),
    "an adder that wraps tells nobody": (340, in_torch, "add", lambda x, y, way: REAL["add"](x, y, way._replace(of=None))),
    "registers tell nobody": (3, in_torch, "held", lambda *given: (REAL["held"](*given)[0], None)),
    "infinity times zero is valid": (4, in_torch, "invalid", lambda x, y: torch.zeros_like(x.nan)),
    "operands that signal count for nothing": (15, in_torch, "_either", lambda x, y, like: torch.zeros_like(like)),
    "flags of terms are lost in products": (12, in_torch, "multiply", lambda x, y: REAL["multiply"](x, y)._replace(flags=x.flags)),
}


@pytest.mark.parametrize("fault", list(FLAG_FAULTS))
def test_a_wrong_flag_is_seen(monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    seed, *change = FLAG_FAULTS[fault]
    assert compare_flags({"torch": edge}, [seed], 4)
    monkeypatch.setattr(*change)
    with pytest.raises(AssertionError):
        compare_flags({"torch": edge}, [seed], 4)
