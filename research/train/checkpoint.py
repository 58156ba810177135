"""Checkpoints: one .safetensors file, whole or not at all, that continues a run with the same bits. Not here: the loop (loop.py)."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import torch
from safetensors import SafetensorError, safe_open

from emu.base.errors import FileError
from emu.files import tensor_writer
from research.train.plan import difference

KEY: Final = "emu_training"
VERSION: Final = 1
Tensors = dict[str, torch.Tensor]


@dataclass(frozen=True)
class Checkpoint:
    """A state between two steps. step: steps that are done.   curve: their losses.   tensors: weights, moments, state of the generator."""

    step: int
    curve: tuple[float, ...]
    tensors: Tensors


def state_of(model: torch.nn.Module, optimizer: torch.optim.Optimizer, generator: torch.Generator) -> Tensors:
    """Return every tensor that the next step depends on, by name."""
    found = {f"model.{name}": value for name, value in model.state_dict().items()}
    for place, moments in optimizer.state_dict()["state"].items():
        found |= {f"optimizer.{place}.{name}": value for name, value in moments.items()}
    return found | {"generator": generator.get_state()}


def restore(tensors: Tensors, model: torch.nn.Module, optimizer: torch.optim.Optimizer, generator: torch.Generator) -> None:
    """Put a state back, in place."""
    model.load_state_dict({name.removeprefix("model."): value for name, value in tensors.items() if name.startswith("model.")})
    moments: dict[int, dict[str, torch.Tensor]] = {}
    for name, value in tensors.items():
        if name.startswith("optimizer."):
            _, place, word = name.split(".")
            moments.setdefault(int(place), {})[word] = value
    optimizer.load_state_dict({"state": moments, "param_groups": optimizer.state_dict()["param_groups"]})
    generator.set_state(tensors["generator"])


def digest_of(tensors: Tensors) -> str:
    """Return the SHA-256 of names and bytes of tensors: two runs are the same run when it is the same."""
    found = hashlib.sha256()
    for name in sorted(tensors):
        found.update(f"{name} {tuple(tensors[name].shape)}\n".encode() + tensors[name].detach().cpu().numpy().tobytes())
    return found.hexdigest()


def save(path: Path, identity: dict[str, Any], checkpoint: Checkpoint) -> None:
    """Write a checkpoint in the place of the one before. Raises: FileError."""
    about = {"version": VERSION, "identity": identity, "step": checkpoint.step, "curve": checkpoint.curve}
    with tensor_writer(path, force=True, metadata={KEY: json.dumps(about)}) as file:
        for name, value in checkpoint.tensors.items():
            file.put(name, value.detach().cpu().numpy())


def load(path: Path, identity: dict[str, Any]) -> Checkpoint:
    """Return a checkpoint of the same run. Raises: FileError (unreadable, or of another configuration: says what differs)."""
    try:
        with safe_open(path, framework="pt") as file:
            about = json.loads((file.metadata() or {})[KEY])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no mapping
        kept, step, curve = about["identity"], int(about["step"]), tuple(map(float, about["curve"]))
    except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
        raise FileError(f"{path}: no checkpoint of a training run ({type(error).__name__}): delete it, and the run starts anew") from None
    refuse_other(path, kept, identity)
    return Checkpoint(step, curve, tensors)


def refuse_other(path: Path, kept: Any, now: dict[str, Any]) -> None:
    """Refuse what another configuration, spec or library made. Raises: FileError that names the first difference and the fix."""
    found = difference(kept, now)
    if found is not None:
        raise FileError(f"{path}: {found}: go on with what made it, or give another --out, or delete the folder {path.parent}")
