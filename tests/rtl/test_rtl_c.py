"""The C example of the kit: golden rows against a C function without Python, own stimuli through emu_ref, and a Verilated model."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from emu_rows import Suite, read_suite
from support.golden import recounted

from emu.rtl.simulate.units import read_units

STRICT = ["gcc", "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", "-O0"]
STEM = "convert__bf16_to_e2m1__nvidia_rne__directed"
TABLES = (
    "decode__e4m3_to_fp32__exact__all",
    "dot__e1m2xe1m2_ue4m3_to_fp32__nv_like_b16__smoke",
    "quantize__bf16_to_ufp4__ufp4_sr__smoke",
    "dequantize__nvfp4_to_fp32__nvfp4_te_ref_te__smoke",
)


def compiled(kit: Path, out: Path, *sources: Path) -> Path:
    if shutil.which("gcc") is None:
        pytest.skip("no gcc here (Debian: apt-get install gcc)")
    done = subprocess.run([*STRICT, f"-I{kit / 'c'}", *map(str, sources), "-o", str(out)], capture_output=True, text=True)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    return out


def check(program: Path, *words: str | Path) -> tuple[int, list[str], str]:
    """Exit code, lines on stdout, text on stderr."""
    done = subprocess.run([str(program), *map(str, words)], capture_output=True, text=True)
    return done.returncode, done.stdout.splitlines(), done.stderr


@pytest.fixture(scope="module")
def checker(kit: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """check_rows with the example converter."""
    sources = [kit / "c" / name for name in ("check_rows.c", "emu_rows.c", "my_convert.c")]
    return compiled(kit, tmp_path_factory.mktemp("c") / "check_rows", *sources)


@pytest.fixture
def copy(checkout: Path, tmp_path: Path) -> Path:
    """A suite in a folder of its own, named without ending."""
    for path in (checkout / "vectors/convert").glob(f"{STEM}.*"):
        shutil.copy(path, tmp_path)
    return tmp_path / STEM


def tail(suite: Suite) -> str:
    return f"suite={suite.stem} rows_sha256={suite.rows_sha256}"


def test_the_example_passes_its_rows(checkout: Path, checker: Path) -> None:
    suite = read_suite(checkout / "vectors/convert" / f"{STEM}.tv")
    expected = f"RESULT PASS reason=none {tail(suite)} compared={len(suite.rows)} mismatch=0 x=0 masked=0"
    assert check(checker, checkout / "vectors/convert" / STEM) == (0, [expected], "")


def words_of(value: int) -> str:
    parts = [value >> (32 * word) & 0xFFFFFFFF for word in range(max(1, -(-value.bit_length() // 32)))]
    return "{{" + ", ".join(f"0x{part:x}u" for part in parts) + "}}"


def table(suite: Suite, name: str, answers: list[dict[str, int]]) -> str:
    """C source of a function that answers a suite's inputs from a table, in order of the rows."""
    ins, outs = len(suite.rows[0].inputs), len(answers[0])
    rows = [
        "  {{" + ", ".join(map(words_of, row.inputs.values())) + "}, {" + ", ".join(map(words_of, got.values())) + "}},"
        for row, got in zip(suite.rows, answers, strict=True)
    ]
    return "\n".join(
        [
            '#include "emu_rows.h"',
            "#include <string.h>",
            f"static const struct {{ emu_bits in[{ins}], out[{outs}]; }} {name}[] = {{",
            *rows,
            "};",
            "void dut(const emu_bits *in, emu_bits *out)",
            "{",
            f"    for (unsigned row = 0; row < {len(rows)}; row++)",
            f"        if (memcmp(in, {name}[row].in, sizeof {name}[row].in) == 0)",
            f"            memcpy(out, {name}[row].out, sizeof {name}[row].out);",
            "}",
        ]
    )


