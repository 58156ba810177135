"""Datapaths of levels in the exact engine: against every datapath of one fused step, glibc, rows of RISC-V, and registers written here."""

from __future__ import annotations

import ctypes
import ctypes.util
import itertools
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import yaml
from support.dots import draw_operands, known_datapaths

from emu import contracts, strategies
from emu.base.errors import OpenError, OperandError, ShapeError
from emu.contracts.dot.cases import field_of
from emu.contracts.dot.cases_cover import covering_rows
from emu.engines.exact.arithmetic import round_result
from emu.engines.exact.datapath import dot as fused_dot
from emu.engines.exact.decode import decode_code
from emu.engines.exact.encode import encode_value
from emu.engines.exact.levels import Number, dot
from emu.engines.exact.value import finite
from emu.spec import get, names
from emu.spec.datapath import plans_of
from emu.spec.levels import LevelsPlan, check_levels, resolve_levels
from emu.spec.models import Datapath
from emu.spec.models.levels import DatapathLevels
from emu.spec.steps import in_levels

ROWS = yaml.safe_load((Path(__file__).parent / "rvbna_rows.yaml").read_text())
FUSED = [model.id for model in known_datapaths()]
LEVELS = [name for name in names("datapath") if isinstance(get("datapath", name).facts, DatapathLevels)]


def made(**words: Any) -> LevelsPlan:
    """Return the plan of a datapath of levels that is not in the spec."""
    facts = {
        "a": ("fp32",),
        "b": ("fp32",),
        "c": "fp32",
        "k": 1,
        "special": {"when": "per_add", "nan": "0x7FC00000", "zero": "ieee"},
    } | words
    model = get("datapath", "fp32_fma_chain").model_copy(update={"id": "made", "facts": DatapathLevels.model_validate(facts)})
    check_levels(model)
    return resolve_levels(model)


def held(fmt: str, rounding: str = "rne", **words: Any) -> dict[str, Any]:
    return {"format": fmt, "rounding": rounding, "overflow": "ieee"} | words


def chain(hold: Any, **words: Any) -> dict[str, Any]:
    return {"id": "k", "of": "all", "add": "chain", "start": "c", "hold": hold} | words


# Every datapath of one fused step, said in levels: a difference is a hole in the language.


@pytest.mark.cases(8)
@pytest.mark.parametrize("name", FUSED)
def test_a_fused_step_said_in_levels_gives_the_same_bits(name: str) -> None:
    assert differences(get("datapath", name), choices=2, draws=4, directed=24) == []


@pytest.mark.cases(0, 1)
@pytest.mark.parametrize("name", FUSED)
def test_a_fused_step_said_in_levels_gives_the_same_bits_on_thousands_of_rows(name: str) -> None:
    assert differences(get("datapath", name), choices=9, draws=60, directed=300) == []


