"""Objects that no file has: sources, destinations, blocks and programs drawn at random; every engine that takes them equals `exact`."""

from __future__ import annotations

from fractions import Fraction
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from support.whole import tries

import emu
from emu.base.errors import EmuError, OpenError, OperandError, SpecError
from emu.engines import run as engine_run
from emu.engines import table as engine_table
from emu.spec import derive, get
from emu.spec.models import Format, Policy
from emu.spec.models.format import CodebookFacts
from emu.spec.programs.program import quantize_program
from tests.support.program_samples import random_recipe


def sibling(name: str) -> Any:
    """A module of this folder, a copy of this test's own."""
    spec = spec_from_file_location(f"user_{name}", Path(__file__).with_name(f"{name}.py"))
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


USER, PROGRAMS = sibling("user_objects"), sibling("test_differential_programs")
SHAPES = ([1, 8], [4, 8], [1, 6], [1, 1], [3, 5], [1, 16])
QUICK = settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def engines_of(operation: str, *facts: Any) -> list[str]:
    """Engines that say they can do it, the reference model left out."""
    found = [row.engine for row in engine_table.TABLE if row.operation == operation and row.engine != "exact" and row.can(*facts)]
    return list(dict.fromkeys(found))


def agree(operation: str, facts: tuple[Any, ...], ask: Any) -> Any:
    """The reference model's arrays, which every engine that can gave too; an error is answered by an error."""
    wanted = outcome(lambda: ask("exact"))
    for engine in engines_of(operation, *facts):
        found = outcome(lambda engine=engine: ask(engine))
        if isinstance(found, type) or isinstance(wanted, type):
            known = (found, wanted) in ((OpenError, OperandError), (OperandError, OpenError))  # which element is named first
            assert found is wanted or known or found is emu.EngineError, f"{engine}: {found}, not {wanted}"
            continue
        for mine, theirs in zip(found, wanted, strict=True):
            assert mine.dtype == theirs.dtype and np.array_equal(mine, theirs), f"{engine} differs"
    return wanted


def outcome(run: Any) -> Any:
    """Arrays, or the kind of error."""
    try:
        return run()
    except EmuError as error:
        return type(error)


def converted(source: Format, fmt: Format, mode: str, policy: Policy, codes: Any, seed: int = 0) -> Any:
    """The codes that all engines agree on."""
    rounding = get("rounding", mode)
    random = USER.random_for(rounding, seed, codes.size)
    facts = source, fmt, rounding, policy
    return agree("convert", facts, lambda engine: [engine_run.run_convert(codes, *facts, random, engine)])


@QUICK
@given(st.data())
def test_conversions_between_drawn_formats(data: st.DataObject) -> None:
    known = st.sampled_from(["fp32", "bf16", "fp16", "fp64"]).map(lambda name: get("format", name).model_copy(update={"id": "mine"}))
    source = data.draw(st.one_of(USER.floats(32), USER.formats(16), USER.floats(20), USER.floats(64), known), label="source")
    fmt = data.draw(st.one_of(USER.formats(16), USER.floats(32)), label="destination")
    mode, seed = data.draw(st.sampled_from(USER.ROUNDINGS)), data.draw(st.integers(0, 9999))
    assume(not isinstance(fmt.facts, CodebookFacts) or not derive.needs_code_order(get("rounding", mode)))
    converted(source, fmt, mode, data.draw(USER.policies(fmt), label="policy"), USER.some_codes(source, seed, (24,)), seed)


def block_of(shape: list[int], element: str, row: str, tile: str) -> dict[str, Any]:
    """A block whose levels show values of every lane, and codes of a row and of a tile."""
    every: Any = {"sub": 1} if shape[1] > 1 else "block"
    levels = [("every", "fp32", every), ("line", row, "row"), ("whole", tile, "tile" if shape[0] > 1 else "row")]
    facts = {
        "element": {"format": element},
        "shape": shape,
        "packing": "none",
        "scale_layout": "row_major",
        "levels": [{"name": name, "format": fmt, "granularity": at, "meaning": "multiply"} for name, fmt, at in levels],
    }
    return {"kind": "block", "id": "drawn_block", **USER.ABOUT, "facts": facts}


@pytest.mark.parametrize("examples", [25, pytest.param(tries(60, 1500), marks=pytest.mark.exhaustive)])
def test_programs_on_drawn_formats_and_blocks(examples: int) -> None:
    settings(QUICK, max_examples=examples)(given(st.data())(a_program_on_a_drawn_block))()


