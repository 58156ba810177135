"""Facts that contradict themselves or other files, kind by kind: exact line and message, on both parsers."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from emu.spec.registry import isolated, load_spec, shipped_root

Load = Callable[..., str]

FLOAT = '{class: "float", signed: "yes", exp_bits: 2, frac_bits: 1, bias: 1, subnormals: "yes", inf: "none", nan: "none", neg_zero: "yes"}'
BOOK = '{class: "codebook", bits: 2, values: ["-1", "0", "1", "2"], tie: "lower"}'
BITS = '{class: "codebook", bits: 2, values_bits: "BC00 0000 3C00 4000", values_format: "fp16", tie: "lower"}'
MAGNITUDE = '{zero: "keep", less_than_half: "keep", half: "to_even_code", more_than_half: "next"}'
AWAY = 'beyond_max: {positive: "away", negative: "away"}'
ROUNDING = f'{{random: "none", sees_sign: "no", magnitude: {MAGNITUDE}, {AWAY}}}'
SHARED = f'{{random: {{word: 32, lanes: 2, fields: [[[15, 0]], [[31, 16]]]}}, sees_sign: "no", add: "add", {AWAY}}}'
POLICY = '{e2m1: {overflow: "saturate", nan: {positive: "max", negative: "max"}}}'
LEVELS = 'levels: [{name: "scale", format: "ue4m3", granularity: "block", meaning: "multiply"}]'
BLOCK = f'{{element: {{format: "e2m1"}}, shape: [1, 16], packing: "none", scale_layout: "row_major", {LEVELS}}}'
ROTATION = '{matrix: "hadamard_sylvester", size: 16, signs: "0xD7E8", signs_operand: "no", '
ROTATION += 'sum: "exact", sum_format: "fp32", scale: "1/4", result: "bf16"}'

GOOD = [("format", FLOAT), ("format", BOOK), ("format", BITS), ("rounding", ROUNDING), ("rounding", SHARED), ("policy", POLICY)]
ORDER = '{holds: "scales", code_bits: 8, digits: [{axis: "idx", count: 4}, {axis: "row"}, {axis: "idx", step: 4}]}'
INSTRUCTION = '{isa: "riscv", mnemonic: "own.vf2", performs: "widen", source: "e2m1", to: "e4m3", operands: [{name: "vs2"}], '
INSTRUCTION += 'result: {name: "vd"}, rounding: "rne", policy: "riscv_zvfofp8min", flags: "none", targets: ["own"], since: "0.1"}'
GOOD += [("block", BLOCK), ("transform", ROTATION), ("layout", ORDER)]

CASES = [
    ("format", FLOAT, 'signed: "yes"', 'signed: "no"', "facts: neg_zero needs a sign bit and a zero"),
    ("format", FLOAT, 'subnormals: "yes"', 'subnormals: "no"', "facts: neg_zero needs a sign bit and a zero"),
    (
        "format",
        FLOAT,
        'inf: "none"',
        'inf: "ieee"',
        "facts: inf: ieee leaves the other codes of the top exponent without meaning: say nan: ieee",
    ),
    ("instruction", INSTRUCTION, '[{name: "vs2"}]', "[]", "facts.operands: needs at least 1 entries, has 0"),
    ("format", FLOAT, "exp_bits: 2", "exp_bits: 1, unused_high_bits: 8", "facts.unused_high_bits: 8 must be less than or equal to 7"),
    (
        "format",
        '{class: "exponent", signed: "no", bits: 1, bias: 0, nan: ["0x1"]}',
        '"0x1"',
        '"0x0", "0x1"',
        "facts.nan: every code is NaN: a format needs a number",
    ),
    ("format", BOOK, '"-1", ', "", "facts.values: 2 bits need 4 values, there are 3"),
    ("format", BOOK, '"2"', '"2", "3"', "facts.values: 2 bits need 4 values, there are 5"),
    ("format", BOOK, '"2"', '"nan"', "facts.values: nan is not a rational number"),
    ("format", BOOK, '"0"', '"1/2"', 'facts.values: values of both signs need a "0" between them'),
    ("format", BOOK, 'values: ["-1", "0", "1", "2"], ', "", "facts: give either values, or values_bits with values_format"),
    ("format", BITS, ', values_format: "fp16"', "", "facts: give either values, or values_bits with values_format"),
    ("format", BITS, "4000", "400", "facts.values_bits: 15 hex digits are no multiple of the 4 of a fp16 code"),
    ("format", BITS, " 4000", "", "facts.values_bits: 2 bits need 4 values, there are 3"),
    ("format", BITS, "4000", "7C00", "facts.values_bits: 0x7C00 is no finite fp16 number"),
    ("format", BITS, "fp16", "int8", "facts.values_bits: values_format int8 is no float format"),
    ("format", BITS, "fp16", "t", "facts.values_bits: values_format t is no float format"),
    ("format", BITS, "fp16", "half", "format 'half' is an alias: write fp16"),
    ("rounding", ROUNDING, 'sees_sign: "no"', 'sees_sign: "yes"', "facts: a rule of this kind states negative and positive, nothing else"),
    ("rounding", ROUNDING, 'random: "none"', "random: {per_element: 8}", "facts: a rule of this kind states add, nothing else"),
    (
        "rounding",
        ROUNDING,
        'random: "none"',
        "random: {per_elements: 8}",
        "facts.random.per_elements: key per_elements is unknown here: did you mean per_element?",
    ),
    ("rounding", ROUNDING, 'random: "none"', "random: {per_element: 33}", "facts.random.per_element: 33 must be less than or equal to 32"),
    (
        "rounding",
        ROUNDING,
        '"to_even_code"',
        '"to_even"',
        'facts.magnitude.half: "to_even" is not one of keep, next, to_even_code, to_odd_code: did you mean to_even_code?',
    ),
    ("rounding", ROUNDING, ', negative: "away"', "", "facts.beyond_max: key negative is missing: away: to Inf or NaN"),
    ("rounding", SHARED, "[31, 16]", "[31, 17]", "facts.random: fields needs one list of ranges per lane, all of the same total width"),
    ("rounding", SHARED, "[31, 16]", "[32, 17]", "facts.random: a bit range lies outside the word"),
    ("rounding", SHARED, "lanes: 2", "lanes: 3", "facts.random: fields needs one list of ranges per lane, all of the same total width"),
    ("policy", POLICY, "e2m1", "e2m2", "format 'e2m2' is unknown: did you mean e6m2 or e5m2 or e3m2?"),
    ("policy", POLICY, "e2m1", "fp4", "format 'fp4' is an alias: write e2m1"),
    ("policy", POLICY, '"saturate"', '"inf"', "facts.e2m1: e2m1 has no Inf: overflow inf is impossible"),
    ("policy", POLICY, '"saturate"', '"nan"', "facts.e2m1: overflow_nan belongs to overflow: nan and ieee_nan, and only to them"),
    ("policy", POLICY, 'positive: "max"', 'positive: "0x1F"', "facts.e2m1: outcome 0x1F has more bits than e2m1"),
    ("policy", POLICY, 'positive: "max"', 'positive: "nan"', "facts.e2m1: e2m1 has no code for nan"),
    (
        "policy",
        POLICY,
        'positive: "max"',
        'positive: "largest"',
        'facts.e2m1.nan.positive: "largest" must be a code such as "0x7F", or one of max, ',
    ),
    ("block", BLOCK, '"ue4m3"', '"ue4m"', "format 'ue4m' is unknown: did you mean ue4m3 or"),
    ("block", BLOCK, "[1, 16]", "[1, 0]", "facts.shape.1: 0 must be greater than or equal to 1"),
    ("block", BLOCK, '"scale", format', '"codes", format', "facts: level names must differ from one another and from codes"),
    ("block", BLOCK, '"block", meaning', "{sub: 5}, meaning", "facts: level scale: 5 does not divide the block of 16"),
    ("block", BLOCK, "shape:", 'factor: "nan", shape:', "facts.factor: nan is not a rational number"),
    (
        "block",
        BLOCK,
        '{format: "e2m1"}',
        '{choice: [{format: "e2m1"}, {format: "int4"}], flag: "flg"}',
        "facts: element.flag names no level: flg",
    ),
    (
        "block",
        BLOCK,
        '{format: "e2m1"}',
        '{choice: [{format: "e2m1"}], flag: "scale"}',
        "facts.element.choice: needs at least 2 entries, has 1",
    ),
    ("block", BLOCK, '{format: "e2m1"}', '"e2m1"', 'facts.element: "e2m1" must be keys and values: {key: value}'),
    (
        "layout",
        ORDER,
        "step: 4",
        "step: 8",
        "facts: digits of idx: steps and counts must follow on one another, the last one without count",
    ),
    (
        "layout",
        ORDER,
        "step: 4",
        "step: 4, count: 2",
        "facts: digits of idx: steps and counts must follow on one another, the last one without count",
    ),
    (
        "layout",
        ORDER,
        '"row"',
        '"row", step: 2',
        "facts: digits of row: steps and counts must follow on one another, the last one without count",
    ),
    ("transform", ROTATION, "size: 16", "size: 12", "facts: size must be a power of two"),
    ("transform", ROTATION, '"0xD7E8"', '"0x1D7E8"', "facts: signs has more than 16 bits"),
    ("transform", ROTATION, '"1/4"', '"1/3"', "facts: scale must be a power of two"),
    ("transform", ROTATION, 'result: "bf16"', 'result: "e4m3"', "facts: e4m3 has no Inf: overflow ieee_inf is impossible"),
    ("transform", ROTATION, 'sum: "exact"', 'sum: "pairwise"', 'facts.sum: "pairwise" is not one of exact, butterfly, sequential'),
]


def text_of(kind: str, facts: str) -> str:
    return f'kind: "{kind}"\nid: "t"\ntitle: "t"\nstatus: "proposed"\nfacts: {facts}\nsources: []\n'


@pytest.mark.cases(56)
@pytest.mark.parametrize(("kind", "facts", "old", "new", "message"), CASES, ids=[f"{case[0]}-{case[4][:50]}" for case in CASES])
def test_facts(kind: str, facts: str, old: str, new: str, message: str, refused: Load, parser: Any) -> None:
    assert facts.count(old) == 1
    assert refused(t=text_of(kind, facts.replace(old, new))).startswith(f"t.yaml:5: {message}")


@pytest.mark.parametrize(("kind", "facts"), GOOD)
def test_unbroken(kind: str, facts: str, own_registry: None, tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text(text_of(kind, facts), encoding="utf-8")
    assert load_spec(tmp_path) == (f"{kind}/t",)


def test_bad_sources(refused: Load) -> None:
    good = '- {id: "a", title: "t", kind: "paper", url: "", version: "1", read: "text"}\n'
    file = text_of("format", FLOAT).replace("sources: []", 'sources: [{ref: "a", where: "x"}]')
    for text, message in [
        (good + good, "sources.yaml:2: id 'a' appears twice: keep one"),
        (
            good + good.replace('"a"', '"b"').replace("paper", "book"),
            'sources.yaml:2: kind: "book" is not one of standard, vendor, paper, code, thread, project',
        ),
        (
            good.replace("read:", "seen:"),
            "sources.yaml:1: seen: key seen is unknown here: the keys here are id, title, kind, url, version, read",
        ),
        ('id: "a"\n', "sources.yaml:1: the top level must be a list of sources: - {id, title, kind, url, version, read}"),
        (good + "- no\n", 'sources.yaml:2: bare no is ambiguous in YAML: write "no" in double quotes'),
    ]:
        assert refused(sources=text, t=file).startswith(message)


def test_a_users_source_is_known_to_his_files(own_registry: None, tmp_path: Path) -> None:
    (tmp_path / "sources.yaml").write_text(
        '- {id: "mine", title: "t", kind: "paper", url: "", version: "1", read: "text"}\n', encoding="utf-8"
    )
    (tmp_path / "t.yaml").write_text(
        text_of("format", FLOAT).replace("sources: []", 'sources: [{ref: "mine", where: "x"}]'), encoding="utf-8"
    )
    assert load_spec(tmp_path) == ("format/t",)
    with isolated(shipped_root()):
        (tmp_path / "sources.yaml").unlink()
        with pytest.raises(ValueError, match=r"t\.yaml:6: source 'mine' is not in sources\.yaml"):
            load_spec(tmp_path)
