"""Recipe programs that do not type-check, and recipes that name what is not there: exact line and message, on both parsers."""

from collections.abc import Callable
from typing import Any

import pytest

from emu.spec.registry import isolated, load_spec, shipped_root

Load = Callable[..., str]

MUL = '{out: "scaled", op: "mul", '
SCALE = '{out: "scale", op: "cast", args: ["scaled"], to: "ue4m3"'
CODES = '{out: "codes", op: "cast", args: ["y"], to: "e2m1", nan: "0x0"'
EMIT = '{op: "emit", codes: "codes", levels: {tensor: "tensor_amax", scale: "scale"}}'
OPS = "amax, sum, add, sub, mul, div, fma, abs, neg, min, max, clamp, round, log2, pow2, e8m0_rule, cast, nearest, wrap, decode, "
OPS += "select, transform, emit"
GRANULARITIES = "tensor, row, tile, block"

NAMES = [
    (14, '{out: "scale", op: "div", args: ["x", "scale_value"]}', "facts.steps.4: scale is set twice"),
    (14, '{out: "x", op: "abs", args: ["scale_value"]}', "facts.steps.4: x is given from outside: choose another name"),
    (
        14,
        '{out: "y", op: "div", args: ["x", "scale_vale"]}',
        "facts.steps.4: scale_vale is not set before this step: did you mean scale_value?",
    ),
    (12, '{out: "scale", op: "cast", args: ["q"], to: "ue4m3"}', "facts.steps.2: q is not set before this step"),
    (14, '{out: "y", op: "pow2", args: ["codes"]}', "facts.steps.4: codes is not set before this step"),
    (21, '{out: "v", op: "mul", args: ["e", "x"]}', "facts.dequantize.exact.2: x is not set before this step"),
    (16, EMIT.replace('"codes"', '"code"'), "facts.steps.6: code is not set before emit: did you mean codes?"),
    (22, '{op: "emit", values: "w"}', "facts.dequantize.exact.3: w is not set before emit"),
    (14, EMIT, "facts.steps.4: emit must be the last step"),
]
CONSTANTS = [
    (11, MUL + 'args: ["block_amax", "1/3"]}', "facts.steps.1: constant 1/3 is not a fp32 number: write its bit pattern"),
    (11, MUL + 'args: ["block_amax", "16777217"]}', "facts.steps.1: constant 16777217 is not a fp32 number: write its bit pattern"),
    (11, MUL + 'args: ["block_amax", "2^-150"]}', "facts.steps.1: constant 2^-150 is not a fp32 number: write its bit pattern"),
    (11, MUL + 'args: ["block_amax", "2^128"]}', "facts.steps.1: constant 2^128 is beyond the largest fp32 number"),
    (11, MUL + 'args: ["block_amax", "0x3F8000000"]}', "facts.steps.1: constant 0x3F8000000 has more than 32 bits"),
    (
        11,
        MUL + 'args: ["block_amax", "0.5"]}',
        'facts.steps.1.args.1: "0.5" must be a name, an exact number ("p", "p/q", "2^k") or a bit pattern ("0x7F")',
    ),
    (11, MUL + 'args: ["block_amax", 448]}', "facts.steps.1.args.1: 448 must be a string in double quotes"),
]
PLACES = [
    (
        10,
        '{out: "block_amax", op: "amax", args: ["x"], nan: "drop", at: "tensor"}',
        "facts.steps.0: at: a program does not reduce to the tensor: read tensor_amax",
    ),
    (
        10,
        '{out: "block_amax", op: "sum", args: ["x"], order: "exact", at: "tensor"}',
        "facts.steps.0: at: a program does not reduce to the tensor: read tensor_amax",
    ),
    (10, '{out: "block_amax", op: "sum", args: ["x"], order: "tree", at: "row"}', "facts.steps.0: at: a sum stays inside one block"),
    (
        14,
        '{out: "y", op: "cast", args: ["x"], to: "nf4", round: "odd"}',
        "facts.steps.4: rounding odd needs a format with a regular grid, nf4 is a codebook: say another round",
    ),
    (
        10,
        '{out: "block_amax", op: "amax", args: ["tensor_amax"], nan: "drop", at: "block"}',
        "facts.steps.0: a reduction goes up: tensor_amax does not live at a finer place than block",
    ),
    (10, '{out: "block_amax", op: "amax", args: ["x"], nan: "drop", at: {sub: 3}}', "facts.steps.0: at: 3 does not divide the block of 16"),
    (
        10,
        '{out: "block_amax", op: "amax", args: ["x"], nan: "drop", at: {sub: 0}}',
        "facts.steps.0.at.sub: 0 must be greater than or equal to 1",
    ),
    (
        10,
        '{out: "block_amax", op: "amax", args: ["x"], nan: "drop", at: "element"}',
        f'facts.steps.0.at: "element" is not one of {GRANULARITIES}',
    ),
    (12, SCALE.replace("scaled", "x") + "}", "facts.steps.6: level scale lives at block, scale is finer"),
    (16, EMIT.replace("tensor_amax", "scale"), "facts.steps.6: level tensor lives at tensor, scale is finer"),
    (
        14,
        '{out: "y", op: "transform", args: ["scale_value"], transform: "rht16_te"}',
        "facts.steps.4: transform takes elements, scale_value is shared by several",
    ),
    (22, '{op: "emit", values: "s"}', "facts.dequantize.exact.3: values must be a value of every element, s is shared by several"),
]
TYPES = [
    (14, '{out: "y", op: "div", args: ["x", "scale"]}', "facts.steps.4: div takes values, scale is a code: decode it first"),
    (
        15,
        '{out: "codes", op: "cast", args: ["random"], to: "e2m1"}',
        "facts.steps.5: random is the random operand: only random of a cast reads it",
    ),
    (
        14,
        '{out: "y", op: "select", test: "zero", args: ["scale", "x", "x"]}',
        "facts.steps.4: select takes values, scale is a code: decode it first",
    ),
    (
        14,
        '{out: "y", op: "select", test: "zero", args: ["x", "scale", "x"]}',
        "facts.steps.4: the arms of select must both be codes or both be values: a code of ue4m3 and a value of fp32",
    ),
    (
        14,
        '{out: "y", op: "select", test: "lt", args: ["x", "scale_value", "x"]}',
        "facts.steps.4: select lt takes 4 arguments, there are 3",
    ),
    (
        14,
        '{out: "y", op: "select", test: "zero", args: ["x", "scale", "random"]}',
        "facts.steps.4: random is the random operand: only random of a cast reads it",
    ),
    (13, '{out: "scale_value", op: "decode", args: ["scaled"]}', "facts.steps.3: decode takes a code, scaled is a value"),
    (13, '{out: "scale_value", op: "decode", args: ["448"]}', "facts.steps.3: decode takes a code, 448 is a value"),
    (13, '{out: "scale_value", op: "decode", args: ["random"]}', "facts.steps.3: decode takes a code, random is the random operand"),
    (13, '{out: "scale_value", op: "decode", args: ["scale"], format: "e8m0"}', "facts.steps.3: scale is a code of ue4m3, not of e8m0"),
    (12, SCALE.replace("ue4m3", "e8m0") + "}", "facts.steps.6: level scale is stored in ue4m3, scale is a code of e8m0"),
    (15, CODES.replace("e2m1", "e1m2") + "}", "facts.steps.6: codes must be a code of e2m1, codes is a code of e1m2"),
    (16, EMIT.replace('"codes"', '"y"'), "facts.steps.6: codes must be a code of e2m1, y is a value of fp32"),
    (
        16,
        EMIT.replace('scale: "scale"', 'scale: "scale_value"'),
        "facts.steps.6: level scale is stored in ue4m3, scale_value is a value of fp32",
    ),
    (22, '{op: "emit", values: "codes"}', "facts.dequantize.exact.3: values must be a value of every element, codes is a code of e2m1"),
    (20, '{out: "s", op: "decode", args: ["tensor"]}', "facts.dequantize.exact.1: decode takes a code, tensor is a value"),
    (16, EMIT.replace('tensor: "tensor_amax", ', ""), "facts.steps.6: emit names every level of block nvfp4: tensor missing"),
    (16, EMIT.replace("tensor:", "tenser:"), "facts.steps.6: emit names every level of block nvfp4: tensor missing; tenser unknown"),
]
ROUNDINGS = [
    (11, MUL + 'args: ["block_amax", "448"], to: "e2m1"}', "facts.steps.1: e2m1 has no Inf: overflow ieee_inf is impossible"),
    (11, MUL + 'args: ["block_amax", "448"], to: "fp64"}', "facts.steps.1: values of fp64 do not fit the program's arithmetic fp32"),
    (11, MUL + 'args: ["block_amax", "448"], round: "sr_add8"}', "facts.steps.1: rounding sr_add8 draws random bits: only cast may"),
    (12, SCALE + ', overflow: "inf"}', "facts.steps.2: ue4m3 has no Inf: overflow inf is impossible"),
    (
        12,
        SCALE + ', overflow: "satturate"}',
        'facts.steps.2.overflow: "satturate" is not one of saturate, inf, nan, ieee_inf, ieee_nan, wrap: did you mean saturate?',
    ),
    (12, SCALE + ', nan: "0x1FF"}', "facts.steps.2: nan 0x1FF has more bits than ue4m3"),
    (15, CODES + ', overflow: "nan"}', "facts.steps.5: e2m1 has no NaN: overflow nan is impossible"),
    (15, CODES + ', round: "sr_add8"}', 'facts.steps.5: rounding sr_add8 draws: say random: "random"'),
    (15, CODES + ', round: "sr_add8", random: "y"}', 'facts.steps.5: rounding sr_add8 draws: say random: "random"'),
    (15, CODES + ', round: "sr_add8", random: "scale"}', 'facts.steps.5: rounding sr_add8 draws: say random: "random"'),
    (15, CODES + ', random: "random"}', "facts.steps.5: rounding rne draws nothing: remove random"),
    (14, '{out: "y", op: "round", args: ["x"], to: "ue4m3"}', "facts.steps.4: ue4m3 has no Inf: overflow ieee_inf is impossible"),
    (14, '{out: "y", op: "round", args: ["x"], to: "nf4", overflow: "none"}', "facts.steps.4: nf4 is no float format"),
    (14, '{out: "y", op: "e8m0_rule", args: ["x"], rule: "even", emax: 2}', "facts.steps.4: rule even states emax and frac_bits"),
    (
        14,
        '{out: "y", op: "e8m0_rule", args: ["x"], rule: "field_up", emax: 2}',
        "facts.steps.4: rule field_up states neither emax nor frac_bits",
    ),
    (8, '{to: "e2m1", round: "rne"}', "facts.arithmetic.to: e2m1 has no Inf: overflow ieee_inf is impossible"),
    (8, '{to: "fp32", round: "sr_add8"}', "facts.arithmetic.round: rounding sr_add8 draws random bits: only a cast may"),
]
KEYS = [
    (14, '{out: "y", op: "dvi", args: ["x", "x"]}', f'facts.steps.4: op "dvi" is not one of {OPS}: did you mean div?'),
    (14, '{out: "y", args: ["x", "x"]}', "facts.steps.4: key op is missing: it says which other keys there are"),
    (14, '{op: "div", args: ["x", "x"]}', "facts.steps.4: key out is missing: name of the result; each name is set once"),
    (14, '{out: "y", op: "div", arg: ["x", "x"]}', "facts.steps.4.arg: key arg is unknown here: did you mean args?"),
    (14, '{out: "y", op: "div", args: ["x"]}', "facts.steps.4.args: needs at least 2 entries, has 1"),
    (14, '{out: "y", op: "div", args: ["x", "x", "x"]}', "facts.steps.4.args: needs at most 2 entries, has 3"),
    (14, '{out: "y", op: "div", args: "x"}', 'facts.steps.4.args: "x" must be a list: [a, b]'),
    (14, '{out: "Y", op: "abs", args: ["x"]}', 'facts.steps.4.out: "Y" must be a name of a-z, 0-9 and _ that starts with a letter'),
    (
        14,
        '{out: "y", op: "min", args: ["x", "x"]}',
        "facts.steps.4: key nan is missing: propagate: any NaN gives NaN; drop: the other value",
    ),
    (14, '"y = x / s"', 'facts.steps.4: "y = x / s" must be keys and values: {key: value}'),
    (22, EMIT, "facts.dequantize.exact.3.codes: key codes is unknown here: the keys here are op, values"),
    (8, '{to: "fp32"}', "facts.arithmetic: key round is missing: rounding mode"),
]
DANGLING = [
    (8, '{to: "bf17", round: "rne"}', "format 'bf17' is unknown: did you mean bf16 or fp16?"),
    (8, '{to: "fp32", round: "rn"}', "rounding 'rn' is an alias: write rne"),
    (12, SCALE.replace("ue4m3", "ue4m4") + "}", "format 'ue4m4' is unknown: did you mean ue4m3 or e4m3 or e8m0?"),
    (
        14,
        '{out: "y", op: "transform", args: ["x"], transform: "rht16"}',
        "transform 'rht16' is unknown: did you mean rht16_te or rht16_ufp4 or rht16_exact?",
    ),
]
CASES = [*NAMES, *CONSTANTS, *PLACES, *TYPES, *ROUNDINGS, *KEYS, *DANGLING]


