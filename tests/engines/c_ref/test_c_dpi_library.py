"""Descriptor files in SystemVerilog: a user's objects by name through DPI-C, at every kind, and every refusal; C under the sanitizers."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from support.dpi_rows import ASKS, KINDS, mine, of_user, turned

from emu.engines.c_ref.descriptor_file import descriptor_text


@pytest.fixture(scope="module")
def descriptor(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("descriptor") / "mine.txt"
    path.write_text(descriptor_text(of_user()), encoding="ascii")
    return path


@pytest.fixture(scope="module")
def bench(checkout: Path, verilated: Callable[[Path], Path]) -> Path:
    return verilated(checkout / "tests/engines/c_ref/dpi_library_bench.sv")


def ask(bench: Path, *words: str) -> tuple[str, int, int, str]:
    """Verdict, rows that were asked, mismatches, all lines."""
    done = subprocess.run([str(bench), *words], capture_output=True, text=True)
    (found,) = re.findall(r"^RESULT (\w+) asked=(\d+) mismatch=(\d+)$", done.stdout, re.MULTILINE)
    return found[0], int(found[1]), int(found[2]), done.stdout


@pytest.mark.exhaustive
def test_objects_of_a_file_meet_rows_and_model_at_every_kind(bench: Path, descriptor: Path, tmp_path: Path) -> None:
    for kind, make in KINDS.items():
        lines = list(make())
        assert len(lines) > 30, kind
        rows = tmp_path / "rows.txt"
        rows.write_text("".join(f"{text}\n" for text in lines), encoding="ascii")
        verdict, asked, mismatch, out = ask(bench, f"+library={descriptor}", f"+rows={rows}")
        assert (verdict, asked, mismatch) == ("PASS", sum(ASKS[text.split()[0]] for text in lines), 0), (kind, out)
        for name in {text.split()[0] for text in lines}:  # one wrong bit in one row of each function is found
            rows.write_text("".join(f"{text}\n" for text in turned(lines, name)), encoding="ascii")
            verdict, _, mismatch, out = ask(bench, f"+library={descriptor}", f"+rows={rows}")
            assert verdict == "FAIL" and mismatch >= 1, (name, out)


FAULTS = {
    "nothing yet": (0, ""),
    "no path": (-1, "emu_dpi_open: no path: name a file that emu export descriptor wrote"),
    "no file": (-65, "none_such.txt: cannot be read"),
    "refused": (-16, "BROKEN:3: "),
    "never opened": (64, "handle: of no open library: give what emu_dpi_open returned, until emu_dpi_close"),
    "negative": (64, "handle: of no open library: "),
    "close nothing": (64, "handle: of no open library: "),
    "format": (15, "LIBRARY: none_such: no such name of a format, neither in this file nor in the shipped spec: "),
    "shipped alone": (15, "mine: no such name of a format, in the shipped spec: "),
    "kind": (15, "LIBRARY: rne: is the name of a rounding, not of a format"),
    "kind of the file": (15, "LIBRARY: my_layout: is the name of a layout, not of a recipe"),
    "empty": (15, "LIBRARY: (no name): no such name of a transform, "),
    "rounding": (15, "LIBRARY: e2m1: is the name of a format, not of a rounding"),
    "policy": (15, "LIBRARY: none_such: no such name of a policy for this destination, "),
    "code": (5, "e2m1: an operand has bits above the width of its codes"),
    "profile": (15, "LIBRARY: none_such: no such name of a profile of this recipe, "),
    "no profile": (15, "LIBRARY: (no name): no such name of a profile of this recipe, "),
    "columns": (11, "my_recipe: operands of another shape than the object takes"),
    "layout": (15, "LIBRARY: my_recipe: is the name of a recipe, not of a layout"),
    "place": (11, "my_layout: operands of another shape than the object takes"),
    "end": (11, "my_layout: operands of another shape than the object takes"),
    "datapath": (15, "LIBRARY: my_recipe: is the name of a recipe, not of a datapath"),
    "operands": (15, "LIBRARY: my_random/e2m1xe2m1: no such name of a datapath with these operands, "),
    "products": (11, "my_random: operands of another shape than the object takes"),
    "too many": (12, "my_random: too large for the packed vectors of "),
    "no datapath": (15, "(no name): no such name of a datapath, in the shipped spec: "),
    "closed": (64, "handle: of no open library: "),
    "closed twice": (64, "handle: of no open library: "),
    "taken again": (64, "handle: of no open library: "),
    "full": (-12, "OTHER: too many libraries are open: close one with emu_dpi_close"),
}


@pytest.mark.exhaustive
def test_what_is_wrong_is_one_number_and_one_line(bench: Path, descriptor: Path, tmp_path: Path) -> None:
    other, broken = tmp_path / "other.txt", tmp_path / "broken.txt"
    other.write_text(descriptor_text([mine("format", "e3m2", "mine", bias=4)]), encoding="ascii")
    broken.write_text(other.read_text(encoding="ascii").replace("format mine", "format Mine"), encoding="ascii")
    verdict, _, mismatch, out = ask(bench, f"+library={descriptor}", f"+other={other}", f"+broken={broken}")
    assert (verdict, mismatch) == ("PASS", 0), out
    found = re.findall(r"^FAULT (.+?) error=(-?\d+) line=(\d+) ?(.*)$", out, re.MULTILINE)
    said = {name: (int(code), int(at), text) for name, code, at, text in found}
    assert list(said) == list(FAULTS)
    for name, (code, wanted) in FAULTS.items():
        word, colon, rest = wanted.partition(":")
        text = {"LIBRARY": str(descriptor)[:160], "OTHER": str(other)[:160], "BROKEN": str(broken)[:160]}.get(word, word) + colon + rest
        assert said[name][0] == code and said[name][2].startswith(text) and bool(text) == bool(said[name][2]), (name, said[name])
        assert said[name][1] == (3 if name == "refused" else 0)
    one = {bias: struct.pack(">d", 2.0 ** (1 - bias - 2)).hex() for bias in (4, 5)}  # code 1: the smallest subnormal
    assert re.findall(r"^TWO error=(\d+) second=(\w+) first=(\w+)$", out, re.MULTILINE) == [("0", one[4], one[5])]
    assert ask(bench, f"+library={broken}")[0] == "FAIL"


@pytest.mark.exhaustive
def test_the_sanitizers_find_nothing(checkout: Path, descriptor: Path, tmp_path: Path) -> None:
    """Every place for a library taken, used, given back and taken again, and files that are refused at each of their lines."""
    if shutil.which("gcc") is None:
        pytest.skip("no gcc here (Debian: gcc)")
    files, lines = [], descriptor.read_text(encoding="ascii").splitlines(keepends=True)
    for number in range(0, len(lines), len(lines) // 40):
        files.append(tmp_path / f"{number}.txt")
        files[-1].write_text("".join([*lines[:number], "#", *lines[number:]])[: 1 << 16], encoding="ascii")
    small = tmp_path / "small.txt"
    small.write_text(descriptor_text([mine("datapath", "bf16_register_random", "my_random")]), encoding="ascii")
    sources = [*(checkout / "c_ref").glob("src/*/*.c"), *(checkout / "c_ref").glob("dpi/*.c")]
    sources += [checkout / "c_ref/tool/level_row.c", checkout / "c_ref/tool/read_text.c", Path(__file__).with_name("dpi_libraries.c")]
    words = ["gcc", "-std=c99", "-O0", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", "-fsanitize=address,undefined"]
    words += ["-fno-sanitize-recover=all", f"-I{checkout / 'c_ref'}", "-o", str(tmp_path / "run"), *map(str, sources)]
    built = subprocess.run(words, capture_output=True, text=True)
    assert (built.returncode, built.stderr) == (0, "")
    done = subprocess.run([str(tmp_path / "run"), str(small), *map(str, files)], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "fine\n", "")
