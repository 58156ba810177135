"""Reference decoders, converters, block quantizers: parameters as in the spec, results as in the golden rows; lint and yosys take them."""

from fractions import Fraction

import pytest
from support.whole import ALL

from emu.engines.exact.decode import decode_code
from emu.engines.exact.encode import encode_value
from emu.engines.exact.value import finite
from emu.rtl.simulate import simulator
from emu.rtl.simulate.units import golden, path_of, read_units
from emu.spec import derive
from emu.spec.models.format import FloatFacts
from emu.spec.registry import get
from emu.vectors.suites.plan import find

WRAPPERS = ("convert.sv", "decode.sv", "quantize.sv", "quantize_rotated.sv")
UNITS = {name: unit for name, unit in read_units(simulator.path()).items() if unit.wrapper.name in WRAPPERS}
ROUNDS = ("rne", "rz", "rna", "ru", "rd", "odd", "sr_add8", "sr_cmp8", "sr_half8")
RULES = ("floor", "ceil", "even")
QUICK = (
    "convert_fp32_e2m1_rne", "convert_bf16_e1m2_rz", "convert_fp32_int4_sr_add8", "convert_bf16_e2m1_sr_add8_pipe", "convert_fp16_e2m1_rne",
    "quantize_mxfp4_torchao_floor_bf16", "quantize_mxfp4_torchao_rceil_bf16", "quantize_nvfp4_te_ref_bf16", "quantize_nvufp4_bf16",
    "quantize_ufp4_bf16", *(name for name in UNITS if name.startswith("decode_")),
)  # fmt: skip
SMALL = ("decode_int4", "convert_fp32_e2m1_rne", "convert_bf16_e0m3_sr_add8", "convert_fp32_e2m1_rne_pipe", "quantize_nvfp4_te_ref_bf16")
FAMILIES = (
    "convert_bf16_e2m1_rne", "convert_bf16_e1m2_rz_pipe", "convert_bf16_e0m3_rne", "convert_bf16_int4_rne",
    "quantize_mxfp4_torchao_rceil_bf16", "quantize_nvfp4_te_ref_bf16",
    *(name for name in UNITS if name.startswith(("decode_", "convert_fp"))),
)  # fmt: skip
ALL_CODES = [name for name, unit in UNITS.items() if any(stem.endswith("__all") for stem in unit.suites)]
IN_VERILATOR = ALL_CODES if ALL else ["convert_bf16_e2m1_rz"]
QUANTIZERS = ("quantize_mxfp4_torchao_rceil_bf16", "quantize_nvfp4_te_ref_bf16", "quantize_ufp4_fp32")


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    return tmp_path_factory.mktemp("units")


def grid(prefix, fmt):
    """The grid of a format as the designs take it: integers have one exponent bit."""
    facts = fmt.facts
    if isinstance(facts, FloatFacts):
        fields = (facts.exp_bits, facts.frac_bits, facts.bias)
    else:
        fields = (1, facts.bits - 2, 1 - facts.unit_exp - (facts.bits - 2))
    return dict(zip((f"{prefix}_EXP_BITS", f"{prefix}_FRAC_BITS", f"{prefix}_BIAS"), fields, strict=True))


def fp32(text):
    """The bits of a constant of a recipe."""
    if text.startswith("0x"):
        return int(text, 16)
    above, _, below = text.partition("/")
    return encode_value(finite(Fraction(int(above), int(below or 1))), get("format", "fp32"))


def convert_defines(op):
    entry = op.entry
    defines = grid("SRC", op.source) | grid("DST", op.fmt)
    defines |= {"DST_BITS": derive.codes(op.fmt).bits, "DST_SIGNED": 1, "DST_TWOS_COMPLEMENT": int(derive.is_twos_complement(op.fmt))}
    defines |= {"MAX_CODE": derive.codes(op.fmt).max_code, "NAN_POSITIVE": entry.nan[0], "NAN_NEGATIVE": entry.nan[1]}
    defines |= {"ROUND": ROUNDS.index(op.name.parts[1])}
    return defines | ({"RANDOM_BITS": op.rounding.random_bits} if op.rounding.random_bits else {})


def decode_defines(op):
    fmt = op.fmt
    integer = not isinstance(fmt.facts, FloatFacts)
    defines = grid("SRC", fmt) | {"SRC_BITS": derive.codes(fmt).bits, "SRC_SIGNED": 1, "SRC_INTEGER": int(integer)}
    return defines | {"SRC_TWOS_COMPLEMENT": int(derive.is_twos_complement(fmt))}


