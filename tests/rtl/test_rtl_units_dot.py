"""Reference products, group sums and lanes: parameters as in the spec, all pairs of codes, golden rows with stages, lint, yosys.

Exhaustive: every unit, and many random rows against the C reference in a Verilator harness. EMU_ALL=1 tries what one of a family does
for all, and a million rows of each kind of lane.
"""

import re
import subprocess

import pytest
from support.whole import ALL

from emu.base import philox
from emu.rtl.simulate import simulator
from emu.rtl.simulate.units import golden, path_of, read_units
from emu.spec import derive
from emu.spec.datapath import resolve
from emu.spec.models.format import FloatFacts
from emu.spec.registry import names
from emu.vectors.files.manifest import parse_stem
from research.cost.table import plan_of_product, products

WRAPPERS = ("product.sv", "dot16.sv", "lane_nv_like.sv", "lane_int64.sv", "chain_int64.sv")
UNITS = {name: unit for name, unit in read_units(simulator.path()).items() if unit.wrapper.name in WRAPPERS}
PRODUCTS = [name for name in UNITS if name.startswith("product_")]
SUMS = [name for name in UNITS if name.startswith("dot16_")]
LANES = [name for name, unit in UNITS.items() if unit.suites]
QUICK = ("lane_nv_like_e1m2", "lane_nv_like_e2m1_pipe", "lane_int64_e1m2", "chain_int64_e2m1")
SMALL = ("product_e2m1", "lane_nv_like_int4xe1m2", "chain_int64_e1m2")
FAMILIES = (
    "lane_nv_like_e1m2_pipe", "lane_nv_like_int4xe1m2", "lane_nv_like_e1m2_e8m0_b32", "lane_blackwell_mxfp4", "lane_int64_e2m1",
    "chain_int64_int4", *PRODUCTS, *SUMS,
)  # fmt: skip
GROUP, ROWS = 16, 64
RANDOM_ROWS, FEW_ROWS, CHAIN = 1 << 20 if ALL else 1 << 18, 1 << 14, 8
RANDOM = ("lane_nv_like_e1m2", "lane_int64_int4", "lane_blackwell_mxfp4")
CLASSES = ("zero", "subnormal", "normal", "inf", "nan")
PRODUCT_BENCH = """module bench;
  reg [3:0] a, b;
  wire signed [`PRODUCT_BITS-1:0] p;
  wire out_valid;
  integer i;
  dut device (.clk(1'b0), .rst(1'b0), .in_valid(1'b1), .a(a), .b(b), .out_valid(out_valid), .p(p));
  initial for (i = 0; i < 256; i = i + 1) begin
    {a, b} = i;
    #1 $display("%0d", p);
  end
endmodule
"""
SUM_BENCH = """module bench;
  reg [127:0] rows [0:`ROWS-1];
  reg [63:0] a, b;
  wire signed [`PRODUCT_BITS+3:0] sg;
  wire any, out_valid;
  integer i;
  dut device (.clk(1'b0), .rst(1'b0), .in_valid(1'b1), .a(a), .b(b), .out_valid(out_valid), .sg(sg), .any(any));
  initial begin
    $readmemh("rows.hex", rows);
    for (i = 0; i < `ROWS; i = i + 1) begin
      {a, b} = rows[i];
      #1 $display("%0d %0d", sg, any);
    end
  end
endmodule
"""


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    return tmp_path_factory.mktemp("units")


def elements(side, fmt):
    """The fields of an element as the designs take them: a uniform grid has one exponent bit."""
    facts = fmt.facts
    fields = (facts.exp_bits, facts.frac_bits) if isinstance(facts, FloatFacts) else (1, facts.bits - 2)
    names = (f"{side}_EXP_BITS", f"{side}_FRAC_BITS", f"{side}_TWOS_COMPLEMENT")
    return dict(zip(names, (*fields, int(derive.is_twos_complement(fmt))), strict=True))


def plan_of_stem(stem):
    """The plan that the name of a suite says."""
    name = parse_stem(stem)
    pair, _, scale = name.src.partition("_")
    part, _, block = (name.part, "", None) if name.part in names("datapath") else name.part.rpartition("_b")
    return resolve(part, *pair.split("x"), scale, block and int(block))


