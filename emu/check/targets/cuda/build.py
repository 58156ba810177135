"""Compile conversions.cu, for a GPU or for the host, and make targets of its functions. Not here: how a symbol is called (target_c.py)."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from pathlib import Path
from typing import Final, Literal

from emu.base.errors import OperandError, ToolError
from emu.check.targets.c import CTarget, c_target

SOURCE: Final = Path(__file__).with_name("conversions.cu")
Place = Literal["gpu", "host"]
FUNCTIONS: Final = {
    **{f"fp32_to_{to}": ("fp32", f"convert/{to}/rne/nvidia") for to in ("e2m1", "e2m3", "e3m2", "e4m3", "e5m2")},
    "fp32_to_e8m0_ru": ("fp32", "convert/e8m0/ru/nvidia"),
    "fp32_to_e8m0_rz": ("fp32", "convert/e8m0/rz/nvidia"),
    **{f"{source}_to_{to}": (source, f"convert/{to}/rne/nvidia") for source in ("bf16", "fp16") for to in ("e2m1", "e4m3", "e5m2")},
}
_TYPES: Final = {"fp32": "uint32_t", "bf16": "uint16_t", "fp16": "uint16_t"}


def find_nvcc() -> Path:
    """Return the path of nvcc: of CUDA_HOME, or on PATH. Raises: ToolError."""
    home = os.environ.get("CUDA_HOME")
    found = shutil.which("nvcc", path=f"{home}/bin" if home else None)
    if found is None:
        raise ToolError("nvcc: not found: install the CUDA toolkit, or set CUDA_HOME to its folder")
    return Path(found)


def find_headers() -> Path:
    """Return the folder of cuda_fp4.h, nv/target beside it. Raises: ToolError."""
    nvcc = find_nvcc()
    roots = [Path(os.environ.get("CUDA_HOME") or nvcc.resolve().parent.parent), *sorted(Path("/usr/local").glob("cuda*"), reverse=True)]
    for root in roots:
        if (root / "include/cuda_fp4.h").is_file() and (root / "include/nv/target").is_file():
            return root / "include"
    raise ToolError("cuda_fp4.h: not found beside nvcc: it comes with CUDA toolkit 12.8 and later; set CUDA_HOME to its folder")


def need_device() -> None:
    """Refuse to go on without a CUDA device. Raises: ToolError."""
    count = ctypes.c_int(0)
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        raise ToolError("no CUDA device: the driver library libcuda.so.1 is not there; run this on a machine with a GPU") from None
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)) or not count.value:
        raise ToolError("no CUDA device: the driver sees none; run this on a machine with a GPU")


def build(folder: Path, place: Place = "gpu") -> Path:
    """Compile the functions into a shared library in a folder and return its path.

    place: "gpu": nvcc, for the device at hand; "host": the headers' host path by the C++ compiler, no evidence about a GPU.
    Raises: ToolError (no device, no toolkit, no compiler, or it fails).
    """
    library = folder / f"conversions_{place}.so"
    if place == "gpu":
        need_device()
        command = [str(find_nvcc()), "-shared", "-Xcompiler", "-fPIC", "-O2", "-arch=native"]
    else:
        compiler = shutil.which("c++") or shutil.which("g++")
        if compiler is None:
            raise ToolError("c++: not found: install a C++ compiler")
        command = [compiler, "-x", "c++", "-shared", "-fPIC", "-O2", f"-I{find_headers()}"]
    _run([*command, str(SOURCE), "-o", str(library)])
    return library


def compile_ptx(folder: Path, architecture: str) -> str:
    """Return the PTX of the functions for an architecture, such as "sm_100a"; no device is needed. Raises: ToolError."""
    out = folder / f"conversions_{architecture}.ptx"
    _run([str(find_nvcc()), "-ptx", f"-arch={architecture}", str(SOURCE), "-o", str(out)])
    return out.read_text(encoding="utf-8")


def _run(command: list[str]) -> None:
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        last = (done.stderr.strip() or "no message").splitlines()[0]
        raise ToolError(f"{Path(command[0]).name} {SOURCE.name}: {last}: needs the CUDA toolkit 12.8 or later")


def cuda_target(function: str, library: Path) -> CTarget:
    """Return a function of a built library as a target of `check`, for its contract in FUNCTIONS.

    Raises: OperandError (unknown function), ToolError (the library cannot be loaded).
    Tests: tests/engines/torch/triton/test_triton_cuda.py.
    """
    if function not in FUNCTIONS:
        raise OperandError(f"function {function}: unknown: one of {', '.join(FUNCTIONS)}")
    source, contract = FUNCTIONS[function]
    signature = f"{function}(x: const {_TYPES[source]}*, n: size_t, codes: uint8_t*) -> int"
    return c_target(str(library), signature, contract, source=source)
