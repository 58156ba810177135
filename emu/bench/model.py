"""Where the time goes when a whole model is quantized: one row a stage, all tensors of a file together."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any, TypeVar

from emu.bench.run import versions

T = TypeVar("T")


@dataclass(frozen=True)
class Stage:
    """Processor seconds of one stage and the rate over all elements, in million elements a second."""

    name: str
    seconds: float
    rate: float


def run_model(path: str | Path, recipe: str = "nvfp4_te_ref", progress: Callable[[str], None] | None = None) -> tuple[int, list[Stage]]:
    """Quantize every tensor of a file that the recipe takes and time the stages.

    path: as `emu quantize` takes it.   Returns: elements, stages read, amax, quantize, pack, dequantize, write and all.
    Raises: FileError, SpecError.
    """
    import emu
    from emu.base.atomic import temporary_folder, whole_file
    from emu.files.take import skip_reason
    from emu.files.tensors import open_tensors

    chosen = emu.spec.get("recipe", recipe)
    emu.quantize(_warm(), chosen).dequantize()
    seconds = dict.fromkeys(("read", "amax", "quantize", "pack", "dequantize", "write"), 0.0)

    def timed(stage: str, work: Callable[..., T], *args: Any, **operands: Any) -> T:
        begin = process_time()
        found = work(*args, **operands)
        seconds[stage] += process_time() - begin
        return found

    elements = 0
    with open_tensors(path) as source, temporary_folder("bench") as folder, whole_file(folder / "codes") as out:
        for info in source.tensors:
            if skip_reason(info, chosen) is not None:
                continue
            if progress is not None:
                progress(info.name)
            x = timed("read", _read_all, source, info.name)
            amax = timed("amax", emu.amax, x)
            quantized = timed("quantize", emu.quantize, x, chosen, tensor_amax=amax if _reads_amax(chosen) else None)
            packed = timed("pack", quantized.pack)
            timed("dequantize", quantized.dequantize)
            timed("write", out.write, packed.tobytes())
            elements += x.size
    stages = [Stage(name, spent, elements / spent / 1e6 if spent else 0.0) for name, spent in seconds.items()]
    total = sum(seconds.values())
    return elements, [*stages, Stage("all", total, elements / total / 1e6 if total else 0.0)]


def _warm() -> Any:
    import numpy as np

    return np.linspace(-4, 4, 4096, dtype=np.float32).reshape(16, 256)


def _read_all(source: Any, name: str) -> Any:
    """Return a tensor after reading it once: a mapped file is read when it is first used."""
    array = source.read(name)
    array.max()
    return array


def _reads_amax(recipe: Any) -> bool:
    from emu.spec.programs.program import quantize_program

    return quantize_program(recipe).reads("tensor_amax")


def model_markdown(elements: int, stages: Sequence[Stage]) -> str:
    """Return the table of one model's stages."""
    lines = [f"{elements} elements", "", "| stage | seconds | million elements a second |", "| --- | ---: | ---: |"]
    lines += [f"| {stage.name} | {stage.seconds:.3f} | {stage.rate:.0f} |" for stage in stages]
    return "\n".join(lines) + "\n"


def model_json(elements: int, stages: Sequence[Stage]) -> str:
    """Return the same as JSON, with versions."""
    return json.dumps({"versions": versions(), "elements": elements, "stages": [vars(stage) for stage in stages]}, indent=1)
