"""Reference designs of running registers, rows for them with the answers of the C reference, and the bench that runs both."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from emu.contracts import parse
from emu.contracts.levels.contract import LevelsContract
from emu.engines.c_ref import levels as c_levels
from emu.rtl.export.equivalence import AIGER, solve
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
PROVER_SECONDS = 100  # of processor time, so that a busy machine gives the same verdict; a mutant takes about two
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


def suite_rows(plan: LevelsPlan) -> Rows:
    """The rows of every suite of a datapath that is a list of chosen rows: directed, bits, and sums where the register is a float."""
    op = parse(f"dot/{plan.datapath.id}")
    assert isinstance(op, LevelsContract)
    cases = [case for inputs in op.suites() if inputs.suite in ("directed", "bits", "sums") for case in inputs.cases(0, inputs.size)]
    rows = [op.taken(case.values) for case in cases]
    a, b = ([row[place] for row in rows] for place in (0, 1))
    words = [row.random or (0,) * plan.facts.k for row in rows]
    made = [np.array(codes, np.uint64) for codes in (a, b, words, [row.c or 0 for row in rows])]
    return cast(plan, (made[0], made[1], made[2], made[3]))


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
        ends = [sign * ((1 << place) + more) for place in range(20) for more in (0, -1, 1) for sign in (1, -1)]
        for row, total in enumerate(ends[:count]):  # sums that are powers of two, or beside one
            steps, rest = divmod(abs(total), 127 * 127)
            a[row], b[row] = 0, 0
            a[row, : steps + 2] = [127] * (steps + 1) + [rest % 127]
            b[row, : steps + 2] = [127] * steps + [rest // 127, 1]
            if total < 0:
                b[row] = -b[row].astype(np.int64) & 0xFF
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
        few = (rng.random(count) < 0.25) & (kind < 9)  # fractions of one bit or two: what one place of a sum decides
        for codes in (a, b, c):
            lone = (np.uint64(1) << rng.integers(0, frac, (2, *codes.shape), np.uint64)) * rng.integers(0, 2, (2, *codes.shape), np.uint64)
            codes[few] = (codes & ~np.uint64((1 << frac) - 1) | lone[0] | lone[1])[few]
    return cast(plan, (a, b, words, c))


def vanishing_rows(plan: LevelsPlan) -> Rows:
    """The lowest number, of both signs, minus a product a bit shorter: what is left, 2^-j of it, vanishes and keeps its sign.

    Products of a subnormal factor and a normal one, (2^j - 1) / 2^j of the lowest number; what is added after that is a zero of that sign.
    """
    made, words = [], []
    bits, frac = plan.a.facts.bits, plan.a.facts.frac_bits
    bias, sign = (1 << (bits - frac - 2)) - 1, 1 << (bits - 1)
    factors = np.arange(1 << frac, 2 << frac, dtype=np.uint64)
    for j in range(frac + 1, 2 * frac + 2):
        whole = (1 << j) - 1
        for normal in factors[np.uint64(whole) % factors == 0].tolist():
            subnormal, exp = whole // normal, bias + frac - j
            if not subnormal < 1 << frac or not 0 < exp <= 2 * bias:
                continue
            for minus in (0, sign):
                a, b = [minus] * plan.facts.k, [0] * plan.facts.k
                a[0], b[0] = minus ^ sign | subnormal, exp << frac | (normal - (1 << frac))
                made += 2 * [(a, b, minus | 1)]
                words += [[0] * plan.facts.k, [255] * plan.facts.k]
    a_codes, b_codes, c = (np.array([row[place] for row in made], np.uint64) for place in range(3))
    return cast(plan, (a_codes, b_codes, np.array(words, np.uint64), c))


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


def yosys(work: Path, *commands: str) -> subprocess.CompletedProcess[str]:
    (work / "run.ys").write_text("\n".join(commands) + "\n")
    return subprocess.run(["yosys", "-Q", "-s", "run.ys"], cwd=work, capture_output=True, text=True)


def settled(work: Path, gold: list[str], gate: list[str], top: str) -> str:
    """equal, different or unknown: what netlists put out and give registers. gold, gate: commands that make them; top: a module."""
    cut = ["dffunmap", "expose -evert-dff -dff", "opt_clean"]  # -dff: inner wires may differ
    # one run each: yosys numbers its cells as it reads, and a mutation names them
    for name, commands in (("gold", gold), ("gate", gate)):
        done = yosys(work, *commands, *cut, f"rename {top} {name}", f"write_rtlil {name}.il")
        assert done.returncode == 0, done.stderr
    miter = ["miter -equiv -flatten gold gate miter", "hierarchy -top miter", "opt -full", "techmap", "setundef -undriven -anyseq"]
    made = yosys(work, "read_rtlil gold.il", "read_rtlil gate.il", *miter, "opt_clean", "aigmap", f"write_aiger -symbols {AIGER}")
    assert made.returncode == 0, made.stderr
    return {"proven": "equal", "counterexample": "different"}.get(solve(work, PROVER_SECONDS).kind, "unknown")