def product_defines(plan):
    return elements("A", plan.a) | elements("B", plan.b) | {"PRODUCT_BITS": plan.widths.product_bits + 1}


def lane_defines(plan):
    facts = plan.scale.facts
    bias, frac_bits = facts.bias, facts.frac_bits if isinstance(facts, FloatFacts) else 0
    found = product_defines(plan) | {"SCALE_BITS": derive.codes(plan.scale).bits, "SCALE_FRAC_BITS": frac_bits, "SCALE_BIAS": bias}
    term_frac_bits = plan.product_frac_bits + plan.scale_frac_bits - plan.product_exp
    found |= {"TERM_BITS": plan.widths.term_bits + 1, "TERM_FRAC_BITS": term_frac_bits, "BLOCK": plan.block}
    return found if plan.accumulator else found | {"F": plan.frac_bits, "I": plan.integer_bits}


@pytest.mark.parametrize("name", LANES)
def test_parameters_of_lanes_are_those_of_the_spec(name):
    unit = UNITS[name]
    for stem in unit.suites:
        plan = plan_of_stem(stem)
        assert {key: value for key, value in unit.defines.items() if key != "EMU_PIPE"} == lane_defines(plan), stem
        assert plan.widths.group_sum_bits + 1 == unit.defines["PRODUCT_BITS"] + 4
        assert derive.codes(plan.scale).nan == ((1 << derive.codes(plan.scale).bits) - 1,)
        if plan.accumulator is None:  # the design derives its floor and its width
            assert (plan.floor, plan.adder_bits) == (-126 - unit.defines["I"], unit.defines["F"] + unit.defines["I"] + 1)
        else:  # and the unit of its register
            assert plan.widths.step_sum_lsb_exp == 2 * (1 - unit.defines["SCALE_BIAS"]) - unit.defines["TERM_FRAC_BITS"]
            assert plan.accumulator.bits == 64


@pytest.mark.parametrize("name", [*PRODUCTS, *SUMS])
def test_parameters_of_products_are_those_of_the_spec(name):
    a, _, b = name.partition("_")[2].partition("x")
    assert UNITS[name].defines == product_defines(resolve("nv_like", a, b or a, "ue4m3", 16))


def simulated(unit, bench, folder, **macros):
    """What a small bench prints in Icarus, a list of integers a line."""
    folder.mkdir()
    (folder / "bench.sv").write_text(bench, encoding="ascii")
    defines = [f"-D{macro}={value}" for macro, value in (unit.defines | macros).items()]
    files = [*map(str, unit.sources), "bench.sv"]
    subprocess.run(["iverilog", "-g2012", "-s", "bench", "-o", "t", *defines, *files], cwd=folder, check=True)
    done = subprocess.run(["vvp", "-n", "t"], cwd=folder, check=True, capture_output=True, text=True)
    return [[int(word) for word in line.split()] for line in done.stdout.splitlines()]


@pytest.mark.parametrize("name", PRODUCTS)
def test_all_pairs_of_codes(name, need, work):
    need("iverilog")
    plan = plan_of_product(UNITS[name])
    found = simulated(UNITS[name], PRODUCT_BENCH, work / name)
    assert len(found) == 256 and [value for (value,) in found] == products(plan)
    assert max(map(abs, products(plan))).bit_length() == UNITS[name].defines["PRODUCT_BITS"] - 1


