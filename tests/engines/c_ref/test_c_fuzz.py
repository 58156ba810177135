"""Random calls of every public function of the C reference, sound, extreme and broken: an answer or an error code, never a fault.

fuzz.c makes the calls; built under the sanitizers, optimised, and run under valgrind. The answers do not depend on the build.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

COMPILER = shutil.which("gcc") or shutil.which("cc")
pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C compiler here")
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wsign-conversion", "-Wshadow", "-Werror"]
SANITIZERS = ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
Build = Callable[..., Path]
CALLS = 1_000_000  # of each function


class Outcome(NamedTuple):
    """What the calls of one function gave: the checksum of all results, and how many calls returned each error."""

    checksum: str
    errors: tuple[int, ...]


def functions(checkout: Path) -> set[str]:
    """Public functions by the header, without the prefix."""
    text = (checkout / "c_ref" / "emu_ref.h").read_text(encoding="utf-8")
    return set(re.findall(r"^(?:int32_t |const emu_\w+ \*)emu_(\w+)\(", text, flags=re.MULTILINE))


@pytest.fixture(scope="module")
def build(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Compile the driver with some flags; a skip where the compiler does not know them."""
    folder, here, made = tmp_path_factory.mktemp("fuzz"), Path(__file__).parent, {}

    def compile_driver(*flags: str, name: str) -> Path:
        if name not in made:
            assert COMPILER is not None
            sources = sorted(str(path) for path in (*(checkout / "c_ref" / "src").glob("*/*.c"), *here.glob("fuzz*.c")))
            command = [COMPILER, "-std=c99", *WARNINGS, *flags, f"-I{checkout / 'c_ref'}", *sources, "-o", name]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            made[name] = folder / name
        return made[name]

    (folder / "probe.c").write_text("int main(void) { return 0; }\n", encoding="ascii")
    probe = subprocess.run([str(COMPILER), *SANITIZERS, "probe.c", "-o", "probe"], cwd=folder, capture_output=True)
    if probe.returncode or subprocess.run([str(folder / "probe")]).returncode:
        pytest.skip("the compiler has no sanitizers here")
    return compile_driver


def run(*command: str) -> dict[str, Outcome]:
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, (done.stdout[-500:] + done.stderr)[-3000:]
    lines = [line.split() for line in done.stdout.splitlines()]
    return {line[0]: Outcome(line[1], tuple(map(int, line[2:]))) for line in lines}


@pytest.mark.exhaustive  # compiles the reference again under a sanitizer
def test_every_public_function_is_called(checkout: Path, build: Build) -> None:
    found = run(str(build("-O3", name="quick")), "all", "10")
    assert set(found) == functions(checkout)
    assert all(sum(outcome.errors) == 10 for outcome in found.values())


@pytest.mark.exhaustive  # minutes of calls; .ci/c-reference sanitizers makes more
def test_calls_that_succeed_and_calls_that_fail_are_many(build: Build) -> None:
    """Else the fuzzer proves little: a fifth of the calls give results, and every error code is met."""
    found = run(str(build("-O3", name="quick")), "all", "5000")
    for name, (_, errors) in found.items():
        assert errors[0] > 1000, name
        assert sum(errors) - errors[0] > 100, name
    assert all(any(outcome.errors[code] for outcome in found.values()) for code in range(1, 18))


@pytest.mark.cases(0, 0)  # two more builds
def test_sanitised_and_optimised_builds_give_the_same_results(build: Build) -> None:
    for name, outcome in run(str(build("-O3", name="quick")), "all", "3000").items():
        assert run(str(build("-O0", *SANITIZERS, name="sanitised")), name, "3000") == {name: outcome}


@pytest.mark.exhaustive  # valgrind is slow
def test_valgrind_finds_nothing(build: Build) -> None:
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        pytest.skip("valgrind is not installed")
    plain = str(build("-O1", "-DEMU_ONE_FORM", name="plain"))
    command = (valgrind, "--quiet", "--error-exitcode=7", "--leak-check=full", "--show-leak-kinds=all", "--errors-for-leak-kinds=all")
    assert run(*command, plain, "all", "150") == run(str(build("-O3", name="quick")), "all", "150")


@pytest.mark.cases(0, 0)
@pytest.mark.parametrize("part", range(2))
def test_many_calls_of_every_function(checkout: Path, build: Build, part: int) -> None:
    names = sorted(functions(checkout))[part::2]
    for name in names:
        sanitised = run(str(build("-O1", *SANITIZERS, name="quick_sanitised")), name, str(CALLS))
        assert sum(sanitised[name].errors) == CALLS
        assert sanitised == run(str(build("-O3", name="quick")), name, str(CALLS))