def quantize_defines(op):
    steps = {step.out: step for step in op.recipe.facts.steps if step.op != "emit"}
    element = get("format", op.block.element_formats[0])
    defines = grid("DST", element) | {"DST_BITS": derive.codes(element).bits}
    defines |= {"LANES": op.n, "SRC_FRAC_BITS": op.source.facts.frac_bits}
    largest = encode_value(decode_code(derive.codes(element).max_code, element), get("format", "fp32"))
    if "ratio" in steps:
        assert fp32(steps["clamped"].args[2]) == largest
        constants = {"ENCODE": fp32(steps["ratio"].args[0]), "AMAX_FACTOR": fp32(steps["amax_multiplier"].args[1])}
        return defines | constants | {"LARGEST": largest, "TENSOR_MAXIMUM": 1}
    scale = steps["scale"]
    if scale.op == "select":
        assert (op.n, fp32(steps["unit"].args[1])) == (16, largest)
        rotations = [step.transform for step in steps.values() if step.op == "transform"]
        assert rotations in ([], ["rht16_ufp4"])
        del defines["LANES"]
        return defines | {"ROTATE": len(rotations), "LARGEST": largest}
    if scale.op == "e8m0_rule":
        assert scale.frac_bits in (None, element.facts.frac_bits)
        return defines | {"RULE": RULES.index(scale.rule), "EMAX": scale.emax, "LARGEST": largest}
    assert (scale.op, scale.round, fp32(steps["unit"].args[1])) == ("cast", "ru", largest)
    return defines | {"RULE": len(RULES), "EMAX": find_emax(element), "LARGEST": largest}


def find_emax(element):
    """The exponent of the largest value."""
    value = decode_code(derive.codes(element).max_code, element).magnitude
    return (value.numerator // value.denominator).bit_length() - 1


DEFINES = {"convert": convert_defines, "decode": decode_defines, "quantize": quantize_defines}


@pytest.mark.parametrize("name", UNITS)
def test_parameters_are_those_of_the_spec(name):
    unit = UNITS[name]
    for stem in unit.suites:
        op = find(stem).operation
        expected = DEFINES[op.name.op](op)
        if "ocp_saturate" in stem:  # its NaN codes are open: masked
            expected |= {key: unit.defines[key] for key in ("NAN_POSITIVE", "NAN_NEGATIVE")}
        assert {key: value for key, value in unit.defines.items() if key != "EMU_PIPE"} == expected


def judged(name, stem, tool, work, stages=False):
    unit = UNITS[name]
    golden(stem, work)
    folder = work / f"{tool}_{name}_{stem}_{stages}"
    path = path_of(stem, work)
    built = simulator.compile_bench(simulator.find(tool), stem.split("__")[0], path, unit.sources, unit.defines, folder, stages)
    found = simulator.judge(built, ["+stall=3"])
    return found.exit_code, found.why


def passes(name, stem, tool, work):
    code, why = judged(name, stem, tool, work, stages=stem.startswith("quantize"))
    assert (code, why.split(" compared=")[0]) == (0, "PASS reason=none"), (name, stem, why)


@pytest.mark.cases(6)
@pytest.mark.parametrize("name", QUICK)
def test_units_equal_golden_rows_in_icarus(name, need, work):
    need("iverilog")
    passes(name, UNITS[name].suites[0], "icarus", work)


@pytest.mark.exhaustive  # compiles in Verilator; Icarus is the default
def test_a_unit_equals_golden_rows_in_verilator(need, work):
    need("verilator", "make", "g++")
    passes("convert_bf16_e2m1_sr_add8_pipe", UNITS["convert_bf16_e2m1_sr_add8_pipe"].suites[0], "verilator", work)


def test_a_unit_with_another_rounding_fails(need, work):
    need("iverilog")
    unit = UNITS["convert_fp32_e2m1_rne"]
    golden(unit.suites[0], work)
    built = simulator.compile_bench(
        simulator.find("icarus"), "convert", path_of(unit.suites[0], work), unit.sources, unit.defines | {"ROUND": 2}, work / "wrong"
    )
    assert simulator.judge(built).exit_code == 1


@pytest.mark.parametrize("name", SMALL)
def test_lint_has_nothing_to_say(name, lint):
    done = lint(UNITS[name])
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@pytest.mark.parametrize("name", SMALL[:3])
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
        assert synthesized(unit, whole=ALL or name in FAMILIES).returncode == 0, name


@pytest.mark.cases(0, 18)
@pytest.mark.parametrize("name", UNITS)
def test_every_suite_in_icarus(name, need, work):
    """All bf16 codes too: of every unit before a release, else of one for each destination; the others are proven (test_rtl_prove)."""
    need("iverilog")
    stems = [stem for stem in UNITS[name].suites if ALL or name in FAMILIES or not stem.endswith("__all")]
    assert stems
    for stem in stems:
        passes(name, stem, "icarus", work)


@pytest.mark.cases(0, 1)  # Icarus plays the same rows
@pytest.mark.parametrize("name", IN_VERILATOR)
def test_all_bf16_codes_in_verilator(name, need, work):
    need("verilator", "make", "g++")
    stems = [stem for stem in UNITS[name].suites if stem.endswith("__all")]
    assert stems
    for stem in stems:
        passes(name, stem, "verilator", work)


@pytest.mark.cases(0, 0)  # Icarus plays the same rows
@pytest.mark.parametrize("name", QUANTIZERS)
def test_quantizers_in_verilator(name, need, work):
    need("verilator", "make", "g++")
    passes(name, UNITS[name].suites[0], "verilator", work)