@pytest.mark.parametrize("name", SUMS)
def test_group_sums(name, need, work):
    """Drawn codes, sparse ones, the largest of each sign, and products that cancel."""
    need("iverilog")
    table = products(plan_of_product(UNITS["product_" + name.partition("_")[2]]))
    drawn_codes = philox.draw(1, ROWS * GROUP, 8, philox.stream_of(f"tests/rtl/{name}")).tolist()
    rows = [drawn_codes[GROUP * row : GROUP * row + GROUP] for row in range(ROWS)]
    best, worst = table.index(max(table)), table.index(min(table))
    rows[:6] = [[best] * GROUP, [worst] * GROUP, [best] + [0] * 15, [0] * 15 + [worst], [0] * GROUP, [0x88] * GROUP]
    rows[6:10] = [[pair if lane % 2 else 0 for lane, pair in enumerate(row)] for row in rows[6:10]]
    opposite = table.index(-table[best]) if -table[best] in table else 0
    rows[10] = [best, opposite] * 8 if opposite else [0] * GROUP
    folder = work / name
    text = "".join(f"{sum(pair >> 4 << 4 * lane for lane, pair in enumerate(row)):016x}"
                   f"{sum((pair & 15) << 4 * lane for lane, pair in enumerate(row)):016x}\n" for row in rows)  # fmt: skip
    (work / "rows").mkdir(exist_ok=True)
    bench = SUM_BENCH.replace("rows.hex", str(work / "rows" / f"{name}.hex"))
    (work / "rows" / f"{name}.hex").write_text(text, encoding="ascii")
    expected = [[sum(table[pair] for pair in row), int(any(table[pair] for pair in row))] for row in rows]
    assert simulated(UNITS[name], bench, folder, ROWS=ROWS) == expected


def judged(name, stem, tool, work, stages=True, sources=None, changed=None, plusargs=("+stall=3",)):
    unit = UNITS[name]
    golden(stem, work)
    folder = work / f"{tool}_{name}_{stem}_{stages}_{len(list(work.iterdir()))}"
    defines = unit.defines | (changed or {})
    built = simulator.compile_bench(
        simulator.find(tool), stem.split("__")[0], path_of(stem, work), sources or unit.sources, defines, folder, stages
    )
    found = simulator.judge(built, list(plusargs))
    return found.exit_code, found.why.split(" compared=")[0]


@pytest.mark.cases(2)
@pytest.mark.parametrize("name", QUICK)
def test_lanes_equal_golden_rows_and_stages_in_icarus(name, need, work):
    need("iverilog")
    assert judged(name, UNITS[name].suites[1], "icarus", work) == (0, "PASS reason=none")


def test_a_chain_whose_state_the_design_keeps(need, work):
    need("iverilog")
    stem, own = UNITS["chain_int64_e1m2"].suites[1], {"EMU_OWN_STATE": 1}
    for stages in (False, True):
        verdict = judged("chain_int64_e1m2", stem, "icarus", work, stages, changed=own, plusargs=("+chain=dut",))
        assert verdict == (0, "PASS reason=none"), stages


def test_a_lane_of_another_width_fails(need, work):
    need("iverilog")
    unit = UNITS["lane_nv_like_e1m2"]
    assert judged("lane_nv_like_e1m2", unit.suites[1], "icarus", work, False, changed={"F": unit.defines["F"] - 12})[0] == 1


@pytest.mark.parametrize("name", SMALL)
def test_lint_has_nothing_to_say(name, lint):
    for more in ((), ("-DEMU_STAGES",)):
        done = lint(UNITS[name], *more)
        assert (done.returncode, done.stdout + done.stderr) == (0, "")


@pytest.mark.parametrize("name", SMALL[:2])
def test_yosys_takes_units(name, synthesized):
    done = synthesized(UNITS[name])
    assert done.returncode == 0, done.stderr
    assert "Number of cells:" in done.stdout
    assert "Warning" not in done.stdout + done.stderr


@pytest.mark.exhaustive
def test_lint_and_yosys_take_every_unit(lint, synthesized):
    for name, unit in UNITS.items():
        done = lint(unit)
        assert (done.returncode, done.stdout + done.stderr) == (0, ""), name
        done = synthesized(unit, whole=ALL or name in FAMILIES)
        assert (done.returncode, "Warning" in done.stdout + done.stderr) == (0, False), name


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["lane_nv_like_e1m2", "lane_int64_e2m1"])
def test_the_netlist_of_yosys_equals_golden_rows(name, need, synthesized, work):
    """yosys reads the designs as the simulators do."""
    need("iverilog")
    netlist = work / f"{name}.v"
    done = synthesized(UNITS[name], f"write_verilog -noattr {netlist}", "-DEMU_STAGES=1")
    assert done.returncode == 0, done.stderr
    assert judged(name, UNITS[name].suites[0], "icarus", work, sources=[netlist]) == (0, "PASS reason=none")


