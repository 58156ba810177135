"""Real operands for other studies: activations and gradients of one step, as a tensor file. Not here: collecting them (emu.nn)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from emu.files import tensor_writer

KEY: Final = "emu_captured"


def captured_path(folder: Path, step: int) -> Path:
    """Return the file of a step in the folder of a run."""
    return folder / f"captured_step{step}.safetensors"


def write_captured(path: Path, records: Iterable[Any], run: str, step: int) -> None:
    """Write the values of every operand as fp32, named layer3.fprop.x; the axis that a product sums over is the last.

    Values are those before padding, rotation and quantization. Numbers of layers are those of the training, in order of the model.

    records: what emu.nn.capture found.   run: name of the run, kept with the step in the metadata.   Raises: FileError.
    """
    about = json.dumps({"run": run, "step": step})
    with tensor_writer(path, force=True, metadata={KEY: about}) as file:
        for record in records:
            values = record.values.detach().cpu().float()
            transposed = values.T.contiguous() if record.axis == 0 else values
            file.put(f"layer{record.layer}.{record.gemm}.{record.operand}", transposed.numpy())
