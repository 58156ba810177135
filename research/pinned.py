"""The code paths of the libraries that multiply, pinned before they are loaded: the order of sums must not hang on the processor.

MKL (in torch) and OpenBLAS (in NumPy) pick a kernel by processor, and two processors with the same instruction set may get different ones.
Under these settings they keep one kernel and one order of sums on every x86-64 processor with AVX2; for MKL this is Intel's "conditional
numerical reproducibility".
"""

import os
import sys
from typing import Final

PINNED: Final = {
    "torch": {"ATEN_CPU_CAPABILITY": "avx2", "MKL_CBWR": "AVX2,STRICT", "ONEDNN_MAX_CPU_ISA": "AVX2"},
    "numpy": {"OPENBLAS_CORETYPE": "Haswell"},
}


def pin() -> None:
    """Pin the code paths of what is not loaded yet; a setting of the user stays."""
    for library, settings in PINNED.items():
        if library not in sys.modules:
            for name, value in settings.items():
                os.environ.setdefault(name, value)


def machine() -> dict[str, str]:
    """Return what decides the bits besides what is run: torch, its threads, its instruction set and what is pinned."""
    import torch

    pinned = os.environ.get("MKL_CBWR", "")
    paths = ", ".join(filter(None, (torch.backends.cpu.get_cpu_capability(), pinned and f"MKL {pinned}")))
    return {"torch": torch.__version__, "threads": str(torch.get_num_threads()), "cpu": paths}


def single() -> dict[str, str]:
    """Let torch use one thread from here on, and return the machine: the order of sums must not hang on the number of cores."""
    import torch

    torch.set_num_threads(1)
    return machine()
