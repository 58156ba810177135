"""Checkpoint files: which store, layout, recipe and reader they show. Passive: only stored bytes are read, no kernel is asked.

Not here: what the stores are (spec/checkpoint), kernels that can be asked (emu.identify).
"""

from emu.checkpoint.identify import identify_files
from emu.checkpoint.report import CheckpointReport, TensorReport

__all__ = ["CheckpointReport", "TensorReport", "identify_files"]
