"""Reference designs of running registers: equal to the C reference by datapaths of levels; seeded faults and netlist mutants differ."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from support.running import (
    DESIGNS,
    SMALL,
    Rows,
    cast,
    drawn_rows,
    macros_of,
    plan_of,
    settled,
    simulated,
    small_int_plan,
    small_plan,
    verilated,
    written,
    yosys,
)

from emu.spec.levels import LevelsPlan
from emu.spec.registry import get


@pytest.mark.cases(1)
@pytest.mark.parametrize("name", DESIGNS)
def test_a_running_register_is_the_datapath(name: str, kit: Path, tmp_path: Path, need: Callable[..., None]) -> None:
    need("iverilog")
    design, plan = DESIGNS[name], plan_of(get("datapath", name))
    rows = written(tmp_path / "rows", plan, drawn_rows(plan, 400 if plan.c is None else 4000, 1))
    said = simulated(kit, tmp_path, macros_of(design.module, design.parameters, plan.facts.k), rows, kit / "rtl" / f"{design.module}.sv")
    assert said == f"EQUAL rows={400 if plan.c is None else 4000}"


class Fault(NamedTuple):
    """One text of a design, what it becomes, and the datapaths whose rows must show it."""

    old: str
    new: str
    datapaths: tuple[str, ...]


SATURATE, WRAP = ("int20_saturate",), ("int20_wrap",)
NEAREST, CUT, DRAWN = ("bf16_register", "fp32_fma_chain"), ("fp16_register",), ("bf16_register_random",)
INTEGERS, FLOATS = SATURATE + WRAP, NEAREST + CUT + DRAWN
FAULTS = [
    Fault("product = a * b", "product = $unsigned(a) * b", INTEGERS),
    Fault("first ? {BITS{1'b0}} : acc", "acc", INTEGERS),
    Fault("{(BITS-1){~sum[BITS]}}", "{(BITS-1){1'b1}}", SATURATE),
    Fault("{sum[BITS], {(BITS-1)", "{sum[BITS-1], {(BITS-1)", SATURATE),
    Fault("sum[BITS] != sum[BITS-1]", "!sum[BITS] && sum[BITS-1]", SATURATE),
    Fault("{(BITS-1){~sum[BITS]}}", "{(BITS-2){~sum[BITS]}}, 1'b1", SATURATE),
    Fault("SATURATE != 0 && beyond", "1'b0", SATURATE),
    Fault("SATURATE != 0 && beyond", "beyond", WRAP),
    Fault(": sum[BITS-1:0]", ": {sum[BITS], sum[BITS-2:0]}", WRAP),
    Fault("~acc + 1'b1", "~acc", INTEGERS),
    Fault("127 + i", "126 + i", INTEGERS),
    Fault("if (in_valid) acc", "acc", INTEGERS),
    Fault("in_valid && !rst", "in_valid", INTEGERS + FLOATS),
    Fault("first ? c : d", "d", FLOATS),
    Fault("lost[WINDOW-P] && (rest || kept[0])", "lost[WINDOW-P]", NEAREST),
    Fault("rest || kept[0]", "rest", NEAREST),
    Fault("ROUND == 0 ? lost[WINDOW-P] && (rest || kept[0])", "ROUND <= 1 ? lost[WINDOW-P] && (rest || kept[0])", CUT),
    Fault("far_p ? WINDOW'(1)", "far_p ? WINDOW'(0)", CUT + DRAWN),
    Fault("far_x ? WINDOW'(sig_x != 0)", "far_x ? WINDOW'(0)", FLOATS),
    Fault("{|field_x, x[FRAC_BITS-1:0]}", "{1'b1, x[FRAC_BITS-1:0]}", FLOATS),
    Fault("{|field_a, a[FRAC_BITS-1:0]}", "{|field_a, a[FRAC_BITS-1:0] & {FRAC_BITS{|field_a}}}", FLOATS),
    Fault("E'(field_x) + E'(field_x == 0)", "E'(field_x)", FLOATS),
    Fault("top_a || top_b", "top_a && top_b", FLOATS),
    Fault("(inf_p && zero_p)", "1'b0", FLOATS),
    Fault("(inf_p && top_x && sign_p != sign_x)", "1'b0", FLOATS),
    Fault("nan_b || nan_x ||", "nan_b ||", FLOATS),
    Fault("zero ? sign_p && sign_x", "zero ? sign_x", FLOATS),
    Fault("x_less ? sign_p : sign_x", "sign_x", FLOATS),
    Fault("{sign, code[BITS-2:0]}", "{sign && code != 0, code[BITS-2:0]}", FLOATS),
    Fault("ROUND == 1 ? MAX : INF", "ROUND == 1 ? INF : MAX", FLOATS),
    Fault("zero_p ? {WINDOW{1'b0}}", "1'b0 ? {WINDOW{1'b0}}", FLOATS),
    Fault("!zero_p && end_p > end_x", "end_p > end_x", NEAREST + DRAWN),
    Fault("low ? E'(0) : exp", "exp", FLOATS),
    Fault("{1'b0, random}", "{1'b0, ~random}", DRAWN),
    Fault("lost[WINDOW-P-:RANDOM_BITS]", "lost[WINDOW-P-1-:RANDOM_BITS]", DRAWN),
    Fault("{1'b0, random};", "{1'b0, random} + (RANDOM_BITS+1)'(|lost[WINDOW-P-RANDOM_BITS:0]);", DRAWN),
]


def uniform_rows(plan: LevelsPlan, count: int) -> Rows:
    """Codes and words drawn alike from all."""
    rng, k = np.random.default_rng(9), plan.facts.k
    a, b = (rng.integers(0, 1 << plan.a.facts.bits, (count, k), np.uint64) for _ in range(2))
    return cast(plan, (a, b, rng.integers(0, 256, (count, k), np.uint64), rng.integers(0, 1 << plan.a.facts.bits, count, np.uint64)))


def judged(name: str, kit: Path, work: Path, faults: list[Fault]) -> tuple[list[str], int]:
    """The faults of one design that the drawn rows do not show, and how many they show to which rows of uniform codes are blind."""
    design, plan, missed, blind = DESIGNS[name], plan_of(get("datapath", name)), [], 0
    text = (kit / "rtl" / f"{design.module}.sv").read_text()
    macros = macros_of(design.module, design.parameters, plan.facts.k)
    rows = written(work / "rows", plan, drawn_rows(plan, 400 if plan.c is None else 6000, 1))
    uniform = written(work / "uniform", plan, uniform_rows(plan, 400))
    for fault in faults:
        assert text.count(fault.old) == 1, fault.old
        (work / "fault.sv").write_text(text.replace(fault.old, fault.new))
        if not simulated(kit, work, macros, rows, work / "fault.sv").startswith("DIFFERS"):
            missed.append(f"{fault.old} -> {fault.new}")
        elif simulated(kit, work, macros, uniform, work / "fault.sv") == "EQUAL rows=400":
            blind += 1
    return missed, blind


@pytest.mark.cases(1, 2)
@pytest.mark.parametrize("name", DESIGNS)
def test_two_faults_of_each_design_are_shown(name: str, kit: Path, tmp_path: Path, need: Callable[..., None]) -> None:
    need("iverilog")
    mine = [fault for fault in FAULTS if name in fault.datapaths]
    assert len(mine) >= 6
    assert judged(name, kit, tmp_path, [mine[0], mine[-1]])[0] == []


@pytest.mark.cases(0, 1)
@pytest.mark.parametrize("name", DESIGNS)
def test_every_fault_is_shown(name: str, kit: Path, tmp_path: Path, need: Callable[..., None]) -> None:
    need("iverilog")
    missed, blind = judged(name, kit, tmp_path, [fault for fault in FAULTS if name in fault.datapaths])
    assert missed == [] and blind > 0


@pytest.mark.cases(0, 1)
@pytest.mark.parametrize("name", DESIGNS)
def test_a_million_steps_are_equal(name: str, kit: Path, tmp_path: Path, need: Callable[..., None]) -> None:
    need("verilator", "make", "g++")
    design, plan = DESIGNS[name], plan_of(get("datapath", name))
    count = 1 + 1_000_000 // plan.facts.k
    rows = written(tmp_path / "rows", plan, drawn_rows(plan, count, 2))
    macros = macros_of(design.module, design.parameters, plan.facts.k)
    assert verilated(kit, tmp_path, macros, rows, kit / "rtl" / f"{design.module}.sv") == f"EQUAL rows={count}"


@pytest.mark.exhaustive
@pytest.mark.parametrize("overflow", ["saturate", "wrap"])
def test_every_step_of_a_narrow_register_in_fixed_point(overflow: str, kit: Path, tmp_path: Path, need: Callable[..., None]) -> None:
    need("verilator", "make", "g++")
    plan = small_int_plan(overflow)
    states, a, b = (grid.reshape(-1) for grid in np.meshgrid(np.arange(-128, 128), np.arange(16), np.arange(16), indexing="ij"))
    fours = states >> 2  # 4 * fours + the rest, in five products
    parts = [np.clip(fours - 7 * i, 0, 7) + np.clip(fours + 8 * i, -8, 0) for i in range(5)]
    left = np.stack([np.full_like(states, 4)] * 4 + [states - 4 * sum(parts[:4]), a], 1)
    right = np.stack([*parts[:4], np.ones_like(states), b], 1)
    assert np.array_equal((left[:, :5] * right[:, :5]).sum(1), states)
    rows = (left & 15).astype(np.uint8), (right & 15).astype(np.uint8), np.zeros(left.shape, np.uint32), np.zeros(len(states), np.uint8)
    macros = macros_of("running_int", {"IN_BITS": 4, "BITS": 8, "SATURATE": int(overflow == "saturate")}, 6)
    said = verilated(kit, tmp_path, macros, written(tmp_path / "rows", plan, rows), kit / "rtl" / "running_int.sv")
    assert said == f"EQUAL rows={1 << 16}"


@pytest.mark.cases(0, 0)
@pytest.mark.parametrize("rounding", SMALL)
def test_every_step_of_a_narrow_register_in_a_float_format(rounding: str, kit: Path, tmp_path: Path, need: Callable[..., None]) -> None:
    """All E5M2 registers times half of all pairs of factors (a * b = b * a); of the random words one for each step."""
    need("verilator", "make", "g++")
    plan = small_plan(rounding)
    a, b = np.triu_indices(256)
    rows = (
        np.tile(a, 256)[:, None],
        np.tile(b, 256)[:, None],
        np.arange(256 * len(a))[:, None] * 167 & 255,
        np.repeat(np.arange(256), len(a)),
    )
    path = written(tmp_path / "rows", plan, cast(plan, rows))
    macros = macros_of("running_float", {"EXP_BITS": 5, "FRAC_BITS": 2, "ROUND": SMALL[rounding], "RANDOM_BITS": 8}, 1)
    assert verilated(kit, tmp_path, macros, path, kit / "rtl" / "running_float.sv") == f"EQUAL rows={256 * len(a)}"


MUTANTS = 40


@pytest.mark.cases(0, 1)
@pytest.mark.parametrize("overflow", ["saturate", "wrap"])
def test_netlist_mutants_in_fixed_point_are_shown_or_proven_equal(
    overflow: str, kit: Path, tmp_path: Path, need: Callable[..., None]
) -> None:
    need("iverilog", "yosys", "yosys-abc")
    module = "running_int"
    plan, parameters = small_int_plan(overflow), {"IN_BITS": 4, "BITS": 8, "SATURATE": int(overflow == "saturate")}
    rng = np.random.default_rng(3)
    a, b = (np.where(rng.random((3000, 6)) < 0.6, rng.choice([7, 8, 9], (3000, 6)), rng.integers(0, 16, (3000, 6))) for _ in range(2))
    rows = cast(plan, (a, b, a * 0, a[:, 0]))
    path = written(tmp_path / "rows", plan, rows)
    (tmp_path / "design.sv").write_text((kit / "rtl" / f"{module}.sv").read_text())
    sets = " ".join(f"-set {key} {value}" for key, value in parameters.items())
    gold = ["read_verilog -sv design.sv", f"chparam {sets} {module}", f"prep -flatten -top {module}", f"rename -top {module}", "opt -full"]
    assert yosys(tmp_path, *gold, f"mutate -list {MUTANTS} -seed 1 -o list.txt -ctrl mutsel 8 1").returncode == 0
    lines = (tmp_path / "list.txt").read_text().splitlines()
    plain = [line.partition(" -src")[0].partition(" -wire")[0] for line in lines]
    (tmp_path / "apply.ys").write_text("\n".join(plain) + "\n")
    done = yosys(tmp_path, *gold, "script apply.ys", "opt_clean", "write_verilog -noattr mutants.v")
    assert done.returncode == 0, done.stderr
    macros = [word for word in macros_of(module, parameters, plan.facts.k) if "PARAMETERS" not in word] + ["-DPARAMETERS=", "-DMUTANTS"]
    assert simulated(kit, tmp_path, macros, path, tmp_path / "mutants.v") == f"EQUAL rows={len(rows[0])}"
    assert len(lines) == MUTANTS
    left = [number for number in range(1, MUTANTS + 1) if simulated(kit, tmp_path, macros, path, tmp_path / "mutants.v", number)[0] == "E"]
    assert len(left) <= MUTANTS // 4
    commands = [plain[number - 1].replace(f" -ctrl mutsel 8 {number}", "") for number in left]
    assert [command for command in commands if settled(tmp_path, gold, [*gold, command], module) != "equal"] == []
