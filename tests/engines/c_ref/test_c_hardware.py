"""The reference's arithmetic against this machine's: hardware.c compares them on stratified operands and names the first that differ."""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path

import pytest
from support.whole import tries

COMPILER = shutil.which("gcc") or shutil.which("cc")
pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C compiler here")
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"]
FLOATS = ["-march=native", "-frounding-math", "-ffp-contract=off"]  # native: fma and fp16 by instructions, where there are any
NAMES = ("add", "sub", "mul", "div", "fma", "min", "max", "clamp", "sign", "round", "narrow", "wide")


@pytest.fixture(scope="module")
def program(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The comparing program; floats in its own file alone."""
    folder, here = tmp_path_factory.mktemp("hardware"), Path(__file__).parent
    assert COMPILER is not None
    sources = sorted(str(path) for path in (checkout / "c_ref" / "src").glob("*/*.c"))
    flags = ["-std=c99", "-O2", *WARNINGS, f"-I{checkout / 'c_ref'}"]
    for command in (
        [COMPILER, *flags, "-c", *sources],
        [COMPILER, *flags, *FLOATS, str(here / "hardware.c"), *(Path(source).stem + ".o" for source in sources), "-lm", "-o", "hardware"],
    ):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    return folder / "hardware"


def compared(program: Path, name: str, count: int) -> int:
    done = subprocess.run([str(program), name, str(count)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return int(done.stdout.split()[0])


@pytest.mark.exhaustive  # seconds
def test_a_million_operands_of_every_operation(program: Path) -> None:
    for name in NAMES:
        least = 100_000 if name in ("sign", "narrow", "wide") else 1_000_000
        assert compared(program, name, 1_000_000) >= least, name


@pytest.mark.exhaustive  # the sources are compiled for it
def test_an_unknown_operation_compares_nothing_and_says_so(program: Path) -> None:
    assert subprocess.run([str(program), "sqrt", "1000"], capture_output=True).returncode == 3


@pytest.mark.exhaustive
@pytest.mark.skipif(platform.machine() != "x86_64", reason="which instructions there are is known for x86 alone")
def test_fp16_is_rounded_by_an_instruction_where_there_is_one(program: Path) -> None:
    flags = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace") if Path("/proc/cpuinfo").is_file() else ""
    if " f16c" not in flags:
        pytest.skip("no F16C on this machine")
    done = subprocess.run([str(program), "round", "1000"], capture_output=True, text=True)
    assert done.stdout.endswith("fp16 by vcvtps2ph\n")


@pytest.mark.cases(0, 4)
@pytest.mark.parametrize("name", NAMES)
def test_many_million_operands(program: Path, name: str) -> None:
    count = tries(10_000_000, 100_000_000)
    least = count // 10 if name in ("sign", "narrow", "wide") else count
    assert compared(program, name, count) >= least