def differences(model: Datapath, choices: int, draws: int, directed: int) -> list[Any]:
    """Return rows where both forms differ. choices: of operands, spread over all.   draws: lots of 4 random rows of two instructions."""
    other = in_levels(model)
    check_levels(other)
    plans = list(plans_of(model))
    out = []
    for plan in plans[:: max(1, len(plans) // choices)][:choices]:
        twin = resolve_levels(other, plan.a, plan.b, plan.scale, plan.block or None)
        rng = np.random.default_rng([len(plans), plan.block])
        rows: list[Any] = []
        for _ in range(draws):
            found = draw_operands(rng, plan, 4, 2 * plan.facts.k)
            scales = [[] if item is None else item.tolist() for item in (found.scale_a, found.scale_b)]
            rows += [
                (found.a[i].tolist(), found.b[i].tolist(), *(item[i] if item else [] for item in scales), int(found.c[i])) for i in range(4)
            ]
        rows += [tuple(row) for _, row in itertools.islice(covering_rows(field_of(plan)), directed)]
        out += [(plan.name, row) for row in rows if outcome(fused_dot, *row, plan) != outcome(dot, *row, [], twin)]
    return out


def outcome(compute: Any, *operands: Any) -> int | str:
    """Return the code of a row, or that it is refused."""
    try:
        return int(compute(*operands).code)
    except OpenError:
        return "open"


def test_the_comparison_sees_one_bit_of_alignment() -> None:
    model = get("datapath", "hopper_fp8")
    other = in_levels(model)
    level = other.facts.levels[0]
    wrong = level.model_copy(update={"align": level.align.model_copy(update={"fraction_bits": 14})})
    twin = resolve_levels(other.model_copy(update={"facts": other.facts.model_copy(update={"levels": (wrong,)})}), "e4m3", "e4m3")
    plan = next(plans_of(model))
    rows = [row for _, row in itertools.islice(covering_rows(field_of(plan)), 200)]
    assert any(fused_dot(*row, plan).code != dot(*row, [], twin).code for row in rows)


# Outside references.


@pytest.mark.parametrize("row", ROWS["dot"], ids=lambda row: f"{row['a_format']}-{row['b_format']}-{len(row['a'])}-{row['d']:x}")
def test_rows_of_riscv_bulk_normalised_dot_products(row: dict[str, Any]) -> None:
    n = len(row["a"])
    level = {"id": "bulk", "of": n, "add": "aligned", "hold": {"format": "fp32", "rounding": "odd"}}
    level["align"] = {"fraction_bits": 23 + (n - 1).bit_length(), "cut": "odd"}
    special = {"when": "once", "nan": "0x7FC00000"}
    plan = made(a=(row["a_format"],), b=(row["b_format"],), c="none", k=n, levels=(level,), out={"format": "fp32"}, special=special)
    assert dot(row["a"], row["b"], [], [], None, [], plan).code == row["d"]


@pytest.mark.parametrize(
    ("key", "rounding", "overflow"),
    [
        ("rto", "odd", "inf"),
        ("rne", "rne", "ieee"),
        ("rtz", "rz", "ieee"),
        ("rdn", "rd", "ieee"),
        ("rup", "ru", "ieee"),
        ("rmm", "rna", "ieee"),
    ],
)
def test_rows_of_riscv_then_c(key: str, rounding: str, overflow: str) -> None:
    plan = made(levels=(chain(held("fp32", rounding, overflow=overflow)),), out={"format": "fp32"})
    one = 0x3F800000
    assert [dot([row["dot"]], [one], [], [], row["c"], [], plan).code for row in ROWS["then_c"]] == [row[key] for row in ROWS["then_c"]]


def libm() -> Any:
    found = ctypes.CDLL(ctypes.util.find_library("m"))
    for name, kind in (("fma", ctypes.c_double), ("fmaf", ctypes.c_float)):
        function = getattr(found, name)
        function.restype, function.argtypes = kind, [kind] * 3
    return found


@pytest.mark.parametrize(("fmt", "function", "dtype"), [("fp32", "fmaf", np.float32), ("fp64", "fma", np.float64)])
def test_chains_of_fused_multiply_adds_are_those_of_the_c_library(fmt: str, function: str, dtype: Any) -> None:
    """NaN as a class: the payload is the processor's."""
    nan = {"fp32": "0x7FC00000", "fp64": "0x7FF8000000000000"}[fmt]
    special = {"when": "per_add", "nan": nan, "zero": "ieee"}
    plan = made(a=(fmt,), b=(fmt,), c=fmt, levels=(chain(held(fmt)),), out={"format": fmt}, special=special)
    fma, word = getattr(libm(), function), np.dtype(f"u{np.dtype(dtype).itemsize}")
    rng = np.random.default_rng(7)
    edges = np.array(strategies.edge_codes(get("format", fmt)), word)
    for trial in range(600):
        codes = rng.integers(0, np.iinfo(word).max, 13, word, endpoint=True)
        if trial % 3:  # near one another, so that sums cancel and vanish
            width = word.itemsize * 8
            top = int(rng.integers(0, 1 << 11)) << (width - 12)
            codes = codes % word.type(1 << (width - 9)) + word.type(top // 2)
            codes ^= rng.integers(0, 2, 13, word) << word.type(width - 1)
        codes = np.where(rng.random(13) < (0.0, 0.2, 0.9)[trial % 3], rng.choice(edges, 13), codes).astype(word)
        values = codes.view(dtype)
        acc = values[12]
        for i in range(6):
            acc = dtype(fma(float(values[i]), float(values[i + 6]), float(acc)))
        want = int(np.array(acc, dtype).view(word))
        got = dot(codes[:6].tolist(), codes[6:12].tolist(), [], [], int(codes[12]), [], plan).code
        assert got == (int(nan, 16) if np.isnan(acc) else want), codes


@pytest.mark.parametrize("kind", ["saturate", "saturate_symmetric", "wrap", "sticky_inf", "error"])
def test_a_register_of_20_bits_written_by_hand(kind: str) -> None:
    hold = {"bits": 20, "unit_exp": 0, "overflow": kind}
    facts = {"a": ("int8",), "b": ("int8",), "c": "none", "k": 64, "out": {"format": "fp32"}}
    plan = made(**facts, levels=(chain(hold, start="zero"),), special={"when": "once", "nan": "0x7FC00000"})
    rng, low, high, over = np.random.default_rng(20), -(2**19) + (kind == "saturate_symmetric"), 2**19 - 1, 0
    for trial in range(120):
        a, b = (rng.integers(-128, 128, 64) for _ in "ab")
        if trial % 2:
            a, b = np.abs(a) // 2 + 63, (np.abs(b) // 2 + 63) * (-1 if trial % 4 == 1 else 1)
        register: float | str = 0
        for x, y in zip(a.tolist(), b.tolist(), strict=True):
            if isinstance(register, str) or register in (np.inf, -np.inf):
                continue
            register += x * y
            if not low <= register <= high:
                over += 1
                if kind.startswith("saturate"):
                    register = max(low, min(high, register))
                elif kind == "wrap":
                    register -= 2**20 if register > 0 else -(2**20)
                else:
                    register = "open" if kind == "error" else np.inf if register > 0 else -np.inf
        want = register if isinstance(register, str) else int(np.float32(register).view(np.uint32))
        assert outcome(dot, (a & 255).tolist(), (b & 255).tolist(), [], [], None, [], plan) == want
    assert over > 20


def test_orders_of_float_additions_are_those_of_numpy() -> None:
    """Interleaved chains, a tree and a bfloat16 register: one NumPy or ml_dtypes addition each; bfloat16 products are exact in binary32."""
    ways, tree, register = (resolve_levels(name) for name in ("systolic_4way", "bf16_pairwise", "bf16_register"))
    rng = np.random.default_rng(4)
    bf16 = ml_dtypes.bfloat16
    for _ in range(150):
        a, b = ((rng.normal(size=16) * 2.0 ** rng.integers(-6, 7, 16)).astype(bf16) for _ in "ab")
        c = np.float32(rng.normal())
        codes = [item.view(np.uint16).tolist() for item in (a, b)]
        products = a.astype(np.float32) * b.astype(np.float32)
        sums = [np.float32(0)] * 4
        for i, product in enumerate(products):
            sums[i % 4] = sums[i % 4] + product
        want = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + c
        assert dot(*codes, [], [], int(c.view(np.uint32)), [], ways).code == int(want.view(np.uint32))
        total = c
        for first in (0, 8):
            part = products[first : first + 8]
            row = [(part[i] + part[i + 1]).astype(bf16) for i in range(0, 8, 2)]  # binary32 sums of these: see the filter below
            while len(row) > 1:
                row = [row[i] + row[i + 1] for i in range(0, len(row), 2)]
            total = total + row[0].astype(np.float32)
        exact = [float(products[i]) + float(products[i + 1]) for i in range(0, 16, 2)]
        if all(float(np.float32(value)) == value for value in exact):  # no double rounding in the reference
            assert dot(*codes, [], [], int(c.view(np.uint32)), [], tree).code == int(total.view(np.uint32))
        small = [x.astype(bf16) for x in np.sign(products) * np.abs(np.round(products))]
        ones = [int(bf16(1).view(np.uint16))] * 16
        running = bf16(0)
        for value in small:
            running = running + value
        assert dot([int(x.view(np.uint16)) for x in small], ones, [], [], 0, [], register).code == int(running.view(np.uint16))


# Words of the language, one by one.


def test_every_shipped_datapath_of_levels_has_rows_and_they_hold() -> None:
    assert len(LEVELS) >= 19
    for name in LEVELS:
        model = get("datapath", name)
        assert model.expect and [contracts.replay(model, example) for example in model.expect] == [None] * len(model.expect)


def test_random_words_go_by_instruction_level_and_node() -> None:
    levels = (
        {"id": "pair", "of": 2, "add": "exact", "hold": held("bf16", "sr_add8")},
        chain(held("bf16", "sr_add16"), start="c"),
    )
    plan = made(a=("bf16",), b=("bf16",), c="fp32", k=4, levels=levels, out={"format": "bf16"}, special={"when": "once", "nan": "0x7FC0"})
    places = [draw[:4] for draw in plan.draws(8)]
    one = [(0, 1, 0, 0), (0, 1, 1, 0), (0, 2, 0, 0), (0, 2, 0, 1), (0, 2, 0, 2)]
    assert places == [*one, (1, 1, 2, 0), (1, 1, 3, 0), (1, 2, 0, 3), (1, 2, 0, 4)]
    tie = [0x3F80, 0x3B80, 0, 0] * 2  # 1 + 2^-8 lies half way in bfloat16
    ones = [0x3F80] * 8
    up, stay = 128, 0
    words = [up, stay, stay, stay, stay, stay, stay, stay, stay]
    stages = dot(tie, ones, [], [], 0, words, plan).stages
    assert [stages[f"pair_{i}"].significand for i in (0, 2)] == [129, 128]
    assert dot(tie, ones, [], [], 0, words, plan).code == 0x4000  # 2 + 2^-7 lies half way too, and 2^15 + 0 does not carry
    with pytest.raises(ShapeError, match="takes 9 words for K = 8, not 8"):
        dot(tie, ones, [], [], 0, words[:8], plan)
    with pytest.raises(OperandError, match="does not fit the 8 bits"):
        dot(tie, ones, [], [], 0, [256, *words[1:]], plan)


def test_a_word_of_a_tree_belongs_to_the_instruction_of_its_last_product() -> None:
    """Five values: 0 + 1, 2 + 3, then their sums, then the odd one out; an instruction is one product."""
    tree = {"id": "tree", "of": "all", "add": "pairwise", "hold": held("bf16", "sr_add8")}
    facts = {"a": ("bf16",), "b": ("bf16",), "c": "none", "k": 1, "out": {"format": "bf16"}, "special": {"when": "once", "nan": "0x7FC0"}}
    assert [draw[:4] for draw in made(**facts, levels=(tree,)).draws(5)] == [(1, 1, 0, 0), (3, 1, 0, 1), (3, 1, 0, 2), (4, 1, 0, 3)]


def test_a_derived_floor_leaves_room_for_the_integer_bits() -> None:
    """Four products below 2^2: I = 4, so the floor is -126 - 4, and the unit 2^-132: a product of 2^-133 is cut."""
    align = {"fraction_bits": 2, "cut": "rz", "floor": "derived"}
    level = {"id": "k", "of": "all", "add": "exact"}, {"id": "four", "of": 4, "add": "aligned", "align": align, "hold": held("fp32", "rz")}
    plan = made(a=("bf16",), b=("bf16",), c="none", k=4, levels=(level[1], level[0]), out={"format": "fp32", "rounding": "rz"})
    assert plan.levels[0].align is not None and plan.levels[0].align.floor == -130
    small = [0x0080, 0, 0, 0]  # 2^-126
    found = [dot(small, [code, 0, 0, 0], [], [], None, [], plan).code for code in (0x3D00, 0x3C80, 0x3C00)]
    assert found == [1 << 18, 1 << 17, 0]  # 2^-131, 2^-132; 2^-133 is gone


def test_each_scale_takes_its_own_word() -> None:
    """511 lies half way between 510 and 512 in bfloat16: the word 128 carries, 0 does not."""
    each = {"format": "bf16", "rounding": "sr_add8"}
    levels = ({"id": "blk", "of": 1, "add": "exact", "scale": {"each": each}}, chain(held("fp32"), start="zero"))
    scale = {"formats": ("fp32",), "blocks": (1,)}
    plan = made(c="none", k=1, scale=scale, levels=levels, out={"format": "fp32"})
    one, odd = 0x3F800000, 0x43FF8000
    stages = [dot([one], [one], [odd], [odd], None, words, plan).stages["blk_0"] for words in ([0, 0], [0, 128], [128, 0], [128, 128])]
    assert [value.significand * 2**value.lsb_exp for value in stages] == [510 * 510, 510 * 512, 512 * 510, 512 * 512]


@pytest.mark.parametrize(("rounding", "code"), [("rne", 0), ("rz", 0), ("ru", 0), ("rd", 0x80000000)])
def test_a_sum_that_cancels_is_minus_zero_where_the_rounding_goes_down(rounding: str, code: int) -> None:
    special = {"when": "per_add", "nan": "0x7FC00000", "zero": "ieee"}
    plan = made(c="none", k=2, levels=(chain(held("fp32", rounding), start="zero"),), out={"format": "fp32"}, special=special)
    assert dot([0x3F800000, 0xBF800000], [0x3F800000] * 2, [], [], None, [], plan).code == code


def test_c_at_the_end_is_an_operand_that_decides() -> None:
    """The products overflow to +infinity, but C, which joins them last, was -infinity before anything was added."""
    level = {"id": "k", "of": "all", "add": "exact", "hold": held("fp32")}
    out = held("fp32") | {"plus": "c"}
    plan = made(c="fp32", k=2, levels=(level,), out=out, special={"when": "once", "nan": "0x7FC00000"})
    assert dot([0x7F7FFFFF] * 2, [0x3F800000] * 2, [], [], 0xFF800000, [], plan).code == 0xFF800000


@pytest.mark.parametrize(("when", "code"), [("once", 0xFF800000), ("per_add", 0x7FC00000)])
def test_infinity_that_comes_late_decides_first_or_meets_an_overflow(when: str, code: int) -> None:
    special = {"when": when, "nan": "0x7FC00000"}
    plan = made(c="none", k=2, levels=(chain(held("fp32"), start="zero"),), out={"format": "fp32"}, special=special)
    big, one, inf = 0x7F7FFFFF, 0x3F800000, 0xFF800000
    assert dot([big, big, inf, 0], [one] * 4, [], [], None, [], plan).code == code


def test_an_odd_value_of_a_pairwise_sum_goes_on_as_it_is() -> None:
    level = {"id": "tree", "of": "all", "add": "pairwise", "hold": held("bf16")}
    facts = {"a": ("bf16",), "b": ("bf16",), "c": "none", "out": {"format": "bf16"}, "special": {"when": "per_add", "nan": "0x7FC0"}}
    plan = made(**facts, k=1, levels=(level,))
    wide = [0x3F81, 0x3F81]  # (1 + 2^-7)^2 = 1 + 2^-6 + 2^-14: 15 bits
    last = dot([0x3F80, 0x3F80, wide[0]], [0x3F80, 0x3F80, wide[1]], [], [], None, [], plan)
    assert last.stages["product_2"] == Number(129 * 129, 0, 14, True)
    assert last.code == 0x4041  # 2 + (1 + 2^-6 + 2^-14) = 3.01569: nearest to 3 + 2^-6
    assert dot([wide[0]], [wide[1]], [], [], None, [], plan).code == 0x3F82  # one value alone is held too


def test_the_running_value_is_read_as_c_is() -> None:
    """Subnormal C counts as zero, and so does a subnormal running value, but not the result."""
    facts = {"levels": (chain(held("fp32")),), "out": {"format": "fp32"}, "subnormal": {"c": "flush"}}
    tiny = 0x00000001
    assert dot([0], [0], [], [], tiny, [], made(**facts)).code == 0
    assert dot([tiny], [0x3F800000], [], [], 0, [], made(**facts)).code == tiny
    assert dot([tiny, 0], [0x3F800000, 0], [], [], 0, [], made(**facts)).code == 0


def test_a_result_by_a_policy() -> None:
    out = {"format": "e4m3", "rounding": "rne", "policy": "ocp_saturate"}
    level = {"id": "k", "of": "all", "add": "exact"}
    plan = made(c="none", k=2, levels=(level,), out=out, special={"when": "once", "nan": "policy"})
    one = 0x3F800000
    assert dot([0x44000000, 0], [one] * 2, [], [], None, [], plan).code == 0x7E  # 512 stops at 448
    assert dot([0x7FC00000, 0], [one] * 2, [], [], None, [], plan).code == 0x7F


@pytest.mark.parametrize("add", ["exact", "chain", "pairwise"])
@pytest.mark.parametrize("every", [1, 2])
def test_a_register_that_loses_nothing_gives_the_exact_sum_in_every_order(add: str, every: int) -> None:
    """The loader says that nothing is lost; then every order is that of the reference model's own sum of fractions, rounded once."""
    hold = {"bits": 400, "unit_exp": "derived", "overflow": "error"}
    start = {"start": "zero"} if add == "chain" else {}
    levels = (
        {"id": "one", "of": "all", "take": {"every": every}, "add": add, "hold": hold, **start},
        {"id": "two", "of": every, "add": "exact", "hold": hold},
    )
    facts = {"a": ("bf16",), "b": ("fp16",), "c": "none", "out": held("fp32"), "special": {"when": "per_add", "nan": "0x7FC00000"}}
    plan = made(**facts, k=6, levels=levels)
    assert [level.loses for level in plan.levels] == [None, None]
    a, b, fp32 = (get("format", name) for name in ("bf16", "fp16", "fp32"))
    rng = np.random.default_rng(every)
    for _ in range(60):
        codes = [int(code) for code in rng.integers(0x2000, 0x5F00, 6)], [int(code) for code in rng.integers(0, 0x7C00, 6)]
        codes[0][::2] = [code | 0x8000 for code in codes[0][::2]]
        total = sum(decode_code(x, a).signed * decode_code(y, b).signed for x, y in zip(*codes, strict=True))
        want = round_result(finite(total), fp32, get("rounding", "rne"))
        assert dot(*codes, [], [], None, [], plan).code == encode_value(want, fp32)
