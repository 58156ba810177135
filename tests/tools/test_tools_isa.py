"""The ISA proposal: its pseudo-code, read out of the printed page, is the reference model; clauses, suites and links are there."""

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.whole import tries

from emu.base.errors import FileError
from emu.engines.exact import levels
from emu.engines.exact.block import quantize
from emu.engines.exact.convert import convert_code
from emu.engines.exact.flags import convert_flags
from emu.engines.exact.transform import transform_codes
from emu.ops.instruction import instruction
from emu.spec import get
from emu.spec.levels import resolve_levels
from emu.vectors.files.suite import Suite, load
from tools.isa import PAGE
from tools.isa.model import load as load_model
from tools.isa.model import model_text

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / PAGE).read_text(encoding="utf-8")
MODEL = load_model(model_text(TEXT))
SHAPES = {"fp32": (8, 23), "fp16": (5, 10), "bf16": (8, 7), "e4m3": (4, 3)}
ELEMENTS = {"e1m2": 0, "e0m3": 1, "int4": 2, "e2m1": 3}
SCALES = {"ue4m3": 0, "ue5m3": 1, "e8m0": 2}
MODES = {"rne": (0, 0), "rz": (1, 0), "sr_add16": (2, 16), "sr_add8": (2, 8), "rd": (3, 0), "ru": (4, 0), "rna": (5, 0)}
EXACT = 999
NARROW = ("e1m2", "e0m3", "int4")
Model = dict[str, Callable[..., Any]]


def draws(seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(seed))


# What differs between a model and the reference model: each yields one text for each difference.


def narrowing(model: Model, source: str, element: str, codes: Iterable[int], modes: Iterable[str] = MODES, seed: int = 1) -> Iterator[str]:
    """Conversions of source codes under every mode, with drawn random words; of E1M2 the flags too."""
    shape, draw = SHAPES[source], draws(seed)
    fmt, to, policy = get("format", source), get("format", element), get("policy", "nvidia")
    for x in codes:
        for rounding in modes:
            mode, bits = MODES[rounding]
            word = int(draw.integers(0, 1 << bits)) if bits else 0
            want = convert_code(x, fmt, to, get("rounding", rounding), policy, word if bits else None)
            got = model["narrow"](x, *shape, ELEMENTS[element], mode, bits, word)
            if got != want:
                yield f"narrow {source} {x:#x} to {element} {rounding} {word}: {got} is not {want}"
            if element == "e1m2":
                raised = convert_flags(x, fmt, to, get("rounding", rounding), "after", word if bits else None)
                if model["flags"](x, *shape, mode, bits, word) != raised:
                    yield f"flags {source} {x:#x} {rounding} {word}: not {raised}"


def boundaries(source: str) -> list[int]:
    """Both neighbours of every value of a grid, of every middle between two, and of powers of two, in both signs; and special values."""
    e, f = SHAPES[source]
    found = {0, 1, 2, (1 << f) - 1, 1 << f, MODEL["infinity"](e, f), MODEL["infinity"](e, f) - 1, MODEL["infinity"](e, f) + 1}
    found |= {MODEL["infinity"](e, f) + (1 << (f - 1)), (1 << (e + f)) - 1}
    for eighths in range(1, 81):
        for exp in (-3, -1, 0):
            code = MODEL["encode"](eighths, exp, e, f, MODEL["infinity"](e, f), 0)
            found |= {code - 1, code, code + 1}
    found |= {(field << f) + delta for field in range(1 << e) for delta in (0, 1)}
    return [code | s << (e + f) for code in sorted(found) for s in (0, 1) if code < 1 << (e + f)]


def widening(model: Model) -> Iterator[str]:
    """Every code of every element to every wider format."""
    for (name, element), (to, shape) in ((a, b) for a in ELEMENTS.items() for b in SHAPES.items()):
        for code in range(16):
            want = convert_code(code, get("format", name), get("format", to), get("rounding", "rne"), get("policy", "nvidia"))
            if model["widen"](code, element, *shape) != want:
                yield f"widen {name} {code:X} to {to}: not {want:#x}"