@pytest.mark.parametrize("stem", TABLES)
def test_wide_columns_masks_and_free_nans_in_every_operation(checkout: Path, kit: Path, tmp_path: Path, stem: str) -> None:
    suite = read_suite(checkout / "vectors" / stem.partition("__")[0] / f"{stem}.tv")
    right = [dict(row.expected) for row in suite.rows]
    for row, got in zip(suite.rows, right, strict=True):  # every bit that nobody compares the other way round, every free NaN another one
        for name, mask in row.masks.items():
            width = next(column.bits for column in suite.columns if column.name == name)
            got[name] ^= ~mask & ((1 << width) - 1)
            for lane in range(width // 32 if row.kinds.get(name) else 0):
                got[name] ^= (row.kinds[name] >> (4 * lane) & 1) << (32 * lane)
    wrong = [dict(got) for got in right]
    number, name = next((number, name) for number, row in enumerate(suite.rows) for name, mask in row.masks.items() if number > 7 and mask)
    wrong[number][name] ^= suite.rows[number].masks[name] & -suite.rows[number].masks[name]
    same = [other.inputs for other in suite.rows].count(suite.rows[number].inputs)
    masked = sum(not any(row.masks.values()) for row in suite.rows)
    for answers, code, verdict in ((right, 0, "PASS reason=none"), (wrong, 1, "FAIL reason=mismatch")):
        (tmp_path / "dut.c").write_text(table(suite, "known", answers))
        program = compiled(kit, tmp_path / "check", kit / "c/check_rows.c", kit / "c/emu_rows.c", tmp_path / "dut.c")
        found, lines, errors = check(program, checkout / "vectors" / stem.partition("__")[0] / stem)
        counts = f"compared={len(suite.rows) - masked} mismatch={code * same} x=0 masked={masked}"
        assert (found, lines[-1]) == (code, f"RESULT {verdict} {tail(suite)} {counts}"), errors
        assert len(lines) == 1 + code * min(3, same)
    assert lines[0].startswith(f"MISMATCH suite={stem} tc={number + 1} out={name} in=")
    assert lines[0].split(" in=")[1].count(",") == len(suite.rows[0].inputs) - 1


DEFECTS = {
    "trailer gone": (".tv", lambda text: text[: text.index("\ne ") + 1], 2, "BADFILE reason=guard"),
    "cut inside a line": (".tv", lambda text: text[:-1], 2, "BADFILE reason=guard"),
    "a row gone": (".tv", lambda text: text.split("\n", 1)[1], 2, "BADFILE reason=count"),
    "shorter file": (".tv", lambda text: recounted(text.split("\n", 1)[1], -1), 2, "BADFILE reason=count"),
    "something after the trailer": (".tv", lambda text: text + "a 0000 0 f\n", 2, "BADFILE reason=count"),
    "empty": (".tv", lambda text: "", 2, "BADFILE reason=guard"),
    "only a trailer": (".tv", lambda text: "e 0000 0 0\n", 2, "BADFILE reason=count"),
    "x digit": (".tv", lambda text: text.replace("a ffbf 7 f", "a ffbf x f"), 2, "BADFILE reason=guard"),
    "upper case": (".tv", lambda text: text.replace("a ffbf 7 f", "a FFBF 7 f"), 2, "BADFILE reason=guard"),
    "digit too many": (".tv", lambda text: text.replace("a ffbf 7 f", "a 0ffbf 7 f"), 2, "BADFILE reason=guard"),
    "digit too few": (".tv", lambda text: text.replace("a ffbf 7 f", "a fbf 7 f"), 2, "BADFILE reason=guard"),
    "guard": (".tv", lambda text: text.replace("a ffbf 7 f", "b ffbf 7 f"), 2, "BADFILE reason=guard"),
    "carriage return": (".tv", lambda text: text.replace("\n", "\r\n"), 2, "BADFILE reason=guard"),
    "wrong row": (".tv", lambda text: text.replace("a ffbf 7 f", "a ffbf 6 f"), 1, "FAIL reason=mismatch"),
    "all open": (".tv", lambda text: text.replace(" f\n", " 0\n"), 3, "BADFILE reason=count"),
    "self-test without a flipped bit": (".neg.mem", lambda text: text.replace("a_0000_1_f", "a_0000_0_f"), 2, "PASS reason=none"),
    "self-test cut": (".neg.mem", lambda text: text[:-1], 2, "PASS reason=none"),
}


@pytest.mark.parametrize("name", DEFECTS)
def test_a_defect_never_passes(copy: Path, checker: Path, name: str) -> None:
    ending, change, code, verdict = DEFECTS[name]
    path = copy.with_name(STEM + ending)
    text = path.read_text()
    assert change(text) != text
    path.write_bytes(change(text).encode())
    found, lines, errors = check(checker, copy)
    assert (found, lines[-1].split(" suite=")[0]) == (code, f"RESULT {verdict}")
    assert bool(errors) == (code == 2 and name not in ("shorter file", "only a trailer"))


def test_misuse_ends_with_two_and_one_line(copy: Path, checker: Path) -> None:
    assert check(checker)[0] == check(checker, "1", "2")[0] == 2
    assert check(checker, copy.with_name("none"))[2].count("\n") == 1
    desc = copy.with_name(STEM + ".desc")
    text = desc.read_text()
    for old, new in (
        ("\nrows ", "\nrow "),
        ("col y out 4 1", "col y out 4 2"),
        ("col m_y", "col m_z"),
        ("out 4", "in 4"),
        (" guard 4", " x 4"),
    ):
        assert old in text
        desc.write_text(text.replace(old, new))
        code, lines, errors = check(checker, copy)
        assert (code, lines, errors.count("\n")) == (2, [], 1), old


@pytest.mark.exhaustive
def test_own_stimuli_go_through_the_reference(kit: Path, copy: Path, checker: Path, c_reference: Path, tmp_path: Path) -> None:
    stimuli = compiled(kit, tmp_path / "stimuli", kit / "c/stimuli.c")
    own = subprocess.run([str(stimuli), "3000", "1"], capture_output=True, text=True).stdout
    assert len(set(own.split())) > 2000
    words = [str(c_reference / "emu_ref"), "fill", "convert/e2m1/rne/nvidia", "--source", "bf16"]
    filled = subprocess.run(words, input=own, capture_output=True, text=True)
    assert filled.returncode == 0, filled.stderr
    (tmp_path / "own.tv").write_text(filled.stdout)
    code, lines, _ = check(checker, f"{copy}.desc", tmp_path / "own.tv", "3000")
    assert (code, lines) == (0, [f"RESULT PASS reason=none suite={STEM} rows_sha256=- compared=3000 mismatch=0 x=0 masked=0"])
    assert check(checker, f"{copy}.desc", tmp_path / "own.tv", "2999")[0] == 2
    (tmp_path / "own.tv").write_text(filled.stdout.replace(" 7 f\n", " 6 f\n", 1))
    assert check(checker, f"{copy}.desc", tmp_path / "own.tv", "3000")[0] == 1
    assert check(stimuli, "0", "1")[0] == check(stimuli)[0] == 2


@pytest.mark.exhaustive
def test_a_verilated_model_takes_the_place_of_the_function(checkout: Path, kit: Path, need: Callable[..., None], tmp_path: Path) -> None:
    need("verilator", "g++", "make")
    unit = read_units(kit)["convert_bf16_e2m1_rne"]
    words = [
        "verilator",
        "--cc",
        "--exe",
        "--build",
        "-O0",
        "-Wno-fatal",
        "-Wno-lint",
        "--top-module",
        "dut",
        "--Mdir",
        str(tmp_path),
        "-o",
        "check",
    ]
    words += ["-CFLAGS", f"-O0 -I{kit / 'c'}", *(f"-D{name}={value}" for name, value in unit.defines.items()), *map(str, unit.sources)]
    done = subprocess.run(
        [*words, *(str(kit / "c" / name) for name in ("check_rows.c", "emu_rows.c", "model.cpp"))], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    code, lines, _ = check(tmp_path / "check", checkout / "vectors/convert" / STEM)
    assert (code, lines[0].split(" suite=")[0]) == (0, "RESULT PASS reason=none")
    other = checkout / "vectors/convert/convert__bf16_to_e2m1__nvidia_rz__directed"
    code, lines, _ = check(tmp_path / "check", other)
    assert (code, lines[-1].split(" suite=")[0]) == (1, "RESULT FAIL reason=mismatch")
