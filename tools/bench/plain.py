"""Plain C, compiled here with all that this machine has: the ceiling that emu's kernels are measured against."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import emu
from emu.bench.jobs import Job

FLAGS = ("-std=c99", "-O3", "-march=native", "-ffp-contract=off", "-shared", "-fPIC")


@cache
def library() -> ctypes.CDLL | None:
    """Return the compiled functions; None where no C compiler is. Raises: CalledProcessError (it does not compile)."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "plain.so"
        subprocess.run([compiler, *FLAGS, str(Path(__file__).with_suffix(".c")), "-o", str(out)], check=True)
        return ctypes.CDLL(str(out))  # stays mapped when the file is gone


def _pointer(array: Any) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def convert(x: Any) -> Job | None:
    """Return float32 to E2M1 by plain C, into a new array, as emu.convert does; None without a compiler."""
    found = library()

    def work() -> Any:
        assert found is not None
        codes = np.empty(x.shape, np.uint8)
        found.plain_convert(_pointer(x), _pointer(codes), ctypes.c_size_t(x.size))
        return codes

    return None if found is None else _same(work, emu.convert(x, "e2m1"))


def decode(x: Any) -> Job | None:
    """Return E2M1 codes to float32 by plain C, into a new array; None without a compiler."""
    found, codes = library(), emu.convert(x, "e2m1")

    def work() -> Any:
        assert found is not None
        values = np.empty(codes.shape, np.float32)
        found.plain_decode(_pointer(codes), _pointer(values), ctypes.c_size_t(codes.size))
        return values

    return None if found is None else _same(work, emu.decode(codes, "e2m1"))


def mxfp4(x: Any) -> Job | None:
    """Return MXFP4 of torchao, scale rounded down, by plain C, into new arrays; None without a compiler."""
    found = library()

    def work() -> Any:
        assert found is not None
        codes, scales = np.empty(x.shape, np.uint8), np.empty((*x.shape[:-1], x.shape[-1] // 32), np.uint8)
        found.plain_mxfp4(_pointer(x), _pointer(codes), _pointer(scales), ctypes.c_size_t(scales.size))
        return codes, scales

    if found is None:
        return None
    wanted = emu.quantize(x, "mxfp4_torchao_floor")
    _same(lambda: work()[1], wanted.scales)
    _same(lambda: work()[0], wanted.codes)
    return work


def nvfp4(x: Any) -> Job | None:
    """Return NVFP4 of Transformer Engine's reference by plain C, into new arrays; None without a compiler."""
    found = library()

    def work() -> Any:
        assert found is not None
        codes, scales = np.empty(x.shape, np.uint8), np.empty((*x.shape[:-1], x.shape[-1] // 16), np.uint8)
        found.plain_nvfp4(_pointer(x), _pointer(codes), _pointer(scales), ctypes.c_size_t(scales.size))
        return codes, scales

    if found is None:
        return None
    wanted = emu.quantize(x, "nvfp4_te_ref")
    _same(lambda: work()[1], wanted.scales)
    _same(lambda: work()[0], wanted.codes)
    return work


def nvfp4_back(x: Any) -> Job | None:
    """Return the values of those codes and scales by plain C, into a new array; None without a compiler."""
    found, given = library(), emu.quantize(x, "nvfp4_te_ref")
    codes, scales, tensor = np.array(given.codes), np.array(given.scales), ctypes.c_float(float(np.abs(x).max()))

    def work() -> Any:
        assert found is not None
        values = np.empty(x.shape, np.float32)
        found.plain_nvfp4_back(_pointer(codes), _pointer(scales), tensor, _pointer(values), ctypes.c_size_t(scales.size))
        return values

    return None if found is None else _same(work, given.dequantize())


def _same(work: Job, wanted: Any) -> Job:
    """Return the job, when it gives the bits that emu gives. Raises: AssertionError."""
    assert np.asarray(work()).tobytes() == np.asarray(wanted).tobytes(), "plain C gives other bits"
    return work
