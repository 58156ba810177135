"""Reference designs of running registers: equal to the C reference by datapaths of levels; seeded faults and netlist mutants differ."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from emu.engines.c_ref import levels as c_levels
from emu.spec.levels import LevelsPlan, level_plans_of
from emu.spec.models import Datapath
from emu.spec.models.levels import DatapathLevels
from emu.spec.registry import get


class Design(NamedTuple):
    """A datapath and the parameters with which a reference design is it. module: running_int or running_float."""

    datapath: str
    module: str
    parameters: dict[str, int]


DESIGNS = {
    design.datapath: design
    for design in (
        Design("int20_saturate", "running_int", {"IN_BITS": 8, "BITS": 20, "SATURATE": 1}),
        Design("int20_wrap", "running_int", {"IN_BITS": 8, "BITS": 20, "SATURATE": 0}),
        Design("bf16_register", "running_float", {"EXP_BITS": 8, "FRAC_BITS": 7, "ROUND": 0, "RANDOM_BITS": 1}),
        Design("fp16_register", "running_float", {"EXP_BITS": 5, "FRAC_BITS": 10, "ROUND": 1, "RANDOM_BITS": 1}),
        Design("fp32_fma_chain", "running_float", {"EXP_BITS": 8, "FRAC_BITS": 23, "ROUND": 0, "RANDOM_BITS": 1}),
        Design("bf16_register_random", "running_float", {"EXP_BITS": 8, "FRAC_BITS": 7, "ROUND": 2, "RANDOM_BITS": 8}),
    )
}
SMALL = {"rne": 0, "rz": 1, "sr_add8": 2}  # roundings of an e5m2 register


def plan_of(datapath: Datapath) -> LevelsPlan:
    (plan,) = level_plans_of(datapath)
    return plan


def small_plan(rounding: str) -> LevelsPlan:
    """bf16_register with e5m2 in the place of bf16, one product an instruction."""
    base: Datapath = get("datapath", "bf16_register")
    hold = {"format": "e5m2", "rounding": rounding, "overflow": "ieee"}
    facts: dict[str, Any] = {"a": ["e5m2"], "b": ["e5m2"], "c": "e5m2", "k": 1, "out": {"format": "e5m2"}}
    facts["special"] = {"when": "per_add", "nan": "0x7E", "zero": "ieee"}
    facts["levels"] = [{"id": "k", "of": "all", "add": "chain", "start": "c", "hold": hold}]
    return plan_of(base.model_copy(update={"facts": DatapathLevels.model_validate_json(json.dumps(facts)), "id": f"e5m2_{rounding}"}))


def small_int_plan(overflow: str) -> LevelsPlan:
    """An 8-bit register of int4 products."""
    base: Datapath = get("datapath", "int20_wrap")
    hold = {"bits": 8, "unit_exp": "derived", "overflow": overflow}
    facts: dict[str, Any] = {"a": ["int4"], "b": ["int4"], "c": "none", "k": 6, "out": {"format": "fp32"}}
    facts["special"] = {"when": "once", "nan": "0x7FC00000"}
    facts["levels"] = [{"id": "k", "of": "all", "add": "chain", "start": "zero", "hold": hold}]
    return plan_of(base.model_copy(update={"facts": DatapathLevels.model_validate_json(json.dumps(facts)), "id": f"int8_{overflow}"}))


Rows = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # a, b, random [R, K]; c [R]


def answers(plan: LevelsPlan, rows: Rows) -> np.ndarray:
    """What the C reference gives."""
    a, b, words, c = rows
    return c_levels.dot(a, b, None, None, None if plan.c is None else c, words if plan.draws(plan.facts.k) else None, plan)


def drawn_rows(plan: LevelsPlan, count: int, seed: int) -> Rows:
    """Rows with every class of code, neighbours of ends, and sums that cancel; C of a chain near what its products undo."""
    rng, k = np.random.default_rng(seed), plan.facts.k
    bits = plan.a.facts.bits
    shape = (count, k)
    a, b = (rng.integers(0, 1 << bits, shape, np.uint64) for _ in range(2))
    words = rng.integers(0, 256, shape, np.uint64)
    words[rng.random(shape) < 0.2] = 255
    words[rng.random(shape) < 0.2] = 0
    c = rng.integers(0, 1 << bits, count, np.uint64)
    if plan.c is None:  # integers: long runs to one end, then back
        one_way = rng.random(count) < 0.6
        a[one_way] = a[one_way] & 0x7F | 0x60
        b[one_way] |= 0x40
        turn = rng.integers(0, k + 1, count)
        b[one_way] = np.where(np.arange(k) < turn[one_way, None], b[one_way] & 0x7F, b[one_way] | 0x80)
        a[one_way & (rng.random(count) < 0.5)] ^= 0xFF  # to the other end first
    else:
        frac = plan.a.facts.frac_bits
        bias = (1 << (bits - frac - 2)) - 1
        one, top = bias << frac, ((1 << (bits - 1 - frac)) - 1) << frac
        kind = rng.integers(0, 14, count)
        near = rng.integers(-12, 13, (2, *shape)) << frac

        def plain(codes: np.ndarray, shift: np.ndarray) -> np.ndarray:
            return (codes & (1 << (bits - 1) | (1 << frac) - 1)) | (one + shift).astype(np.uint64)

        mild = kind < 7  # exponents about one
        a[mild], b[mild] = plain(a[mild], near[0][mild] // 4), plain(b[mild], near[1][mild] // 4)
        c[mild] = plain(c[mild], rng.integers(-2 * frac - 6, 2 * frac + 7, mild.sum()) << frac)
        undo = (kind == 1) | (kind == 2)  # b is a power of two, C is minus that product, or its neighbour
        b[undo, 0] = (one + ((near[1][undo, 0] >> frac) // 2 << frac)).astype(np.uint64)
        shifted = a[undo, 0] + b[undo, 0] - np.uint64(one)
        c[undo] = shifted ^ np.uint64(1 << (bits - 1))
        c[kind == 2] ^= rng.integers(0, 4, (kind == 2).sum()).astype(np.uint64)
        small = kind == 7  # products and C about the lowest normal number
        exp_a = rng.integers(1, bias, shape)
        exp_b = np.clip(bias + 1 - exp_a + rng.integers(-frac - 3, 4, shape), 0, 2 * bias)
        low = (1 << (bits - 1)) | ((1 << frac) - 1)
        a[small] = (a[small] & low) | (exp_a[small] << frac).astype(np.uint64)
        b[small] = (b[small] & low) | (exp_b[small] << frac).astype(np.uint64)
        c[small] = (c[small] & low) | (rng.integers(0, 3, small.sum()) << frac).astype(np.uint64)
        large = kind == 8  # about the largest number
        a[large], c[large] = (a[large] & low) | (top - (2 << frac)), (c[large] & low) | (top - (1 << frac))
        b[large] = (b[large] & low) | (one + rng.integers(-1, 2, (large.sum(), k)) * (1 << frac)).astype(np.uint64)
        special = np.array([0, 1 << (bits - 1), top, top | 1 << (bits - 1), top | 1, one, 1, top - 1], np.uint64)
        odd = kind == 9
        a[odd], b[odd], c[odd] = (rng.choice(special, size) for size in ((odd.sum(), k), (odd.sum(), k), odd.sum()))
        zeros = kind == 10
        a[zeros], b[zeros] = a[zeros] & (1 << (bits - 1)), b[zeros] & ~np.uint64(top)
        c[zeros] = rng.choice(special, zeros.sum())
        tie = (kind == 11) & (rng.random(count) < 0.6)  # factors odd and 3/2: one bit too many; then C zero or far below, and nothing more
        a[tie], b[tie] = 0, 0
        a[tie, 0] = one | 1 | rng.integers(0, 1 << frac - 2, tie.sum()).astype(np.uint64)
        b[tie, 0] = one + (1 << frac - 1) | rng.integers(0, 2, tie.sum()).astype(np.uint64) << np.uint64(bits - 1)
        c[tie] = (c[tie] & low) | (rng.integers(0, 2, tie.sum()) << frac).astype(np.uint64)
        b[tie & (rng.random(count) < 0.5), 0] += np.uint64(13 << frac)
        b[tie & (rng.random(count) < 0.3), 0] &= ~np.uint64(1 << frac - 1)
        words[tie, 0] = rng.choice([0, 127, 128], tie.sum())
        c[tie & (rng.random(count) < 0.5)] &= np.uint64(1 << (bits - 1))
        gone = (kind == 11) & ~tie  # products that vanish
        a[gone], b[gone], c[gone] = a[gone] & low | 1 << frac, b[gone] & low | one - (frac + 2 << frac), c[gone] & (1 << (bits - 1))
    return cast(plan, (a, b, words, c))


def cast(plan: LevelsPlan, rows: Rows) -> Rows:
    """Codes in the widths that the C reference takes."""
    a, b, words, c = rows
    code = {4: np.uint8, 8: np.uint8, 16: np.uint16, 32: np.uint32}[plan.a.facts.bits]
    return a.astype(code), b.astype(code), words.astype(np.uint32), c.astype(code)


def written(path: Path, plan: LevelsPlan, rows: Rows) -> Path:
    """The file of rows that the bench reads, with the answers of the C reference."""
    a, b, words, c = rows
    steps = np.stack((a, b, words), 2).reshape(len(a), -1).astype(np.uint64)
    table = np.concatenate((steps, c[:, None], answers(plan, rows)[:, None]), 1).astype(np.uint64)
    with path.open("w") as out:
        for start in range(0, len(table), 1 << 16):
            part = table[start : start + (1 << 16)]
            out.write(("%x " * part.shape[1] + "\n") * len(part) % tuple(part.reshape(-1).tolist()))
    return path


def macros_of(module: str, parameters: dict[str, int], steps: int) -> list[str]:
    integer = module == "running_int"
    code_bits = parameters["IN_BITS"] if integer else 1 + parameters["EXP_BITS"] + parameters["FRAC_BITS"]
    words = {
        "CODE_BITS": code_bits,
        "OUT_BITS": 32 if integer else code_bits,
        "RANDOM_BITS": parameters.get("RANDOM_BITS", 1),
        "STEPS": steps,
    }
    given = ",".join(f".{name}({value})" for name, value in parameters.items())
    return [*(f"-D{name}={value}" for name, value in words.items()), f"-DPARAMETERS={given}", *(["-DINTEGER"] if integer else [])]


def simulated(kit: Path, work: Path, macros: list[str], rows: Path, design: Path, mutant: int = 0) -> str:
    """What the bench says in Icarus."""
    bench = kit / "harness" / "running.sv"
    subprocess.run(
        ["iverilog", "-g2012", "-s", "bench", "-o", str(work / "t.vvp"), *macros, str(bench), str(design)], check=True, capture_output=True
    )
    return subprocess.run(
        ["vvp", "-n", str(work / "t.vvp"), f"+rows={rows}", f"+mutant={mutant}"], check=True, capture_output=True, text=True
    ).stdout.splitlines()[0]


def verilated(kit: Path, work: Path, macros: list[str], rows: Path, design: Path) -> str:
    """What the bench says in Verilator."""
    command = ["verilator", "--binary", "-O3", "-Wno-fatal", "-Wno-lint", "--top-module", "bench", "--Mdir", str(work / "made"), *macros]
    subprocess.run([*command, str(kit / "harness" / "running.sv"), str(design)], check=True, capture_output=True)
    return subprocess.run([str(work / "made" / "Vbench"), f"+rows={rows}"], check=True, capture_output=True, text=True).stdout.splitlines()[
        0
    ]


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


@pytest.mark.parametrize("name", DESIGNS)
def test_two_faults_of_each_design_are_shown(name: str, kit: Path, tmp_path: Path, need: Callable[..., None]) -> None:
    need("iverilog")
    mine = [fault for fault in FAULTS if name in fault.datapaths]
    assert len(mine) >= 6
    assert judged(name, kit, tmp_path, [mine[0], mine[-1]])[0] == []


@pytest.mark.cases(0, 2)
@pytest.mark.parametrize("name", DESIGNS)
def test_every_fault_is_shown(name: str, kit: Path, tmp_path: Path, need: Callable[..., None]) -> None:
    need("iverilog")
    missed, blind = judged(name, kit, tmp_path, [fault for fault in FAULTS if name in fault.datapaths])
    assert missed == [] and blind > 0


@pytest.mark.cases(0, 2)
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


@pytest.mark.cases(0, 1)
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


def yosys(work: Path, *commands: str) -> subprocess.CompletedProcess[str]:
    (work / "run.ys").write_text("\n".join(commands) + "\n")
    return subprocess.run(["yosys", "-Q", "-s", "run.ys"], cwd=work, capture_output=True, text=True)


def same(work: Path, gold: list[str], gate: list[str], top: str) -> bool:
    """Whether yosys proves two netlists equal, register by register: the commands that make each, and their module."""
    cut = ["dffunmap", "expose -evert-dff", "opt_clean"]
    # one run each: yosys numbers its cells as it reads, and a mutation names them
    for name, commands in (("gold", gold), ("gate", gate)):
        done = yosys(work, *commands, *cut, f"rename {top} {name}", f"write_rtlil {name}.il")
        assert done.returncode == 0, done.stderr
    miter = "miter -equiv -flatten -make_outputs gold gate miter"
    prove = "sat -verify -timeout 20 -prove trigger 0 miter"
    found = yosys(work, "read_rtlil gold.il", "read_rtlil gate.il", miter, "hierarchy -top miter", "opt -full", prove)
    return found.returncode == 0


MUTANTS = 40


@pytest.mark.exhaustive
@pytest.mark.parametrize("overflow", ["saturate", "wrap"])
def test_netlist_mutants_in_fixed_point_are_shown_or_proven_equal(
    overflow: str, kit: Path, tmp_path: Path, need: Callable[..., None]
) -> None:
    need("iverilog", "yosys")
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
    assert [command for command in commands if not same(tmp_path, gold, [*gold, command], module)] == []
