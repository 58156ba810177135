"""The benches in the style of UVM: the C reference behind DPI is their model, of the shipped spec and of a user's own datapath."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from emu.cli.examples.run import faults
from emu.cli.main import run as run_cli
from emu.spec import get

Judge = Callable[..., tuple[bool, str, str]]


@pytest.fixture
def judged(kit: Path, tmp_path: Path, need: Callable[..., None], c_reference: Path) -> Judge:
    """A function of a name, a bench, texts of the design, plusargs: whether the run passes, its RESULT line, all that it printed."""
    need("verilator", "g++", "make")

    def judge(name: str, bench: str, sources: tuple[str, ...], *words: str) -> tuple[bool, str, str]:
        folder = tmp_path / name
        if not (folder / "Vbench").is_file():
            folder.mkdir()
            designs = [folder / f"design{number}.sv" for number in range(len(sources))]
            for path, text in zip(designs, sources, strict=True):
                path.write_text(text)
            command = ["verilator", "--binary", "--timing", "-fno-life", "-Wno-fatal", "-Wno-lint", "--top-module", "bench"]
            command += ["--Mdir", str(folder), "-CFLAGS", "-O0", str(c_reference / "dpi/emu_ref_pkg.sv")]
            command += [str(kit / "dpi/scoreboard_pkg.sv"), str(kit / f"dpi/{bench}.sv"), *map(str, designs)]
            built = subprocess.run([*command, str(c_reference / "libemu_dpi.a")], capture_output=True, text=True, check=False)
            assert built.returncode == 0, built.stdout + built.stderr
        done = subprocess.run([str(folder / "Vbench"), *words], capture_output=True, text=True, check=False)
        lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
        assert len(lines) < 2
        return done.returncode == 0, "".join(lines), done.stdout

    return judge


@pytest.mark.cases(0, 0)  # compiles the reference into a simulator
def test_a_converter_with_ready_ports(kit: Path, judged: Judge) -> None:
    arithmetic = (kit / "examples" / "e2m1_nearest.sv").read_text()
    pressed = (kit / "examples" / "pressed.sv").read_text()
    dropped = pressed.replace("assign in_ready = !first_valid || first_moves;", "assign in_ready = 1'b1;")
    wrong = arithmetic.replace("size >= 15'h4060", "size > 15'h4060")
    right = (arithmetic, pressed)
    passed, line, _ = judged("right", "scoreboard", right, "+n=5000", "+seed=3")
    assert passed and "RESULT PASS reason=none" in line and "compared=5000 mismatch=0" in line
    passed, line, _ = judged("right", "scoreboard", right, "+n=5000", "+flip=100")
    assert not passed and "RESULT FAIL reason=mismatch" in line and "mismatch=1 " in line
    assert not judged("wrong", "scoreboard", (wrong, pressed), "+n=5000")[0]
    passed, line, _ = judged("dropped", "scoreboard", (arithmetic, dropped), "+n=5000")
    assert not passed and "reason=count" in line


@pytest.mark.exhaustive  # compiles the reference into a simulator
def test_a_datapath_of_your_own_is_the_model(kit: Path, judged: Judge, tmp_path: Path) -> None:
    register = (kit / "rtl" / "running_float.sv").read_text()
    mine = kit / "examples" / "spec" / "my_register.txt"
    words = (f"+descriptor={mine}", "+datapath=my_register", "+n=20000")
    passed, line, _ = judged("right", "scoreboard_dot", (register,), *words, "+seed=3")
    assert passed and "RESULT PASS reason=none" in line and "compared=20000 mismatch=0" in line
    passed, line, out = judged("right", "scoreboard_dot", (register,), *words, "+flip=1234")
    assert not passed and "RESULT FAIL reason=mismatch" in line and "mismatch=1 " in line and "tc=1234 " in out
    faults = (
        ("first ? c : d;", "first ? {BITS{1'b0}} : d;"),
        ("{1'b0, random};", "{1'b0, ~random};"),
        ("out_valid <= in_valid && !rst;", "out_valid <= in_valid && !rst && !first && random != 8'd3;"),
    )
    for number, (old, new) in enumerate(faults):
        assert register.count(old) == 1
        passed, line, _ = judged(f"wrong{number}", "scoreboard_dot", (register.replace(old, new),), *words)
        assert not passed and "RESULT FAIL " in line
    for name, said in (
        ("none_such.txt", "bench: none_such.txt: cannot be read"),
        (str(mine), f"bench: {mine}: your_register: no such name of a datapath"),
    ):
        passed, line, out = judged("right", "scoreboard_dot", (register,), f"+descriptor={name}", "+datapath=your_register")
        assert not passed and line == "" and said in out
    other = tmp_path / "other.txt"
    assert run_cli(["export", "descriptor", "datapath/bf16_register", "-o", str(other)]) == 0
    passed, line, out = judged("right", "scoreboard_dot", (register,), f"+descriptor={other}", "+datapath=bf16_register")
    assert not passed and line == "" and "bf16_register: 0 random integers of 0 bits for 4 products" in out


def test_the_descriptor_of_the_example_is_what_its_spec_says(kit: Path, tmp_path: Path) -> None:
    folder, out = kit / "examples" / "spec", tmp_path / "made.txt"
    assert run_cli(["export", "descriptor", "--spec", str(folder), "datapath/my_register", "-o", str(out)]) == 0
    assert out.read_bytes() == (folder / "my_register.txt").read_bytes(), "emu export descriptor: write examples/spec/my_register.txt again"
    held = list(faults(get("datapath", "my_register")))
    assert held and all(fault is None for _, fault in held)  # the command loaded it; its worked examples
