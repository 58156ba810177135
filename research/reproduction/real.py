"""Real tensors: the products of MiniLM, and tensors that somebody captured into a file. Not here: what is measured (cells.py)."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

from safetensors import SafetensorError, safe_open

from emu.base.errors import FileError
from emu.files import TensorInfo, open_tensors
from research import minilm
from research.reproduction.cells import Array, Pair, Tensor

GEMMS: Final = {"fprop": ("x", "w"), "dgrad": ("dy", "w"), "wgrad": ("dy", "x")}
NAME: Final = re.compile(r"(?P<product>(?:.+[./])?(?P<gemm>fprop|dgrad|wgrad))[./](?P<operand>x|w|dy)")
CAPTURED: Final = "emu_captured"  # metadata of research.train.capture
KINDS: Final = {"x": "activation", "w": "weight", "dy": "gradient"}
BLOCK: Final = 16
FLOATS: Final = ("float16", "bfloat16", "float32", "float64")


def model_pairs(folder: Path, layers: range = range(minilm.LAYERS)) -> list[Pair]:
    """Return every product with weights of some layers of the model on the study's sentences. Raises: FileError (no such model)."""
    wanted = tuple((layer, part) for layer in layers for part in minilm.PARTS)
    return [Pair(item.name, item.x, item.w) for item in minilm.products(folder, wanted)]


def tensors_of(pairs: list[Pair]) -> list[Tensor]:
    """Return the weights of products and their distinct activations: query, key and value share one."""
    found = [Tensor(f"{pair.name}_x", "activation", pair.a) for pair in pairs if not pair.name.endswith(("_key", "_value"))]
    return found + [Tensor(f"{pair.name}_w", "weight", pair.b) for pair in pairs]


def captured(path: Path) -> list[Tensor]:
    """Return the matrices of a file of captured tensors.

    path: safetensors, .npz or .npy; every float matrix [rows, K] with K a multiple of 16, the contraction axis last, as training
    captures them. A name that ends in .GEMM.OPERAND (or with / for the dots) tells its kind; others are of kind "tensor".
    Raises: FileError (unreadable, or no such matrix in it).
    """
    with open_tensors(path) as file:
        found = [Tensor(info.name or path.stem, _kind(info.name), file.read(info.name)) for info in file.tensors if _is_matrix(info)]
    if not found:
        raise FileError(f"{path}: no float matrix with a last axis in blocks of {BLOCK}: store activations and gradients as [rows, K]")
    return found


def captured_from(path: Path) -> dict[str, Any] | None:
    """Return the run and step that a file of `python -m research train` was captured from, or None. Raises: FileError (unreadable)."""
    if path.suffix != ".safetensors":
        return None
    try:
        with safe_open(path, "numpy") as file:
            text = (file.metadata() or {}).get(CAPTURED)
        found = None if text is None else json.loads(text)
    except (OSError, SafetensorError, json.JSONDecodeError):
        raise FileError(f"{path}: cannot read what it says of itself: capture it again") from None
    return found if isinstance(found, dict) else None


def captured_pairs(path: Path) -> list[Pair]:
    """Return the products of a file: tensors named NAME.GEMM.OPERAND, GEMM one of fprop (x, w), dgrad (dy, w), wgrad (dy, x).

    Raises: as captured; FileError (no two operands of one product).
    """
    operands: dict[str, dict[str, Array]] = {}
    for tensor in captured(path):
        found = NAME.fullmatch(tensor.name)
        if found is not None:
            operands.setdefault(found["product"], {})[found["operand"]] = tensor.values
    pairs = []
    for product, known in operands.items():
        first, second = GEMMS[re.split("[./]", product)[-1]]
        if first in known and second in known:
            pairs.append(Pair(product, *_operands(path, product, known[first], known[second])))
    if not pairs:
        raise FileError(f"{path}: no product in it: name both operands NAME.GEMM.OPERAND, like layer0.fprop.x and layer0.fprop.w")
    return pairs


def _operands(path: Path, name: str, a: Array, b: Array) -> tuple[Array, Array]:
    if a.shape[1] != b.shape[1]:
        raise FileError(f"{path}: {name}: operands {list(a.shape)} and {list(b.shape)}: store both with the contraction axis last")
    return a, b


def _kind(name: str) -> str:
    found = NAME.fullmatch(name)
    return KINDS[found["operand"]] if found is not None else "tensor"


def _is_matrix(info: TensorInfo) -> bool:
    return len(info.shape) == 2 and info.shape[0] > 0 and info.shape[1] > 0 and info.shape[1] % BLOCK == 0 and info.dtype in FLOATS
