"""Engines that use floats refuse a process that flushes subnormals or rounds another way; `exact` and integer kernels do not care."""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROLOGUE = """
import ctypes, ctypes.util, sys
import numpy as np
import emu
x = np.linspace(-7, 7, 32, dtype=np.float32).reshape(2, 16)
jobs = {
    "convert": lambda engine: emu.convert(x, "e2m1", engine=engine).tolist(),
    "quantize": lambda engine: emu.quantize(x, "nvfp4_te_ref", engine=engine).codes.tolist(),
    "transform": lambda engine: emu.transform(x, "rht16_te_fp32", engine=engine).view(np.uint32).tolist(),
    "dequantize": lambda engine: held.dequantize(engine=engine).view(np.uint32).tolist(),
}
held = emu.quantize(x, "nvfp4_te_ref")
before = {name: job("exact") for name, job in jobs.items()}
assert before == {name: job("numpy") for name, job in jobs.items()}
"""
EPILOGUE = """
refused = []
for name, job in jobs.items():
    for engine in ("numpy", "auto", "native"):
        try:
            assert job(engine) == before[name], (name, engine)  # the kernel converts in integers
        except emu.EngineError as error:
            if "this process" in str(error):
                refused.append(str(error))
    assert job("exact") == before[name], name
restore()
assert before == {name: job("numpy") for name, job in jobs.items()}
print(len(refused), refused[0] if refused else "")
"""
MODES = {"x86_64": {"down": 0x400, "up": 0x800, "zero": 0xC00}, "aarch64": {"up": 0x400000, "down": 0x800000, "zero": 0xC00000}}
CONTROL = """
#include <xmmintrin.h>
unsigned get_control(void) { return _mm_getcsr(); }
void set_control(unsigned value) { _mm_setcsr(value); }
"""


def run(script: str) -> str:
    done = subprocess.run([sys.executable, "-P", "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.cases(1)
@pytest.mark.parametrize("mode", ["up", "down", "zero"])
def test_other_rounding_modes_are_refused(mode: str) -> None:
    known = MODES.get(platform.machine())
    if known is None or not sys.platform.startswith("linux"):
        pytest.skip(f"the constants of fenv.h are not known here for {platform.machine()} on {sys.platform}")
    change = f"""
libm = ctypes.CDLL(ctypes.util.find_library("m") or "libm.so.6")
restore = lambda: libm.fesetround(0)
assert libm.fesetround({known[mode]}) == 0
"""
    said = run(PROLOGUE + change + EPILOGUE)
    assert said.startswith("10 this process does not round to nearest even")


@pytest.mark.cases(1)
@pytest.mark.parametrize(("name", "bits"), [("ftz", 0x8000), ("daz", 0x0040), ("both", 0x8040)])
def test_flushed_subnormals_are_refused(name: str, bits: int, tmp_path: Path) -> None:
    if platform.machine() != "x86_64":
        pytest.skip(f"FTZ and DAZ of MXCSR exist on x86-64, not on {platform.machine()}")
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler to set FTZ and DAZ with")
    source, library = tmp_path / f"{name}.c", tmp_path / f"{name}.so"
    source.write_text(CONTROL, encoding="ascii")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    change = f"""
control = ctypes.CDLL({str(library)!r})
control.get_control.restype = ctypes.c_uint
old = control.get_control()
restore = lambda: control.set_control(ctypes.c_uint(old))
control.set_control(ctypes.c_uint(old | {bits}))
"""
    said = run(PROLOGUE + change + EPILOGUE)
    assert said.startswith("10 this process flushes subnormals to zero")