@pytest.mark.cases(0, 6)
@pytest.mark.parametrize("name", LANES)
def test_directed_and_smoke_rows_in_icarus(name, need, work):
    """Every lane: smoke rows, directed ones where it has no others; both of all before a release, else of one of a family."""
    need("iverilog")
    stems = UNITS[name].suites[:2]
    for stem in stems if ALL or name in FAMILIES else stems[-1:]:
        assert judged(name, stem, "icarus", work) == (0, "PASS reason=none"), stem


@pytest.mark.cases(0, 0)  # Icarus plays the same rows
@pytest.mark.parametrize("name", ["lane_nv_like_e2m1_pipe", "chain_int64_e1m2"])
def test_directed_rows_in_verilator(name, need, work):
    need("verilator", "make", "g++")
    assert judged(name, UNITS[name].suites[0], "verilator", work) == (0, "PASS reason=none")


def harness(name, work, library, *macros, level="-O2"):
    """The program that draws rows for a lane. library: the built C reference."""
    unit = UNITS[name]
    defines = [f"-D{macro}={value}" for macro, value in unit.defines.items()] + list(macros)
    command = ["verilator", "--cc", "--exe", "--build", "-O3", "--noassert", "-Wno-fatal", "-Wno-lint", "-MAKEFLAGS", f"OPT_FAST={level}"]
    flags = ["-CFLAGS", " ".join([level, f"-I{library}", *defines])]
    files = [*unit.sources, simulator.path() / "harness" / "random_dot.cpp", library / "libemu_ref.a"]
    folder = work / f"random_{name}"
    subprocess.run(
        [*command, *defines, *flags, "--top-module", "dut", "--Mdir", str(folder), *map(str, files)], check=True, capture_output=True
    )
    return folder / "Vdut"


def drawn(program, name, *words):
    """Rows compared, rows that differ, and how often each class of results came."""
    datapath = plan_of_stem(UNITS[name].suites[0]).name
    done = subprocess.run([str(program), datapath, *words], capture_output=True, text=True)
    found = re.search(r"^RANDOM (\S+) compared=(\d+) mismatch=(\d+) (.*) digest=[0-9a-f]{16}$", done.stdout, re.MULTILINE)
    assert done.returncode == 0 and found is not None and found[1] == datapath, done.stdout + done.stderr
    return int(found[2]), int(found[3]), {key: int(value) for key, value in (word.split("=") for word in found[4].split())}


@pytest.mark.exhaustive  # compiles a lane
def test_a_lane_with_registers_against_the_c_reference_in_verilator(need, work, c_reference):
    need("verilator", "make", "g++")
    program = harness("lane_nv_like_e1m2_pipe", work, c_reference, level="-O0")
    compared, mismatch, classes = drawn(program, "lane_nv_like_e1m2_pipe", f"rows={FEW_ROWS}")
    assert (compared, mismatch) == (FEW_ROWS, 0)
    assert all(classes[kind] for kind in CLASSES), classes


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", RANDOM if ALL else RANDOM[:2])
def test_many_random_rows_against_the_c_reference(name, need, work, c_reference):
    need("verilator", "make", "g++")
    compared, mismatch, classes = drawn(harness(name, work, c_reference), name, f"rows={RANDOM_ROWS}")
    assert (compared, mismatch) == (RANDOM_ROWS, 0)
    assert all(classes[kind] > 100 for kind in CLASSES), classes


@pytest.mark.exhaustive
def test_random_chains_against_the_c_reference(need, work, c_reference):
    need("verilator", "make", "g++")
    program = harness("chain_int64_e1m2", work, c_reference, "-DEMU_CHAIN", "-DEMU_OWN_STATE")
    rows = RANDOM_ROWS // CHAIN
    compared, mismatch, classes = drawn(program, "chain_int64_e1m2", f"rows={rows}", f"chain={CHAIN}")
    assert (compared, mismatch) == (rows, 0) and classes["normal"] > rows // 4