def changed(text: str, line: int, new: str) -> str:
    """The text with the braces of one line replaced."""
    lines = text.splitlines()
    lines[line - 1] = lines[line - 1].partition("{")[0] + new
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(("line", "new", "message"), CASES, ids=[f"{case[0]}-{number}" for number, case in enumerate(CASES)])
def test_line(line: int, new: str, message: str, refused: Load, texts: dict[str, str], parser: Any) -> None:
    at = 16 if message.startswith("facts.steps.6:") else line  # emit sees what a step before it made
    assert refused(t=changed(texts["recipe"], line, new)) == f"t.yaml:{at}: {message}"


def test_program_without_emit(refused: Load, texts: dict[str, str]) -> None:
    text = changed(texts["recipe"], 16, '{out: "z", op: "abs", args: ["x"]}')
    assert refused(t=text) == "t.yaml:9: facts.steps: a program ends with emit"


@pytest.mark.parametrize(
    ("line", "new", "message"),
    [
        (6, '  block: "nvfp"', "block 'nvfp' is unknown: did you mean nvfp4 or"),
        (6, '  block: "mxfp4"', "facts.steps.6: emit names every level of block mxfp4: tensor unknown"),
        (7, '  tail: "pad"', 'facts.tail: "pad" is not one of error, zero_pad_keep, zero_pad_drop'),
        (7, "", "facts: key tail is missing: what happens when a length is no multiple of the block"),
    ],
)
def test_frame_of_the_program(line: int, new: str, message: str, refused: Load, texts: dict[str, str]) -> None:
    lines = texts["recipe"].splitlines()
    lines[line - 1] = new
    at = {"facts.steps.6": 16, "facts": 5}.get(message.partition(":")[0], line)
    assert refused(t="\n".join(lines) + "\n").startswith(f"t.yaml:{at}: {message}")


