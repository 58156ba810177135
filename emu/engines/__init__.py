"""Which engine does what (table.py), and asking it (run.py, datapath.py)."""

from emu.engines.datapath import run_add, run_alpha, run_dot, run_epilogue, run_matmul
from emu.engines.run import run_amax, run_convert, run_decode, run_dequantize, run_quantize, run_transform
from emu.engines.table import ENGINES, TABLE, Capability, choose

__all__ = [
    "ENGINES",
    "TABLE",
    "Capability",
    "choose",
    "run_add",
    "run_alpha",
    "run_amax",
    "run_convert",
    "run_decode",
    "run_dequantize",
    "run_dot",
    "run_epilogue",
    "run_matmul",
    "run_quantize",
    "run_transform",
]
