"""c_ref/README.md: its program compiles and prints, its console lines print what they say, its SystemVerilog runs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from support.golden import levels_stems, series_stems

from emu.cli.main import run as run_cli


@pytest.fixture
def folder(c_reference: Path, tmp_path: Path) -> Path:
    """A copy of the built c_ref, beside the vectors."""
    return Path(shutil.copytree(c_reference.parent, tmp_path / "copy", symlinks=True)) / c_reference.name


def run(words: list[str], folder: Path) -> str:
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def blocks(folder: Path, kind: str) -> list[str]:
    found = re.findall(rf"```{kind}\n(.*?)```", (folder / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert found
    return found


def test_the_programs_print_what_they_say(folder: Path) -> None:
    traced = (folder / "README.md").read_text(encoding="utf-8").partition("It prints\n```\n")[2].partition("```")[0]
    for text, wanted in zip(blocks(folder, "c"), ("2.5 -> 4\n", "E 1, sum c00000000, 1 + 2 = 40400000\n", traced), strict=True):
        (folder / "hello.c").write_text(text)
        run(["gcc", "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "hello.c", "libemu_ref.a", "-o", "hello"], folder)
        assert run(["./hello"], folder) == wanted


def test_a_cplusplus_program_links(folder: Path) -> None:
    if shutil.which("g++") is None:
        pytest.skip("no g++ here")
    lines = ['#include "dpi/emu_dpi.h"', "int main() {", "  uint64_t code = 0;", "  uint8_t open = 1;", "  const emu_program *found;"]
    lines += ['  found = emu_find_program("nvfp4_te_ref", nullptr);', "  if (emu_check_program(found)) return 1;"]
    lines += ['  return emu_dpi_convert("bf16", "e2m1", "rne", "nvidia", 0x4020, 0, &code, &open) || code != 4 || open;', "}"]
    (folder / "hello.cpp").write_text("\n".join(lines) + "\n")
    run(["g++", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "hello.cpp", "libemu_dpi.a", "-o", "hello_cpp"], folder)
    run(["./hello_cpp"], folder)


def test_console_lines_print_what_they_say(folder: Path) -> None:
    for block in blocks(folder, "console"):
        command, _, wanted = block.removeprefix("$ ").partition("\n")
        pattern = re.escape(wanted).replace("@", "[0-9a-f]{64}")
        assert re.fullmatch(pattern, run(["bash", "-c", command], folder)), command


def test_make_test_passes_every_vector(folder: Path) -> None:
    vectors = folder.parent / "vectors"
    stems = [path.stem for path in vectors.glob("*/*.desc")]
    left_out = levels_stems(vectors, stems) | series_stems(vectors, stems)
    said = run(["make", "-s", "test"], folder).splitlines()
    assert sorted(said) == sorted(f"not known: ../vectors/{stem.partition('__')[0]}/{stem}.desc" for stem in left_out) and said
    broken = folder.parent / "vectors_broken/convert"
    broken.mkdir(parents=True)
    stem = "convert__bf16_to_e2m1__nvidia_rne__smoke"
    for ending in (".desc", ".tv"):
        text = (folder.parent / f"vectors/convert/{stem}{ending}").read_text()
        (broken / f"{stem}{ending}").write_text(text.replace(" f\n", " 7\n", 1) if ending == ".tv" else text)
    done = subprocess.run(["make", "-s", "test", "VECTORS=../vectors_broken"], cwd=folder, capture_output=True, text=True)
    assert done.returncode != 0
    assert f"{stem}.desc" in done.stdout


@pytest.mark.exhaustive  # compiles the reference
def test_the_modules_print_what_they_say(folder: Path) -> None:
    if shutil.which("verilator") is None or shutil.which("g++") is None:
        pytest.skip("no verilator or no g++ here (Debian: verilator g++)")
    hello, mine = blocks(folder, "systemverilog")
    (folder / "hello.sv").write_text(hello)
    (command,) = [line for line in (folder / "README.md").read_text().splitlines() if line.startswith("verilator ")]
    assert "2.5 -> 4\n" in run(["bash", "-c", command], folder)
    (folder / "mine.sv").write_text(mine)
    export = re.search(r"// emu (export descriptor .*)", mine)
    assert export is not None and run_cli([*export[1].split()[:-1], str(folder / "register.txt")]) == 0
    said = run(["bash", "-c", command.replace("hello", "mine")], folder)
    assert "4 products, 4 random integers of 8 bits\n" in said and "1 + 2^-8 = 3f81\n" in said