def a_program_on_a_drawn_block(data: st.DataObject) -> None:
    pool = [data.draw(USER.formats(9), label="format").model_copy(update={"id": f"drawn_{number}"}) for number in range(3)]
    seed = data.draw(st.integers(0, 99999))
    other = data.draw(st.one_of(USER.floats(32), USER.formats(9)), label="source")
    rng, names = np.random.default_rng(seed), [fmt.id for fmt in pool]
    shape = SHAPES[rng.integers(len(SHAPES))]
    with USER.loaded(*pool, block_of(shape, *names)):
        recipe = random_recipe(rng, ("drawn_block",), (*names, *names, "e2m1", "e4m3", "bf16", "int8"))
        try:
            program = quantize_program(recipe)
        except SpecError:
            return  # two random operands
        size = shape[0] * int(rng.integers(1, 3)), shape[1] * int(rng.integers(1, 4))
        wide = rng.random() < 0.7
        source = get("format", "fp32") if wide else other
        bits = (1 << derive.codes(other).bits) - 1  # codes with an unused bit are refused above the engines
        codes = PROGRAMS.source_codes(rng, size, rng.random() < 0.4) if wide else USER.some_codes(other, seed, size) & bits
        there_and_back(recipe, program, source, codes, rng)


def there_and_back(recipe: Any, program: Any, source: Format, codes: Any, rng: Any) -> None:
    """Quantize by every engine, and what came out back by every engine."""
    operands = {"random": PROGRAMS.random_operand(rng, program, *codes.shape)}
    if program.reads("tensor_amax"):
        operands["tensor_amax"] = PROGRAMS.AMAXES[rng.integers(len(PROGRAMS.AMAXES))]
    given_ones = {name: value for name, value in operands.items() if value is not None}

    def ask(engine: str) -> list[Any]:
        found, levels = engine_run.run_quantize(recipe, codes, source, engine=engine, **given_ones)
        return [found, *levels.values()]

    wanted = agree("quantize", (recipe, source), ask)
    if isinstance(wanted, type):
        return
    names = [level.name for level in program.block.facts.levels]
    levels, result = dict(zip(names, wanted[1:], strict=True)), get("format", ("fp32", "bf16", "fp16")[rng.integers(3)])
    back = {"profile": None, "result": result}
    agree("dequantize", (recipe, None), lambda engine: [engine_run.run_dequantize(recipe, wanted[0], levels, engine=engine, **back)])


def test_a_power_of_two_of_every_binade() -> None:
    """pow2 of whole numbers of every size, of Inf and NaN: far beyond the largest exponent it stays Inf, far below the least +0."""
    whole = [0.0, 1.0, 3.0, *(float(number) for number in range(120, 132)), *(float(number) for number in range(144, 153)), np.inf, np.nan]
    sizes = np.array([*whole, *(times * 2.0**exp for exp in range(2, 127) for times in (1, 1.5))], np.float32)
    codes = np.concatenate([sizes, -sizes]).view(np.uint32).reshape(1, -1)
    steps = [
        {"out": "power", "op": "pow2", "args": ["x"]},
        {"out": "element", "op": "cast", "args": ["power"], "to": "e2m1", "round": "rne", "overflow": "saturate", "nan": "0x0"},
        {"out": "flat", "op": "amax", "args": ["power"], "nan": "drop", "at": "row"},
        {"out": "line", "op": "cast", "args": ["flat"], "to": "e4m3", "round": "rne", "overflow": "saturate", "nan": "0x0"},
        {"op": "emit", "codes": "element", "levels": {"every": "power", "line": "line", "whole": "line"}},
    ]
    back = {"p": [{"out": "element", "op": "decode", "args": ["codes"]}, {"op": "emit", "values": "element"}]}
    facts = {"block": "drawn_block", "tail": "error", "arithmetic": {"to": "fp32", "round": "rne"}}
    facts |= {"domain": {"non_finite": "yes"}, "steps": steps, "dequantize": back}
    recipe = {"kind": "recipe", "id": "drawn_powers", **USER.ABOUT, "facts": facts}
    with USER.loaded(block_of([1, 1], "e2m1", "e4m3", "e4m3"), recipe):
        chosen, source = get("recipe", "drawn_powers"), get("format", "fp32")

        def ask(engine: str) -> list[Any]:
            found, levels = engine_run.run_quantize(chosen, codes, source, engine=engine)
            return [found, *levels.values()]

        _, powers, *_ = agree("quantize", (chosen, source), ask)
    assert powers[0].tolist() == [code_of_power(float(exp)) for exp in codes.view(np.float32)[0]]


