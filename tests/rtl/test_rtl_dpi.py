"""The constrained-random benches of the kit: the C reference by name through DPI-C is the scoreboard of designs under Verilator."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from emu.rtl.simulate.units import Unit, read_units

CONVERT = "convert__bf16_to_e2m1__nvidia_rne__directed"
RANDOM = "convert__bf16_to_e2m1__nvidia_sr_add8__directed"
DOT = "dot__e1m2xe1m2_ue4m3_to_fp32__nv_like_b16__smoke"
LINE = re.compile(r"RESULT (\w+ reason=\w+) suite=(\w+) rows_sha256=random compared=(\d+) mismatch=(\d+) x=(\d+) masked=(\d+)")


@pytest.fixture
def build(kit: Path, need: Callable[..., None], tmp_path: Path, c_reference: Path) -> Callable[[str, Path, Unit], Path]:
    """A function of bench, suite and unit: the simulation."""
    need("verilator", "g++", "make")

    def compiled(bench: str, suite: Path, unit: Unit) -> Path:
        words = [
            "verilator",
            "--binary",
            "--timing",
            "-fno-life",
            "-Wno-fatal",
            "-Wno-lint",
            "--top-module",
            "bench",
            "--Mdir",
            str(tmp_path),
        ]
        words += ["-CFLAGS", "-O0", f"-I{kit / 'dpi'}", f"-I{kit}", *(f"-D{name}={value}" for name, value in unit.defines.items())]
        words += [f"{suite}.svh", str(c_reference / "dpi/emu_ref_pkg.sv"), str(kit / f"dpi/{bench}.sv"), *map(str, unit.sources)]
        done = subprocess.run([*words, str(c_reference / "libemu_dpi.a")], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return tmp_path / "Vbench"

    return compiled


def simulate(program: Path, *words: str) -> tuple[str, list[int], list[str], int]:
    """Verdict, counts (compared, mismatch, x, masked), all lines, exit code."""
    done = subprocess.run([str(program), *words], capture_output=True, text=True)
    lines = done.stdout.splitlines()
    (result,) = [line for line in lines if line.startswith("RESULT ")]
    found = LINE.fullmatch(result)
    assert found is not None, result
    return found[1], [int(found[group]) for group in range(3, 7)], lines, done.returncode


@pytest.mark.exhaustive  # compiles the reference into a simulator
def test_a_converter_meets_the_reference_on_random_codes(kit: Path, build: Callable[..., Path], frozen: Callable[[str], Path]) -> None:
    program = build("convert_random", frozen(CONVERT), read_units(kit)["convert_bf16_e2m1_rne"])
    names = ("+source=bf16", "+destination=e2m1", "+policy=nvidia", "+rounding=rne")
    verdict, counts, _, code = simulate(program, *names)
    assert (verdict, counts, code) == ("PASS reason=none", [100000, 0, 0, 0], 0)
    lines = simulate(program, *names, "+rows", "+n=4000", "+stall=3")[2]
    given = {line.split(" in=")[1].split()[0] for line in lines if line.startswith("ROW ")}
    assert {"40a0", "c020", "3e80", "3f40"} & given and len(given) > 1500
    assert simulate(program, *names, "+rows", "+n=50")[2] == simulate(program, *names, "+rows", "+n=50", "+seed=1")[2]
    assert simulate(program, *names, "+rows", "+n=50")[2] != simulate(program, *names, "+rows", "+n=50", "+seed=2")[2]
    verdict, counts, lines, code = simulate(program, *names, "+n=500", "+flip=77")
    assert (verdict, counts) == ("FAIL reason=mismatch", [500, 1, 0, 0]) and code != 0
    assert lines[0].startswith(f"MISMATCH suite={CONVERT} tc=77 out=y in=")
    verdict, counts, lines, code = simulate(program, *names[:3], "+rounding=rz")
    assert verdict == "FAIL reason=mismatch" and counts[1] > 1000 and code != 0
    assert sum(line.startswith("MISMATCH ") for line in lines) == 3
    assert simulate(program, *names[:3])[:2] == ("BADFILE reason=count", [0, 0, 0, 0])
    assert simulate(program, *names, "+n=0")[0] == simulate(program, *names, "+n=100001")[0] == "BADFILE reason=count"
    assert simulate(program, *names[:3], "+rounding=none")[0] == "BADFILE reason=guard"


@pytest.mark.exhaustive
def test_random_bits_reach_the_reference_and_the_design_alike(kit: Path, build: Callable[..., Path], frozen: Callable[[str], Path]) -> None:
    program = build("convert_random", frozen(RANDOM), read_units(kit)["convert_bf16_e2m1_sr_add8_pipe"])
    names = ("+source=bf16", "+destination=e2m1", "+policy=nvidia")
    assert simulate(program, *names, "+rounding=sr_add8", "+stall=5")[:2] == ("PASS reason=none", [100000, 0, 0, 0])
    assert simulate(program, *names, "+rounding=sr_cmp8")[0] == "FAIL reason=mismatch"


@pytest.mark.exhaustive
def test_a_lane_meets_the_reference_on_random_operands(kit: Path, build: Callable[..., Path], frozen: Callable[[str], Path]) -> None:
    program = build("dot_random", frozen(DOT), read_units(kit)["lane_nv_like_e1m2_pipe"])
    verdict, counts, _, code = simulate(program, "+datapath=nv_like/e1m2xe1m2/ue4m3/16", "+n=20000", "+stall=1")
    assert (verdict, counts, code) == ("PASS reason=none", [20000, 0, 0, 0], 0)
    verdict, counts, _, _ = simulate(program, "+datapath=nv_like/e1m2xe1m2/ue4m3/16", "+n=300", "+flip=300")
    assert (verdict, counts) == ("FAIL reason=mismatch", [300, 1, 0, 0])
    verdict, counts, _, _ = simulate(program, "+datapath=nv_like/e2m1xe2m1/ue4m3/16", "+n=300")
    assert verdict == "FAIL reason=mismatch" and counts[1] > 100
    assert simulate(program, "+datapath=none")[0] == "BADFILE reason=guard"
    assert simulate(program)[0] == "BADFILE reason=count"


def unit_of(files: list[str], **defines: int) -> Unit:
    """A wrapped design. files: as `wrapped` gives them."""
    *design, wrapper = map(Path, files)
    return Unit("mine", "", wrapper, tuple(design), defines, ())


WAYS = {"pressed": "+press=5", "three_clocks": "+press=5", "two_beats": "+stall=3", "bit_serial": "+stall=3", "some_latency": "+latency=5"}


@pytest.mark.cases(0, 2)  # compiles the reference into a simulator
@pytest.mark.parametrize("name", WAYS)
def test_the_wrapper_of_a_port_map_meets_the_reference(
    build: Callable[..., Path], frozen: Callable[[str], Path], wrapped: Callable[..., list[str]], name: str
) -> None:
    """Random rows, many more than the suite has: the queues of the wrapper take them."""
    suite = frozen("convert__bf16_to_e2m1__nvidia_rne__smoke")
    program = build("convert_random", suite, unit_of(wrapped(name)))
    names = ("+source=bf16", "+destination=e2m1", "+policy=nvidia", WAYS[name], "+n=20000")
    assert simulate(program, *names, "+rounding=rne")[:2] == ("PASS reason=none", [20000, 0, 0, 0])
    verdict, counts, _, code = simulate(program, *names, "+rounding=rne", "+flip=777")
    assert (verdict, counts) == ("FAIL reason=mismatch", [20000, 1, 0, 0]) and code != 0
    verdict, counts, _, _ = simulate(program, *names, "+rounding=rz")
    assert verdict == "FAIL reason=mismatch" and counts[1] > 500


@pytest.mark.exhaustive
def test_a_queue_that_is_too_short_never_passes(
    build: Callable[..., Path], frozen: Callable[[str], Path], wrapped: Callable[..., list[str]]
) -> None:
    unit = unit_of(wrapped("two_beats"), EMU_QUEUE=48)
    program = build("convert_random", frozen("convert__bf16_to_e2m1__nvidia_rne__smoke"), unit)
    names = ("+source=bf16", "+destination=e2m1", "+policy=nvidia", "+rounding=rne")
    assert simulate(program, *names, "+n=40")[:2] == ("PASS reason=none", [40, 0, 0, 0])
    assert not simulate(program, *names, "+n=20000")[0].startswith("PASS")