def test_the_unbroken_recipe_loads(texts: dict[str, str], tmp_path: Any) -> None:
    (tmp_path / "t.yaml").write_text(texts["recipe"], encoding="utf-8")
    with isolated(shipped_root()):
        assert load_spec(tmp_path) == ("recipe/t",)


@pytest.mark.parametrize(
    ("order", "terms", "wanted"),
    [("tree", 6, "a tree sum needs a power of two of terms"), ("halves", 5, "a sum of halves needs an even number of terms")],
)
def test_an_order_of_a_sum_fits_the_terms(order: str, terms: int, wanted: str, refused: Load, texts: dict[str, str]) -> None:
    step = f'{{out: "block_amax", op: "sum", args: ["x"], order: "{order}", at: "block"}}'
    block = (shipped_root() / "block" / "nvfp4.yaml").read_text(encoding="utf-8")
    own = block[: block.index("expect:")].replace('"nvfp4"', '"own"').replace("[1, 16]", f"[1, {terms}]") + "sources: []\n"
    recipe = changed(texts["recipe"], 10, step).replace('block: "nvfp4"', 'block: "own"')
    assert refused(t=recipe, own=own) == f"t.yaml:10: facts.steps.0: order: {wanted}, not {terms}: say sequential"


def test_a_program_reads_one_random_operand(refused: Load, texts: dict[str, str]) -> None:
    first = '    - {out: "other", op: "cast", args: ["y"], to: "e2m1", nan: "0x0", round: "sr_add16", random: "random"}\n'
    lines = changed(texts["recipe"], 15, CODES + ', round: "sr_add8", random: "random"}').splitlines(keepends=True)
    message = "facts.steps.6: roundings sr_add16 and sr_add8 read different random operands: a program has one"
    assert refused(t="".join([*lines[:14], first, *lines[14:]])) == f"t.yaml:16: {message}"