def test_values_that_no_step_reads_are_checked_all_the_same() -> None:
    """A program that reads the tensor's maximum alone: x beyond binary32 is refused by every engine, with the maximum given and without."""
    steps = [
        {"out": "element", "op": "cast", "args": ["tensor_amax"], "to": "e2m1", "round": "rne", "overflow": "saturate"},
        {"out": "line", "op": "cast", "args": ["tensor_amax"], "to": "e4m3", "round": "rne", "overflow": "saturate"},
        {"op": "emit", "codes": "element", "levels": {"every": "tensor_amax", "line": "line", "whole": "line"}},
    ]
    back = {"p": [{"out": "element", "op": "decode", "args": ["codes"]}, {"op": "emit", "values": "element"}]}
    facts = {"block": "drawn_block", "tail": "error", "arithmetic": {"to": "fp32", "round": "rne"}, "steps": steps, "dequantize": back}
    recipe = {"kind": "recipe", "id": "drawn_blind", **USER.ABOUT, "facts": facts}
    wide = {"class": "float", "signed": "yes", "exp_bits": 8, "frac_bits": 0, "bias": 127, "subnormals": "yes"}
    beyond = {"kind": "format", "id": "drawn_wide", **USER.ABOUT, "facts": wide | {"inf": "none", "nan": "none", "neg_zero": "yes"}}
    with USER.loaded(block_of([1, 1], "e2m1", "e4m3", "e4m3"), recipe, beyond):
        chosen, source = get("recipe", "drawn_blind"), get("format", "drawn_wide")
        for last, fits in ((254, True), (255, False)):
            codes = np.array([[127, 1, last]], np.uint16)
            for given_ones in ({}, {"tensor_amax": 0x3F800000}):

                def ask(engine: str, codes: Any = codes, given_ones: Any = given_ones) -> list[Any]:
                    found, levels = engine_run.run_quantize(chosen, codes, source, engine=engine, **given_ones)
                    return [found, *levels.values()]

                assert (agree("quantize", (chosen, source), ask) is OperandError) is not fits


def code_of_power(exp: float) -> int:
    """The binary32 code of 2^exp, exp a whole number, Inf or NaN."""
    if exp != exp:
        return 0x7FC00000
    if exp >= 128 or exp < -149:
        return 0x7F800000 if exp > 0 else 0
    return int(exp) + 127 << 23 if exp > -127 else 1 << int(exp) + 149


BEYOND = USER.model(
    Format,
    {"class": "float", "signed": "yes", "exp_bits": 2, "frac_bits": 1, "bias": -125, "subnormals": "yes", "inf": "none", "nan": "none",
     "neg_zero": "yes"},
    "beyond",
)  # fmt: skip


def test_only_the_values_that_are_there_must_be_numbers_of_the_arithmetic() -> None:
    """A source whose largest codes lie beyond binary32: the others are taken by every engine, those by none."""
    recipe = get("recipe", "e1m2_fp32scale")
    inside, outside = np.array([[0, 1, 2, 3, 8, 9, 10, 11] * 4], np.uint8), np.array([[0, 1, 2, 7, 8, 9, 10, 11] * 4], np.uint8)

    def ask(engine: str, codes: Any) -> list[Any]:
        found, levels = engine_run.run_quantize(recipe, codes, BEYOND, engine=engine)
        return [found, *levels.values()]

    assert not isinstance(agree("quantize", (recipe, BEYOND), lambda engine: ask(engine, inside)), type)
    assert agree("quantize", (recipe, BEYOND), lambda engine: ask(engine, outside)) is OperandError
    assert len(engines_of("quantize", recipe, BEYOND)) >= 2


NO_SUBNORMALS = USER.model(
    Format,
    {"class": "float", "signed": "yes", "exp_bits": 1, "frac_bits": 15, "bias": 0, "subnormals": "no", "inf": "none", "nan": "none",
     "neg_zero": "no"},
    "seventeen",
)  # fmt: skip