def drawn_row(draw: np.random.Generator, scale: str) -> tuple[list[int], list[int], list[int], list[int], int]:
    """One row of operands: dense, sparse or cancelling elements; scales near 1 or anywhere, sometimes NaN; any C."""
    top, one = {"ue4m3": (127, 0x38), "ue5m3": (255, 0x78), "e8m0": (255, 127)}[scale]

    def elements() -> list[int]:
        kind = int(draw.integers(0, 4))
        if kind == 3:
            half = [int(x) for x in draw.integers(0, 16, 32)]
            return half + [code ^ 8 for code in half]
        return [0 if kind == 1 and i >= 16 else int(x) for i, x in enumerate(draw.integers(0, 16, 64))]

    def scales() -> list[int]:
        kind = int(draw.integers(0, 8))
        low, high = ((0, top), (0, top + 1), (0, 24), (0, 8))[kind] if kind < 4 else (one - 9, one + 7)
        found = [int(x) for x in draw.integers(low, high, 4)]
        return found if draw.integers(0, 24) else [*found[:3], top]  # the last code is the NaN

    c = (0, 1 << 31, 0x7F800000, 0xFF800000, 0x7FC00001, int(draw.integers(0, 1 << 32)))[int(draw.integers(0, 6))]
    if draw.integers(0, 2):
        c = int(draw.integers(0, 2)) << 31 | (127 + int(draw.integers(-20, 20))) << 23 | int(draw.integers(0, 1 << 23))
    return elements(), elements(), scales(), scales(), c


