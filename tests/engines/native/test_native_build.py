"""The kernels as C: clean under strict warnings, without state, within their memory, declared to Python as in their header."""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
from pathlib import Path

import pytest

from emu.engines.native._kernels import lib

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wsign-conversion", "-Wshadow", "-Werror"]
FLAGS = ["-std=c99", "-ffp-contract=off", "-fno-wrapv"]


@pytest.fixture(scope="module")
def kernels(checkout: Path) -> Path:
    return checkout / "emu" / "engines" / "native" / "kernels"


@pytest.fixture(params=["gcc", pytest.param("clang", marks=pytest.mark.exhaustive)])
def compiler(request: pytest.FixtureRequest) -> str:
    found = shutil.which(request.param)
    if found is None:
        pytest.skip(f"{request.param} is not installed")
    return found


@pytest.mark.cases(0, 1)  # compiles the kernels
def test_no_warning_and_no_state(kernels, compiler, tmp_path):
    sources = sorted(kernels.glob("*.c"))
    assert len(sources) >= 7
    done = subprocess.run([compiler, *FLAGS, "-O1", *WARNINGS, "-c", *map(str, sources)], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    nm = shutil.which("nm")
    if nm is None:
        pytest.skip("nm of binutils is not installed")
    listed = subprocess.run([nm, *map(str, sorted(tmp_path.glob("*.o")))], capture_output=True, text=True, check=True).stdout
    symbols = [line.split()[-2:] for line in listed.splitlines() if len(line.split()) >= 2 and not line.endswith(":")]
    assert len(symbols) > 30
    assert [name for kind, name in symbols if kind in "bBdDcC"] == []
    assert {name for kind, name in symbols if kind == "U"} & {"malloc", "free", "calloc", "realloc"} == set()


@pytest.mark.cases(0, 1)  # compiles the kernels again under a sanitizer
def test_no_access_outside_the_arrays(kernels, compiler, tmp_path):
    """The forms of tree.c are one text, and take most of the compiler's time: it is compiled in one of them here."""
    program = tmp_path / "bounds"
    sources = [Path(__file__).with_name("bounds.c"), *sorted(kernels.glob("*.c"))]
    command = [compiler, *FLAGS, "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-O0", "-g1", f"-I{kernels}"]
    for path in sources:
        one = ["-DEMU_ONE_FORM=1"] if path.name == "tree.c" else []
        built = subprocess.run([*command, *one, "-c", str(path), "-o", str(tmp_path / f"{path.stem}.o")], capture_output=True, text=True)
        assert built.returncode == 0, built.stderr
    objects = sorted(map(str, tmp_path.glob("*.o")))
    built = subprocess.run([*command, *objects, "-o", str(program)], capture_output=True, text=True)
    if "cannot find" in built.stderr:
        pytest.skip(f"{compiler} has no sanitizers here")
    assert built.returncode == 0, built.stderr
    done = subprocess.run([program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout.split()[0]) > 1000


def test_floats_are_not_contracted(checkout, monkeypatch):
    monkeypatch.chdir(checkout)
    flags = runpy.run_path("emu/engines/native/kernels/build.py")["FLAGS"]
    assert set(FLAGS) <= set(flags)
    assert not [flag for flag in flags if "fast-math" in flag or flag.startswith("-march")]


def test_declarations_for_python_agree_with_the_header(kernels):
    header = (kernels / "kernels.h").read_text(encoding="utf-8").split("/* cdef begin */")[1].split("/* cdef end */")[0]
    functions = set(re.findall(r"^(?:int32_t|size_t) (emu_\w+)\(", header, re.MULTILINE))
    stub = (kernels.parent / "_kernels.pyi").read_text(encoding="utf-8")
    assert functions == set(re.findall(r"def (emu_\w+)\(", stub))
    assert all(hasattr(lib, name) for name in [*functions, *re.findall(r"^    (EMU_\w+): Final", stub, re.MULTILINE)])