def test_a_wide_source_without_subnormals_is_taken() -> None:
    recipe, codes = get("recipe", "e1m2_fp32scale"), np.array([[0, 1, 34542, 65535, 65536, 65537, 85635, 131071] * 4], np.uint32)

    def ask(engine: str) -> list[Any]:
        found, levels = engine_run.run_quantize(recipe, codes, NO_SUBNORMALS, engine=engine)
        return [found, *levels.values()]

    assert not isinstance(agree("quantize", (recipe, NO_SUBNORMALS), ask), type)
    assert "numpy" in engines_of("quantize", recipe, NO_SUBNORMALS)


@pytest.mark.parametrize("name", ["fp32", "bf16", "fp16", "fp64"])
@pytest.mark.parametrize("copy_first", [False, True])
def test_a_copy_of_a_wide_format_is_it(name: str, copy_first: bool) -> None:
    """The same engine, the same codes, and arrays of its dtype taken as they are."""
    own = get("format", name)
    copy = own.model_copy(update={"id": f"my_{name}"})
    codes = USER.some_codes(own, 7, (64,), finite=True)
    modes = get("rounding", "rna" if copy_first else "rz"), get("policy", "ocp_saturate")
    able_ones = [engine_table.choose("convert", "auto", fmt, get("format", "e2m1"), *modes) for fmt in (own, copy)]
    assert able_ones[0] == able_ones[1]
    asked = [emu.convert(codes, "e2m1", *modes, source=fmt) for fmt in ((copy, own) if copy_first else (own, copy))]
    assert np.array_equal(*asked)
    values = emu.decode(codes, copy, name.replace("fp", "float").replace("bf16", "bfloat16"))
    assert np.array_equal(emu.convert(values, "e2m1", *modes, source=copy), asked[0])  # an array of that dtype is taken as it is


TF = USER.model(
    Format,
    {"class": "float", "signed": "yes", "exp_bits": 8, "frac_bits": 10, "bias": 127, "subnormals": "yes", "inf": "ieee", "nan": "ieee",
     "neg_zero": "yes"},
    "tf19",
)  # fmt: skip


def test_a_source_of_19_bits_is_taken_where_its_values_fit() -> None:
    """Sign, 8 exponent and 10 fraction bits: its numbers are binary32 numbers whose last 13 bits are 0."""
    codes = USER.some_codes(TF, 11, (4, 32), finite=True)
    wide = codes.astype(np.uint32) << np.uint32(13)
    fp32 = wide.view(np.float32)
    assert np.array_equal(emu.decode(codes, TF), fp32) and np.array_equal(emu.decode(codes, TF, np.float64), fp32.astype(np.float64))
    assert emu.amax(codes, TF) == emu.amax(fp32)
    for engine in ("auto", "exact", "numpy", "c_ref", *(["torch"] if engine_table.has_torch() else [])):
        for name in ("nvfp4_te_ref", "mxfp4_torchao_floor", "e1m2_fp32scale"):
            found, wanted = emu.quantize(codes, name, source=TF, engine=engine), emu.quantize(fp32, name)
            assert np.array_equal(found.codes, wanted.codes) and np.array_equal(found.scales, wanted.scales)
        rotated = emu.transform(codes, "rht16_te_fp32", source=TF, engine=engine)
        assert np.array_equal(rotated.view(np.uint32), emu.transform(fp32, "rht16_te_fp32").view(np.uint32))
        assert np.array_equal(emu.convert(codes, "nf4", source=TF, engine=engine), emu.convert(fp32, "nf4"))


def float_format(**facts: Any) -> Format:
    """A float format with the usual facts where nothing else is said."""
    usual = {"class": "float", "signed": "yes", "subnormals": "yes", "inf": "none", "nan": "none", "neg_zero": "yes"}
    found: Format = USER.model(Format, usual | facts)
    return found


PLAIN = {"overflow": "saturate", "nan": {"positive": "max", "negative": "zero"}}
INT14 = {"class": "integer", "signed": "sign_magnitude", "bits": 14, "unit_exp": -10}
CODEBOOK = {"class": "codebook", "bits": 2, "values": ("0", "2", "5", "7"), "tie": "even_code"}