def products(model: Model, rows: int, seed: int = 2) -> Iterator[str]:
    """Every pair of elements, scale and way of adding, on drawn rows."""
    draw = draws(seed)
    for (first, ea), (second, eb) in ((a, b) for a in ELEMENTS.items() for b in ELEMENTS.items()):
        for scale, name in ((x, y) for x in SCALES for y in ("ideal", "nv_like", "nv_like_exact")):
            plan = resolve_levels(name, first, second, scale, 16)
            align = plan.levels[-1].align
            places = (EXACT, 0) if align is None else (align.frac_bits, align.floor)
            for row in range(-len(BELOW), rows):
                a, b, sa, sb, c = drawn_row(draw, scale) if row >= 0 or scale != "e8m0" else BELOW[row]
                want = levels.dot(a, b, sa, sb, c, [], plan).code
                if model["dot"](a, b, ea, eb, sa, sb, SCALES[scale], c, *places) != want:
                    yield f"{plan.name}: {a} {b} {sa} {sb} {c:#x}: not {want:#x}"
        for block in (16, 32, 64):
            plan = resolve_levels("promote", first, second, "fp32", block)
            for _ in range(rows):
                a, b, _, _, c = drawn_row(draw, "ue4m3")
                sa, sb = ([number(draw) for _ in range(64 // block)] for _ in range(2))
                want = levels.dot(a, b, sa, sb, c, [], plan).code
                if model["promoted"](a, b, ea, eb, sa, sb, block, c) != want:
                    yield f"{plan.name}: {a} {b} {sa} {sb} {c:#x}: not {want:#x}"


ONES = [4 if i % 16 == 0 else 0 for i in range(64)]  # 1 in each group, in E1M2
NEARLY = [code | (8 if 0 < i < 32 and code else 0) for i, code in enumerate(ONES)]  # its second group is -1
BELOW = [  # sums in E8M0 that lie around the smallest number of binary32
    *((ONES, NEARLY, [0, 0, 0, 0], [105, 89, 0, 0], c) for c in (0, 1 << 31)),
    *((ONES, [code | 8 for code in ONES], [0, 0, 0, 0], [99, 0, 0, 0], c) for c in (0, 1 << 31)),
]


def number(draw: np.random.Generator) -> int:
    """A code of binary32: near 1, anywhere, or special."""
    kind = int(draw.integers(0, 12))
    if kind < 4:
        return (0, 1 << 31, 0x7F800000, int(draw.integers(0, 1 << 32)))[kind]
    return int(draw.integers(0, 2)) << 31 | (127 + int(draw.integers(-9, 9))) << 23 | int(draw.integers(0, 1 << 23))


def rotations(model: Model, rows: int, seed: int = 3) -> Iterator[str]:
    """Both rotations, and the three quantizers behind them, on drawn blocks of bfloat16."""
    draw, bf16 = draws(seed), get("format", "bf16")
    for i in range(rows):
        x, signs = [number(draw) >> 16 for _ in range(32)], int(draw.integers(0, 1 << 16))
        if i % 3:
            x = [code if (code >> 7) & 255 < 150 and code & 0x7FFF < 0x7F80 else code & 0x83FF for code in x]
        if i % 11 == 2:
            x = [code & 0x80FF for code in x]
        if i % 7 == 1:
            x = [code & 0x8000 for code in x]
        block = x[:16]
        fast = model["rotated_fast"]([code << 16 for code in block], signs)
        if fast != transform_codes(block, bf16, get("transform", "rht16_ufp4"), signs):
            yield f"rotated_fast {block} {signs:#x}"
        exact = [model["rotated_exact"](part, 0xD7E8) for part in (block, x[16:])]
        if exact != [transform_codes(part, bf16, get("transform", "rht16_te")) for part in (block, x[16:])]:
            yield f"rotated_exact {x}"
        tensor = max(number(draw) & 0x7FFFFFFF, 0) if i % 5 else 0
        for recipe, got, given, more in (
            ("ufp4", model["quantized_fp32"]([code << 16 for code in fast]), block, {"signs": signs}),
            ("nvufp4", model["quantized_ue4m3"]([code << 16 for code in exact[0]], tensor), exact[0], {"tensor_amax": tensor}),
            ("mxe1m2_floor", model["quantized_ue8m0"]([code << 16 for code in exact[0] + exact[1]]), exact[0] + exact[1], {}),
        ):
            found = quantize(get("recipe", recipe), [given], bf16, masked=True, **more)
            want = [found.levels["scale"][0][0], *found.codes[0]]
            if any(right not in (-1, own) for own, right in zip(got, want, strict=True)):
                yield f"{recipe} {given} {more}: {got} is not {want}"


# Rows of the suites that the page names


def lanes(value: int, column: Any) -> list[int]:
    return [(value >> (i * column.lane_bits)) & ((1 << column.lane_bits) - 1) for i in range(column.lanes)]


def replayed(model: Model, suite: Suite) -> Iterator[str]:
    """What the model makes of the rows of a suite; masked bits are not compared."""
    columns = {column.name: column for column in suite.layout.columns}
    before = 0
    for row in suite.rows:
        own = dict(zip(columns, row.values, strict=True))
        given = {name: lanes(value, columns[name]) if columns[name].lanes > 1 else value for name, value in own.items()}
        for name, got in results(model, suite, given, columns, before).items():
            if (got ^ own[name]) & own.get(f"m_{name}", -1):
                yield f"{suite.stem} {row.comment} {name}: {got:#x} is not {own[name]:#x}"
        before = own.get("d", 0)


def results(model: Model, suite: Suite, given: dict[str, Any], columns: dict[str, Any], before: int) -> dict[str, int]:
    """The results of one row by the model."""
    contract, op = suite.record["contract"]["name"].split("/"), suite.record["op"]
    if op == "decode":
        return {"fp32": model["widen"](given["code"], ELEMENTS[contract[1]], 8, 23)}
    if op == "convert":
        mode, bits = MODES[contract[2]]
        return {"y": model["narrow"](given["x"], *SHAPES[columns["x"].format], ELEMENTS[contract[1]], mode, bits, given.get("r", 0))}
    if op in ("dot", "accumulate"):
        a, b = (ELEMENTS[columns[name].format] for name in ("a", "b"))
        c = before if op == "accumulate" and not given["first"] else given["c"]
        if columns["sa"].format == "fp32":
            return {"d": model["promoted"](given["a"], given["b"], a, b, given["sa"], given["sb"], 16, c)}
        align = resolve_levels(contract[1], columns["a"].format, columns["b"].format, "ue4m3", 16).levels[-1].align
        assert align is not None
        return {"d": model["dot"](given["a"], given["b"], a, b, given["sa"], given["sb"], 0, c, align.frac_bits, align.floor)}
    if op == "transform":
        wide = [code << 16 for code in given["x"]]
        fast = contract[1] == "rht16_ufp4"
        return {"y": joined(model["rotated_fast"](wide, given["sgn"]) if fast else model["rotated_exact"](given["x"], given["sgn"]), 16)}
    if op == "quantize":
        return quantized(model, contract[1], columns["x"].format, given)
    return instructed(model, contract[1], given)


def quantized(model: Model, recipe: str, source: str, given: dict[str, Any]) -> dict[str, int]:
    block = [code if i < given["n_valid"] else 0 for i, code in enumerate(given["x"])]  # a short block is filled with zeros
    wide = [code << 16 for code in block] if source == "bf16" else block
    if recipe == "ufp4":
        scale, *codes = model["quantized_fp32"]([code << 16 for code in model["rotated_fast"](wide, 0)])
    elif recipe == "nvufp4":
        scale, *codes = model["quantized_ue4m3"](wide, given["ts"])
    else:
        scale, *codes = model["quantized_ue8m0"](wide)
    return {"scale": scale, "codes": joined(codes, 4)}


def instructed(model: Model, form: str, given: dict[str, Any]) -> dict[str, int]:
    if "rht16" in form:
        rotated = model["rotated_exact"](given["x"], 0xD7E8)
        scale, *codes = model["quantized_ue4m3"]([code << 16 for code in rotated], given["tensor_amax"])
        return {"scale": scale, "d": joined(codes, 4)}
    operands = [given[name] for name in "abef" if name in given]
    bits = 32 // len(operands) if "rbits" in given else 0
    return {"d": converted(model, operands, ELEMENTS["int4" if "s4x" in form else "e1m2"], given.get("rbits", 0), bits)}


def converted(model: Model, operands: list[int], element: int, words: int, bits: int) -> int:
    """The register of a conversion of some binary32 operands; bits: random bits of each, or 0 for rounding to nearest."""
    places = [len(operands) - 1 - i for i in range(len(operands))]  # the first operand is the highest element
    fields = [model["random_field"](words, k, bits) if bits else 0 for k in places]
    mode = 2 if bits else 0
    codes = [model["narrow"](x, 8, 23, element, mode, bits, word) for x, word in zip(operands, fields, strict=True)]
    return int(model["packed"](codes, len(codes)))


def registers(model: Model, rows: int, seed: int = 8) -> Iterator[str]:
    """Conversions of two and of four operands with their random bits, as the instructions do them."""
    draw = draws(seed)
    for form, count, element in (("e1m2x2", 2, 0), ("s4x2", 2, 2), ("e1m2x4", 4, 0)):
        executable = instruction(f"cvt.rs.satfinite.{form}.f32")
        for _ in range(rows):
            operands, words = [number(draw) for _ in range(count)], int(draw.integers(0, 1 << 32))
            want = int(executable(*operands, words, engine="exact"))
            if converted(model, operands, element, words, 32 // count) != want:
                yield f"cvt.rs {form} {operands} {words:#x}: not {want:#x}"


def joined(codes: list[int], bits: int) -> int:
    return sum(code << (i * bits) for i, code in enumerate(codes))


STEMS = re.findall(r"`(\w+__\w+)`", TEXT)


# Tests


@pytest.mark.parametrize("source", ["fp32", "fp16", "bf16"])
@pytest.mark.parametrize("element", NARROW)
def test_conversions_equal_the_reference_model_at_boundaries(source: str, element: str) -> None:
    assert list(narrowing(MODEL, source, element, boundaries(source)[:: 3 if element != "e1m2" else 2])) == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("element", NARROW)
def test_conversions_equal_the_reference_model_at_every_boundary_of_binary32(element: str) -> None:
    assert list(narrowing(MODEL, "fp32", element, boundaries("fp32"))) == []


@pytest.mark.cases(0, 3)
@pytest.mark.parametrize("source", ["fp16", "bf16"])
@pytest.mark.parametrize("element", NARROW)
def test_conversions_equal_the_reference_model_on_every_code(source: str, element: str) -> None:
    assert list(narrowing(MODEL, source, element, range(1 << 16), ("rne", "sr_add16"))) == []


@pytest.mark.exhaustive
def test_widening_products_and_rotations_equal_the_reference_model() -> None:
    assert list(widening(MODEL)) == []
    assert list(registers(MODEL, 30)) == []
    assert list(products(MODEL, 3)) == []
    assert list(rotations(MODEL, 60)) == []


@pytest.mark.exhaustive
def test_products_and_rotations_equal_the_reference_model_on_many_rows() -> None:
    assert list(products(MODEL, tries(5, 12), 5)) == []
    assert list(rotations(MODEL, tries(200, 500), 6)) == []


@pytest.mark.cases(9)
@pytest.mark.parametrize("stem", STEMS)
def test_rows_of_the_named_suites_come_out(stem: str) -> None:
    suite = load(ROOT / "vectors" / stem.partition("__")[0], stem)
    assert suite.rows
    assert list(replayed(MODEL, suite)) == []


FAULTS = {  # a line of the pseudo-code, and what it becomes
    "lost > half or (lost == half and whole & 1 == 1)": "lost >= half",
    "up = lost >= half": "up = lost > half",
    "lost > 0 and s == 1": "lost > 0 and s == 0",
    "+ word >= (1 << bits)": "+ word > (1 << bits)",
    "lowest = 2 - (1 << (e - 1)) - f": "lowest = 1 - (1 << (e - 1)) - f",
    "return min(code, top) + (s << (e + f))": "return code + (s << (e + f))",
    "return n - 8 if code > 7 else n": "return 0 - n if code > 7 else n",
    "n = n if n < 4 else": "n = n if n < 6 else",
    "return code == 127 if scale == UE4M3 else code == 255": "return code == 255",
    "        return 7\n": "        return 15 if sign(x, e, f) == 1 else 7\n",
    "(16 - min(n, 8)) & 15": "(16 - min(n, 7)) & 15",
    "return (s << 3) + min(n, 7)": "return 0 if n == 0 else (s << 3) + min(n, 7)",
    "if significand(c, 8, 23) != 0:": "if significand(c, 8, 23) > 0 - 1:",
    "live = live or units": "live = live and units",
    "return 0 if d == (1 << 31) else d": "return d",
    "RN if F == EXACT else RZ)": "RN)",
    "return NAN32 if n == 0 else INF32 + s": "return INF32 + s",
    "exponent(x, 8, 23) - exponent(y, 8, 23) - 61": "exponent(x, 8, 23) - exponent(y, 8, 23) - 60",
    "g * block + 16 * k)": "16 * k)",
    "return 0x7FFFFFFF if is_nan(d, 8, 23) else d": "return d",
    "add32(v[i - h], v[i] ^ (1 << 31))": "add32(v[i], v[i - h] ^ (1 << 31))",
    "0 - 126 - 7 - 2": "0 - 126 - 7 - 1",
    "if negatives == 16:": "if negatives == 17:",
    "scale = 0x3F800000 if unit == 0 else unit": "scale = unit",
    "or v[i] == (1 << 31) else": "else",
    "(1 << 22) if scale == 0": "(1 << 23) if scale == 0",
    "return 16 if (x >> (f - 1)) & 1 == 0 else 0": "return 16",
    "return 1 if carries and length(n) + shift == 2 else 2 + 1": "return 2 + 1",
    "(words >> (k * bits))": "(words >> ((k ^ 1) * bits))",
    "total = (total << 4) + codes[i]": "total = total + (codes[i] << (4 * i))",
}


@pytest.mark.cases(2, 14)
@pytest.mark.parametrize("line", FAULTS)
def test_a_fault_in_the_pseudo_code_is_noticed(line: str) -> None:
    text = model_text(TEXT)
    assert text.count(line) == 1, f"{line!r} stands {text.count(line)} times"
    model = load_model(text.replace(line, FAULTS[line]))
    assert next(differences(model), None)


def differences(model: Model) -> Iterator[str]:
    """What the tests of the default run compare, the quick ones first."""
    yield from widening(model)
    yield from registers(model, 30)
    for stem in STEMS:
        if stem.startswith(("insn", "transform", "quantize__bf16_to_nvufp4", "quantize__bf16_to_mxe1m2")):
            yield from replayed(model, load(ROOT / "vectors" / stem.partition("__")[0], stem))
    yield from narrowing(model, "fp32", "e1m2", boundaries("fp32"))
    yield from narrowing(model, "fp32", "int4", boundaries("fp32"))
    yield from rotations(model, 60)
    yield from products(model, 3)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("def f(x: int) -> int:\n    return x + 0.5\n", "not of the language: 0.5"),
        ("def f(x: int) -> bool:\n    return x\n", "x is int, not bool"),
        ("def f(x: int) -> int:\n    return open(x)\n", "not of the language"),
        ("def f(x: int) -> int:\n    while x > 0:\n        x = x - 1\n    return x\n", "not a statement"),
        ("def f(x) -> int:\n    return x\n", "no type"),
        ("import os\n", "neither a constant nor a function"),
        ("def f(x: int) -> int:\n    return x.bit_length()\n", "not of the language"),
        ("def f(x: list[int]) -> int:\n    return min(x, 1)\n", "x is list"),
    ],
)
def test_the_language_of_the_pseudo_code_is_small(text: str, why: str) -> None:
    with pytest.raises(FileError, match=re.escape(why)):
        load_model(text)


def clauses(text: str) -> list[str]:
    """Tags of the clauses of a page, as they come."""
    return re.findall(r"^- \*\*([A-Z]{2,3}-\d+)\*\* ", text, re.MULTILINE)


def test_clauses_are_numbered_once_and_those_referred_to_exist() -> None:
    found = clauses(TEXT)
    assert len(found) == len(set(found)) > 30
    for prefix in {tag.partition("-")[0] for tag in found}:
        numbers = [int(tag.partition("-")[2]) for tag in found if tag.startswith(prefix)]
        assert numbers == list(range(1, len(numbers) + 1)), prefix
    words = re.sub(r"```model.*?```", "", TEXT, flags=re.DOTALL)
    prefixes = "|".join(sorted({tag.partition("-")[0] for tag in found}))
    named = set(re.findall(rf"\b(?:{prefixes})-\d+\b", words))
    assert named - set(found) == set()
    questions = set(re.findall(r"^\| (Q\d+) \|", TEXT, re.MULTILINE))
    assert set(re.findall(r"\bQ\d+\b", TEXT)) == questions
    headings = set(re.findall(r"^#{2,3} ([\d.]+?)\.? ", TEXT, re.MULTILINE))
    assert set(re.findall(r"[Cc]lauses? (\d+(?:\.\d+)?)", TEXT)) <= headings


def test_shall_stands_in_clauses_alone_and_each_clause_has_one() -> None:
    lines = [line for line in TEXT.splitlines() if "*Shall* marks" not in line]
    for line in lines:
        assert bool(re.search(r"\bshall\b", line)) <= bool(clauses(line + "\n")), line
    wanting = [line for line in lines if clauses(line) and "shall" not in line]
    assert [line[:20] for line in wanting] == []


def test_every_function_that_a_clause_names_is_in_the_pseudo_code() -> None:
    named = {name for line in TEXT.splitlines() if clauses(line) for name in re.findall(r"`([a-z][a-z0-9_]+)`", line)}
    assert named - set(MODEL) <= {"bits", "altfmt", "sf128x4"}
    assert {"narrow", "widen", "dot", "promoted", "rotated_fast", "rotated_exact", "flags"} <= named
