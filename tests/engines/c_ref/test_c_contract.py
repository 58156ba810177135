"""What the header promises: integers only, no state, warnings-clean C99 that C++ reads too, checked arguments, steps that compose."""

from __future__ import annotations

import ast
import re
import runpy
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emu.base.errors import OpenError, OperandError, SpecError
from emu.engines.c_ref import convert as native
from emu.engines.c_ref._c import ffi, lib
from emu.spec.registry import get

COMPILER = shutil.which("gcc") or shutil.which("cc")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C compiler here")
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"]


def without_comments(path: Path) -> str:
    return re.sub(r"/\*.*?\*/", " ", path.read_text(encoding="utf-8"), flags=re.DOTALL)


def build(checkout: Path, folder: Path, *command: str) -> None:
    done = subprocess.run([*command], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (checkout / "c_ref").is_dir()


def test_sources_hold_integers_only(checkout: Path) -> None:
    files = [checkout / "c_ref" / "emu_ref.h", *sorted((checkout / "c_ref" / "src").rglob("*.[ch]"))]
    assert len({path.name for path in files}) == len(files) >= 9  # object files may lie in one folder
    banned = r"\b(float|double|malloc|calloc|realloc|free|assert|errno|setjmp|math\.h|stdio\.h|stdlib\.h|fenv\.h)\b"
    for path in files:
        code = re.sub(r"^(?!#)(.*)$", lambda line: re.sub(r'"[^"]*"', '""', line[0]), without_comments(path), flags=re.MULTILINE)
        assert not re.search(banned, code), path.name
        assert path.name in ("tables.c", "emu_ref.h") or len(path.read_text(encoding="utf-8").splitlines()) <= 400, path.name


@pytest.mark.exhaustive  # compiles the reference
@needs_compiler
def test_compiles_clean_and_keeps_no_state(checkout: Path, tmp_path: Path) -> None:
    sources = sorted(str(path) for path in (checkout / "c_ref" / "src").glob("*/*.c"))
    assert COMPILER is not None
    fixed = "-fno-pie"  # else a const table of pointers is written once, by the loader
    one_form = "-DEMU_ONE_FORM"  # else the choice of a form asks libgcc what the processor has
    build(checkout, tmp_path, COMPILER, "-std=c99", "-O2", fixed, one_form, *WARNINGS, "-c", *sources)
    objects = sorted(tmp_path.glob("*.o"))
    listing = subprocess.run(["nm", *map(str, objects)], capture_output=True, text=True, check=True).stdout
    assert "emu_convert_code" in listing
    assert not re.findall(r"^\S+ [bBdDcCsSgG] \S+", listing, flags=re.MULTILINE)
    outside = set(re.findall(r"^\s+U (\S+)", listing, flags=re.MULTILINE))
    plain = {"memset", "memcpy", "memmove", "_GLOBAL_OFFSET_TABLE_", "__stack_chk_fail"}
    assert {name for name in outside if not name.startswith("emu_")} <= plain


@needs_compiler
def test_cplusplus_reads_the_header(checkout: Path, tmp_path: Path) -> None:
    compiler = shutil.which("g++") or shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler here")
    (tmp_path / "a.cpp").write_text('#include "emu_ref.h"\nint use(const emu_format *f) { return emu_check_format(f); }\n')
    build(checkout, tmp_path, compiler, "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{checkout / 'c_ref'}", "-c", "a.cpp")


@pytest.mark.exhaustive  # .ci/c-reference sanitizers does it for the whole reference
@needs_compiler
def test_a_c_program_runs_clean_under_the_sanitizers(checkout: Path, tmp_path: Path) -> None:
    sources = sorted(str(path) for path in (checkout / "c_ref" / "src").glob("*/*.c"))
    assert COMPILER is not None
    sanitize = ["-fsanitize=undefined,address", "-fno-sanitize-recover=all"]
    (tmp_path / "probe.c").write_text("int main(void) { return 0; }\n")
    probe = subprocess.run([COMPILER, *sanitize, "probe.c", "-o", "probe"], cwd=tmp_path, capture_output=True, text=True)
    if probe.returncode or subprocess.run(["./probe"], cwd=tmp_path).returncode:
        pytest.skip("the compiler has no sanitizers here")
    program = str(Path(__file__).parent / "sweep.c")
    include = f"-I{checkout / 'c_ref'}"
    build(checkout, tmp_path, COMPILER, "-std=c99", "-O1", "-g", *sanitize, *WARNINGS, include, program, *sources, "-o", "sweep")
    done = subprocess.run(["./sweep"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout.split()[0]) > 100000


def test_makefile_and_extension_use_the_same_flags(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(checkout)
    flags = runpy.run_path("c_ref/build.py")["FLAGS"]
    line = re.search(r"^CFLAGS = (.*)$", (checkout / "c_ref" / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert line is not None
    assert line[1].split() == flags


def test_typed_stub_lists_the_library(checkout: Path) -> None:
    tree = ast.parse((checkout / "emu" / "engines" / "c_ref" / "_c.pyi").read_text(encoding="utf-8"))
    library = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "_Lib")
    stated = {node.name for node in library.body if isinstance(node, ast.FunctionDef)}
    stated |= {node.target.id for node in library.body if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)}
    assert stated == {name for name in dir(lib) if not name.startswith("_")}


BAD_FORMATS: list[dict[str, Any]] = [
    {"format_class": 4},
    {"format_class": -1},
    {"exp_bits": 0},
    {"exp_bits": 16},
    {"frac_bits": -1},
    {"exp_bits": 15, "frac_bits": 62},
    {"has_sign": 2},
    {"subnormals": 2},
    {"subnormals": 0},
    {"neg_zero": 1, "has_sign": 0},
    {"bias": 1 << 21},
    {"inf": 3},
    {"nan": lib.EMU_NAN_IEEE},
    {"nan": lib.EMU_NAN_LIST},
    {"nan": lib.EMU_NAN_LIST, "nan_count": 17},
    {"nan": lib.EMU_NAN_LIST, "nan_count": 1, "nan_codes": [0x10]},
    {"unused_high_bits": 8},
    {"format_class": lib.EMU_INTEGER, "bits": 0},
    {"format_class": lib.EMU_INTEGER, "bits": 64},
    {"format_class": lib.EMU_INTEGER, "bits": 4, "integer_sign": 3},
    {"format_class": lib.EMU_EXPONENT, "bits": 17},
    {"format_class": lib.EMU_CODEBOOK, "bits": 9},
    {"format_class": lib.EMU_CODEBOOK, "bits": 1, "tie": 3},
    {"format_class": lib.EMU_CODEBOOK, "bits": 1, "values": [0, 1 << 61]},
    {"format_class": lib.EMU_CODEBOOK, "bits": 1, "values": [0, 1], "minus_zero_code": 1},
]


@pytest.mark.parametrize("change", BAD_FORMATS, ids=str)
def test_bad_formats_are_refused(c: Any, change: dict[str, Any]) -> None:
    facts = {"format_class": lib.EMU_FLOAT, "has_sign": 1, "exp_bits": 2, "frac_bits": 1, "bias": 1, "subnormals": 1, "neg_zero": 1}
    extra = {"values": [0, 1]} if change.get("format_class") == lib.EMU_CODEBOOK and "values" not in change else {}
    assert lib.emu_check_format(c.format(facts)) == 0
    bad = c.format({**facts, **extra, **change})
    assert lib.emu_check_format(bad) == lib.EMU_ERROR_FORMAT
    value = ffi.new("emu_value *", {"significand": 77})
    assert lib.emu_decode_code(bad, 0, value) == lib.EMU_ERROR_FORMAT
    assert value.significand == 77


def test_missing_pointers_are_refused(c: Any) -> None:
    e2m1, rne, policy = c.format("e2m1"), c.rounding("rne"), c.policy("saturate", (7, 7))
    code, null = ffi.new("uint64_t *"), ffi.NULL
    assert lib.emu_check_format(null) == lib.EMU_ERROR_NULL
    assert lib.emu_check_rounding(null, e2m1) == lib.EMU_ERROR_NULL
    assert lib.emu_check_policy(null, e2m1) == lib.EMU_ERROR_NULL
    assert lib.emu_decode_code(e2m1, 0, null) == lib.EMU_ERROR_NULL
    assert lib.emu_convert_code(e2m1, e2m1, rne, policy, 0, 0, code, null) == lib.EMU_ERROR_NULL
    assert lib.emu_convert_array(e2m1, e2m1, rne, policy, null, null, 0, code, null) == lib.EMU_ERROR_NULL
    assert lib.emu_split_words(null, null, 1, 1, 0, null) == lib.EMU_ERROR_NULL


@pytest.mark.parametrize(("word", "to"), [("inf", "e2m1"), ("ieee_inf", "e4m3"), ("nan", "e2m1"), ("ieee_nan", "int4")])
def test_policies_that_the_format_cannot_have(c: Any, word: str, to: str) -> None:
    assert lib.emu_check_policy(c.policy(word, (0, 0), overflow_nan=(0, 0)), c.format(to)) == lib.EMU_ERROR_POLICY


def test_policy_codes_fit_the_format(c: Any) -> None:
    e2m1 = c.format("e2m1")
    assert lib.emu_check_policy(c.policy("saturate", (15, 0)), e2m1) == 0
    assert lib.emu_check_policy(c.policy("saturate", (16, 0)), e2m1) == lib.EMU_ERROR_POLICY
    assert lib.emu_check_policy(c.policy("saturate", (None, 0)), e2m1) == lib.EMU_ERROR_POLICY
    assert lib.emu_check_policy(c.policy("ieee_nan", (127, 127)), c.format("e4m3")) == lib.EMU_ERROR_POLICY


def test_arrays_are_checked_before_anything_is_written(c: Any) -> None:
    e2m1, policy = c.format("e2m1"), c.policy("saturate", (7, 7))
    codes, out = ffi.new("uint8_t[]", [1, 2, 16]), ffi.new("uint8_t[]", [9, 9, 9])
    assert lib.emu_convert_array(e2m1, e2m1, c.rounding("rne"), policy, codes, ffi.NULL, 3, out, ffi.NULL) == lib.EMU_ERROR_CODE
    drawn = ffi.new("uint32_t[]", [0, 255, 256])
    for random, rounding in ((drawn, c.rounding("add", 8)), (ffi.NULL, c.rounding("add", 8)), (drawn, c.rounding("rne"))):
        assert lib.emu_convert_array(e2m1, e2m1, rounding, policy, codes, random, 2 + (random == drawn), out, ffi.NULL) != 0
    assert list(out) == [9, 9, 9]


def test_codes_take_the_smallest_whole_bytes(c: Any) -> None:
    names = {"e2m1": 1, "ue4m3": 1, "e8m0": 1, "int8": 1, "bf16": 2, "fp16": 2, "fp32": 4, "fp64": 8}
    assert {name: c.dtype(c.format(name)).itemsize for name in names} == names
    assert lib.emu_code_bytes(c.format("e2m1"), ffi.NULL) == lib.EMU_ERROR_NULL
    assert lib.emu_code_bytes(ffi.NULL, ffi.new("int32_t *")) == lib.EMU_ERROR_NULL


def test_arrays_lie_at_any_alignment(c: Any) -> None:
    codes = np.arange(1 << 16, dtype=np.uint32) << np.uint32(16)
    memory = np.zeros(4 * codes.size + 1, np.uint8)
    memory[1:] = codes.view(np.uint8)
    out, open_ = np.zeros(codes.size, np.uint8), np.zeros(codes.size, np.uint8)
    error = lib.emu_convert_array(
        c.format("fp32"),
        c.format("e2m1"),
        c.rounding("rne"),
        c.policy("saturate", ("open", "open")),
        ffi.from_buffer("char[]", memory[1:]),
        ffi.NULL,
        codes.size,
        ffi.from_buffer("char[]", out),
        ffi.from_buffer("char[]", open_),
    )
    assert error == 0
    assert (out.tolist(), open_.tolist()) == c.convert(codes, "fp32", "e2m1", "rne", c.policy("saturate", ("open", "open")))


@pytest.mark.parametrize("source", ["fp32", "bf16", "fp16", "fp64", "e5m2", "e4m3fnuz"])
def test_an_array_is_one_code_after_the_other(c: Any, source: str) -> None:
    """The loop for normal codes (normals.h) gives what the composed steps give, for every class of destination, mode and word."""
    origin, bits = c.format(source), 8 * c.dtype(c.format(source)).itemsize
    drawn = np.random.default_rng(20260606).integers(0, (1 << bits) - 1, 300, dtype=np.uint64)
    one = {"fp32": 0x3F800000, "bf16": 0x3F80, "fp16": 0x3C00, "fp64": 0x3FF0000000000000, "e5m2": 0x3C, "e4m3fnuz": 0x40}[source]
    near = [code | sign << (bits - 1) for code in range(max(0, one - 40), one + 41) for sign in (0, 1)]
    codes = np.unique(np.array([*drawn.tolist(), *near, 0, 1, (1 << bits) - 1, 1 << (bits - 1)], np.uint64) & np.uint64((1 << bits) - 1))
    compared = 0
    for to, words in (
        ("e2m1", ("saturate", "wrap")),
        ("e3m0", ("saturate", "wrap")),
        ("e4m3fnuz", ("nan", "saturate")),
        ("int4", ("saturate", "wrap")),
        ("e0m3", ("saturate", "wrap")),
        ("uint4", ("saturate",)),
        ("e8m0", ("saturate",)),
        ("int8", ("saturate",)),
        ("e5m2", ("ieee_inf", "inf", "ieee_nan")),
        ("fp16", ("ieee_inf",)),
        ("fp32", ("ieee_inf",)),
    ):
        for word in words:
            policy = c.policy(word, ("open", 1), overflow_nan=(1, "refused") if "nan" in word else None)
            for mode in ("rne", "rna", "rz", "ru", "rd", "odd"):
                single, opened, found = ffi.new("uint64_t *"), ffi.new("uint8_t *"), []
                target, how = c.format(to), c.rounding(mode)
                for code in codes.tolist():
                    assert lib.emu_convert_code(origin, target, how, policy, code, 0, single, opened) == 0
                    found.append((single[0], opened[0]))
                assert list(zip(*c.convert(codes, origin, target, how, policy), strict=True)) == found, (to, word, mode)
                compared += len(found)
    assert compared > 5000


def test_open_and_refused_without_a_mask(c: Any) -> None:
    fp32, e2m1, rne, out = c.format("fp32"), c.format("e2m1"), c.rounding("rne"), ffi.new("uint8_t[]", 2)
    codes = ffi.new("uint32_t[]", [0x3F800000, 0x7FC00000])
    for nan, error in (("open", lib.EMU_ERROR_OPEN), ("refused", lib.EMU_ERROR_REFUSED)):
        assert lib.emu_convert_array(fp32, e2m1, rne, c.policy("saturate", (nan, nan)), codes, ffi.NULL, 2, out, ffi.NULL) == error
        assert out[0] == 2


@pytest.mark.parametrize(
    "name", ["e2m1", "e1m2", "e3m0", "e2m3", "e4m3", "e5m2", "e4m3fnuz", "ue4m3", "ue5m3", "e6m2", "e8m0", "int4", "e0m3", "uint4"]
)
def test_encode_undoes_decode(c: Any, name: str) -> None:
    fmt, value, code = c.format(name), ffi.new("emu_value *"), ffi.new("uint64_t *")
    bits = next(width for width in range(1, 9) if lib.emu_decode_code(fmt, 1 << width, value) == lib.EMU_ERROR_CODE)
    found = 0
    for given in range(1 << bits):
        assert lib.emu_decode_code(fmt, given, value) == 0
        if value.value_class <= lib.EMU_INFINITE:
            assert lib.emu_encode_value(fmt, value, code) == 0
            assert code[0] == given
            found += 1
    assert found > 1 << (bits - 2)


def test_steps_compose_to_convert(c: Any) -> None:
    """convert is decode, round, overflow in this order, for finite codes of every class of value."""
    value, rounded, code, opened = ffi.new("emu_value *"), ffi.new("emu_rounded *"), ffi.new("uint64_t *"), ffi.new("uint8_t *")
    fp32, policy = c.format("fp32"), c.policy("saturate", ("open", "open"))
    codes = [0, 1, 0x80000001, 0x3E800000, 0x3F400000, 0xC0A00001, 0x40E00000, 0x7F7FFFFF, 0xFF7FFFFF, 0x00400000, 0x42FE0000]
    for to in ("e2m1", "e8m0", "int4", "e4m3fnuz", "ue5m3"):
        for mode in ("rne", "rz", "ru", "rd", "odd", "rna"):
            whole, _ = c.convert(codes, "fp32", to, mode, policy)
            for given, expected in zip(codes, whole, strict=True):
                assert lib.emu_decode_code(fp32, given, value) == 0
                assert lib.emu_round_value(c.format(to), c.rounding(mode), value, 0, rounded) == 0
                assert lib.emu_overflow_magnitude(c.format(to), c.rounding(mode), policy, value.sign, rounded, code, opened) == 0
                assert (code[0], opened[0]) == (expected, 0)


def test_round_has_no_maximum(c: Any) -> None:
    value, rounded = ffi.new("emu_value *", {"value_class": lib.EMU_NORMAL, "significand": 7}), ffi.new("emu_rounded *")
    assert lib.emu_round_value(c.format("e2m1"), c.rounding("rne"), value, 0, rounded) == 0
    assert (rounded.magnitude, rounded.inexact) == (8, 1)
    assert lib.emu_round_value(c.format("e2m1"), c.rounding("rne"), value, 1, rounded) == lib.EMU_ERROR_RANDOM


@pytest.mark.parametrize(
    ("to", "bits", "code"),
    [
        ("e2m1", 0x41000000, 0x8),  # 8.0: the magnitude runs into the sign bit
        ("e2m1", 0xC1000000, 0x8),
        ("e2m1", 0x41400000, 0x9),
        ("e2m1", 0x40C00000, 0x7),
        ("e2m1", 0xC0C00000, 0xF),
        ("int4", 0x41000000, 0x8),
        ("int4", 0xC1100000, 0x7),
        ("int4", 0x42C80000, 0x4),
        ("e0m3", 0x41000000, 0x8),
        ("e2m1", 0x7F800000, 0x7),
    ],
)
def test_wrap_keeps_low_bits(c: Any, to: str, bits: int, code: int) -> None:
    assert c.convert([bits], "fp32", to, "rne", c.policy("wrap", (0, 0)))[0] == [code]


def test_binding_takes_any_shape_and_says_what_is_wrong() -> None:
    fp32, e2m1, rne = get("format", "fp32"), get("format", "e2m1"), get("rounding", "rne")
    policy = get("policy", "nvidia")
    bits = np.array([[0x3F800000, 0x40000000, 0x40C00000], [0xBF800000, 0x80000000, 0x7FC00000]], np.uint32)
    got = native.convert(bits.T, fp32, e2m1, rne, policy)
    assert got.dtype == np.uint8
    assert got.tolist() == [[2, 10], [4, 8], [7, 7]]
    assert native.convert(bits[:0], fp32, e2m1, rne, policy).shape == (0, 3)
    assert native.decode_to(np.array([1, 15], np.uint8), e2m1, fp32).tolist() == [0x3F000000, 0xC0C00000]
    faults: list[tuple[Any, Any, type[Exception]]] = [
        (bits.astype(np.float32), None, OperandError),
        (bits.astype(np.int64), None, OperandError),
        (np.array([1 << 33], np.uint64), None, OperandError),
        (bits, bits, OperandError),
    ]
    for codes, random, error in faults:
        with pytest.raises(error):
            native.convert(codes, fp32, e2m1, rne, policy, random)
    with pytest.raises(OperandError):
        native.convert(bits, fp32, e2m1, get("rounding", "sr_add8"), policy)
    with pytest.raises(OperandError):
        native.convert(bits, fp32, e2m1, get("rounding", "sr_add8"), policy, np.full(6, 256, np.uint32))
    with pytest.raises(OperandError):
        native.decode_to(np.array([0x3F800001], np.uint32), fp32, e2m1)
    with pytest.raises(OpenError):
        native.decode_to(np.array([0x80], np.uint8), get("format", "ue4m3"), fp32)
    assert issubclass(OpenError, SpecError)