@pytest.mark.parametrize(
    ("source", "fmt", "mode", "codes"),
    [
        pytest.param({"exp_bits": 4, "frac_bits": 11, "bias": 7}, "e2m1", "rz", [0, 0x4000, 0xFFFF], id="16 bits without infinity"),
        pytest.param(
            {"exp_bits": 5, "frac_bits": 3, "bias": 3, "nan": ("0x100",), "neg_zero": "no"}, CODEBOOK, "rne", [0x100], id="sign of NaN"
        ),
        pytest.param({"exp_bits": 9, "frac_bits": 6, "bias": 255}, CODEBOOK, "rne", [31796, 1], id="to a codebook, beyond binary32"),
        pytest.param({"exp_bits": 6, "frac_bits": 1, "bias": 31}, INT14, "sr_add8", [67, 60], id="an integer of 14 bits"),
        pytest.param({"exp_bits": 11, "frac_bits": 20, "bias": 1023}, "e2m1", "rne", [0x3FF00000, 0x40180000, 0x3FC00001], id="32 bits"),
        pytest.param({"exp_bits": 7, "frac_bits": 11, "bias": 63, "unused_high_bits": 5}, "e5m2", "sr_add8", [0x24E1A9], id="a spare bit"),
    ],
)
def test_conversions_of_user_formats(source: dict[str, Any], fmt: Any, mode: str, codes: list[int]) -> None:
    own, to = float_format(**source), get("format", fmt) if isinstance(fmt, str) else USER.model(Format, fmt)
    policy = USER.model(Policy, {"with_nan" if derive.codes(to).nan else "without_nan": PLAIN})
    wanted = converted(own, to, mode, policy, np.array(codes, USER.dtype_of(own)))
    assert (wanted is OpenError) == ("unused_high_bits" in source)


@pytest.mark.parametrize("number", [1.5 * 2.0**100, 3 * 2.0**36, -5e9, 2.0**24, 2.5])
def test_the_grid_of_an_integer_goes_on_above_its_codes(number: float) -> None:
    """Rounding without a maximum: a multiple of the unit stays, however large."""
    from emu.engines.numpy.arithmetic import round_unbounded

    values, rne = np.array([number], np.float32), get("rounding", "rne")
    assert round_unbounded(values, get("format", "int4"), rne)[0] == np.rint(values)[0]
    torch = pytest.importorskip("torch")
    from emu.engines.torch.arithmetic import round_unbounded as by_torch

    assert float(by_torch(torch.from_numpy(values), get("format", "int4"), rne)[0]) == np.rint(values)[0]


@pytest.mark.parametrize("name", ["e5m2", "e4m3", "fp16"])
def test_a_policy_knows_a_destination_by_its_facts(name: str) -> None:
    copy = get("format", name).model_copy(update={"id": "mine"})
    assert derive.policy_entry(get("policy", "nvidia"), copy) == derive.policy_entry(get("policy", "nvidia"), get("format", name))


UNSORTED = "0 1/16 3/4 1 3/8 1/2 3/16 1/4 -0 -1/16 -3/4 -1 -3/8 -1/2 -3/16 -1/4"  # the order of a sign and magnitudes out of order


@pytest.mark.parametrize(("word", "code"), [("max", 3), ("min", 11), ("zero", 0), ("negative_zero", 8), ("smallest", 0)])
@pytest.mark.parametrize("bits", [False, True])
def test_a_word_of_a_policy_is_the_code_of_that_value_in_any_order_of_a_codebook(word: str, code: int, bits: bool) -> None:
    listed: dict[str, Any] = {"values": tuple(UNSORTED.split())}
    if bits:
        numbers = np.array([-0.0 if text == "-0" else float(Fraction(text)) for text in UNSORTED.split()], np.float32)
        listed = {"values_bits": " ".join(f"{number:08X}" for number in numbers.view(np.uint32)), "values_format": "fp32"}
    fmt = USER.model(Format, {"class": "codebook", "bits": 4, **listed, "tie": "lower"}, "unsorted")
    policy = USER.model(Policy, {"unsorted": {"overflow": "saturate", "nan": {"positive": word, "negative": word}}}, "words")
    x = np.array([np.nan, 0.9], np.float32)
    facts = (get("format", "fp32"), fmt, get("rounding", "rne"), policy)
    (codes,) = agree("convert", facts, lambda engine: (emu.convert(x, fmt, policy=policy, engine=engine),))
    assert codes.tolist() == [code, 3]


def test_a_word_that_a_codebook_has_no_value_for_is_refused() -> None:
    fmt = USER.model(Format, {"class": "codebook", "bits": 2, "values": ("1", "2", "3", "4"), "tie": "lower"}, "positive")
    policy = USER.model(Policy, {"positive": {"overflow": "saturate", "nan": {"positive": "zero", "negative": "zero"}}}, "words")
    with pytest.raises(SpecError, match="positive has no code for zero"):
        emu.convert(np.array([np.nan], np.float32), fmt, policy=policy)
